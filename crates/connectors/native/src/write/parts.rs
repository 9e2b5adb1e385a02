//! What hangs on an object and is built whole: links, attributes, chunks.

use std::collections::{BTreeMap, BTreeSet};

use model::properties::{CreationOrder, PhaseChange};
use model::{Error, Link, LinkTarget, Result, Token, text};

use super::create::group_info_message;
use super::link_set::LinkSet;
use super::storage::Storage;
use crate::chunk::index::{ChunkAt, Chunks};
use crate::format::Address;
use crate::format::attribute::{AttributeInfo, RawAttribute};
use crate::format::checksum;
use crate::format::encode::fractal_heap::Client;
use crate::format::encode::{attribute as encode_attribute, group as encode_group, link as encode_link};
use crate::format::group::LinkInfo;
use crate::format::header::{Message, Prefix, kind};
use crate::format::layout::Layout;
use crate::object::footprint::Ranges;
use crate::object::header::Header;
use crate::object::{attribute, group};
use crate::reader::Reader;

/// The largest message that stays in a header.
const MESSAGE_BYTES_MAX: usize = 65000;

/// Bytes of heap IDs of links and of attributes, as libhdf5 has them.
const LINK_ID_BYTES: usize = 7;
const ATTRIBUTE_ID_BYTES: usize = 8;

/// A part of an object as values, with what the file holds of it.
#[derive(Debug, Default)]
pub(crate) struct Part<T> {
    value: T,
    is_dirty: bool,
    /// Blocks of the file that hold it now.
    blocks: Ranges,
    /// Its messages as laid out last.
    messages: Vec<Message>,
}

impl<T> Part<T> {
    /// A part that is not in the file yet.
    pub(crate) fn new(value: T) -> Self {
        Part { value, is_dirty: true, blocks: Vec::new(), messages: Vec::new() }
    }

    /// A part that these blocks hold.
    pub(crate) fn loaded(value: T, blocks: Ranges) -> Self {
        Part { value, is_dirty: false, blocks, messages: Vec::new() }
    }

    pub(crate) fn value(&self) -> &T {
        &self.value
    }

    pub(crate) fn change(&mut self) -> &mut T {
        self.is_dirty = true;
        &mut self.value
    }

    /// Its messages as laid out last.
    pub(crate) fn messages(&self) -> &[Message] {
        &self.messages
    }

    pub(crate) fn blocks(&self) -> &Ranges {
        &self.blocks
    }

    pub(crate) fn weight(&self, of_value: impl FnOnce(&T) -> usize) -> usize {
        let messages: usize = self.messages.iter().map(|m| m.body.len() + 64).sum();
        of_value(&self.value) + messages + 16 * self.blocks.len()
    }

    /// Builds the part anew where it changed, and gives its old blocks back.
    pub(crate) fn lay_out(
        &mut self,
        storage: &mut Storage,
        build: impl FnOnce(&mut T, &mut Storage) -> Result<Vec<Message>>,
    ) -> Result<()> {
        if self.is_dirty {
            for (at, len) in std::mem::take(&mut self.blocks) {
                storage.release(at, len);
            }
            let (messages, blocks) = storage.note_allocated(|storage| build(&mut self.value, storage));
            self.blocks = blocks;
            self.messages = messages?;
            self.is_dirty = false;
        }
        Ok(())
    }
}

/// Chunks by their scaled coordinates, and what an index needs to know besides.
#[derive(Debug, Default)]
pub(crate) struct ChunkSet {
    pub(crate) chunks: BTreeMap<Vec<u64>, ChunkAt>,
    pub(crate) max_dims: Vec<u64>,
    pub(crate) filtered: bool,
    /// Bytes of a chunk without filters.
    pub(crate) chunk_bytes: u64,
    /// Chunks that were stored since the index was written, while readers look on; `None` where some were taken away too.
    pub(crate) changed: Option<BTreeSet<Vec<u64>>>,
}

impl ChunkSet {
    /// The chunks of a dataset.
    pub(crate) fn load(file: &Reader, address: Address) -> Result<Part<ChunkSet>> {
        let dataset = file.dataset(Token::from_u64(address.0))?;
        let Layout::Chunked(layout) = &dataset.layout else {
            return Err(Error::invalid("write chunk").with("problem", "dataset is not chunked"));
        };
        let index = Chunks::open(file, &dataset, layout)?;
        let mut chunks = BTreeMap::new();
        index.walk(&mut |scaled, chunk| {
            chunks.insert(scaled.to_vec(), chunk);
            Ok(())
        })?;
        let (filtered, chunk_bytes) = (index.filtered, index.chunk_bytes);
        let value = ChunkSet {
            chunks,
            max_dims: dataset.info.space.max_dims().to_vec(),
            filtered,
            chunk_bytes,
            changed: Some(BTreeSet::new()),
        };
        Ok(Part::loaded(value, index.blocks()?))
    }
}

/// Whether so many things go to a heap, when they did (`dense`) or did not before.
fn is_dense(count: usize, phase: PhaseChange, dense: bool) -> bool {
    count > usize::from(phase.compact_max) || (dense && count >= usize::from(phase.dense_min))
}

/// The links of a group.
#[derive(Debug, Default)]
pub(crate) struct Links {
    pub(crate) by_name: LinkSet,
    pub(crate) order: CreationOrder,
    pub(crate) next: i64,
    pub(crate) phase: PhaseChange,
    /// They are kept in a symbol table, as before HDF5 1.8.
    pub(crate) is_old: bool,
    pub(crate) is_dense: bool,
    /// The group's header has no group info message.
    pub(crate) lacks_info: bool,
}

impl Links {
    /// The links of a group; their messages leave `messages`.
    pub(crate) fn load(file: &Reader, header: &Header, messages: &mut Vec<Message>) -> Result<Part<Links>> {
        let create = group::creation(file, header)?;
        let links = group::links(file, header)?;
        let blocks = group::blocks(file, header)?.all();
        let mut value = Links {
            by_name: links.into_iter().collect(),
            order: create.link_order,
            next: 0,
            phase: create.link_phase,
            is_old: true,
            is_dense: false,
            lacks_info: header.message(kind::GROUP_INFO).is_none(),
        };
        if let Some(m) = header.message(kind::LINK_INFO) {
            let info = crate::format::group::link_info(m.body, file.store.sizes())?;
            (value.is_old, value.next, value.is_dense) = (false, info.order_next, info.heap.is_some());
        }
        messages.retain(|m| !matches!(m.kind, kind::LINK | kind::LINK_INFO | kind::SYMBOL_TABLE));
        Ok(Part::loaded(value, blocks))
    }

    /// The messages of these links, with what they point to.
    pub(crate) fn messages(&mut self, storage: &mut Storage) -> Result<Vec<Message>> {
        let fits_old = |l: &Link| matches!(l.target, LinkTarget::Hard(_) | LinkTarget::Soft(_));
        self.is_old = self.is_old && self.by_name.iter().all(fits_old);
        if self.is_old {
            let table = storage.build_symbol_table(&self.by_name.sorted())?;
            let body = encode_group::symbol_table(table, storage.sizes)?;
            return Ok(vec![Message { kind: kind::SYMBOL_TABLE, flags: 0, creation_order: None, body }]);
        }
        let mut messages = self.new_messages(storage)?;
        if self.lacks_info {
            // libhdf5 adds no link to a group of the newer style without it.
            messages.push(group_info_message(&model::properties::GroupCreate::default())?);
        }
        Ok(messages)
    }

    fn new_messages(&mut self, storage: &mut Storage) -> Result<Vec<Message>> {
        let (sizes, links) = (storage.sizes, self.by_name.sorted());
        let bodies = links.iter().map(|l| encode_link::encode(l, sizes)).collect::<Result<Vec<_>>>()?;
        self.is_dense = is_dense(bodies.len(), self.phase, self.is_dense)
            || bodies.iter().any(|b| b.len() > MESSAGE_BYTES_MAX);
        let mut info = LinkInfo {
            order_tracked: self.order != CreationOrder::Untracked,
            order_indexed: self.order == CreationOrder::Indexed,
            order_next: self.next,
            heap: None,
            name_tree: None,
            order_tree: None,
        };
        let mut out = Vec::new();
        if self.is_dense {
            let heap = storage.build_heap(Client::Links, &bodies)?;
            let (ids, _) = heap.ids.as_chunks();
            info.heap = Some(heap.address);
            info.name_tree = Some(storage.build_btree2(5, 11, &name_records(&links, ids))?);
            if info.order_indexed {
                info.order_tree = Some(storage.build_btree2(6, 15, &order_records(&links, ids))?);
            }
        } else {
            let mut in_order: Vec<_> = links.into_iter().zip(bodies).collect();
            in_order.sort_by_key(|(l, _)| l.creation_order);
            let message = |(_, body)| Message { kind: kind::LINK, flags: 0, creation_order: None, body };
            out.extend(in_order.into_iter().map(message));
        }
        let body = encode_group::link_info(&info, sizes)?;
        out.insert(0, Message { kind: kind::LINK_INFO, flags: 0, creation_order: None, body });
        Ok(out)
    }
}

/// The fields of a record, which fill it.
fn joined<const FIELDS: usize, const BYTES: usize>(fields: [&[u8]; FIELDS]) -> [u8; BYTES] {
    let mut record = [0; BYTES];
    record.iter_mut().zip(fields.into_iter().flatten()).for_each(|(to, from)| *to = *from);
    record
}

/// Records of the name tree: hash and ID, sorted by hash, then name, which links come sorted by.
fn name_records(links: &[&Link], ids: &[[u8; LINK_ID_BYTES]]) -> Vec<[u8; 4 + LINK_ID_BYTES]> {
    let hash = |link: &&Link| checksum::lookup3(&text::as_bytes(&link.name), 0);
    let mut records: Vec<(u32, usize)> = links.iter().map(hash).zip(0..).collect();
    records.sort_unstable();
    records.into_iter().map(|(hash, n)| joined([&hash.to_le_bytes(), &ids[n]])).collect()
}

fn order_records(links: &[&Link], ids: &[[u8; LINK_ID_BYTES]]) -> Vec<[u8; 8 + LINK_ID_BYTES]> {
    let order = |l: &&Link| l.creation_order.unwrap_or(0);
    let mut records: Vec<(i64, &[u8; LINK_ID_BYTES])> = links.iter().map(order).zip(ids).collect();
    records.sort_unstable();
    records.into_iter().map(|(order, id)| joined([&order.to_le_bytes(), id])).collect()
}

/// An attribute and its place among the others.
#[derive(Debug)]
pub(crate) struct Kept {
    pub(crate) raw: RawAttribute,
    /// Its creation order, where that is tracked.
    pub(crate) order: Option<u16>,
    /// Earlier ones stand before later ones in a header.
    rank: u64,
}

/// Attributes by name.
#[derive(Debug, Default)]
pub(crate) struct Attributes {
    /// In boxes, since a map makes room for many at once, and most objects have few.
    pub(crate) by_name: BTreeMap<String, Box<Kept>>,
    pub(crate) next: u16,
    pub(crate) phase: PhaseChange,
    is_dense: bool,
    rank_next: u64,
}

impl Attributes {
    pub(crate) fn new(phase: PhaseChange) -> Self {
        Attributes { phase, ..Self::default() }
    }

    /// The attributes of an object; their messages leave `messages`.
    pub(crate) fn load(
        file: &Reader,
        header: &Header,
        messages: &mut Vec<Message>,
    ) -> Result<Part<Attributes>> {
        let mut value = Attributes::new(header.prefix.attribute_phase.unwrap_or_default());
        for (raw, order) in attribute::all_raw(file, header)? {
            value.next = value.next.max(order.map_or(0, |n| n.saturating_add(1)));
            value.insert(raw, order);
        }
        if let Some(m) = header.message(kind::ATTRIBUTE_INFO) {
            let info = crate::format::attribute::info(m.body, file.store.sizes())?;
            value.next = value.next.max(info.order_next.unwrap_or(0));
            value.is_dense = info.heap.is_some();
        }
        let blocks = attribute::blocks(file, header)?.all();
        messages.retain(|m| !matches!(m.kind, kind::ATTRIBUTE | kind::ATTRIBUTE_INFO));
        Ok(Part::loaded(value, blocks))
    }

    pub(crate) fn insert(&mut self, raw: RawAttribute, order: Option<u16>) {
        let rank = self.rank_next;
        self.rank_next += 1;
        self.by_name.insert(raw.name.clone(), Box::new(Kept { raw, order, rank }));
    }

    /// Gives an attribute another name, in its old place.
    pub(crate) fn rename(&mut self, from: &str, to: &str) {
        if let Some(mut kept) = self.by_name.remove(from) {
            kept.raw.name = to.to_owned();
            if !to.is_ascii() {
                kept.raw.charset = model::CharacterSet::Utf8;
            }
            self.by_name.insert(to.to_owned(), kept);
        }
    }

    pub(crate) fn weight(&self) -> usize {
        self.by_name.values().map(|k| k.raw.data.len() + 300).sum()
    }

    /// The messages of these attributes, with what they point to.
    pub(crate) fn messages(&mut self, prefix: &Prefix, storage: &mut Storage) -> Result<Vec<Message>> {
        let mut list: Vec<&Kept> = self.by_name.values().map(Box::as_ref).collect();
        list.sort_unstable_by_key(|kept| kept.rank);
        if list.is_empty() {
            self.is_dense = false;
            return Ok(Vec::new());
        }
        let floor = if prefix.version == 1 { 1 } else { 3 };
        let encode = |k: &&Kept| encode_attribute::encode(&k.raw, encode_attribute::version(&k.raw, floor));
        let bodies = list.iter().map(encode).collect::<Result<Vec<_>>>()?;
        let too_large = bodies.iter().any(|b| b.len() > MESSAGE_BYTES_MAX);
        if prefix.version == 1 && too_large {
            return Err(
                Error::limit("store attribute").with("problem", "an old object header holds 64 KiB at most")
            );
        }
        let dense = prefix.version == 2 && (is_dense(list.len(), self.phase, self.is_dense) || too_large);
        let mut info = AttributeInfo {
            order_next: prefix.attribute_order_tracked.then_some(self.next),
            order_indexed: prefix.attribute_order_indexed,
            heap: None,
            name_tree: None,
            order_tree: None,
        };
        let mut out = Vec::new();
        if dense {
            let heap = storage.build_heap(Client::Attributes, &bodies)?;
            info.heap = Some(heap.address);
            let (names, orders) = attribute_records(&list, heap.ids.as_chunks().0);
            info.name_tree = Some(storage.build_btree2(8, 17, &names)?);
            if info.order_indexed {
                info.order_tree = Some(storage.build_btree2(9, 13, &orders)?);
            }
        } else {
            let message =
                |(body, order)| Message { kind: kind::ATTRIBUTE, flags: 0, creation_order: order, body };
            out.extend(bodies.into_iter().zip(list.iter().map(|k| k.order)).map(message));
        }
        self.is_dense = dense;
        if prefix.version == 2 {
            let body = encode_attribute::info(&info, storage.sizes)?;
            out.insert(0, Message { kind: kind::ATTRIBUTE_INFO, flags: 4, creation_order: None, body });
        }
        Ok(out)
    }
}

/// Records of both attribute trees. Where order is not tracked, libhdf5 stores 0xFFFF.
fn attribute_records(
    list: &[&Kept],
    ids: &[[u8; ATTRIBUTE_ID_BYTES]],
) -> (Vec<[u8; ATTRIBUTE_ID_BYTES + 9]>, Vec<[u8; ATTRIBUTE_ID_BYTES + 5]>) {
    let mut names = Vec::new();
    let mut orders = Vec::new();
    for (kept, id) in list.iter().zip(ids) {
        let name = text::as_bytes(&kept.raw.name);
        let (hash, order) = (checksum::lookup3(&name, 0), u32::from(kept.order.unwrap_or(u16::MAX)));
        let record: [u8; ATTRIBUTE_ID_BYTES + 5] = joined([id, &[0], &order.to_le_bytes()]);
        orders.push((order, record));
        names.push((hash, name, joined([&record, &hash.to_le_bytes()])));
    }
    names.sort_unstable();
    orders.sort_unstable();
    (names.into_iter().map(|(_, _, r)| r).collect(), orders.into_iter().map(|(_, r)| r).collect())
}
