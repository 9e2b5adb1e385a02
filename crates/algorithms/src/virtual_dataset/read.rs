//! Reading through the mappings.

use std::collections::{BTreeMap, BTreeSet};

use model::convert::Conversions;
use model::heap::Heap;
use model::selection::Points;
use model::{Datatype, Error, Result, Selection};
use vol::{Container, DatasetInfo, OpRead};

use super::mapping::{DefiniteMapping, SharedElements, definite, shared};
use super::source::{Source, Sources};
use super::{VirtualDataset, nested};
use crate::transfer::Elements;

impl VirtualDataset<'_> {
    /// Reads the selected elements into a buffer that holds the fill value. Elements without a source keep it.
    ///
    /// # Errors
    /// Returns `Error::Unsupported` for variable-length values and references of other containers, and the errors of
    /// opening and reading sources.
    pub fn read(&self, sources: &dyn Sources, selection: &Selection, into: &mut [u8]) -> Result<()> {
        match selection {
            Selection::Points(points) => self.read_points(sources, points, into),
            _ => nested(|| self.read_ordered(sources, selection, into)),
        }
    }

    fn read_points(&self, sources: &dyn Sources, points: &Points, into: &mut [u8]) -> Result<()> {
        let (ordered, positions) = in_order(points)?;
        let bytes = self.element_bytes();
        // The buffer holds the fill value everywhere: any element of it will do.
        let fill = into.get(..bytes).unwrap_or_default().to_vec();
        let mut values = fill.repeat(ordered.element_count(self.dims())? as usize);
        nested(|| self.read_ordered(sources, &ordered, &mut values))?;
        for (element, position) in into.chunks_exact_mut(bytes.max(1)).zip(positions) {
            element.copy_from_slice(&values[position * bytes..(position + 1) * bytes]);
        }
        Ok(())
    }

    /// Reads a selection whose elements come in C order.
    fn read_ordered(&self, sources: &dyn Sources, selection: &Selection, into: &mut [u8]) -> Result<()> {
        let selected = (into.len() / self.element_bytes().max(1)) as u64;
        for mapping in self.mappings {
            // Whether anything is wanted of a mapping comes first: its source may be costly to open, but says where a target
            // without an end stops.
            let positions = match mapping.target.is_unlimited() {
                true => None,
                false => Some(self.positions(&mapping.target, selection, selected)?),
            };
            if positions.as_ref().is_some_and(|found| found.count == 0) {
                continue;
            }
            for mapping in definite(sources, (mapping, self.view), self.dims())? {
                if let Some(found) = shared(self, &mapping, (selection, selected), positions.clone())? {
                    self.read_mapping(sources, &mapping, &found, into)?;
                }
            }
        }
        Ok(())
    }

    fn read_mapping(
        &self,
        sources: &dyn Sources,
        mapping: &DefiniteMapping<'_>,
        found: &SharedElements,
        into: &mut [u8],
    ) -> Result<()> {
        let bytes = self.element_bytes();
        let linear = [(into.len() / bytes.max(1)) as u64];
        let mut values = vec![0; found.positions.count as usize * bytes];
        self.read_source(sources, &mapping.source, &found.wanted, &mut values)?;
        let mut rest = &values[..];
        for run in found.positions.selection.runs(&linear)? {
            let (now, later) = rest.split_at(run.len as usize * bytes);
            let at = run.offset as usize * bytes;
            into[at..at + now.len()].copy_from_slice(now);
            rest = later;
        }
        Ok(())
    }

    fn read_source(
        &self,
        sources: &dyn Sources,
        source: &Source<'_>,
        selection: &Selection,
        into: &mut [u8],
    ) -> Result<()> {
        if is_same(self.datatype, &source.info, source.container.is_own())? {
            return source.container.get().dataset_read(&mut [OpRead {
                dataset: source.token,
                selection,
                into,
            }]);
        }
        elements(source.container.get(), source.token, &source.info, selection, sources.conversions()).read(
            self.datatype,
            into,
            &mut Heap::new(),
        )
    }
}

/// Returns whether elements go over as they are.
///
/// # Errors
/// Returns `Error::Unsupported` if they would have to be converted but hold heap IDs or references, which mean something in
/// their own container only.
pub(super) fn is_same(datatype: &Datatype, source: &DatasetInfo, is_own: bool) -> Result<bool> {
    let has_descriptors = datatype.has_descriptors() || source.datatype.has_descriptors();
    if source.datatype == *datatype && (is_own || !has_descriptors) {
        return Ok(true);
    }
    match has_descriptors {
        true => Err(Error::unsupported("use virtual dataset")
            .with("problem", "variable-length values or references of another dataset")),
        false => Ok(false),
    }
}

pub(super) fn elements<'a>(
    container: &'a dyn Container,
    dataset: model::Token,
    info: &'a DatasetInfo,
    selection: &'a Selection,
    conversions: &'a Conversions,
) -> Elements<'a> {
    let (file_type, space, transfer) = (&info.datatype, &info.space, vol::Transfer::Independent);
    Elements { container, dataset, file_type, space, selection, conversions, transfer }
}

/// Returns points in C order, each once, and for each given point its position among them: mappings know no other order.
pub(super) fn in_order(points: &Points) -> Result<(Selection, Vec<usize>)> {
    let unique: BTreeSet<&[u64]> = points.iter().collect();
    let position: BTreeMap<&[u64], usize> = unique.iter().copied().zip(0..).collect();
    let positions = points.iter().filter_map(|point| position.get(point).copied()).collect();
    let coordinates: Vec<u64> = unique.iter().copied().flatten().copied().collect();
    Ok((Selection::points(points.rank(), coordinates)?, positions))
}
