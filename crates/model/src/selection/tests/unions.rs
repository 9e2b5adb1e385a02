use super::speed::random;
use super::*;

/// Blocks in an extent of 12 in each dimension.
fn blocks(rank: usize, count: usize, seed: &mut u64) -> Vec<(Vec<u64>, Vec<u64>)> {
    let mut block = || {
        let start: Vec<u64> = (0..rank).map(|_| random(seed) % 9).collect();
        (start, (0..rank).map(|_| 1 + random(seed) % 3).collect())
    };
    (0..count).map(|_| block()).collect()
}

fn united(blocks: &[(Vec<u64>, Vec<u64>)], dims: &[u64]) -> Selection {
    blocks.iter().fold(Selection::None, |all, (start, shape)| {
        all.combine(SetOp::Or, &Selection::block(start, shape).unwrap(), dims).unwrap()
    })
}

fn model(blocks: &[(Vec<u64>, Vec<u64>)], dims: &[u64]) -> Vec<u64> {
    let inside = |point: &[u64]| blocks.iter().any(|(start, shape)| in_box(point, start, shape));
    (0..dims.iter().product()).filter(|&offset| inside(&coordinates(offset, dims))).collect()
}

#[test]
fn blocks_united_one_by_one_are_the_union() {
    for rank in 1..=3 {
        let dims = vec![12; rank];
        for seed in 0..60 {
            let count = [1, 2, 15, 16, 17, 40, 120][seed as usize % 7];
            let blocks = blocks(rank, count, &mut (seed + 100));
            let union = united(&blocks, &dims);
            let expected = model(&blocks, &dims);
            assert_eq!(union.rank(), Some(rank));
            assert_eq!(expanded(&union, &dims), expected, "seed {seed}");
            let corners: Vec<u64> = blocks
                .iter()
                .flat_map(|(start, shape)| {
                    let last = start.iter().zip(shape).map(|(s, n)| s + n - 1);
                    start.iter().copied().chain(last).collect::<Vec<_>>()
                })
                .collect();
            let at_once = Selection::union_of_blocks(rank, &corners).unwrap();
            assert_eq!(union, at_once);
            assert_eq!(at_once, union);
            let bytes = union.encode(SelectionVersion::V112).unwrap();
            assert_eq!(bytes, at_once.encode(SelectionVersion::V112).unwrap());
            assert_eq!(union.blocks(&dims).unwrap().count(), at_once.blocks(&dims).unwrap().count());
            assert_eq!(union.translate(&vec![1; rank]).unwrap(), at_once.translate(&vec![1; rank]).unwrap());
            assert_eq!(union.bounds(&dims).unwrap(), at_once.bounds(&dims).unwrap());
        }
    }
}

#[test]
fn unions_that_share_a_beginning_do_not_mix() {
    let dims = [12, 12];
    let blocks = blocks(2, 90, &mut 5);
    let first = united(&blocks[..50], &dims);
    let add = |to: &Selection, range: std::ops::Range<usize>| {
        blocks[range].iter().fold(to.clone(), |all, (start, shape)| {
            all.combine(SetOp::Or, &Selection::block(start, shape).unwrap(), &dims).unwrap()
        })
    };
    let (left, right) = (add(&first, 50..70), add(&first, 70..90));
    assert_eq!(expanded(&first, &dims), model(&blocks[..50], &dims));
    assert_eq!(expanded(&left, &dims), model(&blocks[..70], &dims));
    assert_eq!(expanded(&right, &dims), model(&[&blocks[..50], &blocks[70..]].concat(), &dims));
    let both = left.combine(SetOp::Or, &right, &dims).unwrap();
    assert_eq!(both, united(&blocks, &dims));
    assert_eq!(left.combine(SetOp::And, &first, &dims).unwrap(), first);
    assert_eq!(first.combine(SetOp::NotB, &left, &dims).unwrap(), Selection::None);
    // Looked at, and then continued.
    assert_eq!(add(&left, 70..90), both);
}

#[test]
fn a_grid_of_blocks_is_regular_once_it_is_whole() {
    let dims = [100, 100];
    let mut grid = Selection::None;
    for n in 0..100 {
        let block = Selection::block(&[n / 10 * 10, n % 10 * 10], &[3, 4]).unwrap();
        grid = grid.combine(SetOp::Or, &block, &dims).unwrap();
    }
    let regular = Selection::hyperslab(&[0, 0], &[10, 10], &[10, 10], &[3, 4]).unwrap();
    assert_eq!(grid, regular);
    assert_eq!(regular, grid);
    assert_ne!(grid, Selection::All);
    assert!(matches!(grid.translate(&[0, 0]).unwrap(), Selection::Regular(_)));
    assert_eq!(grid.encode(SelectionVersion::V110).unwrap(), regular.encode(SelectionVersion::V110).unwrap());
    assert!(shape_same(&grid, &dims, &regular, &dims).unwrap());
    assert!(grid.combine(SetOp::Or, &Selection::block(&[0], &[1]).unwrap(), &dims).is_err());
    assert!(grid.combine(SetOp::Or, &Selection::block(&[0, 0], &[1, 1]).unwrap(), &[100]).is_err());
}

#[test]
fn nested_blocks_unite_although_all_overlap() {
    let corners: Vec<u64> = (0..3000u64).flat_map(|n| [n, n, 10_000 - n, 10_000 - n]).collect();
    let union = Selection::union_of_blocks(2, &corners).unwrap();
    assert_eq!(union, Selection::block(&[0, 0], &[10_001, 10_001]).unwrap());
    let crosses: Vec<u64> = (0..400u64)
        .flat_map(|n| [n, 1000 - n, 2000 - n, 1000 + n, 1000 - n, n, 1000 + n, 2000 - n])
        .collect();
    let union = Selection::union_of_blocks(2, &crosses).unwrap();
    assert!(union.contains(&[3000, 3000], &[1000, 1000]).unwrap());
    assert!(!union.contains(&[3000, 3000], &[0, 0]).unwrap());
}

#[test]
fn intervals_combine_to_the_union_of_their_blocks() {
    let (rows, columns) = ([0, 1, 4, 4, 7, 9], [2, 2, 5, 8]);
    let product = Selection::product_of_intervals(&[&rows, &columns]).unwrap();
    let blocks: Vec<_> = rows
        .as_chunks::<2>()
        .0
        .iter()
        .flat_map(|row| columns.as_chunks::<2>().0.iter().map(move |column| (row, column)))
        .map(|(row, column)| (vec![row[0], column[0]], vec![row[1] - row[0] + 1, column[1] - column[0] + 1]))
        .collect();
    assert_eq!(expanded(&product, &[12, 12]), model(&blocks, &[12, 12]));
    assert_eq!(Selection::product_of_intervals(&[&[], &columns]).unwrap(), Selection::None);
    for wrong in [&[3, 2][..], &[1, 4, 4, 5], &[5, 5, 1, 1], &[1]] {
        assert!(Selection::product_of_intervals(&[wrong]).is_err(), "{wrong:?}");
    }
}

#[test]
fn chunks_of_many_blocks_are_those_that_hold_their_elements() {
    for (rank, seed) in (1..=3).flat_map(|rank| (0..40).map(move |seed| (rank, seed))) {
        let (dims, shape) = (vec![12; rank], vec![1 + seed % 5; rank]);
        let union = united(&blocks(rank, 1 + seed as usize, &mut (seed + 7)), &dims);
        let found: Vec<Vec<u64>> = union.chunks(&dims, &shape).unwrap().collect();
        let of =
            |offset: u64| coordinates(offset, &dims).iter().zip(&shape).map(|(x, len)| x / len).collect();
        let expected: std::collections::BTreeSet<Vec<u64>> =
            expanded(&union, &dims).into_iter().map(of).collect();
        assert_eq!(found, expected.into_iter().collect::<Vec<_>>(), "seed {seed}");
    }
}
