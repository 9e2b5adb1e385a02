//! Comparing what we print with what the HDF Group's tools print.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// Seconds a tool may take for one file.
const TIME_MAX: Duration = Duration::from_secs(20);
/// How often the oracle is asked again where we differ: on broken files it may print unset memory, or hang at random. With three,
/// one such file was taken for certain in some runs.
const ORACLE_REPEATS: usize = 20;
/// Outputs longer than this are not compared.
const OUTPUT_BYTES_MAX: u64 = 512 << 20;

struct Options {
    folders: Vec<PathBuf>,
    tool: String,
    passed: Vec<String>,
}

fn parse(arguments: Vec<String>) -> Options {
    let mut options = Options { folders: Vec::new(), tool: "dump".to_owned(), passed: Vec::new() };
    let mut arguments = arguments.into_iter();
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--tool" => options.tool = arguments.next().unwrap_or_default(),
            "--" => options.passed.extend(arguments.by_ref()),
            _ => options.folders.push(argument.into()),
        }
    }
    options
}

pub(crate) fn run(arguments: Vec<String>) -> ExitCode {
    let options = parse(arguments);
    let ours = crate::root().join("target/release/hyperslab");
    if options.folders.is_empty() || !ours.is_file() {
        eprintln!("xtask oracle: name a folder, and build first: cargo build --release -p hyperslab-cli");
        return ExitCode::from(2);
    }
    let mut files = Vec::new();
    options.folders.iter().for_each(|folder| files_under(folder, &mut files));
    files.sort();
    let (equal, total, differ) = compare_all(&files, &options, &ours);
    differ.iter().for_each(|line| println!("differs: {line}"));
    println!("equal {equal} of {total}");
    if equal == total { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn files_under(path: &Path, found: &mut Vec<PathBuf>) {
    match std::fs::read_dir(path) {
        Ok(entries) => entries.flatten().for_each(|e| files_under(&e.path(), found)),
        Err(_) => found.push(path.to_owned()),
    }
}

fn compare_all(files: &[PathBuf], options: &Options, ours: &Path) -> (usize, usize, Vec<String>) {
    let (next, equal, total) = (AtomicUsize::new(0), AtomicUsize::new(0), AtomicUsize::new(0));
    let differ = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(2, usize::from) {
            scope.spawn(|| {
                while let Some(file) = files.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let Some(same) = compare(file, options, ours) else { continue };
                    total.fetch_add(1, Ordering::Relaxed);
                    match same {
                        Ok(()) => _ = equal.fetch_add(1, Ordering::Relaxed),
                        Err(why) => differ.lock().unwrap().push(format!("{} ({why})", file.display())),
                    }
                }
            });
        }
    });
    let mut differ = differ.into_inner().unwrap_or_default();
    differ.sort();
    (equal.into_inner(), total.into_inner(), differ)
}

/// `None`: the oracle does not print this file, or prints it differently each time.
fn compare(file: &Path, options: &Options, ours: &Path) -> Option<Result<(), String>> {
    let expected = ask_oracle(file, options)?;
    let why = match output(
        Command::new(ours).arg("--raw-output").arg(&options.tool).args(&options.passed).arg(file),
    ) {
        None => "no answer in time".to_owned(),
        Some((_, code)) if code != 0 => format!("exit code {code}"),
        Some((found, _)) if same(&expected, &found) => return Some(Ok(())),
        Some((found, _)) => format!("first difference in line {}", first_difference(&expected, &found)),
    };
    let certain = (0..ORACLE_REPEATS).all(|_| ask_oracle(file, options).as_ref() == Some(&expected));
    certain.then_some(Err(why))
}

/// What the oracle prints, where it ends well.
fn ask_oracle(file: &Path, options: &Options) -> Option<Vec<u8>> {
    let oracle = if options.tool == "ls" { "h5ls" } else { "h5dump" };
    match output(Command::new(oracle).args(&options.passed).arg(file))? {
        (expected, 0) => Some(expected),
        _ => None,
    }
}

/// What a command prints and its exit code; `None` when it cannot be run or takes too long.
fn output(command: &mut Command) -> Option<(Vec<u8>, i32)> {
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().ok()?;
    let pipe = child.stdout.take()?;
    let reader = std::thread::spawn(move || {
        let mut bytes = Vec::new();
        pipe.take(OUTPUT_BYTES_MAX).read_to_end(&mut bytes).map(|_| bytes)
    });
    let code = wait(&mut child)?;
    Some((reader.join().ok()?.ok()?, code))
}

fn wait(child: &mut Child) -> Option<i32> {
    let start = Instant::now();
    while start.elapsed() < TIME_MAX {
        match child.try_wait().ok()? {
            Some(status) => return Some(status.code().unwrap_or(-1)),
            None => std::thread::sleep(Duration::from_millis(2)),
        }
    }
    let _ = child.kill();
    let _ = child.wait();
    None
}

/// Lines without blanks at their ends.
fn lines(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    text.trim_ascii_end().split(|&b| b == b'\n').map(<[u8]>::trim_ascii_end)
}

fn same(a: &[u8], b: &[u8]) -> bool {
    lines(a).eq(lines(b))
}

fn first_difference(a: &[u8], b: &[u8]) -> usize {
    1 + lines(a).zip(lines(b)).take_while(|(a, b)| a == b).count()
}
