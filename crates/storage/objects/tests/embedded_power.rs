//! Power that goes away at any moment: of what no sync has made durable any write may be there, missing, torn or noise.
//! Whatever a flush promised is there afterwards.
//!
//! `HYPERSLAB_IMAGES` says how many moments are tried.

use std::collections::HashMap;
use std::fs;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use dir::Dir;
use hyperslab_objects::embedded::{self, Medium, MediumFile, Open};
use hyperslab_objects::{Change, ContainerId, Fetch, Mode, ObjectId, Phase, Store, Update};

const OBJECT: ObjectId = ObjectId { high: 0, low: 5 };
const SECTOR: usize = 512;
const ROUNDS: u32 = 25;

fn id() -> ContainerId {
    ContainerId::from_name("power")
}

/// What happened to a file.
#[derive(Clone, Debug)]
enum Event {
    Write(u64, Vec<u8>),
    SetLen(u64),
    Sync,
}

type Events = Arc<Mutex<Vec<(PathBuf, Event)>>>;

/// Notes all that is written.
#[derive(Debug, Default)]
struct Noting(Events);

#[derive(Debug)]
struct NotingFile {
    file: fs::File,
    name: PathBuf,
    events: Events,
}

impl Medium for Noting {
    fn open(&self, dir: &Dir, name: &str, how: Open) -> io::Result<Box<dyn MediumFile>> {
        let file = dir.file(name, how.into())?;
        Ok(Box::new(NotingFile { file, name: name.into(), events: self.0.clone() }))
    }

    fn remove(&self, dir: &Dir, name: &str) -> io::Result<()> {
        dir.remove_file(name)
    }
}

impl NotingFile {
    fn note(&self, event: Event) {
        self.events.lock().unwrap().push((self.name.clone(), event));
    }
}

impl MediumFile for NotingFile {
    fn read_exact_at(&self, into: &mut [u8], at: u64) -> io::Result<()> {
        FileExt::read_exact_at(&self.file, into, at)
    }

    fn write_all_at(&self, bytes: &[u8], at: u64) -> io::Result<()> {
        self.note(Event::Write(at, bytes.to_vec()));
        FileExt::write_all_at(&self.file, bytes, at)
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.note(Event::SetLen(len));
        self.file.set_len(len)
    }

    fn allocate(&self, len: u64) -> io::Result<()> {
        self.file.set_len(len)
    }

    fn len(&self) -> io::Result<u64> {
        Ok(self.file.metadata()?.len())
    }

    fn sync_data(&self) -> io::Result<()> {
        self.note(Event::Sync);
        Ok(())
    }

    fn try_lock(&self, _alone: bool) -> io::Result<bool> {
        Ok(true)
    }
}

fn value(round: u32) -> Vec<u8> {
    round.to_le_bytes().repeat(1_000)
}

/// Changes some of everything: a small value, a large one, records in part.
fn write_round(store: &dyn Store, round: u32) {
    let (number, large) = (round.to_le_bytes(), value(round));
    let whole = vec![round as u8; 40_000];
    let changes = [
        Change::Single(b"round", &number),
        Change::Single(b"large", &large),
        Change::Records { akey: b"r", record_size: 4, start: u64::from(round) * 50, bytes: &whole },
    ];
    let (dkey, phase) = (b"dkey", Phase::Content);
    store.update(&Update { object: OBJECT, dkey, changes: &changes, conditions: &[], phase }).unwrap();
    let own = round.to_be_bytes();
    let changes = [Change::Single(b"v", &large[..100])];
    store.update(&Update { object: OBJECT, dkey: &own, changes: &changes, conditions: &[], phase }).unwrap();
}

/// The round that everything is of.
fn check(store: &dyn Store) -> u32 {
    let found = store.get(OBJECT, b"dkey", &[b"round", b"large"]).unwrap();
    let Some(round) = &found[0] else { return 0 };
    let round = u32::from_le_bytes(round[..].try_into().unwrap());
    assert_eq!(found[1].as_deref(), Some(&value(round)[..]));
    let mut into = vec![0xee; 40_000];
    let start = u64::from(round) * 50;
    let fetch = Fetch { object: OBJECT, dkey: b"dkey", akey: b"r", record_size: 4, start, into: &mut into };
    store.fetch(&mut [fetch]).unwrap();
    assert!(into == vec![round as u8; 40_000]);
    for n in 1..=round {
        assert!(store.get(OBJECT, &n.to_be_bytes(), &[b"v"]).unwrap()[0].is_some(), "round {n} of {round}");
    }
    store.verify_index().unwrap();
    round
}

struct Random(u64);

impl Random {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % end
    }
}

/// The bytes of files.
#[derive(Clone, Default)]
struct Image(HashMap<PathBuf, Vec<u8>>);

impl Image {
    fn apply(&mut self, name: &Path, event: &Event) {
        let bytes = self.0.entry(name.to_owned()).or_default();
        match event {
            Event::Write(at, new) => {
                let (at, end) = (*at as usize, *at as usize + new.len());
                bytes.resize(bytes.len().max(end), 0);
                bytes[at..end].copy_from_slice(new);
            }
            Event::SetLen(len) => bytes.resize(*len as usize, 0),
            Event::Sync => {}
        }
    }

    /// A write that was under way: there or not, in part, or one of its sectors is noise.
    fn apply_perhaps(&mut self, name: &Path, event: &Event, random: &mut Random) {
        let Event::Write(at, bytes) = event else { return self.apply(name, event) };
        match random.below(4) {
            0 => {}
            1 => self.apply(name, event),
            2 => {
                for (n, sector) in bytes.chunks(SECTOR).enumerate().filter(|_| random.below(2) == 0) {
                    self.apply(name, &Event::Write(at + (n * SECTOR) as u64, sector.to_vec()));
                }
            }
            _ => {
                let mut noisy = bytes.clone();
                let (start, count) = (random.below(noisy.len()) / SECTOR * SECTOR, noisy.len());
                noisy[start..(start + SECTOR).min(count)].fill_with(|| random.below(256) as u8);
                self.apply(name, &Event::Write(*at, noisy));
            }
        }
    }
}

/// The files when power goes away after so many events.
fn image(base: &Image, events: &[(PathBuf, Event)], random: &mut Random) -> Image {
    let mut image = base.clone();
    let last_sync =
        |name: &Path| events.iter().rposition(|(other, event)| other == name && matches!(event, Event::Sync));
    let synced: HashMap<PathBuf, Option<usize>> =
        base.0.keys().map(|name| (name.clone(), last_sync(name))).collect();
    for (at, (name, event)) in events.iter().enumerate() {
        match synced[name].is_some_and(|sync| at < sync) {
            true => image.apply(name, event),
            false => image.apply_perhaps(name, event, random),
        }
    }
    image
}

#[test]
fn power_that_goes_away_takes_nothing_that_was_flushed() {
    let folder = tempfile::tempdir().unwrap();
    let medium = Arc::new(Noting::default());
    drop(embedded::pool(folder.path()).create(id()).unwrap());
    let inside = folder.path().join(id().to_string());
    let read = |name: &str| (PathBuf::from(name), fs::read(inside.join(name)).unwrap());
    let base = Image(["index.redb", "data"].map(read).into_iter().collect());
    let store = embedded::pool_on(folder.path(), medium.clone()).open(id(), Mode::ReadWrite).unwrap();
    let mut flushed = Vec::new();
    for round in 1..=ROUNDS {
        write_round(&*store, round);
        store.flush().unwrap();
        flushed.push((medium.0.lock().unwrap().len(), round));
    }
    drop(store);
    let events = medium.0.lock().unwrap().clone();
    let images = std::env::var("HYPERSLAB_IMAGES").ok().and_then(|n| n.parse().ok()).unwrap_or(400);
    let seed = std::env::var("HYPERSLAB_SEED").ok().and_then(|n| n.parse().ok()).unwrap_or(20_261_116);
    println!("seed {seed}, {} events", events.len());
    let mut random = Random(seed);
    for _ in 0..images {
        let moment = 1 + random.below(events.len());
        let promised = flushed.iter().rev().find(|(end, _)| *end <= moment).map_or(0, |(_, round)| *round);
        let crashed = tempfile::tempdir().unwrap();
        let inside = crashed.path().join(id().to_string());
        fs::create_dir(&inside).unwrap();
        for (name, bytes) in &image(&base, &events[..moment], &mut random).0 {
            fs::write(inside.join(name), bytes).unwrap();
        }
        for mode in [Mode::Read, Mode::ReadWrite, Mode::Read] {
            let store = embedded::pool(crashed.path()).open(id(), mode);
            let store = store.unwrap_or_else(|error| panic!("after {moment} events, {mode:?}: {error}"));
            let found = check(&*store);
            assert!(
                found >= promised,
                "after {moment} events: round {promised} was flushed, {found} is there"
            );
        }
    }
}
