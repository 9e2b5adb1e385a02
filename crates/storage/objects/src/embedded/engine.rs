//! The boundary to redb: it takes its own pages on trust, and may panic on damaged ones. Every call goes through
//! [`Engine::guarded`], where a panic becomes an error, ends the use of that container, and is not printed.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, PanicHookInfo, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Once};

use crate::{Error, Result};

/// The advice about a damaged index.
const HELP: &str = "`hyperslab check` says what can still be read; restore the rest from a copy";

/// Returns the error of a damaged index.
pub(super) fn damaged(what: impl std::fmt::Display) -> Error {
    Error::Corrupt(format!("the index is damaged: {what}; {HELP}"))
}

/// Whether the engine of one container can still be used. Clones are the same one.
#[derive(Clone, Debug, Default)]
pub(super) struct Engine {
    is_damaged: Arc<AtomicBool>,
}

/// Where the last panic of a thread that was inside came from.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Origin {
    Unknown,
    Redb,
    Others,
}

thread_local! {
    /// How many calls of [`Engine::guarded`] this thread is in.
    static DEPTH: Cell<u32> = const { Cell::new(0) };
    static ORIGIN: Cell<Origin> = const { Cell::new(Origin::Unknown) };
}

/// Counts a call, also when it unwinds.
struct Inside;

impl Inside {
    fn enter() -> Inside {
        DEPTH.set(DEPTH.get() + 1);
        Inside
    }
}

impl Drop for Inside {
    fn drop(&mut self) {
        DEPTH.set(DEPTH.get() - 1);
    }
}

/// Returns whether a panic is redb's own, or of the standard library on its behalf.
fn is_of_redb(panic: &PanicHookInfo<'_>) -> bool {
    let file = panic.location().map_or("", |location| location.file());
    file.contains("redb-") || file.contains("/redb/") || file.starts_with("/rustc/")
}

/// Puts a hook before the one that is there, which hears of all panics but those of redb that [`Engine::guarded`] catches.
fn install_hook() {
    static INSTALLED: Once = Once::new();
    // A thread that panics may not change the hook; the next one does.
    if system::thread::panicking() {
        return;
    }
    INSTALLED.call_once(|| {
        let next = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            let is_inside = DEPTH.try_with(Cell::get).unwrap_or(0) > 0;
            match is_inside && is_of_redb(panic) {
                true => ORIGIN.set(Origin::Redb),
                false => {
                    let _ = ORIGIN.try_with(|origin| origin.set(Origin::Others));
                    next(panic);
                }
            }
        }));
    });
}

impl Engine {
    /// Calls redb. A panic of redb is an error here, and of every later call.
    pub(super) fn guarded<T>(&self, work: impl FnOnce() -> Result<T>) -> Result<T> {
        if self.is_damaged.load(Ordering::Acquire) {
            return Err(damaged("an earlier call found out"));
        }
        self.caught(work)
    }

    /// Runs what must be done in any case: a panic that came before is no reason not to release something.
    pub(super) fn release(&self, work: impl FnOnce()) {
        // No one is left who could be told.
        let _ = self.caught(|| {
            work();
            Ok(())
        });
    }

    fn caught<T>(&self, work: impl FnOnce() -> Result<T>) -> Result<T> {
        install_hook();
        ORIGIN.set(Origin::Unknown);
        let inside = Inside::enter();
        let done = catch_unwind(AssertUnwindSafe(work));
        drop(inside);
        done.unwrap_or_else(|panic| match ORIGIN.get() {
            // A mistake of ours, in what is called back: no one hides it.
            Origin::Others => resume_unwind(panic),
            Origin::Redb | Origin::Unknown => {
                self.is_damaged.store(true, Ordering::Release);
                Err(damaged("its pages contradict each other"))
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mistake_of_ours_is_not_taken_for_damage() {
        let engine = Engine::default();
        let caught = catch_unwind(AssertUnwindSafe(|| engine.guarded::<()>(|| panic!("ours"))));
        assert!(caught.is_err());
        assert!(engine.guarded(|| Ok(())).is_ok());
    }

    #[test]
    fn a_damaged_engine_is_not_used_again_and_others_are() {
        let (engine, other) = (Engine::default(), Engine::default());
        engine.is_damaged.store(true, Ordering::Release);
        let error = engine.clone().guarded(|| Ok(())).unwrap_err().to_string();
        assert!(error.contains("damaged") && error.contains("hyperslab check"), "{error}");
        assert!(other.guarded(|| Ok(())).is_ok());
    }
}
