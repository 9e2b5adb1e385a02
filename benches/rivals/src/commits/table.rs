//! The tables of commits: on the terminal, and in the page.

use std::fmt::Write as _;

use super::Line;
use super::cycles::Cycles;
use crate::Outcome;
use crate::harness::Bench;
use crate::output::between_marks;

/// Ours may take so many times as long as theirs,
const RATIO_MAX: f64 = 1.5;
/// or so many seconds, where that is more;
const SECONDS_FREE: f64 = 0.15e-3;
/// and where there is most, so many times as long as where there is least.
const GROWTH_MAX: f64 = 2.0;
/// Cycles at the end may take so many times as long as at the start,
const CYCLE_GROWTH_MAX: f64 = 1.5;
/// and leave a file of so many times the elements.
const SIZE_MAX: f64 = 1.1;

impl Line {
    /// How many times as long ours takes where there is most as where there is least.
    fn growth(&self) -> f64 {
        let (first, last) = (self.times.first(), self.times.last());
        first.zip(last).map_or(1.0, |(first, last)| last.2 / first.2)
    }

    /// Which promise is not kept.
    fn verdict(&self) -> &'static str {
        let is_slow = self.times.iter().any(|(_, theirs, ours)| *ours > SECONDS_FREE.max(RATIO_MAX * theirs));
        match (is_slow, self.growth() > GROWTH_MAX) {
            (true, true) => "slow, grows",
            (true, false) => "slow",
            (false, true) => "grows",
            (false, false) => "",
        }
    }
}

impl Cycles {
    fn growth(&self) -> f64 {
        self.last / self.first
    }

    fn verdict(&self) -> &'static str {
        match (self.growth() > CYCLE_GROWTH_MAX, self.size > SIZE_MAX) {
            (true, _) => "grows",
            (false, true) => "large",
            (false, false) => "",
        }
    }
}

fn milliseconds(seconds: f64) -> String {
    format!("{:.3}", seconds * 1e3)
}

/// A row for the terminal.
pub(super) fn line(line: &Line) -> String {
    let mut text = format!("{:<36}", line.name);
    for (many, theirs, ours) in &line.times {
        let _ = write!(text, "  {many}: {} / {}", milliseconds(*theirs), milliseconds(*ours));
    }
    let _ = write!(text, "  grows {:.2} {}", line.growth(), line.verdict());
    text
}

pub(super) fn cycles(cycles: &Cycles) -> String {
    let (first, last) = (milliseconds(cycles.first), milliseconds(cycles.last));
    let Cycles { name, size, .. } = cycles;
    format!("cycles, {name:<28} first {first} last {last} ms, size {size:.3} {}", cycles.verdict())
}

/// Puts both tables into the page, where one was asked for.
pub(super) fn write(bench: &Bench, lines: &[Line], cycles: &[Cycles]) -> Outcome<()> {
    let Some(folder) = bench.out.as_ref().filter(|_| !lines.is_empty()) else { return Ok(()) };
    let page = folder.join("performance.md");
    let text = std::fs::read_to_string(&page).unwrap_or_default();
    std::fs::write(page, between_marks(&text, "commits", &markdown(lines, cycles)))?;
    Ok(())
}

fn markdown(lines: &[Line], cycles: &[Cycles]) -> String {
    let mut text = String::from("| added and flushed | 10³ | 10⁴ | 10⁵ | 10⁶ | last to first | verdict |\n");
    text.push_str("|---|---|---|---|---|---|---|\n");
    for line in lines {
        let _ = write!(text, "| {} |", line.name);
        for n in 0..4 {
            let cell = line.times.get(n).map_or_else(
                || " –".to_owned(),
                |(_, theirs, ours)| format!(" {} / {}", milliseconds(*theirs), milliseconds(*ours)),
            );
            let _ = write!(text, "{cell} |");
        }
        let _ = writeln!(text, " {:.2} | {} |", line.growth(), line.verdict());
    }
    text.push_str("\n| 10⁵ rows appended and flushed | first 1,000 | last 1,000 | ratio | file to elements | verdict |\n");
    text.push_str("|---|---|---|---|---|---|\n");
    for cycles in cycles {
        let Cycles { name, first, last, size } = cycles;
        let (growth, verdict) = (cycles.growth(), cycles.verdict());
        let (first, last) = (milliseconds(*first), milliseconds(*last));
        let _ = writeln!(text, "| {name} | {first} | {last} | {growth:.2} | {size:.3} | {verdict} |");
    }
    text
}
