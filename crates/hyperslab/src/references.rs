//! Kinds of references in new datasets and attributes.

use model::Datatype;
use model::datatype::{Array, Compound, Member, ReferenceKind, ReferenceType, VarLen, VarLenKind};
use vol::LibVersion;

use crate::session::Session;

impl Session {
    /// Returns the type that elements are stored as. References are of the kind that the version bound allows.
    pub(crate) fn stored_type(&self, datatype: Datatype) -> Datatype {
        for_version(datatype, self.access.version_low)
    }
}

/// Returns the datatype with references of the kinds that readers of a version know. libhdf5 has `H5T_STD_REF` since
/// 1.12. Older versions have `H5T_STD_REF_OBJ` and `H5T_STD_REF_DSETREG`, which h5py and newer versions read too.
fn for_version(datatype: Datatype, low: LibVersion) -> Datatype {
    let inner = |datatype: Box<Datatype>| Box::new(for_version(*datatype, low));
    match datatype {
        Datatype::Reference(reference) => {
            Datatype::Reference(ReferenceType { kind: kind_for(reference.kind, low), ..reference })
        }
        Datatype::Array(array) => Datatype::Array(Array { base: inner(array.base), ..array }),
        Datatype::Compound(compound) => {
            let member = |m: Member| Member { datatype: for_version(m.datatype, low), ..m };
            Datatype::Compound(Compound {
                members: compound.members.into_iter().map(member).collect(),
                ..compound
            })
        }
        Datatype::VarLen(VarLen { size, kind: VarLenKind::Sequence(base) }) => {
            Datatype::VarLen(VarLen { size, kind: VarLenKind::Sequence(inner(base)) })
        }
        other => other,
    }
}

fn kind_for(kind: ReferenceKind, low: LibVersion) -> ReferenceKind {
    match kind {
        ReferenceKind::Object if low < LibVersion::V112 => ReferenceKind::Object1,
        ReferenceKind::Region if low < LibVersion::V112 => ReferenceKind::DatasetRegion1,
        // A reference of the new type says itself what it points to.
        ReferenceKind::Region => ReferenceKind::Object,
        other => other,
    }
}
