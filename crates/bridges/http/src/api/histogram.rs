//! `/api/histogram`: statistics, and how often which values occur.

use hyperslab::Dataset;
use serde_json::json;

use super::overview::{Overview, OverviewLimit, Share};
use crate::answer::{Answer, Failure};
use crate::call::{Call, Outcome};
use crate::elements::axis::Axis;
use crate::elements::moments::Moments;
use crate::elements::numbers::{self, f64s, read_f64s};

/// Bins, without the parameter.
const BINS: u64 = 64;
/// Bins at most.
const BINS_MAX: u64 = 65_536;
/// How often elements are read.
const PASSES: u64 = 2;

/// Answers a request. Elements are read twice: for the range, and for what is in it.
pub(crate) fn answer(call: &Call<'_>) -> Outcome {
    let bins = call.query.number("bins", BINS, BINS_MAX)?;
    let dataset = call.dataset()?;
    numbers::f64_type(&dataset)?;
    let selected = numbers::selected(call, &dataset)?;
    let (axes, share) = looked_at(&Overview::new(&dataset, &selected, OverviewLimit::of(call, PASSES)));
    let fill = numbers::fill(&dataset)?;
    let (moments, fills) = moments(call, &dataset, &axes, fill)?;
    let (edges, counts) = match moments.count {
        0 => (Vec::new(), Vec::new()),
        _ => {
            let edges = edges(moments.min, moments.max, bins);
            let counts = counts(call, &dataset, &axes, (&edges, fill))?;
            (edges, counts)
        }
    };
    let some = |number: f64| (moments.count > 0).then_some(number);
    Ok(Answer::json(&json!({
        "min": some(moments.min),
        "max": some(moments.max),
        "mean": moments.mean(),
        "std": moments.deviation(),
        "count": moments.count + moments.nan + moments.infinite + fills.left_out,
        "nan": moments.nan,
        "inf": moments.infinite,
        "zero": moments.zero,
        "fill": fill.map(|_| fills.all),
        "bins": counts,
        "edges": edges,
        "sampled": share.is_some(),
        "parts_read": share.map(|share| share.read),
        "parts": share.map(|share| share.of),
    })))
}

/// Returns the elements that are looked at, and how much of the selection they are in if that is not all.
fn looked_at(overview: &Overview<'_>) -> (Vec<Axis>, Option<Share>) {
    match overview.is_exact() {
        true => (overview.selected.axes(), None),
        false => {
            let axes = overview.sampled();
            let share = overview.share(&axes);
            (axes, Some(share))
        }
    }
}

/// How many elements have the fill value.
#[derive(Debug, Default)]
struct Fills {
    all: u64,
    /// Those that statistics leave out. A fill value that is not finite is not in them anyway.
    left_out: u64,
}

/// Returns whether a number is the fill value that someone chose: it stands for nothing, and would spoil statistics.
fn is_fill(number: f64, fill: Option<f64>) -> bool {
    fill.is_some_and(|fill| number == fill)
}

/// Returns statistics of all numbers but fill values, and how many of these there are.
fn moments(
    call: &Call<'_>,
    dataset: &Dataset,
    axes: &[Axis],
    fill: Option<f64>,
) -> Result<(Moments, Fills), Failure> {
    let (mut moments, mut fills) = (Moments::new(), Fills::default());
    read_f64s(call, dataset, axes.to_vec(), |bytes| {
        let strip: Vec<f64> = f64s(bytes).collect();
        let is_left_out = |number: &f64| number.is_finite() && is_fill(*number, fill);
        moments.add(strip.iter().copied().filter(|number| !is_left_out(number)));
        fills.left_out += strip.iter().filter(|number| is_left_out(number)).count() as u64;
        let is_nan_fill = fill.is_some_and(f64::is_nan);
        fills.all += strip.iter().filter(|n| is_fill(**n, fill) || is_nan_fill && n.is_nan()).count() as u64;
        Ok(())
    })?;
    Ok((moments, fills))
}

/// Returns the edges of bins of one width. A single value has bins around it.
fn edges(min: f64, max: f64, bins: u64) -> Vec<f64> {
    let (low, high) = if min == max { (min - 0.5, max + 0.5) } else { (min, max) };
    // Halves, because the distance itself may be more than the greatest number.
    let half_width = high / 2.0 - low / 2.0;
    let edge = |n: u64| low + half_width * (n as f64 / bins as f64) + half_width * (n as f64 / bins as f64);
    (0..bins).map(edge).chain([high]).collect()
}

fn counts(
    call: &Call<'_>,
    dataset: &Dataset,
    axes: &[Axis],
    (edges, fill): (&[f64], Option<f64>),
) -> Result<Vec<u64>, Failure> {
    let [low, .., high] = edges else { return Ok(Vec::new()) };
    let bins = edges.len() - 1;
    let (mut counts, half_width) = (vec![0u64; bins], high / 2.0 - low / 2.0);
    read_f64s(call, dataset, axes.to_vec(), |bytes| {
        for number in f64s(bytes).filter(|number| number.is_finite() && !is_fill(*number, fill)) {
            let bin = (number / 2.0 - low / 2.0) / half_width * bins as f64;
            // A cast of a float ends at the bounds of the integer; the greatest number is in the last bin.
            if let Some(count) = counts.get_mut((bin as usize).min(bins - 1)) {
                *count += 1;
            }
        }
        Ok(())
    })?;
    Ok(counts)
}

#[cfg(test)]
mod tests {
    use super::edges;

    #[test]
    fn edges_begin_and_end_with_the_range() {
        assert_eq!(edges(0.0, 4.0, 4), [0.0, 1.0, 2.0, 3.0, 4.0]);
        assert_eq!(edges(7.0, 7.0, 2), [6.5, 7.0, 7.5]);
        let wide = edges(-f64::MAX, f64::MAX, 3);
        assert!(wide.iter().all(|edge| edge.is_finite()) && wide.is_sorted());
    }
}
