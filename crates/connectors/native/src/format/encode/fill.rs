//! Fill value messages (format spec IV.A.2.e, IV.A.2.f).

use model::Result;
use model::properties::{AllocTime, Fill, FillTime, FillValue};

use super::Encoder;

/// Returns the old message, which holds a user's value or nothing.
pub(crate) fn encode_old(value: &FillValue) -> Result<Vec<u8>> {
    let mut e = Encoder::plain("fill value (old)");
    sized(&mut e, value);
    e.finish()
}

/// Version 2 (before HDF5 1.8) or 3. Libraries never store the default allocation time: say the layout's.
pub(crate) fn encode(fill: &Fill, alloc: AllocTime, version: u8) -> Result<Vec<u8>> {
    let mut e = Encoder::plain("fill value");
    let (alloc, time) = (alloc_code(alloc), fill_code(fill.time));
    match version {
        2 => {
            let defined = fill.value != FillValue::Undefined;
            e.u8(2).u8(alloc).u8(time).u8(u8::from(defined));
            if defined {
                sized(&mut e, &fill.value);
            }
        }
        3 => {
            let state = match fill.value {
                FillValue::Undefined => 0x10,
                FillValue::Default => 0,
                FillValue::Value(_) => 0x20,
            };
            e.u8(3).u8(alloc | time << 2 | state);
            if state == 0x20 {
                sized(&mut e, &fill.value);
            }
        }
        n => {
            e.refuse(format!("version {n}"));
        }
    }
    e.finish()
}

fn sized(e: &mut Encoder, value: &FillValue) {
    match value {
        // The size is read as a signed number.
        FillValue::Value(bytes) => e
            .require(!bytes.is_empty() && i32::try_from(bytes.len()).is_ok(), "size of value")
            .count(bytes.len(), 4)
            .raw(bytes),
        _ => e.u32(0),
    };
}

fn alloc_code(time: AllocTime) -> u8 {
    match time {
        AllocTime::Default => 0,
        AllocTime::Early => 1,
        AllocTime::Late => 2,
        AllocTime::Incremental => 3,
    }
}

fn fill_code(time: FillTime) -> u8 {
    match time {
        FillTime::Alloc => 0,
        FillTime::Never => 1,
        FillTime::IfSet => 2,
    }
}
