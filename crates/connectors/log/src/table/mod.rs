//! The metadata table: which elements of which dataset lie where in the logs (docs/log-layout.md).

mod deflate;
pub(crate) mod v1;
mod v2;
pub(crate) mod v3;

use std::sync::Arc;

use model::bytes::Cursor;
use model::selection::Run;
use model::{Error, Limits, Result};

/// The signature of every table; the version follows.
const SIGNATURE: &[u8; 3] = b"LOG";

/// How tables are written. All versions are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum TableVersion {
    /// As appendix A of the design has it.
    V1,
    /// Selections by their differences, equal ones once, deflated; the table of all flushes is of version 3.
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
    /// Returns the bytes of the table.
    pub(crate) fn encode(
        &self,
        version: TableVersion,
        locate: &dyn Fn(EntryOffset) -> EntryOffset,
    ) -> Result<Vec<u8>> {
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
}

/// Returns the version of a table, by its first bytes.
pub(crate) fn version(bytes: &[u8]) -> Result<u8> {
    let mut cursor = Cursor::new(bytes, "log metadata table");
    cursor.signature(SIGNATURE)?;
    cursor.u8()
}

#[cfg(test)]
mod tests;
