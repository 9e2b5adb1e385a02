//! Runs workloads on a recording storage, and judges the files that a crash could leave.

use std::fmt;
use std::sync::Arc;

use files::crash::{CrashState, Event, Log};
use files::{Crash, Handle, Memory};
use hyperslab::check::Check;
use hyperslab::{File, Kind, Result};
use hyperslab_native::{create_handle, open_handle, open_image};
use testkit::snapshot::Snapshot;
use vol::{Container, Durability, FileAccess};

use crate::workloads::{Start, Workload};

/// What a redo record begins with.
pub(crate) const RECORD: &[u8] = b"HSLREDO";

/// What a commit that returned is held to.
#[derive(Debug, Clone)]
pub(crate) struct Promise {
    /// Events when it returned.
    pub(crate) at: usize,
    pub(crate) content: Snapshot,
    pub(crate) durability: Durability,
}

/// A workload that was run.
#[derive(Debug, Clone)]
pub(crate) struct Run {
    pub(crate) name: String,
    pub(crate) log: Log,
    /// The first is what the file began with.
    pub(crate) promises: Vec<Promise>,
}

/// How an image breaks what was promised.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Violation {
    /// It cannot be opened or read to the end.
    Invalid(String),
    /// What is in it was never committed.
    Torn(String),
    /// It is older than a commit that returned.
    Lost(String),
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (Violation::Invalid(text) | Violation::Torn(text) | Violation::Lost(text)) = self;
        let kind = match self {
            Violation::Invalid(_) => "not valid",
            Violation::Torn(_) => "not atomic",
            Violation::Lost(_) => "not durable",
        };
        write!(f, "{kind}: {text}")
    }
}

pub(crate) fn snapshot(c: &dyn Container) -> Result<Snapshot> {
    Snapshot::of(c, c.info()?.root)
}

/// Where two contents differ first, cut to a length that can be read.
pub(crate) fn difference(a: &Snapshot, b: &Snapshot) -> Option<String> {
    a.difference(b).map(|text| text.chars().take(160).collect())
}

/// The empty or old file that a workload begins with, on a storage of the caller's.
pub(crate) fn begin(workload: &Workload, wrap: impl FnOnce(Handle) -> Handle) -> Result<Arc<dyn Container>> {
    let memory = |image: &[u8]| Arc::new(Memory::from_image(image.to_vec()));
    let access = FileAccess {
        version_low: workload.low,
        chunk_cache_bytes: workload.cache_bytes,
        ..FileAccess::write()
    };
    match &workload.start {
        Start::New(create) => create_handle(wrap(memory(&[])), "crash", create, &access),
        Start::Old(image) => open_handle(wrap(memory(image)), "crash", &access),
    }
}

pub(crate) fn file(c: &Arc<dyn Container>) -> Result<File> {
    File::from_container(c.clone(), "crash", &FileAccess::write())
}

impl Run {
    /// Runs a workload, and goes on a little without a commit.
    pub(crate) fn of(workload: &Workload) -> Run {
        Run::try_of(workload).unwrap_or_else(|e| panic!("{}: {e}", workload.name))
    }

    fn try_of(workload: &Workload) -> Result<Run> {
        let mut crash = None;
        let c = begin(workload, |handle| {
            let recorder = Arc::new(Crash::new(handle).unwrap());
            crash = Some(recorder.clone());
            recorder
        })?;
        let crash = crash.expect("begin wraps the storage");
        let promise = |durability| -> Result<Promise> {
            Ok(Promise { at: crash.position(), content: snapshot(&*c)?, durability })
        };
        let mut promises = vec![promise(Durability::Full)?];
        for (n, step) in workload.steps.iter().enumerate() {
            step(&file(&c)?)?;
            c.commit(workload.durability(n))?;
            promises.push(promise(workload.durability(n))?);
        }
        if workload.closes {
            let content = snapshot(&*c)?;
            // What is dropped is as durable as what is closed.
            match workload.steps.len() % 2 {
                0 => c.close()?,
                _ => drop(c),
            }
            promises.push(Promise { at: crash.position(), content, durability: Durability::Full });
            return Ok(Run { name: workload.name.clone(), log: crash.log(), promises });
        }
        let f = file(&c)?;
        match f.create_group("never committed") {
            // With readers that look on there are no new objects.
            Err(error) if error.kind() == Kind::Denied => f.dataset("log")?.resize(1)?,
            made => {
                made?.set_attr("x", 1i32)?;
                f.new_dataset::<i32>().shape(300).create("nor this")?.write_raw(&[1i32; 300])?;
            }
        }
        Ok(Run { name: workload.name.clone(), log: crash.log(), promises })
    }

    /// The run as it would have been, had the events of each commit been others. The first are those of making the file.
    pub(crate) fn edited(&self, edit: impl Fn(&mut Vec<Event>)) -> Run {
        let (mut events, mut promises, mut from) = (Vec::new(), self.promises.clone(), 0);
        for promise in &mut promises {
            let mut commit = self.log.events()[from..promise.at].to_vec();
            edit(&mut commit);
            events.extend(commit);
            from = std::mem::replace(&mut promise.at, events.len());
        }
        events.extend_from_slice(&self.log.events()[from..]);
        Run { name: self.name.clone(), log: Log::new(self.log.base().into(), events), promises }
    }

    /// The promise that a crash must keep: the last that counts for it; none before the file was created.
    pub(crate) fn kept(&self, state: &CrashState) -> Option<usize> {
        let returned = self.promises.iter().take_while(|p| p.at <= state.at).count();
        let last = returned.checked_sub(1)?;
        if self.is_process_death(state) {
            return Some(last);
        }
        // An ordered commit is sure to be there when the next one returned that syncs.
        let synced = |n: usize| {
            self.promises[n].durability == Durability::Full
                || self.promises[n + 1..returned].iter().any(|p| p.durability != Durability::None)
        };
        (0..=last).rev().find(|&n| synced(n))
    }

    /// Whether all that was issued reached the disk: the process died, the system lives.
    pub(crate) fn is_process_death(&self, state: &CrashState) -> bool {
        let pending = self.log.pending(state.at);
        let whole = state.kept.iter().map(|k| (k.event, &k.part));
        whole.eq(pending.map(|event| (event, &files::crash::SurvivingPart::Whole)))
    }

    /// Whether a crash fell between the sync of a record and the next one, while the commit was published.
    pub(crate) fn is_publishing(&self, state: &CrashState) -> bool {
        let durable = &self.log.events()[..self.log.durable(state.at)];
        let since = durable.iter().rev().skip(1).take_while(|e| !matches!(e, Event::Sync(_)));
        let is_record = |e: &Event| matches!(e, Event::Write { data, .. } if data.starts_with(RECORD));
        since.into_iter().any(is_record)
    }

    /// Whether power loss may be judged: commits without syncs promise nothing then, until one with syncs returned.
    fn is_protected(&self, state: &CrashState) -> bool {
        let returned = self.promises.iter().take_while(|p| p.at <= state.at).count();
        let around = self.promises.iter().skip(returned.saturating_sub(1)).take(2);
        around.into_iter().all(|p| p.durability != Durability::None) && returned > 0
    }

    /// Crashes after the file was created: every prefix, every write at fault, then random ones.
    pub(crate) fn prefixes(&self) -> Vec<CrashState> {
        self.log.prefixes().filter(|s| s.at >= self.promises[0].at).collect()
    }

    pub(crate) fn faults(&self) -> Vec<CrashState> {
        let faults = (self.promises[0].at..self.log.events().len()).flat_map(|event| self.log.faults(event));
        faults.filter(|s| self.is_protected(s)).collect()
    }

    pub(crate) fn draws(&self, seed: u64, count: usize) -> Vec<CrashState> {
        let drawn = self.log.sample(seed).take(count.saturating_mul(4)).filter(|s| self.is_protected(s));
        drawn.take(count).collect()
    }

    /// What is wrong with the file that a crash leaves, read as it is and after recovery.
    pub(crate) fn judge(&self, state: &CrashState) -> std::result::Result<(), Violation> {
        let image = self.log.image(state).unwrap();
        let as_read = open_image(image.clone(), &FileAccess::read());
        self.judge_open(as_read, state, "read")?;
        let memory = Arc::new(Memory::from_image(image));
        let recovered = open_handle(memory.clone(), "recovered", &FileAccess::write());
        let found = self.judge_open(recovered, state, "recovered")?;
        if state.at.is_multiple_of(4) {
            goes_on(&memory, &found).map_err(|e| Violation::Invalid(format!("going on: {e}")))?;
        }
        Ok(())
    }

    fn judge_open(
        &self,
        opened: Result<Arc<dyn Container>>,
        state: &CrashState,
        how: &str,
    ) -> std::result::Result<Snapshot, Violation> {
        let invalid = |e: hyperslab::Error| Violation::Invalid(format!("{how}: {e}"));
        let c = opened.map_err(invalid)?;
        if let Some(finding) = Check::default().run(&*c, &mut |_| ()).findings.first() {
            return Err(Violation::Invalid(format!(
                "{how}: {} {}: {}",
                finding.path, finding.part, finding.error
            )));
        }
        let found = snapshot(&*c).map_err(invalid)?;
        let least = self.kept(state).unwrap_or(0);
        match self.promises.iter().rposition(|p| p.content == found) {
            Some(which) if which >= least => Ok(found),
            Some(which) => Err(Violation::Lost(format!("{how}: commit {which}, promised {least}"))),
            None => {
                let near = self.promises.iter().skip(least).take(2);
                let near: Vec<_> = near.map(|p| difference(&p.content, &found)).collect();
                Err(Violation::Torn(format!("{how}: promised {least}, {near:?}")))
            }
        }
    }
}

/// A recovered file can be changed, and is then what it was and the change.
fn goes_on(memory: &Arc<Memory>, found: &Snapshot) -> Result<()> {
    let c = open_handle(memory.clone(), "again", &FileAccess::write())?;
    let f = file(&c)?;
    f.create_group("went on")?;
    // Of sizes that fit into what is free, whatever it was.
    for size in [1, 20, 90, 600] {
        let d = f.new_dataset::<i32>().shape(size).create(&format!("went on/{size}"))?;
        d.write_raw(&vec![1i32; size])?;
    }
    // One ends dropped, the other closed.
    drop((c, f));
    let c = open_handle(memory.clone(), "again", &FileAccess::write())?;
    file(&c)?.unlink("went on")?;
    c.close()?;
    let now = snapshot(&*open_handle(memory.clone(), "again", &FileAccess::read())?)?;
    match difference(&now, found) {
        None => Ok(()),
        Some(difference) => Err(hyperslab::Error::corrupt("go on").with("difference", difference)),
    }
}
