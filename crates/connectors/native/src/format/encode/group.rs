//! Group messages: symbol table, link info, group info (format spec IV.A.2.r, IV.A.2.c, IV.A.2.k).

use model::Result;
use model::properties::PhaseChange;

use super::super::Sizes;
use super::super::group::{GroupInfo, LinkInfo, SymbolTable};
use super::Encoder;

/// Returns the symbol table message of an old-style group.
pub(crate) fn symbol_table(table: SymbolTable, sizes: Sizes) -> Result<Vec<u8>> {
    Encoder::new("symbol table message", sizes).defined(table.tree).defined(table.heap).finish()
}

/// Returns the link info message of a new-style group.
pub(crate) fn link_info(info: &LinkInfo, sizes: Sizes) -> Result<Vec<u8>> {
    let mut e = Encoder::new("link info", sizes);
    e.require(info.order_next >= 0, "negative creation index");
    e.u8(0).u8(u8::from(info.order_tracked) | u8::from(info.order_indexed) << 1);
    if info.order_tracked {
        e.raw(&info.order_next.to_le_bytes());
    }
    e.address(info.heap).address(info.name_tree);
    if info.order_indexed {
        e.address(info.order_tree);
    }
    e.finish()
}

/// Returns the group info message: what is not the default.
pub(crate) fn group_info(info: &GroupInfo) -> Result<Vec<u8>> {
    let phase = info.phase != PhaseChange::default();
    let expected = (info.entries_expected, info.name_bytes_expected) != (4, 8);
    let mut e = Encoder::plain("group info");
    e.u8(0).u8(u8::from(phase) | u8::from(expected) << 1);
    if phase {
        e.u16(info.phase.compact_max).u16(info.phase.dense_min);
    }
    if expected {
        e.u16(info.entries_expected).u16(info.name_bytes_expected);
    }
    e.finish()
}
