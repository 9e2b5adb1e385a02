//! Crashes, faults and kills: what a flush promised is there.
//!
//! By default a sample is run. `HYPERSLAB_CRASH_IMAGES`, `HYPERSLAB_CRASH_OTHERS`, `HYPERSLAB_CRASH_PUBLISHING`,
//! `HYPERSLAB_CRASH_KILLS` and `HYPERSLAB_CRASH_FAULTS` say how many images, images for libhdf5, moments of publishing, kills and
//! faults to try instead; `HYPERSLAB_SEED` repeats a run.
//! Some tests need python3 with h5py.

mod barriers;
mod faults;
mod forged;
mod images;
mod in_place;
mod kills;
mod others;
mod panics;
mod publishing;
mod rig;
mod workloads;

/// How much to do: what a variable says, or the default.
fn amount(variable: &str, default: usize) -> usize {
    std::env::var(variable).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}
