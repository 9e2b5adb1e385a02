//! Answers: bytes, and byte strings next to them.

use model::{Charge, Datatype, Error, Link, ObjectKind, Reference, Result, Token};
use vol::*;

use super::plain::put_count;
use super::{Reader, Wire, scratch};

/// The answer of an operation.
#[derive(Debug, Default)]
pub struct Answer {
    /// Whether `bytes` hold the error instead.
    pub failed: bool,
    /// Values.
    pub bytes: Vec<u8>,
    /// Byte strings, which the values count but do not hold.
    pub bulk: Vec<Vec<u8>>,
    /// The charge of the byte strings to the container's account. It is released with them.
    pub charge: Option<Charge>,
}

impl Answer {
    /// Returns an answer that is to come, in a buffer that the thread used before.
    pub fn new() -> Self {
        Answer { bytes: scratch::take(), ..Answer::default() }
    }

    /// Drops an answer that was read, and gives its buffer back to the thread.
    pub fn recycle(self) {
        scratch::give(self.bytes);
    }

    /// Makes this the answer of an operation that failed.
    pub fn fail(&mut self, error: &Error) {
        self.failed = true;
        self.bytes.clear();
        self.bulk.clear();
        self.charge = None;
        // Errors are text of bounded number: they always have a form.
        let _ = error.put(&mut self.bytes);
    }

    /// Returns the error of an operation that failed.
    pub fn check(&self) -> Result<()> {
        match self.failed {
            true => {
                Err(super::from_bytes(&self.bytes)
                    .unwrap_or_else(|broken: Error| broken.during("read an error")))
            }
            false => Ok(()),
        }
    }
}

/// An answer that is being read.
#[derive(Debug)]
pub(crate) struct Received<'a> {
    reader: Reader<'a>,
    bulk: std::vec::IntoIter<Vec<u8>>,
}

impl<'a> Received<'a> {
    /// Returns the start of an answer.
    pub(crate) fn new(answer: &'a mut Answer) -> Self {
        let bulk = std::mem::take(&mut answer.bulk).into_iter();
        Received { reader: Reader::new(&answer.bytes), bulk }
    }

    /// Returns the next byte string.
    pub(crate) fn bulk(&mut self) -> Result<Vec<u8>> {
        self.bulk.next().ok_or_else(|| self.reader.corrupt("a byte string is missing"))
    }

    /// Returns how many byte strings follow.
    fn bulk_count(&mut self) -> Result<usize> {
        let count = <u32 as Wire>::get(&mut self.reader)? as usize;
        match count <= self.bulk.len() {
            true => Ok(count),
            false => Err(self.reader.corrupt("byte strings are missing").with("count", count)),
        }
    }

    /// Returns an error where anything is left.
    pub(crate) fn finish(&self) -> Result<()> {
        self.reader.finish()?;
        match self.bulk.len() {
            0 => Ok(()),
            left => Err(self.reader.corrupt("byte strings are left").with("count", left)),
        }
    }
}

/// The result of an operation on the wire.
pub(crate) trait Answered: Sized {
    /// Appends the value to an answer.
    fn put(self, answer: &mut Answer) -> Result<()>;
    /// Reads the value from an answer.
    fn get(from: &mut Received<'_>) -> Result<Self>;
}

macro_rules! by_value {
    ($($name:ty),+ $(,)?) => { $(
        impl Answered for $name {
            fn put(self, answer: &mut Answer) -> Result<()> {
                Wire::put(&self, &mut answer.bytes)
            }

            fn get(from: &mut Received<'_>) -> Result<Self> {
                Wire::get(&mut from.reader)
            }
        }
    )+ };
}

by_value!(
    (),
    bool,
    u32,
    Token,
    Datatype,
    Lookup,
    ObjectInfo,
    GroupInfo,
    MapInfo,
    StorageInfo,
    Placement,
    std::sync::Arc<ContainerInfo>,
    std::sync::Arc<DatasetInfo>,
    Option<Link>,
    Option<AttributeInfo>,
    Page<Link>,
    Page<AttributeInfo>,
    Page<ChunkInfo>,
    Vec<Reference>,
    Vec<ObjectKind>,
    String,
    ChunkCacheInfo,
    Vec<StorageFinding>,
    Vec<StoredBlock>,
);

impl Answered for Vec<u8> {
    fn put(self, answer: &mut Answer) -> Result<()> {
        answer.bulk.push(self);
        Ok(())
    }

    fn get(from: &mut Received<'_>) -> Result<Self> {
        from.bulk()
    }
}

impl Answered for (u32, Vec<u8>) {
    fn put(self, answer: &mut Answer) -> Result<()> {
        Wire::put(&self.0, &mut answer.bytes)?;
        self.1.put(answer)
    }

    fn get(from: &mut Received<'_>) -> Result<Self> {
        Ok((Wire::get(&mut from.reader)?, from.bulk()?))
    }
}

impl Answered for Vec<Vec<u8>> {
    fn put(mut self, answer: &mut Answer) -> Result<()> {
        put_count(self.len(), &mut answer.bytes)?;
        answer.bulk.append(&mut self);
        Ok(())
    }

    fn get(from: &mut Received<'_>) -> Result<Self> {
        let count = from.bulk_count()?;
        Ok(from.bulk.by_ref().take(count).collect())
    }
}

/// A byte for each says whether it is there.
impl Answered for Vec<Option<Vec<u8>>> {
    fn put(self, answer: &mut Answer) -> Result<()> {
        put_count(self.len(), &mut answer.bytes)?;
        answer.bytes.extend(self.iter().map(|value| u8::from(value.is_some())));
        answer.bulk.extend(self.into_iter().flatten());
        Ok(())
    }

    fn get(from: &mut Received<'_>) -> Result<Self> {
        let is_there: Vec<bool> = Wire::get(&mut from.reader)?;
        is_there.into_iter().map(|there| there.then(|| from.bulk()).transpose()).collect()
    }
}

impl Answered for Page<Vec<u8>> {
    fn put(self, answer: &mut Answer) -> Result<()> {
        self.entries.put(answer)?;
        Wire::put(&self.more, &mut answer.bytes)
    }

    fn get(from: &mut Received<'_>) -> Result<Self> {
        Ok(Page { entries: Answered::get(from)?, more: Wire::get(&mut from.reader)? })
    }
}

/// The lengths as values; all blobs are one byte string.
pub(super) fn put_blobs(blobs: Blobs, answer: &mut Answer) -> Result<()> {
    put_count(blobs.len(), &mut answer.bytes)?;
    for length in blobs.lengths() {
        Wire::put(&(length as u64), &mut answer.bytes)?;
    }
    let (bytes, charge) = blobs.into_charged();
    answer.bulk.push(bytes);
    answer.charge = Some(charge);
    Ok(())
}

pub(super) fn get_blobs(from: &mut Received<'_>, out: &mut Blobs) -> Result<()> {
    let lengths: Vec<u64> = Wire::get(&mut from.reader)?;
    let bytes = from.bulk()?;
    let mut rest = &bytes[..];
    for length in lengths {
        let split = usize::try_from(length).ok().and_then(|length| rest.split_at_checked(length));
        let (blob, after) = split.ok_or_else(|| from.reader.corrupt("blobs are longer than their bytes"))?;
        out.push(blob)?;
        rest = after;
    }
    match rest.len() {
        0 => Ok(()),
        left => Err(from.reader.corrupt("bytes after the last blob").with("bytes", left)),
    }
}
