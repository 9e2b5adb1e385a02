//! Group messages: symbol table, link info, group info (format spec IV.A.2.r, IV.A.2.c, IV.A.2.k).

use model::Result;
use model::bytes::Cursor;
use model::properties::PhaseChange;

use super::{Address, SizedFields, Sizes};

/// An old-style group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SymbolTable {
    pub(crate) tree: Address,
    pub(crate) heap: Address,
}

pub(crate) fn symbol_table(body: &[u8], sizes: Sizes) -> Result<SymbolTable> {
    let mut c = Cursor::new(body, "symbol table message");
    Ok(SymbolTable { tree: c.defined_address(sizes)?, heap: c.defined_address(sizes)? })
}

/// A new-style group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct LinkInfo {
    pub(crate) order_tracked: bool,
    pub(crate) order_indexed: bool,
    pub(crate) order_next: i64,
    pub(crate) heap: Option<Address>,
    pub(crate) name_tree: Option<Address>,
    pub(crate) order_tree: Option<Address>,
}

pub(crate) fn link_info(body: &[u8], sizes: Sizes) -> Result<LinkInfo> {
    let mut c = Cursor::new(body, "link info");
    c.version(0..=0)?;
    let flags = c.u8()?;
    let order_next = if flags & 1 != 0 { c.u64()? as i64 } else { 0 };
    if order_next < 0 {
        return Err(c.corrupt("negative creation index"));
    }
    let (heap, name_tree) = (c.address(sizes)?, c.address(sizes)?);
    let order_tree = if flags & 2 != 0 { c.address(sizes)? } else { None };
    Ok(LinkInfo {
        order_tracked: flags & 1 != 0,
        order_indexed: flags & 2 != 0,
        order_next,
        heap,
        name_tree,
        order_tree,
    })
}

/// How a group wants its links to be stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct GroupInfo {
    pub(crate) phase: PhaseChange,
    pub(crate) entries_expected: u16,
    pub(crate) name_bytes_expected: u16,
}

pub(crate) fn group_info(body: &[u8]) -> Result<GroupInfo> {
    let mut c = Cursor::new(body, "group info");
    c.version(0..=0)?;
    let flags = c.u8()?;
    let mut info = GroupInfo { phase: PhaseChange::default(), entries_expected: 4, name_bytes_expected: 8 };
    if flags & 1 != 0 {
        info.phase = PhaseChange { compact_max: c.u16()?, dense_min: c.u16()? };
    }
    if flags & 2 != 0 {
        (info.entries_expected, info.name_bytes_expected) = (c.u16()?, c.u16()?);
    }
    Ok(info)
}
