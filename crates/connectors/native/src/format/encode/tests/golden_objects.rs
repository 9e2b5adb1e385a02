//! Object headers, their messages and records of B-trees in files that libhdf5 wrote.

use std::collections::HashSet;

use model::selection::SelectionVersion;
use model::{Dataspace, Datatype, Limits, Result, dataspace};

use super::super as encode;
use super::super::super::btree1::Kind;
use super::super::super::btree2::BTree2;
use super::super::super::header::{Message, Prefix, continuation, kind};
use super::super::super::layout::{Index, Layout};
use super::super::super::records::{Attribute, ElementForm, Huge, LinkName, LinkOrder};
use super::super::super::shared_list::{self, SharedRecord};
use super::super::super::superblock::{self, Superblock};
use super::super::super::{
    Address, Sizes, attribute, external_files, file_space, fill, filters, global_heap, group, link, shared,
    symbol_table, virtual_map,
};
use super::golden::{Image, tree_1};
use super::{continuation_block, first_block};

/// All headers that are found, and their messages.
pub(super) fn check(image: &mut Image<'_>, superblock: &Superblock) {
    if let Some(extension) = superblock.extension {
        for message in messages_of(image, extension).filter(|m| m.kind == kind::TREE_K) {
            image.k = superblock::tree_k(&message.body).unwrap_or(image.k);
        }
    }
    let mut headers: Vec<Address> = image.found(b"OHDR");
    headers.extend([superblock.root].into_iter().chain(superblock.extension));
    for node in image.found(b"SNOD") {
        let len = symbol_table::node_bytes(image.k.group_leaf, image.sizes);
        let entries = image.at(node, len).and_then(|b| symbol_table::node(b, image.sizes).ok());
        headers.extend(entries.into_iter().flatten().filter_map(|e| e.header));
    }
    let headers: HashSet<Address> = headers.into_iter().collect();
    for header in headers {
        check_header(image, header);
    }
}

fn messages_of(image: &Image<'_>, header: Address) -> std::vec::IntoIter<Message> {
    let decoded = start(image, header).and_then(|(prefix, block)| first_block(&prefix, block).ok());
    decoded.unwrap_or_default().into_iter()
}

fn start<'a>(image: &Image<'a>, header: Address) -> Option<(Prefix, &'a [u8])> {
    let rest = image.bytes.get(usize::try_from(header.0).ok()?..)?;
    let prefix = Prefix::decode(rest).ok()?;
    let block = image.at(header, prefix.first_block_bytes())?;
    Some((prefix, block))
}

fn check_header(image: &mut Image<'_>, header: Address) {
    let Some((prefix, block)) = start(image, header) else { return };
    let Ok(messages) = first_block(&prefix, block) else { return };
    let what = if prefix.version == 1 { "header v1" } else { "OHDR" };
    image.compare(what, block, &prefix.encode_first_block(&messages));
    let mut todo = messages;
    while let Some(message) = todo.pop() {
        if message.kind == kind::CONTINUATION {
            let Ok((address, len)) = continuation(&message.body, image.sizes) else { continue };
            let Some(block) = image.at(address, len).filter(|_| image.is_new(address)) else { continue };
            let Ok(more) = continuation_block(&prefix, block) else { continue };
            let what = if prefix.version == 1 { "header v1 continuation" } else { "OCHK" };
            image.compare(what, block, &prefix.encode_continuation(&more, len));
            todo.extend(more);
        }
        check_message(image, &prefix, &message);
    }
}

fn check_message(image: &mut Image<'_>, prefix: &Prefix, message: &Message) {
    let padded = |encoded: Result<Vec<u8>>| {
        encoded.map(|mut bytes| {
            let unit = if prefix.version == 1 { 8 } else { 1 };
            bytes.resize(bytes.len().next_multiple_of(unit), 0);
            bytes
        })
    };
    if let Some((what, encoded)) = again(image, message) {
        image.compare(what, &message.body, &padded(encoded));
    }
}

/// The message decoded and encoded.
fn again(image: &mut Image<'_>, message: &Message) -> Option<(&'static str, Result<Vec<u8>>)> {
    let (body, sizes) = (&message.body[..], image.sizes);
    if message.is_shared() {
        return Some(("message shared", shared::SharedAt::decode(body, sizes).ok()?.encode(sizes)));
    }
    Some(match message.kind {
        kind::DATASPACE => dataspace_again(body, sizes)?,
        kind::DATATYPE => datatype_again(body)?,
        kind::LINK_INFO => {
            ("message link info", encode::group::link_info(&group::link_info(body, sizes).ok()?, sizes))
        }
        kind::GROUP_INFO => ("message group info", encode::group::group_info(&group::group_info(body).ok()?)),
        kind::LINK => ("message link", encode::link::encode(&link::decode(body, sizes).ok()?, sizes)),
        kind::SYMBOL_TABLE => {
            let table = group::symbol_table(body, sizes).ok()?;
            tree_1(image, table.tree, Kind::Group, image.k.group_internal);
            ("message symbol table", encode::group::symbol_table(table, sizes))
        }
        kind::FILL_OLD => {
            ("message fill old", encode::fill::encode_old(&fill::decode_old(body).ok()?.0.value))
        }
        kind::FILL if body.first() != Some(&1) => {
            let (value, alloc) = fill::decode(body).ok()?;
            ("message fill", encode::fill::encode(&value, alloc, body[0]))
        }
        kind::LAYOUT if body.first().is_some_and(|&version| version >= 3) => {
            let layout = Layout::decode(body, sizes).ok()?;
            below_layout(image, &layout);
            ("message layout", layout.encode(body[0], sizes))
        }
        kind::FILTERS => {
            let decoded = filters::decode(body).ok()?;
            ("message filters", encode::filters::encode(&decoded, body[0]))
        }
        kind::ATTRIBUTE => {
            let decoded = attribute::decode(body).ok()?;
            attribute_parts(image, &decoded);
            ("message attribute", encode::attribute::encode(&decoded, body[0]))
        }
        kind::ATTRIBUTE_INFO => {
            let info = attribute::info(body, sizes).ok()?;
            ("message attribute info", encode::attribute::info(&info, sizes))
        }
        kind::EXTERNAL_FILES => {
            let (heap, slots) = external_files::decode(body, sizes).ok()?;
            ("message external files", encode::external_files::encode(heap, &slots, sizes))
        }
        kind::TREE_K => ("message tree K", encode::superblock::tree_k(superblock::tree_k(body).ok()?)),
        kind::FILE_SPACE if body.first() == Some(&1) => {
            ("message file space", file_space::decode(body, sizes).ok()?.encode(sizes))
        }
        kind::SHARED_TABLE => shared_table(image, body)?,
        kind::TIME => {
            let seconds = u32::from_le_bytes(body.get(4..8)?.try_into().ok()?);
            ("message time", encode::messages::modification_time(seconds))
        }
        kind::REFERENCES => {
            let count = u32::from_le_bytes(body.get(1..5)?.try_into().ok()?);
            ("message references", encode::messages::references(count))
        }
        kind::CONTINUATION => {
            let (address, len) = continuation(body, sizes).ok()?;
            ("message continuation", encode::header::continuation(address, len, sizes))
        }
        _ => return None,
    })
}

fn dataspace_again(body: &[u8], sizes: Sizes) -> Option<(&'static str, Result<Vec<u8>>)> {
    let format = dataspace::Format { length_bytes: sizes.length as u8 };
    let version = if body.first() == Some(&1) { dataspace::Version::V1 } else { dataspace::Version::V2 };
    Some(("message dataspace", Dataspace::decode(body, &format).ok()?.encode(version, &format)))
}

fn datatype_again(body: &[u8]) -> Option<(&'static str, Result<Vec<u8>>)> {
    let floor = body.first()? >> 4;
    Some(("message datatype", Datatype::decode(body, &Limits::default()).ok()?.encode(floor)))
}

fn attribute_parts(image: &mut Image<'_>, raw: &attribute::RawAttribute) {
    let datatype = Some(&raw.datatype).filter(|p| !p.shared).and_then(|p| datatype_again(&p.bytes));
    if let Some((what, encoded)) = datatype {
        image.compare(what, &raw.datatype.bytes, &encoded);
    }
    let dataspace = dataspace_again(&raw.dataspace.bytes, image.sizes).filter(|_| !raw.dataspace.shared);
    if let Some((what, encoded)) = dataspace {
        image.compare(what, &raw.dataspace.bytes, &encoded);
    }
}

fn shared_table(image: &mut Image<'_>, body: &[u8]) -> Option<(&'static str, Result<Vec<u8>>)> {
    let sizes = image.sizes;
    let (table, count) = shared::table_message(body, sizes).ok()?;
    let block = image.at(table, shared::table_bytes(count, sizes))?;
    let indexes = shared::table(block, count, sizes).ok()?;
    image.compare("SMTB", block, &encode::shared::table(&indexes, sizes));
    // With narrower addresses libhdf5 leaves a few bytes of each record as they were in memory.
    for index in indexes.iter().filter(|i| !i.is_tree && sizes.offset == 8) {
        let len = shared_list::list_bytes(index.list_max, sizes);
        let Some(block) = index.index.and_then(|a| image.at(a, len)) else { continue };
        let Ok(records) = shared_list::decode_list(block, index.messages, sizes) else { continue };
        image.compare("SMLI", block, &shared_list::encode_list(&records, index.list_max, sizes));
    }
    Some(("message shared table", encode::shared::table_message(table, count, sizes)))
}

/// What a layout leads to and no signature finds.
fn below_layout(image: &mut Image<'_>, layout: &Layout) {
    match layout {
        Layout::Chunked(chunked) if chunked.index == Index::BTree1 => {
            let kind = Kind::Chunk { rank: chunked.shape.len() };
            if let Some(root) = chunked.address {
                tree_1(image, root, kind, image.k.chunk);
            }
        }
        Layout::Virtual { map: Some(map) } => virtual_maps(image, *map),
        _ => {}
    }
}

fn virtual_maps(image: &mut Image<'_>, map: global_heap::HeapId) {
    let sizes = image.sizes;
    let len = image
        .at(map.collection, global_heap::header_bytes(sizes))
        .and_then(|head| global_heap::collection_bytes(head, sizes).ok());
    let Some(block) = len.and_then(|len| image.at(map.collection, len)) else { return };
    let objects = global_heap::objects(block, sizes).unwrap_or_default();
    let Some((_, range)) = objects.into_iter().find(|o| o.0 == map.index) else { return };
    let stored = &block[range];
    let ranks = 1..=32;
    let mappings =
        ranks.filter_map(|r| virtual_map::decode(stored, r, sizes, &Limits::default()).ok()).next();
    let Some(mappings) = mappings else { return };
    // The library bound of the file is not in it: one of the forms has to be the stored one.
    let forms = [SelectionVersion::V18, SelectionVersion::V110, SelectionVersion::V112];
    let encoded = forms.map(|form| encode::virtual_map::encode(&mappings, stored[0], form, sizes));
    let same = encoded.iter().position(|e| e.as_ref().is_ok_and(|e| e == stored)).unwrap_or(0);
    image.compare("virtual map", stored, &encoded[same]);
}

/// Records of a node.
pub(super) fn records(image: &mut Image<'_>, tree: &BTree2, records: &[&[u8]]) {
    for record in records {
        if let Some((what, encoded)) = record_again(image, tree, record) {
            image.compare(what, record, &encoded);
        }
    }
}

fn record_again(image: &Image<'_>, tree: &BTree2, record: &[u8]) -> Option<(&'static str, Result<Vec<u8>>)> {
    let sizes = image.sizes;
    Some(match tree.kind {
        n @ 1..=4 => ("record 1-4", Huge::decode(record, n, sizes).ok()?.encode(n % 2 == 0, sizes)),
        5 => ("record 5", LinkName::decode(record).ok()?.encode()),
        6 => ("record 6", LinkOrder::decode(record).ok()?.encode()),
        7 => ("record 7", SharedRecord::decode(record, sizes).ok()?.encode(sizes)),
        n @ (8 | 9) => ("record 8-9", Attribute::decode(record, n).ok()?.encode()),
        10 => {
            let (form, rank) = (ElementForm::plain(sizes), (record.len() - sizes.offset) / 8);
            let (chunk_coords, element) = form.decode_record(record, rank).ok()?;
            ("record 10", form.encode_record(&chunk_coords, element))
        }
        11 => {
            // Eight divides all but the address, the size and the mask.
            let size_bytes = (record.len() - sizes.offset - 4) % 8;
            let form = ElementForm { sizes, size_bytes: if size_bytes == 0 { 8 } else { size_bytes } };
            let rank = (record.len() - form.bytes()) / 8;
            let (chunk_coords, element) = form.decode_record(record, rank).ok()?;
            ("record 11", form.encode_record(&chunk_coords, element))
        }
        _ => return None,
    })
}
