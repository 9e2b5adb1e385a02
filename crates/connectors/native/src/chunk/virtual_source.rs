//! Virtual datasets: elements of other datasets, found through the map.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use algorithms::transfer::Elements;
use model::heap::Heap;
use model::properties::VirtualMapping;
use model::selection::{Axis, Points, project_intersection};
use model::{Dataspace, Datatype, Error, Kind, Result, Selection, Token, UNLIMITED};
use vol::{Container, DatasetInfo};

use crate::container::NativeContainer;
use crate::file::File;
use crate::object::dataset::Dataset;

/// Blocks of a printf mapping that are looked for, at most.
const PRINTF_BLOCKS_MAX: u64 = 1 << 20;
/// Virtual datasets over virtual datasets, at most.
const NESTING_MAX: u32 = 8;

/// An open source.
pub(super) struct Source {
    /// Its names in the map.
    pub(super) names: (String, String),
    container: Arc<dyn Container>,
    token: Token,
    pub(super) info: Arc<DatasetInfo>,
}

/// A mapping with its names and selections made definite.
pub(super) struct Piece {
    pub(super) source: Source,
    pub(super) from: Selection,
    pub(super) to: Selection,
}

thread_local! {
    static NESTING: std::cell::Cell<u32> = const { std::cell::Cell::new(0) };
}

/// Runs `f` one level deeper: a virtual dataset that is its own source must end.
pub(super) fn nested<T>(f: impl FnOnce() -> Result<T>) -> Result<T> {
    let depth = NESTING.get();
    if depth >= NESTING_MAX {
        return Err(Error::limit("use virtual dataset").with("problem", "sources nest too deeply"));
    }
    NESTING.set(depth + 1);
    let result = f();
    NESTING.set(depth);
    result
}

/// Opens a source. A source that is not there is no error: its elements show the fill value.
fn open(file: &File, name: &str, dataset: &str) -> Result<Option<Source>> {
    let container: Arc<dyn Container> = if name == "." {
        NativeContainer::within(file.again()?)?
    } else if let Some(container) = file.changed_source(name) {
        container
    } else {
        let Some(resolver) = &file.resolver else {
            return Err(Error::denied("open virtual source")
                .with("file", name)
                .with("problem", "no resolver was given"));
        };
        match resolver.container(name, &file.path) {
            Ok(container) => container,
            Err(error) if matches!(error.kind(), Kind::NotFound) => return Ok(None),
            Err(error) => return Err(error),
        }
    };
    let root = container.info()?.root;
    match vol::path::token(container.as_ref(), root, dataset, file.store.limits.link_traversals_max) {
        Ok(token) => {
            let info = nested(|| container.dataset_info(token))?;
            let names = (name.to_owned(), dataset.to_owned());
            Ok(Some(Source { names, container, token, info }))
        }
        Err(error) if error.kind() == Kind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// Whether a name holds block numbers (`%b`), and the name for one block (`%%` is a percent sign).
fn printf_name(template: &str, block: u64) -> (String, bool) {
    let (mut name, mut is_printf) = (String::new(), false);
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
                is_printf = true;
            }
            _ => name.push(c),
        }
    }
    (name, is_printf)
}

fn is_printf(mapping: &VirtualMapping) -> bool {
    printf_name(&mapping.file, 0).1 || printf_name(&mapping.dataset, 0).1
}

/// The axis along which a selection has no end.
fn unlimited_axis(selection: &Selection) -> Option<usize> {
    match selection {
        Selection::Regular(regular) => regular.axes().iter().position(Axis::is_unlimited),
        _ => None,
    }
}

/// Elements of a selection's unlimited axis that lie below `end`: how many.
fn axis_len(selection: &Selection, axis: usize, end: u64) -> u64 {
    let Selection::Regular(regular) = selection else { return 0 };
    let a = &regular.axes()[axis];
    let Some(room) = end.checked_sub(a.start()) else { return 0 };
    if a.block() == UNLIMITED {
        return room;
    }
    let (whole, rest) = (room / a.stride(), room % a.stride());
    whole.saturating_mul(a.block()).saturating_add(rest.min(a.block()))
}

/// The end of the extent that holds `len` elements of a selection's unlimited axis.
fn axis_end(selection: &Selection, axis: usize, len: u64) -> u64 {
    let Selection::Regular(regular) = selection else { return 0 };
    let a = &regular.axes()[axis];
    if len == 0 {
        return 0;
    }
    if a.block() == UNLIMITED {
        return a.start().saturating_add(len);
    }
    let (whole, rest) = (len / a.block(), len % a.block());
    let full = whole.saturating_mul(a.stride()).saturating_add(a.start());
    if rest == 0 { full - a.stride() + a.block() } else { full.saturating_add(rest) }
}

/// The extent that a virtual dataset shows now: what its sources hold along its unlimited dimension.
pub(crate) fn extent(file: &File, space: &Dataspace, mappings: &[VirtualMapping]) -> Result<Dataspace> {
    if !mappings.iter().any(|m| m.target.is_unlimited()) {
        return Ok(space.clone());
    }
    let mut dims = space.dims().to_vec();
    let mut grown: Vec<Option<u64>> = vec![None; dims.len()];
    for mapping in mappings {
        if let Some((axis, end)) = nested(|| mapping_end(file, mapping))? {
            let join = if file.virtual_view.first_missing { u64::min } else { u64::max };
            grown[axis] = Some(grown[axis].map_or(end, |before| join(before, end)));
        } else if let (None, Some((_, last))) =
            (unlimited_axis(&mapping.target), mapping.target.bounds(&dims)?)
        {
            for (end, last) in grown.iter_mut().zip(last) {
                *end = end.map(|end| end.max(last + 1));
            }
        }
    }
    for (dim, end) in dims.iter_mut().zip(grown) {
        *dim = end.unwrap_or(*dim);
    }
    let max = space.max_dims();
    for (dim, max) in dims.iter_mut().zip(max) {
        *dim = (*dim).min(*max);
    }
    Dataspace::resizable(&dims, max)
}

/// Where an unlimited mapping ends in the virtual dataset, with the sources as they are now.
fn mapping_end(file: &File, mapping: &VirtualMapping) -> Result<Option<(usize, u64)>> {
    let Some(axis) = unlimited_axis(&mapping.target) else { return Ok(None) };
    if is_printf(mapping) {
        let blocks = printf_blocks(file, mapping)?;
        let Selection::Regular(regular) = &mapping.target else { return Ok(None) };
        let a = &regular.axes()[axis];
        let end = match blocks {
            0 => 0,
            n => (n - 1).saturating_mul(a.stride()).saturating_add(a.start()).saturating_add(a.block()),
        };
        return Ok(Some((axis, end)));
    }
    let (name, dataset) = (printf_name(&mapping.file, 0).0, printf_name(&mapping.dataset, 0).0);
    let Some(source) = open(file, &name, &dataset)? else { return Ok(Some((axis, 0))) };
    let Some(source_axis) = unlimited_axis(&mapping.source) else { return Ok(Some((axis, 0))) };
    let have = source.info.space.dims().get(source_axis).copied().unwrap_or(0);
    Ok(Some((axis, axis_end(&mapping.target, axis, axis_len(&mapping.source, source_axis, have)))))
}

/// Sources of a printf mapping: the last that is there, plus one. A gap longer than the view allows ends the search.
fn printf_blocks(file: &File, mapping: &VirtualMapping) -> Result<u64> {
    let (mut blocks, mut missing) = (0, 0);
    for block in 0..PRINTF_BLOCKS_MAX {
        let (name, dataset) = (printf_name(&mapping.file, block).0, printf_name(&mapping.dataset, block).0);
        match open(file, &name, &dataset)? {
            Some(_) => (blocks, missing) = (block + 1, 0),
            None if missing >= file.virtual_view.gap => break,
            None => missing += 1,
        }
    }
    Ok(blocks)
}

/// Reads the selected elements: fill values first, then what each mapping gives.
pub(crate) fn read(
    file: &File,
    dataset: &Dataset,
    mappings: &[VirtualMapping],
    selection: &Selection,
    into: &mut [u8],
) -> Result<()> {
    if let Selection::Points(points) = selection {
        return read_points(file, dataset, mappings, points, into);
    }
    super::fill(dataset, into);
    nested(|| read_set(file, dataset, mappings, selection, into))
}

/// Points in C order, each once, and for each given point its place among them: mappings know no other order.
pub(super) fn in_order(points: &Points) -> Result<(Selection, Vec<usize>)> {
    let unique: BTreeSet<&[u64]> = points.iter().collect();
    let place: BTreeMap<&[u64], usize> = unique.iter().copied().zip(0..).collect();
    let places = points.iter().filter_map(|point| place.get(point).copied()).collect();
    let coordinates: Vec<u64> = unique.iter().copied().flatten().copied().collect();
    Ok((Selection::points(points.rank(), coordinates)?, places))
}

fn read_points(
    file: &File,
    dataset: &Dataset,
    mappings: &[VirtualMapping],
    points: &Points,
    into: &mut [u8],
) -> Result<()> {
    let (ordered, places) = in_order(points)?;
    let bytes = dataset.element_bytes();
    let mut values = vec![0; ordered.element_count(dataset.dims())? as usize * bytes];
    super::fill(dataset, &mut values);
    nested(|| read_set(file, dataset, mappings, &ordered, &mut values))?;
    for (element, place) in into.chunks_exact_mut(bytes).zip(places) {
        element.copy_from_slice(&values[place * bytes..(place + 1) * bytes]);
    }
    Ok(())
}

/// What each mapping gives of a selection in C order.
fn read_set(
    file: &File,
    dataset: &Dataset,
    mappings: &[VirtualMapping],
    selection: &Selection,
    into: &mut [u8],
) -> Result<()> {
    for mapping in mappings {
        for piece in pieces(file, mapping, dataset.dims())? {
            read_piece(file, dataset, &piece, selection, into)?;
        }
    }
    Ok(())
}

/// The definite pieces of a mapping: one, or one for each block of a printf mapping.
pub(super) fn pieces(file: &File, mapping: &VirtualMapping, dims: &[u64]) -> Result<Vec<Piece>> {
    if is_printf(mapping) && unlimited_axis(&mapping.target).is_some() {
        let blocks = printf_blocks(file, mapping)?;
        let found =
            (0..blocks).map(|block| printf_piece(file, mapping, block, dims)).collect::<Result<Vec<_>>>()?;
        return Ok(found.into_iter().flatten().collect());
    }
    let (name, dataset) = (printf_name(&mapping.file, 0).0, printf_name(&mapping.dataset, 0).0);
    let Some(source) = open(file, &name, &dataset)? else { return Ok(Vec::new()) };
    let (mut from, mut to) = (mapping.source.clone(), mapping.target.clone());
    if let (Some(s), Some(t)) = (unlimited_axis(&from), unlimited_axis(&to)) {
        // Both sides are cut where the shorter of them ends.
        let source_dims = source.info.space.dims().to_vec();
        let len = axis_len(&from, s, source_dims[s]).min(axis_len(&to, t, dims[t]));
        from = from.clip(&cut(&source_dims, s, axis_end(&from, s, len)))?;
        to = to.clip(&cut(dims, t, axis_end(&to, t, len)))?;
    }
    Ok(vec![Piece { source, from, to }])
}

fn cut(dims: &[u64], axis: usize, end: u64) -> Vec<u64> {
    let mut dims = dims.to_vec();
    dims[axis] = end;
    dims
}

fn printf_piece(file: &File, mapping: &VirtualMapping, block: u64, dims: &[u64]) -> Result<Option<Piece>> {
    let (name, dataset) = (printf_name(&mapping.file, block).0, printf_name(&mapping.dataset, block).0);
    let Some(source) = open(file, &name, &dataset)? else { return Ok(None) };
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
    Ok(Some(Piece { source, from: mapping.source.clone(), to }))
}

/// What a selection has of a piece.
pub(super) struct Common {
    /// In the source.
    pub(super) wanted: Selection,
    pub(super) count: u64,
    /// Among the selected elements, in the same order.
    pub(super) places: Selection,
}

/// What `selection`, of `selected` elements, has of a piece; `None` for nothing.
pub(super) fn common(
    dataset: &Dataset,
    piece: &Piece,
    selection: &Selection,
    selected: u64,
) -> Result<Option<Common>> {
    let (dims, source_dims) = (dataset.dims(), piece.source.info.space.dims());
    let corrupt =
        |problem| Error::corrupt("use virtual dataset").at(dataset.address.0).with("problem", problem);
    // A source smaller than its mapping gives what it has.
    if piece.from.validate(source_dims).is_err() || piece.to.validate(dims).is_err() {
        return Err(corrupt("mapping leaves the extent"));
    }
    let wanted = project_intersection(&piece.to, dims, selection, &piece.from, source_dims)?;
    let count = wanted.element_count(source_dims)?;
    if count == 0 {
        return Ok(None);
    }
    let places = project_intersection(selection, dims, &piece.to, &Selection::All, &[selected])?;
    match places.element_count(&[selected])? == count {
        true => Ok(Some(Common { wanted, count, places })),
        false => Err(corrupt("the sides of a mapping differ in size")),
    }
}

/// The type of the elements in memory: what a slot stands for cannot go from one dataset to another yet.
pub(super) fn memory_type(dataset: &Dataset) -> Result<Datatype> {
    let memory = dataset.info.datatype.memory_form();
    match memory.has_slots() {
        true => Err(Error::unsupported("use virtual dataset")
            .with("problem", "variable-length data from another dataset")),
        false => Ok(memory),
    }
}

/// The part of a piece that is asked for, read and put where it belongs.
fn read_piece(
    file: &File,
    dataset: &Dataset,
    piece: &Piece,
    selection: &Selection,
    into: &mut [u8],
) -> Result<()> {
    let (source_space, element_bytes) = (&piece.source.info.space, dataset.element_bytes());
    let linear = [(into.len() / element_bytes) as u64];
    let Some(Common { wanted, count, places }) = common(dataset, piece, selection, linear[0])? else {
        return Ok(());
    };
    let memory = memory_type(dataset)?;
    let mut values = vec![0; count as usize * element_bytes];
    let elements = Elements {
        container: piece.source.container.as_ref(),
        dataset: piece.source.token,
        file_type: &piece.source.info.datatype,
        space: source_space,
        selection: &wanted,
        conversions: &file.conversions,
    };
    elements.read(&memory, &mut values, &mut Heap::new())?;
    let mut rest = &values[..];
    for run in places.runs(&linear)? {
        let (now, later) = rest.split_at(run.len as usize * element_bytes);
        let at = run.offset as usize * element_bytes;
        into[at..at + now.len()].copy_from_slice(now);
        rest = later;
    }
    Ok(())
}
