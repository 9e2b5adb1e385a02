//! Attributes: their types, their values, and lists of them.

use model::{Error, Result, Token};
use system::sync::MutexGuard;
use vol::{AttributeInfo, OpList, Page};

use super::{NativeContainer, View, address};
use crate::listing;
use crate::maps;
use crate::object::attribute;

/// The value of an attribute whose type was asked for.
#[derive(Debug, Clone)]
pub(super) struct LastAttribute {
    object: Token,
    name: String,
    data: Vec<u8>,
}

pub(super) fn info(c: &NativeContainer, object: Token, name: &str) -> Result<Option<AttributeInfo>> {
    let found = find(c, object, name)?;
    let Some(attribute::Attribute { info, data }) = found else { return Ok(None) };
    if !c.file.store.may_change() {
        *last_attribute(c) = Some(LastAttribute { object, name: info.name.clone(), data });
    }
    Ok(Some(info))
}

pub(super) fn list(c: &NativeContainer, object: Token, op: &OpList) -> Result<Page<AttributeInfo>> {
    let view = c.view(object)?;
    let header = view.header(object)?;
    let all = view.file.steady(|| attribute::all(view.file, &header))?;
    let shown = all.into_inner().into_iter().map(|a| a.info).filter(|info| info.name != maps::MARK);
    let mut infos: Vec<AttributeInfo> = shown.collect();
    listing::sort(&mut infos, op)?;
    Ok(listing::page(&infos, op))
}

pub(super) fn read(c: &NativeContainer, object: Token, names: &[&str]) -> Result<Vec<Vec<u8>>> {
    c.open_file()?;
    let one = |name: &&str| {
        let is_it = |last: &mut LastAttribute| last.object == object && last.name == **name;
        if let Some(last) = last_attribute(c).take_if(is_it) {
            return Ok(last.data);
        }
        let found = find(c, object, name)?;
        found.map(|a| a.data).ok_or_else(|| Error::not_found("read attribute").with("name", name))
    };
    names.iter().map(one).collect()
}

fn find(c: &NativeContainer, object: Token, name: &str) -> Result<Option<attribute::Attribute>> {
    let stored = |view: &View<'_>| {
        let header = view.header(object)?;
        view.file.steady(|| attribute::find(view.file, &header, name))
    };
    c.look(object, |writer| writer.objects.attribute(address(object), name), stored)
}

fn last_attribute(c: &NativeContainer) -> MutexGuard<'_, Option<LastAttribute>> {
    c.attribute.lock()
}
