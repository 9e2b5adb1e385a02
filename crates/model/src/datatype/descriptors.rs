//! Descriptors of variable-length values and references: their sizes differ between containers and memory.

use super::*;

/// The sizes that a container gives to descriptors of variable-length values and references.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct DescriptorSizes {
    /// A variable-length value: 4 bytes of length and a blob's identity.
    pub varlen: u32,
    /// An old object reference.
    pub object_old: u32,
    /// An old region reference.
    pub region_old: u32,
    /// A reference of the newer kinds.
    pub reference: u32,
    /// The size that a sequence declares for each of them; the descriptors in it keep their size.
    pub reference_in_sequence: u32,
}

/// Bytes of a reference in libhdf5's memory (`H5R_ref_t`).
const LIBRARY_REFERENCE_BYTES: u32 = 64;

impl DescriptorSizes {
    /// The sizes in memory, whatever the container.
    pub const MEMORY: DescriptorSizes = DescriptorSizes {
        varlen: MEMORY_SLOT_BYTES,
        object_old: MEMORY_SLOT_BYTES,
        region_old: MEMORY_SLOT_BYTES,
        reference: MEMORY_SLOT_BYTES,
        reference_in_sequence: MEMORY_SLOT_BYTES,
    };

    /// Returns the sizes in a native file whose addresses have `offset_bytes` bytes.
    pub fn native(offset_bytes: u32) -> Self {
        DescriptorSizes {
            varlen: 4 + offset_bytes + 4,
            object_old: offset_bytes,
            region_old: offset_bytes + 4,
            reference: (4 + 2 + offset_bytes + 4).max(3 + offset_bytes),
            // libhdf5 does not give the elements of a sequence their size in the file.
            reference_in_sequence: LIBRARY_REFERENCE_BYTES,
        }
    }

    /// Returns the size of a descriptor for references of a kind.
    pub fn of_reference(&self, kind: ReferenceKind) -> u32 {
        match kind {
            ReferenceKind::Object1 => self.object_old,
            ReferenceKind::DatasetRegion1 => self.region_old,
            _ => self.reference,
        }
    }

    /// Returns the same sizes, for the elements of a sequence.
    fn of_element(&self, element: &Datatype) -> DescriptorSizes {
        match element {
            Datatype::Reference(_) => DescriptorSizes { reference: self.reference_in_sequence, ..*self },
            _ => *self,
        }
    }
}

impl Datatype {
    /// Returns this type with the descriptors of a container or of memory; members move where a descriptor's size changes.
    pub fn with_descriptors(&self, sizes: &DescriptorSizes) -> Datatype {
        match self {
            Datatype::VarLen(t) => {
                Datatype::VarLen(VarLen { size: sizes.varlen, kind: t.kind.with_descriptors(sizes) })
            }
            Datatype::Reference(t) => {
                Datatype::Reference(ReferenceType { size: sizes.of_reference(t.kind), kind: t.kind })
            }
            Datatype::Array(t) => Datatype::Array(Array {
                dims: t.dims.clone(),
                base: Box::new(t.base.with_descriptors(sizes)),
            }),
            Datatype::Compound(t) if self.has_descriptors() => Datatype::Compound(t.with_descriptors(sizes)),
            other => other.clone(),
        }
    }

    /// Returns this type as it stands in memory: descriptors of [`MEMORY_SLOT_BYTES`].
    pub fn memory_type(&self) -> Datatype {
        self.with_descriptors(&DescriptorSizes::MEMORY)
    }
}

impl VarLenKind {
    fn with_descriptors(&self, sizes: &DescriptorSizes) -> VarLenKind {
        match self {
            VarLenKind::Sequence(base) => {
                VarLenKind::Sequence(Box::new(base.with_descriptors(&sizes.of_element(base))))
            }
            other => other.clone(),
        }
    }
}

impl Compound {
    /// Members keep their order in memory; each moves by what the members before it grew.
    fn with_descriptors(&self, sizes: &DescriptorSizes) -> Compound {
        let mut by_offset: Vec<usize> = (0..self.members.len()).collect();
        by_offset.sort_by_key(|&i| self.members[i].offset);
        let mut members = self.members.clone();
        let mut shift = 0i64;
        for i in by_offset {
            let old = &self.members[i];
            members[i].offset = (i64::from(old.offset) + shift) as u32;
            members[i].datatype = old.datatype.with_descriptors(sizes);
            shift += i64::from(members[i].datatype.size()) - i64::from(old.datatype.size());
        }
        Compound { size: (i64::from(self.size) + shift) as u32, members }
    }
}
