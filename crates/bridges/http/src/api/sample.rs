//! `/api/sample`: as many numbers of a selection as fit a screen.

use axum::http::HeaderName;
use hyperslab::Dataset;
use hyperslab::vol::model::Heap;

use crate::answer::{Answer, Failure};
use crate::call::{Call, Outcome};
use crate::elements::numbers::{self, NUMBER_BYTES, f64s, read_f64s};
use crate::elements::selection::SelectedDims;

/// Points of a dimension, without the parameter.
const POINTS: u64 = 1000;
/// Points of a dimension at most.
const POINTS_MAX: u64 = 1 << 24;

/// Answers a request: little-endian doubles.
pub(crate) fn answer(call: &Call<'_>) -> Outcome {
    let dataset = call.dataset()?;
    numbers::f64_type(&dataset)?;
    let selected = numbers::selected(call, &dataset)?;
    let shape = selected.shape();
    if !matches!(shape.len(), 1 | 2) {
        return Err(Failure::argument("A sample has one or two dimensions: select them"));
    }
    let points = points(call, shape.len())?;
    let steps: Vec<u64> =
        shape.iter().zip(&points).map(|(dim, points)| dim.div_ceil(*points).max(1)).collect();
    let is_bounded = selected.count() <= call.limits.elements_max;
    match (call.query.get("how").unwrap_or("stride"), steps.as_slice()) {
        ("minmax", [_, _]) => Err(Failure::argument("how=minmax is for one dimension")),
        ("minmax", [step]) if *step > 1 && is_bounded => minmax(call, &dataset, &selected, *step),
        ("minmax" | "stride", _) => stride(call, &dataset, &selected, &steps),
        (other, _) => Err(Failure::argument(format!("how={other} is neither stride nor minmax"))),
    }
}

/// Returns the points of each dimension that a request wants at most.
fn points(call: &Call<'_>, rank: usize) -> Result<Vec<u64>, Failure> {
    let wrong = || Failure::argument(format!("points is one number or two, from 1 to {POINTS_MAX}"));
    let Some(text) = call.query.get("points") else { return Ok(vec![POINTS; rank]) };
    let number = |text: &str| text.trim().parse().ok().filter(|n| (1..=POINTS_MAX).contains(n));
    let numbers: Option<Vec<u64>> = text.split(',').map(number).collect();
    match (numbers.as_deref(), rank) {
        (Some([n]), _) => Ok(vec![*n; rank]),
        (Some([n, m]), 2) => Ok(vec![*n, *m]),
        _ => Err(wrong()),
    }
}

/// Returns every n-th number.
fn stride(call: &Call<'_>, dataset: &Dataset, selected: &SelectedDims, steps: &[u64]) -> Outcome {
    let thin = selected.thinned(steps);
    let charge = call.charge(thin.count().saturating_mul(NUMBER_BYTES as u64))?;
    let memory = numbers::f64_type(dataset)?;
    let bytes = dataset.read_bytes(&thin.to_selection()?, &memory, &mut Heap::new())?;
    let how = if steps.iter().all(|step| *step == 1) { "exact" } else { "stride" };
    let answer = Answer::new("application/octet-stream", bytes).charged(charge);
    Ok(described(answer, &thin.shape(), steps, how))
}

/// Returns the least and the greatest number of every `step` ones.
fn minmax(call: &Call<'_>, dataset: &Dataset, selected: &SelectedDims, step: u64) -> Outcome {
    let bins = selected.count().div_ceil(step);
    let charge = call.charge(bins.saturating_mul(2 * NUMBER_BYTES as u64))?;
    let mut pairs = Pairs { step, seen: 0, pair: [f64::NAN; 2], out: Vec::new() };
    read_f64s(call, dataset, selected, |bytes| {
        f64s(bytes).for_each(|number| pairs.add(number));
        Ok(())
    })?;
    let answer = Answer::new("application/octet-stream", pairs.finish()).charged(charge);
    Ok(described(answer, &[bins, 2], &[step], "minmax"))
}

/// The least and the greatest number of each bin. NaN is neither, unless there is nothing else.
struct Pairs {
    step: u64,
    seen: u64,
    pair: [f64; 2],
    out: Vec<u8>,
}

impl Pairs {
    fn add(&mut self, number: f64) {
        // `min` and `max` prefer numbers to NaN.
        self.pair = [self.pair[0].min(number), self.pair[1].max(number)];
        self.seen += 1;
        if self.seen == self.step {
            self.end_bin();
        }
    }

    fn end_bin(&mut self) {
        self.out.extend(self.pair.iter().flat_map(|number| number.to_le_bytes()));
        self.seen = 0;
        self.pair = [f64::NAN; 2];
    }

    fn finish(mut self) -> Vec<u8> {
        if self.seen > 0 {
            self.end_bin();
        }
        self.out
    }
}

fn described(answer: Answer, shape: &[u64], steps: &[u64], how: &str) -> Answer {
    let list = |numbers: &[u64]| numbers.iter().map(u64::to_string).collect::<Vec<_>>().join(",");
    answer
        .with(HeaderName::from_static("x-shape"), list(shape))
        .with(HeaderName::from_static("x-step"), list(steps))
        .with(HeaderName::from_static("x-how"), how)
}
