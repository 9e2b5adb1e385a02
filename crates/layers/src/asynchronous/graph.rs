//! The order of operations: which has to wait for which.
//!
//! A change of an object waits for everything before it on that object, a read for the changes before it; only a
//! change of one link does not wait for reads of other ones. What may reach any object waits for all, or if it only
//! reads, for all changes; what comes later waits for it in turn. Removing a link changes its group, and may end the
//! life of any object that no handle keeps: it waits for what is before it on those, and what comes later on one of
//! them waits for it. Nothing else waits.

mod joined;
mod reach;

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::sync::Arc;

use model::Token;
use vol::{AttributeInfo, DatasetInfo};

pub(crate) use reach::{Foreseen, Reach, reach_of};

use crate::asynchronous::request::{Request, Status};
use crate::asynchronous::work::Work;

/// An operation that has not ended.
pub(crate) struct Entry {
    pub(crate) request: Request,
    pub(crate) work: Work,
    pub(crate) reach: Reach,
    pub(crate) foreseen: Foreseen,
    pub(crate) bytes: usize,
    /// The object that it creates.
    pub(crate) creates: Option<Token>,
    /// Handles keep its objects, whatever links are removed.
    pub(crate) is_kept: bool,
    /// Someone took its work.
    is_started: bool,
    /// The pipeline has it.
    is_begun: bool,
    waits: usize,
    followers: Vec<u64>,
}

impl Entry {
    pub(crate) fn new(request: Request, work: Work, reach: Reach, foreseen: Foreseen, bytes: usize) -> Self {
        let (creates, followers) = (None, Vec::new());
        let (is_kept, is_started, is_begun, waits) = (false, false, false, 0);
        Entry {
            request,
            work,
            reach,
            foreseen,
            bytes,
            creates,
            is_kept,
            is_started,
            is_begun,
            waits,
            followers,
        }
    }

    /// Lets it wait until it gets its work.
    pub(crate) fn hold(&mut self) {
        self.waits += 1;
    }
}

/// The operations of one object that have not ended.
#[derive(Default)]
struct Line {
    unfinished: BTreeSet<u64>,
    last_change: Option<u64>,
    reads: Vec<u64>,
    retains: usize,
    releases: usize,
    attributes: usize,
    created_by: Option<u64>,
}

/// All operations that have not ended.
#[derive(Default)]
pub(crate) struct Graph {
    entries: BTreeMap<u64, Entry>,
    lines: HashMap<Token, Line>,
    wide: BTreeSet<u64>,
    wide_change: Option<u64>,
    wide_reads: Vec<u64>,
    structure: BTreeSet<u64>,
    unlinking: BTreeSet<u64>,
    /// Operations on objects that no handle keeps.
    unkept: BTreeSet<u64>,
    releases: usize,
    /// Operations that can begin.
    ready: VecDeque<u64>,
    /// Those who run operations keep their order: what follows a change may begin when the change has begun.
    pub(crate) keeps_order: bool,
}

impl Graph {
    pub(crate) fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    pub(crate) fn ready(&self) -> usize {
        self.ready.len()
    }

    pub(crate) fn objects(&self) -> usize {
        self.lines.len()
    }

    /// Adds an operation behind those it depends on.
    pub(crate) fn insert(&mut self, ticket: u64, mut entry: Entry) {
        let reach = entry.reach.clone();
        // A handle does not keep the number of links.
        entry.is_kept &= !reach.counts_links;
        for number in self.all_before(&reach, entry.is_kept) {
            let Some(other) = self.entries.get_mut(&number) else { continue };
            if !(other.is_begun && other.reach.changes) {
                other.followers.push(ticket);
                entry.waits += 1;
            }
        }
        if entry.waits == 0 {
            self.ready.push_back(ticket);
        }
        if !entry.is_kept {
            self.unkept.insert(ticket);
        }
        self.entries.insert(ticket, entry);
        self.note(ticket, &reach);
    }

    /// Returns what an operation waits for.
    fn all_before(&self, reach: &Reach, is_kept: bool) -> BTreeSet<u64> {
        if reach.is_wide {
            let counts = |other: &Entry| reach.changes || other.reach.changes;
            let before = self.entries.iter().filter(|(_, other)| counts(other));
            return before.map(|(number, _)| *number).collect();
        }
        let mut before = BTreeSet::new();
        reach.objects.iter().for_each(|object| self.before(*object, reach, &mut before));
        if reach.is_unlinking {
            before.extend(&self.unkept);
        }
        if !is_kept {
            before.extend(&self.unlinking);
        }
        before
    }

    /// Adds what an operation on an object waits for.
    fn before(&self, object: Token, reach: &Reach, before: &mut BTreeSet<u64>) {
        before.extend(self.wide_change);
        if reach.changes {
            before.extend(&self.wide_reads);
        }
        let Some(line) = self.lines.get(&object) else { return };
        before.extend(line.last_change);
        if reach.changes {
            before.extend(line.reads.iter().filter(|read| !self.passes(reach, object, **read)));
        }
    }

    /// Returns whether a change of an object need not wait for a read of it.
    fn passes(&self, change: &Reach, object: Token, read: u64) -> bool {
        self.entries.get(&read).is_some_and(|read| change.leaves_alone(object, &read.reach))
    }

    fn note(&mut self, ticket: u64, reach: &Reach) {
        for object in &reach.objects {
            let line = self.lines.entry(*object).or_default();
            line.unfinished.insert(ticket);
            line.retains += usize::from(reach.is_retain);
            line.releases += usize::from(reach.is_release);
            line.attributes += usize::from(reach.is_attributes);
            match reach.changes {
                true => {
                    line.last_change = Some(ticket);
                    let reads = std::mem::take(&mut line.reads);
                    // Later changes wait for this one, and so for the reads that it waits for.
                    let left = reads.into_iter().filter(|read| self.passes(reach, *object, *read)).collect();
                    self.lines.entry(*object).or_default().reads = left;
                }
                false => line.reads.push(ticket),
            }
        }
        self.releases += usize::from(reach.is_release);
        if reach.is_structure {
            self.structure.insert(ticket);
        }
        if reach.is_unlinking {
            self.unlinking.insert(ticket);
        }
        if reach.is_wide {
            self.wide.insert(ticket);
            match reach.changes {
                true => {
                    self.wide_change = Some(ticket);
                    self.wide_reads.clear();
                }
                false => self.wide_reads.push(ticket),
            }
        }
    }

    /// The operation creates this object: what is asked of it waits.
    pub(crate) fn created(&mut self, ticket: u64, object: Token) {
        let Some(entry) = self.entries.get_mut(&ticket) else { return };
        entry.creates = Some(object);
        entry.is_kept = false;
        self.unkept.insert(ticket);
        entry.reach.objects.push(object);
        if let Foreseen::Dataset(token, _) = &mut entry.foreseen {
            *token = object;
        }
        let line = self.lines.entry(object).or_default();
        line.unfinished.insert(ticket);
        (line.last_change, line.created_by) = (Some(ticket), Some(ticket));
    }

    fn begin(&mut self, ticket: u64) -> Work {
        let Some(entry) = self.entries.get_mut(&ticket) else { return Work::Nothing };
        entry.is_started = true;
        if entry.request.status() == Status::Waiting {
            entry.request.set(Status::Running);
        }
        std::mem::replace(&mut entry.work, Work::Nothing)
    }

    /// The operation has begun where operations keep their order.
    pub(crate) fn began(&mut self, ticket: u64) {
        let Some(entry) = self.entries.get_mut(&ticket) else { return };
        entry.is_begun = true;
        if self.keeps_order && entry.reach.changes {
            let followers = std::mem::take(&mut entry.followers);
            self.free(&followers);
        }
    }

    /// Gives an operation that was held its work, unless it was cancelled.
    pub(crate) fn let_go(&mut self, ticket: u64, work: Work) {
        if let Some(entry) = self.entries.get_mut(&ticket)
            && entry.request.status() == Status::Waiting
        {
            entry.work = work;
        }
        self.free(&[ticket]);
    }

    fn free(&mut self, followers: &[u64]) {
        for number in followers {
            let Some(entry) = self.entries.get_mut(number) else { continue };
            entry.waits = entry.waits.saturating_sub(1);
            if entry.waits == 0 && !entry.is_started {
                self.ready.push_back(*number);
            }
        }
    }

    /// Removes an operation that ended.
    pub(crate) fn end(&mut self, ticket: u64) -> Option<Entry> {
        let entry = self.entries.remove(&ticket)?;
        for object in &entry.reach.objects {
            let Some(line) = self.lines.get_mut(object) else { continue };
            line.unfinished.remove(&ticket);
            line.retains -= usize::from(entry.reach.is_retain).min(line.retains);
            line.releases -= usize::from(entry.reach.is_release).min(line.releases);
            line.attributes -= usize::from(entry.reach.is_attributes).min(line.attributes);
            line.reads.retain(|read| *read != ticket);
            if line.created_by == Some(ticket) {
                line.created_by = None;
            }
            if line.unfinished.is_empty() {
                self.lines.remove(object);
            }
        }
        self.releases -= usize::from(entry.reach.is_release);
        for set in [&mut self.structure, &mut self.unlinking, &mut self.unkept] {
            set.remove(&ticket);
        }
        self.wide.remove(&ticket);
        self.wide_reads.retain(|read| *read != ticket);
        self.wide_change = self.wide_change.filter(|change| *change != ticket);
        self.free(&entry.followers);
        Some(entry)
    }

    /// Takes the work of an operation that has not begun; it keeps its place. The bytes that it held.
    pub(crate) fn cancel(&mut self, ticket: u64) -> Option<(Work, usize)> {
        let entry = self.entries.get_mut(&ticket).filter(|entry| !entry.is_started)?;
        if entry.request.status() != Status::Waiting {
            return None;
        }
        entry.foreseen = Foreseen::Nothing;
        Some((std::mem::replace(&mut entry.work, Work::Nothing), std::mem::take(&mut entry.bytes)))
    }

    /// Returns the request of an operation.
    pub(crate) fn request(&self, ticket: u64) -> Option<Request> {
        self.entries.get(&ticket).map(|entry| entry.request.clone())
    }

    /// Returns a dataset as it will be.
    pub(crate) fn dataset(&self, dataset: Token) -> Option<Arc<DatasetInfo>> {
        let tickets = self.lines.get(&dataset)?.unfinished.iter().rev();
        let foreseen = tickets.filter_map(|ticket| self.entries.get(ticket)).map(|entry| &entry.foreseen);
        foreseen.into_iter().find_map(|foreseen| match foreseen {
            Foreseen::Dataset(token, info) if *token == dataset => Some(info.clone()),
            _ => None,
        })
    }

    /// Returns an attribute as it will be, or that there will be none; `None` where the queue does not say.
    pub(crate) fn attribute(&self, object: Token, name: &str) -> Option<Option<AttributeInfo>> {
        let tickets = self.lines.get(&object)?.unfinished.iter().rev();
        let changes = tickets.filter_map(|ticket| self.entries.get(ticket)).filter(|e| e.reach.is_attributes);
        for entry in changes {
            match &entry.foreseen {
                Foreseen::Attribute(info) if info.name == name => return Some(Some((**info).clone())),
                Foreseen::NoAttribute(removed) if removed == name => return Some(None),
                Foreseen::Attribute(..) | Foreseen::NoAttribute(..) => {}
                // It was renamed, or cancelled.
                Foreseen::Nothing | Foreseen::Dataset(..) => return None,
            }
        }
        None
    }

    pub(crate) fn is_busy(&self, object: Token) -> bool {
        self.lines.contains_key(&object)
    }

    /// Returns whether nothing from before `now` is left of an object, nor of what may reach any.
    pub(crate) fn is_past(&self, object: Token, now: u64) -> bool {
        let oldest = self.lines.get(&object).and_then(|line| line.unfinished.first());
        [oldest, self.wide.first(), self.unlinking.first()].into_iter().all(|first| is_later(first, now))
    }

    pub(crate) fn is_all_past(&self, now: u64) -> bool {
        is_later(self.entries.first_key_value().map(|(ticket, _)| ticket), now)
    }

    pub(crate) fn is_structure_past(&self, now: u64) -> bool {
        is_later(self.structure.first(), now)
    }

    /// Returns whether nothing that is left changes which attributes an object has.
    pub(crate) fn has_its_attributes(&self, object: Token) -> bool {
        let line = self.lines.get(&object);
        self.wide.is_empty()
            && self.unlinking.is_empty()
            && line.is_none_or(|line| line.attributes == 0 && line.created_by.is_none())
    }

    /// Returns whether links are being removed.
    pub(crate) fn has_removals(&self) -> bool {
        !self.unlinking.is_empty()
    }

    pub(crate) fn is_created(&self, object: Token) -> bool {
        self.lines.get(&object).is_none_or(|line| line.created_by.is_none())
    }

    /// Returns whether it is not known yet if the container counts a handle of an object.
    pub(crate) fn has_retains(&self, object: Token) -> bool {
        self.lines.get(&object).is_some_and(|line| line.retains > 0)
    }

    pub(crate) fn has_releases(&self, object: Option<Token>) -> bool {
        match object {
            Some(object) => self.lines.get(&object).is_some_and(|line| line.releases > 0),
            None => self.releases > 0,
        }
    }
}

fn is_later(ticket: Option<&u64>, now: u64) -> bool {
    ticket.is_none_or(|ticket| *ticket >= now)
}
