//! Virtual datasets: elements of other datasets, of this container or through the resolver.
//!
//! Unlimited mappings show as many slices as source and target both have; the extent itself is what its
//! creator said or resized it to. Names with block numbers (`%b`) are unsupported.

use std::cell::Cell;
use std::sync::Arc;

use algorithms::transfer::Elements;
use model::convert::Conversions;
use model::properties::VirtualMapping;
use model::selection::{SetOp, project_intersection};
use model::{Dataspace, Error, Heap, Kind, Result, Selection, Token, UNLIMITED, Within};
use vol::{Container, DatasetInfo, OpRead, OpWrite};

use crate::container::MemoryContainer;

/// Checks mappings as far as they can be without their sources.
pub(crate) fn check(mappings: &[VirtualMapping], space: &Dataspace) -> Result<()> {
    for mapping in mappings {
        if matches!(mapping.target, Selection::Points(_)) || matches!(mapping.source, Selection::Points(_)) {
            return Err(Error::unsupported("map points of a virtual dataset"));
        }
        if has_block_number(&mapping.file) || has_block_number(&mapping.dataset) {
            return Err(
                Error::unsupported("map sources with block numbers").with("dataset", &mapping.dataset)
            );
        }
        mapping.target.validate(space.dims())?;
        if mapping.target.is_unlimited() != mapping.source.is_unlimited() {
            return Err(Error::invalid("map virtual dataset").with("problem", "only one side is unlimited"));
        }
    }
    Ok(())
}

fn has_block_number(name: &str) -> bool {
    name.replace("%%", "").contains("%b")
}

thread_local! {
    /// Virtual datasets inside virtual datasets on this thread: a ring of them must end in an error.
    static DEPTH: Cell<u32> = const { Cell::new(0) };
}

struct Nested;

impl Nested {
    fn enter(depth_max: u32) -> Result<Nested> {
        DEPTH.set(DEPTH.get() + 1);
        let nested = Nested;
        match DEPTH.get() > depth_max {
            true => Err(Error::limit("nest virtual datasets").with("limit", depth_max)),
            false => Ok(nested),
        }
    }
}

impl Drop for Nested {
    fn drop(&mut self) {
        DEPTH.set(DEPTH.get().saturating_sub(1));
    }
}

/// The virtual dataset of one transfer.
pub(crate) struct Transfer<'a> {
    pub(crate) container: &'a MemoryContainer,
    pub(crate) info: &'a DatasetInfo,
    pub(crate) mappings: &'a [VirtualMapping],
}

/// An open source.
struct Source {
    /// `None` is the container of the virtual dataset.
    container: Option<Arc<dyn Container>>,
    dataset: Token,
    info: Arc<DatasetInfo>,
}

/// What of one mapping takes part: elements of the source, and where their runs stand in the transfer.
struct Part {
    source: Source,
    wanted: Selection,
    overlaps: Vec<Overlap>,
    bytes: usize,
}

/// Elements that lie together in the transfer's order and in the part's.
struct Overlap {
    transfer: usize,
    part: usize,
    len: usize,
}

impl Transfer<'_> {
    /// Reads into a buffer that holds the fill value.
    pub(crate) fn read(&self, selection: &Selection, into: &mut [u8]) -> Result<()> {
        let _nested = Nested::enter(self.container.limits().depth_max)?;
        for mapping in self.mappings {
            if let Some(part) = self.part(mapping, selection)? {
                let values = self.read_part(&part)?;
                self.each_overlap(&part, |at, from, len| {
                    into[at..at + len].copy_from_slice(&values[from..from + len]);
                });
            }
        }
        Ok(())
    }

    /// Writes; elements that no source holds are refused before anything is written.
    pub(crate) fn write(&self, selection: &Selection, data: &[u8]) -> Result<()> {
        let _nested = Nested::enter(self.container.limits().depth_max)?;
        let dims = self.info.space.dims();
        let (mut left, mut parts) = (selection.clone(), Vec::new());
        for mapping in self.mappings {
            if let Some(part) = self.part(mapping, selection)? {
                let (target, _) = matched(mapping, dims, part.source.info.space.dims())?;
                left = left.combine(SetOp::NotB, &target, dims)?;
                parts.push(part);
            }
        }
        if left.element_count(dims)? > 0 {
            return Err(
                Error::invalid("write virtual dataset").with("problem", "some elements have no source")
            );
        }
        parts.iter().try_for_each(|part| self.write_part(part, data))
    }

    fn each_overlap(&self, part: &Part, mut visit: impl FnMut(usize, usize, usize)) {
        let bytes = self.info.datatype.size() as usize;
        for overlap in &part.overlaps {
            visit(overlap.transfer * bytes, overlap.part * bytes, overlap.len * bytes);
        }
    }

    fn part(&self, mapping: &VirtualMapping, selection: &Selection) -> Result<Option<Part>> {
        let dims = self.info.space.dims();
        // Whether anything is wanted of this mapping comes first: its source may be costly to open.
        if mapping.target.combine(SetOp::And, selection, dims)?.element_count(dims)? == 0 {
            return Ok(None);
        }
        let Some(source) = self.open(mapping)? else { return Ok(None) };
        let source_dims = source.info.space.dims();
        let (target, from) = matched(mapping, dims, source_dims)?;
        let shown = target.combine(SetOp::And, selection, dims)?;
        let count = shown.element_count(dims)?;
        if count == 0 {
            return Ok(None);
        }
        let wanted = project_intersection(&target, dims, &shown, &from, source_dims)?;
        let bytes = count.saturating_mul(self.info.datatype.size().into());
        let bytes = bytes.within(self.container.limits().result_bytes_max, "virtual elements")?;
        Ok(Some(Part { source, wanted, overlaps: overlaps(selection, &shown, dims)?, bytes }))
    }

    /// The source of a mapping; `None` where it does not exist, which shows as the fill value.
    fn open(&self, mapping: &VirtualMapping) -> Result<Option<Source>> {
        let opened = self.try_open(mapping);
        match opened {
            Err(error) if error.kind() == Kind::NotFound => Ok(None),
            opened => opened.map(Some),
        }
    }

    fn try_open(&self, mapping: &VirtualMapping) -> Result<Source> {
        let file = mapping.file.replace("%%", "%");
        let container = match file.as_str() {
            "." => None,
            _ => Some(self.container.other_container(&file)?),
        };
        let beneath: &dyn Container = container.as_deref().unwrap_or(self.container);
        let path = mapping.dataset.replace("%%", "%");
        let root = beneath.info()?.root;
        let dataset = vol::path::token(beneath, root, &path, self.container.limits().link_traversals_max)?;
        let info = beneath.dataset_info(dataset)?;
        Ok(Source { container, dataset, info })
    }

    fn beneath<'s>(&'s self, source: &'s Source) -> &'s dyn Container {
        source.container.as_deref().unwrap_or(self.container)
    }

    /// Whether elements go over as they are: slots mean something only in one container.
    fn is_plain(&self, source: &Source) -> Result<bool> {
        let file_type = &self.info.datatype;
        if source.info.datatype == *file_type && (source.container.is_none() || !file_type.has_slots()) {
            return Ok(true);
        }
        match file_type.has_slots() || source.info.datatype.has_slots() {
            true => Err(Error::unsupported("map variable-length values or references of another container")),
            false => Ok(false),
        }
    }

    fn read_part(&self, part: &Part) -> Result<Vec<u8>> {
        let (source, mut values) = (&part.source, vec![0; part.bytes]);
        let (beneath, selection) = (self.beneath(source), &part.wanted);
        if self.is_plain(source)? {
            beneath.dataset_read(&mut [OpRead { dataset: source.dataset, selection, into: &mut values }])?;
        } else {
            let conversions = Conversions::default();
            let elements = elements(beneath, source, selection, &conversions);
            elements.read(&self.info.datatype, &mut values, &mut Heap::new())?;
        }
        Ok(values)
    }

    fn write_part(&self, part: &Part, data: &[u8]) -> Result<()> {
        let (source, mut values) = (&part.source, vec![0; part.bytes]);
        let (beneath, selection) = (self.beneath(source), &part.wanted);
        self.each_overlap(part, |from, at, len| {
            values[at..at + len].copy_from_slice(&data[from..from + len]);
        });
        if self.is_plain(source)? {
            return beneath.dataset_write(&[OpWrite { dataset: source.dataset, selection, from: &values }]);
        }
        let conversions = Conversions::default();
        elements(beneath, source, selection, &conversions).write(
            &self.info.datatype,
            &values,
            &mut Heap::new(),
        )
    }
}

fn elements<'a>(
    container: &'a dyn Container,
    source: &'a Source,
    selection: &'a Selection,
    conversions: &'a Conversions,
) -> Elements<'a> {
    let (file_type, space) = (&source.info.datatype, &source.info.space);
    Elements { container, dataset: source.dataset, file_type, space, selection, conversions }
}

/// Both sides of a mapping with equally many elements: unlimited ones end with the shorter.
fn matched(mapping: &VirtualMapping, dims: &[u64], source_dims: &[u64]) -> Result<(Selection, Selection)> {
    let (target, source) = (&mapping.target, &mapping.source);
    if !target.is_unlimited() {
        source.validate(source_dims)?;
        return Ok((target.clone(), source.clone()));
    }
    let slices = slice_count(target, dims)?.min(slice_count(source, source_dims)?);
    Ok((first_slices(target, dims, slices)?, first_slices(source, source_dims, slices)?))
}

/// The unlimited dimension, with its axis.
fn unlimited_axis(selection: &Selection) -> Result<(usize, model::selection::Axis)> {
    let axes = match selection {
        Selection::Regular(regular) => regular.axes(),
        _ => &[],
    };
    let found = axes.iter().position(model::selection::Axis::is_unlimited);
    found
        .map(|d| (d, axes[d]))
        .ok_or_else(|| Error::invalid("map virtual dataset").with("problem", "no unlimited axis"))
}

/// Coordinates along the unlimited axis that are inside the extent.
fn slice_count(selection: &Selection, dims: &[u64]) -> Result<u64> {
    let (d, axis) = unlimited_axis(selection)?;
    let room = dims.get(d).copied().unwrap_or(0).saturating_sub(axis.start());
    if axis.block() == UNLIMITED {
        return Ok(room);
    }
    Ok(room / axis.stride() * axis.block() + (room % axis.stride()).min(axis.block()))
}

/// The selection up to a number of coordinates along its unlimited axis.
fn first_slices(selection: &Selection, dims: &[u64], slices: u64) -> Result<Selection> {
    let (d, axis) = unlimited_axis(selection)?;
    let Some(last) = slices.checked_sub(1) else { return Ok(Selection::None) };
    let along = match axis.block() {
        UNLIMITED => last,
        block => last / block * axis.stride() + last % block,
    };
    let mut dims = dims.to_vec();
    dims[d] = axis.start() + along + 1;
    selection.clip(&dims)
}

/// Where the elements of `part`, a subset of `selection`, stand in both orders.
fn overlaps(selection: &Selection, part: &Selection, dims: &[u64]) -> Result<Vec<Overlap>> {
    let mut part_runs: Vec<(u64, u64, u64)> = Vec::new();
    let mut count = 0;
    for run in part.runs(dims)? {
        part_runs.push((run.offset, run.offset + run.len, count));
        count += run.len;
    }
    let (mut found, mut at) = (Vec::new(), 0);
    for run in selection.runs(dims)? {
        let end = run.offset + run.len;
        let first = part_runs.partition_point(|&(_, part_end, _)| part_end <= run.offset);
        for &(start, stop, part_at) in part_runs[first..].iter().take_while(|piece| piece.0 < end) {
            let (from, to) = (start.max(run.offset), stop.min(end));
            let (transfer, part) = (at + from - run.offset, part_at + from - start);
            found.push(Overlap {
                transfer: transfer as usize,
                part: part as usize,
                len: (to - from) as usize,
            });
        }
        at += run.len;
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mapping(source: Selection, target: Selection) -> VirtualMapping {
        VirtualMapping { file: ".".into(), dataset: "d".into(), source, target }
    }

    #[test]
    fn unlimited_mapping_ends_with_the_shorter_side() {
        // The source grows along its first axis in blocks of two, the target along its second.
        let source = Selection::hyperslab(&[1, 0], &[3, 1], &[UNLIMITED, 1], &[2, 4]).unwrap();
        let target = Selection::hyperslab(&[0, 0], &[1, 1], &[1, UNLIMITED], &[4, 1]).unwrap();
        let mapping = mapping(source, target);
        for (rows, columns, slices) in [(9, 10, 6), (3, 10, 2), (6, 10, 4), (5, 10, 3), (9, 5, 5), (1, 9, 0)]
        {
            let (target, source) = matched(&mapping, &[4, columns], &[rows, 4]).unwrap();
            assert_eq!(target.element_count(&[4, columns]).unwrap(), slices * 4);
            assert_eq!(source.element_count(&[rows, 4]).unwrap(), slices * 4);
        }
    }

    #[test]
    fn one_unlimited_side_is_refused() {
        let unlimited = Selection::hyperslab(&[0], &[1], &[UNLIMITED], &[1]).unwrap();
        let space = Dataspace::resizable(&[3], &[UNLIMITED]).unwrap();
        let mappings = [mapping(Selection::All, unlimited)];
        assert_eq!(check(&mappings, &space).unwrap_err().kind(), Kind::Invalid);
    }

    #[test]
    fn overlaps_follow_the_order_of_points() {
        let points = Selection::points(1, vec![4, 1, 4, 9]).unwrap();
        let part = Selection::block(&[1], &[4]).unwrap();
        let found = overlaps(&points, &part, &[10]).unwrap();
        let places: Vec<_> = found.iter().map(|o| (o.transfer, o.part, o.len)).collect();
        assert_eq!(places, [(0, 3, 1), (1, 0, 1), (2, 3, 1)]);
    }
}
