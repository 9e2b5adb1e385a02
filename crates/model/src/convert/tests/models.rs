//! Bit layouts of every kind against models that work bit by bit or in exact arithmetic.

use super::half::Half;
use super::soft::Soft;
use super::*;
use crate::ByteOrder::{Big, Little};
use crate::datatype::{BitPad, Bits, Float, Integer, Normalization};
use proptest::prelude::*;

/// An integer layout drawn from a seed: size, order, offset, precision, pads, sign.
fn layout() -> impl Strategy<Value = Integer> {
    (1u32..=16, any::<[bool; 4]>(), any::<u16>(), any::<u16>()).prop_map(
        |(size, [big, low, high, signed], a, b)| {
            let total = (size * 8) as u16;
            let precision = a % total + 1;
            let offset = b % (total - precision + 1);
            let pad = |one| if one { BitPad::One } else { BitPad::Zero };
            let order = if big { Big } else { Little };
            let bits = Bits { size, order, offset, precision, low_pad: pad(low), high_pad: pad(high) };
            Integer { bits, signed }
        },
    )
}

/// The bits of an element, least significant first.
fn bits_of(t: &Bits, element: &[u8]) -> Vec<bool> {
    let byte = |n: usize| if t.order == Big { element[element.len() - 1 - n] } else { element[n] };
    (0..element.len() * 8).map(|n| byte(n / 8) >> (n % 8) & 1 == 1).collect()
}

fn significant<'a>(t: &Bits, bits: &'a [bool]) -> &'a [bool] {
    &bits[usize::from(t.offset)..][..usize::from(t.precision)]
}

/// What the significant bits of the target should be, by reasoning on single bits.
fn expected_bits(from: &Integer, to: &Integer, source: &[bool]) -> Vec<bool> {
    let negative = from.signed && *source.last().unwrap();
    let at = |n: usize| source.get(n).copied().unwrap_or(negative);
    let precision = usize::from(to.bits.precision);
    let value_bits = precision - usize::from(to.signed);
    let fits =
        (value_bits..source.len().max(precision) + 1).all(|n| at(n) == negative) && (to.signed || !negative);
    match (fits, negative) {
        (true, _) => (0..precision).map(at).collect(),
        (false, true) => (0..precision).map(|n| to.signed && n == precision - 1).collect(),
        (false, false) => (0..precision).map(|n| n < value_bits).collect(),
    }
}

proptest! {
    #[test]
    fn integers_of_any_layout_follow_the_bitwise_model(from in layout(), to in layout(), raw in any::<[u8; 16]>(), sparse in any::<bool>()) {
        // Small numbers are rare among random bytes.
        let mut element = raw[..from.bits.size as usize].to_vec();
        if sparse {
            element.iter_mut().for_each(|b| *b = if *b & 1 == 0 { 0 } else { 0xff });
        }
        let output = convert_plain(&Datatype::Integer(from), &Datatype::Integer(to), &element);
        if from != to && bits::other_order(&Datatype::Integer(from)) != Some(Datatype::Integer(to)) {
            let (source, target) = (bits_of(&from.bits, &element), bits_of(&to.bits, &output));
            prop_assert_eq!(significant(&to.bits, &target), expected_bits(&from, &to, significant(&from.bits, &source)));
            let low = usize::from(to.bits.offset);
            prop_assert!(target[..low].iter().all(|&b| b == (to.bits.low_pad == BitPad::One)));
            prop_assert!(target[low + usize::from(to.bits.precision)..].iter().all(|&b| b == (to.bits.high_pad == BitPad::One)));
        }
    }

    #[test]
    fn soft_floats_agree_with_the_machine(raw in any::<u64>(), shift in 0u64..200) {
        // Some of all doubles, more of those near the limits of single precision.
        for double in [f64::from_bits(raw), f64::from_bits(raw % (1 << 60) + ((896 - 100 + shift) << 52))] {
            let single = soft(&Datatype::ieee_f64(Little), &Datatype::ieee_f32(Little), &double.to_le_bytes());
            let expected = double as f32;
            let single = f32::from_le_bytes(single.try_into().unwrap());
            prop_assert!(single.to_bits() == expected.to_bits() || (single.is_nan() && expected.is_nan()), "{double:e}");
            let integer = soft(&Datatype::ieee_f64(Little), &Datatype::native_int(8), &double.to_le_bytes());
            prop_assert_eq!(i64::from_ne_bytes(integer.try_into().unwrap()), double as i64);
            let integer = soft(&Datatype::ieee_f64(Little), &Datatype::native_uint(2), &double.to_le_bytes());
            prop_assert_eq!(u16::from_ne_bytes(integer.try_into().unwrap()), double as u16);
        }
    }

    #[test]
    fn soft_integers_to_floats_agree_with_the_machine(raw in any::<i64>(), shift in 0u32..64) {
        let n = raw >> shift;
        let single = soft(&Datatype::native_int(8), &Datatype::ieee_f32(Big), &n.to_ne_bytes());
        prop_assert_eq!(f32::from_be_bytes(single.try_into().unwrap()), n as f32);
        let double = soft(&Datatype::native_uint(8), &Datatype::ieee_f64(Big), &n.to_ne_bytes());
        prop_assert_eq!(f64::from_be_bytes(double.try_into().unwrap()), n as u64 as f64);
    }

    #[test]
    fn wider_floats_give_doubles_back(raw in any::<u64>(), wide in wider()) {
        let double = f64::from_bits(raw);
        let there = soft(&Datatype::ieee_f64(Little), &Datatype::Float(wide), &double.to_le_bytes());
        let back = soft(&Datatype::Float(wide), &Datatype::ieee_f64(Little), &there);
        let back = f64::from_le_bytes(back.try_into().unwrap());
        prop_assert!(back.to_bits() == raw || (back.is_nan() && double.is_nan()));
    }

    #[test]
    fn any_float_layout_converts_without_panic(raw in any::<[u8; 16]>(), f in any::<[u8; 5]>(), size in 0u32..20, bias in any::<u32>(), p in any::<[u16; 2]>()) {
        let bits = Bits { size, order: Big, offset: p[0] % 80, precision: p[1] % 160, low_pad: BitPad::One, high_pad: BitPad::Zero };
        let odd = Float { bits, internal_pad: BitPad::One, normalization: Normalization::MsbSet, sign_position: f[0] % 140,
            exponent_position: f[1] % 140, exponent_bits: f[2] % 40, mantissa_position: f[3] % 140, mantissa_bits: f[4] % 140, exponent_bias: bias };
        for (from, to) in [(Datatype::Float(odd), Datatype::ieee_f32(Little)), (Datatype::native_int(8), Datatype::Float(odd))] {
            if let Ok(plan) = Plan::compile(&from, &to, &Conversions::default()) {
                plan.run(&raw, &mut [0; 16], 1, &mut Heap::new()).unwrap();
            }
        }
    }
}

/// The x87 long double, binary128, and a float with space around and between its fields.
fn wider() -> impl Strategy<Value = Float> {
    let quad = Float::ieee(16, Big, 15, 112);
    let x87 = Float {
        bits: Bits { precision: 80, ..Bits::full(16, Little) },
        normalization: Normalization::None,
        sign_position: 79,
        exponent_position: 64,
        mantissa_bits: 64,
        ..quad
    };
    let vax = Float { bits: Bits::full(16, ByteOrder::Vax), exponent_bias: 20000, ..quad };
    let loose = Float {
        sign_position: 0,
        exponent_position: 4,
        mantissa_position: 40,
        mantissa_bits: 60,
        internal_pad: BitPad::One,
        ..quad
    };
    prop_oneof![Just(quad), Just(x87), Just(vax), Just(loose)]
}

/// One element by way of the slow kernels, even where there is a fast one.
fn soft(from: &Datatype, to: &Datatype, element: &[u8]) -> Vec<u8> {
    let mut output = vec![0; to.size() as usize];
    Soft::new(from, to, None).unwrap().run(element, &mut output).unwrap();
    output
}

#[test]
fn all_layouts_of_one_byte_convert_all_values() {
    for shape in 0..8 * 8 * 2 * 64u16 {
        let (precision, offset, signed, other) =
            (shape % 8 + 1, shape / 8 % 8, shape / 64 % 2 == 1, shape / 128);
        let (to_precision, to_signed) = (other % 8 + 1, other / 8 % 2 == 1);
        if offset + precision > 8 || other >= 16 {
            continue;
        }
        let of = |precision, offset, signed| Integer {
            bits: Bits { precision, offset, ..Bits::full(1, Little) },
            signed,
        };
        let (from, to) = (of(precision, offset, signed), of(to_precision, 0, to_signed));
        let step = Soft::new(&Datatype::Integer(from), &Datatype::Integer(to), None).unwrap();
        for raw in 0..=255u8 {
            let mut output = [0];
            step.run(&[raw], &mut output).unwrap();
            let source = bits_of(&from.bits, &[raw]);
            let expected = expected_bits(&from, &to, significant(&from.bits, &source));
            assert_eq!(significant(&to.bits, &bits_of(&to.bits, &output)), expected, "{from:?} {to:?} {raw}");
        }
    }
}

/// The value of a half by its definition.
fn half_value(raw: u16) -> f64 {
    let (exponent, mantissa) = (i32::from(raw >> 10 & 31), f64::from(raw & 0x3ff));
    let magnitude = match exponent {
        0 => mantissa * 2f64.powi(-24),
        31 if mantissa == 0.0 => f64::INFINITY,
        31 => f64::NAN,
        e => (1.0 + mantissa / 1024.0) * 2f64.powi(e - 15),
    };
    if raw >> 15 == 1 { -magnitude } else { magnitude }
}

#[test]
fn every_half_is_its_value_and_comes_back() {
    for raw in 0..=u16::MAX {
        let (value, single) = (half_value(raw), Half(raw).to_f32());
        assert!(
            f64::from(single).to_bits() == value.to_bits() || (value.is_nan() && single.is_nan()),
            "{raw:#x}"
        );
        let back = Half::from_f32(single);
        assert!(back.0 == raw || (value.is_nan() && half_value(back.0).is_nan()), "{raw:#x}");
    }
}

#[test]
fn doubles_between_two_halves_round_to_the_nearest_even() {
    for raw in 0..0x7c00u16 {
        let (low, next) = (half_value(raw), raw + 1);
        let high = if next == 0x7c00 { 65536.0 } else { half_value(next) };
        let middle = (low + high) / 2.0;
        assert_eq!(Half::from_f64(middle), Half(if raw % 2 == 0 { raw } else { next }));
        assert_eq!(Half::from_f64(middle.next_down()), Half(raw));
        assert_eq!(Half::from_f64(-middle.next_up()), Half(next | 0x8000));
    }
}

#[test]
fn fast_kernels_agree_with_slow_ones_at_the_limits() {
    let types: Vec<Datatype> = [1, 2, 4, 8]
        .into_iter()
        .flat_map(|n| [Datatype::native_int(n), Datatype::native_uint(n)])
        .chain([Datatype::ieee_f16(Little), Datatype::ieee_f32(Little), Datatype::ieee_f64(Big)])
        .collect();
    for from in &types {
        let input: Vec<u8> =
            (0..=u16::MAX).step_by(7).flat_map(|n| edge_element(n, from.size() as usize)).collect();
        for to in types.iter().filter(|to| *to != from) {
            let fast = convert_plain(from, to, &input);
            let slow: Vec<u8> = input.chunks(from.size() as usize).flat_map(|e| soft(from, to, e)).collect();
            assert!(fast == slow, "{from:?} to {to:?}");
        }
    }
}

/// Elements whose highest and lowest bytes take many values, and the middle is all zeros or ones.
fn edge_element(n: u16, size: usize) -> Vec<u8> {
    let [a, b] = n.to_le_bytes();
    let mut element = vec![if n & 0x100 == 0 { 0 } else { 0xff }; size];
    element[0] = a;
    element[size - 1] = b;
    element
}
