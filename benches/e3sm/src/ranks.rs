//! The cases of E3SM with several ranks: this program and `rival.c` under `mpirun`, one after the other.

use std::path::Path;
use std::process::Command;

use crate::{Arguments, Outcome, map, plan};

/// Ways of writing the same requests, as words after the programs' names.
const OWN: [[&str; 2]; 3] = [["rank", "posted"], ["rank", "copied"], ["plain", ""]];
const RIVAL: [[&str; 2]; 4] = [
    ["each", "independent"],
    ["each", "collective"],
    ["variable", "independent"],
    ["variable", "collective"],
];

/// A collective call for each request takes so long that only some are made.
const COLLECTIVE_CALLS_MAX: u64 = 10_000;

pub fn run(arguments: &Arguments, maps: &[String]) -> Outcome<()> {
    let rival = compile(&arguments.folder)?;
    println!(
        "requests a second, the best of {} rounds; flush and close included, nothing synced",
        arguments.rounds
    );
    println!("posted: buffers are lent until the flush; copied: they are copied at once");
    println!("each: libhdf5 with one call for each request; variable: with one for all of a variable");
    println!("plain: the ranks write as many bytes in one piece each to a fresh file, with pwrite alone");
    for case in ["f", "g", "i"] {
        let file = maps.iter().find(|path| path.contains(&format!("_{case}_case")));
        let parts = match file {
            Some(path) => map::read(path, case)?,
            None => map::made_up(case),
        };
        for ranks in [2, 4] {
            measure(arguments, case, &plan::of(&parts, ranks), ranks, rival.as_deref())?;
        }
    }
    Ok(())
}

fn measure(
    arguments: &Arguments,
    case: &str,
    parts: &[plan::Part],
    ranks: usize,
    rival: Option<&str>,
) -> Outcome<()> {
    let (own, folder) = (std::process::id(), &arguments.folder);
    let (plan_file, data) = (folder.join(format!("e3sm-{own}.plan")), folder.join(format!("e3sm-{own}.h5")));
    plan::write(parts, &plan_file)?;
    let (plan_file, data) = (plan_file.display().to_string(), data.display().to_string());
    let own = std::env::current_exe()?.display().to_string();
    let (total, bytes) = (plan::count(parts) as f64, plan::bytes(parts) as f64);
    let (mut ours, mut theirs) = ([0f64; OWN.len()], [0f64; RIVAL.len()]);
    // In turn, so that what else the machine does hits all of them.
    for _ in 0..arguments.rounds {
        for ([kind, how], best) in OWN.iter().zip(&mut ours) {
            let (seconds, _) = mpirun(ranks, &[&own, kind, &plan_file, &data, how])?;
            *best = best.max(total / seconds);
            std::fs::remove_file(&data)?;
        }
        for (&[calls, mode], best) in RIVAL.iter().zip(&mut theirs) {
            let Some(rival) = rival else { continue };
            let is_slow = [calls, mode] == ["each", "collective"];
            let calls_max = if is_slow { COLLECTIVE_CALLS_MAX } else { u64::MAX }.to_string();
            let (seconds, requests) = mpirun(ranks, &[rival, &plan_file, &data, calls, mode, &calls_max])?;
            *best = best.max(requests / seconds);
            std::fs::remove_file(&data)?;
        }
    }
    println!("\n{case}, {ranks} ranks: {total} requests, {:.1} MB", bytes / 1e6);
    println!("  {:<22} {:>12} {:>8} {:>8} {:>8}", "", "requests/s", "GB/s", "posted", "copied");
    let rivals = RIVAL.iter().zip(theirs).filter(|_| rival.is_some());
    let names = OWN.iter().zip(ours).chain(rivals);
    for ([kind, how], speed) in names {
        let (size, posted, copied) = (speed / total * bytes / 1e9, ours[0] / speed, ours[1] / speed);
        println!("  {:<22} {speed:>12.0} {size:>8.2} {posted:>7.1}x {copied:>7.1}x", format!("{kind} {how}"));
    }
    Ok(std::fs::remove_file(&plan_file)?)
}

/// The first two numbers that a program prints: seconds that the slowest rank took (from microseconds), and how many requests a rival made.
fn mpirun(ranks: usize, words: &[&str]) -> Outcome<(f64, f64)> {
    let mut command = Command::new("mpirun");
    command.args(["--allow-run-as-root", "--oversubscribe", "-n", &ranks.to_string()]).args(words);
    let output = command.output()?;
    if !output.status.success() {
        return Err(format!("{words:?}: {}", String::from_utf8_lossy(&output.stderr)).into());
    }
    let text = String::from_utf8(output.stdout)?;
    let mut numbers = text.split_whitespace().map(str::parse::<f64>);
    let micros = numbers.next().ok_or("no time")??;
    Ok((micros / 1e6, numbers.next().unwrap_or(Ok(0.0))?))
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
