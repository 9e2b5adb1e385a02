//! The numbers for people and programs: a table, JSON, and rows that [`Stats::of`] reads.

use std::fmt::Write;

use model::{Error, Result};
use vol::Container;

use crate::stats::extensions::StatsRows;
use crate::stats::numbers::{Merged, Numbers, OBJECTS_MAX};

/// The counts of operations, bytes and times.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Stats {
    /// One row for each operation that ran, in the order of the contract.
    pub operations: Vec<Row>,
    /// One row for each object, those first that took longest.
    pub objects: Vec<Row>,
}

/// The numbers of one operation or object. Times are in nanoseconds.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Row {
    /// The operation, or the object's token.
    pub name: String,
    /// Calls.
    pub count: u64,
    /// Calls that failed.
    pub errors: u64,
    /// Bytes of elements, values and blobs.
    pub bytes: u64,
    /// Time of all calls together.
    pub total: u64,
    /// Half of all calls took no longer.
    pub p50: u64,
    /// Nine of ten calls took no longer.
    pub p90: u64,
    /// Ninety-nine of a hundred calls took no longer.
    pub p99: u64,
    /// The longest call.
    pub max: u64,
}

const COLUMNS: [&str; 8] = ["count", "errors", "bytes", "total", "p50", "p90", "p99", "max"];
/// From this column on, numbers are times.
const TIMES_FROM: usize = 3;

impl Row {
    fn new(name: String, numbers: &Numbers) -> Self {
        let Numbers { count, errors, bytes, nanos, histogram } = numbers;
        Row {
            name,
            count: *count,
            errors: *errors,
            bytes: *bytes,
            total: *nanos,
            p50: histogram.percentile(50),
            p90: histogram.percentile(90),
            p99: histogram.percentile(99),
            max: histogram.max(),
        }
    }

    fn numbers(&self) -> [u64; 8] {
        [self.count, self.errors, self.bytes, self.total, self.p50, self.p90, self.p99, self.max]
    }

    fn from_numbers(name: &str, numbers: [u64; 8]) -> Self {
        let [count, errors, bytes, total, p50, p90, p99, max] = numbers;
        Row { name: name.to_owned(), count, errors, bytes, total, p50, p90, p99, max }
    }
}

impl Stats {
    pub(crate) fn new(merged: &Merged) -> Self {
        let operations =
            merged.operations.iter().map(|(operation, n)| Row::new(operation.name().to_owned(), n)).collect();
        let mut objects: Vec<Row> =
            merged.objects.iter().map(|(token, n)| Row::new(token.to_string(), n)).collect();
        if merged.others.count > 0 {
            objects.push(Row::new(format!("beyond the first {OBJECTS_MAX}"), &merged.others));
        }
        objects.sort_by(|a, b| b.total.cmp(&a.total).then_with(|| a.name.cmp(&b.name)));
        Stats { operations, objects }
    }

    /// Returns what the outermost stats layer over a container has counted so far.
    pub fn of(container: &dyn Container) -> Result<Stats> {
        Stats::from_rows(vol::call::<StatsRows>(container, &())?.as_bytes())
    }

    /// Returns the row of an operation, if it ran.
    pub fn operation(&self, name: &str) -> Option<&Row> {
        self.operations.iter().find(|row| row.name == name)
    }

    fn tables(&self) -> [(&'static str, &[Row]); 2] {
        [("operation", &self.operations), ("object", &self.objects)]
    }

    /// Returns the report as text for people, in aligned columns.
    pub fn to_table(&self) -> String {
        let tables = self.tables().into_iter().filter(|(_, rows)| !rows.is_empty());
        tables.map(|(title, rows)| table(title, rows)).collect::<Vec<_>>().join("\n")
    }

    /// Returns the report as JSON, with times in nanoseconds.
    pub fn to_json(&self) -> String {
        let tables = self.tables().map(|(title, rows)| {
            let rows: Vec<String> = rows.iter().map(|row| json_row(title, row)).collect();
            format!("\"{title}s\": [{}]", rows.join(", "))
        });
        format!("{{{}}}\n", tables.join(", "))
    }

    /// Returns one line a row, its parts separated by tabs.
    pub(crate) fn to_rows(&self) -> String {
        let mut text = String::new();
        for (title, rows) in self.tables() {
            for row in rows {
                let numbers = row.numbers().map(|n| n.to_string()).join("\t");
                // Writing to a string does not fail.
                let _ = writeln!(text, "{title}\t{}\t{numbers}", row.name);
            }
        }
        text
    }

    fn from_rows(text: &[u8]) -> Result<Stats> {
        let wrong = || Error::corrupt("read rows of statistics");
        let mut stats = Stats::default();
        for line in std::str::from_utf8(text).map_err(|_| wrong())?.lines() {
            let parts: Vec<&str> = line.split('\t').collect();
            let [title, name, numbers @ ..] = &parts[..] else { return Err(wrong()) };
            let numbers: Vec<u64> =
                numbers.iter().map(|n| n.parse().map_err(|_| wrong())).collect::<Result<_>>()?;
            let row = Row::from_numbers(name, numbers.try_into().map_err(|_| wrong())?);
            match *title {
                "operation" => stats.operations.push(row),
                _ => stats.objects.push(row),
            }
        }
        Ok(stats)
    }
}

fn json_row(title: &str, row: &Row) -> String {
    let numbers = COLUMNS.iter().zip(row.numbers()).enumerate().map(|(n, (column, number))| {
        let unit = if n >= TIMES_FROM { "_ns" } else { "" };
        format!("\"{column}{unit}\": {number}")
    });
    format!("{{\"{title}\": \"{}\", {}}}", row.name, numbers.collect::<Vec<_>>().join(", "))
}

fn table(title: &str, rows: &[Row]) -> String {
    let mut cells: Vec<Vec<String>> = vec![header(title)];
    cells.extend(rows.iter().map(|row| {
        let numbers = row.numbers().into_iter().enumerate();
        let shown =
            numbers.map(|(n, number)| if n >= TIMES_FROM { duration(number) } else { number.to_string() });
        std::iter::once(row.name.clone()).chain(shown).collect()
    }));
    let widths: Vec<usize> =
        (0..=COLUMNS.len()).map(|n| cells.iter().map(|row| row[n].len()).max().unwrap_or(0)).collect();
    let mut text = String::new();
    for row in cells {
        let padded = row.iter().zip(&widths).enumerate().map(|(n, (cell, &width))| match n {
            0 => format!("{cell:width$}"),
            _ => format!("{cell:>width$}"),
        });
        text.push_str(padded.collect::<Vec<_>>().join("  ").trim_end());
        text.push('\n');
    }
    text
}

fn header(title: &str) -> Vec<String> {
    std::iter::once(title).chain(COLUMNS).map(str::to_owned).collect()
}

fn duration(nanos: u64) -> String {
    match nanos {
        0..10_000 => format!("{nanos} ns"),
        10_000..10_000_000 => format!("{} us", nanos / 1_000),
        10_000_000..10_000_000_000 => format!("{} ms", nanos / 1_000_000),
        _ => format!("{} s", nanos / 1_000_000_000),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn some() -> Stats {
        let row =
            |name: &str| Row::from_numbers(name, [3, 1, 4096, 12_000_000, 900, 2_000, 30_000, 11_000_000]);
        Stats { operations: vec![row("dataset_read")], objects: vec![row("0x1"), row("0x22")] }
    }

    #[test]
    fn rows_come_back_as_they_were() {
        assert_eq!(Stats::from_rows(some().to_rows().as_bytes()).unwrap(), some());
        for broken in [&b"operation\tx\t1"[..], b"one word", b"object\tx\t1\t2\t3\t4\t5\t6\t7\tmany", b"\xff"]
        {
            assert!(Stats::from_rows(broken).is_err());
        }
    }

    #[test]
    fn a_table_has_aligned_columns_and_readable_times() {
        let table = some().to_table();
        let mut lines = table.lines();
        assert!(lines.next().unwrap().starts_with("operation "));
        let line = lines.next().unwrap();
        assert!(line.starts_with("dataset_read      3       1   4096") && line.ends_with("11 ms"), "{line}");
        assert_eq!(table.lines().filter(|line| line.starts_with("object ")).count(), 1);
    }

    #[test]
    fn json_names_every_number() {
        let json = some().to_json();
        assert!(json.contains(r#"{"operation": "dataset_read", "count": 3, "errors": 1, "bytes": 4096"#));
        assert!(json.contains(r#""p99_ns": 30000"#) && json.contains(r#"{"object": "0x22""#));
    }
}
