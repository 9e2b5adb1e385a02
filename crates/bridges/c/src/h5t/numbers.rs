//! Signs of integers, and the fields of floats.

use std::ffi::c_int;

use hyperslab::vol::model::datatype::{Datatype, Float, Normalization};

use super::atomic::pad_from;
use super::{cannot_init, change_innermost, innermost, view, wrong_class};
use crate::api;
use crate::arguments::Out;
use crate::codes::Major;
use crate::failure::{Failure, Fallible};
use crate::ffi::{herr_t, hid_t};
use crate::handles;

fn float(id: hid_t) -> Fallible<Float> {
    match innermost(&*view(id)?) {
        Datatype::Float(float) => Ok(float),
        _ => Err(wrong_class().as_major(Major::DATATYPE)),
    }
}

fn change_float(id: hid_t, change: impl FnOnce(&mut Float) -> Fallible<()>) -> Fallible<()> {
    handles::datatype(id)?.change(|datatype| {
        change_innermost(datatype, |inner| match inner {
            Datatype::Float(float) => change(float),
            _ => Err(wrong_class().as_major(Major::DATATYPE)),
        })
    })
}

/// Positions and sizes of the fields of a float, in bits.
struct Fields {
    sign: usize,
    exponent: usize,
    exponent_bits: usize,
    mantissa: usize,
    mantissa_bits: usize,
}

impl Fields {
    fn check(&self, precision: usize) -> Fallible<()> {
        let is_inside = |start: usize, len: usize| start.checked_add(len).is_some_and(|end| end <= precision);
        let within = |x: usize, start: usize, len: usize| x >= start && x - start < len;
        let problem = if !is_inside(self.exponent, self.exponent_bits) {
            "exponent bit field size/location is invalid"
        } else if !is_inside(self.mantissa, self.mantissa_bits) {
            "mantissa bit field size/location is invalid"
        } else if self.sign >= precision {
            "sign location is not valid"
        } else if within(self.sign, self.exponent, self.exponent_bits) {
            "sign bit appears within exponent field"
        } else if within(self.sign, self.mantissa, self.mantissa_bits) {
            "sign bit appears within mantissa field"
        } else if within(self.exponent, self.mantissa, self.mantissa_bits)
            || within(self.mantissa, self.exponent, self.exponent_bits)
        {
            "exponent and mantissa fields overlap"
        } else {
            return Ok(());
        };
        Err(Failure::argument(problem))
    }
}

/// Returns a bit position that the format can store.
fn position(bits: usize) -> Fallible<u8> {
    u8::try_from(bits).map_err(|_| Failure::argument("field of a float out of range"))
}

fn norm_code(normalization: Normalization) -> c_int {
    match normalization {
        Normalization::Implied => 0,
        Normalization::MsbSet => 1,
        Normalization::None => 2,
    }
}

fn norm_from(code: c_int) -> Fallible<Normalization> {
    match code {
        0 => Ok(Normalization::Implied),
        1 => Ok(Normalization::MsbSet),
        2 => Ok(Normalization::None),
        _ => Err(Failure::argument("illegal normalization")),
    }
}

api! { DATATYPE:
    /// Returns whether an integer has a sign.
    fn H5Tget_sign(id: hid_t) -> c_int {
        match innermost(&*view(id)?) {
            Datatype::Integer(t) => Ok(c_int::from(t.signed)),
            _ => Err(cannot_init("operation not defined for datatype class")),
        }
    }

    /// Sets whether an integer has a sign.
    fn H5Tset_sign(id: hid_t, sign: c_int) -> herr_t {
        if !(0..=1).contains(&sign) {
            return Err(Failure::argument("illegal sign type"));
        }
        handles::datatype(id)?.change(|datatype| change_innermost(datatype, |inner| match inner {
            Datatype::Integer(t) => {
                t.signed = sign == 1;
                Ok(())
            }
            _ => Err(cannot_init("operation not defined for datatype class")),
        }))
    }

    /// Returns the positions and sizes of the fields of a float.
    fn H5Tget_fields(
        id: hid_t, spos: Out<usize>, epos: Out<usize>, esize: Out<usize>, mpos: Out<usize>, msize: Out<usize>,
    ) -> herr_t {
        let float = float(id)?;
        spos.put(float.sign_position.into());
        epos.put(float.exponent_position.into());
        esize.put(float.exponent_bits.into());
        mpos.put(float.mantissa_position.into());
        msize.put(float.mantissa_bits.into());
        Ok(())
    }

    /// Sets the positions and sizes of the fields of a float.
    fn H5Tset_fields(id: hid_t, spos: usize, epos: usize, esize: usize, mpos: usize, msize: usize) -> herr_t {
        let fields = Fields { sign: spos, exponent: epos, exponent_bits: esize, mantissa: mpos, mantissa_bits: msize };
        change_float(id, |float| {
            fields.check(float.bits.precision.into())?;
            float.sign_position = position(spos)?;
            (float.exponent_position, float.exponent_bits) = (position(epos)?, position(esize)?);
            (float.mantissa_position, float.mantissa_bits) = (position(mpos)?, position(msize)?);
            Ok(())
        })
    }

    /// Returns the exponent bias of a float.
    fn H5Tget_ebias(id: hid_t) -> usize {
        Ok(float(id)?.exponent_bias as usize)
    }

    /// Sets the exponent bias of a float.
    fn H5Tset_ebias(id: hid_t, bias: usize) -> herr_t {
        let bias = u32::try_from(bias).map_err(|_| Failure::argument("exponent bias out of range"))?;
        change_float(id, |float| {
            float.exponent_bias = bias;
            Ok(())
        })
    }

    /// Returns how the mantissa of a float is normalized.
    fn H5Tget_norm(id: hid_t) -> c_int {
        Ok(norm_code(float(id)?.normalization))
    }

    /// Sets how the mantissa of a float is normalized.
    fn H5Tset_norm(id: hid_t, code: c_int) -> herr_t {
        let normalization = norm_from(code)?;
        change_float(id, |float| {
            float.normalization = normalization;
            Ok(())
        })
    }

    /// Returns the padding between the fields of a float.
    fn H5Tget_inpad(id: hid_t) -> c_int {
        Ok(float(id)?.internal_pad as c_int)
    }

    /// Sets the padding between the fields of a float.
    fn H5Tset_inpad(id: hid_t, code: c_int) -> herr_t {
        let pad = pad_from(code)?;
        change_float(id, |float| {
            float.internal_pad = pad;
            Ok(())
        })
    }
}
