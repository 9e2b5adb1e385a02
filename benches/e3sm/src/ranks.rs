//! The cases of E3SM-IO with several ranks: this program and `rival.c` under `mpirun`, one after the other.

use std::path::Path;
use std::process::Command;

use crate::cases::Case;
use crate::{Arguments, Outcome, cases, map, plan};

/// Ways of writing the same requests, as words after the programs' names.
const OWN: [[&str; 2]; 3] = [["rank", "posted"], ["rank", "copied"], ["plain", ""]];
const RIVAL: [[&str; 2]; 4] = [
    ["each", "independent"],
    ["each", "collective"],
    ["variable", "independent"],
    ["variable", "collective"],
];

/// Calls for single requests take so long that only some are made; the rate counts.
const COLLECTIVE_CALLS_MAX: u64 = 10_000;
const INDEPENDENT_CALLS_MAX: u64 = 300_000;

pub fn run(arguments: &Arguments, maps: &[String]) -> Outcome<()> {
    let rival = compile(&arguments.folder)?;
    println!(
        "requests a second, the best of {} rounds; flush and close included, nothing synced",
        arguments.rounds
    );
    println!("posted: buffers are lent until the flush; copied: they are copied at once");
    println!("each: libhdf5 with one call for each request; variable: with one for all of a variable");
    println!("plain: the ranks write as many bytes in one piece each to a fresh file, with pwrite alone");
    println!("read: every variable whole by one of the ranks, opening included; ours checks every element");
    for name in ["f", "g", "i"] {
        if arguments.case.as_deref().is_some_and(|case| case != name) {
            continue;
        }
        let file = maps.iter().find(|path| path.contains(&format!("_{name}_case")));
        let maps = file.map_or_else(|| Ok(map::made(name)), |path| map::read(path))?;
        measure(arguments, &cases::of(name, maps), rival.as_deref())?;
    }
    Ok(())
}

/// The best of several rounds, in seconds and requests a second.
struct Best {
    speed: f64,
    seconds: f64,
    defined: f64,
}

impl Best {
    fn none() -> Self {
        Best { speed: 0.0, seconds: f64::MAX, defined: f64::MAX }
    }

    fn note(&mut self, ran: &Ran, requests: f64) {
        self.speed = self.speed.max(requests / ran.seconds);
        self.seconds = self.seconds.min(ran.seconds);
        self.defined = self.defined.min(ran.defined);
    }
}

fn measure(arguments: &Arguments, case: &Case, rival: Option<&str>) -> Outcome<()> {
    let (ranks, own, folder) = (arguments.ranks, std::process::id(), &arguments.folder);
    let path = |end: &str| folder.join(format!("e3sm-{own}.{end}")).display().to_string();
    let (plan_file, data, canonical) = (path("plan"), path("h5"), path("canonical.h5"));
    plan::write(case, ranks, Path::new(&plan_file))?;
    let program = std::env::current_exe()?.display().to_string();
    let (requests, bytes) = plan::totals(case, ranks);
    let (total, bytes) = (requests as f64, bytes as f64);
    let mut ours = OWN.map(|_| Best::none());
    let mut theirs = RIVAL.map(|_| Best::none());
    let mut reads = [Best::none(), Best::none()];
    // In turn, so that what else the machine does hits all of them.
    for _ in 0..arguments.rounds {
        for ([kind, how], best) in OWN.iter().zip(&mut ours) {
            std::fs::remove_file(&data).ok();
            best.note(&mpirun(ranks, &[&program, kind, &plan_file, &data, how])?, total);
            if *how == "copied" {
                reads[0].note(&mpirun(ranks, &[&program, "read-back", &plan_file, &data])?, total);
            }
        }
        for (&[calls, mode], best) in RIVAL.iter().zip(&mut theirs) {
            let Some(rival) = rival else { continue };
            let calls_max = match [calls, mode] {
                ["each", "collective"] => COLLECTIVE_CALLS_MAX,
                _ => INDEPENDENT_CALLS_MAX,
            };
            std::fs::remove_file(&canonical).ok();
            let ran = mpirun(ranks, &[rival, &plan_file, &canonical, calls, mode, &calls_max.to_string()])?;
            best.note(&ran, ran.requests);
        }
        if let Some(rival) = rival {
            let ran = mpirun(ranks, &[rival, &plan_file, &canonical, "read", "independent", "0"])?;
            reads[1].note(&ran, total);
        }
    }
    println!(
        "\n{}, {ranks} ranks: {} variables, {} records, {total} requests, {:.1} MB",
        case.name,
        case.variables.len(),
        case.records,
        bytes / 1e6
    );
    println!(
        "  {:<22} {:>12} {:>8} {:>9} {:>8} {:>8}",
        "", "requests/s", "GB/s", "define ms", "posted", "copied"
    );
    let rivals = RIVAL.iter().zip(&theirs).filter(|_| rival.is_some());
    for ([kind, how], best) in OWN.iter().zip(&ours).chain(rivals) {
        let size = best.speed / total * bytes / 1e9;
        let (posted, copied) = (ours[0].speed / best.speed, ours[1].speed / best.speed);
        let (name, defined) = (format!("{kind} {how}"), best.defined * 1e3);
        println!(
            "  {name:<22} {:>12.0} {size:>8.2} {defined:>9.1} {posted:>7.2}x {copied:>7.2}x",
            best.speed
        );
    }
    let [own, canonical_read] = reads.map(|best| best.seconds);
    if rival.is_some() {
        let ratio = canonical_read / own;
        println!("  read {:.1} ms, libhdf5 canonical {:.1} ms: {ratio:.2}x", own * 1e3, canonical_read * 1e3);
    }
    [&plan_file, &data, &canonical].iter().for_each(|path| drop(std::fs::remove_file(path)));
    Ok(())
}

/// What a program printed: how long the slowest rank took, requests that were made, how long it defined variables.
struct Ran {
    seconds: f64,
    requests: f64,
    defined: f64,
}

fn mpirun(ranks: usize, words: &[&str]) -> Outcome<Ran> {
    let mut command = Command::new("mpirun");
    command.args(["--allow-run-as-root", "--oversubscribe", "-n", &ranks.to_string()]).args(words);
    let output = command.output()?;
    if !output.status.success() {
        return Err(format!("{words:?}: {}", String::from_utf8_lossy(&output.stderr)).into());
    }
    let text = String::from_utf8(output.stdout)?;
    let numbers = text.split_whitespace().map(str::parse).collect::<Result<Vec<f64>, _>>()?;
    let number = |n: usize| numbers.get(n).copied().unwrap_or(0.0);
    Ok(Ran { seconds: number(0) / 1e6, requests: number(1), defined: number(4) / 1e6 })
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
