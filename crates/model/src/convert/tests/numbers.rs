//! Numbers of the machine against `i128` and `f64`.

use super::*;
use crate::ByteOrder::{self, Big, Little};

/// Integers that lie on or next to a limit of some type.
fn edges() -> Vec<i128> {
    let powers = [0, 7, 8, 10, 11, 15, 16, 23, 24, 25, 31, 32, 52, 53, 54, 62, 63, 64];
    let beside = powers.iter().flat_map(|&p| (-3..=3).map(move |d| (1i128 << p) + d));
    beside.flat_map(|n| [n, -n]).collect()
}

fn limits(size: u32, signed: bool) -> (i128, i128) {
    let bits = size * 8;
    if signed { (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) } else { (0, (1 << bits) - 1) }
}

fn bytes_of(n: i128, size: u32, order: ByteOrder) -> Vec<u8> {
    let mut bytes = n.to_le_bytes()[..size as usize].to_vec();
    if order == Big {
        bytes.reverse();
    }
    bytes
}

fn integers() -> Vec<(u32, bool, ByteOrder)> {
    let sizes = [1, 2, 3, 4, 5, 8, 12];
    let each = |size| [true, false].into_iter().flat_map(move |s| [Little, Big].map(|o| (size, s, o)));
    sizes.into_iter().flat_map(each).collect()
}

#[test]
fn integers_are_clipped_to_the_limits_of_their_target() {
    for (size, signed, order) in integers() {
        let (low, high) = limits(size, signed);
        let values: Vec<i128> = edges().into_iter().filter(|n| (low..=high).contains(n)).collect();
        let input: Vec<u8> = values.iter().flat_map(|&n| bytes_of(n, size, order)).collect();
        for (to_size, to_signed, to_order) in integers() {
            let (low, high) = limits(to_size, to_signed);
            let expected: Vec<u8> =
                values.iter().flat_map(|&n| bytes_of(n.clamp(low, high), to_size, to_order)).collect();
            let (from, to) =
                (Datatype::integer(size, signed, order), Datatype::integer(to_size, to_signed, to_order));
            assert_eq!(convert_plain(&from, &to, &input), expected, "{from:?} to {to:?}");
        }
    }
}

#[test]
fn all_bytes_convert_between_signed_and_unsigned() {
    let input: Vec<u8> = (0..=255).collect();
    let (signed, unsigned) = (Datatype::native_int(1), Datatype::native_uint(1));
    let expected: Vec<u8> = input.iter().map(|&b| (b as i8).max(0) as u8).collect();
    assert_eq!(convert_plain(&signed, &unsigned, &input), expected);
    let expected: Vec<u8> = input.iter().map(|&b| b.min(127)).collect();
    assert_eq!(convert_plain(&unsigned, &signed, &input), expected);
}

#[test]
fn long_runs_in_the_other_byte_order_convert_in_blocks() {
    let values: Vec<u32> = (0..10_007u32).map(|n| n.wrapping_mul(0x9E37_79B9)).collect();
    let input: Vec<u8> = values.iter().flat_map(|n| n.to_be_bytes()).collect();
    let expected: Vec<u8> = values.iter().flat_map(|&n| f64::from(n).to_be_bytes()).collect();
    assert_eq!(convert_plain(&Datatype::integer(4, false, Big), &Datatype::ieee_f64(Big), &input), expected);
}

#[test]
fn floats_are_cut_towards_zero_and_clipped() {
    let values =
        [0.9, -0.9, 127.9, 128.0, -128.9, -129.0, 1e300, -1e300, f64::INFINITY, f64::NEG_INFINITY, f64::NAN];
    let input: Vec<u8> = values.iter().flat_map(|n| n.to_le_bytes()).collect();
    let expected: Vec<u8> =
        [0i8, 0, 127, 127, -128, -128, 127, -128, 127, -128, 0].iter().map(|&n| n as u8).collect();
    assert_eq!(convert_plain(&Datatype::ieee_f64(Little), &Datatype::native_int(1), &input), expected);
}
