//! Handles that callers have on objects, as the layer counts them.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use model::{Kind, Result, Token};

use super::{Queue, QueueState};

/// How often objects are retained.
#[derive(Default)]
pub(super) struct Handles {
    counts: HashMap<Token, u64>,
    root: Option<Token>,
    /// The inner container does not count handles.
    are_needless: Arc<AtomicBool>,
}

impl Handles {
    /// Returns whether a handle is open on an object.
    pub(super) fn has(&self, object: Token) -> bool {
        self.counts.contains_key(&object)
    }
}

impl QueueState {
    /// Returns whether objects stay though all links to them go: the container counts a handle of each.
    pub(super) fn are_kept(&self, objects: &[Token]) -> bool {
        let handles = &self.handles;
        let is_kept = |object: &Token| {
            handles.root == Some(*object) || handles.has(*object) && !self.graph.has_retains(*object)
        };
        objects.iter().all(is_kept) && !handles.are_needless.load(Ordering::SeqCst)
    }
}

impl Queue {
    /// Names the root group, which always stays.
    pub(crate) fn set_root(&self, root: Token) {
        self.name(root, "/");
        self.state().handles.root = Some(root);
    }

    /// Notes one handle more on an object.
    pub(crate) fn retained(&self, object: Token) {
        *self.state().handles.counts.entry(object).or_insert(0) += 1;
    }

    /// Notes one handle less on an object.
    pub(crate) fn released(&self, object: Token) {
        let mut state = self.state();
        let Some(times) = state.handles.counts.get_mut(&object) else { return };
        *times -= 1;
        if *times == 0 {
            state.handles.counts.remove(&object);
            state.known.forget(object);
        }
    }

    /// Returns whether a handle is open on an object.
    pub(crate) fn is_retained(&self, object: Token) -> bool {
        self.state().handles.has(object)
    }

    /// Returns whether the inner container is known not to count handles: letting go of one removes nothing.
    pub(crate) fn has_no_handles(&self) -> bool {
        self.state().handles.are_needless.load(Ordering::SeqCst)
    }

    /// Notes that the inner container does not count handles.
    pub(crate) fn needs_no_handles(&self) {
        self.state().handles.are_needless.store(true, Ordering::SeqCst);
    }

    /// Returns what takes the outcome of `retain` and `release`: a container that does not count handles needs none,
    /// and neither does an object whose creation failed.
    pub(crate) fn handle_outcome(&self) -> impl Fn(Result<()>) -> Result<()> + Send + use<> {
        let are_needless = self.state().handles.are_needless.clone();
        move |done| match done {
            Err(error) if error.kind() == Kind::Unsupported => {
                are_needless.store(true, Ordering::SeqCst);
                Ok(())
            }
            Err(error) if error.kind() == Kind::NotFound => Ok(()),
            done => done,
        }
    }
}
