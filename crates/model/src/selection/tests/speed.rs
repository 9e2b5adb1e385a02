use super::*;
use std::time::{Duration, Instant};

/// A small generator, so that the blocks are the same in every run.
pub(super) fn random(state: &mut u64) -> u64 {
    *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    *state >> 33
}

#[test]
fn ten_thousand_random_blocks_unite_within_a_second() {
    let mut seed = 7;
    let mut corners = Vec::new();
    for _ in 0..10_000 {
        let [x, y, w, h] = [10_000, 10_000, 100, 100].map(|max| random(&mut seed) % max);
        corners.extend([x, y, x + w, y + h]);
    }
    let begun = Instant::now();
    let union = Selection::union_of_blocks(2, &corners).unwrap();
    assert!(union.element_count(&[10_100, 10_100]).unwrap() > 10_000_000);
    assert!(begun.elapsed() < Duration::from_secs(1), "{:?}", begun.elapsed());
}

#[test]
fn huge_regular_selections_cost_nothing_until_walked() {
    let dims = [1 << 30, 1 << 30];
    let slab = Selection::hyperslab(&[1, 1], &[4, 4], &[1 << 27, 1 << 27], &[2, 2]).unwrap();
    let begun = Instant::now();
    let runs = slab.chunk_runs(&dims, &[1 << 20, 1 << 20], &[8, 8]).unwrap();
    assert_eq!(runs.map(|run| run.len).sum::<u64>(), 16);
    assert_eq!(slab.chunks(&dims, &[1024, 1024]).unwrap().take(1000).count(), 1000);
    assert_eq!(slab.strips(&dims, 1 << 20).unwrap().take(100).count(), 100);
    assert!(begun.elapsed() < Duration::from_secs(1));
}

#[test]
fn projections_of_huge_slabs_are_arithmetic() {
    let dims = [1 << 40];
    let src = Selection::hyperslab(&[1], &[4], &[1 << 36], &[2]).unwrap();
    let dst = Selection::hyperslab(&[0], &[3], &[1 << 36], &[2]).unwrap();
    let window = Selection::block(&[1 << 30], &[1 << 35]).unwrap();
    let part = project_intersection(&src, &dims, &window, &dst, &dims).unwrap();
    assert_eq!(part.element_count(&dims).unwrap(), 1 << 34);
}

#[test]
#[ignore = "prints figures; run with --ignored --nocapture"]
fn figures() {
    let dims = [10_000, 10_000];
    let time = |name: &str, selection: &Selection| {
        let begun = Instant::now();
        let (mut runs, mut sum) = (0u64, 0u64);
        for run in selection.runs(&dims).unwrap() {
            (runs, sum) = (runs + 1, sum.wrapping_add(run.offset ^ run.len));
        }
        let each_ns = begun.elapsed().as_nanos() as f64 / runs as f64;
        println!("{name}: {runs} runs, {each_ns:.2} ns each ({sum})");
    };
    let strided = Selection::hyperslab(&[0, 0], &[1, 4], &[10_000, 2500], &[1, 2]).unwrap();
    time("strided", &strided);
    time("block", &Selection::block(&[0, 5], &[10_000, 900]).unwrap());
    let rows = Selection::hyperslab(&[0, 0], &[2, 1], &[5000, 1], &[1, 900]).unwrap();
    time("separate rows", &rows);
    let hole = strided.combine(SetOp::NotB, &Selection::block(&[500, 500], &[3, 3]).unwrap(), &dims).unwrap();
    time("tree", &hole);
    let mut seed = 5;
    let coords = (0..2_000_000).map(|_| random(&mut seed) % 10_000).collect();
    let points = Selection::points(2, coords).unwrap();
    time("points", &points);
    let Selection::Points(points) = &points else { return };
    let begun = Instant::now();
    let index = PointIndex::new(points, &[100, 100]).unwrap();
    println!("point index: {} chunks, {:?}", index.chunk_count(), begun.elapsed());
}
