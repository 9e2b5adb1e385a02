use super::*;

fn words(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

fn decode(bytes: &[u8]) -> Result<(Selection, usize)> {
    Selection::decode(bytes, None, &Limits::default())
}

proptest! {
    #[test]
    fn broken_bytes_never_panic((dims, recipe) in case(), at in any::<prop::sample::Index>(), value in any::<u8>(), version in 0..3) {
        let version = [SelectionVersion::V18, SelectionVersion::V110, SelectionVersion::V112][version as usize];
        let mut bytes = recipe.build(dims.len()).encode(version).unwrap();
        let at = at.index(bytes.len());
        bytes[at] = value;
        if let Ok((selection, _)) = decode(&bytes) {
            let _ = selection.element_count(&dims);
            let _ = selection.runs(&dims).map(|runs| runs.take(1000).count());
        }
        let _ = decode(&bytes[..at]);
    }

    #[test]
    fn random_bytes_never_panic(class in 0u32..5, version in 0u32..5, tail in proptest::collection::vec(any::<u8>(), 0..200)) {
        let mut bytes = words(&[class, version]);
        bytes.extend(tail);
        let _ = decode(&bytes);
    }

    #[test]
    fn huge_numbers_never_panic(numbers in proptest::collection::vec(prop_oneof![Just(0), Just(1), Just(u64::MAX), Just(u64::MAX - 1), Just(1 << 63), any::<u64>()], 8)) {
        let (dims, n) = ([1 << 31, 1 << 31], &numbers);
        let made = Selection::hyperslab(&n[..2], &n[2..4], &n[4..6], &n[6..]);
        if let Ok(selection) = made {
            let _ = selection.validate(&dims);
            let _ = selection.element_count(&dims);
            let _ = selection.bounds(&dims);
            let _ = selection.translate(&[i64::MAX, i64::MIN]);
            let _ = selection.contains(&dims, &n[..2]);
            let _ = selection.chunk_runs(&dims, &n[..2], &[7, 7]).map(Iterator::count);
            let _ = selection.chunks(&dims, &[1 << 20, 3]).map(|chunks| chunks.take(100).count());
            let _ = selection.strips(&dims, 1 << 20).map(|strips| strips.take(3).count());
            let _ = selection.combine(SetOp::And, &Selection::All, &dims);
            for version in [SelectionVersion::V110, SelectionVersion::V112] {
                let again = selection.encode(version).map(|bytes| decode(&bytes).unwrap().0);
                prop_assert_eq!(again.as_ref().ok(), Some(&selection));
            }
        }
    }
}

#[test]
fn counts_must_fit_the_bytes() {
    assert!(decode(&words(&[1, 1, 0, 0, 2, 1_000_000, 1, 1])).is_err());
    assert!(decode(&words(&[2, 1, 0, 0, 2, 1_000_000, 1, 1, 1, 1])).is_err());
    let limits = Limits::strict();
    let big = words(&[1, 1, 0, 0, 1, u32::MAX]);
    assert_eq!(Selection::decode(&big, None, &limits).unwrap_err().kind(), crate::Kind::Limit);
}

#[test]
fn broken_selections_are_refused() {
    assert!(decode(&words(&[2, 1, 0, 16, 1, 1, 5, 4])).is_err(), "a block that ends before it starts");
    assert!(decode(&words(&[2, 1, 0, 8, 0, 0])).is_err(), "rank 0");
    assert!(decode(&words(&[2, 1, 0, 8, 33, 0])).is_err(), "rank 33");
    assert!(decode(&words(&[4, 1, 0, 0])).is_err(), "class 4");
    assert!(Selection::hyperslab(&[0], &[2], &[2], &[3]).is_err(), "overlapping blocks");
    assert!(Selection::hyperslab(&[0, 0], &[1, 1], &[1, 1], &[UNLIMITED; 2]).is_err(), "two unlimited");
    assert!(Selection::block(&[u64::MAX - 1], &[5]).is_err(), "beyond 64 bits");
    let block = Selection::block(&[5], &[6]).unwrap();
    assert!(block.validate(&[10]).is_err() && block.validate(&[11]).is_ok());
    assert!(block.runs(&[10]).is_err() && block.validate(&[11, 1]).is_err());
}

#[test]
fn hostile_unions_end_at_the_limit() {
    // Overlapping boxes of 8 dimensions: 400 of them, 25 KiB, would make a tree of billions of spans.
    let (rank, count) = (8, 400);
    let mut bytes = words(&[2, 1, 0, 0, rank, count]);
    let mut seed = 3;
    for _ in 0..count {
        let low: Vec<u32> = (0..rank).map(|_| super::speed::random(&mut seed) as u32 % 100).collect();
        bytes.extend(words(&low));
        bytes.extend(words(&low.iter().map(|x| x + 50).collect::<Vec<_>>()));
    }
    let begun = std::time::Instant::now();
    let refused = Selection::decode(&bytes, None, &Limits::strict()).unwrap_err();
    assert_eq!(refused.kind(), crate::Kind::Limit);
    assert!(begun.elapsed().as_secs() < 5, "{:?}", begun.elapsed());
}
