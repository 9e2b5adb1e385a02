//! Dataset creation properties.

use super::list::{Property, class, decode, encode};
use super::{layout, object, put_sized, put_unsigned, sized, unsigned};
use crate::bytes::{Cursor, Put};
use crate::properties::{AllocTime, DatasetCreate, Fill, FillTime, FillValue, Layout};
use crate::{Dataspace, Datatype, Limits, Result, Within};

/// Returns the allocation time of a layout for which none was chosen.
fn alloc_time(create: &DatasetCreate) -> u8 {
    match create.alloc_time {
        AllocTime::Early => 1,
        AllocTime::Late => 2,
        AllocTime::Incremental => 3,
        AllocTime::Default => match create.layout {
            Layout::Compact => 1,
            Layout::Chunked { .. } => 3,
            _ => 2,
        },
    }
}

fn put_fill(alloc_time: u8, fill: &Fill, datatype: &Datatype) -> Result<Vec<u8>> {
    let fill_time = match fill.time {
        FillTime::Alloc => 0,
        FillTime::Never => 1,
        FillTime::IfSet => 2,
    };
    let mut out = vec![alloc_time, fill_time];
    match &fill.value {
        FillValue::Undefined => out.put_uint(u64::MAX, 8),
        FillValue::Default => out.put_uint(0, 8),
        FillValue::Value(value) => {
            out.put_uint(value.len() as u64, 8);
            out.extend(value);
            let datatype = super::datatype(datatype)?;
            put_sized(&mut out, datatype.len() as u64);
            out.extend(datatype);
        }
    }
    Ok(out)
}

fn take_fill(cursor: &mut Cursor<'_>, create: &mut DatasetCreate, limits: &Limits) -> Result<()> {
    create.alloc_time = match cursor.u8()? {
        0 => AllocTime::Default,
        1 => AllocTime::Early,
        2 => AllocTime::Late,
        3 => AllocTime::Incremental,
        other => return Err(cursor.corrupt(format!("allocation time {other}"))),
    };
    create.fill.time = match cursor.u8()? {
        0 => FillTime::Alloc,
        1 => FillTime::Never,
        2 => FillTime::IfSet,
        other => return Err(cursor.corrupt(format!("fill time {other}"))),
    };
    create.fill.value = match cursor.u64()? {
        u64::MAX => FillValue::Undefined,
        0 => FillValue::Default,
        bytes => {
            let value = cursor.take(bytes.within(limits.element_bytes_max, "fill value")?)?.to_vec();
            let datatype_bytes = sized(cursor)?.within(limits.metadata_bytes_max, "datatype")?;
            cursor.skip(datatype_bytes)?;
            FillValue::Value(value)
        }
    };
    Ok(())
}

fn own(create: &DatasetCreate, datatype: &Datatype, space: &Dataspace) -> Result<Vec<Property>> {
    let is_chosen = create.alloc_time != AllocTime::Default;
    let mut state = Vec::new();
    put_unsigned(&mut state, &[u32::from(!is_chosen)]);
    let fill = put_fill(alloc_time(create), &create.fill, datatype)?;
    let fill_default = put_fill(2, &Fill::default(), datatype)?;
    Ok(vec![
        Property::new("layout", layout::layout(&create.layout, space)?, &[1]),
        Property::new("efl", layout::encode_files(&create.layout), &[1, 0]),
        Property::new("dset_oh_minimize", vec![0], &[0]),
        Property::new("alloc_time_state", state, &[4, 1, 0, 0, 0]),
        Property::new("fill_value", fill, &fill_default).or_set(is_chosen),
    ])
}

/// Encodes the creation properties of a dataset, with its type and its extent.
///
/// `H5Pencode` does not say everything: neither the index of chunks, nor whether chunks at the edge stay
/// unfiltered, nor more than 12 bytes of a filter's name.
pub fn dataset_create(create: &DatasetCreate, datatype: &Datatype, space: &Dataspace) -> Result<Vec<u8>> {
    let levels = vec![own(create, datatype, space)?, object::level(&create.object, &create.filters)?];
    Ok(encode(class::DATASET_CREATE, levels))
}

/// Decodes the bytes of [`dataset_create`] or `H5Pencode`.
pub fn decode_dataset_create(bytes: &[u8], limits: &Limits) -> Result<DatasetCreate> {
    let mut create = DatasetCreate::default();
    let (mut is_default_time, mut files) = (true, Vec::new());
    decode(bytes, class::DATASET_CREATE, |name, cursor| {
        match name {
            "layout" => create.layout = layout::decode_layout(cursor, limits)?,
            "efl" => files = layout::decode_external_files(cursor, limits)?,
            "dset_oh_minimize" => cursor.skip(1)?,
            "alloc_time_state" => is_default_time = unsigned(cursor)? != [0],
            "fill_value" => take_fill(cursor, &mut create, limits)?,
            _ => return object::take(name, cursor, &mut create.object, &mut create.filters),
        }
        Ok(())
    })?;
    if is_default_time {
        create.alloc_time = AllocTime::Default;
    }
    if !files.is_empty() {
        create.layout = Layout::External(files);
    }
    Ok(create)
}
