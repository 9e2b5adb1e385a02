//! Local, global and fractal heaps.

use std::collections::HashMap;

use proptest::prelude::*;

use super::super::super::fractal_heap::{Child, Counts, FractalHeap, ObjectId, StoredSize};
use super::super::super::global_heap::HeapId;
use super::super::super::local_heap::LocalHeap;
use super::super::super::{Address, Sizes};
use super::super::fractal_heap::Client;
use super::super::global_heap::{COLLECTION_BYTES_MIN, Collection};
use super::super::local_heap::Segment;
use super::{EIGHT, address, bytes, maybe_address, number, sizes};

/// Insert a text of this length, or remove the one with this number.
#[derive(Debug, Clone)]
enum Step {
    Insert(usize),
    Remove(usize),
}

fn steps(len_max: usize) -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        3 => (0..len_max).prop_map(Step::Insert),
        2 => any::<usize>().prop_map(Step::Remove),
    ];
    prop::collection::vec(step, 0..120)
}

fn segment_again(segment: &Segment, sizes: Sizes) -> Segment {
    let header = LocalHeap { data_bytes: segment.len(), free: segment.first_free(), data: Address(64) };
    let header = LocalHeap::decode(&header.encode(sizes).unwrap(), sizes).unwrap();
    Segment::decode(&segment.encode().unwrap(), &header, sizes).unwrap()
}

proptest! {
    #[test]
    fn local_heaps_keep_their_texts(wide in any::<bool>(), steps in steps(70)) {
        let sizes = if wide { EIGHT } else { Sizes { offset: 4, length: 4 } };
        let mut segment = Segment::for_group(sizes).unwrap();
        let mut texts: Vec<(u64, Vec<u8>)> = vec![(0, Vec::new())];
        for (i, step) in steps.into_iter().enumerate() {
            match step {
                Step::Insert(len) => {
                    let text = vec![b'a' + (i % 26) as u8; len];
                    let offset = segment.insert(&text).unwrap();
                    prop_assert_eq!(offset % 8, 0);
                    texts.push((offset, text));
                }
                Step::Remove(n) if texts.len() > 1 => {
                    let (offset, _) = texts.swap_remove(1 + n % (texts.len() - 1));
                    segment.remove(offset).unwrap();
                }
                Step::Remove(_) => {}
            }
            for (offset, text) in &texts {
                prop_assert_eq!(segment.text(*offset).unwrap(), &text[..]);
            }
            segment = {
                let again = segment_again(&segment, sizes);
                prop_assert_eq!(again.encode().unwrap(), segment.encode().unwrap());
                prop_assert_eq!(again.len() % 8, 0);
                again
            };
        }
    }

    #[test]
    fn collections_keep_their_objects(sizes in sizes(), steps in steps(700)) {
        let mut collection = Collection::new(0, 0, sizes);
        let mut model: HashMap<u32, Vec<u8>> = HashMap::new();
        for (i, step) in steps.into_iter().enumerate() {
            let data = |len| vec![i as u8; len];
            match step {
                Step::Insert(len) => match collection.insert(&data(len)) {
                    Some(index) => prop_assert!(model.insert(index, data(len)).is_none()),
                    None => prop_assert!((collection.free_bytes() as usize) < len + 24),
                },
                Step::Remove(n) if n % 3 == 0 => {
                    let index = model.keys().copied().min().unwrap_or(1);
                    if collection.replace(index, &data(n % 90)) {
                        model.insert(index, data(n % 90));
                    }
                }
                Step::Remove(n) => {
                    let index = model.keys().copied().nth(n % model.len().max(1)).unwrap_or(9999);
                    prop_assert_eq!(collection.remove(index), model.remove(&index).is_some());
                }
            }
        }
        let encoded = collection.encode().unwrap();
        prop_assert_eq!(encoded.len() as u64, COLLECTION_BYTES_MIN);
        let again = Collection::decode(&encoded, sizes).unwrap();
        prop_assert_eq!(again.encode().unwrap(), encoded);
        prop_assert_eq!(again.free_bytes(), collection.free_bytes());
        prop_assert_eq!(again.is_empty(), model.is_empty());
        for (index, data) in &model {
            prop_assert_eq!(again.get(*index), Some(&data[..]));
        }
    }

    #[test]
    fn broken_segments_never_panic(mut data in prop::collection::vec(prop::sample::select(vec![0u8, 0, 0, 0, 1, 8, 16, 24, 255]), 0..160), free in prop::option::of(0u64..100), steps in steps(40)) {
        // Blocks in a row, so that some lists are nearly right.
        for (i, word) in data.chunks_exact_mut(16).enumerate() {
            if i % 3 == 1 {
                word.copy_from_slice(&[&((16 * i + 16) as u64).to_le_bytes()[..], &16u64.to_le_bytes()].concat());
            }
        }
        let header = LocalHeap { data_bytes: data.len() as u64, free, data: Address(64) };
        let Ok(mut segment) = Segment::decode(&data, &header, EIGHT) else { return Ok(()) };
        for step in steps {
            match step {
                Step::Insert(len) => drop(segment.insert(&vec![b'a'; len])),
                Step::Remove(n) => drop(segment.remove(n as u64 % segment.len().max(1))),
            }
            segment.encode().unwrap();
        }
    }

    #[test]
    fn broken_collections_never_panic(tail in prop::collection::vec(prop::sample::select(vec![0u8, 0, 0, 1, 2, 8, 255]), 0..200), index in 0u32..4) {
        let mut bytes = b"GCOL\x01\0\0\0".to_vec();
        bytes.extend((16 + tail.len() as u64).to_le_bytes());
        bytes.extend(tail);
        if let Ok(mut collection) = Collection::decode(&bytes, EIGHT) {
            let _ = (collection.insert(&[1; 9]), collection.replace(index, &[2; 30]), collection.remove(index));
            let _ = collection.encode();
        }
    }

    #[test]
    fn heap_ids_come_back(sizes in sizes(), collection in address(), index in 1u32..) {
        let id = Some(HeapId { collection, index });
        for id in [id, None] {
            let encoded = HeapId::encode(id, sizes).unwrap();
            prop_assert_eq!(HeapId::decode(&mut model::bytes::Cursor::new(&encoded, "ID"), sizes).unwrap(), id);
        }
    }

    #[test]
    fn fractal_heap_headers_come_back(sizes in wide_lengths(), filtered: bool, numbers in prop::collection::vec(number(), 11), addresses in prop::collection::vec(maybe_address(), 3), root_rows in 0u16..20) {
        let heap = heap(Client::Links, sizes, filtered);
        let heap = FractalHeap {
            huge_ids_wrapped: numbers[0] % 2 == 0,
            huge_id_last: numbers[1],
            huge_tree: addresses[0],
            free_space: addresses[1],
            counts: Counts {
                free_bytes: numbers[2],
                managed_bytes: numbers[3],
                allocated_bytes: numbers[4],
                next_offset: numbers[5],
                managed_objects: numbers[6],
                huge_bytes: numbers[7],
                huge_objects: numbers[8],
                tiny_bytes: numbers[9],
                tiny_objects: numbers[10],
            },
            root: addresses[2],
            root_rows,
            root_stored: filtered.then_some(StoredSize { bytes: numbers[0], filter_mask: 3 }),
            ..heap
        };
        let encoded = heap.encode().unwrap();
        prop_assert_eq!(FractalHeap::header_bytes_of(&encoded, sizes).unwrap(), encoded.len() as u64);
        prop_assert_eq!(FractalHeap::decode(&encoded, sizes).unwrap(), heap);
    }

    #[test]
    fn fractal_heap_blocks_come_back(sizes in wide_lengths(), filtered: bool, header in address(), offset in 0u64..0xFFFF, body in bytes(400..401), rows in 1u64..14, filled in prop::collection::vec(maybe_address(), 56)) {
        let heap = heap(Client::Attributes, sizes, filtered);
        let mut block = heap.encode_direct(header, offset, &body).unwrap();
        heap.check_direct(&block, header, offset).unwrap();
        prop_assert_eq!(&block[heap.direct_prefix_bytes()..], &body[..]);
        *block.last_mut().unwrap() ^= 1;
        prop_assert!(heap.check_direct(&block, header, offset).is_err());
        heap.seal_direct(&mut block).unwrap();
        heap.check_direct(&block, header, offset).unwrap();

        let count = (rows * heap.width) as usize;
        let direct = (rows.min(heap.direct_rows()) * heap.width) as usize;
        let children: Vec<Child> = (0..count).map(|i| Child {
            address: filled[i],
            stored: (filtered && i < direct).then_some(StoredSize { bytes: i as u64, filter_mask: 1 }),
        }).collect();
        let block = heap.encode_indirect(header, offset, rows, &children).unwrap();
        prop_assert_eq!(block.len() as u64, heap.indirect_bytes(rows));
        prop_assert_eq!(heap.indirect(&block, header, offset, rows).unwrap(), children);
    }

    #[test]
    fn fractal_heap_ids_come_back(sizes in sizes(), filtered: bool, id_bytes in 7u16..40, offset in 0u64..1 << 32, len in 1u64..4096, huge in address(), mask: u32, data in bytes(1..40)) {
        let heap = FractalHeap { id_bytes, ..heap(Client::Links, sizes, filtered) };
        let (o, l, capacity) = (sizes.offset, sizes.length, usize::from(id_bytes) - 1);
        let direct = capacity >= if filtered { o + 2 * l + 4 } else { o + l };
        let mut ids = vec![ObjectId::Managed { offset, len }];
        if direct {
            let filter_mask = if filtered { mask } else { 0 };
            ids.push(ObjectId::HugeDirect { address: huge, stored: StoredSize { bytes: len, filter_mask }, len });
        } else {
            ids.push(ObjectId::HugeIndirect { key: offset });
        }
        if data.len() <= heap.tiny_bytes_max() {
            ids.push(ObjectId::Tiny(data));
        }
        for id in ids {
            let encoded = heap.encode_ids(std::slice::from_ref(&id)).unwrap();
            prop_assert_eq!(encoded.len(), usize::from(id_bytes));
            prop_assert_eq!(heap.object_id(&encoded).unwrap(), id);
        }
    }
}

/// libhdf5's geometry does not fit 2-byte lengths.
fn wide_lengths() -> impl Strategy<Value = Sizes> {
    sizes().prop_filter("2-byte lengths", |sizes| sizes.length > 2)
}

fn heap(client: Client, sizes: Sizes, filtered: bool) -> FractalHeap {
    let mut heap = FractalHeap::empty(client, Vec::new(), sizes);
    if filtered {
        let deflate = model::properties::FilterSpec { id: 1, name: None, optional: true, values: vec![6] };
        heap.filters = vec![deflate];
    }
    heap
}

#[test]
fn two_byte_lengths_cannot_hold_a_fractal_heap() {
    let sizes = Sizes { offset: 2, length: 2 };
    assert!(FractalHeap::empty(Client::Links, Vec::new(), sizes).encode().is_err());
}

#[test]
fn a_group_heap_starts_as_libhdf5_makes_it() {
    let segment = Segment::for_group(EIGHT).unwrap();
    assert_eq!((segment.len(), segment.first_free()), (88, Some(8)));
}

#[test]
fn a_collection_that_is_full_takes_no_more_and_reuses_indexes() {
    let mut collection = Collection::new(0, 100_000, EIGHT);
    assert_eq!(collection.len(), 100_032);
    assert_eq!(collection.insert(&[1; 100_000]), Some(1));
    assert_eq!(collection.insert(&[]), None);
    assert!(collection.remove(1));
    assert_eq!(collection.insert(&[2]), Some(2), "1 was given out before");
    collection.extend(65536 * 24).unwrap();
    while collection.insert(&[]).is_some() {}
    assert!(collection.remove(77) && collection.remove(55));
    assert_eq!(collection.insert(&[3]), Some(55));
}

/// Names that libhdf5 2.0 added (`+` and the length) and removed (`-` and which one) in one group, and the size
/// and the free list of the heap it wrote.
#[test]
fn free_lists_grow_join_and_shrink_as_in_libhdf5() {
    let cases = [
        ("+8 +16 +60 +15 +4 +8 -3 +7", "176 112:16 160:16"),
        ("+15 +3 -0", "88 8:16 32:56"),
        (
            "+60 -0 +7 -1 +7 +20 -3 +7 +8 +30 +8 -7 -5 -4 +60 +9 -8 +20 -6 +15 +20 -9 +20 -10 +30 +4 -13 \
             -2 +8 -11 -15 +8 -14 +3 -17 +3 -19 +4 +9 -18 +20 -20 +15 -22 -16 -23 -21 +15 +9 +16 +30 -12 \
             -26 -25 -27 -24 +4 -28 +60 -29",
            "88 8:32 56:32",
        ),
        (
            "+60 +15 +30 +7 +9 +4 +30 +20 +15 +16 -6 +9 +3 -5 -10 +7 +16 -1 +8 -12 +4 -0 -3 +20 +9 +3 +20 \
             -7 +7 -15 -19 +16 +7 -20 -8 +7 -16 -17 -2 -11 +9 +15 -25 +8 +15 -23 +15 -24 +15 -21 -27 -28 \
             -18 -22 -14 +60 -30 -9 -13 -4",
            "352 128:16 264:88 8:80 160:88",
        ),
        (
            "+30 +60 +60 +3 -3 +8 +20 +30 +7 +7 +30 +3 +4 +60 +3 +9 +16 +16 +60 +7 +4 +20 +16 +9 +16 +30 \
             +60 +15 +3 +60 +7 -11 -20 -25 -23 -21 -4 +20 +4 -6 +16 -5 +60 -17 -15 -13 -1 -7 +30 +8 -19 \
             -10 -26 -12 -30 -35 -9 -32 -22 -33",
            "1408 256:32 512:96 304:64 72:32 392:24 440:64 168:80 648:72 800:608",
        ),
    ];
    for (steps, expected) in cases {
        let mut segment = Segment::for_group(EIGHT).unwrap();
        let mut offsets = Vec::new();
        for step in steps.split_whitespace() {
            let (sign, n) = step.split_at(1);
            let n: usize = n.parse().unwrap();
            match sign {
                "+" => offsets.push(segment.insert(&vec![b'x'; n]).unwrap()),
                _ => segment.remove(offsets[n]).unwrap(),
            }
        }
        assert_eq!(described(&segment), expected, "{steps}");
    }
}

/// The size of a segment, then offset and size of each free block.
fn described(segment: &Segment) -> String {
    let (bytes, mut next) = (segment.encode().unwrap(), segment.first_free());
    let mut text = segment.len().to_string();
    while let Some(at) = next {
        let mut c = model::bytes::Cursor::new(&bytes[at as usize..], "free block");
        next = Some(c.u64().unwrap()).filter(|&n| n != 1);
        text += &format!(" {at}:{}", c.u64().unwrap());
    }
    text
}
