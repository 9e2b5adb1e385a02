//! Superblocks, object headers, tree nodes, free-space managers.

use model::Limits;
use model::properties::PhaseChange;
use proptest::prelude::*;

use super::super::super::btree1::{ChunkKey, Kind, Node};
use super::super::super::btree2::{BTree2, Child};
use super::super::super::free_space::{Client, Detail, Manager, Section};
use super::super::super::header::{Message, Prefix};
use super::super::super::superblock::{Superblock, TreeK};
use super::super::super::symbol_table::{self, Cached, SymbolTableEntry};
use super::super::super::{Address, Sizes};
use super::super::btree1::group_key;
use super::super::btree2::Root;
use super::super::header::PrefixOptions;
use super::super::symbol_table as symbol_table_encode;
use super::{EIGHT, address, bytes, continuation_block, first_block, maybe_address, number, sizes};

fn cached() -> impl Strategy<Value = Cached> {
    prop_oneof![
        Just(Cached::Nothing),
        (maybe_address(), maybe_address()).prop_map(|(tree, heap)| Cached::Group { tree, heap }),
        any::<u32>().prop_map(Cached::SoftLink),
    ]
}

fn entry() -> impl Strategy<Value = SymbolTableEntry> {
    (number(), maybe_address(), cached()).prop_map(|(name_offset, header, cached)| SymbolTableEntry {
        name_offset,
        header,
        cached,
    })
}

fn message() -> impl Strategy<Value = Message> {
    (1u16..0x19, any::<u8>(), bytes(0..40)).prop_map(|(kind, flags, body)| Message {
        kind: if kind == 9 { 8 } else { kind },
        flags,
        creation_order: None,
        body,
    })
}

fn options() -> impl Strategy<Value = PrefixOptions> {
    let phase =
        any::<(u16, u16)>().prop_map(|(compact_max, dense_min)| PhaseChange { compact_max, dense_min });
    (any::<Option<[u32; 4]>>(), prop::option::of(phase), any::<bool>(), any::<bool>()).prop_map(
        |(times, attribute_phase, attribute_order_tracked, indexed)| PrefixOptions {
            times,
            attribute_phase,
            attribute_order_tracked,
            attribute_order_indexed: indexed && attribute_order_tracked,
        },
    )
}

/// The messages that say something.
fn used(messages: Vec<Message>) -> Vec<Message> {
    messages.into_iter().filter(|m| m.kind != 0).collect()
}

fn padded(mut messages: Vec<Message>) -> Vec<Message> {
    for message in &mut messages {
        message.body.resize(message.body.len().next_multiple_of(8), 0);
    }
    messages
}

proptest! {
    #[test]
    fn superblocks_come_back(sizes in sizes(), version in 0u8..4, k in (1u16.., 1u16.., 1u16..), flags in 0u8..8, base in number(), end in 1u64..0xFFFF, extension in maybe_address(), driver_info in maybe_address(), root in address(), root_cached in cached()) {
        let old = version < 2;
        let k = match version {
            0 => TreeK { group_leaf: k.0, group_internal: k.1, ..TreeK::default() },
            1 => TreeK { group_leaf: k.0, group_internal: k.1, chunk: k.2 },
            _ => TreeK::default(),
        };
        let superblock = Superblock {
            version,
            sizes,
            k,
            flags,
            base,
            end,
            extension: extension.filter(|_| !old),
            driver_info: driver_info.filter(|_| old),
            root,
            root_cached: if old { root_cached } else { Cached::Nothing },
        };
        let encoded = superblock.encode().unwrap();
        prop_assert_eq!(Superblock::decode(&encoded).unwrap(), superblock);
        if sizes == EIGHT {
            prop_assert_eq!(encoded.len(), [96, 100, 48, 48][usize::from(version)]);
        }
    }

    #[test]
    fn symbol_nodes_come_back(sizes in sizes(), entries in prop::collection::vec(entry(), 0..=8)) {
        let encoded = symbol_table_encode::node(&entries, 4, sizes).unwrap();
        prop_assert_eq!(encoded.len() as u64, symbol_table::node_bytes(4, sizes));
        prop_assert_eq!(symbol_table::node(&encoded, sizes).unwrap(), entries);
    }

    #[test]
    fn old_headers_come_back(messages in prop::collection::vec(message(), 0..9), spare in 0u64..9, references: u32) {
        let sizing = Prefix::version_1(references, 0, 0);
        let block_bytes = sizing.messages_bytes(&messages) + 8 * spare;
        let count = messages.len() as u16 + u16::from(spare > 0);
        let prefix = Prefix::version_1(references, count, block_bytes);
        let block = prefix.encode_first_block(&messages).unwrap();
        prop_assert_eq!(&block[..16], &prefix.encode().unwrap()[..]);
        prop_assert_eq!(&Prefix::decode(&block).unwrap(), &prefix);
        prop_assert_eq!(block.len() as u64, prefix.first_block_bytes());
        let decoded = first_block(&prefix, &block);
        // Messages with random flags can ask readers to fail.
        prop_assert_eq!(decoded.as_ref().unwrap().len(), usize::from(count));
        prop_assert_eq!(used(decoded.unwrap()), padded(messages.clone()));
        let block = prefix.encode_continuation(&messages, block_bytes).unwrap();
        prop_assert_eq!(used(continuation_block(&prefix, &block).unwrap()), padded(messages));
    }

    #[test]
    fn new_headers_come_back(options in options(), mut messages in prop::collection::vec(message(), 0..9), spare in 0u64..70, nil: bool) {
        let tracked = options.attribute_order_tracked;
        for (i, message) in messages.iter_mut().enumerate() {
            message.creation_order = tracked.then_some(i as u16);
        }
        let mut with_nil = messages.clone();
        if nil {
            let creation_order = tracked.then_some(0);
            with_nil.insert(0, Message { kind: 0, flags: 0, creation_order, body: vec![0; 3] });
        }
        let block_bytes = Prefix::version_2(&options, 0).messages_bytes(&with_nil) + spare;
        let prefix = Prefix::version_2(&options, block_bytes);
        let block = prefix.encode_first_block(&with_nil).unwrap();
        prop_assert_eq!(&Prefix::decode(&block).unwrap(), &prefix);
        prop_assert_eq!(block.len() as u64, prefix.first_block_bytes());
        let decoded = first_block(&prefix, &block).unwrap();
        let gap = block_bytes - prefix.messages_bytes(&decoded);
        prop_assert!(gap == 0 || decoded.iter().all(|m| m.kind != 0), "a gap beside unused space");
        prop_assert_eq!(&used(decoded), &messages);
        let block_bytes = prefix.continuation_bytes(&with_nil) + spare;
        let block = prefix.encode_continuation(&with_nil, block_bytes).unwrap();
        prop_assert_eq!(block.len() as u64, block_bytes);
        prop_assert_eq!(used(continuation_block(&prefix, &block).unwrap()), messages);
    }

    #[test]
    fn old_tree_nodes_come_back(sizes in sizes(), level: u8, left in maybe_address(), right in maybe_address(), children in prop::collection::vec(address(), 0..=12), offsets in prop::collection::vec(number(), 13), rank in 1usize..5) {
        let group: Vec<Vec<u8>> = offsets.iter().map(|&at| group_key(at, sizes).unwrap()).collect();
        let chunk = |at: u64| ChunkKey { stored_bytes: at as u32, filter_mask: 1, offset: vec![at; rank], byte_offset: 0 };
        let chunks: Vec<Vec<u8>> = offsets.iter().map(|&at| chunk(at).encode().unwrap()).collect();
        for (&at, key) in offsets.iter().zip(&chunks) {
            prop_assert_eq!(ChunkKey::decode(key, rank).unwrap(), chunk(at));
        }
        for (kind, keys) in [(Kind::Group, &group), (Kind::Chunk { rank }, &chunks)] {
            let keys = keys[..=children.len()].iter().map(Vec::as_slice).collect();
            let node = Node { level, left, right, keys, children: children.clone() };
            let encoded = node.encode(kind, 6, sizes).unwrap();
            prop_assert_eq!(encoded.len() as u64, kind.node_bytes(6, sizes));
            prop_assert_eq!(Node::decode(&encoded, kind, 6, sizes).unwrap(), node);
        }
    }

    #[test]
    fn new_trees_come_back(sizes in sizes(), kind in 1u8..12, record_bytes in 11u16..40, depth in 0u16..4, root in address(), at in prop::collection::vec(address(), 60), fill: u8) {
        let empty = BTree2::empty(kind, 512, record_bytes, sizes).unwrap();
        prop_assert_eq!(BTree2::decode(&empty.encode().unwrap(), sizes).unwrap(), empty.clone());
        let root = Root { depth, address: root, root_records: 1, records: 3 };
        let tree = empty.with_root(Some(root)).unwrap();
        let encoded = tree.encode().unwrap();
        prop_assert_eq!(encoded.len() as u64, BTree2::header_bytes(sizes));
        prop_assert_eq!(BTree2::decode(&encoded, sizes).unwrap(), tree.clone());
        for depth in 0..=depth {
            let count = tree.records_max(depth);
            let records: Vec<Vec<u8>> = (0..count).map(|i| vec![fill ^ i as u8; usize::from(record_bytes)]).collect();
            let child = |i: u64| Child { address: at[i as usize], records: i % 4, total: if depth > 1 { 7 * i } else { i % 4 } };
            let children: Vec<Child> = if depth == 0 { Vec::new() } else { (0..=count).map(child).collect() };
            let node = tree.encode_node(depth, &records, &children).unwrap();
            prop_assert_eq!(node.len(), 512);
            let found = tree.node(super::block(&node), depth, count).unwrap();
            prop_assert_eq!(super::records(&found), records.iter().map(Vec::as_slice).collect::<Vec<_>>());
            prop_assert_eq!(&found.children, &children);
        }
    }

    #[test]
    fn broken_section_lists_never_panic(tail in bytes(0..60), bits in 0u16..=64, stored in prop_oneof![0u64..9, any::<u64>()], largest: u64) {
        let mut list = [&b"FSSE\0"[..], &[7, 0, 0, 0, 0, 0, 0, 0], &tail].concat();
        let sum = crate::format::checksum::lookup3(&list, 0);
        list.extend(sum.to_le_bytes());
        let used = list.len() as u64;
        let manager = Manager { address_bits: bits, stored_sections: stored, section_bytes_max: largest, list_used_bytes: used, list_bytes: used, ..Manager::of_file() };
        if let Ok(sections) = manager.sections(&list, Address(7), EIGHT, &Limits::default()) {
            prop_assert_eq!(sections.len() as u64, stored);
            let _ = manager.encode_list(Address(7), &sections, EIGHT);
        }
    }

    #[test]
    fn free_space_comes_back(sizes in sizes(), heap: bool, header in address(), list in address(), rows in prop::collection::vec((0u64..5000, 1u64..30, any::<bool>(), any::<(u16, u16, u16)>()), 1..20), gap in 0u64..9, spare in 0u64..9) {
        let mut manager = if heap { Manager::of_heap(32, 0x7FFF) } else { Manager::of_file() };
        if !heap {
            // The library's largest size needs 8-byte lengths.
            manager.section_bytes_max = 0xFFFF;
            manager.address_bits = 15;
        }
        let mut sections: Vec<Section> = rows.into_iter().map(|(offset, bytes, whole_row, (row, column, entries))| {
            let run = Detail::Row { block_offset: offset, row, column, entries };
            let detail = if heap && whole_row { run } else { Detail::Plain(if heap { 0 } else { u8::from(whole_row) }) };
            Section { offset, bytes, detail }
        }).collect();
        manager.bytes = sections.iter().map(|s| s.bytes).sum();
        manager.sections = sections.len() as u64;
        manager.stored_sections = sections.len() as u64;
        manager.list = Some(list);
        manager.list_used_bytes = manager.list_bytes_of(&sections, sizes) as u64 + gap;
        manager.list_bytes = manager.list_used_bytes + spare;
        let encoded = manager.encode(sizes).unwrap();
        prop_assert_eq!(encoded.len() as u64, Manager::header_bytes(sizes));
        prop_assert_eq!(&Manager::decode(&encoded, sizes).unwrap(), &manager);
        let block = manager.encode_list(header, &sections, sizes).unwrap();
        prop_assert_eq!(block.len() as u64, manager.list_bytes);
        sections.sort_by_key(|s| (s.bytes, s.offset));
        prop_assert_eq!(manager.sections(&block, header, sizes, &Limits::default()).unwrap(), sections);
    }
}

#[test]
fn free_space_headers_are_as_long_as_libhdf5_writes_them() {
    let manager = Manager::of_file();
    assert_eq!(manager.client, Client::File);
    assert_eq!(manager.encode(EIGHT).unwrap().len(), 82);
    assert!(manager.encode(Sizes { offset: 4, length: 4 }).is_err());
}

#[test]
fn the_last_key_of_a_chunk_tree_is_one_chunk_further() {
    let key = ChunkKey { stored_bytes: 9, filter_mask: 1, offset: vec![0, 996], byte_offset: 0 };
    let after = key.after(&[3, 4], 2).unwrap();
    assert_eq!(after, ChunkKey { stored_bytes: 0, filter_mask: 0, offset: vec![3, 1000], byte_offset: 2 });
    let far = ChunkKey { offset: vec![u64::MAX], ..key };
    assert_eq!(far.after(&[1], 2), None);
}

#[test]
fn space_beyond_one_message_is_several_unused_ones() {
    for block_bytes in [65535 + 4 + 1, 65535 + 4 + 3, 65535 + 4 + 4, 200_000] {
        let prefix = Prefix::version_2(&PrefixOptions::default(), block_bytes);
        let block = prefix.encode_first_block::<Message>(&[]).unwrap();
        let decoded = first_block(&prefix, &block).unwrap();
        assert_eq!(prefix.messages_bytes(&decoded), block_bytes);
        assert!(decoded.iter().all(|m| m.kind == 0));
    }
}

#[test]
fn entries_say_what_they_are() {
    let hard = SymbolTableEntry::hard(8, Address(800), Cached::Nothing);
    assert_eq!((hard.header, hard.cached), (Some(Address(800)), Cached::Nothing));
    assert_eq!(SymbolTableEntry::soft(8, 16).cached, Cached::SoftLink(16));
}
