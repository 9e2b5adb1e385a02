//! Paths whose instructions are counted: `cargo xtask hot-paths` runs each under callgrind.
//!
//! `hot_paths --list` names them, `hot_paths NAME` runs one on files that it makes in a scratch folder. Only what
//! happens inside of [`measured`] counts. Sizes stay below those at which the library starts threads.

mod objects;
mod transfers;

use std::hint::black_box;
use std::path::PathBuf;

type Outcome<T> = Result<T, Box<dyn std::error::Error>>;

/// What a path does, in a folder of its own.
type Run = fn(&Scratch) -> Outcome<()>;

const PATHS: [(&str, Run); 7] = [
    ("small-read", transfers::small_read),
    ("window-read", transfers::window_read),
    ("append", transfers::append),
    ("create", objects::create),
    ("attributes", objects::attributes),
    ("convert", transfers::convert),
    ("strings", objects::strings),
];

fn main() -> Outcome<()> {
    let wanted = std::env::args().nth(1).unwrap_or_default();
    if wanted == "--list" {
        PATHS.iter().for_each(|(name, _)| println!("{name}"));
        return Ok(());
    }
    let found = PATHS.iter().find(|(name, _)| *name == wanted);
    let (name, run) = found.ok_or("usage: hot_paths --list | NAME")?;
    run(&Scratch::new(name)?)
}

/// What callgrind counts: it starts to collect where this function is entered, by its name, and ends where it is left.
///
/// The outcome is looked at once more, since a call in the last place would be a jump, and a jump leaves too early.
#[inline(never)]
fn measured(work: &mut dyn FnMut() -> Outcome<()>) -> Outcome<()> {
    let outcome = work();
    black_box(outcome)
}

/// No one counts what is wrong.
fn expect<T: PartialEq + std::fmt::Debug>(found: &T, expected: &T) -> Outcome<()> {
    match found == expected {
        true => Ok(()),
        false => Err(format!("found {found:?} instead of {expected:?}").into()),
    }
}

/// A folder of this process, gone when the path ends.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Outcome<Scratch> {
        let folder = std::env::temp_dir().join(format!("hyperslab-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&folder)?;
        Ok(Scratch(folder))
    }

    fn file(&self) -> PathBuf {
        self.0.join("file.h5")
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
