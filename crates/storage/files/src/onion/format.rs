//! The structures of an onion file, as libhdf5 1.14 and later store them: header, history and revision records.
//!
//! Numbers are little-endian. Every structure ends with a Fletcher32 checksum of what is before it.

use std::io;

/// Bytes of an encoded header.
pub(super) const HEADER_BYTES: usize = 40;
const POINTER_BYTES: usize = 20;
const RECORD_BYTES: usize = 68;
const ENTRY_BYTES: usize = 20;
/// The largest page that is read or written: a page is in memory when a part of it is changed.
pub(super) const PAGE_BYTES_MAX: u32 = 1 << 26;
/// Bytes of a comment, without its NUL (`H5FD_ONION_FAPL_INFO_COMMENT_MAX_LEN`).
pub(super) const COMMENT_BYTES_MAX: usize = 255;

/// What the original file holds if it never had data of its own.
pub(super) const NO_ORIGINAL: &[u8; 8] = b"ONIONEOF";

pub(super) fn corrupt(problem: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("onion file: {problem}"))
}

/// Takes numbers from bytes.
struct Cursor<'a>(&'a [u8]);

impl Cursor<'_> {
    fn take<const N: usize>(&mut self) -> io::Result<[u8; N]> {
        let (head, rest) = self.0.split_first_chunk().ok_or_else(|| corrupt("it is cut short"))?;
        self.0 = rest;
        Ok(*head)
    }

    fn u32(&mut self) -> io::Result<u32> {
        self.take().map(u32::from_le_bytes)
    }

    fn u64(&mut self) -> io::Result<u64> {
        self.take().map(u64::from_le_bytes)
    }
}

/// Checks signature, version and checksum, and returns what lies between.
fn checked<'a>(bytes: &'a [u8], signature: &[u8; 4], what: &str) -> io::Result<Cursor<'a>> {
    let (body, sum) = bytes.split_last_chunk::<4>().ok_or_else(|| corrupt("it is cut short"))?;
    let rest = body.strip_prefix(signature).ok_or_else(|| corrupt(&format!("it has no {what}")))?;
    match rest.first() {
        _ if fletcher32(body) != u32::from_le_bytes(*sum) => {
            Err(corrupt(&format!("the checksum of its {what} is wrong")))
        }
        Some(1) => Ok(Cursor(&rest[1..])),
        _ => Err(corrupt(&format!("its {what} has another version"))),
    }
}

fn with_checksum(mut bytes: Vec<u8>) -> Vec<u8> {
    let sum = fletcher32(&bytes);
    bytes.extend(sum.to_le_bytes());
    bytes
}

/// Returns the Fletcher32 checksum of libhdf5: words are big-endian, sums are from 1 to 65535 unless all bytes are 0.
pub(super) fn fletcher32(bytes: &[u8]) -> u32 {
    let folded = |sum: u64| if sum == 0 { 0 } else { (sum - 1) % 0xffff + 1 };
    let (mut first, mut second) = (0u64, 0u64);
    for pair in bytes.chunks(2) {
        first = folded(first + (u64::from(pair[0]) << 8 | pair.get(1).map_or(0, |low| u64::from(*low))));
        second = folded(second + first);
    }
    (second << 16 | first) as u32
}

/// The header, which is the first thing in the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Header {
    /// Whether a writer has it open.
    pub(super) is_write_locked: bool,
    /// Whether pages and structures begin at multiples of the page size.
    pub(super) is_page_aligned: bool,
    pub(super) page_bytes: u32,
    /// Bytes of the original file.
    pub(super) origin_bytes: u64,
    pub(super) history_at: u64,
    pub(super) history_bytes: u64,
}

impl Header {
    pub(super) fn decode(bytes: &[u8; HEADER_BYTES]) -> io::Result<Header> {
        let mut cursor = checked(bytes, b"OHDH", "header")?;
        let [flags, _, _] = cursor.take()?;
        let page_bytes = cursor.u32()?;
        check_page(page_bytes)?;
        Ok(Header {
            is_write_locked: flags & 1 != 0,
            is_page_aligned: flags & 2 != 0,
            page_bytes,
            origin_bytes: cursor.u64()?,
            history_at: cursor.u64()?,
            history_bytes: cursor.u64()?,
        })
    }

    pub(super) fn encode(&self) -> Vec<u8> {
        let flags = u8::from(self.is_write_locked) | u8::from(self.is_page_aligned) << 1;
        let mut bytes = b"OHDH\x01".to_vec();
        bytes.extend([flags, 0, 0]);
        bytes.extend(self.page_bytes.to_le_bytes());
        bytes.extend(self.origin_bytes.to_le_bytes());
        bytes.extend(self.history_at.to_le_bytes());
        bytes.extend(self.history_bytes.to_le_bytes());
        with_checksum(bytes)
    }
}

/// Checks the size of a page.
pub(super) fn check_page(bytes: u32) -> io::Result<()> {
    match bytes {
        bytes if !bytes.is_power_of_two() => Err(corrupt("the page size is not a power of two")),
        bytes if bytes > PAGE_BYTES_MAX => Err(io::Error::new(
            io::ErrorKind::Unsupported,
            format!("onion file: pages of {bytes} bytes are too large"),
        )),
        _ => Ok(()),
    }
}

/// Where the record of a revision is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct RecordPointer {
    pub(super) at: u64,
    pub(super) bytes: u64,
}

/// Decodes a history: the records of all revisions, oldest first.
pub(super) fn decode_history(bytes: &[u8]) -> io::Result<Vec<RecordPointer>> {
    let mut cursor = checked(bytes, b"OWHS", "history")?;
    cursor.take::<3>()?;
    let count = cursor.u64()?;
    if count.checked_mul(POINTER_BYTES as u64) != Some(cursor.0.len() as u64) {
        return Err(corrupt("the history has another number of revisions than it says"));
    }
    let mut pointers = Vec::with_capacity(cursor.0.len() / POINTER_BYTES);
    while !cursor.0.is_empty() {
        pointers.push(RecordPointer { at: cursor.u64()?, bytes: cursor.u64()? });
        cursor.u32()?;
    }
    Ok(pointers)
}

pub(super) fn encode_history(pointers: &[RecordPointer]) -> Vec<u8> {
    let mut bytes = b"OWHS\x01\0\0\0".to_vec();
    bytes.extend((pointers.len() as u64).to_le_bytes());
    for pointer in pointers {
        let mut entry = pointer.at.to_le_bytes().to_vec();
        entry.extend(pointer.bytes.to_le_bytes());
        bytes.extend(with_checksum(entry));
    }
    with_checksum(bytes)
}

/// A page of the file, and where its bytes are in the onion file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct PageEntry {
    pub(super) page: u64,
    pub(super) at: u64,
}

/// The record of a revision.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Record {
    pub(super) number: u64,
    pub(super) parent: u64,
    /// `YYYYMMDDTHHMMSSZ`.
    pub(super) time: [u8; 16],
    /// Bytes of the file.
    pub(super) len: u64,
    pub(super) page_bytes: u32,
    /// All pages that differ from the original, sorted.
    pub(super) pages: Vec<PageEntry>,
    pub(super) comment: Vec<u8>,
}

impl Record {
    pub(super) fn decode(bytes: &[u8]) -> io::Result<Record> {
        let mut cursor = checked(bytes, b"ORRS", "revision record")?;
        cursor.take::<3>()?;
        let (number, parent, time) = (cursor.u64()?, cursor.u64()?, cursor.take()?);
        let (len, page_bytes) = (cursor.u64()?, cursor.u32()?);
        check_page(page_bytes)?;
        let (count, comment_bytes) = (cursor.u64()?, cursor.u32()?);
        let entries = count.checked_mul(ENTRY_BYTES as u64);
        if entries.and_then(|bytes| bytes.checked_add(comment_bytes.into())) != Some(cursor.0.len() as u64) {
            return Err(corrupt("a revision record has another size than it says"));
        }
        let (entries, comment) = cursor.0.split_at(cursor.0.len() - comment_bytes as usize);
        let pages = entries.chunks_exact(ENTRY_BYTES).map(|entry| decode_entry(entry, page_bytes));
        let pages = pages.collect::<io::Result<Vec<_>>>()?;
        if !pages.is_sorted_by(|a, b| a.page < b.page) {
            return Err(corrupt("the pages of a revision are not sorted"));
        }
        let comment = comment.split(|byte| *byte == 0).next().unwrap_or_default().to_vec();
        Ok(Record { number, parent, time, len, page_bytes, pages, comment })
    }

    pub(super) fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(RECORD_BYTES + COMMENT_BYTES_MAX + ENTRY_BYTES * self.pages.len());
        bytes.extend(b"ORRS\x01\0\0\0");
        bytes.extend(self.number.to_le_bytes());
        bytes.extend(self.parent.to_le_bytes());
        bytes.extend(self.time);
        bytes.extend(self.len.to_le_bytes());
        bytes.extend(self.page_bytes.to_le_bytes());
        bytes.extend((self.pages.len() as u64).to_le_bytes());
        let comment_bytes = if self.comment.is_empty() { 0 } else { self.comment.len() as u32 + 1 };
        bytes.extend(comment_bytes.to_le_bytes());
        for PageEntry { page, at } in &self.pages {
            let mut entry = (page * u64::from(self.page_bytes)).to_le_bytes().to_vec();
            entry.extend(at.to_le_bytes());
            bytes.extend(with_checksum(entry));
        }
        if comment_bytes > 0 {
            bytes.extend(&self.comment);
            bytes.push(0);
        }
        with_checksum(bytes)
    }
}

fn decode_entry(bytes: &[u8], page_bytes: u32) -> io::Result<PageEntry> {
    let (body, sum) = bytes.split_last_chunk::<4>().ok_or_else(|| corrupt("it is cut short"))?;
    if fletcher32(body) != u32::from_le_bytes(*sum) {
        return Err(corrupt("the checksum of a page's entry is wrong"));
    }
    let mut cursor = Cursor(body);
    let (address, at) = (cursor.u64()?, cursor.u64()?);
    if !address.is_multiple_of(page_bytes.into()) {
        return Err(corrupt("a page does not begin where pages begin"));
    }
    Ok(PageEntry { page: address / u64::from(page_bytes), at })
}

/// Returns a time of day as revisions have it, from the seconds since 1970.
pub(super) fn time_text(seconds: u64) -> [u8; 16] {
    let (days, second) = (seconds / 86400, seconds % 86400);
    // Years that begin in March have their leap day at the end (Howard Hinnant's calendar algorithm).
    let shifted = days + 719_468;
    let (era, day) = (shifted / 146_097, shifted % 146_097);
    let year = (day - day / 1460 + day / 36524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let (day, month) = (day - (153 * month + 2) / 5 + 1, if month < 10 { month + 3 } else { month - 9 });
    let year = year + era * 400 + u64::from(month <= 2);
    let text = format!(
        "{:04}{month:02}{day:02}T{:02}{:02}{:02}Z",
        year.min(9999),
        second / 3600,
        second / 60 % 60,
        second % 60
    );
    text.as_bytes().try_into().unwrap_or([b'0'; 16])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record() -> Record {
        let pages = vec![PageEntry { page: 0, at: 60 }, PageEntry { page: 7, at: 1084 }];
        let comment = b"second".to_vec();
        Record { number: 1, parent: 0, time: time_text(0), len: 8000, page_bytes: 1024, pages, comment }
    }

    #[test]
    fn structures_come_back_from_their_bytes() {
        let header = Header {
            is_write_locked: true,
            is_page_aligned: true,
            page_bytes: 4096,
            origin_bytes: 1 << 40,
            history_at: 1 << 41,
            history_bytes: 40,
        };
        assert_eq!(Header::decode(&header.encode().try_into().unwrap()).unwrap(), header);
        let pointers = [RecordPointer { at: 60, bytes: 100 }, RecordPointer { at: 1 << 35, bytes: 5 }];
        assert_eq!(decode_history(&encode_history(&pointers)).unwrap(), pointers);
        assert_eq!(encode_history(&[]).len(), 20);
        assert_eq!(Record::decode(&record().encode()).unwrap(), record());
        let silent = Record { comment: Vec::new(), ..record() };
        assert_eq!(Record::decode(&silent.encode()).unwrap(), silent);
    }

    #[test]
    fn checksums_are_those_of_libhdf5() {
        // The header of the HDF Group's file tst_onion_dset_1d.h5.onion.
        let bytes: [u8; 40] = *b"OHDH\x01\0\0\0\x20\0\0\0\x40\x08\0\0\0\0\0\0\xa6\x04\0\0\0\0\0\0\x50\0\0\0\0\0\0\0\x9d\xea\x6d\x5c";
        let header = Header::decode(&bytes).unwrap();
        assert_eq!((header.page_bytes, header.origin_bytes, header.history_at), (32, 2112, 1190));
        assert_eq!(header.encode(), bytes);
    }

    #[test]
    fn forged_structures_are_refused() {
        let forged = |change: &dyn Fn(&mut Record)| {
            let mut record = record();
            change(&mut record);
            Record::decode(&record.encode()).unwrap_err()
        };
        forged(&|record| record.page_bytes = 1000);
        forged(&|record| record.page_bytes = 1 << 31);
        forged(&|record| record.pages.swap(0, 1));
        forged(&|record| record.pages[1].page = 0);
        let bytes = record().encode();
        for len in 0..bytes.len() {
            Record::decode(&bytes[..len]).unwrap_err();
        }
        // A count that would ask for much memory, with a checksum that is right.
        for at in [52usize, 60] {
            let mut bytes = bytes[..bytes.len() - 4].to_vec();
            bytes[at..at + 4].fill(0xff);
            Record::decode(&with_checksum(bytes)).unwrap_err();
        }
        let mut history = encode_history(&[])[..16].to_vec();
        history[8..16].fill(0xff);
        decode_history(&with_checksum(history)).unwrap_err();
    }

    #[test]
    fn times_are_those_of_the_calendar() {
        for (seconds, text) in [
            (0, "19700101T000000Z"),
            (951_827_696, "20000229T123456Z"),
            (1_709_251_199, "20240229T235959Z"),
            (1_709_251_200, "20240301T000000Z"),
            (4_102_444_799, "20991231T235959Z"),
        ] {
            assert_eq!(time_text(seconds), *text.as_bytes());
        }
    }
}
