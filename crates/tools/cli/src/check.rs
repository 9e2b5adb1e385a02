//! `hyperslab check`: reads everything in a file, and says what is wrong.

use std::io::{self, Write};
use std::process::ExitCode;

use hyperslab::check::{Check, Finding, Report, repair};
use hyperslab::vol::FileAccess;
use hyperslab::{Kind, Result};
use serde_json::json;

use crate::help::refuse;
use crate::open::{OpenContainer, advice, open, shown};
use crate::progress::Progress;
use crate::settings::registry;
use crate::total::{Measure, Total, count, is_near};

pub(crate) const USAGE: &str = "\
usage: hyperslab check [-v] [--json] [--repair] FILE...
  Opens every object and reads every attribute and every stored element.
  Prints a line for each thing that is wrong; the exit code is then 1.
  -v, --verbose  print the causes of each error
  --json         print a line of JSON for each file: what was read, and what is wrong
  --repair       first repair what is safe to repair: blobs and objects that nothing uses, links that lead nowhere, wrong
                 counts, in object stores. Nobody else may write to the container meanwhile.
";

/// Checks the files that the command line names.
pub(crate) fn run(args: &[String]) -> ExitCode {
    let (options, files): (Vec<&String>, Vec<&String>) = args.iter().partition(|arg| arg.starts_with('-'));
    if options.iter().any(|option| *option == "-h" || *option == "--help") {
        print!("{USAGE}");
        return ExitCode::SUCCESS;
    }
    let is_verbose = |option: &&String| *option == "-v" || *option == "--verbose";
    let (verbose, others): (Vec<&String>, Vec<&String>) = options.into_iter().partition(is_verbose);
    let has = |name: &str| others.iter().any(|option| *option == name);
    let (repair, json) = (has("--repair"), has("--json"));
    if others.iter().any(|option| *option != "--repair" && *option != "--json") || files.is_empty() {
        return refuse("check", args);
    }
    // A reader that went away (`| head`) does not learn the result.
    let mode = Mode { verbose: !verbose.is_empty(), json, repair };
    match check_all(&mut crate::out::stdout(), &files, mode) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) | Err(_) => ExitCode::FAILURE,
    }
}

/// The options of the command line.
#[derive(Clone, Copy)]
struct Mode {
    verbose: bool,
    json: bool,
    repair: bool,
}

fn check_all(out: &mut dyn Write, files: &[&String], mode: Mode) -> io::Result<bool> {
    let mut sound = true;
    for file in files {
        if mode.repair {
            print_repairs(out, file)?;
        }
        sound &= if mode.json { check_json(out, file)? } else { check(out, file, mode.verbose)? };
    }
    Ok(sound)
}

/// Repairs one container, as far as its connector can.
fn print_repairs(out: &mut dyn Write, file: &str) -> io::Result<()> {
    let (repaired, file) = (repaired(file), shown(file));
    match repaired {
        Ok(repaired) => repaired.iter().try_for_each(|line| writeln!(out, "repaired: {line}")),
        Err(error) if error.kind() == Kind::Unsupported => {
            writeln!(out, "{file}: nothing to repair in storage of this kind")
        }
        Err(error) => {
            eprintln!("{file}: {}", advice(&error));
            Ok(())
        }
    }
}

/// Returns what was repaired. A container is opened to change it only where its connector repairs storage.
fn repaired(file: &str) -> Result<Vec<String>> {
    open(file, None)?.container.storage_check()?;
    let container = registry().open(file, &FileAccess::write())?;
    let (repaired, _) = repair(&*container)?;
    container.close()?;
    Ok(repaired)
}

/// Checks one file; `true` where nothing is wrong.
fn check(out: &mut dyn Write, file: &str, verbose: bool) -> io::Result<bool> {
    let (opened, file) = (open(file, None), &*shown(file));
    let opened = match opened {
        Ok(opened) => opened,
        Err(error) => {
            eprintln!("{file}: {}", advice(&error));
            if verbose {
                eprint!("{}", error.stack());
            }
            return Ok(false);
        }
    };
    for warning in opened.container.info().iter().flat_map(|info| &info.warnings) {
        writeln!(out, "{file}: warning: {warning}")?;
    }
    let report = checked(&opened);
    report.findings.iter().try_for_each(|finding| print_finding(out, finding, verbose))?;
    writeln!(out, "{file}: {}", summary(&report))?;
    Ok(report.findings.is_empty())
}

/// Checks one file, and prints the outcome as a line of JSON.
fn check_json(out: &mut dyn Write, file: &str) -> io::Result<bool> {
    let opened = match open(file, None) {
        Ok(opened) => opened,
        Err(error) => {
            let line = json!({"file": shown(file), "kind": format!("{:?}", error.kind()), "error": error.to_string()});
            return writeln!(out, "{line}").map(|()| false);
        }
    };
    let warnings = opened.container.info().map(|info| info.warnings.clone()).unwrap_or_default();
    let report = checked(&opened);
    let found = |finding: &Finding| {
        let Finding { path, part, error } = finding;
        json!({"path": path, "part": part, "kind": format!("{:?}", error.kind()), "error": error.to_string()})
    };
    let findings: Vec<_> = report.findings.iter().map(found).collect();
    let Report { objects, attributes, bytes, .. } = &report;
    let line = json!({
        "file": shown(file), "objects": objects, "attributes": attributes, "bytes": bytes,
        "warnings": warnings, "findings": findings,
    });
    writeln!(out, "{line}").map(|()| findings.is_empty())
}

/// Reads everything in a container.
fn checked(opened: &OpenContainer) -> Report {
    let (container, progress) = (&*opened.container, Progress::start(&shown(&opened.location)));
    progress.expect(|| {
        let root = container.info().ok().filter(|_| is_near(&opened.location))?.root;
        count(container, root, Measure::Decoded)
    });
    let show = |report: &Report| progress.show(Total { objects: report.objects, bytes: report.bytes });
    Check::default().run(container, &mut { show })
}

fn print_finding(out: &mut dyn Write, finding: &Finding, verbose: bool) -> io::Result<()> {
    writeln!(out, "{}: {}: {}", finding.path, finding.part, finding.error)?;
    if verbose {
        out.write_all(finding.error.stack().as_bytes())?;
    }
    Ok(())
}

fn summary(report: &Report) -> String {
    let Report { objects, attributes, bytes, .. } = report;
    let findings = match report.findings.len() {
        0 => "nothing wrong".to_owned(),
        1 => "1 finding".to_owned(),
        n => format!("{n} findings"),
    };
    format!("{objects} objects, {attributes} attributes, {bytes} bytes of elements, {findings}")
}

#[cfg(test)]
mod tests {
    use hyperslab::Error;

    use super::*;

    #[test]
    fn a_summary_counts_what_is_wrong() {
        let mut report = Report { objects: 2, attributes: 1, bytes: 80, ..Report::default() };
        assert!(summary(&report).ends_with("80 bytes of elements, nothing wrong"));
        let error = Error::corrupt("read");
        report.findings.push(Finding { path: "/a".to_owned(), part: "data".to_owned(), error });
        assert!(summary(&report).ends_with("1 finding"));
    }

    #[test]
    fn every_cause_has_words_of_its_own() {
        let advice = |error: Error| advice(&error.during("open x"));
        assert_eq!(advice(Error::not_found("open file")), "there is no such file");
        let all = [
            advice(Error::not_found("find connector")),
            advice(Error::denied("open file")),
            advice(Error::busy("lock file")),
            advice(Error::corrupt("open HDF5 file")),
            advice(Error::unsupported("open file")),
        ];
        assert!(all.iter().all(|text| all.iter().filter(|other| *other == text).count() == 1), "{all:?}");
    }
}
