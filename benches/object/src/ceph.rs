//! On a Ceph cluster: 1,000 datasets, and 1 GiB in chunks of 4 MiB.

use std::sync::Arc;
use std::time::Duration;

use model::properties::{DatasetCreate, FileCreate, Layout};
use model::{Dataspace, Datatype, Error, Result, Selection};
use objects::{Change, ObjectId, Phase, Store, Update};
use vol::{Container, Durability, FileAccess, LinkLocation, OpDatasetCreate, OpRead, OpWrite};

use crate::{Bench, rate, timed};

const DATASETS: u64 = 1000;
/// Operations that are acknowledged one after another, for comparison.
const SINGLE: u64 = 200;
const CHUNKS: u64 = 256;
const CHUNK_BYTES: u64 = 4 << 20;
const AT_ONCE: u64 = 16;

fn stored(error: &objects::Error) -> Error {
    Error::new(model::Kind::Io, "use cluster").with("problem", error)
}

fn dataset(c: &dyn Container, name: &str, dims: &[u64], create: DatasetCreate) -> Result<model::Token> {
    let place = Some(LinkLocation::new(c.info()?.root, name));
    let (datatype, space) = (Datatype::native_uint(1), Dataspace::simple(dims)?);
    c.dataset_create(&OpDatasetCreate { place, datatype, committed: None, space, create })
}

fn datasets(c: &dyn Container) -> Result<()> {
    for n in 0..DATASETS {
        let data = dataset(c, &format!("dataset {n}"), &[10], DatasetCreate::default())?;
        c.dataset_write(&[OpWrite { dataset: data, selection: &Selection::All, from: &[n as u8; 10] }])?;
    }
    c.commit(Durability::Full)
}

/// How long one small change takes until it is acknowledged.
fn one_by_one(store: &dyn Store) -> Result<Duration> {
    let object = ObjectId { high: 0, low: 77 };
    let (time, ()) = timed(|| {
        for n in 0..SINGLE {
            let (dkey, changes) = (n.to_le_bytes(), [Change::Single(b"a", b"value")]);
            let phase = Phase::Content;
            let update = Update { object, dkey: &dkey, changes: &changes, conditions: &[], phase };
            store.update_now(&update).map_err(|error| stored(&error))?;
        }
        Ok(())
    })?;
    Ok(time / SINGLE as u32)
}

fn bulk(c: &dyn Container) -> Result<[Duration; 2]> {
    let create = DatasetCreate { layout: Layout::chunked(&[1, CHUNK_BYTES]), ..DatasetCreate::default() };
    let dataset = dataset(c, "bulk", &[CHUNKS, CHUNK_BYTES], create)?;
    let data: Vec<u8> = (0..AT_ONCE * CHUNK_BYTES).map(|n| (n / 7) as u8).collect();
    let mut into = vec![0; data.len()];
    let block = |first| Selection::block(&[first, 0], &[AT_ONCE, CHUNK_BYTES]);
    let (written, ()) = timed(|| {
        for first in (0..CHUNKS).step_by(AT_ONCE as usize) {
            c.dataset_write(&[OpWrite { dataset, selection: &block(first)?, from: &data }])?;
        }
        c.commit(Durability::Full)
    })?;
    let (read, ()) = timed(|| {
        for first in (0..CHUNKS).step_by(AT_ONCE as usize) {
            c.dataset_read(&mut [OpRead { dataset, selection: &block(first)?, into: &mut into }])?;
        }
        Ok(())
    })?;
    assert!(into == data, "what was read is not what was written");
    Ok([written, read])
}

pub(crate) fn run(bench: &Bench, conf: &str) -> Result<()> {
    let name = format!("bench-{}", std::process::id());
    let pool = objects::rados::pool("p3", Some(conf.as_ref())).map_err(|error| stored(&error))?;
    let id = objects::ContainerId::from_name(&format!("{name}-single"));
    let store: Arc<dyn Store> = pool.create(id).map_err(|error| stored(&error))?;
    let single = one_by_one(&*store)?;
    drop(store);
    pool.destroy(id).map_err(|error| stored(&error))?;
    let location = format!("object+rados:p3/{name}?conf={conf}");
    let c = bench.registry.create(&location, &FileCreate::default(), &FileAccess::write(), true)?;
    let (made, ()) = timed(|| datasets(&*c))?;
    // A dataset is at least three changes: what it is, its elements, its link.
    let alone = single * 3 * DATASETS as u32;
    println!(
        "Ceph, {DATASETS} datasets: {:.0} ms; one acknowledged change takes {:.2} ms, three for each dataset would take {:.0} ms, ratio {:.1}",
        made.as_secs_f64() * 1e3,
        single.as_secs_f64() * 1e3,
        alone.as_secs_f64() * 1e3,
        alone.as_secs_f64() / made.as_secs_f64()
    );
    let [written, read] = bulk(&*c)?;
    let bytes = CHUNKS * CHUNK_BYTES;
    println!(
        "Ceph, 1 GiB in 4 MiB chunks: write {:.0} MB/s, read {:.0} MB/s",
        rate(bytes, written),
        rate(bytes, read)
    );
    c.close()?;
    bench.registry.delete(&location, &FileAccess::write())
}
