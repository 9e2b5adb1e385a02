//! Links of groups: symbol tables, compact and dense storage.

use std::cmp::Ordering;
use std::ops::Deref;

use algorithms::thread_pool;
use model::bytes::Cursor;
use model::properties::{CreationOrder, GroupCreate};
use model::{CharacterSet, Context, Error, Link, LinkTarget, Result, Token, text};
use vol::GroupInfo;

use crate::format::btree1::Kind;
use crate::format::group::{self, LinkInfo, SymbolTable};
use crate::format::header::kind;
use crate::format::local_heap::{self, LocalHeap};
use crate::format::symbol_table::{self, Cached, SymbolTableEntry};
use crate::format::{Address, checksum, link};
use crate::link_storage::LinkStorage;
use crate::listing::{Entries, Tally, link_bytes};
use crate::object::btree1::{Tree, between};
use crate::object::footprint::Blocks;
use crate::object::header::Header;
use crate::object::{btree2, fractal_heap};
use crate::pages::Block;
use crate::reader::Reader;

/// How a group stores its links.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Style {
    Old(SymbolTable),
    New(LinkInfo),
}

pub(crate) fn style(file: &Reader, header: &Header) -> Result<Style> {
    let sizes = file.store.sizes();
    if let Some(message) = header.message(kind::SYMBOL_TABLE) {
        return group::symbol_table(message.body, sizes).map(Style::Old);
    }
    match header.message(kind::LINK_INFO) {
        Some(message) => group::link_info(message.body, sizes).map(Style::New),
        None => {
            Err(Error::invalid("read group").at(header.address.0).with("problem", "object is not a group"))
        }
    }
}

/// Returns one link by name.
pub(crate) fn find(file: &Reader, header: &Header, name: &str) -> Result<Option<Link>> {
    match style(file, header)? {
        Style::New(LinkInfo { heap: None, .. } | LinkInfo { name_tree: None, .. }) => {
            find_compact(file, header, &text::to_bytes(name))
        }
        style => find_indexed(file, &style, name),
    }
}

/// Returns all links, in the order of their storage.
pub(crate) fn links(file: &Reader, header: &Header) -> Result<Entries<Link>> {
    match style(file, header)? {
        Style::New(LinkInfo { heap: None, .. } | LinkInfo { name_tree: None, .. }) => {
            links_compact(file, header)
        }
        style => links_indexed(file, &style),
    }
}

/// Returns about how many links an index holds; nothing where they stand in the header, or are so few that all are
/// soon read.
pub(crate) fn indexed(file: &Reader, style: &Style) -> Result<Option<u64>> {
    match style {
        Style::Old(table) => {
            let bytes = Names::open(file, table.heap, false)?.heap.data_bytes;
            Ok((bytes > FEW_NAMES_BYTES).then_some(bytes / NAME_SLOT_BYTES))
        }
        Style::New(LinkInfo { heap: Some(_), name_tree: Some(tree), .. }) => {
            Ok(Some(btree2::open(file, *tree)?.records))
        }
        Style::New(_) => Ok(None),
    }
}

/// Returns one link by name, of an index.
pub(crate) fn find_indexed(file: &Reader, style: &Style, name: &str) -> Result<Option<Link>> {
    let bytes = text::to_bytes(name);
    match style {
        Style::Old(table) => find_old(file, *table, &bytes),
        Style::New(LinkInfo { heap: Some(heap), name_tree: Some(tree), .. }) => {
            find_dense(file, *heap, *tree, &bytes)
        }
        Style::New(_) => Ok(None),
    }
}

/// Returns all links of an index.
pub(crate) fn links_indexed(file: &Reader, style: &Style) -> Result<Entries<Link>> {
    match style {
        Style::Old(table) => links_old(file, *table),
        Style::New(LinkInfo { heap: Some(heap), name_tree: Some(tree), .. }) => {
            links_dense(file, *heap, *tree)
        }
        Style::New(_) => Ok(Tally::new(&file.store.budget).finish(Vec::new())),
    }
}

/// Returns the blocks that hold a group's links outside of its header: trees with their nodes, and heaps.
pub(crate) fn blocks(file: &Reader, header: &Header) -> Result<Blocks> {
    blocks_of(file, &style(file, header)?)
}

/// Returns the blocks of an index of links.
pub(crate) fn blocks_of(file: &Reader, style: &Style) -> Result<Blocks> {
    match style {
        Style::Old(table) => {
            let sizes = file.store.sizes();
            let heap = Names::open(file, table.heap, false)?.heap;
            let node_bytes = symbol_table::node_bytes(file.tree_k.group_leaf, sizes);
            let mut leaves = Vec::new();
            let mut trees = Tree { root: table.tree, kind: Kind::Group }.nodes(file, &mut |_, node| {
                leaves.push((node, node_bytes));
                Ok(())
            })?;
            trees.append(&mut leaves);
            let heaps = vec![(table.heap, LocalHeap::header_bytes(sizes)), (heap.data, heap.data_bytes)];
            Ok(Blocks { trees, heaps })
        }
        Style::New(info) => Blocks::dense(file, info.heap, [info.name_tree, info.order_tree]),
    }
}

/// Returns the creation properties.
pub(crate) fn creation(file: &Reader, header: &Header) -> Result<GroupCreate> {
    let mut create =
        GroupCreate { object: super::attribute::object_create(header), ..GroupCreate::default() };
    if let Some(message) = header.message(kind::GROUP_INFO) {
        let info = group::group_info(message.body)?;
        create.link_phase = info.phase;
        (create.entries_expected, create.name_bytes_expected) =
            (info.entries_expected, info.name_bytes_expected);
    }
    create.filters = super::dataset::filters_of(file, header)?;
    if let Style::New(info) = style(file, header)? {
        create.link_order = match (info.order_tracked, info.order_indexed) {
            (_, true) => CreationOrder::Indexed,
            (true, false) => CreationOrder::Tracked,
            _ => CreationOrder::Untracked,
        };
    }
    Ok(create)
}

pub(crate) fn info(file: &Reader, header: &Header) -> Result<GroupInfo> {
    let create = creation(file, header)?;
    match style(file, header)? {
        Style::Old(table) => {
            let links = count_old(file, table)?;
            Ok(GroupInfo { links, creation_order_next: 0, create })
        }
        Style::New(info) => {
            let links = count_new(file, header, &info)?;
            Ok(GroupInfo { links, creation_order_next: info.order_next, create })
        }
    }
}

fn count_new(file: &Reader, header: &Header, info: &LinkInfo) -> Result<u64> {
    match dense_index(info) {
        Some(tree) => Ok(btree2::open(file, tree)?.records),
        None => Ok(header.messages_of(kind::LINK).count() as u64),
    }
}

/// Returns the index of names, if the links are in a heap.
fn dense_index(info: &LinkInfo) -> Option<Address> {
    info.heap.and(info.name_tree)
}

/// Returns how a group stores its links.
pub(crate) fn link_storage(file: &Reader, header: &Header) -> Result<LinkStorage> {
    Ok(match style(file, header)? {
        Style::Old(_) => LinkStorage::SymbolTable,
        Style::New(info) if dense_index(&info).is_some() => LinkStorage::Dense,
        Style::New(_) => LinkStorage::Compact,
    })
}

// --- symbol tables ---

/// The names of a symbol table. A look-up touches few of them, so a large heap is read in pages.
struct Names<'f> {
    file: &'f Reader,
    heap: LocalHeap,
    whole: Option<Block>,
}

/// A name where it stands.
enum Name<'n> {
    Whole(&'n [u8]),
    Part(Block),
}

impl Deref for Name<'_> {
    type Target = [u8];
    fn deref(&self) -> &[u8] {
        match self {
            Name::Whole(bytes) => bytes,
            Name::Part(block) => block,
        }
    }
}

/// A group whose names take no more has few links.
const FEW_NAMES_BYTES: u64 = 4 << 10;
/// Bytes of a short name in a local heap.
const NAME_SLOT_BYTES: u64 = 16;
/// A heap up to this size is read at once: one read costs less than the pages of a binary search.
const NAMES_WHOLE_BYTES: u64 = 64 << 10;
/// Where it stays in the cache, a larger one pays with the next look-ups.
const NAMES_CACHED_BYTES: u64 = 256 << 10;
/// Bytes of heap that are looked at for a name, and then four times as many.
const NAME_BYTES: u64 = 64;

impl<'f> Names<'f> {
    fn open(file: &'f Reader, at: Address, all: bool) -> Result<Self> {
        let sizes = file.store.sizes();
        let head = file.store.block(at, LocalHeap::header_bytes(sizes), "local heap")?;
        let heap = LocalHeap::decode(&head, sizes).during_at("read local heap", at.0)?;
        let mut names = Names { file, heap, whole: None };
        let whole_max = if file.store.may_change() { NAMES_WHOLE_BYTES } else { NAMES_CACHED_BYTES };
        if all || heap.data_bytes <= whole_max {
            names.whole = Some(file.store.block(heap.data, heap.data_bytes, "local heap data")?);
        }
        Ok(names)
    }

    /// Returns the text at an offset, up to its NUL.
    fn text(&self, offset: u64) -> Result<Name<'_>> {
        if let Some(data) = &self.whole {
            return local_heap::text(data, offset).map(Name::Whole);
        }
        // Most names are short, and a short block lies in a page that is there already.
        let rest = self.heap.data_bytes.saturating_sub(offset);
        let place = Address(self.heap.data.0.saturating_add(offset));
        let mut seen = 0;
        while seen < rest {
            seen = (4 * seen).max(NAME_BYTES).min(rest);
            let bytes = self.file.store.block(place, seen, "local heap data")?;
            if let Some(end) = bytes.iter().position(|&b| b == 0) {
                return Ok(Name::Part(bytes.first(end)));
            }
        }
        Err(Error::corrupt("read name in local heap").with("offset", offset))
    }
}

fn entries(file: &Reader, node: Address) -> Result<Vec<SymbolTableEntry>> {
    let sizes = file.store.sizes();
    let len = symbol_table::node_bytes(file.tree_k.group_leaf, sizes);
    let bytes = file.store.block_up_to(node, len, "symbol table node")?;
    symbol_table::node(&bytes, sizes).during_at("read symbol table node", node.0)
}

fn link_of(entry: &SymbolTableEntry, names: &Names<'_>) -> Result<Link> {
    let name = text::from_bytes(&names.text(entry.name_offset)?);
    let target = match (entry.cached, entry.header) {
        (Cached::SoftLink(offset), _) => LinkTarget::Soft(text::from_bytes(&names.text(u64::from(offset))?)),
        (_, Some(address)) => LinkTarget::Hard(Token::from_u64(address.0)),
        (_, None) => {
            return Err(Error::corrupt("read symbol table entry")
                .with("name", name)
                .with("problem", "no object"));
        }
    };
    Ok(Link { name, target, charset: CharacterSet::Ascii, creation_order: None })
}

fn find_old(file: &Reader, table: SymbolTable, name: &[u8]) -> Result<Option<Link>> {
    let names = Names::open(file, table.heap, false)?;
    let sizes = file.store.sizes();
    let tree = Tree { root: table.tree, kind: Kind::Group };
    let mut order = |key: &[u8]| {
        let offset = Cursor::new(key, "group key").uint(sizes.length)?;
        Ok((*names.text(offset)?).cmp(name))
    };
    let Some((_, node)) = tree.find(file, &mut |keys| between(keys, true, &mut order))? else {
        return Ok(None);
    };
    for entry in entries(file, node)? {
        if *names.text(entry.name_offset)? == *name {
            return link_of(&entry, &names).map(Some);
        }
    }
    Ok(None)
}

fn links_old(file: &Reader, table: SymbolTable) -> Result<Entries<Link>> {
    let names = Names::open(file, table.heap, true)?;
    let (tally, mut links) = (Tally::new(&file.store.budget), Vec::new());
    Tree { root: table.tree, kind: Kind::Group }.walk(file, &mut |_, node| {
        let entries = entries(file, node)?;
        links.extend(tally.collect(entries.iter().map(|entry| link_of(entry, &names)), link_bytes)?);
        check_count(file, links.len())
    })?;
    Ok(tally.finish(links))
}

fn count_old(file: &Reader, table: SymbolTable) -> Result<u64> {
    let mut count = 0;
    Tree { root: table.tree, kind: Kind::Group }.walk(file, &mut |_, node| {
        count += entries(file, node)?.len() as u64;
        Ok(())
    })?;
    Ok(count)
}

fn check_count(file: &Reader, count: usize) -> Result<()> {
    if count as u64 <= file.store.limits.entries_max {
        Ok(())
    } else {
        Err(Error::limit("list links").with("count", count))
    }
}

// --- compact ---

fn links_compact(file: &Reader, header: &Header) -> Result<Entries<Link>> {
    let tally = Tally::new(&file.store.budget);
    let links = header.messages_of(kind::LINK).map(|m| link::decode(m.body, file.store.sizes()));
    let links = tally.collect(links, link_bytes)?;
    Ok(tally.finish(links))
}

fn find_compact(file: &Reader, header: &Header, name: &[u8]) -> Result<Option<Link>> {
    for message in header.messages_of(kind::LINK) {
        if link::name(message.body)? == name {
            return link::decode(message.body, file.store.sizes()).map(Some);
        }
    }
    Ok(None)
}

// --- dense ---

/// Links that one core decodes before it takes more.
const LINKS_AT_ONCE: usize = 256;

/// Returns the heap ID of a link in the name tree: hash, then ID.
fn heap_id(record: &[u8]) -> Result<&[u8]> {
    record.get(4..).ok_or_else(|| Error::corrupt("read link record"))
}

fn find_dense(file: &Reader, heap: Address, tree: Address, name: &[u8]) -> Result<Option<Link>> {
    let (heap, tree) = (fractal_heap::open(file, heap)?, btree2::open(file, tree)?);
    check_tree(&tree, 5)?;
    let hash = checksum::lookup3(name, 0);
    let sizes = file.store.sizes();
    let mut found = None;
    btree2::find(file, &tree, &mut |record| {
        let order = Cursor::new(record, "link record").u32()?.cmp(&hash);
        if order != Ordering::Equal {
            return Ok(order);
        }
        heap.with(heap_id(record)?, |body| {
            let order = link::name(body)?.cmp(name);
            if order == Ordering::Equal {
                found = Some(link::decode(body, sizes)?);
            }
            Ok(order)
        })
    })?;
    Ok(found)
}

fn links_dense(file: &Reader, heap: Address, tree: Address) -> Result<Entries<Link>> {
    let tree = btree2::open(file, tree)?;
    check_tree(&tree, 5)?;
    let (tally, mut ids, mut id_bytes) = (Tally::new(&file.store.budget), Vec::new(), 1);
    let mut ids_charge = file.store.budget.empty_charge();
    btree2::walk(file, &tree, &mut |record| {
        let id = heap_id(record)?;
        id_bytes = id.len().max(1);
        ids.extend_from_slice(id);
        if ids.len() as u64 > ids_charge.bytes() {
            ids_charge.resize(2 * ids.len() as u64, "listing")?;
        }
        check_count(file, ids.len() / id_bytes)
    })?;
    // While a file may change, its bytes are behind a lock, for which threads of the pool must not wait.
    let is_alone = file.store.may_change() || file.store.is_serial();
    if ids.len() <= LINKS_AT_ONCE * id_bytes || is_alone {
        let links = links_of(file, heap, (&ids, id_bytes), &tally)?;
        return Ok(tally.finish(links));
    }
    let shares = ids.chunks(LINKS_AT_ONCE * id_bytes).collect();
    let links = thread_pool::map(shares, |ids: &[u8]| links_of(file, heap, (ids, id_bytes), &tally))?;
    Ok(tally.finish(links.into_iter().flatten().collect()))
}

/// Returns the links that objects of a heap hold.
fn links_of(
    file: &Reader,
    heap: Address,
    (ids, id_bytes): (&[u8], usize),
    tally: &Tally,
) -> Result<Vec<Link>> {
    let heap = fractal_heap::open(file, heap)?;
    let link = |id| heap.with(id, |body| link::decode(body, file.store.sizes()));
    tally.collect(ids.chunks_exact(id_bytes).map(link), link_bytes)
}

pub(crate) fn check_tree(tree: &crate::format::btree2::BTree2, kind: u8) -> Result<()> {
    if tree.kind == kind {
        return Ok(());
    }
    Err(Error::corrupt("open B-tree v2").with("type", tree.kind).with("expected", kind))
}
