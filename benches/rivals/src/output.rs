//! The table: on the terminal, as JSON, as Markdown and as a picture.

use std::fmt::Write as _;

use crate::Outcome;
use crate::harness::{Amount, Bench, Row};

/// A time as people say it for this amount of work.
fn rate(amount: Amount, seconds: f64) -> String {
    match amount {
        Amount::Bytes(bytes) => format!("{:.2} GB/s", bytes as f64 / seconds / 1e9),
        Amount::Elements(count) => format!("{:.0} M el/s", count as f64 / seconds / 1e6),
        Amount::Calls(1) if seconds >= 0.01 => format!("{seconds:.3} s"),
        Amount::Calls(count) => format!("{:.2} µs", seconds / count as f64 * 1e6),
    }
}

/// A number of the table, where there is one.
fn number(value: Option<f64>, decimals: usize) -> String {
    value.map_or_else(|| "–".to_owned(), |value| format!("{value:.decimals$}"))
}

/// A promise, as it was written.
fn promise(least: Option<f64>) -> String {
    least.map_or_else(|| "–".to_owned(), |least| least.to_string())
}

fn seconds_as_rate(row: &Row, seconds: Option<f64>) -> String {
    seconds.map_or_else(|| "–".to_owned(), |seconds| rate(row.amount, seconds))
}

/// One row as text.
pub(crate) fn line(row: &Row) -> String {
    let mut text = format!(
        "{:<44} {:>13} ours {:>13}  ratio {:>6} of {:>4} {:5}",
        row.name,
        seconds_as_rate(row, row.theirs),
        rate(row.amount, row.ours),
        number(row.ratio(), 2),
        promise(row.at_least),
        if row.is_below() { "below" } else { "" }
    );
    for (name, seconds) in row.limit.iter().chain(&row.rivals) {
        let _ = write!(text, "  {name} {}", rate(row.amount, *seconds));
    }
    if let Some(least) = row.at_least_rival {
        let _ = write!(text, "  ratio {} of {least}", number(row.rival_ratio(), 2));
    }
    let _ = write!(text, "  +{} MiB{}", row.grown >> 20, if row.equal { "" } else { "  DIFFERENT RESULTS" });
    text
}

/// Writes the three files where they were asked for.
pub(crate) fn write(bench: &Bench) -> Outcome<()> {
    if let Some(different) = bench.rows.iter().find(|row| !row.equal) {
        return Err(format!("{}: results differ", different.name).into());
    }
    let Some(folder) = bench.out.as_ref().filter(|_| !bench.rows.is_empty()) else { return Ok(()) };
    std::fs::create_dir_all(folder)?;
    std::fs::write(folder.join("performance.json"), json(&bench.rows))?;
    let page = folder.join("performance.md");
    let text =
        between_marks(&std::fs::read_to_string(&page).unwrap_or_default(), "table", &markdown(&bench.rows));
    std::fs::write(page, text)?;
    std::fs::write(folder.join("performance.svg"), picture(&bench.rows))?;
    Ok(())
}

/// The page with another table between its marks; a page without them gets both at its end.
pub(crate) fn between_marks(page: &str, name: &str, table: &str) -> String {
    let (start, end) = (format!("<!-- {name} -->\n"), format!("<!-- end of {name} -->\n"));
    let (before, rest) = page.split_once(&start).unwrap_or((page, ""));
    let after = rest.split_once(&end).map_or("", |(_, after)| after);
    format!("{before}{start}{table}{end}{after}")
}

fn json(rows: &[Row]) -> String {
    let number = |value: Option<f64>| value.map_or_else(|| "null".to_owned(), |v| format!("{v:.9}"));
    let named = |value: Option<(&str, f64)>| {
        value.map_or_else(
            || "null".to_owned(),
            |(name, s)| format!("{{\"name\": \"{name}\", \"seconds\": {s:.9}}}"),
        )
    };
    let mut text = String::from("[\n");
    for (n, row) in rows.iter().enumerate() {
        let _ = write!(
            text,
            "  {{\"workload\": \"{}\", \"libhdf5\": {}, \"hyperslab\": {:.9}, \"ratio\": {}, \"against\": \"{}\", \
             \"at_least\": {}, \"limit\": {}, \"rival\": {}, \"rival_ratio\": {}, \"at_least_rival\": {}, \
             \"below\": {}, \"memory_grown\": {}, \"equal\": {}}}",
            row.name,
            number(row.theirs),
            row.ours,
            number(row.ratio()),
            row.against,
            number(row.at_least),
            named(row.limit),
            named(row.rival()),
            number(row.rival_ratio()),
            number(row.at_least_rival),
            row.is_below(),
            row.grown,
            row.equal
        );
        text.push_str(if n + 1 < rows.len() { ",\n" } else { "\n" });
    }
    text + "]\n"
}

/// Titles of the Markdown table; the second ratio and promise are those against the rival.
const TITLES: [&str; 12] = [
    "workload",
    "libhdf5 2.2",
    "Hyperslab",
    "ratio",
    "at least",
    "the limit",
    "of the limit",
    "pure-Rust rival",
    "ratio",
    "at least",
    "verdict",
    "memory",
];

fn markdown(rows: &[Row]) -> String {
    let mut text = format!("| {} |\n|{}\n", TITLES.join(" | "), "---|".repeat(TITLES.len()));
    for row in rows {
        let _ = writeln!(text, "| {} |", cells(row).join(" | "));
    }
    text
}

/// What stands under each title.
fn cells(row: &Row) -> [String; TITLES.len()] {
    let named = |value: Option<(&str, f64)>| {
        value.map_or_else(|| "–".to_owned(), |(name, s)| format!("{name}: {}", rate(row.amount, s)))
    };
    [
        row.name.clone(),
        seconds_as_rate(row, row.theirs),
        rate(row.amount, row.ours),
        number(row.ratio(), 2),
        promise(row.at_least),
        named(row.limit),
        row.limit.map_or_else(|| "–".to_owned(), |(_, s)| format!("{:.0} %", s / row.ours * 100.0)),
        named(row.rival()),
        number(row.rival_ratio(), 2),
        promise(row.at_least_rival),
        if row.is_below() { "below" } else { "" }.to_owned(),
        format!("+{} MiB", row.grown >> 20),
    ]
}

const BAR_HEIGHT: usize = 18;
const LABEL_WIDTH: usize = 330;
/// Pixels for each doubling of the ratio.
const DOUBLING_WIDTH: f64 = 70.0;

/// Ratios as bars on a logarithmic scale, with the promise as a line across.
fn picture(rows: &[Row]) -> String {
    let shown: Vec<(&Row, f64)> = rows.iter().filter_map(|row| Some((row, row.ratio()?))).collect();
    let place = |ratio: f64| LABEL_WIDTH as f64 + 60.0 + ratio.max(0.5).log2() * DOUBLING_WIDTH;
    let (width, height) = (LABEL_WIDTH + 640, shown.len() * BAR_HEIGHT + 40);
    let mut text = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" font-family=\"sans-serif\" \
         font-size=\"12\">\n<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n"
    );
    for doubling in 0..=8 {
        let x = place(f64::from(1 << doubling));
        let _ = writeln!(
            text,
            "<line x1=\"{x}\" y1=\"20\" x2=\"{x}\" y2=\"{height}\" stroke=\"#ddd\"/><text x=\"{x}\" y=\"14\" \
             text-anchor=\"middle\" fill=\"#666\">{}×</text>",
            1 << doubling
        );
    }
    for (n, (row, ratio)) in shown.iter().enumerate() {
        let (y, base, end) = (24 + n * BAR_HEIGHT, place(1.0), place(*ratio));
        let (x, length) = (base.min(end), (end - base).abs().max(1.0));
        let colour = if row.is_below() { "#c0504d" } else { "#4f81bd" };
        let _ = writeln!(
            text,
            "<text x=\"{LABEL_WIDTH}\" y=\"{}\" text-anchor=\"end\">{}</text>\
             <rect x=\"{x:.1}\" y=\"{y}\" width=\"{length:.1}\" height=\"{}\" fill=\"{colour}\"/>\
             <text x=\"{:.1}\" y=\"{}\">{ratio:.1}</text>",
            y + 11,
            row.name.replace('&', "&amp;").replace('<', "&lt;"),
            BAR_HEIGHT - 4,
            x + length + 4.0,
            y + 11
        );
        if let Some(least) = row.at_least {
            let x = place(least);
            let _ = writeln!(
                text,
                "<line x1=\"{x:.1}\" y1=\"{y}\" x2=\"{x:.1}\" y2=\"{}\" stroke=\"black\" stroke-width=\"2\"/>",
                y + BAR_HEIGHT - 4
            );
        }
    }
    text + "</svg>\n"
}
