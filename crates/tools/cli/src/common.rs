//! Options that every command takes, and the ways to stop it.

use std::io::IsTerminal;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{LazyLock, OnceLock};
use std::time::Duration;

use hyperslab::{Error, Result};

/// The options that all subcommands share.
#[derive(Debug, Default, Clone, Copy, PartialEq)]
struct Common {
    expand: bool,
    swmr: bool,
    raw_output: bool,
    style: Option<TextStyle>,
    timeout: Option<Duration>,
    memory: Option<u64>,
}

/// How characters beyond ASCII are printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TextStyle {
    /// As octal numbers, as the tools of HDF5 1.10 print them.
    Octal,
    /// As they are.
    Utf8,
}

static COMMON: OnceLock<Common> = OnceLock::new();
/// The work shall end.
static STOPPED: AtomicBool = AtomicBool::new(false);
/// Work that cleans up after itself when it is stopped.
static CLEANING: AtomicUsize = AtomicUsize::new(0);
/// Time to clean up.
const GRACE: Duration = Duration::from_secs(5);

/// Takes the options that every command has off the words, up to `--`, and starts the clock.
pub(crate) fn read(words: Vec<String>) -> Result<Vec<String>> {
    let (found, rest) = parse(words)?;
    let _ = COMMON.set(found);
    if let Some(timeout) = found.timeout {
        let started = system::thread::Builder::named("deadline").spawn(move || end_after(timeout));
        started.map_err(|error| Error::io("start thread", &error))?;
    }
    Ok(rest)
}

fn parse(words: Vec<String>) -> Result<(Common, Vec<String>)> {
    let (mut found, mut rest) = (Common::default(), Vec::with_capacity(words.len()));
    let mut words = words.into_iter();
    while let Some(word) = words.next() {
        let (option, value) =
            word.split_once('=').map_or((word.as_str(), None), |(o, v)| (o, Some(v.to_owned())));
        let mut value = || value.clone().or_else(|| words.next()).unwrap_or_default();
        match option {
            "--expand" => found.expand = true,
            "--swmr" => found.swmr = true,
            "--raw-output" => found.raw_output = true,
            "--style" => found.style = Some(style(&value())?),
            "--timeout" => found.timeout = Some(seconds(&value())?),
            "--memory" => found.memory = Some(bytes(&value())?),
            "--" => {
                rest.push(word);
                rest.extend(words.by_ref());
            }
            _ => rest.push(word),
        }
    }
    Ok((found, rest))
}

fn style(text: &str) -> Result<TextStyle> {
    match text {
        "1.10" => Ok(TextStyle::Octal),
        "utf-8" => Ok(TextStyle::Utf8),
        _ => {
            Err(Error::invalid("read arguments").with("option", "--style").with("style", format!("{text:?}")))
        }
    }
}

fn seconds(text: &str) -> Result<Duration> {
    let wrong =
        || Error::invalid("read arguments").with("option", "--timeout").with("seconds", format!("{text:?}"));
    let seconds: f64 = text.parse().map_err(|_| wrong())?;
    Duration::try_from_secs_f64(seconds).map_err(|_| wrong())
}

/// Returns a number of bytes: `4096`, `512M`, `2G`.
fn bytes(text: &str) -> Result<u64> {
    let digits = text.trim_end_matches(['k', 'K', 'm', 'M', 'g', 'G']);
    let shift = match &text[digits.len()..] {
        "" => 0,
        "k" | "K" => 10,
        "m" | "M" => 20,
        "g" | "G" => 30,
        _ => 64,
    };
    let number: Option<u64> = digits.parse().ok();
    let bytes = number.and_then(|number| number.checked_mul(1u64.checked_shl(shift)?));
    let wrong =
        || Error::invalid("read arguments").with("option", "--memory").with("bytes", format!("{text:?}"));
    bytes.ok_or_else(wrong)
}

fn common() -> Common {
    COMMON.get().copied().unwrap_or_default()
}

/// Memory that the contents of all containers of a command may take, unless `--memory` says otherwise: a command is pointed at
/// files that no one vouches for.
const MEMORY_BYTES: u64 = 768 << 20;

/// Returns the number of bytes of memory that the contents of files may take.
pub(crate) fn memory() -> u64 {
    common().memory.unwrap_or(MEMORY_BYTES)
}

/// Returns whether long paths, holes and repeated values are printed whole.
pub(crate) fn expand() -> bool {
    common().expand
}

/// Returns whether files are read while another program writes to them.
pub(crate) fn swmr() -> bool {
    common().swmr
}

/// Returns whether the work may take long: the user wants all of it, or said when it ends.
pub(crate) fn is_patient() -> bool {
    common().expand || common().timeout.is_some()
}

/// Returns whether text of files is printed as it is, with all that a terminal may act upon.
pub(crate) fn raw_output() -> bool {
    common().raw_output
}

/// Returns whether characters beyond ASCII are printed as they are: where the user says so, and on a terminal. Programs that
/// read the output get what the tools of HDF5 1.10 print.
pub(crate) fn prints_utf8() -> bool {
    static IS_TERMINAL: LazyLock<bool> = LazyLock::new(|| std::io::stdout().is_terminal());
    common().style.map_or_else(|| *IS_TERMINAL, |style| style == TextStyle::Utf8)
}

/// Returns whether the work shall end.
pub(crate) fn is_stopped() -> bool {
    STOPPED.load(Ordering::Relaxed)
}

/// Asks the work to end; a second time it ends at once.
pub(crate) fn interrupt() {
    if STOPPED.swap(true, Ordering::Relaxed) {
        // What a shell shows for SIGINT.
        std::process::exit(130);
    }
}

/// Work that watches [`is_stopped`] and cleans up, as long as this is held.
pub(crate) struct Cleaning(());

impl Cleaning {
    pub(crate) fn new() -> Self {
        CLEANING.fetch_add(1, Ordering::Relaxed);
        Cleaning(())
    }
}

impl Drop for Cleaning {
    fn drop(&mut self) {
        CLEANING.fetch_sub(1, Ordering::Relaxed);
    }
}

fn end_after(timeout: Duration) {
    system::thread::sleep(timeout);
    STOPPED.store(true, Ordering::Relaxed);
    if CLEANING.load(Ordering::Relaxed) > 0 {
        system::thread::sleep(GRACE);
    }
    eprintln!("hyperslab: stopped after {} seconds (--timeout)", timeout.as_secs_f64());
    std::process::exit(1);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &str) -> Vec<String> {
        line.split_whitespace().map(str::to_owned).collect()
    }

    #[test]
    fn common_options_stand_anywhere_before_a_double_dash() {
        let (found, rest) =
            parse(words("--timeout 2.5 dump --expand -H --memory=2G --swmr a.h5 -- --raw-output")).unwrap();
        let timeout = Some(Duration::from_millis(2500));
        assert_eq!(
            found,
            Common { expand: true, swmr: true, timeout, memory: Some(2 << 30), ..Common::default() }
        );
        assert_eq!(rest, words("dump -H a.h5 -- --raw-output"));
    }

    #[test]
    fn a_time_or_size_that_is_none_is_refused() {
        let lines = ["--timeout", "--timeout=x", "--timeout=-1", "--timeout 1e99"];
        let sizes = ["--memory", "--memory=x", "--memory=1T", "--memory 99999999999G", "--memory=1MM"];
        for line in lines.into_iter().chain(sizes) {
            assert!(parse(words(line)).is_err(), "{line}");
        }
    }
}
