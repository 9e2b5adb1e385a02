use model::properties::VirtualMapping;
use model::{Dataspace, Kind, Selection, UNLIMITED};

use super::mapping::matched;
use super::read::in_order;
use super::*;

fn mapping(source: Selection, target: Selection) -> VirtualMapping {
    VirtualMapping { file: ".".into(), dataset: "d".into(), source, target }
}

#[test]
fn unlimited_mapping_ends_with_the_shorter_side() {
    // The source grows along its first axis in blocks of two, the target along its second.
    let source = Selection::hyperslab(&[1, 0], &[3, 1], &[UNLIMITED, 1], &[2, 4]).unwrap();
    let target = Selection::hyperslab(&[0, 0], &[1, 1], &[1, UNLIMITED], &[4, 1]).unwrap();
    let mapping = mapping(source, target);
    for (rows, columns, slices) in [(9, 10, 6), (3, 10, 2), (6, 10, 4), (5, 10, 3), (9, 5, 5), (1, 9, 0)] {
        let (source, target) = matched(&mapping, &[rows, 4], &[4, columns]).unwrap();
        assert_eq!(target.element_count(&[4, columns]).unwrap(), slices * 4);
        assert_eq!(source.element_count(&[rows, 4]).unwrap(), slices * 4);
    }
}

#[test]
fn one_unlimited_side_is_refused() {
    let unlimited = Selection::hyperslab(&[0], &[1], &[UNLIMITED], &[1]).unwrap();
    let space = Dataspace::resizable(&[3], &[UNLIMITED]).unwrap();
    let mappings = [mapping(Selection::All, unlimited)];
    assert_eq!(check(&mappings, &space).unwrap_err().kind(), Kind::Invalid);
}

#[test]
fn points_are_read_in_c_order_and_given_back_in_theirs() {
    let Selection::Points(points) = Selection::points(1, vec![4, 1, 4, 9]).unwrap() else { panic!("points") };
    let (ordered, positions) = in_order(&points).unwrap();
    assert_eq!(ordered, Selection::points(1, vec![1, 4, 9]).unwrap());
    assert_eq!(positions, [1, 0, 1, 2]);
}
