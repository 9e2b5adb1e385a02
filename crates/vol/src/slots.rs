//! Between file form and memory form: what a container's slots stand for is fetched or stored in batches.

use model::datatype::{Datatype, ReferenceKind, VarLenKind};
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
        let joined = join_blobs(site, counts.clone().filter(|&n| n > 0), &blobs)?;
        let (values, value_bytes) = match site.kind {
            SiteKind::Sequence { file, memory } if file.has_slots() => {
                (SlotPlan::new(file, memory).detach(container, &joined, heap)?, u64::from(memory.size()))
            }
            SiteKind::Sequence { file, .. } => (joined, u64::from(file.size())),
            _ => (joined, 1),
        };
        // A value of no elements that is there differs from one that is not: its offset must not be zero.
        let at = heap.len();
        if at == 0 && slots.iter().any(|s| s.0 == 0 && !is_null(s.1)) {
            heap.push(&[0], 0);
        }
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
            let used: Vec<(u64, &[u8])> = slots.into_iter().filter(|s| s.0 > 0 && !is_null(s.1)).collect();
            let ids: Vec<&[u8]> = used.iter().map(|s| s.1).collect();
            if ids.is_empty() {
                continue;
            }
            if let SiteKind::Sequence { file, memory } = site.kind
                && file.has_slots()
            {
                let mut blobs = Blobs::default();
                container.blob_get(&ids, &mut blobs)?;
                let joined = join_blobs(site, used.iter().map(|s| s.0), &blobs)?;
                SlotPlan::new(file, memory).give_up(container, &joined)?;
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
        let filled: Vec<VarSlot> = slots.iter().copied().filter(|s| s.count > 0).collect();
        let values =
            filled.iter().map(|s| site.file_value(container, *s, heap)).collect::<Result<Vec<_>>>()?;
        let values: Vec<&[u8]> = values.iter().map(std::convert::AsRef::as_ref).collect();
        let mut ids = if values.is_empty() { Vec::new() } else { container.blob_put(&values)? }.into_iter();
        slots.iter().map(|s| join_slot(site, *s, &mut ids)).collect()
    }
}

impl Site<'_> {
    /// One value in file form.
    fn file_value<'h>(
        &self,
        container: &dyn Container,
        slot: VarSlot,
        heap: &'h Heap,
    ) -> Result<std::borrow::Cow<'h, [u8]>> {
        match self.kind {
            SiteKind::Sequence { file, memory } => {
                let value = heap.get(slot, u64::from(memory.size()))?;
                match file.has_slots() {
                    true => SlotPlan::new(file, memory).attach(container, value, heap).map(Into::into),
                    false => Ok(value.into()),
                }
            }
            _ => heap.get(slot, 1).map(Into::into),
        }
    }
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
    if slot.count > 0 {
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

/// All values of one site, one after another, each cut to its count.
fn join_blobs(site: &Site<'_>, counts: impl Iterator<Item = u64>, blobs: &Blobs) -> Result<Vec<u8>> {
    let element_bytes = match site.kind {
        SiteKind::Sequence { file, .. } => u64::from(file.size()),
        _ => 1,
    };
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
