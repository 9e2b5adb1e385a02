//! Floating-point numbers: the shortest text that reads back as the same bits.

use model::convert::{Conversions, Plan};
use model::datatype::Float;
use model::{ByteOrder, Datatype, Heap, Result};

use super::{raw_from_json, raw_to_json, unfit};
use crate::text::Value;

/// How the bits of an element are a float.
#[derive(Debug)]
pub(super) enum Real {
    F32(ByteOrder),
    F64(ByteOrder),
    /// Another shape, by way of a double where that is exact.
    Other {
        bytes: usize,
        to_double: Box<Plan>,
        from_double: Box<Plan>,
    },
    /// One that does not convert.
    Raw(usize),
}

impl Real {
    pub(super) fn of(float: &Float) -> Real {
        let bytes = float.bits.size as usize;
        match (float.is_ieee(), bytes) {
            (true, 4) => Real::F32(float.bits.order),
            (true, 8) => Real::F64(float.bits.order),
            _ => Self::other(float, bytes).unwrap_or(Real::Raw(bytes)),
        }
    }

    fn other(float: &Float, bytes: usize) -> Result<Real> {
        let (own, double) = (Datatype::Float(*float), Datatype::ieee_f64(ByteOrder::Little));
        let conversions = Conversions::default();
        let to_double = Box::new(Plan::compile(&own, &double, &conversions)?);
        let from_double = Box::new(Plan::compile(&double, &own, &conversions)?);
        Ok(Real::Other { bytes, to_double, from_double })
    }

    pub(super) fn show(&self, bytes: &[u8]) -> Value<'static> {
        let exact = match self {
            Real::F32(order) => load(bytes, *order).map(f32::from_le_bytes).and_then(single_text),
            Real::F64(order) => load(bytes, *order).map(f64::from_le_bytes).and_then(double_text),
            Real::Other { to_double, .. } => {
                let mut double = [0; 8];
                let done = to_double.run(bytes, &mut double, 1, &mut Heap::new());
                done.ok().and_then(|()| double_text(f64::from_le_bytes(double)))
            }
            Real::Raw(_) => None,
        };
        match exact {
            Some(value) if self.parse(&value).is_ok_and(|back| back == bytes) => value,
            _ => raw_to_json(bytes),
        }
    }

    fn bytes(&self) -> usize {
        match self {
            Real::F32(_) => 4,
            Real::F64(_) => 8,
            Real::Other { bytes, .. } | Real::Raw(bytes) => *bytes,
        }
    }

    pub(super) fn parse(&self, value: &Value<'_>) -> Result<Vec<u8>> {
        if let Some(bytes) = raw_from_json(value, self.bytes())? {
            return Ok(bytes);
        }
        let text = match value {
            Value::Number(text) => text.as_ref(),
            Value::String(text) if matches!(&**text, "NaN" | "Infinity" | "-Infinity") => text.as_ref(),
            other => return Err(unfit("number", other)),
        };
        let wrong = |_| unfit("number", value);
        Ok(match self {
            Real::F32(order) => store(text.parse::<f32>().map_err(wrong)?.to_le_bytes(), *order),
            Real::F64(order) => store(text.parse::<f64>().map_err(wrong)?.to_le_bytes(), *order),
            Real::Other { bytes, from_double, .. } => {
                let double: f64 = text.parse().map_err(wrong)?;
                let mut own = vec![0; *bytes];
                from_double.run(&double.to_le_bytes(), &mut own, 1, &mut Heap::new())?;
                own
            }
            Real::Raw(_) => return Err(unfit("bytes of a float without a JSON form", value)),
        })
    }
}

fn load<const N: usize>(bytes: &[u8], order: ByteOrder) -> Option<[u8; N]> {
    let mut little: [u8; N] = bytes.try_into().ok()?;
    if order == ByteOrder::Big {
        little.reverse();
    }
    Some(little)
}

fn store<const N: usize>(mut little: [u8; N], order: ByteOrder) -> Vec<u8> {
    if order == ByteOrder::Big {
        little.reverse();
    }
    little.to_vec()
}

fn single_text(n: f32) -> Option<Value<'static>> {
    match n.is_finite() {
        true => Some(Value::Number(format!("{n:?}").into())),
        false => special(f64::from(n)),
    }
}

fn double_text(n: f64) -> Option<Value<'static>> {
    match n.is_finite() {
        true => Some(Value::Number(format!("{n:?}").into())),
        false => special(n),
    }
}

fn special(n: f64) -> Option<Value<'static>> {
    Some(
        if n.is_nan() {
            "NaN"
        } else if n > 0.0 {
            "Infinity"
        } else {
            "-Infinity"
        }
        .into(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text;

    fn again(real: &Real, bytes: &[u8]) -> String {
        let value = real.show(bytes);
        assert_eq!(real.parse(&value).unwrap(), bytes, "{value:?}");
        let text = text::write(&value).unwrap();
        assert_eq!(text::read(&text).unwrap(), value);
        text.trim_end().to_owned()
    }

    #[test]
    fn doubles_and_singles_read_back_as_the_same_bits() {
        let single = Real::F32(ByteOrder::Big);
        let double = Real::F64(ByteOrder::Little);
        assert_eq!(again(&single, &0.1f32.to_be_bytes()), "0.1");
        assert_eq!(again(&double, &(-0.0f64).to_le_bytes()), "-0.0");
        assert_eq!(again(&double, &f64::MIN_POSITIVE.to_le_bytes()), "2.2250738585072014e-308");
        assert_eq!(again(&double, &f64::NEG_INFINITY.to_le_bytes()), "\"-Infinity\"");
        assert_eq!(again(&double, &f64::NAN.to_le_bytes()), "\"NaN\"");
        assert_eq!(again(&single, &[0x7F, 0xA0, 0, 1]), "\"0x7fa00001\"");
        let mut seed = 1u64;
        for _ in 0..20_000 {
            seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            again(&double, &seed.to_le_bytes());
            again(&single, &seed.to_le_bytes()[4..]);
        }
    }

    #[test]
    fn every_half_and_bfloat_survives() {
        for float in [Float::ieee(2, ByteOrder::Little, 5, 10), Float::ieee(2, ByteOrder::Big, 8, 7)] {
            let real = Real::of(&float);
            for n in 0..=u16::MAX {
                again(&real, &n.to_le_bytes());
            }
            assert_eq!(again(&Real::of(&Float::ieee(2, ByteOrder::Little, 5, 10)), &[0, 0x3E]), "1.5");
        }
    }
}
