use super::*;
use std::collections::BTreeSet;

fn sorted(mut offsets: Vec<u64>) -> Vec<u64> {
    offsets.sort_unstable();
    offsets.dedup();
    offsets
}

fn naive(op: SetOp, a: &BTreeSet<u64>, b: &BTreeSet<u64>) -> Vec<u64> {
    match op {
        SetOp::Set => b.iter().copied().collect(),
        SetOp::Or => a.union(b).copied().collect(),
        SetOp::And => a.intersection(b).copied().collect(),
        SetOp::Xor => a.symmetric_difference(b).copied().collect(),
        SetOp::NotB => a.difference(b).copied().collect(),
        SetOp::NotA => b.difference(a).copied().collect(),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]

    #[test]
    fn runs_are_the_selection_in_order((dims, recipe) in case()) {
        let selection = recipe.build(dims.len());
        let model = recipe.model(&dims);
        prop_assert_eq!(selection.element_count(&dims).unwrap(), model.len() as u64);
        prop_assert_eq!(expanded(&selection, &dims), model);
    }

    #[test]
    fn set_operations_match_sets((dims, a, b) in pair()) {
        let (x, y) = (a.build(dims.len()), b.build(dims.len()));
        let sets: [BTreeSet<u64>; 2] = [&a, &b].map(|recipe| recipe.model(&dims).into_iter().collect());
        for op in [SetOp::Or, SetOp::And, SetOp::Xor, SetOp::NotA, SetOp::NotB, SetOp::Set] {
            let combined = x.combine(op, &y, &dims).unwrap();
            prop_assert_eq!(sorted(expanded(&combined, &dims)), naive(op, &sets[0], &sets[1]), "{:?}", op);
        }
    }

    #[test]
    fn equal_sets_are_equal_values((dims, a, b) in pair()) {
        let (x, y) = (a.build(dims.len()), b.build(dims.len()));
        let union = x.combine(SetOp::Or, &y, &dims).unwrap();
        let (left, right) = (x.combine(SetOp::NotB, &y, &dims).unwrap(), y.combine(SetOp::NotB, &x, &dims).unwrap());
        let both = x.combine(SetOp::And, &y, &dims).unwrap();
        let again = left.combine(SetOp::Or, &right, &dims).unwrap().combine(SetOp::Or, &both, &dims).unwrap();
        let is_points = |s: &Selection| matches!(s, Selection::Points(_));
        if ![&union, &again].into_iter().any(is_points) {
            prop_assert_eq!(union, again);
        }
    }

    #[test]
    fn bounds_and_contains_match((dims, recipe) in case()) {
        let selection = recipe.build(dims.len());
        let model = recipe.model(&dims);
        let points: Vec<Vec<u64>> = model.iter().map(|&offset| coordinates(offset, &dims)).collect();
        let corner = |pick: fn(u64, u64) -> u64| points.iter().cloned().reduce(|a, b| a.iter().zip(&b).map(|(&a, &b)| pick(a, b)).collect());
        let expected = corner(u64::min).zip(corner(u64::max));
        prop_assert_eq!(selection.bounds(&dims).unwrap(), expected);
        for offset in 0..dims.iter().product() {
            let is_in = selection.contains(&dims, &coordinates(offset, &dims)).unwrap();
            prop_assert_eq!(is_in, model.contains(&offset));
        }
    }

    #[test]
    fn blocks_are_disjoint_and_complete((dims, recipe) in case()) {
        let selection = recipe.build(dims.len());
        let mut found = Vec::new();
        let mut count = 0;
        for (low, high) in selection.blocks(&dims).unwrap() {
            let shape: Vec<u64> = low.iter().zip(&high).map(|(a, b)| b - a + 1).collect();
            found.extend(expanded(&Selection::block(&low, &shape).unwrap(), &dims));
            count += 1;
        }
        prop_assert_eq!(selection.block_count(&dims).unwrap(), count);
        let mut model = recipe.model(&dims);
        model.sort_unstable();
        found.sort_unstable();
        prop_assert_eq!(found, model);
    }

    #[test]
    fn moved_selections_keep_their_shape((dims, recipe) in case()) {
        let selection = recipe.build(dims.len()).clip(&dims).unwrap();
        let offset: Vec<i64> = (1..=dims.len() as i64).collect();
        let larger: Vec<u64> = dims.iter().zip(&offset).map(|(dim, by)| dim + *by as u64).collect();
        let moved = selection.translate(&offset).unwrap();
        if selection != Selection::All {
            let expected: Vec<u64> = recipe.model(&dims).iter().map(|&at| {
                let point: Vec<u64> = coordinates(at, &dims).iter().zip(&offset).map(|(x, by)| x + *by as u64).collect();
                offset_of(&point, &larger)
            }).collect();
            prop_assert_eq!(expanded(&moved, &larger), expected);
            let back: Vec<i64> = offset.iter().map(|by| -by).collect();
            prop_assert_eq!(&moved.translate(&back).unwrap(), &selection);
        }
        let moved_dims = match selection {
            Selection::All => &dims,
            _ => &larger,
        };
        prop_assert!(shape_same(&selection, &dims, &moved, moved_dims).unwrap());
    }

    #[test]
    fn shape_same_compares_relative_coordinates((dims, a, b) in pair()) {
        let same = shape_same(&a.build(dims.len()), &dims, &b.build(dims.len()), &dims).unwrap();
        prop_assert_eq!(same, relative(&a, &dims) == relative(&b, &dims));
    }

    #[test]
    fn leading_single_coordinates_do_not_change_the_shape((dims, recipe) in case(), at in 0u64..3) {
        let selection = recipe.build(dims.len()).clip(&dims).unwrap();
        let mut larger = vec![3];
        larger.extend(&dims);
        let lifted = match &recipe {
            Recipe::Points(points) => {
                let lifted = points.iter().flat_map(|point| std::iter::once(at).chain(point.iter().copied()));
                Selection::points(larger.len(), lifted.collect()).unwrap()
            }
            _ => {
                let lifted: Vec<u64> = selection.blocks(&dims).unwrap().flat_map(|(low, high)| {
                    [vec![at], low, vec![at], high].concat()
                }).collect();
                Selection::union_of_blocks(larger.len(), &lifted).unwrap()
            }
        };
        prop_assert!(shape_same(&selection, &dims, &lifted, &larger).unwrap());
        prop_assert!(shape_same(&lifted, &larger, &selection, &dims).unwrap());
    }

    #[test]
    fn points_have_the_shape_of_a_hyperslab_only_in_its_order((dims, recipe) in case()) {
        let selection = recipe.build(dims.len());
        let mut offsets = recipe.model(&dims);
        let listed = |offsets: &[u64]| {
            Selection::points(dims.len(), offsets.iter().flat_map(|&at| coordinates(at, &dims)).collect()).unwrap()
        };
        prop_assert!(shape_same(&selection, &dims, &listed(&offsets), &dims).unwrap());
        prop_assert!(shape_same(&listed(&offsets), &dims, &selection, &dims).unwrap());
        let reversed: Vec<u64> = offsets.iter().rev().copied().collect();
        if !matches!(recipe, Recipe::Points(_)) && offsets.len() > 1 {
            prop_assert!(!shape_same(&selection, &dims, &listed(&reversed), &dims).unwrap());
            // The same set but for one point that comes twice.
            offsets[0] = offsets[1];
            prop_assert!(!shape_same(&listed(&offsets), &dims, &selection, &dims).unwrap());
        }
    }

    #[test]
    fn serialized_selections_read_back((dims, recipe) in case()) {
        let selection = recipe.build(dims.len());
        for version in [SelectionVersion::V18, SelectionVersion::V110, SelectionVersion::V112] {
            let bytes = selection.encode(version).unwrap();
            let (again, used) = Selection::decode(&bytes, Some(dims.len()), &Limits::default()).unwrap();
            prop_assert_eq!(used, bytes.len());
            prop_assert_eq!(&again, &selection);
        }
    }
}

fn relative(recipe: &Recipe, dims: &[u64]) -> Vec<Vec<u64>> {
    let points: Vec<Vec<u64>> = recipe.model(dims).iter().map(|&offset| coordinates(offset, dims)).collect();
    let low: Vec<u64> = (0..dims.len()).map(|d| points.iter().map(|p| p[d]).min().unwrap_or(0)).collect();
    points.iter().map(|p| p.iter().zip(&low).map(|(x, low)| x - low).collect()).collect()
}

#[test]
fn whole_rows_are_one_run() {
    let dims = [10, 20, 30];
    let rows = Selection::block(&[3, 0, 0], &[4, 20, 30]).unwrap();
    assert_eq!(rows.runs(&dims).unwrap().collect::<Vec<_>>(), [Run { offset: 1800, len: 2400 }]);
    assert_eq!(Selection::All.runs(&dims).unwrap().collect::<Vec<_>>(), [Run { offset: 0, len: 6000 }]);
}

#[test]
fn a_scalar_has_one_element() {
    assert_eq!(Selection::All.runs(&[]).unwrap().collect::<Vec<_>>(), [Run { offset: 0, len: 1 }]);
    assert_eq!(Selection::None.runs(&[]).unwrap().count(), 0);
    assert_eq!(Selection::All.element_count(&[]).unwrap(), 1);
    assert_eq!(Selection::All.chunks(&[], &[]).unwrap().collect::<Vec<_>>(), [Vec::<u64>::new()]);
    assert!(shape_same(&Selection::All, &[], &Selection::block(&[4], &[1]).unwrap(), &[9]).unwrap());
}

#[test]
fn an_empty_extent_has_no_runs() {
    for dims in [&[0][..], &[4, 0], &[0, 4]] {
        assert_eq!(Selection::All.runs(dims).unwrap().count(), 0);
        assert_eq!(Selection::All.chunks(dims, &vec![2; dims.len()]).unwrap().count(), 0);
        assert_eq!(Selection::All.strips(dims, 5).unwrap().count(), 0);
    }
}

#[test]
fn a_hyperslab_remembers_how_it_was_declared() {
    let touching = Selection::hyperslab(&[1, 0], &[2, 1], &[3, 4], &[2, 1]).unwrap();
    assert_eq!(touching, Selection::block(&[1, 0], &[6, 4]).unwrap());
    let Selection::Regular(regular) = &touching else { panic!("not regular") };
    assert_eq!(regular.declared(), [[1, 2, 3, 2], [0, 1, 4, 1]]);
    let Selection::Regular(block) = Selection::block(&[1, 0], &[6, 4]).unwrap() else {
        panic!("not regular")
    };
    assert_eq!(block.declared(), [[1, 1, 1, 6], [0, 1, 1, 4]]);
}
