//! Values as the model sees them: without descriptors, offsets and padding.

use model::datatype::{Datatype, VarLenKind};
use model::heap::{Heap, VarLenDescriptor};
use model::{Error, Reference, ReferenceTarget, Result};
use vol::Container;

use super::{ComparedItem, Comparer};
use crate::descriptors::DescriptorPlan;

/// Values in a form where equal ones are equal bytes, and the references among them.
#[derive(Default)]
pub(super) struct Flat {
    bytes: Vec<u8>,
    references: Vec<Reference>,
}

impl Comparer<'_> {
    /// Compares elements of two types, in the file datatypes of their containers.
    pub(super) fn values(
        &mut self,
        path: &ComparedItem,
        what: &str,
        (a_type, a): (&Datatype, &[u8]),
        (b_type, b): (&Datatype, &[u8]),
    ) -> Result<()> {
        if !a_type.has_descriptors() && !b_type.has_descriptors() {
            if a != b {
                self.differs(path, what);
            }
            return Ok(());
        }
        let (one, other) = (flat(self.a, a_type, a)?, flat(self.b, b_type, b)?);
        if one.bytes != other.bytes || one.references.len() != other.references.len() {
            self.differs(path, what);
            return Ok(());
        }
        let pairs = one.references.into_iter().zip(other.references);
        self.references.extend(pairs.map(|(one, other)| (one, other, path.clone())));
        Ok(())
    }

    /// Checks whether references at the same place lead to objects of one pair.
    pub(super) fn check_references(&mut self) {
        for (a, b, path) in std::mem::take(&mut self.references) {
            let leads = |from, to| a.file.is_some() || self.pairs.get(&from) == Some(&to);
            use ReferenceTarget as T;
            let is_same = a.file == b.file
                && match (&a.target, &b.target) {
                    (T::Null, T::Null) => true,
                    (T::Object(from), T::Object(to)) => leads(*from, *to),
                    (
                        T::Region { dataset: from, selection: one },
                        T::Region { dataset: to, selection: other },
                    ) => leads(*from, *to) && one == other,
                    (T::Attribute { object: from, name: one }, T::Attribute { object: to, name: other }) => {
                        leads(*from, *to) && one == other
                    }
                    _ => false,
                };
            if !is_same {
                self.differs(&path, "where a reference leads");
            }
        }
    }
}

pub(super) fn flat(container: &dyn Container, datatype: &Datatype, raw: &[u8]) -> Result<Flat> {
    let (memory, mut heap, mut flat) = (datatype.memory_type(), Heap::new(), Flat::default());
    let values = DescriptorPlan::new(datatype, &memory).detach(container, raw, &mut heap)?;
    for element in values.chunks_exact((memory.size() as usize).max(1)) {
        flat.add(&memory, element, &heap)?;
    }
    Ok(flat)
}

impl Flat {
    /// Returns whether both are the same, where `same` says it of references.
    pub(super) fn is_same(
        &self,
        other: &Flat,
        same: &dyn Fn(&Reference, &Reference) -> Result<bool>,
    ) -> Result<bool> {
        if self.bytes != other.bytes || self.references.len() != other.references.len() {
            return Ok(false);
        }
        for (one, other) in self.references.iter().zip(&other.references) {
            if !same(one, other)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn add(&mut self, datatype: &Datatype, element: &[u8], heap: &Heap) -> Result<()> {
        match datatype {
            Datatype::VarLen(varlen) => {
                let descriptor = VarLenDescriptor::load(element)?;
                self.bytes.push(u8::from(!descriptor.is_null()));
                self.bytes.extend_from_slice(&descriptor.count.to_le_bytes());
                match &varlen.kind {
                    VarLenKind::Sequence(base) => {
                        let size = u64::from(base.size());
                        let values = heap.get(descriptor, size)?;
                        values.chunks_exact((size as usize).max(1)).try_for_each(|e| self.add(base, e, heap))
                    }
                    _ => {
                        self.bytes.extend_from_slice(heap.get(descriptor, 1)?);
                        Ok(())
                    }
                }
            }
            Datatype::Reference(_) => {
                self.references.push(heap.load_reference(element)?);
                Ok(())
            }
            Datatype::Array(array) if datatype.has_descriptors() => {
                let size = (array.base.size() as usize).max(1);
                element.chunks_exact(size).try_for_each(|e| self.add(&array.base, e, heap))
            }
            Datatype::Compound(compound) => compound.members.iter().try_for_each(|member| {
                let (at, len) = (member.offset as usize, member.datatype.size() as usize);
                let part = element.get(at..at + len).ok_or_else(|| Error::invalid("compare values"))?;
                self.add(&member.datatype, part, heap)
            }),
            _ => {
                self.bytes.extend_from_slice(element);
                Ok(())
            }
        }
    }
}
