//! Numbers as rows of text.

use hyperslab::vol::model::ByteOrder;
use hyperslab::vol::model::datatype::{Complex, Compound};
use hyperslab::{Dataset, Datatype};

use crate::answer::{Answer, Failure};
use crate::call::Call;
use crate::elements::json_text::JsonText;
use crate::elements::numbers::{NUMBER_BYTES, f64s};
use crate::elements::numpy::NumberType;
use crate::elements::selection::SelectedDims;
use crate::elements::strips::Reading;

/// Bytes of a number that is not negative, and what parts it from the next.
const NUMBER_TEXT_BYTES: u64 = 25;

/// Returns selected numbers: one row for each line, with numpy's digits.
///
/// # Errors
/// Returns a failure with the status 422 if the selection has no dimensions, or more than two.
pub(crate) fn answer(
    call: &Call<'_>,
    dataset: &Dataset,
    numbers: &NumberType,
    selected: &SelectedDims,
) -> Result<Answer, Failure> {
    let shape = [selected.shape(), numbers.dims.clone()].concat();
    let columns = match shape.as_slice() {
        [] => return Err(super::data::no_scalars("csv")),
        [_] => 1,
        [_, columns] => *columns,
        _ => return Err(Failure::argument("CSV has one or two dimensions: select them")),
    };
    let count = shape.iter().fold(1, |count: u64, dim| count.saturating_mul(*dim));
    call.check_size(count.saturating_mul(NUMBER_TEXT_BYTES))?;
    let (mut out, mut at) = (JsonText::new(call), 0);
    let memory = doubles(&numbers.memory);
    let parts = if numbers.is_complex() { 2 } else { 1 };
    Reading::new(call, dataset, selected.axes(), &memory).in_order(|bytes, _| {
        for element in bytes.chunks_exact(parts * NUMBER_BYTES) {
            at += 1;
            out.push(text(element).as_bytes())?;
            out.push(if at % columns == 0 { b"\n" } else { b"," })?;
        }
        Ok(())
    })?;
    Ok(out.into_answer_as("text/csv").attached("data.csv"))
}

/// Returns the type with double precision.
fn doubles(datatype: &Datatype) -> Datatype {
    match datatype {
        Datatype::Array(t) => Datatype::array(&t.dims, doubles(&t.base)),
        Datatype::Complex(t) => Datatype::Complex(Complex { base: Box::new(doubles(&t.base)) }),
        Datatype::Compound(t) => {
            let parts = t.members.iter().map(|member| (member.name.clone(), doubles(&member.datatype)));
            Datatype::Compound(Compound::packed(parts))
        }
        _ => Datatype::ieee_f64(ByteOrder::Little),
    }
}

fn text(element: &[u8]) -> String {
    let parts: Vec<f64> = f64s(element).collect();
    match parts.as_slice() {
        [re, im] => {
            let sign = if im.is_sign_negative() { "" } else { "+" };
            format!(" ({}{sign}{}j)", scientific(*re), scientific(*im))
        }
        _ => parts.first().map_or_else(String::new, |number| scientific(*number)),
    }
}

/// Returns a number as C's `%.18e` does.
fn scientific(number: f64) -> String {
    if number.is_nan() {
        return "nan".to_owned();
    }
    let text = format!("{number:.18e}");
    let Some((digits, exponent)) = text.split_once('e') else { return text };
    let (sign, exponent) = exponent.strip_prefix('-').map_or(('+', exponent), |rest| ('-', rest));
    format!("{digits}e{sign}{exponent:0>2}")
}

#[cfg(test)]
mod tests {
    use super::scientific;

    #[test]
    fn numbers_are_those_of_c() {
        assert_eq!(scientific(0.5), "5.000000000000000000e-01");
        assert_eq!(scientific(-1e300), "-1.000000000000000053e+300");
        assert_eq!(scientific(f64::NEG_INFINITY), "-inf");
        assert_eq!(scientific(f64::NAN), "nan");
    }
}
