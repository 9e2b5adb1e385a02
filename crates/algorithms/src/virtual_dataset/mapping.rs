//! Mappings with their names and selections made definite: block numbers inserted, unlimited selections cut.

use model::properties::VirtualMapping;
use model::selection::{Axis, project_intersection};
use model::{Error, Result, Selection, UNLIMITED};
use vol::VirtualView;

use super::source::{Source, Sources, open};
use super::{VirtualDataset, unlimited_axis};

/// Blocks of a mapping with block numbers that are looked for, at most.
const BLOCKS_MAX: u64 = 1 << 20;

/// A mapping with one source and selections that end.
pub(super) struct DefiniteMapping<'a> {
    pub(super) source: Source<'a>,
    pub(super) from: Selection,
    pub(super) to: Selection,
}

/// The elements that a selection shares with a mapping.
pub(super) struct SharedElements {
    /// In the source.
    pub(super) wanted: Selection,
    /// Among the selected elements, in the same order.
    pub(super) positions: SharedPositions,
}

/// The positions, among all selected elements, of those that a mapping has.
#[derive(Clone)]
pub(super) struct SharedPositions {
    pub(super) selection: Selection,
    pub(super) count: u64,
}

/// Returns whether the name of the file or of the dataset has a block number (`%b`).
pub(super) fn has_block_number(mapping: &VirtualMapping) -> bool {
    name_of_block(&mapping.file, 0).1 || name_of_block(&mapping.dataset, 0).1
}

/// Returns the name for one block, and whether the template has a block number. `%%` is a percent sign.
fn name_of_block(template: &str, block: u64) -> (String, bool) {
    let (mut name, mut has_number) = (String::new(), false);
    let mut chars = template.chars().peekable();
    while let Some(c) = chars.next() {
        match (c, chars.peek()) {
            ('%', Some('%')) => {
                chars.next();
                name.push('%');
            }
            ('%', Some('b')) => {
                chars.next();
                name.push_str(&block.to_string());
                has_number = true;
            }
            _ => name.push(c),
        }
    }
    (name, has_number)
}

fn names_of_block(mapping: &VirtualMapping, block: u64) -> (String, String) {
    (name_of_block(&mapping.file, block).0, name_of_block(&mapping.dataset, block).0)
}

/// Returns how many elements of a selection's unlimited axis lie below `end`.
fn axis_len(selection: &Selection, axis: usize, end: u64) -> u64 {
    let Selection::Regular(regular) = selection else { return 0 };
    let axis = &regular.axes()[axis];
    let Some(len) = end.checked_sub(axis.start()) else { return 0 };
    if axis.block() == UNLIMITED {
        return len;
    }
    let (whole, rest) = (len / axis.stride(), len % axis.stride());
    whole.saturating_mul(axis.block()).saturating_add(rest.min(axis.block()))
}

/// Returns the end of the extent that holds `len` elements of a selection's unlimited axis.
fn axis_end(selection: &Selection, axis: usize, len: u64) -> u64 {
    let Selection::Regular(regular) = selection else { return 0 };
    let axis = &regular.axes()[axis];
    if len == 0 {
        return 0;
    }
    if axis.block() == UNLIMITED {
        return axis.start().saturating_add(len);
    }
    let (whole, rest) = (len / axis.block(), len % axis.block());
    let full = whole.saturating_mul(axis.stride()).saturating_add(axis.start());
    if rest == 0 { full - axis.stride() + axis.block() } else { full.saturating_add(rest) }
}

/// Returns the unlimited axis of a mapping's target and where it ends with the sources as they are now, or `None` if the
/// target is not unlimited.
pub(super) fn end(
    sources: &dyn Sources,
    mapping: &VirtualMapping,
    view: VirtualView,
) -> Result<Option<(usize, u64)>> {
    let Some(axis) = unlimited_axis(&mapping.target) else { return Ok(None) };
    if has_block_number(mapping) {
        let Selection::Regular(regular) = &mapping.target else { return Ok(None) };
        let a = &regular.axes()[axis];
        let start_of = |n: u64| n.saturating_mul(a.stride()).saturating_add(a.start());
        let end = match count_blocks(sources, mapping, view)? {
            n if view.first_missing => start_of(n),
            0 => 0,
            n => start_of(n - 1).saturating_add(a.block()),
        };
        return Ok(Some((axis, end)));
    }
    let Some(len) = source_len(sources, mapping)? else { return Ok(Some((axis, 0))) };
    let end = match view.first_missing {
        // The place of the next element: other mappings may have theirs before it.
        true => axis_end(&mapping.target, axis, len.saturating_add(1)).saturating_sub(1),
        false => axis_end(&mapping.target, axis, len),
    };
    Ok(Some((axis, end)))
}

/// Returns how many elements the unlimited axis of a mapping's source has now, or `None` if the source is missing.
fn source_len(sources: &dyn Sources, mapping: &VirtualMapping) -> Result<Option<u64>> {
    let Some(source) = open(sources, names_of_block(mapping, 0))? else { return Ok(None) };
    let Some(axis) = unlimited_axis(&mapping.source) else { return Ok(None) };
    let have = source.info.space.dims().get(axis).copied().unwrap_or(0);
    Ok(Some(axis_len(&mapping.source, axis, have)))
}

/// Returns the number of the last source that exists, plus one. A gap longer than the view allows ends the search.
fn count_blocks(sources: &dyn Sources, mapping: &VirtualMapping, view: VirtualView) -> Result<u64> {
    let gap_max = if view.first_missing { 0 } else { view.gap };
    let (mut blocks, mut missing) = (0, 0);
    for block in 0..BLOCKS_MAX {
        match open(sources, names_of_block(mapping, block))? {
            Some(_) => (blocks, missing) = (block + 1, 0),
            None if missing >= gap_max => break,
            None => missing += 1,
        }
    }
    Ok(blocks)
}

/// Returns a mapping as definite ones: one, or one for each block number.
pub(super) fn definite<'s>(
    sources: &'s dyn Sources,
    (mapping, view): (&VirtualMapping, VirtualView),
    dims: &[u64],
) -> Result<Vec<DefiniteMapping<'s>>> {
    if has_block_number(mapping) && unlimited_axis(&mapping.target).is_some() {
        let blocks = 0..count_blocks(sources, mapping, view)?;
        let found =
            blocks.map(|block| of_block(sources, mapping, block, dims)).collect::<Result<Vec<_>>>()?;
        return Ok(found.into_iter().flatten().collect());
    }
    let Some(source) = open(sources, names_of_block(mapping, 0))? else { return Ok(Vec::new()) };
    let (from, to) = matched(mapping, source.info.space.dims(), dims)?;
    Ok(vec![DefiniteMapping { source, from, to }])
}

/// Returns both sides of a mapping, source first: unlimited ones are cut where the shorter of them ends.
pub(super) fn matched(
    mapping: &VirtualMapping,
    source_dims: &[u64],
    dims: &[u64],
) -> Result<(Selection, Selection)> {
    let (from, to) = (&mapping.source, &mapping.target);
    let (Some(s), Some(t)) = (unlimited_axis(from), unlimited_axis(to)) else {
        return Ok((from.clone(), to.clone()));
    };
    let have = |dims: &[u64], axis: usize| dims.get(axis).copied().unwrap_or(0);
    let len = axis_len(from, s, have(source_dims, s)).min(axis_len(to, t, have(dims, t)));
    let from = from.clip(&cut(source_dims, s, axis_end(from, s, len)))?;
    Ok((from, to.clip(&cut(dims, t, axis_end(to, t, len)))?))
}

fn cut(dims: &[u64], axis: usize, end: u64) -> Vec<u64> {
    let mut dims = dims.to_vec();
    if let Some(dim) = dims.get_mut(axis) {
        *dim = end;
    }
    dims
}

fn of_block<'s>(
    sources: &'s dyn Sources,
    mapping: &VirtualMapping,
    block: u64,
    dims: &[u64],
) -> Result<Option<DefiniteMapping<'s>>> {
    let Some(source) = open(sources, names_of_block(mapping, block))? else { return Ok(None) };
    let (Selection::Regular(regular), Some(axis)) = (&mapping.target, unlimited_axis(&mapping.target)) else {
        return Ok(None);
    };
    let axes = regular.axes();
    let get = |f: fn(&Axis) -> u64| axes.iter().map(f).collect::<Vec<u64>>();
    let (mut start, mut count) = (get(Axis::start), get(Axis::count));
    let (stride, shape) = (get(Axis::stride), get(Axis::block));
    start[axis] = start[axis].saturating_add(block.saturating_mul(stride[axis]));
    count[axis] = 1;
    if start[axis].saturating_add(shape[axis]) > dims[axis] {
        return Ok(None);
    }
    let to = Selection::hyperslab(&start, &stride, &count, &shape)?;
    Ok(Some(DefiniteMapping { source, from: mapping.source.clone(), to }))
}

impl VirtualDataset<'_> {
    /// Returns which of the `selected` elements of `selection` have a mapping to `target`. No source is needed to tell.
    pub(super) fn positions(
        &self,
        target: &Selection,
        selection: &Selection,
        selected: u64,
    ) -> Result<SharedPositions> {
        let found = project_intersection(selection, self.dims(), target, &Selection::All, &[selected])?;
        Ok(SharedPositions { count: found.element_count(&[selected])?, selection: found })
    }
}

/// Returns what `selection` shares with a mapping, whose `positions` are known or found here, or `None` if that is nothing.
pub(super) fn shared(
    dataset: &VirtualDataset<'_>,
    mapping: &DefiniteMapping<'_>,
    (selection, selected): (&Selection, u64),
    positions: Option<SharedPositions>,
) -> Result<Option<SharedElements>> {
    let (dims, source_dims) = (dataset.dims(), mapping.source.info.space.dims());
    let corrupt = |problem| Error::corrupt("use virtual dataset").with("problem", problem);
    if mapping.from.validate(source_dims).is_err() || mapping.to.validate(dims).is_err() {
        return Err(corrupt("mapping leaves the extent"));
    }
    let positions = match positions {
        Some(known) => known,
        None => dataset.positions(&mapping.to, selection, selected)?,
    };
    if positions.count == 0 {
        return Ok(None);
    }
    let wanted = project_intersection(&mapping.to, dims, selection, &mapping.from, source_dims)?;
    match wanted.element_count(source_dims)? == positions.count {
        true => Ok(Some(SharedElements { wanted, positions })),
        false => Err(corrupt("the sides of a mapping differ in size")),
    }
}
