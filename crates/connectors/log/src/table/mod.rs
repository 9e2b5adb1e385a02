//! The metadata table: which elements of which dataset lie where in the logs (docs/log-layout.md).

mod v1;
mod v2;

use std::sync::Arc;

use model::bytes::Cursor;
use model::selection::Run;
use model::{Error, Limits, Result};

/// The signature of every table; the version follows.
const SIGNATURE: &[u8; 3] = b"LOG";

/// How a table is written. Both versions are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum TableVersion {
    /// As appendix A of the design has it.
    V1,
    /// Selections by their differences, equal ones once, deflated.
    #[default]
    V2,
}

/// The encoding of an entry's bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Coded {
    /// Nothing.
    Plain,
    /// They are one zlib stream.
    Zlib,
    /// They went through the filters of the dataset, without those in the mask.
    Filters(u32),
}

/// Where the bytes of an entry begin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum EntryOffset {
    /// In the file.
    File(u64),
    /// In a log dataset: its number, and the offset in it.
    Log(u64, u64),
}

/// Elements of one dataset that were written together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Entry {
    /// The number of the dataset.
    pub(crate) dataset: u64,
    pub(crate) coded: Coded,
    pub(crate) place: EntryOffset,
    /// Bytes that are stored, where it is known: plain elements take what they take.
    pub(crate) stored: Option<u64>,
    /// Which elements, as flat indices, in the order of their bytes.
    pub(crate) runs: Arc<[Run]>,
}

impl Entry {
    /// Elements in it, where they can be counted.
    pub(crate) fn elements(&self) -> Option<u64> {
        self.runs.iter().try_fold(0u64, |n, run| n.checked_add(run.len))
    }
}

/// A table: the entries of each dataset in the order of their writing.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Table {
    /// Names of datasets by number, for people; a flush by itself lists none.
    pub(crate) names: Vec<String>,
    pub(crate) entries: Vec<Entry>,
}

impl Table {
    /// Returns the bytes of the table, and where the entries of each dataset begin in them (0 where it has none).
    pub(crate) fn encode(
        &self,
        version: TableVersion,
        locate: &dyn Fn(EntryOffset) -> EntryOffset,
    ) -> Result<Encoded> {
        match version {
            TableVersion::V1 => v1::encode(self, locate),
            TableVersion::V2 => v2::encode(self),
        }
    }

    /// Returns all tables that stand one after another in `bytes`, as one.
    pub(crate) fn decode_all(bytes: &[u8], limits: &Limits) -> Result<Table> {
        let mut cursor = Cursor::new(bytes, "log metadata table");
        let mut table = Table::default();
        while cursor.remaining() > 0 {
            let next = Self::decode(&mut cursor, limits)?;
            if table.names.len() < next.names.len() {
                table.names = next.names;
            }
            table.entries.extend(next.entries);
        }
        Ok(table)
    }

    fn decode(cursor: &mut Cursor<'_>, limits: &Limits) -> Result<Table> {
        cursor.signature(SIGNATURE)?;
        match cursor.u8()? {
            1 => v1::decode(cursor),
            2 => v2::decode(cursor, limits),
            version => Err(Error::unsupported("read log metadata table").with("version", version)),
        }
    }

    /// Brings entries of one dataset together, each dataset's in their order.
    /// Whether places in a table, as it is stored, stay true when the file is repacked.
    pub(crate) fn survives_repack(bytes: &[u8]) -> bool {
        // Version 1 counts from the start of the file, version 2 from that of a log dataset.
        bytes.get(3) != Some(&1)
    }

    pub(crate) fn sort(&mut self) {
        self.entries.sort_by_key(|entry| entry.dataset);
    }
}

/// A table as bytes.
#[derive(Debug)]
pub(crate) struct Encoded {
    pub(crate) bytes: Vec<u8>,
    /// By dataset, where its entries begin.
    pub(crate) starts: Vec<u64>,
}

/// Notes where the entries of a dataset begin; entries come sorted.
fn note_start(starts: &mut Vec<u64>, dataset: u64, at: u64) {
    let slot = usize::try_from(dataset).unwrap_or(usize::MAX);
    // A number out of any proportion has no slot: the table is read without this look-up.
    if slot < starts.len().saturating_add(1 << 24) && starts.len() <= slot {
        starts.resize(slot, 0);
        starts.push(at);
    }
}

#[cfg(test)]
mod tests;
