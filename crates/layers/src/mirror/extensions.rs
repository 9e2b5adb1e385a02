//! Operations that only the mirror layer has.

use vol::{Access, Extension};

/// Returns the state of the targets, as JSON.
#[derive(Debug)]
pub struct MirrorState;

impl Extension for MirrorState {
    const NAME: &'static str = "mirror.state";
    const ACCESS: Access = Access::Read;
    type Request = ();
    type Answer = String;
}

/// Copies the primary to every stale target, and returns the state of the targets as JSON.
#[derive(Debug)]
pub struct MirrorResync;

impl Extension for MirrorResync {
    const NAME: &'static str = "mirror.resync";
    const ACCESS: Access = Access::Write;
    type Request = ();
    type Answer = String;
}
