//! Tables for people, in Markdown whose columns are aligned, so that they read well in a terminal too.

use testkit::conformance::{self, Report};
use vol::{ConnectorInfo, Registry};

/// A subject and how it did.
pub type Row = (String, Report);

/// Rows of cells as a table; the first row is the head, and all columns but the first `left` are numbers or marks.
fn grid(rows: &[Vec<String>], left: usize) -> String {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width =
        |column: usize| rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count()).max();
    let widths: Vec<usize> = (0..columns).map(|column| width(column).unwrap_or(0).max(2)).collect();
    let line = |row: &Vec<String>| {
        let cells = widths.iter().enumerate().map(|(column, width)| {
            let cell = row.get(column).map_or("", String::as_str);
            if column < left { format!(" {cell:<width$} |") } else { format!(" {cell:>width$} |") }
        });
        format!("|{}\n", cells.collect::<String>())
    };
    let rule = widths.iter().enumerate().map(|(column, width)| match column < left {
        true => format!("{}|", "-".repeat(width + 2)),
        false => format!("{}:|", "-".repeat(width + 1)),
    });
    let rule = format!("|{}\n", rule.collect::<String>());
    let mut lines = rows.iter().map(line);
    let head = lines.next().unwrap_or_default();
    head + &rule + &lines.collect::<String>()
}

/// A name as code inside a cell, where a bar would end the cell.
fn code(text: &str) -> String {
    format!("`{}`", text.replace('|', "\\|"))
}

/// A letter for each subject.
fn letter(number: usize) -> String {
    char::from_u32('A' as u32 + number as u32).unwrap_or('?').to_string()
}

/// `18`, `15 + 3` where three are unsupported, and what failed.
fn counts(report: &Report, concern: Option<&str>) -> String {
    let is_of = |found: &str| concern.is_none_or(|concern| concern == found);
    let passed = report.passed.iter().filter(|b| is_of(b.concern)).count();
    let unsupported = report.unsupported.iter().filter(|b| is_of(b.concern)).count();
    let failed = report.failed.iter().filter(|(b, _)| is_of(b.concern)).count();
    let unsupported = if unsupported == 0 { String::new() } else { format!(" + {unsupported}") };
    let failed = if failed == 0 { String::new() } else { format!(" **{failed} failed**") };
    format!("{passed}{unsupported}{failed}")
}

/// Concerns in the order of the suite, each with the number of its behaviours.
fn concerns() -> Vec<(&'static str, usize)> {
    let mut found: Vec<(&str, usize)> = Vec::new();
    for behaviour in conformance::behaviours() {
        match found.iter_mut().find(|(concern, _)| *concern == behaviour.concern) {
            Some((_, count)) => *count += 1,
            None => found.push((behaviour.concern, 1)),
        }
    }
    found
}

fn subjects(rows: &[Row]) -> String {
    let head = ["", "subject", "passed", "unsupported", "failed"].map(str::to_owned).to_vec();
    let body = rows.iter().enumerate().map(|(number, (name, report))| {
        let counts = [report.passed.len(), report.unsupported.len(), report.failed.len()];
        [letter(number), code(name)].into_iter().chain(counts.map(|count| count.to_string())).collect()
    });
    grid(&[head].into_iter().chain(body).collect::<Vec<_>>(), 2)
}

fn by_concern(rows: &[Row]) -> String {
    let letters = (0..rows.len()).map(letter);
    let head = ["concern".to_owned(), "behaviours".to_owned()].into_iter().chain(letters).collect();
    let line = |name: &str, count: usize, concern: Option<&str>| {
        let cells = rows.iter().map(|(_, report)| counts(report, concern));
        [name.to_owned(), count.to_string()].into_iter().chain(cells).collect()
    };
    let concerns = concerns();
    let all = concerns.iter().map(|(_, count)| count).sum();
    let body = concerns.iter().map(|(concern, count)| line(concern, *count, Some(concern)));
    let lines = [head].into_iter().chain(body).chain([line("all", all, None)]);
    grid(&lines.collect::<Vec<_>>(), 1)
}

/// How many behaviours there are, for the page and for the test that it is current.
pub fn count() -> String {
    format!("{} behaviours in {} concerns", conformance::behaviours().count(), concerns().len())
}

/// The matrix: subjects, then their counts by concern.
pub fn matrix(rows: &[Row]) -> String {
    let words = "`15 + 3` is 15 shown and 3 that the capability does not promise.";
    format!("{}, {} subjects. {words}\n\n{}\n{}", count(), rows.len(), subjects(rows), by_concern(rows))
}

/// Who the terminal connectors and layers of a registry are, and what the connectors can do.
pub fn capabilities(registry: &Registry) -> String {
    let connectors: Vec<ConnectorInfo> = registry.connectors().map(|connector| connector.info()).collect();
    let layers: Vec<ConnectorInfo> = registry.layers().map(|layer| layer.info()).collect();
    let who = |kind: &'static str| {
        move |info: &ConnectorInfo| {
            let numbers = [info.value.to_string(), info.version.to_string()];
            let [value, version] = numbers;
            vec![code(info.name), kind.to_owned(), info.about.to_owned(), value, version]
        }
    };
    let head = ["name", "kind", "what it is", "value", "version"].map(str::to_owned).to_vec();
    let body = connectors.iter().map(who("connector")).chain(layers.iter().map(who("layer")));
    let names = grid(&[head].into_iter().chain(body).collect::<Vec<_>>(), 3);
    format!("{names}\n{}", flags(&connectors))
}

/// A line a capability, a column a connector.
fn flags(connectors: &[ConnectorInfo]) -> String {
    let names = connectors.iter().map(|info| code(info.name));
    let head: Vec<String> = ["capability".to_owned()].into_iter().chain(names).collect();
    let lists: Vec<_> = connectors.iter().map(|info| info.capability.list()).collect();
    let line = |number: usize, name: &str| {
        let marks = lists.iter().map(|list| if list[number].1 { "yes" } else { "—" }.to_owned());
        [name.to_owned()].into_iter().chain(marks).collect()
    };
    let names = vol::Capability::ALL.list();
    let body = names.iter().enumerate().map(|(number, (name, _))| line(number, name));
    grid(&[head].into_iter().chain(body).collect::<Vec<_>>(), 1)
}
