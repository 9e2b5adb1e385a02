//! `/h5grove/stats`: statistics of a selection.

use hyperslab::{Dataset, Datatype};
use serde_json::{Value, json};

use crate::answer::{Answer, Failure};
use crate::call::{Call, Outcome};
use crate::elements::moments::Moments;
use crate::elements::numbers::{self, f64s, is_integer, read_f64s};

/// Answers a request. Numbers that are not finite do not count.
pub(crate) fn answer(call: &Call<'_>) -> Outcome {
    let dataset = call.dataset()?;
    let selected = numbers::selected(call, &dataset)?;
    if selected.count() > call.limits.elements_max {
        return Err(Failure::argument(
            "Too many elements for exact statistics: select less, or ask /api/histogram",
        ));
    }
    let mut moments = Moments::new();
    read_f64s(call, &dataset, selected.axes(), |bytes| {
        moments.add(f64s(bytes).collect::<Vec<_>>().iter().copied());
        Ok(())
    })?;
    Ok(Answer::json(&stats(&dataset, &moments)))
}

fn stats(dataset: &Dataset, moments: &Moments) -> Value {
    let datatype = &dataset.dataset_info().datatype;
    let exact = |number: f64| {
        let number = (moments.count > 0 && number.is_finite()).then_some(number)?;
        Some(match is_integer(datatype) {
            true if number >= 0.0 => Value::from(number as u64),
            true => Value::from(number as i64),
            false => Value::from(number),
        })
    };
    // numpy computes in the precision of the elements.
    let rounded = |number: f64| match datatype {
        Datatype::Float(t) if t.bits.size <= 4 => f64::from(number as f32),
        _ => number,
    };
    json!({
        "strict_positive_min": exact(moments.strict_positive_min),
        "positive_min": exact(moments.positive_min),
        "min": exact(moments.min),
        "max": exact(moments.max),
        "mean": moments.mean().map(rounded),
        "std": moments.deviation().map(rounded),
    })
}
