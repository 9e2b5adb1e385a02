//! Slots of variable-length values and references: their sizes differ between containers and memory.

use super::*;

/// The sizes that a container gives to slots of variable-length values and references.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct SlotSizes {
    /// A variable-length value: 4 bytes of length and a blob's identity.
    pub varlen: u32,
    /// An old object reference.
    pub object_old: u32,
    /// An old region reference.
    pub region_old: u32,
    /// A reference of the newer kinds.
    pub reference: u32,
    /// What a sequence declares for each of them; the slots in it keep their size.
    pub reference_in_sequence: u32,
}

/// Bytes of a reference in libhdf5's memory (`H5R_ref_t`).
const LIBRARY_REFERENCE_BYTES: u32 = 64;

impl SlotSizes {
    /// The sizes in memory, whatever the container.
    pub const MEMORY: SlotSizes = SlotSizes {
        varlen: MEMORY_SLOT_BYTES,
        object_old: MEMORY_SLOT_BYTES,
        region_old: MEMORY_SLOT_BYTES,
        reference: MEMORY_SLOT_BYTES,
        reference_in_sequence: MEMORY_SLOT_BYTES,
    };

    /// The sizes in a native file whose addresses have `offset_bytes` bytes.
    pub fn native(offset_bytes: u32) -> Self {
        SlotSizes {
            varlen: 4 + offset_bytes + 4,
            object_old: offset_bytes,
            region_old: offset_bytes + 4,
            reference: (4 + 2 + offset_bytes + 4).max(3 + offset_bytes),
            // libhdf5 does not give the elements of a sequence their size in the file.
            reference_in_sequence: LIBRARY_REFERENCE_BYTES,
        }
    }

    /// The size of a slot for references of a kind.
    pub fn of_reference(&self, kind: ReferenceKind) -> u32 {
        match kind {
            ReferenceKind::ObjectOld => self.object_old,
            ReferenceKind::RegionOld => self.region_old,
            _ => self.reference,
        }
    }

    /// The same sizes, for the elements of a sequence.
    fn of_element(&self, element: &Datatype) -> SlotSizes {
        match element {
            Datatype::Reference(_) => SlotSizes { reference: self.reference_in_sequence, ..*self },
            _ => *self,
        }
    }
}

impl Datatype {
    /// This type with the slots of a container or of memory; members move where a slot's size changes.
    pub fn with_slots(&self, sizes: &SlotSizes) -> Datatype {
        match self {
            Datatype::VarLen(t) => {
                Datatype::VarLen(VarLen { size: sizes.varlen, kind: t.kind.with_slots(sizes) })
            }
            Datatype::Reference(t) => {
                Datatype::Reference(ReferenceType { size: sizes.of_reference(t.kind), kind: t.kind })
            }
            Datatype::Array(t) => {
                Datatype::Array(Array { dims: t.dims.clone(), base: Box::new(t.base.with_slots(sizes)) })
            }
            Datatype::Compound(t) if self.has_slots() => Datatype::Compound(t.with_slots(sizes)),
            other => other.clone(),
        }
    }

    /// This type as it stands in memory: slots of [`MEMORY_SLOT_BYTES`].
    pub fn memory_form(&self) -> Datatype {
        self.with_slots(&SlotSizes::MEMORY)
    }
}

impl VarLenKind {
    fn with_slots(&self, sizes: &SlotSizes) -> VarLenKind {
        match self {
            VarLenKind::Sequence(base) => {
                VarLenKind::Sequence(Box::new(base.with_slots(&sizes.of_element(base))))
            }
            other => other.clone(),
        }
    }
}

impl Compound {
    /// Members keep their order in memory; each moves by what the members before it grew.
    fn with_slots(&self, sizes: &SlotSizes) -> Compound {
        let mut by_offset: Vec<usize> = (0..self.members.len()).collect();
        by_offset.sort_by_key(|&i| self.members[i].offset);
        let mut members = self.members.clone();
        let mut shift = 0i64;
        for i in by_offset {
            let old = &self.members[i];
            members[i].offset = (i64::from(old.offset) + shift) as u32;
            members[i].datatype = old.datatype.with_slots(sizes);
            shift += i64::from(members[i].datatype.size()) - i64::from(old.datatype.size());
        }
        Compound { size: (i64::from(self.size) + shift) as u32, members }
    }
}
