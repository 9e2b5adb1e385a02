//! A folder that keeps ranges of remote files after the program ends.
//!
//! Each version of each object has a folder, each range in it is a file whose name says which. Files are written under
//! another name first, so that several processes can share the folder. A file ends with its checksum: half of one, or one
//! that was damaged, is not used.

use std::ffi::OsStr;
use std::fs;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use bytes::Bytes;
use ring::digest::{Context, SHA256};
use system::sync::Mutex;

/// Bytes of the checksum at the end of a file.
const SUM_BYTES: usize = 32;
/// The cache looks for space after so many bytes were added to it, as a share of its size.
const ROUNDS: u64 = 16;

/// A folder with a size limit, shared by processes.
#[derive(Debug, Clone)]
pub struct DiskCache {
    folder: Arc<PathBuf>,
    bytes_max: u64,
    /// Bytes that this process added since it last looked for space.
    added: Arc<Mutex<u64>>,
}

impl DiskCache {
    /// Opens a cache, and creates its folder if there is none.
    ///
    /// # Errors
    /// Returns the error of the file system if the folder cannot be created.
    pub fn open(folder: PathBuf, bytes_max: u64) -> io::Result<Self> {
        system::private::create_dir_all(&folder)?;
        Ok(DiskCache { folder: Arc::new(folder), bytes_max, added: Arc::default() })
    }

    /// Returns the part of the cache that belongs to one version of an object.
    pub(crate) fn object(&self, name: &str, version: &str) -> io::Result<CachedObject> {
        let mut key = Context::new(&SHA256);
        key.update(name.as_bytes());
        key.update(&[0]);
        key.update(version.as_bytes());
        let key: String = key.finish().as_ref().iter().map(|byte| format!("{byte:02x}")).collect();
        let folder = self.folder.join(key);
        system::private::create_dir_all(&folder)?;
        let ranges = list(&folder);
        Ok(CachedObject { cache: self.clone(), folder, ranges: Mutex::new(ranges) })
    }

    /// Takes new bytes into account, and makes space for more when there are many.
    fn note(&self, bytes: u64) {
        let mut added = self.added.lock();
        *added += bytes;
        if *added >= self.bytes_max / ROUNDS {
            *added = 0;
            // What cannot be removed is not worth failing a read for.
            let _ = self.make_space();
        }
    }

    /// Removes the files that were used longest ago until the rest fits.
    fn make_space(&self) -> io::Result<()> {
        let mut files = Vec::new();
        for object in fs::read_dir(&*self.folder)?.flatten() {
            files.extend(fs::read_dir(object.path()).into_iter().flatten().flatten().filter_map(|file| {
                let metadata = file.metadata().ok()?;
                Some((metadata.modified().unwrap_or(SystemTime::UNIX_EPOCH), metadata.len(), file.path()))
            }));
        }
        files.sort();
        let mut bytes: u64 = files.iter().map(|(_, bytes, _)| bytes).sum();
        // A sixteenth may come before the next look.
        let bytes_max = self.bytes_max - self.bytes_max / ROUNDS;
        for (_, len, path) in files {
            if bytes <= bytes_max {
                break;
            }
            if fs::remove_file(&path).is_ok() {
                bytes -= len;
                // Only an empty folder goes.
                let _ = path.parent().map(fs::remove_dir);
            }
        }
        Ok(())
    }
}

/// The cached ranges of one version of an object.
#[derive(Debug)]
pub(crate) struct CachedObject {
    cache: DiskCache,
    folder: PathBuf,
    ranges: Mutex<Vec<Range<u64>>>,
}

fn list(folder: &Path) -> Vec<Range<u64>> {
    let files = fs::read_dir(folder).into_iter().flatten().flatten();
    files.filter_map(|file| parse(&file.file_name())).collect()
}

fn parse(name: &OsStr) -> Option<Range<u64>> {
    let (start, end) = name.to_str()?.split_once('-')?;
    Some(start.parse().ok()?..end.parse().ok()?).filter(|range| range.start < range.end)
}

fn checksum(pieces: &[Bytes]) -> ring::digest::Digest {
    let mut sum = Context::new(&SHA256);
    pieces.iter().for_each(|piece| sum.update(piece));
    sum.finish()
}

impl CachedObject {
    fn path(&self, range: &Range<u64>) -> PathBuf {
        self.folder.join(format!("{}-{}", range.start, range.end))
    }

    /// Returns the bytes of `range`, if one file of the cache has all of them.
    pub(crate) fn get(&self, range: &Range<u64>) -> Option<Bytes> {
        let ranges = self.ranges.lock();
        let found = ranges.iter().find(|has| has.start <= range.start && range.end <= has.end)?.clone();
        drop(ranges);
        let read = self.read(&found);
        if read.is_none() {
            // Another process made space, or the file is damaged.
            self.ranges.lock().retain(|has| *has != found);
        }
        let start = usize::try_from(range.start - found.start).ok()?;
        Some(read?.slice(start..start + usize::try_from(range.end - range.start).ok()?))
    }

    fn read(&self, range: &Range<u64>) -> Option<Bytes> {
        let mut file = fs::File::open(self.path(range)).ok()?;
        let len = usize::try_from(range.end - range.start).ok()?;
        if file.seek(SeekFrom::End(0)).ok()? != (len + SUM_BYTES) as u64 {
            return None;
        }
        file.rewind().ok()?;
        let mut bytes = vec![0; len + SUM_BYTES];
        file.read_exact(&mut bytes).ok()?;
        // Used just now: it is the last to go.
        let _ = file.set_modified(system::clock::now());
        let bytes = Bytes::from(bytes);
        let data = bytes.slice(..len);
        (checksum(std::slice::from_ref(&data)).as_ref() == &bytes[len..]).then_some(data)
    }

    /// Stores bytes. A cache that cannot be written stores nothing.
    pub(crate) fn put(&self, range: &Range<u64>, pieces: &[Bytes]) {
        if self.write(range, pieces).is_ok() {
            self.ranges.lock().push(range.clone());
            self.cache.note(range.end - range.start);
        }
    }

    fn write(&self, range: &Range<u64>, pieces: &[Bytes]) -> io::Result<()> {
        let mut file = tempfile::NamedTempFile::new_in(&self.folder)?;
        pieces.iter().try_for_each(|piece| file.write_all(piece))?;
        file.write_all(checksum(pieces).as_ref())?;
        file.persist(self.path(range)).map_err(|e| e.error)?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cache(bytes_max: u64) -> (tempfile::TempDir, DiskCache) {
        let folder = tempfile::tempdir().unwrap();
        let cache = DiskCache::open(folder.path().join("cache"), bytes_max).unwrap();
        (folder, cache)
    }

    fn data(len: usize) -> Vec<Bytes> {
        vec![Bytes::from((0..len).map(|n| n as u8).collect::<Vec<_>>())]
    }

    #[test]
    fn what_one_process_cached_another_finds() {
        let (_folder, cache) = cache(1 << 20);
        cache.object("s3://b/k", "v1").unwrap().put(&(100..200), &data(100));
        let other = cache.object("s3://b/k", "v1").unwrap();
        assert_eq!(other.get(&(110..120)).unwrap(), data(100)[0].slice(10..20));
        assert_eq!(other.get(&(90..120)), None);
        assert_eq!(cache.object("s3://b/k", "v2").unwrap().get(&(110..120)), None);
    }

    #[test]
    fn a_damaged_file_is_not_used() {
        let (_folder, cache) = cache(1 << 20);
        let object = cache.object("name", "v").unwrap();
        object.put(&(0..100), &data(100));
        let path = object.path(&(0..100));
        let mut bytes = fs::read(&path).unwrap();
        bytes[50] ^= 1;
        fs::write(&path, &bytes).unwrap();
        assert_eq!(object.get(&(0..100)), None);
        fs::write(&path, &bytes[..60]).unwrap();
        assert_eq!(cache.object("name", "v").unwrap().get(&(0..100)), None);
    }

    #[test]
    fn the_folder_stays_within_its_size() {
        let (folder, cache) = cache(100_000);
        for n in 0..40u64 {
            let object = cache.object("name", &format!("v{}", n / 4)).unwrap();
            object.put(&(n * 10_000..n * 10_000 + 10_000), &data(10_000));
        }
        let objects = fs::read_dir(folder.path().join("cache")).unwrap().flatten();
        let files = objects.flat_map(|object| fs::read_dir(object.path()).unwrap().flatten());
        let bytes: u64 = files.map(|file| file.metadata().unwrap().len()).sum();
        assert!((50_000..=110_000).contains(&bytes), "{bytes}");
    }
}
