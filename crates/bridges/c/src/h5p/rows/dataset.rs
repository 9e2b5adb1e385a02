//! Properties of dataset creation lists.

use std::sync::Arc;

use hyperslab::vol::model::bytes::{Cursor, Put};
use hyperslab::vol::model::properties::{AllocTime, FillTime, Layout};
use hyperslab::vol::model::selection::{SelectionVersion, decode_space, encode_space};
use hyperslab::vol::model::{Dataspace, Limits, Result, Within, encode, text};

use super::{Form, Row, absent, custom, number, other, put_sized, take_sized};
use crate::h5p::fill;
use crate::h5p::list_values::ListValues;
use crate::h5p::values::{DatasetCreateValues, FillChoice, LayoutChoice, VirtualMappingChoice};
use crate::handles::Space;

const VIRTUAL: u8 = 3;

pub(super) const DATASET: &[Row] = &[
    other("layout", 2584, put_layout, take_layout),
    other("efl", 32, put_files, take_files),
    number!("dset_oh_minimize", 1, Byte, v => v.dataset()?.no_attributes_hint),
    custom("alloc_time_state", 4, Form::Unsigned, |values, new| {
        let dataset = values.dataset()?;
        if new.is_some_and(|state| state != 0) {
            dataset.alloc_time = AllocTime::Default;
        }
        Some(u64::from(dataset.alloc_time == AllocTime::Default))
    }),
    other("fill_value", 88, put_fill, take_fill),
];

fn dataset(values: &mut ListValues) -> Result<&mut DatasetCreateValues> {
    values.dataset().ok_or_else(absent)
}

fn put_layout(values: &mut ListValues) -> Result<Vec<u8>> {
    let dataset = dataset(values)?;
    let layout = match &dataset.layout {
        LayoutChoice::Compact => Layout::Compact,
        LayoutChoice::Contiguous => Layout::Contiguous,
        LayoutChoice::Chunked { shape, .. } => Layout::chunked(shape),
        LayoutChoice::Virtual => return put_mappings(&dataset.virtual_mappings),
    };
    encode::layout(&layout, &Dataspace::Scalar)
}

fn put_mappings(mappings: &[VirtualMappingChoice]) -> Result<Vec<u8>> {
    let mut out = vec![VIRTUAL];
    out.put_uint(mappings.len() as u64, 8);
    for mapping in mappings {
        for name in [&mapping.file, &mapping.dataset] {
            out.extend(text::to_bytes(name));
            out.push(0);
        }
        for space in [&mapping.source, &mapping.target] {
            out.extend(encode_space(&space.extent, &space.selection, SelectionVersion::V18)?);
        }
    }
    Ok(out)
}

fn take_layout(values: &mut ListValues, cursor: &mut Cursor<'_>) -> Result<()> {
    let limits = Limits::default();
    let dataset = dataset(values)?;
    if cursor.rest().first() == Some(&VIRTUAL) {
        cursor.skip(1)?;
        dataset.virtual_mappings = take_mappings(cursor, &limits)?;
        dataset.layout = LayoutChoice::Virtual;
        return Ok(());
    }
    dataset.layout = match encode::decode_layout(cursor, &limits)? {
        Layout::Compact => LayoutChoice::Compact,
        Layout::Chunked { shape, .. } => LayoutChoice::Chunked { shape, options: 0, index: None },
        _ => LayoutChoice::Contiguous,
    };
    Ok(())
}

fn take_mappings(cursor: &mut Cursor<'_>, limits: &Limits) -> Result<Vec<VirtualMappingChoice>> {
    let count = cursor.u64()?.within(limits.entries_max, "virtual mappings")?;
    let mut mappings = Vec::new();
    for _ in 0..count {
        let file = text::from_bytes(cursor.until_nul()?);
        let dataset = text::from_bytes(cursor.until_nul()?);
        let (source, target) = (take_space(cursor, limits)?, take_space(cursor, limits)?);
        mappings.push(VirtualMappingChoice { file, dataset, source, target });
    }
    Ok(mappings)
}

fn take_space(cursor: &mut Cursor<'_>, limits: &Limits) -> Result<Space> {
    let (extent, selection, used) = decode_space(cursor.rest(), limits)?;
    cursor.skip(used)?;
    Ok(Space { extent, selection, offset: Vec::new() })
}

fn put_files(values: &mut ListValues) -> Result<Vec<u8>> {
    Ok(encode::external_files(&dataset(values)?.external))
}

fn take_files(values: &mut ListValues, cursor: &mut Cursor<'_>) -> Result<()> {
    dataset(values)?.external = encode::decode_external_files(cursor, &Limits::default())?;
    Ok(())
}

/// Returns the number of an allocation time; that of the layout where none was chosen.
pub(crate) fn alloc_number(dataset: &DatasetCreateValues) -> u8 {
    match dataset.alloc_time {
        AllocTime::Early => 1,
        AllocTime::Late => 2,
        AllocTime::Incremental => 3,
        AllocTime::Default => match dataset.layout {
            LayoutChoice::Compact => 1,
            LayoutChoice::Contiguous => 2,
            LayoutChoice::Chunked { .. } | LayoutChoice::Virtual => 3,
        },
    }
}

/// Returns the number of a fill time in `H5D_fill_time_t`.
pub(crate) fn fill_number(time: FillTime) -> u8 {
    match time {
        FillTime::Alloc => 0,
        FillTime::Never => 1,
        FillTime::IfSet => 2,
    }
}

fn put_fill(values: &mut ListValues) -> Result<Vec<u8>> {
    let dataset = dataset(values)?;
    let mut out = vec![alloc_number(dataset), fill_number(dataset.fill_time)];
    match &dataset.fill {
        FillChoice::Undefined => out.put_uint(u64::MAX, 8),
        FillChoice::Default => out.put_uint(0, 8),
        FillChoice::Value(element) => {
            out.put_uint(element.bytes.len() as u64, 8);
            out.extend(&element.bytes);
            let datatype = encode::datatype(&element.datatype)?;
            put_sized(&mut out, datatype.len() as u64);
            out.extend(datatype);
        }
    }
    Ok(out)
}

fn take_fill(values: &mut ListValues, cursor: &mut Cursor<'_>) -> Result<()> {
    let limits = Limits::default();
    let dataset = dataset(values)?;
    dataset.alloc_time = match cursor.u8()? {
        0 => AllocTime::Default,
        1 => AllocTime::Early,
        2 => AllocTime::Late,
        3 => AllocTime::Incremental,
        other => return Err(cursor.corrupt(format!("allocation time {other}"))),
    };
    dataset.fill_time = match cursor.u8()? {
        0 => FillTime::Alloc,
        1 => FillTime::Never,
        2 => FillTime::IfSet,
        other => return Err(cursor.corrupt(format!("fill time {other}"))),
    };
    dataset.fill = match cursor.u64()? {
        u64::MAX => FillChoice::Undefined,
        0 => FillChoice::Default,
        bytes => {
            let bytes = cursor.take(bytes.within(limits.element_bytes_max, "fill value")?)?.to_vec();
            let len = take_sized(cursor)?.within(limits.metadata_bytes_max, "datatype")?;
            let datatype = encode::decode_datatype(cursor.take(len)?, &limits)?;
            FillChoice::Value(Arc::new(fill::element(datatype, bytes)))
        }
    };
    Ok(())
}
