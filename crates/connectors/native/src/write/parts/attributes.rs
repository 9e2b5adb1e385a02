//! The attributes of an object.

use std::collections::{BTreeMap, HashMap};

use model::properties::PhaseChange;
use model::{Dataspace, Datatype, Error, Result, text};

use super::dense::{Added, Changes, Dense, RemovedEntry, Trees};
use super::records::{AttributeRecords, attribute_records};
use super::{HeaderPart, MESSAGE_BYTES_MAX, Writing, is_dense, is_few, must_be_built};
use crate::format::Address;
use crate::format::attribute::{self as format, AttributeInfo, RawAttribute};
use crate::format::encode::attribute as encode;
use crate::format::encode::fractal_heap::Client;
use crate::format::header::{Message, Prefix, kind};
use crate::object::attribute;
use crate::object::footprint::{Blocks, Ranges};
use crate::object::header::Header;
use crate::reader::Reader;

/// An attribute and its place among the others.
#[derive(Debug)]
pub(crate) struct AttributeEntry {
    pub(crate) raw: RawAttribute,
    /// Its creation order, where that is tracked.
    pub(crate) order: Option<u16>,
    /// Earlier ones stand before later ones in a header.
    rank: u64,
    /// Its type and space, where they need not be decoded.
    pub(crate) decoded: Option<(Datatype, Dataspace)>,
}

/// The attributes of an object.
#[derive(Debug, Default)]
pub(crate) struct Attributes {
    /// The index that the file holds them in, if any.
    stored: Option<AttributeInfo>,
    /// `entries` are all there are. Otherwise they are those that the index does not have, or has otherwise.
    is_loaded: bool,
    /// In boxes, since a map makes space for many at once, and most objects have few.
    entries: BTreeMap<String, Box<AttributeEntry>>,
    /// Attributes of the index that are gone or changed, with their creation order.
    removed: HashMap<String, Option<u16>>,
    count: u64,
    pub(crate) next: u16,
    phase: PhaseChange,
    rank_next: u64,
}

impl Attributes {
    /// Returns the attributes of a new object.
    pub(crate) fn new(phase: PhaseChange) -> Self {
        Attributes { phase, is_loaded: true, ..Self::default() }
    }

    /// Returns the attributes of an object; their messages leave `messages`.
    pub(crate) fn load(
        reader: &Reader,
        header: &Header,
        messages: &mut Vec<Message>,
    ) -> Result<HeaderPart<Attributes>> {
        let mut attributes = Attributes::new(header.prefix.attribute_phase.unwrap_or_default());
        if let Some(m) = header.message(kind::ATTRIBUTE_INFO) {
            let info = format::info(m.body, reader.store.sizes())?;
            attributes.next = info.order_next.unwrap_or(0);
            if info.heap.is_some() {
                (attributes.stored, attributes.is_loaded) = (Some(info), false);
                attributes.count = attribute::count(reader, header)?;
            }
        }
        if attributes.is_loaded {
            for (raw, order) in attribute::all_raw(reader, header)? {
                attributes.next = attributes.next.max(order.map_or(0, |n| n.saturating_add(1)));
                attributes.put(raw, order);
            }
            attributes.count = attributes.entries.len() as u64;
        }
        let own = |m: &Message| matches!(m.kind, kind::ATTRIBUTE | kind::ATTRIBUTE_INFO);
        let stored = messages.extract_if(.., |m| own(m)).collect();
        Ok(HeaderPart::stored(attributes, stored))
    }

    /// Returns how many there are.
    pub(crate) fn count(&self) -> u64 {
        self.count
    }

    /// Returns the number of bytes of memory, roughly.
    pub(crate) fn weight(&self) -> usize {
        self.entries.values().map(|entry| entry.raw.data.len() + 300).sum::<usize>()
            + 100 * self.removed.len()
    }

    /// Adds an attribute, whose name is free.
    pub(crate) fn insert(
        &mut self,
        raw: RawAttribute,
        order: Option<u16>,
        decoded: Option<(Datatype, Dataspace)>,
    ) {
        self.count += 1;
        self.put_decoded(raw, order, decoded);
    }

    fn put(&mut self, raw: RawAttribute, order: Option<u16>) {
        self.put_decoded(raw, order, None);
    }

    fn put_decoded(&mut self, raw: RawAttribute, order: Option<u16>, decoded: Option<(Datatype, Dataspace)>) {
        let rank = self.rank_next;
        self.rank_next += 1;
        self.entries.insert(raw.name.clone(), Box::new(AttributeEntry { raw, order, rank, decoded }));
    }

    /// Returns an attribute that is in memory; `None` where the index of the file must be asked.
    pub(crate) fn in_memory(&self, name: &str) -> Option<Option<&AttributeEntry>> {
        let found = self.entries.get(name).map(Box::as_ref);
        let is_known = found.is_some() || self.is_loaded || self.removed.contains_key(name);
        is_known.then_some(found)
    }

    pub(crate) fn contains(&self, reader: &Reader, prefix: &Prefix, name: &str) -> Result<bool> {
        match self.in_memory(name) {
            Some(found) => Ok(found.is_some()),
            None => Ok(self.find_stored(reader, prefix, name)?.is_some()),
        }
    }

    /// Returns an attribute that only the index of the file has, as its message holds it, with its creation order.
    pub(crate) fn find_stored(
        &self,
        reader: &Reader,
        prefix: &Prefix,
        name: &str,
    ) -> Result<Option<(RawAttribute, Option<u16>)>> {
        let found = match self.stored.as_ref().and_then(|info| info.heap.zip(info.name_tree)) {
            Some(place) => attribute::find_raw(reader, place, name)?,
            None => None,
        };
        Ok(found.map(|(raw, order)| (raw, prefix.attribute_order_tracked.then_some(order as u16))))
    }

    /// Returns an attribute, to be changed.
    pub(crate) fn change(
        &mut self,
        reader: &Reader,
        prefix: &Prefix,
        name: &str,
    ) -> Result<Option<&mut AttributeEntry>> {
        if self.in_memory(name).is_none()
            && let Some((raw, order)) = self.find_stored(reader, prefix, name)?
        {
            self.removed.insert(raw.name.clone(), order);
            self.put(raw, order);
        }
        Ok(self.entries.get_mut(name).map(Box::as_mut))
    }

    pub(crate) fn remove(
        &mut self,
        reader: &Reader,
        prefix: &Prefix,
        name: &str,
    ) -> Result<Option<RawAttribute>> {
        self.change(reader, prefix, name)?;
        let removed = self.entries.remove(name).map(|entry| entry.raw);
        self.count = self.count.saturating_sub(u64::from(removed.is_some()));
        Ok(removed)
    }

    /// Gives an attribute another name, in its old place.
    pub(crate) fn rename(&mut self, reader: &Reader, prefix: &Prefix, from: &str, to: &str) -> Result<()> {
        self.change(reader, prefix, from)?;
        if let Some(mut entry) = self.entries.remove(from) {
            entry.raw.name = to.to_owned();
            if !to.is_ascii() {
                entry.raw.charset = model::CharacterSet::Utf8;
            }
            self.entries.insert(to.to_owned(), entry);
        }
        Ok(())
    }

    /// Reads all of them.
    pub(crate) fn load_all(&mut self, reader: &Reader, prefix: &Prefix) -> Result<()> {
        let Some(place) = self.stored.as_ref().and_then(|info| info.heap.zip(info.name_tree)) else {
            return Ok(());
        };
        if !self.is_loaded {
            for (raw, order) in attribute::all_raw_dense(reader, place, prefix.attribute_order_tracked)? {
                if !self.removed.contains_key(&raw.name) {
                    self.put(raw, order);
                }
            }
            (self.is_loaded, self.count) = (true, self.entries.len() as u64);
        }
        Ok(())
    }

    /// Returns the blocks of the index of the file.
    pub(crate) fn blocks(&self, reader: &Reader) -> Result<Ranges> {
        let dense =
            |info: &AttributeInfo| Blocks::dense(reader, info.heap, [info.name_tree, info.order_tree]);
        self.stored.as_ref().map_or(Ok(Vec::new()), |info| Ok(dense(info)?.all()))
    }

    /// Returns the heap of that index, which [`PartCache`](super::PartCache) may have open.
    pub(crate) fn cache_key(&self) -> Option<Address> {
        self.stored.as_ref()?.heap
    }

    /// Returns those that are in memory.
    pub(crate) fn entries(&self) -> impl Iterator<Item = &AttributeEntry> {
        self.entries.values().map(Box::as_ref)
    }

    /// Writes them; the messages that hold them, or say where they are.
    pub(crate) fn write(&mut self, prefix: &Prefix, writing: &mut Writing<'_>) -> Result<Vec<Message>> {
        match self.update(prefix, writing)? {
            Some(messages) => Ok(messages),
            None => self.build(prefix, writing),
        }
    }

    /// Changes the index of the file, if that costs less than to build it.
    fn update(&mut self, prefix: &Prefix, writing: &mut Writing<'_>) -> Result<Option<Vec<Message>>> {
        let few = is_few(self.entries.len() + self.removed.len(), self.count);
        let stays = !self.is_loaded && few && is_dense(self.count, self.phase, true);
        let Some(dense) = self.stored.as_ref().filter(|_| stays).and_then(dense) else { return Ok(None) };
        let changes = self.changes(prefix)?;
        match change(&dense, &changes, writing) {
            Ok(dense) => self.set_dense(dense, prefix, writing).map(Some),
            Err(error) if must_be_built(&error) => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn changes(&self, prefix: &Prefix) -> Result<Changes> {
        let added = |entry: &AttributeEntry| {
            let (name, message) = (text::to_bytes(&entry.raw.name), encoded(entry, prefix)?);
            Ok(Added { name, order: stored_order(entry.order), message })
        };
        let removed = |(name, order): (&String, &Option<u16>)| RemovedEntry {
            name: text::to_bytes(name),
            order: stored_order(*order),
        };
        Ok(Changes {
            removed: self.removed.iter().map(removed).collect(),
            added: self.entries().map(added).collect::<Result<_>>()?,
        })
    }

    /// The attributes are in the index from now on.
    fn set_dense(&mut self, dense: Dense, prefix: &Prefix, writing: &Writing<'_>) -> Result<Vec<Message>> {
        let Dense { heap, name_tree, order_tree } = dense;
        let info =
            AttributeInfo { heap: Some(heap), name_tree: Some(name_tree), order_tree, ..self.info(prefix) };
        self.entries.clear();
        self.removed.clear();
        self.is_loaded = false;
        let message = info_message(&info, writing)?;
        self.stored = Some(info);
        Ok(vec![message])
    }

    fn info(&self, prefix: &Prefix) -> AttributeInfo {
        AttributeInfo {
            order_next: prefix.attribute_order_tracked.then_some(self.next),
            order_indexed: prefix.attribute_order_indexed,
            heap: None,
            name_tree: None,
            order_tree: None,
        }
    }

    /// Builds all of them anew; the blocks of before are given back.
    fn build(&mut self, prefix: &Prefix, writing: &mut Writing<'_>) -> Result<Vec<Message>> {
        self.load_all(writing.reader, prefix)?;
        self.removed.clear();
        let was_dense = self.stored.is_some();
        let blocks = self.blocks(writing.reader)?;
        self.cache_key().into_iter().for_each(|at| writing.cache.forget(at));
        self.stored = None;
        writing.release(blocks);
        let mut list: Vec<&AttributeEntry> = self.entries().collect();
        list.sort_unstable_by_key(|entry| entry.rank);
        if list.is_empty() {
            return Ok(Vec::new());
        }
        let bodies = list.iter().map(|entry| encoded(entry, prefix)).collect::<Result<Vec<_>>>()?;
        let too_large = bodies.iter().any(|b| b.len() > MESSAGE_BYTES_MAX);
        if prefix.version == 1 && too_large {
            return Err(
                Error::limit("store attribute").with("problem", "an old object header holds 64 KiB at most")
            );
        }
        if prefix.version == 2 && (is_dense(self.count, self.phase, was_dense) || too_large) {
            let dense = build_dense(&list, &bodies, prefix.attribute_order_indexed, writing)?;
            return self.set_dense(dense, prefix, writing);
        }
        let message =
            |(body, order)| Message { kind: kind::ATTRIBUTE, flags: 0, creation_order: order, body };
        let compact = bodies.into_iter().zip(list.iter().map(|entry| entry.order)).map(message);
        let mut messages: Vec<Message> = compact.collect();
        if prefix.version == 2 {
            messages.insert(0, info_message(&self.info(prefix), writing)?);
        }
        Ok(messages)
    }
}

fn info_message(info: &AttributeInfo, writing: &Writing<'_>) -> Result<Message> {
    let body = encode::info(info, writing.storage.sizes)?;
    Ok(Message { kind: kind::ATTRIBUTE_INFO, flags: 4, creation_order: None, body })
}

fn encoded(entry: &AttributeEntry, prefix: &Prefix) -> Result<Vec<u8>> {
    let floor = if prefix.version == 1 { 1 } else { 3 };
    encode::encode(&entry.raw, encode::version(&entry.raw, floor))
}

/// Returns the order as it is stored: 0xFFFF if it is not tracked, as in libhdf5.
pub(super) fn stored_order(order: Option<u16>) -> u64 {
    u64::from(order.unwrap_or(u16::MAX))
}

fn dense(info: &AttributeInfo) -> Option<Dense> {
    Some(Dense { heap: info.heap?, name_tree: info.name_tree?, order_tree: info.order_tree })
}

fn change(dense: &Dense, changes: &Changes, writing: &mut Writing<'_>) -> Result<Dense> {
    let trees = Trees::open(dense, writing.storage)?;
    writing.with_heap(dense.heap, |heap, storage| trees.change(heap, &AttributeRecords, changes, storage))
}

fn build_dense(
    list: &[&AttributeEntry],
    bodies: &[Vec<u8>],
    indexed: bool,
    writing: &mut Writing<'_>,
) -> Result<Dense> {
    let storage = &mut *writing.storage;
    let heap = storage.build_heap(Client::Attributes, &[], bodies)?;
    let (names, orders) = attribute_records(list, heap.ids.as_chunks().0);
    let name_tree = storage.build_btree2(8, 17, &names)?;
    let order_tree = if indexed { Some(storage.build_btree2(9, 13, &orders)?) } else { None };
    Ok(Dense { heap: heap.address, name_tree, order_tree })
}
