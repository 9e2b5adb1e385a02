//! Virtual datasets, once for all connectors: elements of other datasets, found through mappings.
//!
//! A connector implements [`Sources`], which opens the containers that mappings name, and describes the dataset as a
//! [`VirtualDataset`]. [`VirtualDataset::read`] reads through the mappings, [`VirtualDataset::plan_write`] finds where
//! elements go, and [`VirtualDataset::extent`] how far the dataset reaches with its sources as they are now.

mod mapping;
mod read;
mod source;
#[cfg(test)]
mod tests;
mod write;

use std::cell::Cell;

use model::properties::VirtualMapping;
use model::selection::Axis;
use model::{Dataspace, Datatype, Error, Result, Selection};
use vol::VirtualView;

pub use source::{SourceContainer, Sources};
pub use write::WritePlan;

/// Virtual datasets over virtual datasets, at most: one that is its own source must end.
const NESTING_MAX: u32 = 8;

/// A virtual dataset: its datatype, extent and mappings.
#[derive(Debug, Clone, Copy)]
pub struct VirtualDataset<'a> {
    /// The datatype, in its on-disk representation.
    pub datatype: &'a Datatype,
    /// The extent.
    pub space: &'a Dataspace,
    /// The mappings, in their order: later ones win.
    pub mappings: &'a [VirtualMapping],
    /// How far unlimited mappings reach.
    pub view: VirtualView,
}

impl VirtualDataset<'_> {
    fn dims(&self) -> &[u64] {
        self.space.dims()
    }

    fn element_bytes(&self) -> usize {
        self.datatype.size() as usize
    }

    /// Returns the extent that the dataset has now: what its sources hold along its unlimited dimension.
    ///
    /// # Errors
    /// Returns the error of opening a source. A source that does not exist is no error.
    pub fn extent(&self, sources: &dyn Sources) -> Result<Dataspace> {
        if !self.mappings.iter().any(|mapping| mapping.target.is_unlimited()) {
            return Ok(self.space.clone());
        }
        let mut dims = self.dims().to_vec();
        let mut grown: Vec<Option<u64>> = vec![None; dims.len()];
        let mut fixed = vec![0; dims.len()];
        let join = if self.view.first_missing { u64::min } else { u64::max };
        for mapping in self.mappings {
            if let Some((axis, end)) = nested(|| mapping::end(sources, mapping, self.view))? {
                grown[axis] = Some(grown[axis].map_or(end, |before| join(before, end)));
            } else if let Some((_, last)) = mapping.target.bounds(&dims)? {
                fixed.iter_mut().zip(last).for_each(|(end, last)| *end = last.saturating_add(1).max(*end));
            }
        }
        let max = self.space.max_dims();
        for (axis, dim) in dims.iter_mut().enumerate() {
            // A view never ends before the mappings whose ends are fixed.
            *dim = grown[axis].map_or(*dim, |end| end.max(fixed[axis])).min(max[axis]);
        }
        Dataspace::resizable(&dims, max)
    }
}

/// Checks the mappings of a new virtual dataset, as far as that can be done without their sources.
///
/// # Errors
/// Returns `Error::Unsupported` for mappings by points, and `Error::Invalid` for a target outside of the extent or for one
/// unlimited side.
pub fn check(mappings: &[VirtualMapping], space: &Dataspace) -> Result<()> {
    for mapping in mappings {
        if matches!(mapping.target, Selection::Points(_)) || matches!(mapping.source, Selection::Points(_)) {
            return Err(Error::unsupported("map points of a virtual dataset"));
        }
        mapping.target.validate(space.dims())?;
        let is_one_sided = mapping.target.is_unlimited() != mapping.source.is_unlimited();
        if is_one_sided && !mapping::has_block_number(mapping) {
            return Err(Error::invalid("map virtual dataset").with("problem", "only one side is unlimited"));
        }
    }
    Ok(())
}

thread_local! {
    /// Virtual datasets that are being used inside of one another on this thread.
    static NESTING: Cell<u32> = const { Cell::new(0) };
}

/// Runs `run` one level deeper.
fn nested<T>(run: impl FnOnce() -> Result<T>) -> Result<T> {
    let depth = NESTING.get();
    if depth >= NESTING_MAX {
        return Err(Error::limit("use virtual dataset").with("problem", "sources nest too deeply"));
    }
    NESTING.set(depth + 1);
    let result = run();
    NESTING.set(depth);
    result
}

/// Returns the axis along which a selection has no end.
fn unlimited_axis(selection: &Selection) -> Option<usize> {
    match selection {
        Selection::Regular(regular) => regular.axes().iter().position(Axis::is_unlimited),
        _ => None,
    }
}
