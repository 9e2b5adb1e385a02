//! The embedded engine of object storage, as a ratio to plain files and to plain redb, in one run.
//!
//! `objects-bench [FOLDER]`: the folder is best on a file system in memory, so that the engine is measured and not
//! the disk. With the feature `rados` and the arguments `rados POOL CONF BYTES COUNT` it measures a Ceph cluster.

#[cfg(feature = "rados")]
mod cluster;

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Instant;

use objects::{Change, ContainerId, Fetch, Mode, ObjectId, Phase, Store, Update, embedded};
use redb::{Database, TableDefinition};

const CHUNKS: u64 = 1024;
const CHUNK_BYTES: usize = 1 << 20;
const THREADS: u64 = 2;
const PUTS: u64 = 1_000_000;
const OBJECT: ObjectId = ObjectId { high: 1, low: 2 };

type Outcome<T> = Result<T, Box<dyn std::error::Error + Send + Sync>>;

fn main() -> Outcome<()> {
    #[cfg(feature = "rados")]
    if let [_, kind, pool, conf, bytes, count] = std::env::args().collect::<Vec<_>>().as_slice()
        && kind == "rados"
    {
        return cluster::bulk(pool, Path::new(conf), bytes.parse()?, count.parse()?);
    }
    let parent = std::env::args_os().nth(1).map_or_else(std::env::temp_dir, PathBuf::from);
    let folder = tempfile::tempdir_in(parent)?;
    bulk(folder.path())?;
    for batch in [1_000, 10_000] {
        puts(folder.path(), batch)?;
    }
    gets(folder.path())
}

/// Seconds that work takes.
fn seconds(work: impl FnOnce() -> Outcome<()>) -> Outcome<f64> {
    let start = Instant::now();
    work()?;
    Ok(start.elapsed().as_secs_f64())
}

/// The chunks, parted over threads.
fn by_threads(work: impl Fn(u64, &mut [u8]) -> Outcome<()> + Sync) -> Outcome<()> {
    let work = &work;
    thread::scope(|scope| {
        let part = |thread: u64| {
            move || {
                let mut buffer = vec![thread as u8; CHUNK_BYTES];
                (thread..CHUNKS).step_by(THREADS as usize).try_for_each(|chunk| work(chunk, &mut buffer))
            }
        };
        let threads: Vec<_> = (0..THREADS).map(|thread| scope.spawn(part(thread))).collect();
        threads.into_iter().try_for_each(|thread| thread.join().map_err(|_| "a thread stopped")?)
    })
}

fn dkey(chunk: u64) -> [u8; 9] {
    let mut dkey = [0; 9];
    dkey[1..].copy_from_slice(&chunk.to_le_bytes());
    dkey
}

fn write_chunk(store: &dyn Store, chunk: u64, bytes: &[u8]) -> Outcome<()> {
    let changes = [Change::Records { akey: b"\0", record_size: 4, start: 0, bytes }];
    let dkey = dkey(chunk);
    store.update(&Update {
        object: OBJECT,
        dkey: &dkey,
        changes: &changes,
        conditions: &[],
        phase: Phase::Content,
    })?;
    Ok(())
}

fn bulk(folder: &Path) -> Outcome<()> {
    let (mut plain_write, mut plain_read, mut write, mut read) = (f64::MAX, f64::MAX, f64::MAX, f64::MAX);
    for round in 0..3 {
        let path = folder.join("plain");
        let file = File::options().read(true).write(true).create(true).truncate(true).open(&path)?;
        let at = |chunk: u64| chunk * CHUNK_BYTES as u64;
        plain_write = plain_write.min(seconds(|| {
            by_threads(|chunk, bytes| Ok(file.write_all_at(bytes, at(chunk))?))?;
            Ok(file.sync_data()?)
        })?);
        plain_read =
            plain_read.min(seconds(|| by_threads(|chunk, into| Ok(file.read_exact_at(into, at(chunk))?)))?);
        drop(file);
        std::fs::remove_file(path)?;

        let pool = embedded::pool(&folder.join("pool"));
        let id = ContainerId::from_name(&format!("bulk {round}"));
        let store = pool.create(id)?;
        write = write.min(seconds(|| {
            by_threads(|chunk, bytes| write_chunk(&*store, chunk, bytes))?;
            Ok(store.flush()?)
        })?);
        drop(store);
        let store = pool.open(id, Mode::Read)?;
        let fetch = |chunk: u64, into: &mut [u8]| {
            let dkey = dkey(chunk);
            let fetch = Fetch { object: OBJECT, dkey: &dkey, akey: b"\0", record_size: 4, start: 0, into };
            Ok(store.fetch(&mut [fetch])?)
        };
        read = read.min(seconds(|| by_threads(fetch))?);
        drop(store);
        pool.destroy(id)?;
    }
    let rate = |seconds: f64| CHUNKS as f64 * CHUNK_BYTES as f64 / seconds / 1e6;
    println!("1 GiB in 1 MiB arrays, {THREADS} threads");
    println!("  write {:6.0} MB/s, plain {:6.0}: {:.2}", rate(write), rate(plain_write), plain_write / write);
    println!("  read  {:6.0} MB/s, plain {:6.0}: {:.2}", rate(read), rate(plain_read), plain_read / read);
    Ok(())
}

/// Keys that do not come in order.
fn map_key(i: u64) -> [u8; 16] {
    let mut key = [0; 16];
    key[..8].copy_from_slice(&i.wrapping_mul(0x9e37_79b9_7f4a_7c15).to_be_bytes());
    key[8..].copy_from_slice(&i.to_le_bytes());
    key
}

fn puts(folder: &Path, batch: u64) -> Outcome<()> {
    let raw = seconds(|| raw_puts(&folder.join(format!("raw {batch}")), batch))?;
    let store =
        embedded::pool(&folder.join("pool")).create(ContainerId::from_name(&format!("puts {batch}")))?;
    let ours = seconds(|| {
        for start in (0..PUTS).step_by(batch as usize) {
            let keys: Vec<[u8; 16]> = (start..start + batch).map(map_key).collect();
            let changes: Vec<[Change<'_>; 1]> =
                keys.iter().map(|key| [Change::Single(b"MAP_AKEY", &key[8..])]).collect();
            let update = |(dkey, changes)| Update {
                object: OBJECT,
                dkey,
                changes,
                conditions: &[],
                phase: Phase::Content,
            };
            let updates: Vec<Update<'_>> =
                keys.iter().zip(&changes).map(|(key, changes)| update((&key[..], &changes[..]))).collect();
            store.update_many(&updates)?;
            store.flush()?;
        }
        Ok(())
    })?;
    println!(
        "1,000,000 puts in batches of {batch}: {:.0} a second, plain redb {:.0}: {:.2}",
        PUTS as f64 / ours,
        PUTS as f64 / raw,
        raw / ours
    );
    Ok(())
}

fn raw_puts(path: &Path, batch: u64) -> Outcome<()> {
    const TABLE: TableDefinition<'_, &[u8], &[u8]> = TableDefinition::new("raw");
    let database = Database::create(path)?;
    for start in (0..PUTS).step_by(batch as usize) {
        let transaction = database.begin_write()?;
        let mut table = transaction.open_table(TABLE)?;
        for i in start..start + batch {
            let key = map_key(i);
            table.insert(&key[..], &key[8..])?;
        }
        drop(table);
        transaction.commit()?;
    }
    Ok(())
}

fn gets(folder: &Path) -> Outcome<()> {
    let store = embedded::pool(&folder.join("pool")).open(ContainerId::from_name("puts 1000"), Mode::Read)?;
    let count = 200_000u64;
    let taken = seconds(|| {
        for i in 0..count {
            let key = map_key(i * 7919 % PUTS);
            let value = store.get(OBJECT, &key, &[b"MAP_AKEY"])?;
            assert_eq!(value[0].as_deref(), Some(&key[8..]));
        }
        Ok(())
    })?;
    println!("a random get: {:.2} µs", taken / count as f64 * 1e6);
    let start = Instant::now();
    let listed = store.dkeys(OBJECT, b"", usize::MAX)?.len();
    println!(
        "an ordered listing: {:.1} million dkeys a second",
        listed as f64 / start.elapsed().as_secs_f64() / 1e6
    );
    Ok(())
}
