//! The mirror: the primary, its targets, and what becomes of one that fails.

use std::collections::BTreeSet;
use std::fmt::Display;
use std::sync::Arc;

use model::{Error, Kind, Result, Token};
use system::sync::{Mutex, MutexGuard};
use vol::{Access, Container, FileAccess, Operation, Registry, Wrap};

use crate::mirror::layer::target_access;
use crate::mirror::mark::{MirrorMark, Session};
use crate::mirror::pair::Pair;
use crate::mirror::tokens::{TokenMap, Tokens};

/// The reaction to a target that fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Policy {
    /// This change and all later ones fail.
    Stop,
    /// The target is left out.
    Continue,
}

/// One more place for the container.
pub(crate) struct Target {
    pub(crate) location: String,
    state: Mutex<TargetState>,
}

#[derive(Default)]
struct TargetState {
    container: Option<Arc<dyn Container>>,
    tokens: Arc<Tokens>,
    /// Why it is stale, if it is.
    problem: Option<String>,
    /// Reads that it answered for the primary.
    reads: u64,
}

impl Target {
    pub(crate) fn new(location: String) -> Self {
        Target { location, state: Mutex::default() }
    }

    fn state(&self) -> MutexGuard<'_, TargetState> {
        self.state.lock()
    }

    pub(crate) fn is_stale(&self) -> bool {
        self.state().problem.is_some()
    }

    pub(crate) fn problem(&self) -> Option<String> {
        self.state().problem.clone()
    }

    pub(crate) fn reads(&self) -> u64 {
        self.state().reads
    }

    pub(crate) fn count_read(&self) {
        self.state().reads += 1;
    }

    pub(crate) fn set_stale(&self, problem: &dyn Display) {
        self.state().problem.get_or_insert_with(|| problem.to_string());
    }

    /// Begins anew with a container that holds the same as the primary.
    pub(crate) fn set_healthy(&self, container: Arc<dyn Container>) {
        let mut state = self.state();
        let reads = state.reads;
        *state = TargetState { container: Some(container), reads, ..TargetState::default() };
    }

    /// Returns its container, healthy or not, which it gives up.
    pub(crate) fn take(&self) -> (Option<Arc<dyn Container>>, Arc<Tokens>) {
        let mut state = self.state();
        (state.container.take(), state.tokens.clone())
    }

    /// It and the primary, if it is healthy.
    pub(crate) fn pair<'m>(&self, mirror: &'m Mirror) -> Option<Pair<'m>> {
        let state = self.state();
        let target = state.container.clone().filter(|_| state.problem.is_none())?;
        Some(Pair { mirror, target, tokens: state.tokens.clone() })
    }
}

/// The changes since the container was created or opened.
pub(crate) struct Progress {
    /// The container was created, not opened.
    pub(crate) is_new: bool,
    pub(crate) is_changed: bool,
    /// The primary says that it is being changed.
    pub(crate) is_marked: bool,
    pub(crate) session: Session,
}

pub(crate) struct Mirror {
    pub(crate) primary: Arc<dyn Container>,
    pub(crate) root: Token,
    pub(crate) location: String,
    pub(crate) registry: Registry,
    /// How targets are opened.
    pub(crate) access: FileAccess,
    pub(crate) policy: Policy,
    pub(crate) targets: Vec<Target>,
    pub(crate) found: TokenMap,
    is_writable: bool,
    /// Stale targets of others, who mirror the same container to other places.
    stale_of_others: BTreeSet<String>,
    /// Held by every change, so that all places see changes in one order.
    progress: Mutex<Progress>,
}

impl Mirror {
    /// Creates or opens the targets of a container that was just created or opened.
    pub(crate) fn new(op: &Wrap<'_>, policy: Policy, locations: Vec<String>) -> Result<Self> {
        let info = op.inner.info()?;
        let mark = MirrorMark::read(&*op.inner)?;
        if policy == Policy::Continue && info.writable && !info.capability.attributes {
            let error = Error::unsupported("remember stale targets").with("connector", &info.connector);
            return Err(error.with("problem", "on_failure=continue needs attributes"));
        }
        let access = if info.writable { Access::Write } else { Access::Read };
        let session = Session::new();
        let stale_of_others = mark.stale.iter().filter(|stale| !locations.contains(stale)).cloned().collect();
        let progress = Progress { is_new: op.made.is_some(), is_changed: false, is_marked: false, session };
        let mirror = Mirror {
            primary: op.inner.clone(),
            root: info.root,
            location: op.location.to_owned(),
            registry: op.registry.clone(),
            access: FileAccess { access, ..target_access(op.access) },
            policy,
            targets: locations.into_iter().map(Target::new).collect(),
            found: TokenMap::default(),
            is_writable: info.writable,
            stale_of_others,
            progress: Mutex::new(progress),
        };
        let begun = mirror.targets.iter().try_for_each(|target| mirror.begin_target(target, op, &mark));
        if begun.is_err() && op.made.is_some() {
            mirror.unmake();
        }
        begun.map(|()| mirror)
    }

    /// Removes the targets that were just created: half a mirror is none. The registry removes the primary.
    fn unmake(&self) {
        let targets = self.targets.iter().filter_map(|target| Some((&target.location, target.take().0?)));
        for (location, container) in targets {
            // The error that led here says more than one about an empty container that stays.
            let _ = container.close();
            drop(container);
            let _ = self.registry.delete(location, &self.access);
        }
    }

    fn begin_target(&self, target: &Target, op: &Wrap<'_>, mark: &MirrorMark) -> Result<()> {
        let begun = match op.made {
            Some(made) => self.registry.create(&target.location, made.create, &self.access, made.truncate),
            None => self.registry.open(&target.location, &self.access),
        };
        match begun {
            Ok(container) => target.set_healthy(container),
            // Something else is there, which no one asked to replace.
            Err(error)
                if op.made.is_some() && (self.policy == Policy::Stop || error.kind() == Kind::Exists) =>
            {
                return Err(error.during(format!("mirror to {}", target.location)));
            }
            Err(error) => target.set_stale(&error),
        }
        if mark.stale.contains(&target.location) {
            target.set_stale(&"it missed changes before");
        } else if mark.is_left_behind() && op.made.is_none() {
            target.set_stale(&"a program ended without closing the container");
        }
        Ok(())
    }

    pub(crate) fn progress(&self) -> MutexGuard<'_, Progress> {
        self.progress.lock()
    }

    /// Targets that miss nothing.
    pub(crate) fn healthy(&self) -> impl Iterator<Item = (&Target, Pair<'_>)> {
        self.targets.iter().filter_map(|target| Some((target, target.pair(self)?)))
    }

    fn stale(&self) -> BTreeSet<String> {
        self.targets.iter().filter(|target| target.is_stale()).map(|target| target.location.clone()).collect()
    }

    /// Before a change: no other caller changes anything until the answer is dropped.
    pub(crate) fn begin_change(&self) -> Result<MutexGuard<'_, Progress>> {
        let mut progress = self.progress();
        if !self.is_writable {
            return Ok(progress);
        }
        let stopped = self.targets.iter().find(|target| self.policy == Policy::Stop && target.is_stale());
        if let Some(target) = stopped {
            let error = Error::denied("change mirrored container").with("target", &target.location);
            let error = error.with("problem", target.problem().unwrap_or_default());
            return Err(error.with("remedy", "resynchronise it, or open with on_failure=continue"));
        }
        // A new container has no commit yet that a target could lack.
        if !progress.is_new && !progress.is_marked {
            self.mark_open(&mut progress)?;
            self.primary.commit(self.access.durability)?;
        }
        Ok(progress)
    }

    /// Marks the primary as being changed.
    pub(crate) fn mark_open(&self, progress: &mut Progress) -> Result<()> {
        self.mark(progress, Some(progress.session.0))
    }

    /// Marks the primary with what is stale, if anything is.
    pub(crate) fn mark_closed(&self, progress: &mut Progress) -> Result<()> {
        self.mark(progress, None)
    }

    fn mark(&self, progress: &mut Progress, session: Option<u64>) -> Result<()> {
        if !self.primary.info()?.capability.attributes {
            return Ok(());
        }
        let stale = self.stale().union(&self.stale_of_others).cloned().collect();
        MirrorMark { session, stale }.write(&*self.primary)?;
        progress.is_marked = session.is_some();
        Ok(())
    }

    /// Returns a target missed something: the error of the change, if it has to fail.
    pub(crate) fn failed(&self, target: &Target, operation: Operation, error: Error) -> Option<Error> {
        let error = error.during(format!("{} in mirror {}", operation.name(), target.location));
        target.set_stale(&error);
        (self.policy == Policy::Stop).then_some(error)
    }

    /// Returns the state of the targets, as JSON.
    pub(crate) fn state_json(&self) -> String {
        let targets: Vec<String> = self.targets.iter().map(target_json).collect();
        let policy = if self.policy == Policy::Stop { "stop" } else { "continue" };
        format!(
            "{{\"primary\": {}, \"on_failure\": \"{policy}\", \"targets\": [{}]}}\n",
            quoted(&self.location),
            targets.join(", ")
        )
    }
}

fn target_json(target: &Target) -> String {
    let problem = target.problem();
    let state = if problem.is_some() { "stale" } else { "healthy" };
    let problem = problem.map_or(String::from("null"), |problem| quoted(&problem));
    let location = quoted(&target.location);
    let reads = target.reads();
    format!(
        "{{\"location\": {location}, \"state\": \"{state}\", \"problem\": {problem}, \"reads\": {reads}}}"
    )
}

fn quoted(text: &str) -> String {
    let mut quoted = String::from('"');
    for c in text.chars() {
        match c {
            '"' | '\\' => quoted.extend(['\\', c]),
            c if c < ' ' => quoted.push_str(&format!("\\u{:04x}", u32::from(c))),
            c => quoted.push(c),
        }
    }
    quoted.push('"');
    quoted
}
