//! The part of the table of all flushes that one process writes.

use std::ops::Range;

use comm::Comm;
use model::{Error, Result};

use crate::logs::Logs;
use crate::table::{Entry, TableVersion, v1, v3};

/// The entries of one dataset, in the order of their writing.
pub(crate) type DatasetEntries = (u64, Vec<Entry>);

/// Records of the datasets of a range, as bytes.
pub(crate) struct Share {
    version: TableVersion,
    range: Range<u64>,
    /// Names of all datasets, where this process writes them.
    names: Option<Vec<String>>,
    /// Bytes of each record, for version 1.
    lengths: Vec<u64>,
    records: Vec<u8>,
    /// Where the entries of datasets begin in the records.
    starts: Vec<(u64, u64)>,
}

/// How many bytes and entries processes have, all of them and those before this one.
#[derive(Debug, Default)]
pub(crate) struct Sums {
    header: u64,
    pub(crate) entries: u64,
    records: u64,
    entries_before: u64,
    records_before: u64,
}

impl Sums {
    /// Returns what all processes have; one without a share has nothing.
    pub(crate) fn exchange(comm: &dyn Comm, own: Option<&Share>) -> Result<Sums> {
        let own = own.map_or(Ok([0; 3]), Share::sizes)?;
        let bytes: Vec<u8> = own.iter().flat_map(|size| size.to_le_bytes()).collect();
        let mut sums = Sums::default();
        for (rank, bytes) in comm.allgather_equal(&bytes)?.iter().enumerate() {
            let &[header, entries, records] = bytes.as_chunks::<8>().0 else {
                return Err(
                    Error::invalid("merge log tables").with("problem", "processes call different operations")
                );
            };
            if rank < comm.rank() {
                sums.entries_before += u64::from_le_bytes(entries);
                sums.records_before += u64::from_le_bytes(records);
            }
            sums.header += u64::from_le_bytes(header);
            sums.entries += u64::from_le_bytes(entries);
            sums.records += u64::from_le_bytes(records);
        }
        Ok(sums)
    }

    /// Returns where records begin in the table.
    fn records_start(&self, version: TableVersion) -> u64 {
        match version {
            TableVersion::V1 => self.header + 16 * self.entries,
            TableVersion::V2 => self.header,
        }
    }

    /// Returns the bytes of the table.
    pub(crate) fn bytes(&self, version: TableVersion) -> u64 {
        self.records_start(version) + self.records
    }
}

impl Share {
    /// Returns the share of datasets in `range`.
    pub(crate) fn new(
        version: TableVersion,
        names: Option<Vec<String>>,
        range: Range<u64>,
        datasets: &[DatasetEntries],
        logs: &Logs,
    ) -> Result<Share> {
        let mut share =
            Share { version, range, names, lengths: Vec::new(), records: Vec::new(), starts: Vec::new() };
        match version {
            TableVersion::V1 => share.add_version_1(datasets, logs)?,
            TableVersion::V2 => share.add_version_3(datasets)?,
        }
        Ok(share)
    }

    fn add_version_1(&mut self, datasets: &[DatasetEntries], logs: &Logs) -> Result<()> {
        for (dataset, entries) in datasets {
            self.starts.push((*dataset, self.records.len() as u64));
            for entry in entries {
                self.lengths.push(v1::record_bytes(entry));
                v1::put_entry(&mut self.records, entry, &|place| logs.in_file(place))?;
            }
        }
        Ok(())
    }

    fn add_version_3(&mut self, datasets: &[DatasetEntries]) -> Result<()> {
        let mut records = v3::Records::default();
        for (dataset, entries) in datasets {
            self.starts.push((*dataset, records.add(*dataset, entries)?));
            self.lengths.extend(entries.iter().map(|_| 0));
        }
        self.records = records.bytes;
        Ok(())
    }

    /// Returns what comes before all records, where this process writes it.
    fn header(&self, entries: u64) -> Result<Vec<u8>> {
        match (&self.names, self.version) {
            (None, _) => Ok(Vec::new()),
            (Some(names), TableVersion::V1) => Ok(v1::header(names, entries)),
            (Some(names), TableVersion::V2) => v3::header(names),
        }
    }

    fn sizes(&self) -> Result<[u64; 3]> {
        Ok([self.header(0)?.len() as u64, self.lengths.len() as u64, self.records.len() as u64])
    }

    /// Returns bytes of the table by where they belong in it. The table begins at `table` in the file.
    pub(crate) fn pieces(self, sums: &Sums, table: u64) -> Result<Vec<(u64, Vec<u8>)>> {
        let records = sums.records_start(self.version) + sums.records_before;
        let mut pieces = vec![(0, self.header(sums.entries)?)];
        if self.version == TableVersion::V1 {
            let (mut offsets, mut lengths, mut at) = (Vec::new(), Vec::new(), table + records);
            for length in &self.lengths {
                offsets.extend(at.to_le_bytes());
                lengths.extend(length.to_le_bytes());
                at += length;
            }
            let first = sums.header + 8 * sums.entries_before;
            pieces.extend([(first, offsets), (first + 8 * sums.entries, lengths)]);
        }
        pieces.push((records, self.records));
        Ok(pieces)
    }

    /// Returns the lines of the look-up table for the datasets of the range.
    pub(crate) fn starts(&self, sums: &Sums) -> Vec<u64> {
        let mut lines = vec![0; (self.range.end - self.range.start) as usize];
        let first = sums.records_start(self.version) + sums.records_before;
        for (dataset, at) in &self.starts {
            lines[(dataset - self.range.start) as usize] = first + at;
        }
        lines
    }
}
