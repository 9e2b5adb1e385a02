//! Differences of datasets, read in parts of bounded size.

use hyperslab::vol::DatasetInfo;
use hyperslab::vol::algorithms::stored::run_blocks;
use hyperslab::vol::algorithms::transfer::Elements;
use hyperslab::vol::model::convert::Conversions;
use hyperslab::vol::model::properties::Layout;
use hyperslab::vol::model::{Datatype, Heap};
use hyperslab::{Error, Result, Selection};

use super::comparable::{self, Shape};
use super::datum::{Buffer, Values};
use super::native;
use super::report::Report;
use super::table::Table;
use crate::h5::holes;
use crate::h5::ls::source::ObjectAt;
use crate::h5::subset::{Hyperslab, Subset};
use crate::total::Total;

/// Bytes of elements that are held at a time, of each dataset.
const STRIP_BYTES: u64 = 8 << 20;

/// Bytes of parts that are not of the same shape, which are read whole.
const PART_BYTES_MAX: u64 = 256 << 20;

/// Two datasets.
pub(crate) struct Pair<'a> {
    pub(crate) places: [&'a ObjectAt; 2],
    pub(crate) names: [&'a str; 2],
    /// References that were followed to come here.
    pub(crate) depth: u32,
}

impl Pair<'_> {
    /// Compares them; returns how many differences there are.
    pub(crate) fn compare(&self, report: &mut Report<'_>, subsets: [Option<&Subset>; 2]) -> Result<u64> {
        let infos = [self.info(0)?, self.info(1)?];
        let shapes = [0, 1].map(|side: usize| Shape {
            name: self.names[side],
            datatype: &infos[side].datatype,
            space: &infos[side].space,
        });
        let stored = self.have_elements(report, [&infos[0], &infos[1]])?;
        // All reasons are reported, also where one would do.
        let comparable = comparable::check(report, shapes) && stored;
        if !comparable || !comparable::same_sign(report, shapes) {
            return Ok(0);
        }
        self.elements(report, [&infos[0], &infos[1]], subsets)
    }

    fn info(&self, side: usize) -> Result<std::sync::Arc<DatasetInfo>> {
        self.places[side].container().dataset_info(self.places[side].token)
    }

    fn have_elements(&self, report: &mut Report<'_>, infos: [&DatasetInfo; 2]) -> Result<bool> {
        let bytes = |place: &ObjectAt| Ok::<_, Error>(place.container().dataset_storage(place.token)?.bytes);
        if bytes(self.places[0])? > 0 && bytes(self.places[1])? > 0 {
            return Ok(true);
        }
        let [first, second] = self.names;
        if infos.iter().any(|info| matches!(info.create.layout, Layout::Virtual(_))) {
            if report.options.shows_incomparable() {
                report.say(&format!("Warning: <{first}> or <{second}> is a virtual dataset\n"));
            }
            return Ok(true);
        }
        report.cannot_compare(&format!("Not comparable: <{first}> or <{second}> is an empty dataset\n"));
        Ok(false)
    }

    fn elements(
        &self,
        report: &mut Report<'_>,
        infos: [&DatasetInfo; 2],
        subsets: [Option<&Subset>; 2],
    ) -> Result<u64> {
        let memory = memory_types(infos);
        let dims = infos[0].space.dims();
        let parts = [part(subsets[0], infos[0])?, part(subsets[1], infos[1])?];
        let selections = [selection(parts[0].as_ref(), infos[0])?, selection(parts[1].as_ref(), infos[1])?];
        let names = self.names.map(basename);
        let limit = report.options.count_max.unwrap_or(u64::MAX);
        let table = Table { names, dims, part: parts[0].as_ref(), first: 0, headed: false };
        let mut values = Values { report, table, places: self.places, depth: self.depth };
        let smaller = usize::from(memory[1].size() < memory[0].size());
        let mut found = 0;
        for (strips, times, first) in self.strips(&selections, infos, &memory)? {
            values.table.first = first.unwrap_or(values.table.first);
            let sides = [
                self.read(0, infos[0], &strips[0], &memory[0])?,
                self.read(1, infos[1], &strips[1], &memory[1])?,
            ];
            values.report.progress.advance(Total { objects: 0, bytes: sides[0].0.len() as u64 });
            let size = memory[smaller].size() as usize;
            // h5diff steps through arrays of different sizes by the smaller one, in both.
            let len = sides[smaller].0.len();
            let [a, b] = [0, 1].map(|i: usize| Buffer { bytes: &sides[i].0[..len], heap: &sides[i].1 });
            // All elements of a hole are alike.
            found += values.compare(&memory[smaller], a, b)?.saturating_mul(times);
            values.table.first += (len / size.max(1)) as u64;
            if found >= limit {
                break;
            }
        }
        Ok(found)
    }

    /// What is compared at a time, for how many elements each stands, and where it starts. Where both are far larger than what
    /// is stored, holes of both are compared once.
    fn strips(
        &self,
        selections: &[Selection; 2],
        infos: [&DatasetInfo; 2],
        memory: &[Datatype; 2],
    ) -> Result<Counted> {
        let stored = |side: usize| {
            let (place, info) = (self.places[side], infos[side]);
            holes::stored(place.container(), place.token, info)
        };
        let is_whole = selections.iter().all(|selection| *selection == Selection::All);
        let both = if is_whole && infos[0].space == infos[1].space {
            (stored(0)?, stored(1)?)
        } else {
            (None, None)
        };
        let (Some(first), Some(second)) = both else {
            let strips = strip_pairs(selections, infos, memory)?;
            return Ok(Box::new(strips.map(|strip| (strip, 1, None))));
        };
        let (stored, dims) = (first.united(&second)?, infos[0].space.dims().to_vec());
        let size = u64::from(memory[0].size().max(memory[1].size())).max(1);
        let holes: Vec<(u64, u64)> = stored.holes().collect();
        let holes = holes
            .into_iter()
            .flat_map(move |(start, len)| run_blocks((start, 1), &dims, 1).map(move |block| (block, len)));
        let blocks = stored.blocks_of((STRIP_BYTES / size).max(1)).map(|block| (block, 1)).chain(holes);
        Ok(Box::new(blocks.filter_map(|(block, times)| {
            let strip = block.selection().ok()?;
            Some(([strip.clone(), strip], times, Some(block.first)))
        })))
    }

    fn read(
        &self,
        side: usize,
        info: &DatasetInfo,
        selection: &Selection,
        memory: &Datatype,
    ) -> Result<(Vec<u8>, Heap)> {
        let conversions = Conversions::default();
        let elements = Elements {
            container: self.places[side].container(),
            dataset: self.places[side].token,
            file_type: &info.datatype,
            space: &info.space,
            selection,
            conversions: &conversions,
            transfer: hyperslab::Transfer::Independent,
        };
        let bytes = elements.count()?.checked_mul(memory.size().into()).and_then(|n| usize::try_from(n).ok());
        let bytes = bytes.ok_or_else(|| Error::limit("read elements"))?;
        let (mut buffer, mut heap) = (vec![0; bytes], Heap::new());
        elements.read(memory, &mut buffer, &mut heap)?;
        Ok((buffer, heap))
    }
}

/// Returns the types in which elements are read. Arrays keep their own sizes.
fn memory_types(infos: [&DatasetInfo; 2]) -> [Datatype; 2] {
    match infos[0].datatype {
        Datatype::Array(_) => infos.map(|info| native::native(&info.datatype)),
        _ => native::common(&infos[0].datatype, &infos[1].datatype),
    }
}

/// Returns the part that the user named. Numbers beyond the rank are not looked at.
fn part(subset: Option<&Subset>, info: &DatasetInfo) -> Result<Option<Hyperslab>> {
    let rank = info.space.rank();
    let cut = |list: &Option<Vec<u64>>| list.as_ref().map(|list| list[..list.len().min(rank)].to_vec());
    let whole = |s: &Subset| Subset {
        start: cut(&s.start),
        stride: cut(&s.stride),
        count: cut(&s.count),
        block: cut(&s.block),
    };
    subset.map(|subset| whole(subset).resolve(rank)).transpose()
}

fn selection(part: Option<&Hyperslab>, info: &DatasetInfo) -> Result<Selection> {
    let Some(part) = part else { return Ok(Selection::All) };
    let selection = Selection::hyperslab(&part.start, &part.stride, &part.count, &part.block)?;
    selection.validate(info.space.dims())?;
    Ok(selection)
}

type Strip = [Selection; 2];
type Strips = Box<dyn Iterator<Item = Strip>>;
/// Strips with the number of elements that each of theirs stands for, and where they start.
type Counted = Box<dyn Iterator<Item = (Strip, u64, Option<u64>)>>;

/// Returns the pieces of both selections with as many elements each.
fn strip_pairs(
    selections: &[Selection; 2],
    infos: [&DatasetInfo; 2],
    memory: &[Datatype; 2],
) -> Result<Strips> {
    let element_bytes = memory.iter().zip(infos).map(|(m, info)| m.size().max(info.datatype.size())).max();
    let element_bytes = u64::from(element_bytes.unwrap_or(1)).max(1);
    let dims = infos[0].space.dims();
    if selections[0] == selections[1] {
        let strips = selections[0].strips(dims, (STRIP_BYTES / element_bytes).max(1))?;
        return Ok(Box::new(strips.map(|strip| [strip.clone(), strip])));
    }
    let counts = [selections[0].element_count(dims)?, selections[1].element_count(dims)?];
    let bytes = counts[0].max(counts[1]).saturating_mul(element_bytes);
    if counts[0] != counts[1] || bytes > PART_BYTES_MAX {
        let error = Error::invalid("compare parts of different shapes").with("first", counts[0]);
        return Err(error.with("second", counts[1]).with("limit", PART_BYTES_MAX / element_bytes));
    }
    Ok(Box::new(std::iter::once(selections.clone())))
}

/// Returns the last part of a path.
pub(crate) fn basename(path: &str) -> &str {
    let trimmed = path.trim_end_matches('/');
    let start = trimmed.rfind('/').map_or(0, |at| at + 1);
    &path[start..]
}
