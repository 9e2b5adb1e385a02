//! Every operation against a model that looks at each element.

mod golden;
mod hostile;
mod operations;
mod speed;
mod transfer;
mod unions;

use super::*;
use proptest::prelude::*;

/// Coordinates of the element at a linear offset.
fn coordinates(mut offset: u64, dims: &[u64]) -> Vec<u64> {
    let mut point = vec![0; dims.len()];
    for d in (0..dims.len()).rev() {
        point[d] = offset % dims[d];
        offset /= dims[d];
    }
    point
}

fn offset_of(point: &[u64], dims: &[u64]) -> u64 {
    point.iter().zip(dims).fold(0, |offset, (x, dim)| offset * dim + x)
}

/// How a selection is made, so that the model can be made from it without the code under test.
#[derive(Debug, Clone)]
enum Recipe {
    None,
    All,
    Slab(Vec<[u64; 4]>),
    Unlimited(Vec<[u64; 4]>, usize, bool),
    Points(Vec<Vec<u64>>),
    Boxes(Vec<(Vec<u64>, Vec<u64>)>),
}

fn in_axis([start, stride, count, block]: [u64; 4], x: u64) -> bool {
    let (mut n, mut low) = (0, start);
    while n < count && low <= x {
        if x - low < block {
            return true;
        }
        (n, low) = (n + 1, low + stride);
    }
    false
}

fn unlimited(axes: &[[u64; 4]], d: usize, is_count: bool) -> Vec<[u64; 4]> {
    let mut axes = axes.to_vec();
    axes[d] = match is_count {
        true => [axes[d][0], axes[d][1], UNLIMITED, axes[d][3]],
        false => [axes[d][0], 1, 1, UNLIMITED],
    };
    axes
}

impl Recipe {
    fn build(&self, rank: usize) -> Selection {
        let slab = |axes: &[[u64; 4]]| {
            let column = |n: usize| axes.iter().map(|axis| axis[n]).collect::<Vec<_>>();
            Selection::hyperslab(&column(0), &column(1), &column(2), &column(3)).unwrap()
        };
        match self {
            Recipe::None => Selection::None,
            Recipe::All => Selection::All,
            Recipe::Slab(axes) => slab(axes),
            Recipe::Unlimited(axes, d, is_count) => slab(&unlimited(axes, *d, *is_count)),
            Recipe::Points(points) => Selection::points(rank, points.concat()).unwrap(),
            Recipe::Boxes(boxes) => {
                let corners: Vec<u64> = boxes.iter().flat_map(|(a, b)| a.iter().chain(b)).copied().collect();
                Selection::union_of_blocks(rank, &corners).unwrap()
            }
        }
    }

    /// Linear offsets in selection order.
    fn model(&self, dims: &[u64]) -> Vec<u64> {
        let total: u64 = dims.iter().product();
        let all = |is_in: &dyn Fn(&[u64]) -> bool| {
            (0..total).filter(|&offset| is_in(&coordinates(offset, dims))).collect::<Vec<_>>()
        };
        let in_slab =
            |axes: &[[u64; 4]], point: &[u64]| axes.iter().zip(point).all(|(axis, &x)| in_axis(*axis, x));
        match self {
            Recipe::None => Vec::new(),
            Recipe::All => all(&|_| true),
            Recipe::Slab(axes) => all(&|point| in_slab(axes, point)),
            Recipe::Unlimited(axes, d, is_count) => {
                let axes = unlimited(axes, *d, *is_count);
                all(&|point| in_slab(&axes, point))
            }
            Recipe::Points(points) => points.iter().map(|point| offset_of(point, dims)).collect(),
            Recipe::Boxes(boxes) => all(&|point| {
                boxes.iter().any(|(a, b)| (0..dims.len()).all(|d| a[d] <= point[d] && point[d] <= b[d]))
            }),
        }
    }
}

/// A slab axis that lies within `dim`.
fn axis_in(dim: u64) -> impl Strategy<Value = [u64; 4]> {
    (0..dim, 1..=dim, 0u64..3, 0..=dim).prop_map(move |(start, block, gap, count)| {
        let block = block.min(dim - start);
        let stride = block + gap;
        let count = count.min((dim - start - block) / stride + 1);
        [start, stride, count, block]
    })
}

fn axes_in(dims: &[u64]) -> impl Strategy<Value = Vec<[u64; 4]>> + use<> {
    dims.iter().map(|&dim| axis_in(dim)).collect::<Vec<_>>()
}

fn point_in(dims: &[u64]) -> impl Strategy<Value = Vec<u64>> + use<> {
    dims.iter().map(|&dim| 0..dim).collect::<Vec<_>>()
}

fn box_in(dims: &[u64]) -> impl Strategy<Value = (Vec<u64>, Vec<u64>)> + use<> {
    (point_in(dims), point_in(dims)).prop_map(|(a, b)| {
        let corners = a.iter().zip(&b);
        corners.map(|(&a, &b)| (a.min(b), a.max(b))).unzip()
    })
}

fn dims() -> impl Strategy<Value = Vec<u64>> {
    prop_oneof![
        proptest::collection::vec(1u64..24, 1..=1),
        proptest::collection::vec(1u64..9, 2..=2),
        proptest::collection::vec(1u64..6, 3..=3),
        proptest::collection::vec(1u64..4, 4..=4),
    ]
}

fn recipe_in(dims: &[u64]) -> impl Strategy<Value = Recipe> + use<> {
    let rank = dims.len();
    prop_oneof![
        1 => Just(Recipe::None),
        1 => Just(Recipe::All),
        6 => axes_in(dims).prop_map(Recipe::Slab),
        3 => (axes_in(dims), 0..rank, any::<bool>()).prop_map(|(axes, d, c)| Recipe::Unlimited(axes, d, c)),
        3 => proptest::collection::vec(point_in(dims), 0..20).prop_map(Recipe::Points),
        6 => proptest::collection::vec(box_in(dims), 1..7).prop_map(Recipe::Boxes),
    ]
}

/// An extent and a selection in it.
fn case() -> impl Strategy<Value = (Vec<u64>, Recipe)> {
    dims().prop_flat_map(|dims| (Just(dims.clone()), recipe_in(&dims)))
}

fn pair() -> impl Strategy<Value = (Vec<u64>, Recipe, Recipe)> {
    dims().prop_flat_map(|dims| (Just(dims.clone()), recipe_in(&dims), recipe_in(&dims)))
}

/// Offsets of the runs, one by one; runs that touch must have been merged.
fn expanded(selection: &Selection, dims: &[u64]) -> Vec<u64> {
    let runs: Vec<Run> = selection.runs(dims).unwrap().collect();
    assert!(runs.iter().all(|run| run.len > 0));
    assert!(runs.windows(2).all(|pair| pair[0].offset + pair[0].len != pair[1].offset), "{runs:?}");
    runs.iter().flat_map(|run| run.offset..run.offset + run.len).collect()
}
