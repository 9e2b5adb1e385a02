//! The mirror layer: one container in two or more places. Changes go to all of them, reads to the first that answers.
//!
//! ```text
//! mirror{to=LOCATION, to=LOCATION, on_failure=stop}
//! ```
//!
//! The inner container is the *primary*; each `to` names a *target*, in which `{}` stands for the primary's path
//! (`to=raw:{}.copy`). Creating a container creates its targets; opening it opens them.
//!
//! A target that misses a change is *stale*. With `on_failure=stop` that change and all later ones fail, with
//! `on_failure=continue` the target is left out. Which targets are stale stands in an attribute of the primary's root
//! group ([`MARK`]), which this layer hides; see `docs/layers.md` for when it is written. [`resync`] makes stale targets
//! anew from the primary.

mod change;
mod extensions;
mod layer;
mod mark;
mod pair;
mod read;
mod resync;
mod targets;
#[cfg(test)]
mod tests;
mod tokens;

use model::Result;
use vol::Container;

pub use extensions::{MirrorResync, MirrorState};
pub use layer::MirrorLayer;
pub use mark::MARK;

/// Makes stale targets anew from the primary; afterwards all are healthy, or the error names one that is not.
pub fn resync(container: &dyn Container) -> Result<()> {
    vol::call::<MirrorResync>(container, &()).map(drop)
}

/// Returns the state of the targets, as JSON.
pub fn state(container: &dyn Container) -> Result<String> {
    vol::call::<MirrorState>(container, &())
}
