//! Between file form and memory form: what a container's slots stand for is fetched or stored in batches.

use std::borrow::Cow;

use model::datatype::{Datatype, ReferenceKind, ReferenceType, VarLenKind};
use model::heap::{Heap, VarSlot};
use model::{Error, Result};

use crate::{Blobs, Container};

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

/// Whether the identity of a blob is that of none.
fn is_null(id: &[u8]) -> bool {
    id.iter().all(|&b| b == 0)
}

/// Size in bytes of a variable-length slot's own length field.
const COUNT_BYTES: usize = 4;

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
        for (f, m) in file.chunks_exact(self.file_bytes).zip(memory.chunks_exact_mut(self.memory_bytes)) {
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
        let slots: Vec<(u64, &[u8])> = self.file_slots(site, file).map(split_slot).collect::<Result<_>>()?;
        let ids: Vec<&[u8]> = slots.iter().filter(|s| s.0 > 0).map(|s| s.1).collect();
        let mut blobs = Blobs::default();
        if !ids.is_empty() {
            container.blob_get(&ids, &mut blobs)?;
        }
        let counts = slots.iter().map(|s| s.0);
        let element = site.element(container)?;
        let joined = join_blobs(element_bytes(element.as_deref()), counts.filter(|&n| n > 0), &blobs)?;
        let (values, value_bytes) = match (site.kind, element.as_deref()) {
            (SiteKind::Sequence { memory, .. }, Some(element)) if element.has_slots() => {
                (SlotPlan::new(element, memory).detach(container, &joined, heap)?, u64::from(memory.size()))
            }
            (_, element) => (joined, element_bytes(element)),
        };
        let mut slot = heap.push(&values, 0);
        for (m, &(count, id)) in memory.chunks_exact_mut(self.memory_bytes).zip(&slots) {
            slot.count = count;
            let stored = if count == 0 && is_null(id) { VarSlot::default() } else { slot };
            stored.store(&mut m[site.memory..])?;
            slot.offset += count * value_bytes;
        }
        Ok(())
    }

    /// Deletes what the slots of elements in file form stand for: the elements were overwritten.
    ///
    /// What is not there any more, or cannot be told, is no reason to refuse a write that is done already.
    pub(crate) fn give_up(&self, container: &dyn Container, file: &[u8]) -> Result<()> {
        for site in &self.sites {
            if matches!(site.kind, SiteKind::Reference(_)) {
                continue;
            }
            let slots: Vec<(u64, &[u8])> =
                self.file_slots(site, file).map(split_slot).collect::<Result<_>>()?;
            let used: Vec<(u64, &[u8])> = slots.into_iter().filter(|s| !is_null(s.1)).collect();
            let ids: Vec<&[u8]> = used.iter().map(|s| s.1).collect();
            if ids.is_empty() {
                continue;
            }
            if let SiteKind::Sequence { memory, .. } = site.kind
                && let Some(element) = site.element(container)?.filter(|e| e.has_slots())
            {
                let mut blobs = Blobs::default();
                container.blob_get(&ids, &mut blobs)?;
                let joined = join_blobs(u64::from(element.size()), used.iter().map(|s| s.0), &blobs)?;
                SlotPlan::new(&element, memory).give_up(container, &joined)?;
            }
            container.blob_delete(&ids)?;
        }
        Ok(())
    }

    /// Memory form to file form: stores what the slots stand for.
    pub(crate) fn attach(&self, container: &dyn Container, memory: &[u8], heap: &Heap) -> Result<Vec<u8>> {
        let count = memory.len() / self.memory_bytes;
        let mut file = vec![0; count * self.file_bytes];
        for (f, m) in file.chunks_exact_mut(self.file_bytes).zip(memory.chunks_exact(self.memory_bytes)) {
            for s in &self.segments {
                f[s.file..s.file + s.len].copy_from_slice(&m[s.memory..s.memory + s.len]);
            }
        }
        for site in &self.sites {
            let slots = match site.kind {
                SiteKind::Reference(kind) => self.attach_references(container, site, kind, memory, heap)?,
                _ => self.attach_values(container, site, memory, heap)?,
            };
            for (f, slot) in file.chunks_exact_mut(self.file_bytes).zip(slots) {
                f[site.file..site.file + site.file_bytes].copy_from_slice(&slot);
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
    ) -> Result<Vec<Vec<u8>>> {
        let slots = self.memory_slots(site, memory).map(VarSlot::load).collect::<Result<Vec<_>>>()?;
        let filled: Vec<VarSlot> = slots.iter().copied().filter(|s| site.is_stored(*s)).collect();
        let element = site.element(container)?;
        let value = |s: &VarSlot| site.file_value(container, element.as_deref(), *s, heap);
        let values = filled.iter().map(value).collect::<Result<Vec<_>>>()?;
        let values: Vec<&[u8]> = values.iter().map(std::convert::AsRef::as_ref).collect();
        let mut ids = if values.is_empty() { Vec::new() } else { container.blob_put(&values)? }.into_iter();
        slots.iter().map(|s| join_slot(site, *s, &mut ids)).collect()
    }
}

impl<'t> Site<'t> {
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

    /// One value in file form, whose elements are of a type that [`Site::element`] gave.
    fn file_value<'h>(
        &self,
        container: &dyn Container,
        element: Option<&Datatype>,
        slot: VarSlot,
        heap: &'h Heap,
    ) -> Result<Cow<'h, [u8]>> {
        let (SiteKind::Sequence { file, memory }, Some(element)) = (self.kind, element) else {
            return heap.get(slot, 1).map(Into::into);
        };
        let value = heap.get(slot, u64::from(memory.size()))?;
        if !element.has_slots() {
            return Ok(value.into());
        }
        let mut stored = SlotPlan::new(element, memory).attach(container, value, heap)?;
        // The room is what is declared.
        stored.resize(slot.count as usize * file.size() as usize, 0);
        Ok(stored.into())
    }
}

/// Bytes of one element of a sequence, or of a text.
fn element_bytes(element: Option<&Datatype>) -> u64 {
    element.map_or(1, |element| u64::from(element.size()))
}

fn split_slot(slot: &[u8]) -> Result<(u64, &[u8])> {
    let (count, id) =
        slot.split_first_chunk::<COUNT_BYTES>().ok_or_else(|| Error::corrupt("read variable-length slot"))?;
    // A null identity means an empty value whatever the count says, as libhdf5 reads it.
    let count = if id.iter().all(|&b| b == 0) { 0 } else { u64::from(u32::from_le_bytes(*count)) };
    Ok((count, id))
}

fn join_slot(site: &Site<'_>, slot: VarSlot, ids: &mut impl Iterator<Item = Vec<u8>>) -> Result<Vec<u8>> {
    let mut out = vec![0; site.file_bytes];
    if site.is_stored(slot) {
        let count = u32::try_from(slot.count)
            .map_err(|_| Error::limit("write variable-length value").with("elements", slot.count))?;
        let id = ids.next().filter(|id| id.len() == site.file_bytes - COUNT_BYTES);
        let id =
            id.ok_or_else(|| Error::invalid("store blob").with("problem", "identity has the wrong size"))?;
        out[..COUNT_BYTES].copy_from_slice(&count.to_le_bytes());
        out[COUNT_BYTES..].copy_from_slice(&id);
    }
    Ok(out)
}

/// All values of a site, one after another, each cut to its count.
fn join_blobs(element_bytes: u64, counts: impl Iterator<Item = u64>, blobs: &Blobs) -> Result<Vec<u8>> {
    let mut joined = Vec::new();
    for (blob, count) in blobs.iter().zip(counts) {
        let len = count.checked_mul(element_bytes).filter(|&n| n <= blob.len() as u64);
        let len = len.ok_or_else(|| {
            Error::corrupt("read variable-length value").with("elements", count).with("bytes", blob.len())
        })?;
        joined.extend_from_slice(&blob[..len as usize]);
    }
    Ok(joined)
}
