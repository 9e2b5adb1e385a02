//! Chunk arrays and records of B-trees.

use proptest::prelude::*;

use super::super::super::extensible_array::{Counts, ElementLocation, ExtensibleArray, IndexBlock};
use super::super::super::fixed_array::{FixedArray, page_is_written};
use super::super::super::fractal_heap::StoredSize;
use super::super::super::records::{Attribute, Element, ElementForm, Huge, LinkName, LinkOrder, kind};
use super::super::super::{Address, Sizes, checksum};
use super::super::extensible_array::SecondaryBlock;
use super::super::fixed_array::{page, set_page_written};
use super::{EIGHT, address, bytes, maybe_address, number, sizes};

fn extensible(element_bytes: u8, counts: [u64; 6], index_block: Option<Address>) -> ExtensibleArray {
    let [secondary_blocks, secondary_bytes, data_blocks, data_bytes, entries, elements] = counts;
    ExtensibleArray {
        filtered: element_bytes > 8,
        element_bytes,
        max_bits: 32,
        index_elements: 4,
        block_elements_min: 16,
        pointers_min: 4,
        page_bits: 10,
        counts: Counts { secondary_blocks, secondary_bytes, data_blocks, data_bytes, elements },
        entries,
        index_block,
    }
}

proptest! {
    #[test]
    fn fixed_arrays_come_back(sizes in sizes(), filtered: bool, element_bytes in 8u8..30, page_bits in 1u8..5, entries in 1u64..60, block in maybe_address(), header in address(), fill: u8) {
        let array = FixedArray { filtered, element_bytes, page_bits, entries, block };
        let encoded = array.encode(sizes).unwrap();
        prop_assert_eq!(encoded.len() as u64, FixedArray::header_bytes(sizes));
        prop_assert_eq!(&FixedArray::decode(&encoded, sizes).unwrap(), &array);
        let body_bytes = if array.is_paged() { array.pages().div_ceil(8) } else { entries * u64::from(element_bytes) };
        let body = vec![fill; body_bytes as usize];
        let block = array.encode_block(header, &body, sizes).unwrap();
        array.check_block(&block, sizes, header).unwrap();
        prop_assert_eq!(array.block_body(&block, sizes), &body[..]);
        prop_assert!(array.encode_block(header, &[&body[..], &[0]].concat(), sizes).is_err());
        if array.is_paged() {
            let (start, last) = array.page(array.pages() - 1, sizes).unwrap();
            let end = start + last * u64::from(element_bytes) + 4;
            prop_assert_eq!(array.pages_bytes().unwrap() + block.len() as u64, end);
        }
    }

    #[test]
    fn pages_have_checksums_and_bits(elements in bytes(1..90), number in 0u64..64) {
        checksum::verify(&page(&elements).unwrap(), "page").unwrap();
        let mut bitmap = [0; 8];
        prop_assert!(set_page_written(&mut bitmap, number));
        prop_assert!((0..64).all(|n| page_is_written(&bitmap, n) == (n == number)));
        prop_assert!(!set_page_written(&mut bitmap, 64));
    }

    #[test]
    fn extensible_array_headers_come_back(sizes in sizes(), element_bytes in 8u8..30, counts in prop::array::uniform6(number()), index_block in maybe_address()) {
        let array = extensible(element_bytes, counts, index_block);
        let encoded = array.encode(sizes).unwrap();
        prop_assert_eq!(encoded.len() as u64, ExtensibleArray::header_bytes(sizes));
        let decoded = ExtensibleArray::decode(&encoded, sizes).unwrap();
        prop_assert_eq!(decoded.filtered, element_bytes > 8);
        prop_assert_eq!(decoded, array);
    }

    #[test]
    fn extensible_array_blocks_come_back(sizes in sizes(), element_bytes in 8u8..30, header in address(), addresses in prop::collection::vec(maybe_address(), 31), elements in bytes(120..121), number in 4u64..17, fill: u8) {
        let array = extensible(element_bytes, [0; 6], None);
        let elements = &elements[..4 * usize::from(element_bytes)];
        let index = IndexBlock { elements, direct: addresses[..6].to_vec(), secondary: addresses[6..].to_vec() };
        let encoded = array.encode_index_block(header, &index, sizes).unwrap();
        let again = array.index_block(&encoded, sizes, header).unwrap();
        prop_assert_eq!(again.elements, elements);
        prop_assert_eq!((again.direct, again.secondary), (index.direct, index.secondary));

        let group = array.group(number);
        let empty = array.empty_secondary(group).unwrap();
        let blocks = (0..empty.blocks.len()).map(|i| addresses[i % 31]).collect();
        let block = SecondaryBlock { bitmaps: vec![fill; empty.bitmaps.len()], blocks };
        let encoded = array.encode_secondary(header, group, &block, sizes).unwrap();
        for (i, &address) in block.blocks.iter().enumerate() {
            prop_assert_eq!(array.secondary(&encoded, sizes, header, group, i as u64).unwrap().0, address);
        }
        prop_assert_eq!(array.decode_secondary(&encoded, header, group, sizes).unwrap(), block);
    }

    #[test]
    fn extensible_array_data_blocks_come_back(sizes in sizes(), header in address(), number in 0u64..16, fill: u8) {
        let array = extensible(8, [0; 6], None);
        let group = array.group(number);
        let elements = if array.is_paged(group) { Vec::new() } else { vec![fill; group.elements as usize * 8] };
        let encoded = array.encode_data(header, (group, group.blocks - 1), &elements, sizes).unwrap();
        array.check_data(&encoded, sizes, header).unwrap();
        prop_assert_eq!(array.data_elements(&encoded, sizes), &elements[..]);
        let expected = if array.is_paged(group) { array.page(0, sizes).0 } else { array.data_bytes(group, sizes) };
        prop_assert_eq!(encoded.len() as u64, expected);
    }

    #[test]
    fn records_come_back(sizes in sizes(), hash: u32, order: i64, creation_order: u32, flags: u8, id7: [u8; 7], id8: [u8; 8]) {
        let record = LinkName { hash, heap_id: id7 };
        prop_assert_eq!(record.encode().unwrap().len(), usize::from(LinkName::BYTES));
        prop_assert_eq!(LinkName::decode(&record.encode().unwrap()).unwrap(), record);
        let record = LinkOrder { creation_order: order, heap_id: id7 };
        prop_assert_eq!(record.encode().unwrap().len(), usize::from(LinkOrder::BYTES));
        prop_assert_eq!(LinkOrder::decode(&record.encode().unwrap()).unwrap(), record);
        for (kind, hash, len) in [(kind::ATTRIBUTE_NAME, Some(hash), Attribute::NAME_BYTES), (kind::ATTRIBUTE_ORDER, None, Attribute::ORDER_BYTES)] {
            let record = Attribute { heap_id: id8, flags, creation_order, hash };
            prop_assert_eq!(record.encode().unwrap().len(), usize::from(len));
            prop_assert_eq!(Attribute::decode(&record.encode().unwrap(), kind).unwrap(), record);
        }
        let _ = sizes;
    }

    #[test]
    fn huge_object_records_come_back(sizes in sizes(), address in address(), bytes in number(), mask: u32, len in number(), id in prop::option::of(number()), filtered: bool) {
        let (filter_mask, len) = if filtered { (mask, len) } else { (0, bytes) };
        let record = Huge { address, stored: StoredSize { bytes, filter_mask }, len, id };
        let (kind, encoded) = (record.kind(filtered), record.encode(filtered, sizes).unwrap());
        prop_assert_eq!(encoded.len(), Huge::bytes(kind, sizes));
        prop_assert_eq!(Huge::decode(&encoded, kind, sizes).unwrap(), record);
    }

    #[test]
    fn chunk_records_come_back(sizes in sizes(), address in maybe_address(), stored in prop::option::of((0u64..256, any::<u32>())), chunk_bytes in 1u64.., version in 4u8..6, chunk_coords in prop::collection::vec(any::<u64>(), 1..6)) {
        let stored = stored.map(|(bytes, filter_mask)| StoredSize { bytes, filter_mask });
        let form = if stored.is_some() { ElementForm::filtered(version, chunk_bytes, sizes) } else { ElementForm::plain(sizes) };
        let element = Element { address, stored };
        let encoded = form.encode(element).unwrap();
        prop_assert_eq!(encoded.len(), form.bytes());
        prop_assert_eq!(form.decode(&encoded).unwrap(), element);
        let record = form.encode_record(&chunk_coords, element).unwrap();
        prop_assert_eq!(form.decode_record(&record, chunk_coords.len()).unwrap(), (chunk_coords, element));
        prop_assert_eq!(form.decode(&form.encode(form.absent()).unwrap()).unwrap(), form.absent());
    }
}

#[test]
fn offsets_under_the_index_block_count_earlier_blocks_again() {
    let array = extensible(8, [0; 6], None);
    let mut offsets = Vec::new();
    for place in array.groups().filter(|p| p.is_direct) {
        offsets.extend((0..place.group.blocks).map(|block| array.block_offset(place.group, block)));
    }
    assert_eq!(offsets, [0, 48, 112, 144, 368, 432]);
    // Under secondary blocks they are what they should be: the number of the first element.
    for index in [4 + 240, 4 + 240 + 64 * 3, 4 + 16 * 1023] {
        let ElementLocation::Secondary { group, block, element, .. } = array.place(index).unwrap() else {
            panic!("{index} is not under a secondary block");
        };
        assert_eq!(array.block_offset(group, block) + element, index - 4);
    }
}

#[test]
fn page_bits_of_data_blocks_follow_each_other() {
    // A file of libhdf5 with chunks 300000 and 399000 has bits 36 and 133 set in its secondary block.
    let (array, header) = (extensible(8, [0; 6], None), Address(500));
    let group = array.group(14);
    let mut secondary = array.empty_secondary(group).unwrap();
    for index in [300_000, 399_000] {
        let ElementLocation::Secondary { group: found, block, element, .. } = array.place(index).unwrap()
        else {
            panic!("{index} is not under a secondary block");
        };
        assert_eq!(found, group);
        assert!(array.set_page_written(group, &mut secondary, block, element >> 10));
    }
    assert!(!array.set_page_written(group, &mut secondary, 0, 2));
    let set: Vec<_> = secondary.bitmaps.iter().enumerate().filter(|(_, b)| **b != 0).collect();
    assert_eq!(set, [(4, &0x08), (16, &0x04)]);
    let encoded = array.encode_secondary(header, group, &secondary, EIGHT).unwrap();
    let written = |block| array.secondary(&encoded, EIGHT, header, group, block).unwrap().1;
    assert_eq!([written(18), written(66), written(17), written(4)], [&[0x80], &[0x40], &[0], &[0]]);
    // From eight pages on, a data block's bits are bytes of their own.
    let group = array.group(18);
    let mut secondary = array.empty_secondary(group).unwrap();
    assert!(array.set_page_written(group, &mut secondary, 3, 1));
    let encoded = array.encode_secondary(header, group, &secondary, EIGHT).unwrap();
    assert_eq!(array.secondary(&encoded, EIGHT, header, group, 3).unwrap().1, [0x40]);
}

#[test]
fn stored_sizes_are_as_wide_as_libhdf5_writes_them() {
    let width = |version, bytes| ElementForm::filtered(version, bytes, EIGHT).size_bytes;
    assert_eq!([width(4, 16), width(4, 40), width(4, 360), width(5, 16)], [2, 2, 3, 8]);
    let narrow = Sizes { offset: 8, length: 4 };
    assert_eq!(ElementForm::filtered(5, 16, narrow).bytes(), 8 + 4 + 4);
    assert_eq!(kind::SHARED, 7);
    assert_eq!(kind::CHUNK_FILTERED - kind::CHUNK + kind::LINK_NAME, kind::LINK_ORDER);
    assert_eq!(Attribute::UNTRACKED, 0xFFFF);
}
