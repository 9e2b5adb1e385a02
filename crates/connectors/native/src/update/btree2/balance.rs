//! Nodes that share their records with their neighbours, split and merge.

use model::{Error, Result};

use super::Session;
use super::node::{Node, Subtree};

/// Children from `at` on, `from` of which become `into`.
#[derive(Debug, Clone, Copy)]
pub(super) struct Spread {
    pub(super) at: usize,
    pub(super) from: usize,
    pub(super) into: usize,
}

impl Node {
    /// Brings a child that has too many records back to what a node may have.
    pub(super) fn relieve(&mut self, session: &mut Session<'_>, depth: u16, at: usize) -> Result<()> {
        let most = session.split_count(depth - 1);
        if self.child(at)?.len() <= most {
            return Ok(());
        }
        // To the left first: records that come in ascending order leave full nodes behind.
        let has_space = |at: usize| self.children.get(at).is_some_and(|child| child.len() < most);
        let spread = match at.checked_sub(1) {
            Some(left) if has_space(left) => Spread { at: left, from: 2, into: 2 },
            _ if has_space(at + 1) => Spread { at, from: 2, into: 2 },
            _ => Spread { at, from: 1, into: 2 },
        };
        self.spread(session, depth, spread)
    }

    /// Brings a child that has too few records back to what a node must have.
    pub(super) fn refill(&mut self, session: &mut Session<'_>, depth: u16, at: usize) -> Result<()> {
        let (fewest, most) = (session.merge_count(depth - 1), session.split_count(depth - 1));
        let len = self.child(at)?.len();
        if len >= fewest || self.children.len() < 2 {
            return Ok(());
        }
        let records = |at: usize| self.children.get(at).map_or(0, Subtree::len);
        let left = at
            .checked_sub(1)
            .filter(|&left| at + 1 == self.children.len() || records(left) >= records(at + 1));
        let (first, other) = left.map_or((at, at + 1), |left| (left, left));
        let merges = records(other) <= fewest && len + records(other) < most;
        self.spread(session, depth, Spread { at: first, from: 2, into: if merges { 1 } else { 2 } })
    }

    /// Joins neighbours, and spreads their records evenly over as many nodes as there shall be.
    pub(super) fn spread(&mut self, session: &mut Session<'_>, depth: u16, spread: Spread) -> Result<()> {
        let Spread { at, from, into } = spread;
        let size = self.record_bytes;
        if self.children.len() < at + from || self.records.len() < (at + from - 1) * size {
            return Err(Error::corrupt("change B-tree v2").with("child", at));
        }
        let mut separators: Vec<u8> = self.records.drain(at * size..(at + from - 1) * size).collect();
        let mut joined =
            Node { record_bytes: size, records: Vec::new(), children: Vec::new(), is_changed: true };
        let mut places = Vec::new();
        for child in self.children.drain(at..at + from) {
            let (node, place) = child.into_node(session, depth - 1)?;
            if !places.is_empty() {
                joined.records.extend(separators.drain(..size));
            }
            joined.records.extend(node.records);
            joined.children.extend(node.children);
            places.push(place);
        }
        let mut nodes = joined.cut(into);
        for mut place in places.split_off(into.min(from)) {
            place.drop_from(session.used);
        }
        let mut places = places.into_iter();
        for (i, (node, separator)) in nodes.drain(..).enumerate() {
            let child = match places.next() {
                Some(place) => place.with_node(node),
                None => Subtree::new(node),
            };
            self.children.insert(at + i, child);
            self.records.splice((at + i) * size..(at + i) * size, separator);
        }
        self.is_changed = true;
        Ok(())
    }

    /// Parts of nearly the same number of records, each with the record between it and the next.
    fn cut(mut self, parts: usize) -> Vec<(Node, Vec<u8>)> {
        let (size, mut nodes) = (self.record_bytes, Vec::new());
        for rest in (1..=parts).rev() {
            let count = (self.len() + 1).saturating_sub(rest) / rest;
            let later = self.records.split_off((count * size).min(self.records.len()));
            let children = self.children.split_off((count + 1).min(self.children.len()));
            let node =
                Node { record_bytes: size, records: self.records, children: self.children, is_changed: true };
            let (separator, later) = match later.split_at_checked(size).filter(|_| rest > 1) {
                Some((separator, later)) => (separator.to_vec(), later.to_vec()),
                None => (Vec::new(), Vec::new()),
            };
            self = Node { record_bytes: size, records: later, children, is_changed: true };
            nodes.push((node, separator));
        }
        nodes
    }
}
