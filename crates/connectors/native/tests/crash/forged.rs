//! Elements that look like the redo record of a commit are elements.

use std::sync::Arc;

use files::{Crash, Handle, Memory};
use hyperslab::File;
use hyperslab_native::{create_handle, open_handle, open_image};
use vol::{Container, Durability, FileAccess};

/// Jenkins' lookup3, which the record's checksum is made of.
fn lookup3(bytes: &[u8], initial: u32) -> u32 {
    let seed = 0xDEAD_BEEFu32.wrapping_add(bytes.len() as u32).wrapping_add(initial);
    let mut s = [seed; 3];
    let mut blocks = bytes.chunks(12).peekable();
    while let Some(block) = blocks.next() {
        let mut padded = [0; 12];
        padded[..block.len()].copy_from_slice(block);
        for (word, four) in s.iter_mut().zip(padded.chunks(4)) {
            *word = word.wrapping_add(u32::from_le_bytes(four.try_into().unwrap()));
        }
        if blocks.peek().is_none() {
            // (x, y, rotation): x = (x ^ y) - rot(y)
            for (x, y, k) in
                [(2, 1, 14), (0, 2, 11), (1, 0, 25), (2, 1, 16), (0, 2, 4), (1, 0, 14), (2, 1, 24)]
            {
                s[x] = (s[x] ^ s[y]).wrapping_sub(s[y].rotate_left(k));
            }
        } else {
            for (x, y, z, k) in
                [(0, 1, 2, 4), (1, 2, 0, 6), (2, 0, 1, 8), (0, 1, 2, 16), (1, 2, 0, 19), (2, 0, 1, 4)]
            {
                s[x] = s[x].wrapping_sub(s[z]) ^ s[z].rotate_left(k);
                s[z] = s[z].wrapping_add(s[y]);
            }
        }
    }
    s[2]
}

fn checksum(bytes: &[u8]) -> u64 {
    u64::from(lookup3(bytes, 0)) << 32 | u64::from(lookup3(bytes, 0x9E37_79B9))
}

/// A record that would stand at `at` and overwrites the superblock with itself, and `victim` with nines.
fn record(version: u8, at: u64, ends: (u64, u64), image: &[u8], victim: u64) -> Vec<u8> {
    let superblock_bytes = superblock_bytes(image);
    // The end that the record's superblock states is the end that the record states.
    let superblock = with_end(&image[..superblock_bytes], ends.1);
    let entries = [(0, superblock), (victim, vec![9; 32])];
    let mut out = format!("HSLREDO{version}").into_bytes();
    let put = |out: &mut Vec<u8>, n: u64| out.extend_from_slice(&n.to_le_bytes());
    put(&mut out, 0);
    if version == 2 {
        put(&mut out, ends.0);
    }
    put(&mut out, ends.1);
    if version == 2 {
        out.extend_from_slice(&[0; 16]);
    }
    put(&mut out, entries.len() as u64);
    for (to, data) in entries {
        let old = &image[to as usize..to as usize + data.len()];
        let first = (512 - to as usize % 512).min(old.len());
        let sectors: Vec<&[u8]> = std::iter::once(&old[..first]).chain(old[first..].chunks(512)).collect();
        for field in [to, data.len() as u64, sectors.len() as u64] {
            put(&mut out, field);
        }
        sectors.iter().for_each(|sector| put(&mut out, checksum(sector)));
        out.extend_from_slice(&data);
    }
    let bytes = out.len() as u64 + 24;
    out[8..16].copy_from_slice(&bytes.to_le_bytes());
    let sum = checksum(&out);
    put(&mut out, sum);
    put(&mut out, at);
    out.extend_from_slice(b"HSLREDOE");
    out
}

/// Superblocks of version 2 and 3, which files of the default version have, are 48 bytes and end with a checksum.
fn superblock_bytes(image: &[u8]) -> usize {
    assert!(image[8] >= 2, "superblock of version {}", image[8]);
    48
}

fn stored_end(image: &[u8]) -> u64 {
    u64::from_le_bytes(image[28..36].try_into().unwrap())
}

fn with_end(superblock: &[u8], end: u64) -> Vec<u8> {
    let mut bytes = superblock.to_vec();
    bytes[28..36].copy_from_slice(&end.to_le_bytes());
    let sum = lookup3(&bytes[..44], 0);
    bytes[44..48].copy_from_slice(&sum.to_le_bytes());
    bytes
}

const PRECIOUS: [u8; 32] = [5; 32];

/// A file with a dataset that shall not change, on a storage that records.
fn victim() -> (Arc<Crash>, Arc<dyn Container>, File) {
    let memory: Handle = Arc::new(Memory::new());
    let crash = Arc::new(Crash::new(memory).unwrap());
    let access = FileAccess::write();
    let container = create_handle(crash.clone(), "victim", &Default::default(), &access).unwrap();
    let file = File::from_container(container.clone(), "victim", &access).unwrap();
    file.new_dataset::<u8>().shape(32).create("precious").unwrap().write_raw(&PRECIOUS).unwrap();
    file.flush().unwrap();
    (crash, container, file)
}

fn image(crash: &Crash) -> Vec<u8> {
    let log = crash.log();
    log.image(&log.prefixes().last().unwrap()).unwrap()
}

fn place_of(image: &[u8], what: &[u8]) -> u64 {
    image.windows(what.len()).position(|window| window == what).expect("it is stored") as u64
}

/// Opened to read and to write, the dataset is what it was.
fn assert_intact(image: Vec<u8>, why: &str) {
    let read = |container: Arc<dyn Container>| {
        let file = File::from_container(container, "victim", &FileAccess::read()).unwrap();
        file.dataset("precious").unwrap().read_raw::<u8>().unwrap()
    };
    let opened = open_image(image.clone(), &FileAccess::read()).unwrap();
    assert!(!opened.info().unwrap().warnings.is_empty(), "{why}: nothing was said");
    assert_eq!(read(opened), PRECIOUS, "{why}, read");
    let memory = Arc::new(Memory::from_image(image));
    let recovered = open_handle(memory.clone(), "victim", &FileAccess::write()).unwrap();
    recovered.close().unwrap();
    assert_eq!(
        read(open_handle(memory, "victim", &FileAccess::read()).unwrap()),
        PRECIOUS,
        "{why}, recovered"
    );
}

/// The elements of a committed dataset are the last bytes of the file.
#[test]
fn a_record_inside_the_stored_end_is_never_replayed() {
    for version in [1, 2] {
        let (crash, _container, file) = victim();
        let before = image(&crash);
        let precious = place_of(&before, &PRECIOUS);
        let bytes = record(version, 0, (0, 0), &before, precious).len();
        let upload = file.new_dataset::<u8>().shape(bytes).create("upload").unwrap();
        upload.write_raw(&vec![77u8; bytes]).unwrap();
        file.flush().unwrap();
        let with_capacity = image(&crash);
        let at = place_of(&with_capacity, &vec![77; bytes]);
        // It claims whatever the file states.
        for ends in
            [(at, at), (stored_end(&with_capacity), stored_end(&with_capacity)), (stored_end(&before), at)]
        {
            let mut forged = with_capacity.clone();
            let record = record(version, at, ends, &forged, precious);
            forged.truncate(at as usize);
            forged.extend_from_slice(&record);
            let end = forged.len() as u64;
            let superblock = with_end(&forged[..48], end);
            forged[..48].copy_from_slice(&superblock);
            assert_intact(forged, &format!("version {version}, {ends:?}"));
        }
    }
}

/// Elements of this size go to the file at once.
const LEFT_BYTES: usize = 200_000;

/// The bytes of a file whose writer died before it committed a dataset of these elements.
fn left_behind(elements: &[u8]) -> Vec<u8> {
    let (crash, _container, file) = victim();
    file.new_dataset::<u8>().shape(elements.len()).create("upload").unwrap().write_raw(elements).unwrap();
    image(&crash)
}

/// A writer died before its commit: what it wrote for a new dataset lies past the stored end, and is all that lies there.
#[test]
fn elements_that_a_writer_left_behind_are_no_record() {
    let (crash, ..) = victim();
    let before = image(&crash);
    let (precious, stored) = (place_of(&before, &PRECIOUS), stored_end(&before));
    // Two writers put the same elements in the same place.
    let elements_at = left_behind(&[77; LEFT_BYTES]).len() - LEFT_BYTES;
    for version in [1, 2] {
        let record_bytes = record(version, 0, (0, 0), &before, precious).len();
        let at = ((elements_at + LEFT_BYTES - record_bytes) / 8 * 8) as u64;
        for ends in [(stored, at), (at, at), (stored, stored)] {
            let record = record(version, at, ends, &before, precious);
            let mut elements = vec![1; at as usize - elements_at];
            elements.extend_from_slice(&record);
            let left = left_behind(&elements);
            assert!(left[at as usize..] == record[..], "the record is where it says, at the end of the file");
            assert_intact(left, &format!("version {version}, {ends:?}"));
        }
    }
}

/// The bytes of a file whose last commit was stored in its record, and not published.
fn cut_short(name: &str) -> Vec<u8> {
    let (crash, container, file) = victim();
    file.new_dataset::<u8>().shape(100).create(name).unwrap().write_raw(&[3u8; 100]).unwrap();
    file.dataset("precious").unwrap().write_raw(&[9u8; 32]).unwrap();
    let committed = crash.position();
    container.commit(Durability::Full).unwrap();
    let log = crash.log();
    let states = log.prefixes().filter(|state| state.at >= committed);
    let images = states.map(|state| log.image(&state).unwrap());
    images.into_iter().find(|image| image.ends_with(b"HSLREDOE")).expect("a record was stored")
}

fn record_at(image: &[u8]) -> usize {
    place_of(image, b"HSLREDO2") as usize
}

#[test]
fn a_record_with_another_salt_place_or_size_is_never_replayed() {
    let (genuine, other) = (cut_short("new"), cut_short("new"));
    let opened = open_image(genuine.clone(), &FileAccess::read()).unwrap();
    assert!(opened.info().unwrap().warnings[0].contains("cut short"), "the record itself is replayed");
    let at = record_at(&genuine);
    assert_eq!(at, record_at(&other), "both files are alike");
    let reserved = stored_end(&genuine).next_multiple_of(8) as usize;
    let with = |change: &dyn Fn(&mut Vec<u8>)| {
        let mut image = genuine.clone();
        change(&mut image);
        image
    };
    // The checksum of what was changed, as a forger would write it.
    let sealed = |image: &mut Vec<u8>| {
        let tail = image.len() - 24;
        let sum = checksum(&image[at..tail]);
        image[tail..tail + 8].copy_from_slice(&sum.to_le_bytes());
    };
    assert_intact(with(&|image| image[at..].copy_from_slice(&other[at..])), "another file's");
    assert_intact(with(&|image| image[reserved..reserved + 64].fill(0)), "no salt");
    for (n, what) in [(at + 32, "salt"), (at + 8, "size"), (at + 16, "stored end"), (at + 24, "end")] {
        let forged = with(&|image| {
            image[n] ^= 8;
            sealed(image);
        });
        assert_intact(forged, what);
    }
    let moved = with(&|image| {
        image.splice(at..at, [0; 8]);
        let tail = image.len() - 24;
        image[tail + 8..tail + 16].copy_from_slice(&(at as u64 + 8).to_le_bytes());
    });
    assert_intact(moved, "moved");
}

/// A record behind the stored end that would make the file shorter has no salt there, wherever it claims that the end was.
#[test]
fn elements_that_look_like_a_record_of_a_shorter_file_are_no_record() {
    let (crash, ..) = victim();
    let before = image(&crash);
    let (precious, stored) = (place_of(&before, &PRECIOUS), stored_end(&before));
    let elements_at = left_behind(&[77; LEFT_BYTES]).len() - LEFT_BYTES;
    let record_bytes = record(2, 0, (0, 0), &before, precious).len();
    let at = ((elements_at + LEFT_BYTES - record_bytes) / 8 * 8) as u64;
    for start in [at, at - 3] {
        let record = record(2, at, (start, stored), &before, precious);
        let mut elements = vec![1; at as usize - elements_at];
        elements.extend_from_slice(&record);
        assert_intact(left_behind(&elements), &format!("from {start} to {stored}"));
    }
}

/// A file with a large dataset next to the one that shall not change, whose last commit was stored in a record of version 3 and
/// not published: elements of the large one wait in the file.
fn cut_short_with_moves() -> Vec<u8> {
    let memory: Handle = Arc::new(Memory::new());
    let crash = Arc::new(Crash::new(memory).unwrap());
    let access = FileAccess { chunk_cache_bytes: Some(8 << 10), ..FileAccess::write() };
    let container = create_handle(crash.clone(), "victim", &Default::default(), &access).unwrap();
    let file = File::from_container(container.clone(), "victim", &access).unwrap();
    file.new_dataset::<u8>().shape(32).create("precious").unwrap().write_raw(&PRECIOUS).unwrap();
    let large = file.new_dataset::<u8>().shape(9000).create("large").unwrap();
    large.write_raw(&[1u8; 9000]).unwrap();
    file.flush().unwrap();
    let most = hyperslab::Selection::block(&[100], &[8000]).unwrap();
    large.write_selection(&most, &[2u8; 8000]).unwrap();
    let committed = crash.position();
    container.commit(Durability::Full).unwrap();
    let log = crash.log();
    let states = log.prefixes().filter(|state| state.at >= committed);
    let images = states.map(|state| log.image(&state).unwrap());
    images.into_iter().find(|image| image.ends_with(b"HSLREDOE")).expect("a record was stored")
}

/// The elements of the large dataset, if the file can be read at all.
fn large(image: Vec<u8>, access: &FileAccess) -> Option<(Vec<u8>, Vec<u8>)> {
    let container = open_handle(Arc::new(Memory::from_image(image)), "victim", access).ok()?;
    let file = File::from_container(container, "victim", access).ok()?;
    let read = |name: &str| file.dataset(name).unwrap().read_raw::<u8>().unwrap();
    Some((read("precious"), read("large")))
}

#[test]
fn forged_moves_bring_nothing_that_the_commit_did_not() {
    let genuine = cut_short_with_moves();
    let at = place_of(&genuine, b"HSLREDO3") as usize;
    let mut new = vec![1u8; 9000];
    new[100..8100].fill(2);
    let accesses = [FileAccess::read(), FileAccess::write()];
    for access in &accesses {
        let found = large(genuine.clone(), access).expect("the record is replayed");
        assert_eq!(found, (PRECIOUS.to_vec(), new.clone()));
    }
    // Behind the entries: how many come first, one range, and the moves, of 24 bytes each.
    let tail = genuine.len() - 24;
    let field = |image: &[u8], n: usize| u64::from_le_bytes(image[n..n + 8].try_into().unwrap());
    let moves_at = (1..20)
        .map(|count| tail - 24 * count - 8)
        .find(|&n| field(&genuine, n) as usize == (tail - n - 8) / 24 && field(&genuine, n) > 0)
        .expect("the record ends with its moves");
    let extent_at = moves_at - 24;
    let sealed = |mut image: Vec<u8>| {
        let sum = checksum(&image[at..tail]);
        image[tail..tail + 8].copy_from_slice(&sum.to_le_bytes());
        image
    };
    let with = |n: usize, value: u64| {
        let mut image = genuine.clone();
        image[n..n + 8].copy_from_slice(&value.to_le_bytes());
        image
    };
    let first = moves_at + 8;
    let (end, len) = (genuine.len() as u64, field(&genuine, first + 16));
    let beyond = [
        ("to behind the record", with(first, end)),
        ("to the record itself", with(first, at as u64 - 8)),
        ("from behind the record", with(first + 8, end - 4)),
        ("from the record itself", with(first + 8, at as u64)),
        ("from where no range of the journal is", with(first + 8, 0)),
        ("to past all numbers", with(first, u64::MAX - 4)),
        ("from past all numbers", with(first + 8, u64::MAX - len / 2)),
        ("of more bytes than there are", with(first + 16, u64::MAX)),
        ("of as many bytes as the file", with(first + 16, end)),
        ("in more moves than there are", with(moves_at, u64::MAX)),
        ("in one move more", with(moves_at, field(&genuine, moves_at) + 1)),
        ("over a range behind the record", with(extent_at, end)),
        ("over a range of too many bytes", with(extent_at + 8, u64::MAX - 7)),
        ("in more ranges than there are", with(extent_at - 8, u64::MAX)),
    ];
    for (what, image) in beyond {
        for access in &accesses {
            // A record that names what cannot be is an error or none at all, and the last commit stands.
            if let Some((kept, _)) = large(sealed(image.clone()), access) {
                assert_eq!(kept, PRECIOUS, "{what}");
            }
        }
    }
    // Without a new checksum, no change passes.
    for (what, n) in [("to", first), ("from", first + 8), ("bytes", first + 16), ("sum", extent_at + 16)] {
        let torn = with(n, field(&genuine, n) ^ 8);
        for access in &accesses {
            let old = (PRECIOUS.to_vec(), vec![1u8; 9000]);
            assert_eq!(large(torn.clone(), access), Some(old), "{what} without a checksum");
        }
    }
    // Bytes that wait are verified: where a caller wrote over them, the record is left alone.
    let from = field(&genuine, first + 8) as usize;
    let mut overwritten = genuine.clone();
    overwritten[from] ^= 1;
    let wrong_sum = sealed(with(extent_at + 16, field(&genuine, extent_at + 16) ^ 1));
    for image in [overwritten, wrong_sum] {
        for access in &accesses {
            assert_eq!(large(image.clone(), access), Some((PRECIOUS.to_vec(), vec![1u8; 9000])));
        }
    }
}
