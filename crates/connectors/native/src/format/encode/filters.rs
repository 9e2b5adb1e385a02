//! Filter pipeline message, versions 1 and 2 (format spec IV.A.2.l).

use filters::names::standard_name;
use model::properties::FilterSpec;
use model::{Result, text};

use super::Encoder;

/// Version 1 (before HDF5 1.8) or 2.
pub(crate) fn encode(filters: &[FilterSpec], version: u8) -> Result<Vec<u8>> {
    let mut e = Encoder::plain("filter pipeline");
    e.require(matches!(version, 1 | 2), "version").require(filters.len() <= 32, "more than 32 filters");
    e.u8(version).count(filters.len(), 1);
    if version == 1 {
        e.zeros(6);
    }
    for spec in filters {
        filter(&mut e, spec, version);
    }
    e.finish()
}

fn filter(e: &mut Encoder, spec: &FilterSpec, version: u8) {
    let named = version == 1 || spec.id >= 256;
    let name = if named { name(spec, version) } else { Vec::new() };
    e.u16(spec.id);
    if named {
        e.count(name.len(), 2);
    }
    e.u16(u16::from(spec.optional)).count(spec.values.len(), 2).raw(&name);
    for &value in &spec.values {
        e.u32(value);
    }
    if version == 1 && spec.values.len() % 2 == 1 {
        e.zeros(4);
    }
}

/// Returns the name and its NUL; version 1 pads it to eight bytes. No name is no bytes.
fn name(spec: &FilterSpec, version: u8) -> Vec<u8> {
    let mut name = match &spec.name {
        Some(name) => text::to_bytes(name),
        None => standard_name(spec.id).unwrap_or_default().as_bytes().to_vec(),
    };
    if name.is_empty() {
        return name;
    }
    name.push(0);
    if version == 1 {
        name.resize(name.len().next_multiple_of(8), 0);
    }
    name
}
