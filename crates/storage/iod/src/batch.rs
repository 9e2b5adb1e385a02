//! Changes of several objects, all or nothing.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;

use objects::{Change, Phase, Update};

use crate::array::automatic_block;
use crate::blob::WHOLE;
use crate::container::{PHASE, missing};
use crate::head::{HEAD, Head, Shape};
use crate::kv::{check_key, pair_key};
use crate::layout::Layout;
use crate::{Container, Error, Id, Kind, Result, ScratchPad};

/// Changes that are made together by [`Container::apply`].
#[derive(Clone, Debug, Default)]
pub struct Batch<'a> {
    objects: Vec<Object<'a>>,
    places: HashMap<Id, usize>,
    phase: Option<Phase>,
}

/// All that a batch does to one object.
#[derive(Clone, Debug)]
struct Object<'a> {
    id: Id,
    steps: Vec<Step<'a>>,
    /// The last of the phases that were asked for.
    phase: Phase,
}

#[derive(Clone, Debug)]
enum Step<'a> {
    Create(Head),
    Content(Cow<'a, [u8]>),
    Put(Cow<'a, [u8]>, Cow<'a, [u8]>),
    Remove(Cow<'a, [u8]>),
    Resize(u64),
    Delete,
    Discard,
}

impl<'a> Batch<'a> {
    /// Returns a batch that changes nothing.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns whether it changes nothing.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.objects.is_empty()
    }

    fn step(&mut self, id: Id, step: Step<'a>) -> &mut Self {
        let phase = self.phase.unwrap_or(Phase::Link);
        let place = *self.places.entry(id).or_insert_with(|| {
            self.objects.push(Object { id, steps: Vec::with_capacity(1), phase });
            self.objects.len() - 1
        });
        if let Some(object) = self.objects.get_mut(place) {
            object.steps.push(step);
            object.phase = object.phase.max(phase);
        }
        self
    }

    /// Says when the changes of objects that follow become durable, where a flush is not one commit: links, unless something
    /// else was said. What is created is a description, and what is deleted a removal, in any case.
    pub fn phase(&mut self, phase: Phase) -> &mut Self {
        self.phase = Some(phase);
        self
    }

    /// Creates an empty key-value store.
    pub fn create_kv(&mut self, id: Id, pad: ScratchPad) -> &mut Self {
        self.step(id, Step::Create(Head::new(pad)))
    }

    /// Creates a blob.
    pub fn create_blob(&mut self, id: Id, pad: ScratchPad, content: impl Into<Cow<'a, [u8]>>) -> &mut Self {
        self.step(id, Step::Create(Head::new(pad))).step(id, Step::Content(content.into()))
    }

    /// Creates an array of holes. Its first dimension may change later; cells lie together by chunks where some are
    /// asked for, which fit the dimensions however they like.
    pub fn create_array(
        &mut self,
        id: Id,
        pad: ScratchPad,
        cell_bytes: u32,
        dims: &[u64],
        chunk: Option<&[u64]>,
    ) -> &mut Self {
        let block = chunk.map_or_else(|| automatic_block(dims, cell_bytes), <[u64]>::to_vec);
        let shape = Shape { cell_bytes, dims: dims.to_vec(), block, is_chunked: chunk.is_some() };
        self.step(id, Step::Create(Head { pad, shape: Some(shape) }))
    }

    /// Sets a pair.
    pub fn put(
        &mut self,
        kv: Id,
        key: impl Into<Cow<'a, [u8]>>,
        value: impl Into<Cow<'a, [u8]>>,
    ) -> &mut Self {
        self.step(kv, Step::Put(key.into(), value.into()))
    }

    /// Removes a pair; none is no error.
    pub fn remove(&mut self, kv: Id, key: impl Into<Cow<'a, [u8]>>) -> &mut Self {
        self.step(kv, Step::Remove(key.into()))
    }

    /// Changes the first dimension of an array; cells that fall out of it become holes.
    pub fn resize(&mut self, array: Id, len: u64) -> &mut Self {
        self.step(array, Step::Resize(len))
    }

    /// Removes an object with all that is in it. Nothing else may happen to it in this batch afterwards.
    pub fn delete(&mut self, id: Id) -> &mut Self {
        self.step(id, Step::Delete)
    }

    /// Like `remove`, for an object that may be gone already.
    pub fn discard(&mut self, id: Id) -> &mut Self {
        self.step(id, Step::Discard)
    }
}

impl Object<'_> {
    /// Returns an error where a step cannot be done; before, the object `is_there` or not.
    fn check(&self, before: Option<&Arc<Head>>) -> Result<()> {
        let kind = self.id.kind().ok_or_else(|| missing(self.id))?;
        let mut is_there = before.is_some();
        let mut is_gone = false;
        for step in &self.steps {
            if is_gone && matches!(step, Step::Discard) {
                continue;
            }
            let fits = match step {
                Step::Create(head) => head.shape.is_some() == (kind == Kind::Array),
                Step::Content(_) => kind == Kind::Blob,
                Step::Put(key, _) | Step::Remove(key) => check_key(key).map(|()| kind == Kind::KeyValue)?,
                Step::Resize(_) => kind == Kind::Array && self.rank(before) > 0,
                Step::Delete | Step::Discard => true,
            };
            if !fits || is_gone {
                return Err(Error::Condition(format!("{} cannot change like this", self.id)));
            }
            match step {
                Step::Create(_) if is_there => {
                    return Err(Error::Exists(format!("there is {} already", self.id)));
                }
                Step::Create(Head { shape: Some(shape), .. }) if !shape.is_possible() => {
                    return Err(Error::Condition(format!("{} has chunks that cannot be", self.id)));
                }
                Step::Create(_) => is_there = true,
                Step::Discard => is_gone = true,
                _ if !is_there => return Err(missing(self.id)),
                Step::Delete => is_gone = true,
                _ => {}
            }
        }
        Ok(())
    }

    fn rank(&self, before: Option<&Arc<Head>>) -> usize {
        let made = self.steps.iter().find_map(|step| match step {
            Step::Create(head) => Some(head),
            _ => None,
        });
        let head = made.or(before.map(|head| &**head));
        head.and_then(|head| head.shape.as_ref()).map_or(0, |shape| shape.dims.len())
    }

    /// Returns the head after all steps; `None` where it stays as it was, or goes.
    fn head_after(&self, before: Option<&Arc<Head>>) -> Option<Head> {
        let mut head = None;
        for step in &self.steps {
            match step {
                Step::Create(made) => head = Some(made.clone()),
                Step::Resize(len) => {
                    let mut resized = head.take().or_else(|| before.map(|head| Head::clone(head)))?;
                    resized.shape.as_mut()?.dims.first_mut().into_iter().for_each(|dim| *dim = *len);
                    head = Some(resized);
                }
                _ => {}
            }
        }
        head
    }

    /// Returns the phase of all that happens to the object, and whether it is new.
    fn phase(&self) -> (Phase, bool) {
        let is_new = self.steps.iter().any(|step| matches!(step, Step::Create(_)));
        match (self.is_deleted(), is_new) {
            (true, _) => (Phase::Removal, is_new),
            (false, true) => (Phase::Description, true),
            (false, false) => (self.phase, false),
        }
    }

    fn is_deleted(&self) -> bool {
        matches!(self.steps.last(), Some(Step::Delete | Step::Discard))
    }
}

/// An object's changes in the words of the store.
struct Written {
    id: Id,
    head: Option<Vec<u8>>,
    pairs: Vec<(Vec<u8>, Option<Vec<u8>>)>,
    phase: Phase,
}

impl Written {
    fn new(object: &Object<'_>, head: Option<&Head>, layout: Layout, phase: Phase) -> Written {
        let mut written = Written { id: object.id, head: head.map(Head::encode), pairs: Vec::new(), phase };
        for step in &object.steps {
            match step {
                Step::Put(key, value) => {
                    written.pairs.push((pair_key(key), Some(layout.stored_value(value))));
                }
                Step::Remove(key) => written.pairs.push((pair_key(key), None)),
                Step::Content(bytes) => {
                    if let Some(head) = &mut written.head {
                        head.push(WHOLE);
                        head.extend_from_slice(bytes);
                    }
                }
                _ => {}
            }
        }
        written
    }

    fn changes(&self) -> Vec<Change<'_>> {
        let head = self.head.as_deref().map(|head| Change::Single(HEAD, head));
        let pairs = self.pairs.iter().map(|(key, value)| match value {
            Some(value) => Change::Single(key, value),
            None => Change::Punch(key),
        });
        head.into_iter().chain(pairs).collect()
    }
}

impl Container {
    /// Does a batch: all of it, or nothing and an error.
    pub fn apply(&self, batch: &Batch<'_>) -> Result<()> {
        self.check_writable()?;
        let _alone = self.core.alone();
        let mut before = Vec::with_capacity(batch.objects.len());
        for object in &batch.objects {
            let head = self.core.head(object.id)?;
            object.check(head.as_ref())?;
            before.push(head);
        }
        let after = self.apply_checked(batch, &before)?;
        let mut done = batch.objects.iter().zip(after).zip(&before);
        let done = done.try_for_each(|((object, after), before)| self.finish(object, after, before.as_ref()));
        if done.is_err() {
            self.core.break_off();
        }
        done
    }

    /// Changes heads and pairs, all or nothing; the heads that are new.
    fn apply_checked(&self, batch: &Batch<'_>, before: &[Option<Arc<Head>>]) -> Result<Vec<Option<Head>>> {
        let after: Vec<Option<Head>> =
            batch.objects.iter().zip(before).map(|(object, head)| object.head_after(head.as_ref())).collect();
        let phases = self.phases(batch)?;
        let stay = batch.objects.iter().zip(&after).zip(&phases);
        let written: Vec<Written> = stay
            .filter(|((object, _), _)| !object.is_deleted())
            .map(|((object, head), phase)| Written::new(object, head.as_ref(), self.core.layout, *phase))
            .collect();
        let changes: Vec<Vec<Change<'_>>> = written.iter().map(Written::changes).collect();
        let mut updates: Vec<Update<'_>> =
            written.iter().zip(&changes).map(|(written, changes)| self.update_of(written, changes)).collect();
        match &updates[..] {
            [one] => self.store().update(one)?,
            many if self.is_atomic() => self.store().update_together(many)?,
            _ => {
                updates.sort_by_key(|update| update.phase);
                // All was checked: what fails now is the store, and a part of the batch may be there.
                self.store().update_many(&updates).inspect_err(|_| self.core.break_off())?;
            }
        }
        Ok(after)
    }

    /// Returns when the changes of each object become durable.
    fn phases(&self, batch: &Batch<'_>) -> Result<Vec<Phase>> {
        if self.is_atomic() {
            return Ok(vec![PHASE; batch.objects.len()]);
        }
        let asked = batch.objects.iter().map(|object| {
            let (phase, is_new) = object.phase();
            (object.id, phase, is_new)
        });
        self.core.schedule(&asked.collect::<Vec<_>>())
    }

    fn update_of<'u>(&self, written: &'u Written, changes: &'u [Change<'u>]) -> Update<'u> {
        let (object, dkey, phase) = (written.id.object(), self.here(), written.phase);
        Update { object, dkey, changes, conditions: &[], phase }
    }

    /// Does the rest once heads and pairs are there.
    fn finish(&self, object: &Object<'_>, after: Option<Head>, before: Option<&Arc<Head>>) -> Result<()> {
        if object.is_deleted() {
            self.core.know(object.id, None);
            return match before {
                Some(_) if object.id.kind() == Some(Kind::Array) => {
                    self.store().punch_object(object.id.object(), Phase::Removal)
                }
                // Others have all they have in one place.
                Some(_) => self.store().punch_dkey(object.id.object(), self.here(), Phase::Removal),
                None => Ok(()),
            };
        }
        let Some(after) = after else { return Ok(()) };
        if let (Some(old), Some(new)) = (before.and_then(|head| head.shape.as_ref()), &after.shape)
            && new.dims.first() < old.dims.first()
        {
            self.cut(object.id, new)?;
        }
        self.core.know(object.id, Some(Arc::new(after)));
        Ok(())
    }
}
