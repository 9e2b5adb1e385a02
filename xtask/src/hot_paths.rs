//! Instructions of the paths in `benches/hot_paths`, compared with those of before.

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use crate::counts::{Counts, TABLE_HEAD, collected, compare, compiler, table_line};

/// The function whose instructions count, however its name is mangled.
const MEASURED: &str = "*hot_paths*measured*";

pub(crate) fn run(arguments: &[String]) -> ExitCode {
    let outcome = match arguments {
        [] => check(),
        [update] if update == "--update" => self::update(),
        _ => Err("usage: cargo xtask hot-paths [--update]".to_owned()),
    };
    outcome.unwrap_or_else(|error| {
        eprintln!("xtask hot-paths: {error}");
        ExitCode::FAILURE
    })
}

fn baseline_path() -> PathBuf {
    crate::root().join("benches/hot_paths/counts.txt")
}

fn check() -> Result<ExitCode, String> {
    let path = baseline_path();
    let text = std::fs::read_to_string(&path).map_err(|e| format!("cannot read {}: {e}", path.display()))?;
    let before = Counts::parse(&text).map_err(|e| format!("{}: {e}", path.display()))?;
    let compiler = this_compiler()?;
    if compiler != before.compiler {
        println!("skipped: the baseline was counted with {}, this is {compiler}", before.compiler);
        return Ok(ExitCode::SUCCESS);
    }
    if !has_valgrind() {
        println!("skipped: there is no valgrind here");
        return Ok(ExitCode::SUCCESS);
    }
    report(&count_all(compiler)?, &before)
}

/// Prints all changes; fails if one is too large.
fn report(now: &Counts, before: &Counts) -> Result<ExitCode, String> {
    println!("{TABLE_HEAD}");
    for (name, count) in &now.counts {
        println!("{}", table_line(name, *count, before.get(name)));
    }
    for (name, _) in before.counts.iter().filter(|(name, _)| now.get(name).is_none()) {
        println!("{name}: there is a baseline but no such path");
    }
    let fails = now.counts.iter().any(|(name, count)| compare(*count, before.get(name)).fails());
    Ok(if fails { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

fn update() -> Result<ExitCode, String> {
    let now = count_all(this_compiler()?)?;
    let path = baseline_path();
    std::fs::write(&path, now.to_string()).map_err(|e| format!("cannot write {}: {e}", path.display()))?;
    print!("{now}");
    Ok(ExitCode::SUCCESS)
}

fn count_all(compiler: String) -> Result<Counts, String> {
    let program = build()?;
    let names = output(Command::new(&program).arg("--list"))?.0;
    let counts = names.lines().map(|name| Ok((name.to_owned(), count(&program, name)?)));
    Ok(Counts { compiler, counts: counts.collect::<Result<_, String>>()? })
}

/// The program is built next to this one: in the same folder for all that is built, in `release`.
fn build() -> Result<PathBuf, String> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    output(Command::new(cargo).current_dir(crate::root()).args(["build", "--release", "-p", "hot_paths"]))?;
    let this = std::env::current_exe().map_err(|e| e.to_string())?;
    let folder = this.parent().and_then(Path::parent).ok_or("xtask lies in no folder of cargo's")?;
    Ok(folder.join("release/hot_paths"))
}

fn count(program: &Path, name: &str) -> Result<u64, String> {
    let mut command = Command::new("valgrind");
    command.args(["--tool=callgrind", "--cache-sim=no", "--branch-sim=no", "--collect-atstart=no"]);
    command.arg(format!("--toggle-collect={MEASURED}")).arg("--callgrind-out-file=/dev/null");
    // A thread pool of one works on the caller's thread: the count does not hang on the number of cores.
    command.env("RAYON_NUM_THREADS", "1").arg(program).arg(name);
    let messages = output(&mut command)?.1;
    collected(&messages).ok_or_else(|| format!("{name}: nothing was counted:\n{messages}"))
}

fn this_compiler() -> Result<String, String> {
    let version = output(Command::new("rustc").arg("-vV").current_dir(crate::root()))?.0;
    compiler(&version).ok_or_else(|| format!("rustc names no version and host: {version}"))
}

fn has_valgrind() -> bool {
    output(Command::new("valgrind").arg("--version")).is_ok()
}

/// What a command prints, and its messages.
fn output(command: &mut Command) -> Result<(String, String), String> {
    let program = command.get_program().to_string_lossy().into_owned();
    let output = command.output().map_err(|e| format!("cannot run {program}: {e}"))?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    match output.status.success() {
        true => Ok((text(&output.stdout), text(&output.stderr))),
        false => Err(format!("{program} failed ({}):\n{}", output.status, text(&output.stderr))),
    }
}
