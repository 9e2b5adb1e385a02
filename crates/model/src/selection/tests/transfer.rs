use super::*;
use std::collections::BTreeSet;

fn with_chunks() -> impl Strategy<Value = (Vec<u64>, Recipe, Vec<u64>)> {
    case().prop_flat_map(|(dims, recipe)| {
        let shape = dims.iter().map(|&dim| 1..=dim + 1).collect::<Vec<_>>();
        (Just(dims), Just(recipe), shape)
    })
}

/// Another selection with as many elements, in another extent where possible.
fn naive_projection(src: &[u64], intersect: &BTreeSet<u64>, dst: &[u64]) -> Vec<u64> {
    let places = src.iter().zip(dst).filter(|(offset, _)| intersect.contains(offset));
    places.map(|(_, &place)| place).collect()
}

/// The expected runs of one chunk, one element each.
fn naive_chunk(model: &[u64], dims: &[u64], start: &[u64], shape: &[u64]) -> Vec<(u64, u64)> {
    let elements = model.iter().enumerate().filter_map(|(n, &offset)| {
        let point = coordinates(offset, dims);
        let relative: Option<Vec<u64>> =
            point.iter().zip(start).map(|(x, low)| x.checked_sub(*low)).collect();
        let relative = relative.filter(|r| r.iter().zip(shape).all(|(x, len)| x < len))?;
        Some((offset_of(&relative, shape), n as u64))
    });
    elements.collect()
}

/// Copies a chunk's elements of `bytes` each out and back in, and compares with the naive runs.
fn copies_agree(
    runs: impl Fn() -> ChunkRuns,
    naive: &[(u64, u64)],
    chunk_len: u64,
    count: usize,
    bytes: usize,
) {
    let chunk: Vec<u8> = (0..chunk_len as usize * bytes).map(|n| (n * 7 + 1) as u8).collect();
    let mut expected = vec![0xEE; count * bytes];
    let mut back = vec![0xEE; chunk.len()];
    for &(place, n) in naive {
        let (place, n) = (place as usize * bytes, n as usize * bytes);
        expected[n..n + bytes].copy_from_slice(&chunk[place..place + bytes]);
        back[place..place + bytes].copy_from_slice(&chunk[place..place + bytes]);
    }
    let mut into = vec![0xEE; count * bytes];
    runs().copy_out(bytes, &chunk, 0, &mut into).unwrap();
    assert_eq!(into, expected);
    let mut again = vec![0xEE; chunk.len()];
    runs().copy_in(bytes, &into, &mut again).unwrap();
    assert_eq!(again, back);
    // What was iterated is not copied again.
    let mut rest = runs();
    if let Some(first) = rest.next() {
        let mut into = vec![0xEE; count * bytes];
        rest.copy_out(bytes, &chunk, 0, &mut into).unwrap();
        let skipped =
            first.selection_offset as usize * bytes..(first.selection_offset + first.len) as usize * bytes;
        expected[skipped].fill(0xEE);
        assert_eq!(into, expected);
    }
    if let Some(&(place, n)) = naive.last() {
        let short = &chunk[..place as usize * bytes];
        assert!(runs().copy_out(bytes, short, 0, &mut into).is_err());
        assert!(runs().copy_in(bytes, &into[..n as usize * bytes], &mut again).is_err());
    }
}

fn flat(runs: ChunkRuns) -> Vec<(u64, u64)> {
    runs.flat_map(|run| (0..run.len).map(move |n| (run.chunk_offset + n, run.selection_offset + n))).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]

    #[test]
    fn chunks_are_those_touched_and_runs_cover_them((dims, recipe, shape) in with_chunks()) {
        let selection = recipe.build(dims.len());
        let model = recipe.model(&dims);
        let chunk_coords = |offset: u64| coordinates(offset, &dims).iter().zip(&shape).map(|(x, len)| x / len).collect::<Vec<_>>();
        let expected: BTreeSet<Vec<u64>> = model.iter().map(|&offset| chunk_coords(offset)).collect();
        let chunks: Vec<Vec<u64>> = selection.chunks(&dims, &shape).unwrap().collect();
        prop_assert_eq!(&chunks, &expected.into_iter().collect::<Vec<_>>());
        for chunk in &chunks {
            let start: Vec<u64> = chunk.iter().zip(&shape).map(|(n, len)| n * len).collect();
            let naive = naive_chunk(&model, &dims, &start, &shape);
            prop_assert_eq!(flat(selection.chunk_runs(&dims, &start, &shape).unwrap()), naive.clone());
            let chunk_len = shape.iter().product();
            for bytes in [1, 2, 3, 4, 8, 13, 16] {
                let runs = || selection.chunk_runs(&dims, &start, &shape).unwrap();
                copies_agree(runs, &naive, chunk_len, model.len(), bytes);
            }
            if let Selection::Points(points) = &selection {
                let index = PointIndex::new(points, &shape).unwrap();
                prop_assert_eq!(flat(index.chunk_runs(chunk).unwrap()), naive.clone());
                copies_agree(|| index.chunk_runs(chunk).unwrap(), &naive, chunk_len, model.len(), 4);
                copies_agree(|| index.chunk_runs(chunk).unwrap(), &naive, chunk_len, model.len(), 5);
            }
        }
    }

    #[test]
    fn any_box_gives_its_runs_and_its_part((dims, recipe, shape) in with_chunks(), at in 0u64..4) {
        let selection = recipe.build(dims.len());
        let model = recipe.model(&dims);
        let start: Vec<u64> = dims.iter().map(|&dim| at.min(dim)).collect();
        let naive = naive_chunk(&model, &dims, &start, &shape);
        prop_assert_eq!(flat(selection.chunk_runs(&dims, &start, &shape).unwrap()), naive.clone());
        let part = selection.intersect_block(&dims, &start, &shape).unwrap();
        let expected: Vec<u64> = naive.iter().map(|&(_, n)| model[n as usize]).collect();
        prop_assert_eq!(expanded(&part, &dims), expected);
    }

    #[test]
    fn strips_follow_one_another((dims, recipe) in case(), max in 1u64..40) {
        let selection = recipe.build(dims.len());
        let mut found = Vec::new();
        for strip in selection.strips(&dims, max).unwrap() {
            let count = strip.element_count(&dims).unwrap();
            prop_assert!(count >= 1 && count <= max);
            if matches!(selection, Selection::Regular(_)) && !selection.is_unlimited() {
                prop_assert!(matches!(strip, Selection::Regular(_)));
            }
            found.extend(expanded(&strip, &dims));
        }
        prop_assert_eq!(found, recipe.model(&dims));
    }

    #[test]
    fn strips_between_chunks_follow_one_another((dims, recipe, shape) in with_chunks(), max in 1u64..40) {
        let selection = recipe.build(dims.len());
        let mut found = Vec::new();
        for strip in selection.strips(&dims, max).unwrap().between_chunks(&shape).unwrap() {
            let count = strip.element_count(&dims).unwrap();
            prop_assert!(count >= 1 && count <= max);
            found.extend(expanded(&strip, &dims));
        }
        prop_assert_eq!(found, recipe.model(&dims));
    }

    #[test]
    fn projections_keep_the_order((dims, a, b) in pair(), c in case()) {
        // The first elements of both selections, as many as the smaller has.
        let (other_dims, c) = c;
        let (src, dst) = (a.build(dims.len()), c.build(other_dims.len()));
        let (src_model, dst_model) = (a.model(&dims), c.model(&other_dims));
        let n = src_model.len().min(dst_model.len());
        let cut = |s: &Selection, dims: &[u64]| s.strips(dims, n.max(1) as u64).unwrap().next().unwrap_or(Selection::None);
        let (src, dst) = (cut(&src, &dims), cut(&dst, &other_dims));
        let n = src.element_count(&dims).unwrap().min(dst.element_count(&other_dims).unwrap());
        let (src, dst) = (first(&src, &dims, n), first(&dst, &other_dims, n));
        let intersect: BTreeSet<u64> = b.model(&dims).into_iter().collect();
        let projected = project_intersection(&src, &dims, &b.build(dims.len()), &dst, &other_dims).unwrap();
        let naive = naive_projection(&src_model[..n as usize], &intersect, &dst_model[..n as usize]);
        prop_assert_eq!(expanded(&projected, &other_dims), naive);
    }

    #[test]
    fn projections_between_equal_slabs_keep_the_order((dims, a, b) in pair()) {
        let src = a.build(dims.len()).clip(&dims).unwrap();
        if src != Selection::All {
            let by = vec![2; dims.len()];
            let larger: Vec<u64> = dims.iter().map(|dim| dim + 2).collect();
            let dst = src.translate(&by).unwrap();
            let dst_model = expanded(&dst, &larger);
            let intersect: BTreeSet<u64> = b.model(&dims).into_iter().collect();
            let projected = project_intersection(&src, &dims, &b.build(dims.len()), &dst, &larger).unwrap();
            prop_assert_eq!(expanded(&projected, &larger), naive_projection(&a.model(&dims), &intersect, &dst_model));
        }
    }
}

/// The first `n` elements, by uniting strips of one element.
fn first(selection: &Selection, dims: &[u64], n: u64) -> Selection {
    let strips: Vec<Selection> = selection.strips(dims, 1).unwrap().take(n as usize).collect();
    match selection {
        Selection::Points(points) => {
            Selection::points(points.rank(), points.coords()[..n as usize * points.rank()].to_vec()).unwrap()
        }
        _ => strips.iter().fold(Selection::None, |a, b| a.combine(SetOp::Or, b, dims).unwrap()),
    }
}

#[test]
fn strips_hold_whole_rows_of_chunks_where_one_fits() {
    let dims = [50, 10];
    let rows = |selection: &Selection, max: u64| -> Vec<u64> {
        let strips = selection.strips(&dims, max).unwrap().between_chunks(&[8, 4]).unwrap();
        strips.map(|strip| strip.element_count(&dims).unwrap() / 10).collect()
    };
    assert_eq!(rows(&Selection::All, 200), [16, 16, 18]);
    assert_eq!(rows(&Selection::All, 70), [7, 1, 7, 1, 7, 1, 7, 1, 7, 1, 7, 3]);
    assert_eq!(rows(&Selection::block(&[3, 0], &[30, 10]).unwrap(), 110), [5, 8, 8, 9]);
    assert!(Selection::All.strips(&dims, 7).unwrap().between_chunks(&[0, 4]).is_err());
    assert!(
        Selection::block(&[0, 0], &[1, 1]).unwrap().strips(&dims, 7).unwrap().between_chunks(&[4]).is_err()
    );
}

#[test]
fn points_far_apart_are_grouped_as_those_close_by() {
    let coords = vec![1 << 28, 5, 3, 1 << 29, 1 << 28, 7, 3, 1 << 29, 1 << 28, 5];
    let Selection::Points(points) = Selection::points(2, coords).unwrap() else { panic!("not points") };
    let index = PointIndex::new(&points, &[10, 3]).unwrap();
    let chunks: Vec<Vec<u64>> = index.chunks().collect();
    let far = (1 << 28) / 10;
    assert_eq!(chunks, [vec![0, (1 << 29) / 3], vec![far, 1], vec![far, 2]]);
    assert_eq!(index.chunk_count(), 3);
    let row = (1u64 << 28) % 10 * 3;
    assert_eq!(flat(index.chunk_runs(&[far, 1]).unwrap()), [(row + 2, 0), (row + 2, 4)]);
    assert_eq!(flat(index.chunk_runs(&[far, 2]).unwrap()), [(row + 1, 2)]);
    for missing in [&[far, 3][..], &[0, 0], &[far + 1, 1], &[far]] {
        assert_eq!(index.chunk_runs(missing).unwrap().count(), 0);
    }
}

#[test]
fn points_of_an_uncountable_grid_are_refused() {
    let coords = vec![0, 0, 0, 1 << 40, 1 << 40, 1 << 40];
    let Selection::Points(points) = Selection::points(3, coords).unwrap() else { panic!("not points") };
    assert!(PointIndex::new(&points, &[1, 1, 1]).is_err());
    assert!(PointIndex::new(&points, &[1, 1]).is_err());
    assert!(PointIndex::new(&points, &[1, 0, 1]).is_err());
}
