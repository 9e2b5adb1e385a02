//! Attributes of objects: in the header, shared, or dense.

use std::cmp::Ordering;

use model::bytes::Cursor;
use model::dataspace::Format;
use model::properties::{CreationOrder, ObjectCreate};
use model::{Dataspace, Datatype, Error, Result, Token, Within, text};
use vol::AttributeInfo;

use crate::format::attribute::{self, AttributePart, PartView, RawAttribute, View};
use crate::format::header::{MessageRef, flag, kind};
use crate::format::shared::SharedAt;
use crate::format::{Address, checksum};
use crate::listing::{Entries, Tally};
use crate::object::footprint::Blocks;
use crate::object::group::check_tree;
use crate::object::header::{self, Header};
use crate::object::shared_table::heap_body;
use crate::object::{btree2, fractal_heap};
use crate::reader::Reader;

/// An attribute with its value in the file datatype.
#[derive(Debug, Clone)]
pub(crate) struct Attribute {
    pub(crate) info: AttributeInfo,
    pub(crate) data: Vec<u8>,
}

/// Returns the creation properties that every object has.
pub(crate) fn object_create(header: &Header) -> ObjectCreate {
    let prefix = &header.prefix;
    let tracked_times =
        prefix.times.is_some() || (prefix.version == 1 && header.message(kind::TIME).is_some());
    let mut create = ObjectCreate { track_times: tracked_times, ..ObjectCreate::default() };
    if let Some(phase) = prefix.attribute_phase {
        create.attribute_phase = phase;
    }
    create.attribute_order = match (prefix.attribute_order_tracked, prefix.attribute_order_indexed) {
        (_, true) => CreationOrder::Indexed,
        (true, false) => CreationOrder::Tracked,
        _ => CreationOrder::Untracked,
    };
    create
}

/// Decodes the bytes of an attribute message.
fn decode(file: &Reader, body: &[u8], creation_order: Option<u32>) -> Result<Attribute> {
    interpret_view(file, &attribute::view(body)?, creation_order)
}

/// Finds the type and the space of an attribute.
fn interpret_view(file: &Reader, view: &View<'_>, creation_order: Option<u32>) -> Result<Attribute> {
    let name = text::from_bytes(view.name);
    let during = |e: Error| e.during(format!("read attribute \"{}\"", text::from_bytes(view.name)));
    let (datatype, committed) = datatype(file, view.datatype).map_err(during)?;
    let space = dataspace(file, view.dataspace).map_err(during)?;
    let bytes = value_bytes(file, &datatype, &space)?;
    let Some(data) = view.data.get(..bytes) else {
        return Err(Error::corrupt("read attribute")
            .with("name", name)
            .with("bytes", view.data.len())
            .with("need", bytes));
    };
    let info = AttributeInfo { name, charset: view.charset, creation_order, datatype, committed, space };
    Ok(Attribute { info, data: data.to_vec() })
}

/// As for one in the file, for one that may change.
pub(crate) fn interpret(file: &Reader, raw: &RawAttribute, creation_order: Option<u32>) -> Result<Attribute> {
    let name = text::to_bytes(&raw.name);
    let (datatype, dataspace) = (raw.datatype.view(), raw.dataspace.view());
    let view = View { name: &name, charset: raw.charset, datatype, dataspace, data: &raw.data };
    interpret_view(file, &view, creation_order)
}

fn value_bytes(file: &Reader, datatype: &Datatype, space: &Dataspace) -> Result<usize> {
    let bytes = space.element_count()?.checked_mul(u64::from(datatype.size()));
    bytes.unwrap_or(u64::MAX).within(file.store.limits.metadata_bytes_max, "attribute")
}

/// Returns the type of an attribute, and the bytes of its value. Its message may be longer: it ends with padding in old headers,
/// and where libhdf5 left a gap that is too small for a message of its own.
pub(crate) fn raw_value_type(file: &Reader, raw: &RawAttribute) -> Result<(Datatype, usize)> {
    let datatype = datatype(file, raw.datatype.view())?.0;
    let bytes = value_bytes(file, &datatype, &dataspace(file, raw.dataspace.view())?)?;
    Ok((datatype, bytes))
}

fn datatype(file: &Reader, part: PartView<'_>) -> Result<(Datatype, Option<Token>)> {
    let limits = &file.store.limits;
    if !part.shared {
        return Ok((Datatype::decode(part.bytes, limits)?, None));
    }
    let (body, at) = header::shared_body(file, kind::DATATYPE, part.bytes)?;
    Ok((Datatype::decode(&body, limits)?, at.map(|at| Token::from_u64(at.0))))
}

fn dataspace(file: &Reader, part: PartView<'_>) -> Result<Dataspace> {
    let format = space_format(file);
    if !part.shared {
        return Dataspace::decode(part.bytes, &format);
    }
    let (body, _) = header::shared_body(file, kind::DATASPACE, part.bytes)?;
    Dataspace::decode(&body, &format)
}

pub(crate) fn space_format(file: &Reader) -> Format {
    Format { length_bytes: file.store.sizes().length as u8 }
}

/// Returns where dense attributes are, if the object has them.
fn dense(file: &Reader, header: &Header) -> Result<Option<(Address, Address)>> {
    let Some(message) = header.message(kind::ATTRIBUTE_INFO) else { return Ok(None) };
    let info = attribute::info(message.body, file.store.sizes())?;
    Ok(info.heap.zip(info.name_tree))
}

/// Returns the blocks that hold an object's attributes outside of its header.
pub(crate) fn blocks(file: &Reader, header: &Header) -> Result<Blocks> {
    let Some(message) = header.message(kind::ATTRIBUTE_INFO) else { return Ok(Blocks::default()) };
    let info = attribute::info(message.body, file.store.sizes())?;
    Blocks::dense(file, info.heap, [info.name_tree, info.order_tree])
}

pub(crate) fn count(file: &Reader, header: &Header) -> Result<u64> {
    match dense(file, header)? {
        Some((_, tree)) => Ok(btree2::open(file, tree)?.records),
        None => Ok(header.messages_of(kind::ATTRIBUTE).count() as u64),
    }
}

/// Returns all attributes, in the order of their storage.
pub(crate) fn all(file: &Reader, header: &Header) -> Result<Entries<Attribute>> {
    match dense(file, header)? {
        Some((heap, tree)) => all_dense(file, heap, tree, tracks_order(header)),
        None => all_compact(file, header),
    }
}

fn tracks_order(header: &Header) -> bool {
    header.prefix.attribute_order_tracked
}

fn all_compact(file: &Reader, header: &Header) -> Result<Entries<Attribute>> {
    let tally = Tally::new(&file.store.budget);
    let decode_one = |m: MessageRef<'_>| {
        let (body, _) = header::body(file, m)?;
        tally.add(attribute_bytes(&body))?;
        decode(file, &body, m.creation_order.map(u32::from))
    };
    let attributes = header.messages_of(kind::ATTRIBUTE).map(decode_one).collect::<Result<_>>()?;
    Ok(tally.finish(attributes))
}

/// Returns the number of bytes of memory that an attribute takes, from its message: types take several times their bytes.
fn attribute_bytes(body: &[u8]) -> u64 {
    (size_of::<Attribute>() + 4 * body.len()) as u64
}

/// Returns all attributes as their messages hold them, with their creation order: for changing them.
pub(crate) fn all_raw(file: &Reader, header: &Header) -> Result<Vec<(RawAttribute, Option<u16>)>> {
    let Some((heap, tree)) = dense(file, header)? else {
        let raw = |m: MessageRef<'_>| {
            Ok((
                decode_raw(file, &header::body(file, m)?.0)?,
                m.creation_order.filter(|_| tracks_order(header)),
            ))
        };
        return header.messages_of(kind::ATTRIBUTE).map(raw).collect();
    };
    all_raw_dense(file, (heap, tree), tracks_order(header))
}

/// Returns all attributes of a heap as their messages hold them, with their creation order.
pub(crate) fn all_raw_dense(
    file: &Reader,
    (heap, tree): (Address, Address),
    tracked: bool,
) -> Result<Vec<(RawAttribute, Option<u16>)>> {
    let (heap, tree) = (fractal_heap::open(file, heap)?, btree2::open(file, tree)?);
    check_tree(&tree, 8)?;
    let mut found = Vec::new();
    btree2::walk(file, &tree, &mut |bytes| {
        let r = record(bytes)?;
        found.push((decode_raw(file, &load_body(file, &heap, &r)?)?, tracked.then_some(r.order as u16)));
        Ok(())
    })?;
    Ok(found)
}

/// Returns one attribute of a heap as its message holds it, with its creation order.
pub(crate) fn find_raw(
    file: &Reader,
    (heap, tree): (Address, Address),
    name: &str,
) -> Result<Option<(RawAttribute, u32)>> {
    let mut found = None;
    search_dense(file, (heap, tree), &text::to_bytes(name), &mut |body, order| {
        found = Some((decode_raw(file, body)?, order));
        Ok(())
    })?;
    Ok(found)
}

/// Returns an attribute without parts in a heap of shared messages. Those belong to its message where that is shared itself, and go
/// with it.
fn decode_raw(file: &Reader, body: &[u8]) -> Result<RawAttribute> {
    let mut raw = attribute::decode(body)?;
    for (kind, part) in [(kind::DATATYPE, &mut raw.datatype), (kind::DATASPACE, &mut raw.dataspace)] {
        let at = part.shared.then(|| SharedAt::decode(&part.bytes, file.store.sizes())).transpose()?;
        if let Some(SharedAt::Heap(id)) = at {
            *part = AttributePart { shared: false, bytes: heap_body(file, kind, &id)? };
        }
    }
    Ok(raw)
}

/// A record of the name tree: heap ID, flags, creation order, hash.
struct Record<'a> {
    id: &'a [u8],
    shared: bool,
    order: u32,
    hash: u32,
}

fn record(bytes: &[u8]) -> Result<Record<'_>> {
    let mut c = Cursor::new(bytes, "attribute record");
    let id = c.take(8)?;
    let shared = c.u8()? & flag::SHARED != 0;
    Ok(Record { id, shared, order: c.u32()?, hash: c.u32()? })
}

fn load_body(file: &Reader, heap: &fractal_heap::Heap<'_>, r: &Record<'_>) -> Result<Vec<u8>> {
    match r.shared {
        false => heap.get(r.id),
        true => heap_body(file, kind::ATTRIBUTE, r.id),
    }
}

fn all_dense(file: &Reader, heap: Address, tree: Address, tracked: bool) -> Result<Entries<Attribute>> {
    let (heap, tree) = (fractal_heap::open(file, heap)?, btree2::open(file, tree)?);
    check_tree(&tree, 8)?;
    let (tally, mut attributes) = (Tally::new(&file.store.budget), Vec::new());
    btree2::walk(file, &tree, &mut |bytes| {
        let r = record(bytes)?;
        let body = load_body(file, &heap, &r)?;
        tally.add(attribute_bytes(&body))?;
        attributes.push(decode(file, &body, tracked.then_some(r.order))?);
        Ok(())
    })?;
    Ok(tally.finish(attributes))
}

/// Returns one attribute by name.
pub(crate) fn find(file: &Reader, header: &Header, name: &str) -> Result<Option<Attribute>> {
    match dense(file, header)? {
        Some((heap, tree)) => find_dense(file, heap, tree, name, tracks_order(header)),
        None => find_compact(file, header, name),
    }
}

/// Other attributes of the object may be unreadable; this one is read all the same.
fn find_compact(file: &Reader, header: &Header, name: &str) -> Result<Option<Attribute>> {
    let name = text::as_bytes(name);
    for message in header.messages_of(kind::ATTRIBUTE) {
        let (body, _) = header::body(file, message)?;
        if attribute::is_named(&body, &name)? {
            return decode(file, &body, message.creation_order.map(u32::from)).map(Some);
        }
    }
    Ok(None)
}

fn find_dense(
    file: &Reader,
    heap: Address,
    tree: Address,
    name: &str,
    tracked: bool,
) -> Result<Option<Attribute>> {
    let mut found = None;
    search_dense(file, (heap, tree), &text::to_bytes(name), &mut |body, order| {
        found = Some(decode(file, body, tracked.then_some(order))?);
        Ok(())
    })?;
    Ok(found)
}

/// Calls `visit` with the message and the creation order of an attribute in a heap, if it is there.
fn search_dense(
    file: &Reader,
    (heap, tree): (Address, Address),
    name: &[u8],
    visit: &mut dyn FnMut(&[u8], u32) -> Result<()>,
) -> Result<()> {
    let (heap, tree) = (fractal_heap::open(file, heap)?, btree2::open(file, tree)?);
    check_tree(&tree, 8)?;
    let hash = checksum::lookup3(name, 0);
    btree2::find(file, &tree, &mut |raw| {
        let r = record(raw)?;
        if r.hash != hash {
            return Ok(r.hash.cmp(&hash));
        }
        let body = load_body(file, &heap, &r)?;
        let order = attribute::name(&body)?.cmp(name);
        if order == Ordering::Equal {
            visit(&body, r.order)?;
        }
        Ok(order)
    })?;
    Ok(())
}
