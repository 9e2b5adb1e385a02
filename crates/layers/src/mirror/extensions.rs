//! Operations that only the mirror layer has.

vol::extension! {
    /// Returns the state of the targets, as JSON.
    pub struct MirrorState = "mirror.state": Read, () => String;
    /// Copies the primary to every stale target, and returns the state of the targets as JSON.
    pub struct MirrorResync = "mirror.resync": Write, () => String;
}
