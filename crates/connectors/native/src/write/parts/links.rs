//! The links of a group.

use std::collections::HashMap;

use model::properties::{CreationOrder, FilterSpec, GroupCreate, PhaseChange};
use model::{Error, Link, LinkTarget, Result, text};

use super::super::create::group_info_message;
use super::super::link_set::{LinkSet, stored_name};
use super::super::storage::Storage;
use super::dense::{Added, Changes, Dense, RemovedEntry, Trees};
use super::records::{LinkRecords, name_records, order_records};
use super::{HeaderPart, MESSAGE_BYTES_MAX, Writing, is_dense, is_few, must_be_built};
use crate::format::Address;
use crate::format::encode::fractal_heap::Client;
use crate::format::encode::{group as encode_group, link as encode_link};
use crate::format::group::{LinkInfo, SymbolTable};
use crate::format::header::{Message, kind};
use crate::format::symbol_table::Cached;
use crate::listing::{Entries, Tally};
use crate::object::footprint::Ranges;
use crate::object::group::{self, Style};
use crate::object::header::Header;
use crate::reader::Reader;
use crate::update::symbol_table::{SymbolTarget, Table};

/// So many links of a symbol table stay in memory.
const FEW_LINKS: usize = 64;

/// The links of a group.
#[derive(Debug, Default)]
pub(crate) struct Links {
    /// The index that the file holds them in, if any.
    stored: Option<Style>,
    /// `links` are all there are. Otherwise they are those that the index does not have yet.
    is_loaded: bool,
    links: LinkSet,
    /// Links of the index that are gone, by name, with their creation order.
    removed: HashMap<String, Option<i64>>,
    /// How many there are; for a symbol table about how many.
    count: u64,
    pub(crate) order: CreationOrder,
    pub(crate) next: i64,
    phase: PhaseChange,
    /// Filters of the heap that many of them are stored in.
    filters: Vec<FilterSpec>,
    /// They are stored in a symbol table, as before HDF5 1.8.
    is_old: bool,
    /// The group's header has no group info message.
    lacks_info: bool,
}

impl Links {
    /// Returns the links of a new group.
    pub(crate) fn new(create: &GroupCreate, is_old: bool) -> HeaderPart<Links> {
        let (order, phase) = (create.link_order, create.link_phase);
        let links = Links {
            is_loaded: true,
            order,
            phase,
            filters: create.filters.clone(),
            is_old,
            lacks_info: is_old,
            ..Links::default()
        };
        HeaderPart::new(links)
    }

    /// Returns the links of a group; their messages leave `messages`.
    pub(crate) fn load(
        reader: &Reader,
        header: &Header,
        messages: &mut Vec<Message>,
    ) -> Result<HeaderPart<Links>> {
        let create = group::creation(reader, header)?;
        let style = group::style(reader, header)?;
        let mut links = Links {
            is_loaded: true,
            order: create.link_order,
            phase: create.link_phase,
            filters: create.filters,
            is_old: matches!(style, Style::Old(_)),
            lacks_info: header.message(kind::GROUP_INFO).is_none(),
            ..Links::default()
        };
        if let Style::New(info) = style {
            links.next = info.order_next;
        }
        match group::indexed(reader, &style)? {
            Some(count) => (links.stored, links.is_loaded, links.count) = (Some(style), false, count),
            None => links.set_all(group::links(reader, header)?.into_inner()),
        }
        if links.is_old {
            links.stored = Some(style);
        }
        let own = |m: &Message| matches!(m.kind, kind::LINK | kind::LINK_INFO | kind::SYMBOL_TABLE);
        let stored = messages.extract_if(.., |m| own(m)).collect();
        Ok(HeaderPart::stored(links, stored))
    }

    fn set_all(&mut self, links: Vec<Link>) {
        self.count = links.len() as u64;
        self.links = links.into_iter().collect();
        self.removed.clear();
        self.is_loaded = true;
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Returns the number of bytes of memory, roughly.
    pub(crate) fn weight(&self) -> usize {
        200 * (self.links.len() + self.removed.len())
    }

    pub(crate) fn find(&self, reader: &Reader, name: &str) -> Result<Option<Link>> {
        if let Some(link) = self.links.get(name) {
            return Ok(Some(link.clone()));
        }
        match &self.stored {
            Some(style) if !self.is_loaded && !self.removed.contains_key(&*stored_name(name)) => {
                group::find_indexed(reader, style, name)
            }
            _ => Ok(None),
        }
    }

    pub(crate) fn contains(&self, reader: &Reader, name: &str) -> Result<bool> {
        match self.links.contains(name) {
            true => Ok(true),
            false => Ok(self.find(reader, name)?.is_some()),
        }
    }

    /// Returns all of them, in any order.
    pub(crate) fn all(&self, reader: &Reader) -> Result<Entries<Link>> {
        // What is in memory already is charged as objects are.
        let mut all = match &self.stored {
            Some(style) if !self.is_loaded => group::links_indexed(reader, style)?,
            _ => Tally::new(&reader.store.budget).finish(Vec::new()),
        };
        all.list_mut().retain(|link| !self.removed.contains_key(&link.name));
        all.list_mut().extend(self.links.iter().cloned());
        Ok(all)
    }

    /// Returns the blocks of the index of the file.
    pub(crate) fn blocks(&self, reader: &Reader) -> Result<Ranges> {
        self.stored.map_or(Ok(Vec::new()), |style| Ok(group::blocks_of(reader, &style)?.all()))
    }

    /// Returns what [`PartCache`](super::PartCache) may have open of that index: its heap, or its table by the root of the tree.
    pub(crate) fn cache_key(&self) -> Option<Address> {
        match self.stored? {
            Style::New(info) => info.heap,
            Style::Old(table) => Some(table.tree),
        }
    }

    /// Adds a link, whose name is free.
    pub(crate) fn insert(&mut self, link: Link) {
        self.links.insert(link);
        self.count += 1;
    }

    pub(crate) fn remove(&mut self, reader: &Reader, name: &str) -> Result<Option<Link>> {
        let mut found = self.links.remove(name);
        if found.is_none()
            && let Some(link) = self.find(reader, name)?
        {
            self.removed.insert(link.name.clone(), link.creation_order);
            found = Some(link);
        }
        self.count = self.count.saturating_sub(u64::from(found.is_some()));
        Ok(found)
    }

    /// Writes them; the messages that say where they are.
    pub(crate) fn write(&mut self, writing: &mut Writing<'_>) -> Result<Vec<Message>> {
        let fits_old = |l: &Link| matches!(l.target, LinkTarget::Hard(_) | LinkTarget::Soft(_));
        let turns_new = self.is_old && !self.links.iter().all(fits_old);
        if !turns_new && let Some(messages) = self.update(writing)? {
            return Ok(messages);
        }
        self.is_old &= !turns_new;
        self.build(writing)
    }

    /// Changes the index of the file, if that costs less than to build it.
    fn update(&mut self, writing: &mut Writing<'_>) -> Result<Option<Vec<Message>>> {
        let few = is_few(self.links.len() + self.removed.len(), self.count);
        let updated = match self.stored.filter(|_| !self.is_loaded && few) {
            Some(Style::New(info)) if is_dense(self.count, self.phase, true) => {
                self.update_dense(&info, writing)
            }
            Some(Style::Old(table)) => self.update_table(table, writing).map(Some),
            _ => Ok(None),
        };
        match updated {
            Err(error) if must_be_built(&error) => Ok(None),
            done => done,
        }
    }

    fn update_dense(&mut self, info: &LinkInfo, writing: &mut Writing<'_>) -> Result<Option<Vec<Message>>> {
        let Some(dense) = dense(info) else { return Ok(None) };
        let dense = change(&dense, &self.changes(writing)?, writing)?;
        self.set_dense(dense, writing).map(Some)
    }

    fn update_table(&mut self, at: SymbolTable, writing: &mut Writing<'_>) -> Result<Vec<Message>> {
        writing.with_table(at, |table, storage| {
            for name in self.removed.keys() {
                let missing = || Error::corrupt("remove link").with("name", name);
                table.remove(storage, &text::to_bytes(name))?.ok_or_else(missing)?;
            }
            self.links.sorted().into_iter().try_for_each(|link| insert(table, link, storage))?;
            table.finish(storage)
        })?;
        self.set_stored(Style::Old(at));
        table_message(at, writing)
    }

    fn changes(&self, writing: &Writing<'_>) -> Result<Changes> {
        let order = |order: Option<i64>| order.unwrap_or(0) as u64;
        let added = |link: &Link| {
            let message = encode_link::encode(link, writing.storage.sizes)?;
            Ok(Added { name: text::to_bytes(&link.name), order: order(link.creation_order), message })
        };
        let removed = |(name, at): (&String, &Option<i64>)| RemovedEntry {
            name: text::to_bytes(name),
            order: order(*at),
        };
        Ok(Changes {
            removed: self.removed.iter().map(removed).collect(),
            added: self.links.sorted().into_iter().map(added).collect::<Result<_>>()?,
        })
    }

    fn info(&self) -> LinkInfo {
        LinkInfo {
            order_tracked: self.order != CreationOrder::Untracked,
            order_indexed: self.order == CreationOrder::Indexed,
            order_next: self.next,
            heap: None,
            name_tree: None,
            order_tree: None,
        }
    }

    /// The links are in the index from now on.
    fn set_dense(&mut self, dense: Dense, writing: &Writing<'_>) -> Result<Vec<Message>> {
        let Dense { heap, name_tree, order_tree } = dense;
        let info = LinkInfo { heap: Some(heap), name_tree: Some(name_tree), order_tree, ..self.info() };
        self.set_stored(Style::New(info));
        self.info_messages(&info, writing)
    }

    fn set_stored(&mut self, style: Style) {
        (self.stored, self.is_loaded) = (Some(style), false);
        self.links = LinkSet::default();
        self.removed.clear();
    }

    fn info_messages(&self, info: &LinkInfo, writing: &Writing<'_>) -> Result<Vec<Message>> {
        let body = encode_group::link_info(info, writing.storage.sizes)?;
        let mut messages = vec![Message { kind: kind::LINK_INFO, flags: 0, creation_order: None, body }];
        if self.lacks_info {
            // libhdf5 adds no link to a group of the newer style without it.
            messages.push(group_info_message(&GroupCreate::default())?);
        }
        Ok(messages)
    }

    /// Builds all of them anew; the blocks of before are given back.
    fn build(&mut self, writing: &mut Writing<'_>) -> Result<Vec<Message>> {
        if !self.is_loaded {
            self.set_all(self.all(writing.reader)?.into_inner());
        }
        let was_dense = matches!(self.stored, Some(Style::New(_)));
        let blocks = self.blocks(writing.reader)?;
        self.cache_key().into_iter().for_each(|at| writing.cache.forget(at));
        self.stored = None;
        writing.release(blocks);
        match self.is_old {
            true => self.build_table(writing),
            false => self.build_new(was_dense, writing),
        }
    }

    fn build_table(&mut self, writing: &mut Writing<'_>) -> Result<Vec<Message>> {
        let table = writing.storage.build_symbol_table(&self.links.sorted())?;
        match self.links.len() > FEW_LINKS {
            true => self.set_stored(Style::Old(table)),
            false => self.stored = Some(Style::Old(table)),
        }
        table_message(table, writing)
    }

    fn build_new(&mut self, was_dense: bool, writing: &mut Writing<'_>) -> Result<Vec<Message>> {
        let (sizes, links) = (writing.storage.sizes, self.links.sorted());
        let bodies = links.iter().map(|l| encode_link::encode(l, sizes)).collect::<Result<Vec<_>>>()?;
        if is_dense(self.count, self.phase, was_dense) || bodies.iter().any(|b| b.len() > MESSAGE_BYTES_MAX) {
            let dense = build_dense(&links, &bodies, (self.info(), &self.filters), writing)?;
            return self.set_dense(dense, writing);
        }
        let mut in_order: Vec<_> = links.into_iter().zip(bodies).collect();
        in_order.sort_by_key(|(l, _)| l.creation_order);
        let message = |(_, body)| Message { kind: kind::LINK, flags: 0, creation_order: None, body };
        let compact: Vec<Message> = in_order.into_iter().map(message).collect();
        let mut messages = self.info_messages(&self.info(), writing)?;
        messages.splice(1..1, compact);
        Ok(messages)
    }
}

fn table_message(table: SymbolTable, writing: &Writing<'_>) -> Result<Vec<Message>> {
    let body = encode_group::symbol_table(table, writing.storage.sizes)?;
    Ok(vec![Message { kind: kind::SYMBOL_TABLE, flags: 0, creation_order: None, body }])
}

/// Puts a link into a symbol table.
fn insert(table: &mut Table, link: &Link, storage: &mut Storage) -> Result<()> {
    let refused =
        |problem: &str| Error::corrupt("store link").with("name", &link.name).with("problem", problem);
    let path;
    let target = match &link.target {
        LinkTarget::Hard(token) => SymbolTarget::Hard(Address(token.to_u64()), Cached::Nothing),
        LinkTarget::Soft(to) => {
            path = text::to_bytes(to);
            SymbolTarget::Soft(&path)
        }
        _ => return Err(refused("neither hard nor soft")),
    };
    match table.insert(storage, &text::to_bytes(&link.name), target)? {
        true => Ok(()),
        false => Err(refused("it is there")),
    }
}

fn dense(info: &LinkInfo) -> Option<Dense> {
    let LinkInfo { heap, name_tree, order_tree, .. } = *info;
    Some(Dense { heap: heap?, name_tree: name_tree?, order_tree })
}

fn change(dense: &Dense, changes: &Changes, writing: &mut Writing<'_>) -> Result<Dense> {
    let trees = Trees::open(dense, writing.storage)?;
    writing.with_heap(dense.heap, |heap, storage| trees.change(heap, &LinkRecords, changes, storage))
}

fn build_dense(
    links: &[&Link],
    bodies: &[Vec<u8>],
    (info, filters): (LinkInfo, &[FilterSpec]),
    writing: &mut Writing<'_>,
) -> Result<Dense> {
    let storage = &mut *writing.storage;
    let heap = storage.build_heap(Client::Links, filters, bodies)?;
    let (ids, _) = heap.ids.as_chunks();
    let name_tree = storage.build_btree2(5, 11, &name_records(links, ids))?;
    let order_tree = match info.order_indexed {
        true => Some(storage.build_btree2(6, 15, &order_records(links, ids))?),
        false => None,
    };
    Ok(Dense { heap: heap.address, name_tree, order_tree })
}
