//! Between file form and memory form: what a container's slots stand for is fetched or stored in batches.

use std::borrow::Cow;

use model::Result;
use model::datatype::{Datatype, ReferenceKind, ReferenceType, VarLenKind};
use model::heap::{Heap, VarSlot};
use vol::{Blobs, Container};

use crate::shared_values::{Distinct, FileSlot, Places, SLOT_BYTES};
use crate::slot_bytes::{
    COUNT_BYTES, check_value, join_blobs, join_slot, put_blobs, split_slot, store_slot, wrong_identities,
};

/// Bytes that are the same in both forms.
#[derive(Debug, Clone, Copy)]
struct Segment {
    file: usize,
    memory: usize,
    len: usize,
}

/// A slot in both forms.
#[derive(Debug)]
struct Site<'t> {
    file: usize,
    file_bytes: usize,
    memory: usize,
    kind: SiteKind<'t>,
}

#[derive(Debug, Clone, Copy)]
enum SiteKind<'t> {
    Text,
    Sequence { file: &'t Datatype, memory: &'t Datatype },
    Reference(ReferenceKind),
}

/// How the elements of one type go from one form to the other.
#[derive(Debug)]
pub(crate) struct SlotPlan<'t> {
    file_bytes: usize,
    memory_bytes: usize,
    segments: Vec<Segment>,
    sites: Vec<Site<'t>>,
}

impl<'t> SlotPlan<'t> {
    /// For elements of `file` type, whose memory form is `memory`.
    pub(crate) fn new(file: &'t Datatype, memory: &'t Datatype) -> Self {
        let mut plan = SlotPlan {
            file_bytes: file.size() as usize,
            memory_bytes: memory.size() as usize,
            segments: Vec::new(),
            sites: Vec::new(),
        };
        plan.add(file, memory, 0, 0);
        plan
    }

    fn add(&mut self, file: &'t Datatype, memory: &'t Datatype, at_file: usize, at_memory: usize) {
        match (file, memory) {
            (Datatype::VarLen(f), Datatype::VarLen(m)) => {
                let kind = match (&f.kind, &m.kind) {
                    (VarLenKind::Sequence(f), VarLenKind::Sequence(m)) => {
                        SiteKind::Sequence { file: f, memory: m }
                    }
                    _ => SiteKind::Text,
                };
                self.sites.push(Site { file: at_file, file_bytes: f.size as usize, memory: at_memory, kind });
            }
            (Datatype::Reference(f), _) => {
                let kind = SiteKind::Reference(f.kind);
                self.sites.push(Site { file: at_file, file_bytes: f.size as usize, memory: at_memory, kind });
            }
            (Datatype::Array(f), Datatype::Array(m)) if f.base.has_slots() => {
                let count: usize = f.dims.iter().map(|&d| d as usize).product();
                for i in 0..count {
                    let (df, dm) = (i * f.base.size() as usize, i * m.base.size() as usize);
                    self.add(&f.base, &m.base, at_file + df, at_memory + dm);
                }
            }
            (Datatype::Compound(f), Datatype::Compound(m)) if file.has_slots() => {
                for (f, m) in f.members.iter().zip(&m.members) {
                    self.add(
                        &f.datatype,
                        &m.datatype,
                        at_file + f.offset as usize,
                        at_memory + m.offset as usize,
                    );
                }
            }
            _ => self.segments.push(Segment { file: at_file, memory: at_memory, len: file.size() as usize }),
        }
    }

    /// File form to memory form: fetches what the slots stand for into `heap`.
    pub(crate) fn detach(&self, container: &dyn Container, file: &[u8], heap: &mut Heap) -> Result<Vec<u8>> {
        let count = file.len() / self.file_bytes;
        let mut memory = vec![0; count * self.memory_bytes];
        let pairs = file.chunks_exact(self.file_bytes).zip(memory.chunks_exact_mut(self.memory_bytes));
        for (f, m) in pairs.take(if self.segments.is_empty() { 0 } else { count }) {
            for s in &self.segments {
                m[s.memory..s.memory + s.len].copy_from_slice(&f[s.file..s.file + s.len]);
            }
        }
        for site in &self.sites {
            match site.kind {
                SiteKind::Reference(kind) => {
                    self.detach_references(container, site, kind, file, &mut memory, heap)?;
                }
                _ => self.detach_values(container, site, file, &mut memory, heap)?,
            }
        }
        Ok(memory)
    }

    fn file_slots<'d>(&self, site: &Site<'_>, file: &'d [u8]) -> impl Iterator<Item = &'d [u8]> {
        let (at, len) = (site.file, site.file_bytes);
        file.chunks_exact(self.file_bytes).map(move |f| &f[at..at + len])
    }

    fn detach_references(
        &self,
        container: &dyn Container,
        site: &Site<'_>,
        kind: ReferenceKind,
        file: &[u8],
        memory: &mut [u8],
        heap: &mut Heap,
    ) -> Result<()> {
        let slots: Vec<&[u8]> = self.file_slots(site, file).collect();
        let references = container.reference_get(kind, &slots)?;
        for (m, reference) in memory.chunks_exact_mut(self.memory_bytes).zip(references) {
            heap.store_reference(reference, &mut m[site.memory..])?;
        }
        Ok(())
    }

    fn detach_values(
        &self,
        container: &dyn Container,
        site: &Site<'_>,
        file: &[u8],
        memory: &mut [u8],
        heap: &mut Heap,
    ) -> Result<()> {
        let element = site.element(container)?;
        let element = element.as_deref();
        let slots = self.file_slots(site, file).map(split_slot).collect::<Result<Vec<_>>>()?;
        let places = Places { memory, each: self.memory_bytes, at: site.memory };
        heap.charge_to(&container.budget())?;
        let is_nested = element.is_some_and(Datatype::has_slots);
        let Some(distinct) = Distinct::of(&slots, element_bytes(element), is_nested) else {
            return site.fetch(container, element, &slots, places, heap);
        };
        let (before, mut found) = (heap.expanded(), vec![0; distinct.slots.len() * SLOT_BYTES]);
        let each = Places { memory: &mut found, each: SLOT_BYTES, at: 0 };
        site.fetch(container, element, &distinct.slots, each, heap)?;
        distinct.charge(before, heap)?;
        distinct.spread(&found, places);
        Ok(())
    }

    /// Memory form to file form: stores what the slots stand for.
    pub(crate) fn attach(&self, container: &dyn Container, memory: &[u8], heap: &Heap) -> Result<Vec<u8>> {
        let count = memory.len() / self.memory_bytes;
        let mut file = vec![0; count * self.file_bytes];
        let pairs = file.chunks_exact_mut(self.file_bytes).zip(memory.chunks_exact(self.memory_bytes));
        for (f, m) in pairs.take(if self.segments.is_empty() { 0 } else { count }) {
            for s in &self.segments {
                f[s.file..s.file + s.len].copy_from_slice(&m[s.memory..s.memory + s.len]);
            }
        }
        for site in &self.sites {
            match site.kind {
                SiteKind::Reference(kind) => {
                    let slots = self.attach_references(container, site, kind, memory, heap)?;
                    for (f, slot) in file.chunks_exact_mut(self.file_bytes).zip(slots) {
                        f[site.file..site.file + site.file_bytes].copy_from_slice(&slot);
                    }
                }
                _ => self.attach_values(container, site, memory, heap, &mut file)?,
            }
        }
        Ok(file)
    }

    fn memory_slots<'d>(&self, site: &Site<'_>, memory: &'d [u8]) -> impl Iterator<Item = &'d [u8]> {
        let at = site.memory;
        memory.chunks_exact(self.memory_bytes).map(move |m| &m[at..])
    }

    fn attach_references(
        &self,
        container: &dyn Container,
        site: &Site<'_>,
        kind: ReferenceKind,
        memory: &[u8],
        heap: &Heap,
    ) -> Result<Vec<Vec<u8>>> {
        let references =
            self.memory_slots(site, memory).map(|m| heap.load_reference(m)).collect::<Result<Vec<_>>>()?;
        container.reference_put(kind, &references)
    }

    fn attach_values(
        &self,
        container: &dyn Container,
        site: &Site<'_>,
        memory: &[u8],
        heap: &Heap,
        file: &mut [u8],
    ) -> Result<()> {
        let count = memory.len() / self.memory_bytes;
        let (mut slots, mut values) = (Vec::with_capacity(count), Vec::with_capacity(count));
        for element in self.memory_slots(site, memory) {
            let slot = VarSlot::load(element)?;
            slots.push(slot);
            if site.is_stored(slot) {
                values.push(heap.get(slot, site.value_bytes())?);
            }
        }
        let element = site.element(container)?;
        let ids = match element.as_deref().filter(|element| element.has_slots()) {
            None => put_blobs(container, &values)?,
            Some(element) => {
                let filled = slots.iter().filter(|s| site.is_stored(**s)).zip(values);
                let value =
                    |(slot, value): (&VarSlot, _)| site.file_value(container, element, *slot, value, heap);
                let values = filled.map(value).collect::<Result<Vec<_>>>()?;
                put_blobs(container, &values.iter().map(Vec::as_slice).collect::<Vec<_>>())?
            }
        };
        let mut ids = ids.chunks_exact(site.file_bytes.saturating_sub(COUNT_BYTES).max(1));
        for (f, slot) in file.chunks_exact_mut(self.file_bytes).zip(slots) {
            if site.is_stored(slot) {
                join_slot(&mut f[site.file..site.file + site.file_bytes], slot, ids.next())?;
            }
        }
        match ids.next().is_none() && ids.remainder().is_empty() {
            true => Ok(()),
            false => Err(wrong_identities()),
        }
    }
}

impl<'t> Site<'t> {
    /// Takes the values of slots to the heap, and writes where they are.
    fn fetch(
        &self,
        container: &dyn Container,
        element: Option<&Datatype>,
        slots: &[FileSlot<'_>],
        places: Places<'_>,
        heap: &mut Heap,
    ) -> Result<()> {
        let mut ids = Vec::with_capacity(slots.len());
        ids.extend(slots.iter().filter(|slot| slot.0 > 0).map(|slot| slot.1));
        let claimed = slots.iter().fold(0u64, |sum, slot| sum.saturating_add(slot.0));
        let mut blobs = Blobs::with_room(&container.budget(), ids.len(), claimed)?;
        if !ids.is_empty() {
            container.blob_get(&ids, &mut blobs)?;
        }
        match (self.kind, element) {
            (SiteKind::Sequence { memory: inner, .. }, Some(element)) if element.has_slots() => {
                let counts = slots.iter().map(|s| s.0).filter(|&n| n > 0);
                let joined = join_blobs(u64::from(element.size()), counts, &blobs)?;
                let values = SlotPlan::new(element, inner).detach(container, &joined, heap)?;
                heap.grow(values.len())?;
                let at = heap.push(&values, 0).offset;
                store_joined(slots, at, u64::from(inner.size()), places)
            }
            (_, element) => store_blobs(slots, element_bytes(element), &blobs, places, heap),
        }
    }

    /// Whether a value goes to storage: an empty text does, an empty sequence does not, as in libhdf5.
    fn is_stored(&self, slot: VarSlot) -> bool {
        match self.kind {
            SiteKind::Text => !slot.is_null(),
            _ => slot.count > 0,
        }
    }

    /// The type of a sequence's elements as they stand in its value: references may take less than is declared.
    fn element(&self, container: &dyn Container) -> Result<Option<Cow<'t, Datatype>>> {
        let SiteKind::Sequence { file, .. } = self.kind else { return Ok(None) };
        let Datatype::Reference(reference) = file else { return Ok(Some(Cow::Borrowed(file))) };
        let size = container.info()?.slots.of_reference(reference.kind).min(reference.size);
        Ok(Some(Cow::Owned(Datatype::Reference(ReferenceType { size, ..*reference }))))
    }

    /// Bytes of one element of a value in memory.
    fn value_bytes(&self) -> u64 {
        match self.kind {
            SiteKind::Sequence { memory, .. } => u64::from(memory.size()),
            _ => 1,
        }
    }

    /// One value in file form, whose elements are of a type with slots that [`Site::element`] gave.
    fn file_value(
        &self,
        container: &dyn Container,
        element: &Datatype,
        slot: VarSlot,
        value: &[u8],
        heap: &Heap,
    ) -> Result<Vec<u8>> {
        let SiteKind::Sequence { file, memory } = self.kind else { return Ok(value.to_vec()) };
        let mut stored = SlotPlan::new(element, memory).attach(container, value, heap)?;
        // The room is what is declared.
        stored.resize(slot.count as usize * file.size() as usize, 0);
        Ok(stored)
    }
}

/// Slots of values that lie one after another from `offset` on.
fn store_joined(slots: &[FileSlot<'_>], mut offset: u64, value_bytes: u64, places: Places<'_>) -> Result<()> {
    for (place, &(count, id)) in places.iter().zip(slots) {
        store_slot(VarSlot { offset, count }, id, place)?;
        offset += count * value_bytes;
    }
    Ok(())
}

/// Takes blobs to the heap as they are; a value may be shorter than its blob.
fn store_blobs(
    slots: &[FileSlot<'_>],
    value_bytes: u64,
    blobs: &Blobs,
    places: Places<'_>,
    heap: &mut Heap,
) -> Result<()> {
    heap.grow(blobs.bytes().len())?;
    let mut offset = heap.push(blobs.bytes(), 0).offset;
    let mut lengths = blobs.lengths();
    for (place, &(count, id)) in places.iter().zip(slots) {
        store_slot(VarSlot { offset, count }, id, place)?;
        if count > 0 {
            let len = lengths.next().unwrap_or(0) as u64;
            check_value(count, value_bytes, len)?;
            offset += len;
        }
    }
    Ok(())
}

/// Bytes of one element of a sequence, or of a text.
fn element_bytes(element: Option<&Datatype>) -> u64 {
    element.map_or(1, |element| u64::from(element.size()))
}
