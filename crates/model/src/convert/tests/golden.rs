//! What libhdf5 makes of the same elements; `tests/make_convert_golden.py` wrote them.

use super::bits::{BytePosition, mask};
use super::*;
use crate::Limits;

struct Case {
    name: &'static str,
    from: Datatype,
    to: Datatype,
    input: Vec<u8>,
    /// None where libhdf5 refuses the pair.
    output: Option<Vec<u8>>,
}

fn unhex(hex: &str) -> Vec<u8> {
    let byte = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap();
    hex.as_bytes().chunks(2).map(byte).collect()
}

fn case(line: &'static str) -> Case {
    let mut words = line.split(' ');
    let mut next = || words.next().unwrap();
    let name = next();
    let mut datatype = || Datatype::decode(&unhex(next()), &Limits::default()).unwrap();
    let (from, to) = (datatype(), datatype());
    let input = unhex(next());
    let output = Some(next()).filter(|&word| word != "refused").map(unhex);
    Case { name, from, to, input, output }
}

/// The bits of a number that mean something: libhdf5 leaves what was there in the others.
fn significant(t: &Datatype, element: &[u8]) -> Option<(u128, u128)> {
    let Datatype::Float(f) = t else { return None };
    let raw = BytePosition::new(f.bits.size, f.bits.order).unwrap().load(element);
    let field = |at: u8, bits: u8| raw >> at & mask(u32::from(bits));
    let magnitude = field(f.exponent_position, f.exponent_bits) << f.mantissa_bits
        | field(f.mantissa_position, f.mantissa_bits);
    Some((field(f.sign_position, 1), magnitude))
}

fn is_native(t: &Datatype) -> bool {
    matches!(t, Datatype::Float(f) if f.bits.order == crate::ByteOrder::Little && (f.is_ieee() || f.bits.precision == 80))
}

/// Where libhdf5 converts without the machine's help it rounds ties up, so a float may be one place off:
/// `models.rs` checks rounding. Any quiet NaN is as good as another.
fn agrees(case: &Case, output: &[u8], expected: &[u8]) -> bool {
    let (Some(a), Some(b)) = (significant(&case.to, output), significant(&case.to, expected)) else {
        return output == expected;
    };
    let soft = matches!(case.from, Datatype::Float(_)) && !(is_native(&case.from) && is_native(&case.to));
    a == b || (soft && a.0 == b.0 && a.1.abs_diff(b.1) <= 1) || (case.name.starts_with("nan:") && a.0 == b.0)
}

#[test]
fn elements_convert_as_libhdf5_converts_them() {
    let mut wrong = Vec::new();
    for case in include_str!("../../../tests/convert_golden.txt").lines().map(case) {
        let Some(expected) = &case.output else { continue };
        let output = convert_plain(&case.from, &case.to, &case.input);
        let (a, b) = (case.from.size() as usize, case.to.size() as usize);
        for ((input, output), expected) in case.input.chunks(a).zip(output.chunks(b)).zip(expected.chunks(b))
        {
            if !agrees(&case, output, expected) {
                wrong
                    .push(format!("{} {input:02x?} gives {output:02x?}, libhdf5 {expected:02x?}", case.name));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn what_libhdf5_refuses_is_refused_but_for_what_we_add() {
    // Bit fields as numbers, strings of another character set, and complex numbers of another width.
    let added = ["b8-u32", "b16be-u32", "b5in8-u32", "string:ascii-utf8", "complex:to-narrow"];
    for case in include_str!("../../../tests/convert_golden.txt").lines().map(case) {
        if case.output.is_none() {
            let plan = Plan::compile(&case.from, &case.to, &Conversions::default());
            assert_eq!(plan.is_ok(), added.contains(&case.name), "{}", case.name);
        }
    }
}
