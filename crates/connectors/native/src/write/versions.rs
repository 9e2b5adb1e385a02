//! The version of each structure that a generation of libhdf5 writes.

use model::dataspace::Version as SpaceVersion;
use model::properties::{CreationOrder, Layout, ObjectCreate, PhaseChange};
use model::selection::SelectionVersion;
use model::{Datatype, Error, Result};
use vol::LibVersion;

use crate::format::encode::header::PrefixOptions;
use crate::format::header::Prefix;

pub(crate) use system::clock::seconds as now;

/// Returns the prefix of a new object's header with space for `space` bytes of messages.
///
/// Before HDF5 1.8 a header could not track the order of attributes, nor choose when they become dense.
pub(crate) fn prefix(low: LibVersion, create: &ObjectCreate, capacity: u64) -> Prefix {
    let options = PrefixOptions {
        times: create.track_times.then(|| [now(); 4]),
        attribute_phase: (create.attribute_phase != PhaseChange::default()).then_some(create.attribute_phase),
        attribute_order_tracked: create.attribute_order != CreationOrder::Untracked,
        attribute_order_indexed: create.attribute_order == CreationOrder::Indexed,
    };
    let needs_new = options.attribute_order_tracked || options.attribute_phase.is_some();
    if low == LibVersion::Earliest && !needs_new {
        return Prefix::version_1(1, 0, capacity.next_multiple_of(8));
    }
    // What follows starts at a multiple of eight: the bytes up to there are better used than lost.
    let bytes = Prefix::version_2(&options, capacity).first_block_bytes();
    Prefix::version_2(&options, capacity + bytes.next_multiple_of(8) - bytes)
}

/// Returns the time message of a version 1 header, which has no times in its prefix.
pub(crate) fn time_message() -> Vec<u8> {
    let mut body = vec![1, 0, 0, 0];
    body.extend(now().to_le_bytes());
    body
}

/// The versions of structures that a generation writes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Versions {
    /// Oldest generation whose structures are written.
    pub(crate) low: LibVersion,
    /// Newest generation whose structures are written.
    pub(crate) high: LibVersion,
}

impl Versions {
    fn is_early(self) -> bool {
        self.low == LibVersion::Earliest
    }

    /// Returns the version of compound, enum and array datatypes.
    pub(crate) fn datatype(self) -> u8 {
        match self.low {
            LibVersion::Earliest => 1,
            LibVersion::V18 | LibVersion::V110 => 3,
            LibVersion::V112 | LibVersion::V114 => 4,
            LibVersion::V200 => 5,
        }
    }

    /// Returns an error for a structure of a newer generation than may be written.
    pub(crate) fn check(self, needed: LibVersion, what: &str) -> Result<()> {
        if needed <= self.high {
            return Ok(());
        }
        let error = Error::invalid(format!("write {what}")).with("needs", format!("{needed:?}"));
        Err(error.with("high version bound", format!("{:?}", self.high)))
    }

    /// Returns a datatype message, of the version that its type needs.
    pub(crate) fn encode_datatype(self, datatype: &Datatype) -> Result<Vec<u8>> {
        let body = datatype.encode(self.datatype())?;
        let needed = match body.first().map_or(0, |byte| byte >> 4) {
            0..3 => LibVersion::Earliest,
            3 => LibVersion::V18,
            4 => LibVersion::V112,
            _ => LibVersion::V200,
        };
        self.check(needed, "datatype")?;
        Ok(body)
    }

    /// Returns an error for a layout of a newer generation than may be written.
    pub(crate) fn check_layout(self, layout: &Layout) -> Result<()> {
        match layout {
            Layout::Virtual(_) | Layout::Chunked { edge_chunks_unfiltered: true, .. } => {
                self.check(LibVersion::V110, "layout")
            }
            _ => Ok(()),
        }
    }

    pub(crate) fn dataspace(self) -> SpaceVersion {
        if self.is_early() { SpaceVersion::V1 } else { SpaceVersion::V2 }
    }

    pub(crate) fn fill(self) -> u8 {
        if self.is_early() { 2 } else { 3 }
    }

    pub(crate) fn filters(self) -> u8 {
        if self.is_early() { 1 } else { 2 }
    }

    /// Returns the version of selections in region references.
    pub(crate) fn selections(self) -> SelectionVersion {
        match self.low {
            LibVersion::Earliest | LibVersion::V18 => SelectionVersion::V18,
            LibVersion::V110 => SelectionVersion::V110,
            _ => SelectionVersion::V112,
        }
    }

    /// Returns whether new groups store links in symbol tables.
    pub(crate) fn makes_old_groups(self) -> bool {
        self.is_early()
    }
}
