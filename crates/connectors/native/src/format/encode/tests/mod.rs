//! What is decoded from the encoded is the same, and so are bytes that libhdf5 wrote.

mod arrays;
mod blocks;
mod golden;
mod golden_objects;
mod heaps;
mod messages;
mod reference;

use proptest::prelude::*;

use super::super::{Address, Sizes, header};

const EIGHT: Sizes = Sizes { offset: 8, length: 8 };

/// Bytes from hexadecimal text with blanks anywhere.
fn hex(text: &str) -> Vec<u8> {
    let digits: Vec<u8> = text.bytes().filter(|b| !b.is_ascii_whitespace()).collect();
    assert!(digits.len().is_multiple_of(2), "{text}");
    let digit = |b: u8| char::from(b).to_digit(16).unwrap() as u8;
    digits.chunks(2).map(|pair| digit(pair[0]) << 4 | digit(pair[1])).collect()
}

fn sizes() -> impl Strategy<Value = Sizes> {
    let width = || prop::sample::select(vec![2usize, 4, 8]);
    (width(), width()).prop_map(|(offset, length)| Sizes { offset, length })
}

/// Numbers that fit the narrowest fields.
fn number() -> impl Strategy<Value = u64> {
    0u64..0xFFFF
}

fn address() -> impl Strategy<Value = Address> {
    (1u64..0xFFFF).prop_map(Address)
}

fn maybe_address() -> impl Strategy<Value = Option<Address>> {
    prop::option::of(address())
}

fn bytes(len: impl Into<prop::collection::SizeRange>) -> impl Strategy<Value = Vec<u8>> {
    prop::collection::vec(any::<u8>(), len)
}

fn name() -> impl Strategy<Value = String> {
    prop_oneof![
        prop::collection::vec(prop::sample::select(vec!['a', 'Z', '.', ' ', 'ö', '%', '\u{F7FF}']), 1..40)
            .prop_map(|c| c.into_iter().collect()),
        Just("n".repeat(300)),
    ]
}

/// The messages of a block as values of their own.
fn messages(block: &[u8], entries: Vec<header::MessageEntry>) -> Vec<header::Message> {
    let message = |header::MessageEntry { kind, flags, creation_order, body }: header::MessageEntry| {
        let body = block[body].to_vec();
        header::Message { kind, flags, creation_order, body }
    };
    entries.into_iter().map(message).collect()
}

fn first_block(prefix: &header::Prefix, block: &[u8]) -> model::Result<Vec<header::Message>> {
    let mut entries = Vec::new();
    header::first_block(prefix, block, 0, &mut entries).map(|()| messages(block, entries))
}

fn continuation_block(prefix: &header::Prefix, block: &[u8]) -> model::Result<Vec<header::Message>> {
    let mut entries = Vec::new();
    header::continuation_block(prefix, block, 0, &mut entries).map(|()| messages(block, entries))
}

fn block(bytes: &[u8]) -> crate::pages::Block {
    std::sync::Arc::new(bytes.to_vec()).into()
}

fn records(node: &super::super::btree2::Node) -> Vec<&[u8]> {
    (0..node.len()).map(|at| node.record(at)).collect()
}
