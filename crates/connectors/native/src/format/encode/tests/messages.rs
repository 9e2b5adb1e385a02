//! Message bodies: what is decoded from the encoded is the same.

use model::properties::{
    AllocTime, Fill, FillTime, FillValue, FilterSpec, PhaseChange, SpaceStrategy, VirtualMapping,
};
use model::selection::SelectionVersion;
use model::{CharacterSet, Limits, Link, LinkTarget, Selection, Token};
use proptest::prelude::*;

use super::super as encode;
use super::super::super::attribute::{AttributeInfo, AttributePart, RawAttribute};
use super::super::super::external_files::Slot;
use super::super::super::file_space::{self, FileSpace};
use super::super::super::global_heap::HeapId;
use super::super::super::group::{GroupInfo, LinkInfo, SymbolTable};
use super::super::super::layout::{Chunked, Index, Layout};
use super::super::super::shared::{SharedAt, SharedIndex};
use super::super::super::shared_list::{MessageLocation, SharedRecord};
use super::super::super::superblock::TreeK;
use super::super::super::{
    attribute, driver_info, external_files, fill, filters, group, header, link, shared, shared_list,
    superblock, virtual_map,
};
use super::super::driver_info as encode_driver;
use super::{address, bytes, maybe_address, name, number, sizes};

fn charset() -> impl Strategy<Value = CharacterSet> {
    prop::sample::select(vec![CharacterSet::Ascii, CharacterSet::Utf8])
}

fn target() -> impl Strategy<Value = LinkTarget> {
    prop_oneof![
        address().prop_map(|a| LinkTarget::Hard(Token::from_u64(a.0))),
        name().prop_map(LinkTarget::Soft),
        (name(), name()).prop_map(|(file, path)| LinkTarget::External { file, path }),
        (65u8.., bytes(0..9)).prop_map(|(class, data)| LinkTarget::User { class, data }),
    ]
}

fn fill_value() -> impl Strategy<Value = FillValue> {
    let value = bytes(1..20).prop_map(FillValue::Value);
    prop_oneof![Just(FillValue::Undefined), Just(FillValue::Default), value]
}

fn alloc() -> impl Strategy<Value = AllocTime> {
    let all = [AllocTime::Default, AllocTime::Early, AllocTime::Late, AllocTime::Incremental];
    prop::sample::select(all.to_vec())
}

fn index() -> impl Strategy<Value = Index> {
    prop_oneof![
        prop::option::of((number(), any::<u32>())).prop_map(|filtered| Index::Single { filtered }),
        prop::sample::select(vec![Index::Implicit, Index::FixedArray, Index::ExtensibleArray, Index::BTree2]),
    ]
}

fn chunked() -> impl Strategy<Value = Chunked> {
    let version = 3u8..6;
    let shape = prop::collection::vec(1u64..0xFFFF_FFFF, 1..=32);
    (version, shape, 1u64..70000, any::<bool>(), index(), maybe_address()).prop_map(
        |(version, shape, element_bytes, edges, index, address)| {
            let old = version == 3;
            let index = if old { Index::BTree1 } else { index };
            let (edge_chunks_unfiltered, parameters) = (edges && !old, index.default_parameters());
            Chunked { version, shape, element_bytes, edge_chunks_unfiltered, index, parameters, address }
        },
    )
}

fn layout() -> impl Strategy<Value = Layout> {
    let id = (address(), 1u32..).prop_map(|(collection, index)| HeapId { collection, index });
    prop_oneof![
        bytes(0..70).prop_map(|data| Layout::Compact { data }),
        (maybe_address(), number())
            .prop_map(|(address, bytes)| Layout::Contiguous { address, bytes: Some(bytes) }),
        chunked().prop_map(Layout::Chunked),
        prop::option::of(id).prop_map(|map| Layout::Virtual { map }),
    ]
}

fn filter() -> impl Strategy<Value = FilterSpec> {
    let values = prop::collection::vec(any::<u32>(), 0..6);
    (256u16.., prop::option::of(name()), any::<bool>(), values)
        .prop_map(|(id, name, optional, values)| FilterSpec { id, name, optional, values })
}

fn part() -> impl Strategy<Value = AttributePart> {
    (any::<bool>(), bytes(0..30)).prop_map(|(shared, bytes)| AttributePart { shared, bytes })
}

fn raw_attribute() -> impl Strategy<Value = RawAttribute> {
    (name(), charset(), part(), part(), bytes(0..30)).prop_map(
        |(name, charset, datatype, dataspace, data)| RawAttribute {
            name,
            charset,
            datatype,
            dataspace,
            data,
        },
    )
}

fn mapping() -> impl Strategy<Value = VirtualMapping> {
    let selection = || {
        prop_oneof![
            Just(Selection::All),
            (0u64..90, 1u64..90).prop_map(|(start, len)| Selection::block(&[start], &[len]).unwrap()),
            (0u64..90, 1u64..90).prop_map(|(start, count)| Selection::hyperslab(
                &[start],
                &[3],
                &[count],
                &[2]
            )
            .unwrap()),
        ]
    };
    let file = prop_oneof![Just(".".to_owned()), Just("a long name.h5".to_owned()), name()];
    let dataset = prop_oneof![Just("/data/set".to_owned()), name()];
    (file, dataset, selection(), selection()).prop_map(|(file, dataset, source, target)| VirtualMapping {
        file,
        dataset,
        source,
        target,
    })
}

proptest! {
    #[test]
    fn links_come_back(sizes in sizes(), name in name(), target in target(), charset in charset(), creation_order in any::<Option<i64>>()) {
        let value = Link { name, target, charset, creation_order };
        prop_assert_eq!(link::decode(&encode::link::encode(&value, sizes).unwrap(), sizes).unwrap(), value);
    }

    #[test]
    fn group_messages_come_back(sizes in sizes(), tree in address(), heap in address(), phase in any::<(u16, u16)>(), expected in any::<(u16, u16)>()) {
        let table = SymbolTable { tree, heap };
        prop_assert_eq!(group::symbol_table(&encode::group::symbol_table(table, sizes).unwrap(), sizes).unwrap(), table);
        let phase = PhaseChange { compact_max: phase.0, dense_min: phase.1 };
        let info = GroupInfo { phase, entries_expected: expected.0, name_bytes_expected: expected.1 };
        prop_assert_eq!(group::group_info(&encode::group::group_info(&info).unwrap()).unwrap(), info);
    }

    #[test]
    fn link_info_comes_back(sizes in sizes(), order in prop::option::of(0i64..), indexed: bool, heap in maybe_address(), name_tree in maybe_address(), order_tree in maybe_address()) {
        let order_tree = order_tree.filter(|_| indexed);
        let info = LinkInfo { order_tracked: order.is_some(), order_indexed: indexed, order_next: order.unwrap_or(0), heap, name_tree, order_tree };
        prop_assert_eq!(group::link_info(&encode::group::link_info(&info, sizes).unwrap(), sizes).unwrap(), info);
    }

    #[test]
    fn attribute_info_comes_back(sizes in sizes(), order_next: Option<u16>, order_indexed: bool, heap in maybe_address(), name_tree in maybe_address(), order_tree in maybe_address()) {
        let order_tree = order_tree.filter(|_| order_indexed);
        let info = AttributeInfo { order_next, order_indexed, heap, name_tree, order_tree };
        prop_assert_eq!(attribute::info(&encode::attribute::info(&info, sizes).unwrap(), sizes).unwrap(), info);
    }

    #[test]
    fn attributes_come_back_in_every_version_that_can_say_them(value in raw_attribute()) {
        for version in encode::attribute::version(&value, 1)..=3 {
            let body = encode::attribute::encode(&value, version).unwrap();
            prop_assert_eq!(&attribute::decode(&body).unwrap(), &value);
        }
        for version in 1..encode::attribute::version(&value, 1) {
            prop_assert!(encode::attribute::encode(&value, version).is_err());
        }
    }

    #[test]
    fn fill_values_come_back(value in fill_value(), alloc in alloc(), time in prop::sample::select(vec![FillTime::Alloc, FillTime::Never, FillTime::IfSet])) {
        let fill = Fill { value, time };
        for version in [2, 3] {
            let body = encode::fill::encode(&fill, alloc, version).unwrap();
            prop_assert_eq!(fill::decode(&body).unwrap(), (fill.clone(), alloc));
        }
        let old = fill::decode_old(&encode::fill::encode_old(&fill.value).unwrap()).unwrap().0.value;
        // The old message says a value or none.
        prop_assert_eq!(old, if fill.value == FillValue::Default { FillValue::Undefined } else { fill.value });
    }

    #[test]
    fn layouts_come_back(sizes in sizes(), layout in layout()) {
        let body = layout.encode(layout.version(), sizes).unwrap();
        prop_assert_eq!(Layout::decode(&body, sizes).unwrap(), layout);
    }

    #[test]
    fn pipelines_come_back(pipeline in prop::collection::vec(filter(), 0..32)) {
        for version in [1, 2] {
            let body = encode::filters::encode(&pipeline, version).unwrap();
            prop_assert_eq!(&filters::decode(&body).unwrap(), &pipeline);
        }
    }

    #[test]
    fn external_file_lists_come_back(sizes in sizes(), heap in address(), slots in prop::collection::vec((number(), number(), number()), 0..5), unlimited: bool) {
        let mut slots: Vec<Slot> = slots.into_iter().map(|(name_offset, offset, size)| Slot { name_offset, offset, size }).collect();
        if let (true, Some(last)) = (unlimited, slots.last_mut()) {
            last.size = u64::MAX;
        }
        let body = encode::external_files::encode(heap, &slots, sizes).unwrap();
        prop_assert_eq!(external_files::decode(&body, sizes).unwrap(), (heap, slots));
    }

    #[test]
    fn file_space_comes_back(sizes in sizes(), strategy in prop::sample::select(vec![SpaceStrategy::FsmAggregate, SpaceStrategy::Page, SpaceStrategy::Aggregate, SpaceStrategy::None]), threshold in number(), page_bytes in number(), page_end_threshold: u16, end in maybe_address(), managers in prop::option::of(prop::collection::vec(maybe_address(), 12))) {
        let persist = managers.is_some();
        let space = FileSpace { strategy, persist, threshold, page_bytes, page_end_threshold, end, managers: managers.unwrap_or_default() };
        prop_assert_eq!(file_space::decode(&space.encode(sizes).unwrap(), sizes).unwrap(), space);
    }

    #[test]
    fn extension_messages_come_back(sizes in sizes(), table in address(), count: u8, k in (1u16.., 1u16.., 1u16..), len in 1u64..0xFFFF) {
        let body = encode::shared::table_message(table, count, sizes).unwrap();
        prop_assert_eq!(shared::table_message(&body, sizes).unwrap(), (table, count));
        let k = TreeK { group_leaf: k.0, group_internal: k.1, chunk: k.2 };
        prop_assert_eq!(superblock::tree_k(&encode::superblock::tree_k(k).unwrap()).unwrap(), k);
        let body = encode::header::continuation(table, len, sizes).unwrap();
        prop_assert_eq!(header::continuation(&body, sizes).unwrap(), (table, len));
    }

    #[test]
    fn shared_messages_come_back(sizes in sizes(), at in prop_oneof![any::<[u8; 8]>().prop_map(SharedAt::Heap), address().prop_map(SharedAt::Object)]) {
        prop_assert_eq!(SharedAt::decode(&at.encode(sizes).unwrap(), sizes).unwrap(), at);
    }

    #[test]
    fn shared_tables_come_back(sizes in sizes(), rows in prop::collection::vec((any::<(u16, u32, bool, u16, u16, u16)>(), maybe_address(), maybe_address()), 0..=8)) {
        let indexes: Vec<SharedIndex> = rows.into_iter().map(|((message_types, bytes_min, is_tree, list_max, tree_min, messages), index, heap)| {
            SharedIndex { message_types, bytes_min, is_tree, list_max, tree_min, messages, index, heap }
        }).collect();
        let body = encode::shared::table(&indexes, sizes).unwrap();
        let count = indexes.len() as u8;
        prop_assert_eq!(body.len() as u64, shared::table_bytes(count, sizes));
        prop_assert_eq!(shared::table(&body, count, sizes).unwrap(), indexes);
    }

    #[test]
    fn shared_lists_come_back(sizes in sizes(), rows in prop::collection::vec((any::<u32>(), any::<bool>(), any::<(u32, [u8; 8])>(), any::<(u8, u16)>(), address()), 0..20)) {
        let records: Vec<SharedRecord> = rows.into_iter().map(|(hash, heap, (references, id), (message_type, message_index), header)| {
            let place = if heap { MessageLocation::Heap { references, id } } else { MessageLocation::Header { message_type, message_index, header } };
            SharedRecord { hash, place }
        }).collect();
        let list = shared_list::encode_list(&records, 20, sizes).unwrap();
        prop_assert_eq!(list.len() as u64, shared_list::list_bytes(20, sizes));
        prop_assert_eq!(shared_list::decode_list(&list, records.len() as u16, sizes).unwrap(), records);
    }

    #[test]
    fn virtual_maps_come_back(sizes in sizes(), mappings in prop::collection::vec(mapping(), 0..8)) {
        for form in [SelectionVersion::V18, SelectionVersion::V110, SelectionVersion::V112] {
            for version in [0, 1] {
                let body = encode::virtual_map::encode(&mappings, version, form, sizes).unwrap();
                prop_assert_eq!(&virtual_map::decode(&body, 1, sizes, &Limits::default()).unwrap(), &mappings);
            }
            let smallest = encode::virtual_map::encode_smallest(&mappings, form, sizes).unwrap();
            prop_assert!(smallest.len() <= encode::virtual_map::encode(&mappings, 0, form, sizes).unwrap().len());
        }
    }

    #[test]
    fn drivers_come_back(id: [u8; 8], data in bytes(1..1024)) {
        let driver = files::DriverBlock { id, data };
        prop_assert_eq!(&driver_info::message(&encode_driver::message(&driver).unwrap()).unwrap(), &driver);
        let block = encode_driver::block(&driver).unwrap();
        prop_assert_eq!(driver_info::block_data_bytes(&block).unwrap(), driver.data.len() as u64);
        prop_assert_eq!(driver_info::block(&block).unwrap(), driver);
    }
}

#[test]
fn small_messages_have_their_documented_bytes() {
    assert_eq!(encode::messages::comment("hi").unwrap(), b"hi\0");
    assert_eq!(encode::messages::modification_time(5).unwrap(), [1, 0, 0, 0, 5, 0, 0, 0]);
    assert_eq!(encode::messages::references(2).unwrap(), [0, 2, 0, 0, 0]);
    assert_eq!(shared_list::hash(3, b"name"), 0x0151_5C49);
}

#[test]
fn what_does_not_fit_is_refused() {
    let two = super::super::super::Sizes { offset: 2, length: 2 };
    let wide = |n| super::super::super::Address(n);
    assert!(encode::shared::table_message(wide(0x1_0000), 1, two).is_err());
    assert!(encode::shared::table_message(wide(0xFFFF), 1, two).is_err(), "this one means undefined");
    let layout = Layout::Compact { data: vec![0; 0x1_0000] };
    assert!(layout.encode(3, two).is_err());
    let link = Link {
        name: String::new(),
        target: LinkTarget::Soft("/".to_owned()),
        charset: CharacterSet::Ascii,
        creation_order: None,
    };
    assert!(encode::link::encode(&link, two).is_err());
}
