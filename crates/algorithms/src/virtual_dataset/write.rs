//! Writing through the mappings: each element goes to the source that it is mapped to.

use std::borrow::Cow;

use model::heap::Heap;
use model::selection::Run;
use model::{Datatype, Error, Result, Selection};
use vol::OpWrite;

use super::mapping::{definite, shared};
use super::read::{elements, in_order, is_same};
use super::source::{Sources, find};
use super::{VirtualDataset, nested};

/// The elements of a write that go to one source.
struct SourcePart {
    /// File and dataset, as the mapping names them.
    names: (String, String),
    selection: Selection,
    /// Which of the selected elements, in order.
    positions: Vec<Run>,
}

/// Where the elements of a selection go. It holds no container open, so that it can be carried out under other locks than
/// those that it was made under.
pub struct WritePlan {
    datatype: Datatype,
    parts: Vec<SourcePart>,
    /// For points: the position of each among them in C order.
    positions: Option<Vec<usize>>,
}

impl std::fmt::Debug for WritePlan {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("WritePlan").field("parts", &self.parts.len()).finish_non_exhaustive()
    }
}

impl VirtualDataset<'_> {
    /// Finds the source of every selected element.
    ///
    /// # Errors
    /// Returns `Error::Invalid` if an element has no source, as libhdf5 does, and the errors of opening sources.
    pub fn plan_write(&self, sources: &dyn Sources, selection: &Selection) -> Result<WritePlan> {
        let (ordered, positions) = match selection {
            Selection::Points(points) => in_order(points).map(|(ordered, found)| (ordered, Some(found)))?,
            other => (other.clone(), None),
        };
        let selected = ordered.element_count(self.dims())?;
        let mut parts = Vec::new();
        nested(|| {
            for mapping in self.mappings {
                for mapping in definite(sources, (mapping, self.view), self.dims())? {
                    if let Some(found) = shared(self, &mapping, (&ordered, selected), None)? {
                        is_same(self.datatype, &mapping.source.info, mapping.source.container.is_own())?;
                        let positions = found.positions.selection.runs(&[selected])?.collect();
                        let (names, selection) = (mapping.source.names, found.wanted);
                        parts.push(SourcePart { names, selection, positions });
                    }
                }
            }
            Ok(())
        })?;
        match covers(&parts, selected) {
            true => Ok(WritePlan { datatype: self.datatype.clone(), parts, positions }),
            false => {
                Err(Error::invalid("write virtual dataset").with("problem", "some elements have no source"))
            }
        }
    }
}

/// Returns whether the parts have all of the selected elements.
fn covers(parts: &[SourcePart], selected: u64) -> bool {
    let runs = parts.iter().flat_map(|part| &part.positions);
    let mut runs: Vec<(u64, u64)> = runs.map(|run| (run.offset, run.len)).collect();
    runs.sort_unstable();
    let reach = |end: u64, (start, len): &(u64, u64)| if *start <= end { end.max(start + len) } else { end };
    runs.iter().fold(0, reach) == selected
}

impl WritePlan {
    /// Writes all elements of the selection. Every source is opened before the first is changed.
    ///
    /// # Errors
    /// Returns the errors of opening and writing sources; sources before the one that failed are changed.
    pub fn write(&self, sources: &dyn Sources, from: &[u8]) -> Result<()> {
        let from = &*self.in_order(from);
        let open = |part: &SourcePart| sources.container_for_writing(&part.names.0);
        let containers = self.parts.iter().map(open).collect::<Result<Vec<_>>>()?;
        nested(|| {
            for (part, container) in self.parts.iter().zip(&containers) {
                let (token, info) = find(container.get(), &part.names.1, sources.link_traversals_max())?;
                let (selection, from) = (&part.selection, &*self.part_of(part, from));
                if is_same(&self.datatype, &info, container.is_own())? {
                    container.get().dataset_write(&[OpWrite { dataset: token, selection, from }])?;
                    continue;
                }
                let elements = elements(container.get(), token, &info, selection, sources.conversions());
                elements.write(&self.datatype, from, &mut Heap::new())?;
            }
            Ok(())
        })
    }

    /// Returns the elements in C order; of elements for the same point the last one stays.
    fn in_order<'e>(&self, from: &'e [u8]) -> Cow<'e, [u8]> {
        let Some(positions) = &self.positions else { return from.into() };
        let bytes = self.datatype.size() as usize;
        let count = positions.iter().max().map_or(0, |last| last + 1);
        let mut ordered = vec![0; count * bytes];
        for (position, element) in positions.iter().zip(from.chunks_exact(bytes.max(1))) {
            ordered[position * bytes..(position + 1) * bytes].copy_from_slice(element);
        }
        ordered.into()
    }

    /// Returns the elements that go to one source.
    fn part_of<'e>(&self, part: &SourcePart, from: &'e [u8]) -> Cow<'e, [u8]> {
        let bytes = self.datatype.size() as usize;
        let range = |run: &Run| run.offset as usize * bytes..(run.offset + run.len) as usize * bytes;
        match &part.positions[..] {
            [run] => from[range(run)].into(),
            runs => runs.iter().flat_map(|run| &from[range(run)]).copied().collect::<Vec<u8>>().into(),
        }
    }
}
