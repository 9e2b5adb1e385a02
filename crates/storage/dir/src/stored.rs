//! The number of bytes that a file or a folder has in storage, without the holes of files.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use super::{Dir, Open};

/// Entries of a folder that are counted: one with more has bytes enough.
const ENTRIES_MAX: usize = 1 << 20;
/// Smaller files are counted by their length: looking for holes costs more than they could be worth.
const HOLES_BYTES_MIN: u64 = 1 << 20;
/// Pieces of a file that are looked at. One with more is no trick with holes.
#[cfg(target_os = "linux")]
const PIECES_MAX: usize = 1 << 16;

/// Returns the bytes that are stored in the file at a path, or in all files of a folder. Holes of sparse files do not count,
/// where the system tells; links in a folder are not followed.
///
/// # Errors
///
/// Returns what the system returns if there is nothing at the path, or if it may not be read.
pub fn stored_bytes(path: &Path) -> io::Result<u64> {
    let found = std::fs::metadata(path)?;
    match found.file_type() {
        kind if kind.is_dir() => in_dir(&Dir::open(path)?),
        kind if kind.is_file() => Ok(in_file(found.len(), || File::open(path))),
        _ => Ok(0),
    }
}

fn in_dir(dir: &Dir) -> io::Result<u64> {
    let (mut bytes, mut entries_left) = (0u64, ENTRIES_MAX);
    let mut pending = vec![PathBuf::new()];
    while let Some(folder) = pending.pop() {
        for entry in dir.entries(&folder)? {
            let path = folder.join(entry?.name);
            // What went meanwhile does not count.
            let Some(info) = dir.find(&path)? else { continue };
            match info.is_dir() {
                true => pending.push(path),
                false if info.is_file() => bytes += in_file(info.bytes, || dir.file(&path, Open::Read)),
                false => {}
            }
            entries_left -= 1;
            if entries_left == 0 {
                return Ok(bytes);
            }
        }
    }
    Ok(bytes)
}

fn in_file(len: u64, open: impl FnOnce() -> io::Result<File>) -> u64 {
    if len < HOLES_BYTES_MIN {
        return len;
    }
    open().map_or(len, |file| data_bytes(&file, len))
}

/// Returns the number of bytes of a file outside of its holes. Where the system does not say, all of them.
#[cfg(target_os = "linux")]
fn data_bytes(file: &File, len: u64) -> u64 {
    use rustix::fs::{SeekFrom, seek};
    use rustix::io::Errno;
    let (mut at, mut bytes) = (0, 0);
    for _ in 0..PIECES_MAX {
        match seek(file, SeekFrom::Data(at)) {
            Err(Errno::NXIO) => return bytes,
            Ok(start) => match seek(file, SeekFrom::Hole(start)) {
                Ok(end) if end > start => (at, bytes) = (end, bytes + (end - start)),
                _ => return len,
            },
            Err(_) => return len,
        }
    }
    len
}

#[cfg(not(target_os = "linux"))]
fn data_bytes(_: &File, len: u64) -> u64 {
    len
}

// Other systems do not say where holes are.
#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::io::{Seek, SeekFrom, Write};

    use super::*;

    #[test]
    fn holes_and_what_links_lead_to_are_not_stored() {
        let folder = std::env::temp_dir().join(format!("hyperslab-stored-{}", std::process::id()));
        std::fs::create_dir_all(folder.join("inner")).unwrap();
        std::fs::write(folder.join("inner/small"), [1; 1000]).unwrap();
        let mut file = File::create(folder.join("sparse")).unwrap();
        file.seek(SeekFrom::Start(1 << 40)).unwrap();
        file.write_all(&[1; 4096]).unwrap();
        std::os::unix::fs::symlink("/", folder.join("inner/link")).unwrap();
        let bytes = stored_bytes(&folder).unwrap();
        std::fs::remove_dir_all(&folder).unwrap();
        assert!((5096..1 << 24).contains(&bytes), "{bytes}");
    }
}
