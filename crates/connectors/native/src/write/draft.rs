//! An object as values: what is kept in its header, and what hangs on it.

use std::collections::BTreeMap;

use model::properties::{CreationOrder, GroupCreate, PhaseChange};
use model::{Error, Link, ObjectKind, Result, text};

use super::Writer;
use super::create::group_info_message;
use crate::chunk::index::{ChunkAt, Chunks};
use crate::file::File;
use crate::format::attribute::{AttributeInfo, RawAttribute};
use crate::format::btree1::ChunkKey;
use crate::format::encode::fractal_heap::Client;
use crate::format::encode::header::PrefixOptions;
use crate::format::encode::{
    attribute as encode_attribute, group as encode_group, header, link as encode_link, messages,
};
use crate::format::group::LinkInfo;
use crate::format::header::{Message, Prefix, kind};
use crate::format::layout::{Index, Layout};
use crate::format::{Address, checksum};
use crate::object::header::Header;
use crate::object::{attribute, group};

/// An object that changed or may change.
#[derive(Debug)]
pub(crate) struct Draft {
    pub(crate) address: Address,
    pub(crate) kind: ObjectKind,
    pub(crate) is_dirty: bool,
    pub(crate) references: u32,
    prefix: Prefix,
    /// Continuation blocks of the header as it was found.
    continuations: Vec<(Address, u64)>,
    /// Heaps, trees and blocks that this session built for the object.
    pub(crate) built: Vec<(Address, u64)>,
    /// Messages that are not made from the fields below.
    pub(crate) messages: Vec<Message>,
    pub(crate) links: Option<Links>,
    pub(crate) attributes: Attributes,
    pub(crate) chunks: Option<BTreeMap<Vec<u64>, ChunkAt>>,
}

/// Links by the bytes of their names.
#[derive(Debug, Default)]
pub(crate) struct Links {
    pub(crate) by_name: BTreeMap<Vec<u8>, Link>,
    pub(crate) order: CreationOrder,
    pub(crate) next: i64,
    pub(crate) phase: PhaseChange,
}

/// Attributes in the order they are kept.
#[derive(Debug, Default)]
pub(crate) struct Attributes {
    pub(crate) list: Vec<(RawAttribute, Option<u16>)>,
    pub(crate) next: u16,
    pub(crate) phase: PhaseChange,
}

/// Messages that a draft makes from its fields.
fn is_made(kind: u16) -> bool {
    matches!(
        kind,
        0 | kind::CONTINUATION
            | kind::LINK
            | kind::LINK_INFO
            | kind::SYMBOL_TABLE
            | kind::ATTRIBUTE
            | kind::ATTRIBUTE_INFO
            | kind::REFERENCES
    )
}

impl Draft {
    /// A new object whose header has room for `room` bytes of messages.
    pub(crate) fn new(writer: &mut Writer, kind: ObjectKind, options: &PrefixOptions, room: u64) -> Draft {
        let prefix = Prefix::version_2(options, room);
        let address = writer.allocate(prefix.first_block_bytes());
        Draft {
            address,
            kind,
            is_dirty: true,
            references: 0,
            prefix,
            continuations: Vec::new(),
            built: Vec::new(),
            messages: Vec::new(),
            links: None,
            attributes: Attributes::default(),
            chunks: None,
        }
    }

    /// The object as it stands in the file.
    pub(crate) fn load(file: &File, address: Address) -> Result<Draft> {
        let header = file.header(address)?;
        let kind = header.object_kind()?;
        let sizes = file.store.sizes();
        let continuations = header.messages_of(kind::CONTINUATION);
        let continuations = continuations.map(|m| crate::format::header::continuation(&m.body, sizes));
        let continuations = continuations.collect::<Result<_>>()?;
        let mut messages: Vec<Message> =
            header.messages.iter().filter(|m| !is_made(m.kind)).cloned().collect();
        let mut links = None;
        if kind == ObjectKind::Group {
            let create = group::creation(file, &header)?;
            links = Some(load_links(file, &header, &create)?);
            // A group of the older style has none, and libhdf5 adds no link without it.
            if header.message(kind::GROUP_INFO).is_none() {
                messages.push(group_info_message(&create)?);
            }
        }
        Ok(Draft {
            address,
            kind,
            is_dirty: false,
            references: header.references()?,
            prefix: header.prefix.clone(),
            continuations,
            built: Vec::new(),
            messages,
            links,
            attributes: load_attributes(file, &header)?,
            chunks: None,
        })
    }

    pub(crate) fn tracks_attribute_order(&self) -> bool {
        self.prefix.attribute_order_tracked
    }

    /// Replaces the first message of a kind, or adds one.
    pub(crate) fn set(&mut self, kind: u16, flags: u8, body: Vec<u8>) {
        self.is_dirty = true;
        match self.messages.iter_mut().find(|m| m.kind == kind) {
            Some(message) => (message.flags, message.body) = (flags, body),
            None => self.messages.push(Message { kind, flags, creation_order: None, body }),
        }
    }

    pub(crate) fn remove(&mut self, kind: u16) {
        self.is_dirty = true;
        self.messages.retain(|m| m.kind != kind);
    }

    /// Reads the chunk index, so that chunks can be changed.
    pub(crate) fn load_chunks(&mut self, file: &File) -> Result<()> {
        if self.chunks.is_some() {
            return Ok(());
        }
        let dataset = file.dataset(model::Token::from_u64(self.address.0))?;
        let Layout::Chunked(layout) = &dataset.layout else {
            return Err(Error::invalid("write chunk").with("problem", "dataset is not chunked"));
        };
        if layout.edge_chunks_unfiltered {
            return Err(Error::unsupported("write to a dataset with unfiltered edge chunks"));
        }
        let mut found = BTreeMap::new();
        Chunks::open(file, &dataset, layout)?.walk(&mut |scaled, chunk| {
            found.insert(scaled.to_vec(), chunk);
            Ok(())
        })?;
        self.chunks = Some(found);
        Ok(())
    }

    /// Writes the object's header, and what hangs on it in fresh space.
    pub(crate) fn lay_out(&mut self, writer: &mut Writer) -> Result<()> {
        self.lay_out_chunks(writer)?;
        let mut all = self.messages.clone();
        if self.links.is_some() {
            all.extend(self.link_messages(writer)?);
        }
        all.extend(self.attribute_messages(writer)?);
        if self.references > 1 && self.prefix.version == 2 {
            all.push(Message {
                kind: kind::REFERENCES,
                flags: 4,
                creation_order: None,
                body: messages::references(self.references)?,
            });
        }
        self.store(writer, all)?;
        self.is_dirty = false;
        Ok(())
    }

    /// The layout message follows its chunk index, which is built anew.
    fn lay_out_chunks(&mut self, writer: &mut Writer) -> Result<()> {
        let Some(chunks) = &self.chunks else { return Ok(()) };
        let sizes = writer.sizes;
        let body =
            self.messages.iter().find(|m| m.kind == kind::LAYOUT).map(|m| m.body.clone()).unwrap_or_default();
        let Layout::Chunked(mut layout) = Layout::decode(&body, sizes)? else { return Ok(()) };
        let mut entries = Vec::with_capacity(chunks.len());
        for (scaled, chunk) in chunks {
            let offset = scaled.iter().zip(&layout.shape).map(|(s, c)| s * c).collect();
            let stored_bytes = u32::try_from(chunk.bytes)
                .map_err(|_| Error::limit("store chunk").with("bytes", chunk.bytes))?;
            entries.push((
                ChunkKey { stored_bytes, filter_mask: chunk.filter_mask, offset, byte_offset: 0 },
                chunk.address,
            ));
        }
        let (shape, element_bytes) = (layout.shape.clone(), layout.element_bytes);
        // Whatever index the dataset had: a version 1 B-tree holds any chunks, and every library reads it.
        (layout.version, layout.index, layout.parameters) = (3, Index::BTree1, Vec::new());
        layout.address = writer.build_chunk_tree(&entries, &shape, element_bytes)?;
        let body = Layout::Chunked(layout).encode_new(sizes)?;
        self.set(kind::LAYOUT, 0, body);
        Ok(())
    }

    fn link_messages(&self, writer: &mut Writer) -> Result<Vec<Message>> {
        let Some(links) = &self.links else { return Ok(Vec::new()) };
        let sizes = writer.sizes;
        let bodies =
            links.by_name.values().map(|l| encode_link::encode(l, sizes)).collect::<Result<Vec<_>>>()?;
        let dense = links.by_name.len() > usize::from(links.phase.compact_max)
            || bodies.iter().any(|b| b.len() > 65000);
        let mut info = LinkInfo {
            order_tracked: links.order != CreationOrder::Untracked,
            order_indexed: links.order == CreationOrder::Indexed,
            order_next: links.next,
            heap: None,
            name_tree: None,
            order_tree: None,
        };
        let mut out = Vec::new();
        if dense {
            let heap = writer.build_heap(Client::Links, &bodies)?;
            info.heap = Some(heap.address);
            info.name_tree = Some(writer.build_btree2(5, 11, &name_records(links, &heap.ids))?);
            if info.order_indexed {
                info.order_tree = Some(writer.build_btree2(6, 15, &order_records(links, &heap.ids))?);
            }
        } else {
            let mut in_order: Vec<_> = links.by_name.values().zip(bodies).collect();
            in_order.sort_by_key(|(l, _)| l.creation_order);
            let message = |(_, body)| Message { kind: kind::LINK, flags: 0, creation_order: None, body };
            out.extend(in_order.into_iter().map(message));
        }
        let body = encode_group::link_info(&info, sizes)?;
        out.insert(0, Message { kind: kind::LINK_INFO, flags: 0, creation_order: None, body });
        Ok(out)
    }

    fn attribute_messages(&self, writer: &mut Writer) -> Result<Vec<Message>> {
        let Attributes { list, next, phase } = &self.attributes;
        if list.is_empty() {
            return Ok(Vec::new());
        }
        let version =
            |a: &RawAttribute| encode_attribute::version(a, if self.prefix.version == 1 { 1 } else { 3 });
        let bodies =
            list.iter().map(|(a, _)| encode_attribute::encode(a, version(a))).collect::<Result<Vec<_>>>()?;
        let tracked = self.prefix.attribute_order_tracked;
        let too_large = bodies.iter().any(|b| b.len() > 65000);
        if self.prefix.version == 1 && too_large {
            return Err(
                Error::limit("store attribute").with("problem", "an old object header holds 64 KiB at most")
            );
        }
        let dense = self.prefix.version == 2 && (list.len() > usize::from(phase.compact_max) || too_large);
        let mut info = AttributeInfo {
            order_next: tracked.then_some(*next),
            order_indexed: self.prefix.attribute_order_indexed,
            heap: None,
            name_tree: None,
            order_tree: None,
        };
        let mut out = Vec::new();
        if dense {
            let heap = writer.build_heap(Client::Attributes, &bodies)?;
            info.heap = Some(heap.address);
            let (names, orders) = attribute_records(list, &heap.ids);
            info.name_tree = Some(writer.build_btree2(8, 17, &names)?);
            if info.order_indexed {
                info.order_tree = Some(writer.build_btree2(9, 13, &orders)?);
            }
        } else {
            let message =
                |(body, order)| Message { kind: kind::ATTRIBUTE, flags: 0, creation_order: order, body };
            out.extend(bodies.into_iter().zip(list.iter().map(|(_, order)| *order)).map(message));
        }
        if self.prefix.version == 2 {
            let body = encode_attribute::info(&info, writer.sizes)?;
            out.insert(0, Message { kind: kind::ATTRIBUTE_INFO, flags: 4, creation_order: None, body });
        }
        Ok(out)
    }

    /// Lays messages out in the first block, and what does not fit in one continuation.
    fn store(&mut self, writer: &mut Writer, mut all: Vec<Message>) -> Result<()> {
        for (at, len) in std::mem::take(&mut self.continuations) {
            writer.release(at, len);
        }
        let mut rest = Vec::new();
        if self.prefix.messages_bytes(&all) > self.prefix.block_bytes {
            rest = self.split(&mut all, writer.sizes.offset + writer.sizes.length);
            let len = self.prefix.continuation_bytes(&rest);
            let at = writer.allocate(len);
            writer.write(at, &self.prefix.encode_continuation(&rest, len)?)?;
            let body = header::continuation(at, len, writer.sizes)?;
            all.push(Message { kind: kind::CONTINUATION, flags: 0, creation_order: None, body });
        }
        if self.prefix.version == 1 {
            self.prefix.references = Some(self.references);
            let spare = self.prefix.block_bytes - self.prefix.messages_bytes(&all);
            let count = all.len() + rest.len() + usize::from(spare > 0);
            self.prefix.message_count =
                Some(u16::try_from(count).map_err(|_| Error::limit("store object header"))?);
        }
        let block = self.prefix.encode_first_block(&all)?;
        writer.write(self.address, &block)
    }

    /// Takes messages from the end until the others and a continuation message fit.
    fn split(&self, all: &mut Vec<Message>, continuation_body: usize) -> Vec<Message> {
        let room = self.prefix.block_bytes.saturating_sub(
            (self.prefix.message_head_bytes() + continuation_body.next_multiple_of(8)) as u64,
        );
        let mut kept = Vec::new();
        let mut rest = Vec::new();
        let mut used = 0;
        for message in std::mem::take(all) {
            let bytes = self.prefix.message_bytes(&message) as u64;
            if rest.is_empty() && used + bytes <= room {
                used += bytes;
                kept.push(message);
            } else {
                rest.push(message);
            }
        }
        *all = kept;
        rest
    }

    /// Gives back the room of the header, and makes sure that it is not taken for one any more.
    pub(crate) fn release(&self, writer: &mut Writer) -> Result<()> {
        writer.write(self.address, &[0; 4])?;
        writer.release(self.address, self.prefix.first_block_bytes());
        for &(at, len) in self.continuations.iter().chain(&self.built) {
            writer.release(at, len);
        }
        Ok(())
    }
}

fn load_links(file: &File, header: &Header, create: &GroupCreate) -> Result<Links> {
    let links = group::links(file, header)?;
    let next = match header.message(kind::LINK_INFO) {
        Some(m) => crate::format::group::link_info(&m.body, file.store.sizes())?.order_next,
        None => 0,
    };
    let by_name = links.into_iter().map(|l| (text::to_bytes(&l.name), l)).collect();
    Ok(Links { by_name, order: create.link_order, next, phase: create.link_phase })
}

fn load_attributes(file: &File, header: &Header) -> Result<Attributes> {
    let list = attribute::all_raw(file, header)?;
    let next = list.iter().filter_map(|(_, order)| *order).max().map_or(0, |n| n.saturating_add(1));
    let phase = header.prefix.attribute_phase.unwrap_or_default();
    Ok(Attributes { list, next, phase })
}

/// Records of the name tree: hash and ID, sorted by hash, then name.
fn name_records(links: &Links, ids: &[Vec<u8>]) -> Vec<Vec<u8>> {
    let mut records: Vec<(u32, &[u8], &[u8])> = links
        .by_name
        .keys()
        .zip(ids)
        .map(|(name, id)| (checksum::lookup3(name, 0), name.as_slice(), id.as_slice()))
        .collect();
    records.sort_unstable();
    records.into_iter().map(|(hash, _, id)| [&hash.to_le_bytes()[..], id].concat()).collect()
}

fn order_records(links: &Links, ids: &[Vec<u8>]) -> Vec<Vec<u8>> {
    let order = |l: &Link| l.creation_order.unwrap_or(0);
    let mut records: Vec<(i64, &[u8])> =
        links.by_name.values().zip(ids).map(|(l, id)| (order(l), id.as_slice())).collect();
    records.sort_unstable();
    records.into_iter().map(|(order, id)| [&order.to_le_bytes()[..], id].concat()).collect()
}

/// Records of both attribute trees. Where order is not tracked, libhdf5 stores 0xFFFF.
fn attribute_records(list: &[(RawAttribute, Option<u16>)], ids: &[Vec<u8>]) -> (Vec<Vec<u8>>, Vec<Vec<u8>>) {
    let mut names: Vec<(u32, Vec<u8>, Vec<u8>)> = Vec::new();
    let mut orders: Vec<(u32, Vec<u8>)> = Vec::new();
    for ((attribute, order), id) in list.iter().zip(ids) {
        let name = text::to_bytes(&attribute.name);
        let (hash, order) = (checksum::lookup3(&name, 0), u32::from(order.unwrap_or(u16::MAX)));
        let record = [id, &[0][..], &order.to_le_bytes()[..]].concat();
        orders.push((order, record.clone()));
        names.push((hash, name, [&record[..], &hash.to_le_bytes()].concat()));
    }
    names.sort_unstable();
    orders.sort_unstable();
    (names.into_iter().map(|(_, _, r)| r).collect(), orders.into_iter().map(|(_, r)| r).collect())
}
