//! Writing through virtual datasets: each element goes to the source that it is mapped to.

use std::borrow::Cow;
use std::sync::Arc;

use algorithms::transfer::Elements;
use model::heap::Heap;
use model::properties::Layout;
use model::selection::Run;
use model::{Datatype, Error, Result, Selection};
use vol::Container;

use super::virtual_source::{common, in_order, memory_type, nested, pieces};
use crate::container::NativeContainer;
use crate::file::File;
use crate::object::dataset::Dataset;

/// Elements that go to one source.
struct Part {
    /// File and dataset, as the map calls them.
    names: (String, String),
    selection: Selection,
    /// Which of the selected elements, in order.
    places: Vec<Run>,
}

/// Where the elements of a selection go.
pub(crate) struct Plan {
    memory: Datatype,
    parts: Vec<Part>,
    /// For points: the place of each among them in C order.
    places: Option<Vec<usize>>,
}

/// Finds the source of every selected element. One without a source is an error, as in libhdf5.
pub(crate) fn plan(file: &File, dataset: &Dataset, selection: &Selection) -> Result<Plan> {
    let Layout::Virtual(mappings) = &dataset.info.create.layout else {
        return Err(Error::invalid("write virtual dataset").at(dataset.address.0));
    };
    let (ordered, places) = match selection {
        Selection::Points(points) => in_order(points).map(|(ordered, places)| (ordered, Some(places)))?,
        other => (other.clone(), None),
    };
    let (memory, selected) = (memory_type(dataset)?, ordered.element_count(dataset.dims())?);
    let mut parts = Vec::new();
    nested(|| {
        for mapping in mappings {
            for piece in pieces(file, mapping, dataset.dims())? {
                if let Some(found) = common(dataset, &piece, &ordered, selected)? {
                    let places = found.places.runs(&[selected])?.collect();
                    parts.push(Part { names: piece.source.names, selection: found.wanted, places });
                }
            }
        }
        Ok(())
    })?;
    match covers(&parts, selected) {
        true => Ok(Plan { memory, parts, places }),
        false => {
            Err(Error::invalid("write virtual dataset").with("problem", "elements that no source holds"))
        }
    }
}

fn covers(parts: &[Part], selected: u64) -> bool {
    let mut runs: Vec<(u64, u64)> =
        parts.iter().flat_map(|part| &part.places).map(|run| (run.offset, run.len)).collect();
    runs.sort_unstable();
    let reach = |end: u64, (start, len): &(u64, u64)| if *start <= end { end.max(start + len) } else { end };
    runs.iter().fold(0, reach) == selected
}

impl Plan {
    /// Writes all elements of the selection. The file must not be held: its own datasets may be among the sources.
    pub(crate) fn write(&self, file: &File, from: &[u8]) -> Result<()> {
        let from = &*self.in_order(from);
        let open = |part: &Part| container(file, &part.names.0);
        let containers = self.parts.iter().map(open).collect::<Result<Vec<_>>>()?;
        nested(|| {
            let mut parts = self.parts.iter().zip(&containers);
            parts.try_for_each(|(part, container)| self.write_part(file, part, &**container, from))
        })
    }

    /// The elements in the order of the parts; of elements for the same point the last one stays.
    fn in_order<'e>(&self, from: &'e [u8]) -> Cow<'e, [u8]> {
        let Some(places) = &self.places else { return from.into() };
        let bytes = self.memory.size() as usize;
        let count = places.iter().max().map_or(0, |last| last + 1);
        let mut ordered = vec![0; count * bytes];
        for (place, element) in places.iter().zip(from.chunks_exact(bytes)) {
            ordered[place * bytes..(place + 1) * bytes].copy_from_slice(element);
        }
        ordered.into()
    }

    fn write_part(&self, file: &File, part: &Part, container: &dyn Container, from: &[u8]) -> Result<()> {
        let (root, traversals_max) = (container.info()?.root, file.store.limits.link_traversals_max);
        let dataset = vol::path::token(container, root, &part.names.1, traversals_max)?;
        let info = container.dataset_info(dataset)?;
        let elements = Elements {
            container,
            dataset,
            file_type: &info.datatype,
            space: &info.space,
            selection: &part.selection,
            conversions: &file.conversions,
        };
        let bytes = self.memory.size() as usize;
        let mut values = Vec::new();
        for run in &part.places {
            let start = run.offset as usize * bytes;
            values.extend_from_slice(&from[start..start + run.len as usize * bytes]);
        }
        elements.write(&self.memory, &values, &mut Heap::new())
    }
}

/// The file of a source, open for writing.
fn container(file: &File, name: &str) -> Result<Arc<dyn Container>> {
    match name {
        "." => Ok(one_more(file)?),
        name => file.source_to_change(name),
    }
}

/// One more handle of this file; it counts until it is dropped.
fn one_more(file: &File) -> Result<Arc<NativeContainer>> {
    let again = file.again()?;
    if !file.join() {
        return Err(Error::invalid("write virtual dataset").with("problem", "the file is closed"));
    }
    let made = NativeContainer::new(again);
    if made.is_err() {
        file.leave();
    }
    made
}
