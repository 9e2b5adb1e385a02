//! `/h5grove/data`: elements of a dataset.

use hyperslab::vol::model::{Dataspace, Heap};
use hyperslab::{Dataset, Datatype};

use super::value::write_dataset;
use super::{csv, npy, tiff};
use crate::answer::{Answer, Failure};
use crate::call::{Call, Outcome};
use crate::elements::json_text::JsonText;
use crate::elements::numpy::NumberType;
use crate::elements::selection::SelectedDims;
use crate::elements::strips::Reading;

const BYTES: &str = "application/octet-stream";

/// Answers a request.
pub(crate) fn answer(call: &Call<'_>) -> Outcome {
    let is_safe = match call.query.get("dtype").unwrap_or("origin") {
        "origin" => false,
        "safe" => true,
        other => return Err(Failure::argument(format!("Unsupported dtype {other}"))),
    };
    let dataset = call.dataset()?;
    let info = dataset.dataset_info();
    let is_null = matches!(info.space, Dataspace::Null);
    let selected = SelectedDims::parse(call.query.get("selection").filter(|_| !is_null), info.space.dims())?;
    let numbers = if is_safe { NumberType::safe } else { NumberType::origin }(&info.datatype);
    let numbers = numbers.filter(|_| !is_null);
    if is_safe && numbers.is_none() {
        return Err(Failure::argument("Unsupported dtype safe for non-numeric data"));
    }
    let format = call.query.get("format").unwrap_or("json");
    match format {
        "json" => json(call, &dataset, &selected, is_null),
        "bin" if is_null => Ok(Answer::new(BYTES, Vec::new())),
        "bin" => bin(call, &dataset, &selected, numbers),
        "npy" | "csv" | "tiff" => {
            let wrong =
                || Failure::argument(format!("Unsupported encoding {format} for non-numeric content"));
            exported(call, &dataset, &selected, &numbers.ok_or_else(wrong)?, format)
        }
        other => Err(Failure::argument(format!("Unsupported encoding {other}"))),
    }
}

fn exported(
    call: &Call<'_>,
    dataset: &Dataset,
    selected: &SelectedDims,
    numbers: &NumberType,
    format: &str,
) -> Outcome {
    let shape = [selected.shape(), numbers.dims.clone()].concat();
    match format {
        "csv" => csv::answer(call, dataset, numbers, selected),
        "tiff" => {
            let frame = tiff::Frame::new(numbers, &shape)?;
            read(call, dataset, selected, &numbers.memory, &frame.header(), "image/tiff")
                .map(|answer| answer.attached("data.tiff"))
        }
        _ => {
            let header = npy::header(&numbers.dtype, &shape);
            read(call, dataset, selected, &numbers.memory, &header, BYTES)
                .map(|answer| answer.attached("data.npy"))
        }
    }
}

/// Returns the failure of a format that needs dimensions.
pub(crate) fn no_scalars(format: &str) -> Failure {
    Failure::argument(format!("Unsupported encoding {format} for empty and scalar datasets"))
}

fn json(call: &Call<'_>, dataset: &Dataset, selected: &SelectedDims, is_null: bool) -> Outcome {
    let mut out = JsonText::new(call);
    if is_null {
        out.push(b"null")?;
    } else {
        write_dataset(call, dataset, selected, call.query.is_true("flatten"), &mut out)?;
    }
    Ok(out.into_answer())
}

fn bin(call: &Call<'_>, dataset: &Dataset, selected: &SelectedDims, numbers: Option<NumberType>) -> Outcome {
    let datatype = &dataset.dataset_info().datatype;
    match numbers {
        Some(numbers) => read(call, dataset, selected, &numbers.memory, &[], BYTES),
        None if datatype.is_string() && datatype.has_descriptors() && selected.shape().is_empty() => {
            let text = dataset.read_selection::<String>(&selected.to_selection()?)?;
            Ok(Answer::new(BYTES, text.concat()))
        }
        None if datatype.has_descriptors() => {
            Err(Failure::argument("Strings, sequences and references have no binary form: ask for JSON"))
        }
        None => read(call, dataset, selected, datatype, &[], BYTES),
    }
}

/// Returns a header and the elements after it. Memory is taken before anything is read.
fn read(
    call: &Call<'_>,
    dataset: &Dataset,
    selected: &SelectedDims,
    memory: &Datatype,
    header: &[u8],
    content_type: &'static str,
) -> Outcome {
    let bytes = selected.count().saturating_mul(u64::from(memory.size()));
    let charge = call.charge(bytes.saturating_add(header.len() as u64))?;
    let elements = Reading::new(call, dataset, selected.axes(), memory).packed(&mut Heap::new())?;
    let body = if header.is_empty() { elements } else { [header, &elements].concat() };
    Ok(Answer::new(content_type, body).charged(charge))
}
