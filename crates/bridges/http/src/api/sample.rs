//! `/api/sample`: as many numbers of a selection as fit a screen.

use std::ops::Range;

use axum::http::HeaderName;
use hyperslab::Dataset;
use hyperslab::vol::model::{Charge, Heap};

use super::overview::{self, Overview, OverviewLimit, SINGLES_MAX, Share};
use crate::answer::{Answer, Failure};
use crate::call::{Call, Outcome};
use crate::elements::axis::Axis;
use crate::elements::numbers::{self, NUMBER_BYTES, f64s, read_f64s};
use crate::elements::selection::{SelectedDim, SelectedDims};
use crate::elements::strips::Reading;

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
    let sample = Sample { call, dataset: &dataset, selected: &selected };
    match (call.query.get("how").unwrap_or("stride"), steps.as_slice()) {
        ("minmax", [_, _]) => Err(Failure::argument("how=minmax is for one dimension")),
        ("minmax", [step]) if *step > 1 => sample.minmax(points[0]),
        ("minmax" | "stride", _) => sample.stride(&steps),
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

/// A selection of one or two dimensions, of which a sample is taken.
struct Sample<'c> {
    call: &'c Call<'c>,
    dataset: &'c Dataset,
    selected: &'c SelectedDims,
}

impl<'c> Sample<'c> {
    fn overview(&self) -> Overview<'c> {
        Overview::new(self.dataset, self.selected, OverviewLimit::of(self.call, 1))
    }

    fn charge(&self, numbers: u64) -> Result<Charge, Failure> {
        self.call.charge(numbers.saturating_mul(NUMBER_BYTES as u64))
    }

    /// Returns every n-th number.
    fn stride(&self, steps: &[u64]) -> Outcome {
        let thin = self.selected.thinned(steps);
        let (charge, overview) = (self.charge(thin.count())?, self.overview());
        if !overview.is_affordable(&thin.axes()) {
            let within = |(dim, step): (u64, &u64)| dim.div_ceil(SINGLES_MAX).max(*step);
            let steps: Vec<u64> = self.selected.shape().into_iter().zip(steps).map(within).collect();
            return self.nearest(&overview, &steps).map(|answer| answer.charged(charge));
        }
        let bytes = self.read(thin.axes())?;
        let how = if steps.iter().all(|step| *step == 1) { "exact" } else { "stride" };
        Ok(described(bytes, &thin.shape(), steps, how).charged(charge))
    }

    /// Returns what `stride` does, but from some blocks: each number is that of the nearest element in one of them.
    fn nearest(&self, overview: &Overview<'_>, steps: &[u64]) -> Outcome {
        let thin = self.selected.thinned(steps);
        let parts = overview::parts(&overview.blocks.touched(&thin.axes()), overview.blocks_max());
        let (mut steps_left, mut axes, mut columns) = (steps.iter(), Vec::new(), Vec::new());
        for ((dim, len), parts) in self.selected.0.iter().zip(&overview.blocks.shape).zip(parts) {
            let step = if dim.is_index { 1 } else { steps_left.next().copied().unwrap_or(1) };
            let (axis, at) = nearest(dim, *len, parts, step);
            axes.push(axis);
            columns.push(at);
        }
        let share = overview.share(&axes);
        let bytes = spread(&self.read(axes)?, &columns);
        Ok(described(bytes, &thin.shape(), steps, "stride").with_share(share))
    }

    fn read(&self, axes: Vec<Axis>) -> Result<Vec<u8>, Failure> {
        let memory = numbers::f64_type(self.dataset)?;
        Reading::new(self.call, self.dataset, axes, &memory).packed(&mut Heap::new())
    }

    /// Returns the least and the greatest number of each of at most `bins` bins.
    fn minmax(&self, bins: u64) -> Outcome {
        let overview = self.overview();
        let (count, is_exact) = (self.selected.count(), overview.is_exact());
        let bins = if is_exact { bins } else { bins.min(overview.blocks_max()) };
        let step = count.div_ceil(bins);
        let bins = count.div_ceil(step);
        let charge = self.charge(bins.saturating_mul(2))?;
        let ranges: Vec<Range<u64>> =
            (0..bins).map(|bin| bin * step..((bin + 1) * step).min(count)).collect();
        let described = |bytes| described(bytes, &[bins, 2], &[step], "minmax").charged(charge);
        if is_exact {
            return self.pairs(self.selected.axes(), ranges.iter().map(len)).map(described);
        }
        let at = self.selected.0.iter().position(|dim| !dim.is_index).unwrap_or(0);
        let windows = overview.windows_in(at, &ranges);
        let mut axes = self.selected.axes();
        axes[at] = overview::axis(&self.selected.0[at], &windows.concat());
        let share = overview.share(&axes);
        let lengths = windows.iter().map(|windows| windows.iter().map(len).sum());
        Ok(described(self.pairs(axes, lengths)?).with_share(share))
    }

    /// Returns the least and the greatest number of bins with so many elements each, which follow each other.
    fn pairs(&self, axes: Vec<Axis>, lengths: impl Iterator<Item = u64>) -> Result<Vec<u8>, Failure> {
        let mut pairs = Pairs { lengths, left: 0, pair: [f64::NAN; 2], out: Vec::new() };
        read_f64s(self.call, self.dataset, axes, |bytes| {
            pairs.add(bytes);
            Ok(())
        })?;
        Ok(pairs.finish())
    }
}

fn len(range: &Range<u64>) -> u64 {
    range.end - range.start
}

/// Returns the elements that are read for every `step`-th element of a dimension, and which of them stands for each.
fn nearest(dim: &SelectedDim, len: u64, parts: u64, step: u64) -> (Axis, Vec<u64>) {
    let windows = overview::windows(dim, len, 0..dim.count, parts);
    let (mut coordinates, mut columns) = (Vec::new(), Vec::new());
    for element in (0..dim.count).step_by(step as usize) {
        let window = &windows[overview::part_of(element, dim.count, parts)];
        let coordinate = dim.start + element.clamp(window.start, window.end - 1) * dim.step;
        if coordinates.last() != Some(&coordinate) {
            coordinates.push(coordinate);
        }
        columns.push(coordinates.len() as u64 - 1);
    }
    (Axis::list(&coordinates), columns)
}

/// Returns the elements that stand for each combination of numbers of elements.
fn spread(bytes: &[u8], columns: &[Vec<u64>]) -> Vec<u8> {
    let Some((columns, outer)) = columns.split_last() else { return bytes.to_vec() };
    let width = columns.last().map_or(0, |last| *last as usize + 1);
    let rows = outer.iter().fold(vec![0], |rows: Vec<usize>, axis| {
        let height = axis.last().map_or(0, |last| *last as usize + 1);
        rows.iter().flat_map(|row| axis.iter().map(move |at| row * height + *at as usize)).collect()
    });
    let (elements, _) = bytes.as_chunks::<NUMBER_BYTES>();
    let element =
        |row: usize, column: u64| elements.get(row * width + column as usize).copied().unwrap_or_default();
    let spread = rows.iter().flat_map(|row| columns.iter().map(move |column| element(*row, *column)));
    spread.collect::<Vec<_>>().into_flattened()
}

/// The least and the greatest number of each bin. NaN is neither, unless there is nothing else.
struct Pairs<L> {
    /// Elements of the bins to come.
    lengths: L,
    /// Elements of this bin that are to come.
    left: u64,
    pair: [f64; 2],
    out: Vec<u8>,
}

impl<L: Iterator<Item = u64>> Pairs<L> {
    fn add(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            if self.left == 0 {
                self.left = self.lengths.next().unwrap_or(u64::MAX);
            }
            let most = usize::try_from(self.left).unwrap_or(usize::MAX).saturating_mul(NUMBER_BYTES);
            let (bin, rest) = bytes.split_at(most.min(bytes.len()));
            // `min` and `max` prefer numbers to NaN.
            self.pair = f64s(bin).fold(self.pair, |[min, max], number| [min.min(number), max.max(number)]);
            self.left -= (bin.len() / NUMBER_BYTES) as u64;
            if self.left == 0 {
                self.end_bin();
            }
            bytes = rest;
        }
    }

    fn end_bin(&mut self) {
        let pair = std::mem::replace(&mut self.pair, [f64::NAN; 2]);
        self.out.extend(pair.iter().flat_map(|number| number.to_le_bytes()));
    }

    fn finish(self) -> Vec<u8> {
        self.out
    }
}

fn described(bytes: Vec<u8>, shape: &[u64], steps: &[u64], how: &str) -> Answer {
    let list = |numbers: &[u64]| numbers.iter().map(u64::to_string).collect::<Vec<_>>().join(",");
    Answer::new("application/octet-stream", bytes)
        .with(HeaderName::from_static("x-shape"), list(shape))
        .with(HeaderName::from_static("x-step"), list(steps))
        .with(HeaderName::from_static("x-how"), how)
}

impl Answer {
    /// With how much of the selection was read.
    fn with_share(self, share: Share) -> Self {
        self.with(HeaderName::from_static("x-sampled"), format!("{},{}", share.read, share.of))
    }
}
