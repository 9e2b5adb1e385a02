//! The map of a virtual dataset, versions 0 and 1 (format spec III.E, "Virtual Dataset").

use std::collections::HashMap;

use model::properties::VirtualMapping;
use model::{Result, text};
// Selections have versions of their own, which the same library bound chooses.
use model::selection::SelectionVersion;

use super::super::Sizes;
use super::Encoder;

const FILE_SHARED: u8 = 1;
const DATASET_SHARED: u8 = 2;
const SAME_FILE: u8 = 4;

/// Returns the heap object in version 0 or 1.
pub(crate) fn encode(
    mappings: &[VirtualMapping],
    version: u8,
    selections: SelectionVersion,
    sizes: Sizes,
) -> Result<Vec<u8>> {
    let mut e = Encoder::new("virtual dataset map", sizes);
    e.require(version <= 1, "version").u8(version).length(mappings.len() as u64);
    let mut names = Names::default();
    for (i, mapping) in mappings.iter().enumerate() {
        match version {
            0 => {
                e.nul_text(&mapping.file).nul_text(&mapping.dataset);
            }
            _ => names.encode(&mut e, mapping, i as u64),
        }
        e.raw(&mapping.source.encode(selections)?).raw(&mapping.target.encode(selections)?);
    }
    e.checksum().finish()
}

/// Returns the heap object as HDF5 2.0 writes it: version 1, unless version 0 is smaller.
pub(crate) fn encode_smallest(
    mappings: &[VirtualMapping],
    selections: SelectionVersion,
    sizes: Sizes,
) -> Result<Vec<u8>> {
    let old = encode(mappings, 0, selections, sizes)?;
    let new = encode(mappings, 1, selections, sizes)?;
    Ok(if new.len() <= old.len() { new } else { old })
}

/// Names seen so far, and the mapping that stored each.
#[derive(Debug, Default)]
struct Names<'a> {
    files: HashMap<&'a str, u64>,
    datasets: HashMap<&'a str, u64>,
}

impl<'a> Names<'a> {
    fn encode(&mut self, e: &mut Encoder, mapping: &'a VirtualMapping, number: u64) {
        let same_file = mapping.file == ".";
        let file = if same_file { None } else { earlier(&mut self.files, &mapping.file, number, e) };
        let dataset = earlier(&mut self.datasets, &mapping.dataset, number, e);
        let mut flags = if same_file { SAME_FILE } else { 0 };
        flags |= if file.is_some() { FILE_SHARED } else { 0 };
        flags |= if dataset.is_some() { DATASET_SHARED } else { 0 };
        e.u8(flags);
        if !same_file {
            name(e, file, &mapping.file);
        }
        name(e, dataset, &mapping.dataset);
    }
}

/// Returns the mapping that stored `name`, where pointing to it is not longer than the name.
fn earlier<'a>(seen: &mut HashMap<&'a str, u64>, name: &'a str, number: u64, e: &Encoder) -> Option<u64> {
    if text::to_bytes(name).len() + 1 < e.sizes.length {
        return None;
    }
    let first = *seen.entry(name).or_insert(number);
    (first < number).then_some(first)
}

fn name(e: &mut Encoder, earlier: Option<u64>, name: &str) {
    match earlier {
        Some(number) => e.length(number),
        None => e.nul_text(name),
    };
}
