//! The handle that a caller holds: dropping it closes the container, as [`Container::close`] does.
//!
//! [`Registry::create`](crate::Registry::create) and [`Registry::open`](crate::Registry::open) return containers in such a
//! handle, so no connector closes itself: all `Arc`s of one handle share it, and the last one that goes commits.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use model::secrets::without_tokens;
use model::{Budget, Error, Result};
use system::sync::RwLock;

use crate::{
    Container, FileAccess, FollowedLink, LinkClasses, LinkContext, OpLookup, Operation, Pipeline, Posting,
    Resolver,
};

/// A function that is called with the error of a container that could not be closed when its last handle was dropped.
pub type CloseErrorHook = Arc<dyn Fn(&Error) + Send + Sync>;

static HOOK: RwLock<Option<CloseErrorHook>> = RwLock::new(None);

/// Sets the function that is called when a container cannot be closed as its last handle is dropped, for all
/// containers of this process without a hook of their own ([`FileAccess::close_error_hook`]). `None` removes it. The
/// error also goes to `tracing`, as an event of level `ERROR`. A caller who wants the error itself calls `close`.
pub fn set_close_error_hook(hook: Option<CloseErrorHook>) {
    *HOOK.write() = hook;
}

/// A container that is closed when its last `Arc` is dropped.
///
/// A handle that is dropped while its thread unwinds from a panic, or whose changes were interrupted by one, does not
/// commit: half an operation must not become part of the container.
pub(crate) struct Handle {
    pub(crate) inner: Arc<dyn Container>,
    location: String,
    hook: Option<CloseErrorHook>,
    discards: bool,
    pub(crate) budget: Budget,
    /// Classes of user-defined links, and how they open other files.
    link_classes: LinkClasses,
    resolver: Option<Arc<dyn Resolver>>,
    /// The process that opened it. After a `fork` the changes are the parent's to commit.
    process: u32,
    generation: u32,
    is_closed: AtomicBool,
    /// Something was changed since the last commit.
    is_dirty: AtomicBool,
    /// A change ended in a panic.
    is_interrupted: AtomicBool,
}

/// Returns `container` in a handle that closes it when it is dropped. `location` is for messages.
pub fn close_on_drop(
    container: Arc<dyn Container>,
    location: &str,
    access: &FileAccess,
) -> Arc<dyn Container> {
    handle(container, location, access, &LinkClasses::default())
}

/// Returns `container` in a handle, as [`close_on_drop`] does, with classes of user-defined links.
pub(crate) fn handle(
    container: Arc<dyn Container>,
    location: &str,
    access: &FileAccess,
    link_classes: &LinkClasses,
) -> Arc<dyn Container> {
    Arc::new(Handle {
        inner: container,
        location: location.to_owned(),
        hook: access.close_error_hook.clone(),
        discards: access.discard_on_drop,
        budget: access.budget(),
        link_classes: link_classes.clone(),
        resolver: access.resolver.clone(),
        process: system::process::id(),
        generation: system::process::generation(),
        is_closed: AtomicBool::new(false),
        is_dirty: AtomicBool::new(false),
        is_interrupted: AtomicBool::new(false),
    })
}

/// Marks a handle when a change unwinds through it.
struct Change<'a>(&'a AtomicBool);

impl Drop for Change<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Release);
    }
}

impl Handle {
    #[inline]
    pub(crate) fn run<T>(&self, operation: Operation, run: impl FnOnce() -> Result<T>) -> Result<T> {
        match operation {
            Operation::commit => self.commit_with(run),
            Operation::close => self.close_with(run),
            operation if operation.changes() => self.change_with(run),
            _ => run(),
        }
    }

    fn change_with<T>(&self, run: impl FnOnce() -> Result<T>) -> Result<T> {
        if self.generation != system::process::generation() {
            return Err(other_process("change"));
        }
        // Many threads change one container: the cache line stays shared.
        if !self.is_dirty.load(Ordering::Relaxed) {
            self.is_dirty.store(true, Ordering::Relaxed);
        }
        let change = Change(&self.is_interrupted);
        let done = run();
        std::mem::forget(change);
        done
    }

    fn commit_with<T>(&self, run: impl FnOnce() -> Result<T>) -> Result<T> {
        self.check_interrupted("commit")?;
        if self.is_of_other_process() {
            return Err(other_process("commit"));
        }
        let was_dirty = self.is_dirty.swap(false, Ordering::Relaxed);
        let done = run();
        if was_dirty && done.is_err() {
            self.is_dirty.store(true, Ordering::Relaxed);
        }
        done
    }

    fn is_of_other_process(&self) -> bool {
        self.process != system::process::id()
    }

    /// Leaves the container to the process that opened it: a child must not change even a lock or a consistency flag.
    fn leave_open(&self) {
        std::mem::forget(self.inner.clone());
    }

    fn close_with<T>(&self, run: impl FnOnce() -> Result<T>) -> Result<T> {
        self.check_interrupted("close")?;
        if self.is_of_other_process() {
            return Err(other_process("close"));
        }
        let done = run()?;
        self.is_closed.store(true, Ordering::Release);
        Ok(done)
    }

    fn check_interrupted(&self, operation: &str) -> Result<()> {
        match self.is_interrupted.load(Ordering::Acquire) {
            true => Err(Error::invalid(operation)
                .with("problem", "a change was interrupted by a panic; open the container again")),
            false => Ok(()),
        }
    }

    /// Returns an error if a handle that is dropped must not commit.
    fn check_may_commit(&self) -> Result<()> {
        self.check_interrupted("commit")?;
        match system::thread::panicking() {
            true => Err(Error::invalid("commit")
                .with("problem", "the thread panicked; changes since the last commit are dropped")),
            false => Ok(()),
        }
    }

    /// Follows a user-defined link with the classes of the registry that opened the container.
    pub(crate) fn follow_link(&self, op: &OpLookup) -> Result<FollowedLink> {
        let (location, resolver) = (&*self.location, self.resolver.as_ref());
        self.link_classes.follow(LinkContext { container: self, location, resolver }, op)
    }

    /// Begins writes that wait, unless this process was forked from the one that opened the container.
    pub(crate) fn open_posting<'c, 'b: 'c>(&'c self) -> Option<Box<dyn Posting<'b> + 'c>> {
        if self.generation != system::process::generation() {
            return None;
        }
        let posting = self.inner.posting()?;
        self.is_dirty.store(true, Ordering::Relaxed);
        Some(posting)
    }

    /// Returns the pipeline, unless this process was forked from the one that opened the container.
    pub(crate) fn open_pipeline(&self) -> Option<&dyn Pipeline> {
        if self.generation != system::process::generation() {
            return None;
        }
        let pipeline = self.inner.pipeline()?;
        self.is_dirty.store(true, Ordering::Relaxed);
        Some(pipeline)
    }

    fn report(&self, error: &Error) {
        let location = &*without_tokens(&self.location);
        tracing::error!(location, %error, "container was not closed");
        let hook = self.hook.clone();
        let hook = hook.or_else(|| HOOK.read().clone());
        if let Some(hook) = hook {
            hook(error);
        }
    }
}

/// Returns the error of a change in a process that was forked from the one that opened the container.
fn other_process(operation: &str) -> Error {
    Error::invalid(operation).with(
        "problem",
        "the container was opened before this process was forked; open it again to change it",
    )
}

impl Drop for Handle {
    fn drop(&mut self) {
        if self.is_closed.load(Ordering::Acquire) {
            return;
        }
        if self.is_of_other_process() {
            return self.leave_open();
        }
        if self.discards {
            return;
        }
        let done = match self.check_may_commit() {
            Ok(()) => self.inner.close(),
            // Nothing is lost where nothing was changed.
            Err(_) if !self.is_dirty.load(Ordering::Relaxed) => Ok(()),
            refused => refused,
        };
        if let Err(error) = done {
            self.report(&error.during(format!("close {} as its last handle was dropped", self.location)));
        }
    }
}

/// The container in the handle: generated from the table in `container.rs`.
macro_rules! handled {
    ($( fn $name:ident(&self $(, $arg:ident : $ty:ty)*) -> $ret:ty; )*) => {
        #[deny(clippy::missing_trait_methods)]
        impl Container for $crate::handle::Handle {
            $( #[inline]
            fn $name(&self $(, $arg: $ty)*) -> Result<$ret> {
                self.run($crate::Operation::$name, || self.inner.$name($($arg),*))
            } )*
            fn budget(&self) -> Budget {
                self.budget.clone()
            }
            fn follow_user_link(&self, op: &OpLookup) -> Result<FollowedLink> {
                self.follow_link(op)
            }
            fn is_serial(&self, dataset: Token) -> bool {
                self.inner.is_serial(dataset)
            }
            fn collective(&self) -> Option<&dyn Collective> {
                self.inner.collective()
            }
            fn pipeline(&self) -> Option<&dyn Pipeline> {
                self.open_pipeline()
            }
            fn posting<'c, 'b: 'c>(&'c self) -> Option<Box<dyn $crate::Posting<'b> + 'c>> {
                self.open_posting()
            }
        }
    };
}
pub(crate) use handled;

#[cfg(test)]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use system::sync::Mutex;

    use super::*;
    use crate::Durability;

    /// Records the calls it receives. It can fail to close, and panic in a change.
    #[derive(Default)]
    struct Noted {
        calls: Mutex<Vec<&'static str>>,
        fails: bool,
    }

    impl Container for Noted {
        fn commit(&self, _durability: Durability) -> Result<()> {
            self.calls.lock().push("commit");
            Ok(())
        }

        fn close(&self) -> Result<()> {
            self.calls.lock().push("close");
            if self.fails { Err(Error::limit("store")) } else { Ok(()) }
        }

        fn dataset_resize(&self, _dataset: model::Token, dims: &[u64]) -> Result<()> {
            assert!(!dims.is_empty(), "half-way");
            Ok(())
        }
    }

    fn resize(container: &dyn Container, dims: &[u64]) -> Result<()> {
        container.dataset_resize(model::Token::from_u64(1), dims)
    }

    type CloseErrors = Arc<Mutex<Vec<String>>>;

    fn handle(fails: bool) -> (Arc<Noted>, Arc<dyn Container>, CloseErrors) {
        let noted = Arc::new(Noted { fails, ..Noted::default() });
        let errors = Arc::new(Mutex::new(Vec::new()));
        let hook = errors.clone();
        let access = FileAccess::write().with_close_error_hook(move |e| hook.lock().push(e.to_string()));
        (noted.clone(), close_on_drop(noted, "here", &access), errors)
    }

    #[test]
    fn the_last_owner_closes_and_a_closed_one_does_not() {
        let (noted, handle, errors) = handle(false);
        drop(handle.clone());
        assert!(noted.calls.lock().is_empty());
        drop(handle);
        assert_eq!(*noted.calls.lock(), ["close"]);
        let (noted, handle, _) = self::handle(false);
        handle.close().unwrap();
        drop(handle);
        assert_eq!(*noted.calls.lock(), ["close"]);
        assert!(errors.lock().is_empty());
    }

    #[test]
    fn work_that_counts_only_when_it_is_done_is_given_up() {
        let noted = Arc::new(Noted::default());
        let access = FileAccess { discard_on_drop: true, ..FileAccess::write() };
        drop(close_on_drop(noted.clone(), "here", &access));
        assert!(noted.calls.lock().is_empty());
        close_on_drop(noted.clone(), "here", &access).close().unwrap();
        assert_eq!(*noted.calls.lock(), ["close"]);
    }

    #[test]
    fn a_close_that_fails_is_reported() {
        let (_, handle, errors) = handle(true);
        drop(handle);
        let errors = errors.lock();
        assert!(errors.len() == 1 && errors[0].contains("here") && errors[0].contains("store"), "{errors:?}");
    }

    #[test]
    fn a_thread_that_panics_does_not_commit() {
        let (noted, handle, errors) = handle(false);
        resize(&*handle, &[1]).unwrap();
        let outcome = catch_unwind(AssertUnwindSafe(move || {
            let _handle = handle;
            panic!("somewhere else");
        }));
        assert!(outcome.is_err() && noted.calls.lock().is_empty());
        assert!(errors.lock()[0].contains("panicked"));
    }

    #[test]
    fn a_change_that_panicked_is_never_committed() {
        let (noted, handle, errors) = handle(false);
        assert!(catch_unwind(AssertUnwindSafe(|| resize(&*handle, &[]))).is_err());
        assert!(handle.commit(Durability::Full).is_err() && handle.close().is_err());
        drop(handle);
        assert!(noted.calls.lock().is_empty());
        assert!(errors.lock()[0].contains("interrupted"));
    }
}
