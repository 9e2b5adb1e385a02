//! Runs rivals in turn, so that a noisy neighbour hurts all of them; the best run of each counts.

use std::path::PathBuf;
use std::time::Instant;

use crate::Outcome;

/// How much work one run is, for the rate that is printed.
#[derive(Clone, Copy)]
pub(crate) enum Amount {
    Bytes(u64),
    Elements(u64),
    Calls(u64),
}

/// One line of the table. Times are in seconds.
pub(crate) struct Row {
    pub(crate) name: String,
    pub(crate) amount: Amount,
    /// The least ratio that the project promises.
    pub(crate) at_least: Option<f64>,
    /// The least ratio to the fastest rival that it promises.
    pub(crate) at_least_rival: Option<f64>,
    /// What the ratio is against.
    pub(crate) against: &'static str,
    pub(crate) theirs: Option<f64>,
    pub(crate) ours: f64,
    pub(crate) limit: Option<(&'static str, f64)>,
    /// All that ran, the fastest first.
    pub(crate) rivals: Vec<(&'static str, f64)>,
    /// Bytes of memory that the process grew by while ours ran.
    pub(crate) grown: u64,
    /// Whether the results were compared, and equal.
    pub(crate) equal: bool,
}

impl Row {
    pub(crate) fn ratio(&self) -> Option<f64> {
        self.theirs.map(|theirs| theirs / self.ours)
    }

    /// The rival that counts.
    pub(crate) fn rival(&self) -> Option<(&'static str, f64)> {
        self.rivals.first().copied()
    }

    pub(crate) fn rival_ratio(&self) -> Option<f64> {
        self.rival().map(|(_, rival)| rival / self.ours)
    }

    /// Whether a promise is not kept.
    pub(crate) fn is_below(&self) -> bool {
        let below = |ratio: Option<f64>, least| ratio.zip(least).is_some_and(|(ratio, least)| ratio < least);
        below(self.ratio(), self.at_least) || below(self.rival_ratio(), self.at_least_rival)
    }
}

/// Options, and the rows so far.
pub(crate) struct Bench {
    pub(crate) folder: PathBuf,
    pub(crate) out: Option<PathBuf>,
    pub(crate) rounds: Option<usize>,
    words: Vec<String>,
    pub(crate) rows: Vec<Row>,
}

impl Bench {
    pub(crate) fn from_arguments(mut arguments: impl Iterator<Item = String>) -> Outcome<Bench> {
        let mut folder = PathBuf::from("/dev/shm");
        let (mut out, mut rounds, mut words) = (None, None, Vec::new());
        while let Some(argument) = arguments.next() {
            let mut value = || arguments.next().ok_or(format!("{argument} needs a value"));
            match argument.as_str() {
                "--dir" => folder = PathBuf::from(value()?),
                "--out" => out = Some(PathBuf::from(value()?)),
                "--rounds" => rounds = Some(value()?.parse()?),
                word => words.push(word.to_owned()),
            }
        }
        let folder = folder.join(format!("hyperslab-rivals-{}", std::process::id()));
        std::fs::create_dir_all(&folder)?;
        Ok(Bench { folder, out, rounds, words, rows: Vec::new() })
    }

    /// Whether any of these workloads was asked for.
    pub(crate) fn wants(&self, names: &[&str]) -> bool {
        let asked = |name: &&str| self.words.iter().any(|word| name.contains(word.as_str()));
        self.words.is_empty() || names.iter().any(asked)
    }

    pub(crate) fn path(&self, name: &str) -> String {
        self.folder.join(name).display().to_string()
    }

    pub(crate) fn remove(&self, names: &[&str]) {
        for name in names {
            let path = self.folder.join(name);
            std::fs::remove_file(&path).or_else(|_| std::fs::remove_dir_all(&path)).ok();
        }
    }
}

impl Drop for Bench {
    fn drop(&mut self) {
        std::fs::remove_dir_all(&self.folder).ok();
    }
}

/// One run of a rival: the seconds that count.
type Runner<'a> = Box<dyn FnMut() -> Outcome<f64> + 'a>;

/// A workload and those who run it.
pub(crate) struct Race<'a> {
    name: String,
    amount: Amount,
    at_least: Option<f64>,
    at_least_rival: Option<f64>,
    rounds: usize,
    theirs: Option<Runner<'a>>,
    ours: Option<Runner<'a>>,
    limit: Option<(&'static str, Runner<'a>)>,
    rivals: Vec<(&'static str, Runner<'a>)>,
}

/// Rounds that count; one more goes before, to warm up.
const ROUNDS: usize = 5;

pub(crate) fn race<'a>(name: &str, amount: Amount) -> Race<'a> {
    Race {
        name: name.to_owned(),
        amount,
        at_least: None,
        at_least_rival: None,
        rounds: ROUNDS,
        theirs: None,
        ours: None,
        limit: None,
        rivals: Vec::new(),
    }
}

impl<'a> Race<'a> {
    pub(crate) fn at_least(mut self, ratio: f64) -> Self {
        self.at_least = Some(ratio);
        self
    }

    /// The promise against the fastest rival.
    pub(crate) fn at_least_rival(mut self, ratio: f64) -> Self {
        self.at_least_rival = Some(ratio);
        self
    }

    /// For workloads that take long.
    pub(crate) fn rounds(mut self, rounds: usize) -> Self {
        self.rounds = rounds;
        self
    }

    pub(crate) fn theirs(mut self, run: impl FnMut() -> Outcome<f64> + 'a) -> Self {
        self.theirs = Some(Box::new(run));
        self
    }

    pub(crate) fn ours(mut self, run: impl FnMut() -> Outcome<f64> + 'a) -> Self {
        self.ours = Some(Box::new(run));
        self
    }

    pub(crate) fn limit(mut self, name: &'static str, run: impl FnMut() -> Outcome<f64> + 'a) -> Self {
        self.limit = Some((name, Box::new(run)));
        self
    }

    /// One of those in the second column; the fastest of them counts.
    pub(crate) fn rival(mut self, name: &'static str, run: impl FnMut() -> Outcome<f64> + 'a) -> Self {
        self.rivals.push((name, Box::new(run)));
        self
    }

    /// Runs all in turn. `equal` compares the results afterwards.
    pub(crate) fn run(self, bench: &mut Bench, equal: impl FnOnce() -> Outcome<bool>) -> Outcome<()> {
        if !bench.wants(&[&self.name]) {
            return Ok(());
        }
        let rounds = bench.rounds.unwrap_or(self.rounds);
        let mut best = [f64::MAX; 3];
        let mut grown = 0;
        let (mut limit, mut rivals) = (self.limit, self.rivals);
        let mut bests: Vec<_> = rivals.iter().map(|(name, _)| (*name, f64::MAX)).collect();
        let (mut theirs, mut ours) = (self.theirs, self.ours.ok_or("nobody runs for us")?);
        for _ in 0..=rounds {
            if let Some(run) = &mut theirs {
                best[0] = best[0].min(run()?);
            }
            let before = memory::start();
            best[1] = best[1].min(ours()?);
            grown = grown.max(memory::peak().saturating_sub(before));
            if let Some((_, run)) = &mut limit {
                best[2] = best[2].min(run()?);
            }
            for ((_, run), (_, best)) in rivals.iter_mut().zip(&mut bests) {
                *best = best.min(run()?);
            }
        }
        bests.sort_by(|(_, one), (_, other)| one.total_cmp(other));
        let row = Row {
            name: self.name,
            amount: self.amount,
            at_least: self.at_least,
            at_least_rival: self.at_least_rival,
            against: "libhdf5",
            theirs: theirs.is_some().then_some(best[0]),
            ours: best[1],
            limit: limit.map(|(name, _)| (name, best[2])),
            rivals: bests,
            grown,
            equal: equal()?,
        };
        println!("{}", crate::output::line(&row));
        bench.rows.push(row);
        Ok(())
    }
}

/// Seconds that `work` takes.
pub(crate) fn timed(work: impl FnOnce() -> Outcome<()>) -> Outcome<f64> {
    let start = Instant::now();
    work()?;
    Ok(start.elapsed().as_secs_f64())
}

pub(crate) fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// Resident memory of this process, as the kernel counts it.
mod memory {
    fn status(field: &str) -> u64 {
        let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
        let line = status.lines().find_map(|line| line.strip_prefix(field));
        let kilobytes =
            line.and_then(|rest| rest.trim_start_matches(':').split_whitespace().next()?.parse().ok());
        kilobytes.unwrap_or(0u64) << 10
    }

    /// Forgets the peak so far; the memory in use now.
    pub(super) fn start() -> u64 {
        std::fs::write("/proc/self/clear_refs", "5").ok();
        status("VmRSS")
    }

    pub(super) fn peak() -> u64 {
        status("VmHWM")
    }
}
