//! Bytes that libhdf5 wrote; `tests/make_space_golden.py` made them.

use super::*;
use crate::dataspace::Dataspace;

fn golden() -> impl Iterator<Item = (&'static str, SelectionVersion, Vec<u8>)> {
    include_str!("../../../tests/space_golden.txt").lines().map(|line| {
        let [name, bound, hex] = line.split(' ').collect::<Vec<_>>().try_into().unwrap();
        let version = match bound {
            "18" => SelectionVersion::V18,
            "110" => SelectionVersion::V110,
            _ => SelectionVersion::V112,
        };
        let byte = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap();
        (name, version, hex.as_bytes().chunks(2).map(byte).collect())
    })
}

fn slab(start: &[u64], count: &[u64], stride: &[u64], block: &[u64]) -> Selection {
    Selection::hyperslab(start, stride, count, block).unwrap()
}

fn expected(name: &str) -> (Dataspace, Selection) {
    let plain = Dataspace::simple(&[100, 200]).unwrap();
    let line = Dataspace::resizable(&[9], &[UNLIMITED]).unwrap();
    let far = Dataspace::simple(&[1 << 40]).unwrap();
    match name {
        "null" => (Dataspace::Null, Selection::All),
        "scalar" => (Dataspace::Scalar, Selection::All),
        "all" => (Dataspace::resizable(&[100, 200], &[UNLIMITED, 200]).unwrap(), Selection::All),
        "none" => (plain, Selection::None),
        "block" => (plain, Selection::block(&[2, 3], &[4, 5]).unwrap()),
        "strided" => (plain, slab(&[2, 3], &[4, 5], &[10, 20], &[2, 3])),
        "touching" => (plain, Selection::block(&[2, 3], &[8, 15]).unwrap()),
        "two_blocks" => (plain, Selection::union_of_blocks(2, &[3, 5, 6, 8, 1, 2, 3, 5]).unwrap()),
        "unlimited_count" => (line, slab(&[2], &[UNLIMITED], &[4], &[2])),
        "unlimited_touching" => (line, slab(&[2], &[UNLIMITED], &[4], &[4])),
        "unlimited_block" => {
            let space = Dataspace::resizable(&[9, 9], &[UNLIMITED, 9]).unwrap();
            (space, slab(&[2, 0], &[1, 1], &[1, 1], &[UNLIMITED, 3]))
        }
        "points" => (plain, Selection::points(2, vec![5, 6, 1, 2, 99, 199, 5, 6]).unwrap()),
        "far_block" => (far, slab(&[1 << 33], &[2], &[9], &[7])),
        "wide" => (Dataspace::simple(&[1 << 20]).unwrap(), Selection::block(&[0], &[65535]).unwrap()),
        "three" => (Dataspace::simple(&[90, 9]).unwrap(), slab(&[0, 1], &[3, 1], &[4, 1], &[2, 2])),
        "far_blocks" => {
            let corners = [5, 8, 1 << 33, (1 << 33) + 6];
            (far, Selection::union_of_blocks(1, &corners).unwrap())
        }
        "far_points" => (far, Selection::points(1, vec![(1 << 33) + 1, 5]).unwrap()),
        _ => panic!("no case {name}"),
    }
}

#[test]
fn what_libhdf5_encodes_we_decode() {
    for (name, version, bytes) in golden() {
        let (space, selection) = expected(name);
        assert_eq!(
            decode_space(&bytes, &Limits::default()).unwrap(),
            (space, selection, bytes.len()),
            "{name} {version:?}"
        );
    }
}

#[test]
fn we_encode_the_same_bytes() {
    for (name, version, bytes) in golden() {
        let (space, selection) = expected(name);
        assert_eq!(encode_space(&space, &selection, version).unwrap(), bytes, "{name} {version:?}");
    }
}
