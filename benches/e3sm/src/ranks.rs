//! The cases of E3SM with several ranks: this program and `rival.c` under `mpirun`, one after the other.

use std::path::Path;
use std::process::Command;

use crate::{Outcome, map, plan};

/// Rounds of each; the best counts.
const ROUNDS: usize = 5;

pub fn run(folder: &Path, maps: &[String]) -> Outcome<()> {
    let rival = compile(folder)?;
    println!(
        "{:>4} {:>5} {:>9} {:>12} {:>14} {:>14} {:>7} {:>7}",
        "case", "ranks", "requests", "log /s", "independent /s", "collective /s", "ratio", "ratio"
    );
    for case in ["f", "g", "i"] {
        let file = maps.iter().find(|path| path.contains(&format!("_{case}_case")));
        let parts = match file {
            Some(path) => map::read(path, case)?,
            None => map::made_up(case),
        };
        for ranks in [2, 4] {
            measure(folder, case, &plan::of(&parts, ranks), ranks, rival.as_deref())?;
        }
    }
    Ok(())
}

fn measure(
    folder: &Path,
    case: &str,
    parts: &[plan::Part],
    ranks: usize,
    rival: Option<&str>,
) -> Outcome<()> {
    let own = std::process::id();
    let (plan_file, data) = (folder.join(format!("e3sm-{own}.plan")), folder.join(format!("e3sm-{own}.h5")));
    plan::write(parts, &plan_file)?;
    let (plan_file, data) = (plan_file.display().to_string(), data.display().to_string());
    let own = std::env::current_exe()?.display().to_string();
    let total = plan::count(parts) as f64;
    let (mut log, mut times) = (0f64, [0f64; 2]);
    // In turn, so that what else the machine does hits all of them.
    for _ in 0..ROUNDS {
        log = log.max(total / mpirun(ranks, &[&own, "rank", &plan_file, &data])?);
        if let Some(rival) = rival {
            // Independent writes: each request by itself, or all of a variable at once, whichever is faster.
            for (k, kind) in [(0, "each"), (0, "independent"), (1, "collective")] {
                let speed = total / mpirun(ranks, &[rival, &plan_file, &data, kind])?;
                times[k] = times[k].max(speed);
            }
        }
    }
    println!(
        "{case:>4} {ranks:>5} {total:>9} {log:>12.0} {:>14.0} {:>14.0} {:>7.1} {:>7.1}",
        times[0],
        times[1],
        log / times[0],
        log / times[1]
    );
    std::fs::remove_file(&data)?;
    Ok(std::fs::remove_file(&plan_file)?)
}

/// Seconds that the slowest rank took: the first number that the program prints, in microseconds.
fn mpirun(ranks: usize, words: &[&str]) -> Outcome<f64> {
    let mut command = Command::new("mpirun");
    command.args(["--allow-run-as-root", "--oversubscribe", "-n", &ranks.to_string()]).args(words);
    let output = command.output()?;
    if !output.status.success() {
        return Err(format!("{words:?}: {}", String::from_utf8_lossy(&output.stderr)).into());
    }
    let text = String::from_utf8(output.stdout)?;
    let micros: f64 = text.split_whitespace().next().ok_or("no time")?.parse()?;
    Ok(micros / 1e6)
}

/// The rival, or nothing where there is no compiler for it.
fn compile(folder: &Path) -> Outcome<Option<String>> {
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/rival.c");
    let made = folder.join("e3sm-rival").display().to_string();
    for compiler in ["h5pcc.openmpi", "h5pcc"] {
        let done = Command::new(compiler).args(["-O2", "-o", &made, source]).current_dir(folder).status();
        if done.is_ok_and(|status| status.success()) {
            return Ok(Some(made));
        }
    }
    println!("skipped: there is no h5pcc (Debian: libhdf5-openmpi-dev)");
    Ok(None)
}
