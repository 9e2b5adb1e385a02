//! Objects as such: handles, reference counts, and what is said of them.

use algorithms::copy::CopyContext;
use algorithms::thread_pool;
use model::{ObjectKind, Result, Token};
use vol::{ObjectInfo, OpObjectCopy, Times};

use super::{NativeContainer, address};
use crate::format::header::kind;
use crate::gate::Scope;
use crate::maps;
use crate::object::attribute;
use crate::object::header::Header;

/// Objects whose kind one core tells before it takes more.
const KINDS_AT_ONCE: usize = 64;

pub(super) fn retain(c: &NativeContainer, object: Token) -> Result<()> {
    // In a file that no one changes, objects stay.
    if c.open_file()?.writer.is_none() {
        return Ok(());
    }
    let is_dirty = c.open_file()?.is_dirty(address(object));
    let is_cached = is_dirty && c.reading()?.is_some_and(|w| w.objects.existing(address(object)).is_some());
    if !is_cached {
        c.header(object)?;
    }
    c.change_state(Scope::Nothing, |writer| writer.objects.retain(address(object)))
}

pub(super) fn release(c: &NativeContainer, object: Token) -> Result<()> {
    let at = address(object);
    if c.open_file()?.writer.is_none() {
        return Ok(());
    }
    match c.change_state(Scope::Nothing, |writer| writer.release_handle(at))? {
        true => c.change_state(Scope::All, |writer| writer.remove_if_unused(at)),
        false => Ok(()),
    }
}

pub(super) fn copy(c: &NativeContainer, op: &OpObjectCopy) -> Result<Token> {
    let file = c.open_file()?;
    let resolver = file.resolver.as_deref().map(|resolver| (resolver, file.path.as_str()));
    algorithms::copy::within(c, op, CopyContext { resolver, ..CopyContext::new(&file.store.limits) })
}

pub(super) fn info(c: &NativeContainer, object: Token) -> Result<ObjectInfo> {
    let file = c.open_file()?;
    if file.is_dirty(address(object))
        && let Some(writer) = c.reading()?
        && let Some(cached) = writer.objects.existing(address(object))
    {
        let header = cached.header();
        let is_map = cached.kind == ObjectKind::Group
            && match writer.objects.attribute(address(object), maps::MARK)? {
                Some(found) => found.is_some(),
                None => attribute::find(file, &header, maps::MARK)?.is_some(),
            };
        let attributes = cached.attribute_count(file)?;
        let info = describe(&header, cached.kind, cached.references, attributes);
        return Ok(if is_map { maps::map_info(info) } else { info });
    }
    let view = c.view(object)?;
    let header = view.header(object)?;
    let attributes = view.file.steady(|| attribute::count(view.file, &header))?;
    let info = describe(&header, header.object_kind()?, header.references()?, attributes);
    Ok(if maps::is_map(view.file, &header)? { maps::map_info(info) } else { info })
}

pub(super) fn kinds(c: &NativeContainer, objects: &[Token]) -> Result<Vec<ObjectKind>> {
    let file = c.open_file()?;
    if file.writer.is_some() {
        return objects.iter().map(|object| Ok(info(c, *object)?.kind)).collect();
    }
    // One alone is opened, as a rule.
    if let [object] = objects {
        return Ok(vec![maps::kind_of(file, &*file.header_of(*object)?)?]);
    }
    // Few of many are looked at again soon, so their headers are not kept.
    let kind = |header: &mut Header, object: &Token| match file.headers.get(address(*object)) {
        Some(header) => maps::kind_of(file, &header),
        None => {
            file.steady(|| header.reload(&file.store, address(*object)))?;
            maps::kind_of(file, header)
        }
    };
    let share_len = if file.store.is_serial() { objects.len().max(1) } else { KINDS_AT_ONCE };
    let shares = objects.chunks(share_len).collect();
    let kinds = thread_pool::map(shares, |share: &[Token]| {
        let mut header = Header::default();
        share.iter().map(|object| kind(&mut header, object)).collect::<Result<Vec<_>>>()
    })?;
    Ok(kinds.concat())
}

fn describe(header: &Header, kind: ObjectKind, references: u32, attributes: u64) -> ObjectInfo {
    ObjectInfo {
        token: Token::from_u64(header.address.0),
        kind,
        references,
        attributes,
        times: times(header),
        create: attribute::object_create(header),
        comment: comment(header),
    }
}

fn times(header: &Header) -> Option<Times> {
    if let Some([access, modification, change, birth]) = header.prefix.times {
        return Some(Times { access, modification, change, birth });
    }
    let message = header.message(kind::TIME)?;
    let change = u32::from_le_bytes(*message.body.get(4..8)?.first_chunk()?);
    // libhdf5 tells this one time as the change of metadata, and no other.
    Some(Times { access: 0, modification: 0, change, birth: 0 })
}

fn comment(header: &Header) -> Option<String> {
    let body = &header.message(kind::COMMENT)?.body;
    let end = body.iter().position(|&b| b == 0).unwrap_or(body.len());
    Some(model::text::from_bytes(&body[..end]))
}
