//! Counts of instructions: as text, and compared with those of before.

use std::fmt;

/// A count may be so many percent above the one of before; beyond that, something became slower.
const CHANGE_PERCENT_MAX: u128 = 10;

/// Counts by name, and the compiler that made what was counted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Counts {
    pub(crate) compiler: String,
    pub(crate) counts: Vec<(String, u64)>,
}

impl Counts {
    /// The first line names the compiler, the others a path and its count.
    pub(crate) fn parse(text: &str) -> Result<Counts, String> {
        let mut lines = text.lines();
        let compiler = lines.next().and_then(|line| line.strip_prefix("# "));
        let compiler = compiler.ok_or("the first line does not name a compiler")?.to_owned();
        let counts =
            lines.filter(|line| !line.trim().is_empty()).map(parse_line).collect::<Result<_, _>>()?;
        Ok(Counts { compiler, counts })
    }

    pub(crate) fn get(&self, name: &str) -> Option<u64> {
        self.counts.iter().find(|(n, _)| n == name).map(|(_, count)| *count)
    }
}

fn parse_line(line: &str) -> Result<(String, u64), String> {
    let parsed = line.split_once(' ').and_then(|(name, count)| Some((name, count.trim().parse().ok()?)));
    parsed
        .map(|(name, count)| (name.to_owned(), count))
        .ok_or_else(|| format!("not a name and a count: {line}"))
}

impl fmt::Display for Counts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "# {}", self.compiler)?;
        self.counts.iter().try_for_each(|(name, count)| writeln!(f, "{name} {count}"))
    }
}

/// The compiler and its target, from what `rustc -vV` prints.
pub(crate) fn compiler(verbose_version: &str) -> Option<String> {
    let version = verbose_version.lines().next()?;
    let host = verbose_version.lines().find_map(|line| line.strip_prefix("host: "))?;
    Some(format!("{version} {host}"))
}

/// Instructions, from what callgrind prints. None at all means that it did not find the function to count.
pub(crate) fn collected(callgrind: &str) -> Option<u64> {
    let line = callgrind.lines().find_map(|line| line.split_once("Collected :"))?;
    line.1.trim().parse().ok().filter(|&count| count > 0)
}

/// How a count is next to the one of before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verdict {
    Same,
    More,
    Less,
    /// There is none of before.
    New,
}

impl Verdict {
    /// A path that no one compares is not guarded, so it fails too.
    pub(crate) fn fails(self) -> bool {
        matches!(self, Verdict::More | Verdict::New)
    }

    fn remark(self) -> &'static str {
        match self {
            Verdict::Same => "",
            Verdict::More => "  MORE THAN ALLOWED",
            Verdict::Less => "  less: cargo xtask hot-paths --update",
            Verdict::New => "  NO BASELINE: cargo xtask hot-paths --update",
        }
    }
}

fn change_percent(count: u64, before: u64) -> f64 {
    (count as f64 / before.max(1) as f64 - 1.0) * 100.0
}

/// In whole numbers, so that exactly a tenth is still allowed.
pub(crate) fn compare(count: u64, before: Option<u64>) -> Verdict {
    let Some(before) = before else { return Verdict::New };
    let (count, before) = (u128::from(count) * 100, u128::from(before));
    if count > before * (100 + CHANGE_PERCENT_MAX) {
        Verdict::More
    } else if count < before * (100 - CHANGE_PERCENT_MAX) {
        Verdict::Less
    } else {
        Verdict::Same
    }
}

pub(crate) const TABLE_HEAD: &str = "path                   count     baseline   change";

pub(crate) fn table_line(name: &str, count: u64, before: Option<u64>) -> String {
    let (baseline, change) = match before {
        Some(before) => (before.to_string(), format!("{:+.1} %", change_percent(count, before))),
        None => ("-".to_owned(), "-".to_owned()),
    };
    format!("{name:<15} {count:>12} {baseline:>12} {change:>8}{}", compare(count, before).remark())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_survive_their_text() {
        let counts = [("small-read", 0), ("append", u64::MAX)].map(|(name, count)| (name.to_owned(), count));
        let counts = Counts { compiler: "rustc 1.0 (a b) here".to_owned(), counts: counts.to_vec() };
        assert_eq!(Counts::parse(&counts.to_string()), Ok(counts));
    }

    #[test]
    fn text_that_is_not_counts_is_an_error() {
        for text in ["", "small-read 1", "# rustc\nsmall-read", "# rustc\nsmall-read many", "# rustc\nx -1"] {
            assert!(Counts::parse(text).is_err(), "{text}");
        }
        assert_eq!(Counts::parse("# rustc\n\n").unwrap().counts, []);
    }

    #[test]
    fn a_compiler_is_its_version_and_target() {
        let text =
            "rustc 1.95.0 (abc 2026-04-14)\nbinary: rustc\nhost: x86_64-unknown-linux-gnu\nLLVM version: 22";
        assert_eq!(compiler(text).unwrap(), "rustc 1.95.0 (abc 2026-04-14) x86_64-unknown-linux-gnu");
        assert_eq!(compiler("rustc 1.95.0"), None);
    }

    #[test]
    fn the_count_is_found_in_what_callgrind_prints() {
        let text =
            "==12== Events    : Ir\n==12== Collected : 31974775\n==12== \n==12== I   refs:      31,974,775";
        assert_eq!(collected(text), Some(31_974_775));
    }

    #[test]
    fn nothing_counted_is_no_count() {
        for text in ["", "==12== Collected : 0", "==12== Collected : ", "==12== Collected : 1 2"] {
            assert_eq!(collected(text), None, "{text}");
        }
    }

    #[test]
    fn only_more_than_a_tenth_above_fails() {
        assert_eq!(compare(1100, Some(1000)), Verdict::Same);
        assert_eq!(compare(1101, Some(1000)), Verdict::More);
        assert_eq!(compare(900, Some(1000)), Verdict::Same);
        assert_eq!(compare(899, Some(1000)), Verdict::Less);
        assert!(Verdict::More.fails() && !Verdict::Less.fails() && !Verdict::Same.fails());
    }

    #[test]
    fn a_path_without_baseline_fails() {
        assert!(compare(1, None).fails());
        assert!(compare(1, Some(0)).fails());
    }

    #[test]
    fn a_line_shows_the_change() {
        assert_eq!(
            table_line("append", 1050, Some(1000)),
            "append                  1050         1000   +5.0 %"
        );
        assert!(table_line("append", 1200, Some(1000)).ends_with("+20.0 %  MORE THAN ALLOWED"));
    }
}
