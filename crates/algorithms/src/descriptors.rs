//! Between file datatype and memory datatype: what a container's descriptors stand for is fetched or stored in batches.

use std::borrow::Cow;

use model::Result;
use model::datatype::{Datatype, ReferenceKind, ReferenceType, VarLenKind};
use model::heap::{Heap, VarLenDescriptor};
use vol::{Blobs, Container};

use crate::descriptor_bytes::{
    COUNT_BYTES, check_value, join_blobs, join_descriptor, put_blobs, store_descriptor, wrong_identities,
};
use crate::shared_values::{DescriptorOffsets, Distinct, SLOT_BYTES, StoredDescriptor, StoredDescriptors};

/// Bytes that are the same in both forms.
#[derive(Debug, Clone, Copy)]
struct Segment {
    file: usize,
    memory: usize,
    len: usize,
}

/// A descriptor in both forms.
#[derive(Debug)]
struct DescriptorField<'t> {
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
pub(crate) struct DescriptorPlan<'t> {
    file_bytes: usize,
    memory_bytes: usize,
    segments: Vec<Segment>,
    sites: Vec<DescriptorField<'t>>,
}

impl<'t> DescriptorPlan<'t> {
    /// Returns the plan for elements of `file` type, whose memory datatype is `memory`.
    pub(crate) fn new(file: &'t Datatype, memory: &'t Datatype) -> Self {
        let mut plan = DescriptorPlan {
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
                self.sites.push(DescriptorField {
                    file: at_file,
                    file_bytes: f.size as usize,
                    memory: at_memory,
                    kind,
                });
            }
            (Datatype::Reference(f), _) => {
                let kind = SiteKind::Reference(f.kind);
                self.sites.push(DescriptorField {
                    file: at_file,
                    file_bytes: f.size as usize,
                    memory: at_memory,
                    kind,
                });
            }
            (Datatype::Array(f), Datatype::Array(m)) if f.base.has_descriptors() => {
                let count: usize = f.dims.iter().map(|&d| d as usize).product();
                for i in 0..count {
                    let (df, dm) = (i * f.base.size() as usize, i * m.base.size() as usize);
                    self.add(&f.base, &m.base, at_file + df, at_memory + dm);
                }
            }
            (Datatype::Compound(f), Datatype::Compound(m)) if file.has_descriptors() => {
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

    /// Converts elements from the file datatype to the memory datatype: fetches the values of descriptors into `heap`.
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

    fn file_descriptors<'d>(
        &self,
        site: &DescriptorField<'_>,
        file: &'d [u8],
    ) -> impl ExactSizeIterator<Item = &'d [u8]> {
        let (at, len) = (site.file, site.file_bytes);
        file.chunks_exact(self.file_bytes).map(move |f| &f[at..at + len])
    }

    fn detach_references(
        &self,
        container: &dyn Container,
        site: &DescriptorField<'_>,
        kind: ReferenceKind,
        file: &[u8],
        memory: &mut [u8],
        heap: &mut Heap,
    ) -> Result<()> {
        let descriptors: Vec<&[u8]> = self.file_descriptors(site, file).collect();
        let references = container.reference_get(kind, &descriptors)?;
        for (m, reference) in memory.chunks_exact_mut(self.memory_bytes).zip(references) {
            heap.store_reference(reference, &mut m[site.memory..])?;
        }
        Ok(())
    }

    fn detach_values(
        &self,
        container: &dyn Container,
        site: &DescriptorField<'_>,
        file: &[u8],
        memory: &mut [u8],
        heap: &mut Heap,
    ) -> Result<()> {
        let element = site.element(container)?;
        let element = element.as_deref();
        let descriptors = StoredDescriptors::split(self.file_descriptors(site, file))?;
        let places = DescriptorOffsets { memory, each: self.memory_bytes, at: site.memory };
        heap.charge_to(&container.budget())?;
        let is_nested = element.is_some_and(Datatype::has_descriptors);
        let Some(distinct) = Distinct::of(&descriptors, element_bytes(element), is_nested) else {
            return site.fetch(container, element, &descriptors, places, heap);
        };
        let (before, mut found) = (heap.expanded(), vec![0; distinct.descriptors.all.len() * SLOT_BYTES]);
        let each = DescriptorOffsets { memory: &mut found, each: SLOT_BYTES, at: 0 };
        site.fetch(container, element, &distinct.descriptors, each, heap)?;
        distinct.charge(before, heap)?;
        distinct.spread(&found, places);
        Ok(())
    }

    /// Converts elements from the memory datatype to the file datatype: stores the values of descriptors.
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
                    let descriptors = self.attach_references(container, site, kind, memory, heap)?;
                    for (f, descriptor) in file.chunks_exact_mut(self.file_bytes).zip(descriptors) {
                        f[site.file..site.file + site.file_bytes].copy_from_slice(&descriptor);
                    }
                }
                _ => self.attach_values(container, site, memory, heap, &mut file)?,
            }
        }
        Ok(file)
    }

    fn memory_descriptors<'d>(
        &self,
        site: &DescriptorField<'_>,
        memory: &'d [u8],
    ) -> impl Iterator<Item = &'d [u8]> {
        let at = site.memory;
        memory.chunks_exact(self.memory_bytes).map(move |m| &m[at..])
    }

    fn attach_references(
        &self,
        container: &dyn Container,
        site: &DescriptorField<'_>,
        kind: ReferenceKind,
        memory: &[u8],
        heap: &Heap,
    ) -> Result<Vec<Vec<u8>>> {
        let references = self
            .memory_descriptors(site, memory)
            .map(|m| heap.load_reference(m))
            .collect::<Result<Vec<_>>>()?;
        container.reference_put(kind, &references)
    }

    fn attach_values(
        &self,
        container: &dyn Container,
        site: &DescriptorField<'_>,
        memory: &[u8],
        heap: &Heap,
        file: &mut [u8],
    ) -> Result<()> {
        let count = memory.len() / self.memory_bytes;
        let (mut descriptors, mut values) = (Vec::with_capacity(count), Vec::with_capacity(count));
        for element in self.memory_descriptors(site, memory) {
            let descriptor = VarLenDescriptor::load(element)?;
            descriptors.push(descriptor);
            if site.is_stored(descriptor) {
                values.push(heap.get(descriptor, site.value_bytes())?);
            }
        }
        let element = site.element(container)?;
        let ids = match element.as_deref().filter(|element| element.has_descriptors()) {
            None => put_blobs(container, &values)?,
            Some(element) => {
                let filled = descriptors.iter().filter(|s| site.is_stored(**s)).zip(values);
                let value = |(descriptor, value): (&VarLenDescriptor, _)| {
                    site.file_value(container, element, *descriptor, value, heap)
                };
                let values = filled.map(value).collect::<Result<Vec<_>>>()?;
                put_blobs(container, &values.iter().map(Vec::as_slice).collect::<Vec<_>>())?
            }
        };
        let mut ids = ids.chunks_exact(site.file_bytes.saturating_sub(COUNT_BYTES).max(1));
        for (f, descriptor) in file.chunks_exact_mut(self.file_bytes).zip(descriptors) {
            if site.is_stored(descriptor) {
                join_descriptor(&mut f[site.file..site.file + site.file_bytes], descriptor, ids.next())?;
            }
        }
        match ids.next().is_none() && ids.remainder().is_empty() {
            true => Ok(()),
            false => Err(wrong_identities()),
        }
    }
}

impl<'t> DescriptorField<'t> {
    /// Takes the values of descriptors to the heap, and writes where they are.
    fn fetch(
        &self,
        container: &dyn Container,
        element: Option<&Datatype>,
        descriptors: &StoredDescriptors<'_>,
        places: DescriptorOffsets<'_>,
        heap: &mut Heap,
    ) -> Result<()> {
        let StoredDescriptors { all: descriptors, ids, claimed } = descriptors;
        let mut blobs = Blobs::with_capacity(&container.budget(), ids.len(), *claimed)?;
        if !ids.is_empty() {
            container.blob_get(ids, &mut blobs)?;
        }
        match (self.kind, element) {
            (SiteKind::Sequence { memory: inner, .. }, Some(element)) if element.has_descriptors() => {
                let counts = descriptors.iter().map(|s| s.0).filter(|&n| n > 0);
                let joined = join_blobs(u64::from(element.size()), counts, &blobs)?;
                let values = DescriptorPlan::new(element, inner).detach(container, &joined, heap)?;
                heap.grow(values.len())?;
                let at = heap.push(&values, 0).offset;
                store_joined(descriptors, at, u64::from(inner.size()), places)
            }
            (_, element) => store_blobs(descriptors, element_bytes(element), &blobs, places, heap),
        }
    }

    /// Returns whether a value goes to storage: an empty text does, an empty sequence does not, as in libhdf5.
    fn is_stored(&self, descriptor: VarLenDescriptor) -> bool {
        match self.kind {
            SiteKind::Text => !descriptor.is_null(),
            _ => descriptor.count > 0,
        }
    }

    /// Returns the type of a sequence's elements as they stand in its value: references may take less than is declared.
    fn element(&self, container: &dyn Container) -> Result<Option<Cow<'t, Datatype>>> {
        let SiteKind::Sequence { file, .. } = self.kind else { return Ok(None) };
        let Datatype::Reference(reference) = file else { return Ok(Some(Cow::Borrowed(file))) };
        let size = container.info()?.descriptors.of_reference(reference.kind).min(reference.size);
        Ok(Some(Cow::Owned(Datatype::Reference(ReferenceType { size, ..*reference }))))
    }

    /// Returns the number of bytes of one element of a value in memory.
    fn value_bytes(&self) -> u64 {
        match self.kind {
            SiteKind::Sequence { memory, .. } => u64::from(memory.size()),
            _ => 1,
        }
    }

    /// Returns one value in the file datatype, whose elements are of a type with descriptors that `element` returned.
    fn file_value(
        &self,
        container: &dyn Container,
        element: &Datatype,
        descriptor: VarLenDescriptor,
        value: &[u8],
        heap: &Heap,
    ) -> Result<Vec<u8>> {
        let SiteKind::Sequence { file, memory } = self.kind else { return Ok(value.to_vec()) };
        let mut stored = DescriptorPlan::new(element, memory).attach(container, value, heap)?;
        // The space is what is declared.
        stored.resize(descriptor.count as usize * file.size() as usize, 0);
        Ok(stored)
    }
}

/// Stores descriptors of values that lie one after another from `offset` on.
fn store_joined(
    descriptors: &[StoredDescriptor<'_>],
    mut offset: u64,
    value_bytes: u64,
    places: DescriptorOffsets<'_>,
) -> Result<()> {
    for (place, &(count, id)) in places.iter().zip(descriptors) {
        store_descriptor(VarLenDescriptor { offset, count }, id, place)?;
        offset += count * value_bytes;
    }
    Ok(())
}

/// Takes blobs to the heap as they are; a value may be shorter than its blob.
fn store_blobs(
    descriptors: &[StoredDescriptor<'_>],
    value_bytes: u64,
    blobs: &Blobs,
    places: DescriptorOffsets<'_>,
    heap: &mut Heap,
) -> Result<()> {
    heap.grow(blobs.bytes().len())?;
    let mut offset = heap.push(blobs.bytes(), 0).offset;
    let mut lengths = blobs.lengths();
    for (place, &(count, id)) in places.iter().zip(descriptors) {
        store_descriptor(VarLenDescriptor { offset, count }, id, place)?;
        if count > 0 {
            let len = lengths.next().unwrap_or(0) as u64;
            check_value(count, value_bytes, len)?;
            offset += len;
        }
    }
    Ok(())
}

/// Returns the number of bytes of one element of a sequence, or of a text.
fn element_bytes(element: Option<&Datatype>) -> u64 {
    element.map_or(1, |element| u64::from(element.size()))
}
