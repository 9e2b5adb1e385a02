//! Checks of containers: they return as much as was asked for, in the order that was asked for.

use model::{Index, Link, Order, Result, text};
use vol::{AttributeInfo, ContainerInfo, OpList, Operation, Page};

use crate::check::container;

/// An entry that listings are sorted by.
pub(crate) trait Entry {
    fn name(&self) -> &str;
    fn created(&self) -> Option<i64>;
}

impl Entry for Link {
    fn name(&self) -> &str {
        &self.name
    }

    fn created(&self) -> Option<i64> {
        self.creation_order
    }
}

impl Entry for AttributeInfo {
    fn name(&self) -> &str {
        &self.name
    }

    fn created(&self) -> Option<i64> {
        self.creation_order.map(i64::from)
    }
}

/// A page holds at most what was asked for.
pub(crate) fn page<T>(operation: Operation, page: &Page<T>, count_max: u64) -> Result<()> {
    let count = page.entries.len() as u64;
    container(operation, "a page holds at most what was asked for", count <= count_max, count)
}

/// A listing is a page in the order that was asked for, without an entry twice.
pub(crate) fn listing<T: Entry>(operation: Operation, found: &Page<T>, op: &OpList) -> Result<()> {
    page(operation, found, op.count_max)?;
    let follows = |a: &T, b: &T| match op.index {
        Index::Name => text::to_bytes(a.name()) < text::to_bytes(b.name()),
        Index::CreationOrder => a.created().is_some() && a.created() < b.created(),
    };
    let is_wrong = |pair: &&[T]| match op.order {
        Order::Increasing => !follows(&pair[0], &pair[1]),
        Order::Decreasing => !follows(&pair[1], &pair[0]),
        Order::Native => pair[0].name() == pair[1].name(),
    };
    let wrong = found.entries.windows(2).find(is_wrong);
    let value =
        wrong.map_or(String::new(), |pair| format!("{:?} before {:?}", pair[0].name(), pair[1].name()));
    container(operation, "entries come in the order that was asked for", wrong.is_none(), value)
}

/// There is one answer for each question.
pub(crate) fn count(operation: Operation, asked: usize, answers: usize) -> Result<()> {
    let value = format!("{answers} answers to {asked} questions");
    container(operation, "each question has one answer", asked == answers, value)
}

/// The info of a container about itself stays as it was; sizes and warnings may change.
pub(crate) fn same_info(first: &ContainerInfo, now: &ContainerInfo) -> Result<()> {
    let parts = [
        ("connector", first.connector == now.connector),
        ("capability", first.capability == now.capability),
        ("writable", first.writable == now.writable),
        ("root", first.root == now.root),
        ("descriptors", first.descriptors == now.descriptors),
        ("create", first.create == now.create),
    ];
    let changed: Vec<&str> = parts.iter().filter(|(_, same)| !same).map(|(part, _)| *part).collect();
    let rule = "the info of a container does not change";
    container(Operation::info, rule, changed.is_empty(), changed.join(", "))
}
