//! Listings of links and attributes by index and order, as C asks for them.

use std::ffi::{c_int, c_void};

use hyperslab::vol::model::properties::CreationOrder;
use hyperslab::vol::{Container, OpList, Page};
use hyperslab::{Index, Link, Order, Result, Token};

use crate::failure::{Failure, Fallible};
use crate::ffi::{
    H5_INDEX_CRT_ORDER, H5_INDEX_NAME, H5_ITER_DEC, H5_ITER_INC, H5_ITER_NATIVE, herr_t, hsize_t,
};

/// An index and the direction in which it is gone through.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Listing {
    index: Index,
    order: Order,
}

impl Listing {
    /// Reads `H5_index_t` and `H5_iter_order_t`.
    pub(crate) fn new(index: c_int, order: c_int) -> Fallible<Self> {
        let index = match index {
            H5_INDEX_NAME => Index::Name,
            H5_INDEX_CRT_ORDER => Index::CreationOrder,
            _ => return Err(Failure::argument("invalid index type specified")),
        };
        let order = match order {
            H5_ITER_INC => Order::Increasing,
            H5_ITER_DEC => Order::Decreasing,
            H5_ITER_NATIVE => Order::Native,
            _ => return Err(Failure::argument("invalid iteration order specified")),
        };
        Ok(Listing { index, order })
    }

    /// Returns names in increasing order.
    pub(crate) fn by_name() -> Self {
        Listing { index: Index::Name, order: Order::Increasing }
    }

    fn op(self, skip: u64, count_max: u64) -> OpList {
        OpList { index: self.index, order: self.order, skip, count_max }
    }

    /// Returns entry `n`.
    pub(crate) fn nth<T>(self, n: hsize_t, list: impl Fn(&OpList) -> Result<Page<T>>) -> Fallible<T> {
        let page = list(&self.op(n, 1))?;
        page.entries.into_iter().next().ok_or_else(|| Failure::argument("index out of bound"))
    }

    /// Returns all entries from `skip` on, so that a callback may change what is listed.
    pub(crate) fn all<T>(self, skip: hsize_t, list: impl Fn(&OpList) -> Result<Page<T>>) -> Fallible<Vec<T>> {
        let mut op = self.op(skip, 4096);
        let mut entries = Vec::new();
        loop {
            let page = list(&op)?;
            op.skip += page.entries.len() as u64;
            entries.extend(page.entries);
            if !page.more {
                return Ok(entries);
            }
        }
    }

    /// Returns all links of a group.
    pub(crate) fn links(self, container: &dyn Container, group: Token, skip: hsize_t) -> Fallible<Vec<Link>> {
        self.all(skip, |op| container.link_list(group, op))
    }

    /// Returns all links of a group that is visited with others: by name where the group does not track creation order.
    pub(crate) fn links_of_visit(self, container: &dyn Container, group: Token) -> Fallible<Vec<Link>> {
        let is_tracked =
            || Ok::<_, Failure>(container.group_info(group)?.create.link_order != CreationOrder::Untracked);
        match self.index {
            Index::CreationOrder if !is_tracked()? => {
                Listing { index: Index::Name, ..self }.links(container, group, 0)
            }
            _ => self.links(container, group, 0),
        }
    }

    /// Returns link `n` of a group.
    pub(crate) fn link(self, container: &dyn Container, group: Token, n: hsize_t) -> Fallible<Link> {
        self.nth(n, |op| container.link_list(group, op))
    }
}

/// Returns what a callback's answer means for the iteration.
pub(crate) fn check_answer(answer: herr_t) -> Fallible<Option<herr_t>> {
    match answer {
        0 => Ok(None),
        stop if stop > 0 => Ok(Some(stop)),
        _ => Err(Failure::callback("iteration operator failed").as_minor(crate::codes::Minor::BADITER)),
    }
}

/// The data that a program gets back with every call of its function.
pub(crate) type Data = *mut c_void;
