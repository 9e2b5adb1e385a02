use super::*;
use std::time::{Duration, Instant};

/// A small generator, so that the blocks are the same in every run.
fn random(state: &mut u64) -> u64 {
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
