//! 1,000,000 pairs of a map in batches, next to plain redb with the same batches.

use std::path::Path;
use std::time::Duration;

use model::properties::ObjectCreate;
use model::{Datatype, Error, Result};
use redb::{Database, TableDefinition};
use vol::{Container, Durability, LinkLocation, OpMapCreate};

use crate::{Bench, Side, keep, timed};

const PAIRS: u64 = 1_000_000;
const ROUNDS: usize = 2;

/// Keys in no order, as hashed names would be.
fn key(n: u64) -> [u8; 8] {
    n.wrapping_mul(0x9e37_79b9_7f4a_7c15).to_be_bytes()
}

fn put(c: &dyn Container, batch: u64) -> Result<()> {
    let place = Some(LinkLocation::new(c.info()?.root, "map"));
    let (key_type, value) = (Datatype::native_uint(8), Datatype::native_uint(8));
    let create = ObjectCreate::default();
    let map = c.map_create(&OpMapCreate { place, key: key_type, value, create })?;
    for first in (0..PAIRS).step_by(batch as usize) {
        let pairs: Vec<([u8; 8], [u8; 8])> =
            (first..first + batch).map(|n| (key(n), n.to_ne_bytes())).collect();
        let pairs: Vec<(&[u8], &[u8])> = pairs.iter().map(|(key, value)| (&key[..], &value[..])).collect();
        c.map_put(map, &pairs)?;
        c.commit(Durability::Full)?;
    }
    Ok(())
}

const TABLE: TableDefinition<'_, &[u8], &[u8]> = TableDefinition::new("pairs");

fn failed(error: impl Into<redb::Error>) -> Error {
    Error::new(model::Kind::Io, "use redb").with("problem", error.into())
}

fn put_plain(path: &Path, batch: u64) -> Result<()> {
    let database = Database::create(path).map_err(failed)?;
    for first in (0..PAIRS).step_by(batch as usize) {
        let write = database.begin_write().map_err(failed)?;
        let mut table = write.open_table(TABLE).map_err(failed)?;
        for n in first..first + batch {
            table.insert(&key(n)[..], &n.to_ne_bytes()[..]).map_err(failed)?;
        }
        drop(table);
        write.commit().map_err(failed)?;
    }
    Ok(())
}

pub(crate) fn run(bench: &Bench) -> Result<()> {
    for batch in [1000, 10_000] {
        let (mut plain, mut object) = (Duration::MAX, Duration::MAX);
        for _ in 0..ROUNDS {
            let path = bench.folder.join("plain.redb");
            keep(&mut plain, timed(|| put_plain(&path, batch))?.0);
            std::fs::remove_file(&path).map_err(|error| Error::io("remove file", &error))?;
            let c = bench.create(Side::Object, "map")?;
            keep(&mut object, timed(|| put(&*c, batch))?.0);
            c.close()?;
            bench.delete(Side::Object, "map")?;
        }
        let rate = |time: Duration| PAIRS as f64 / time.as_secs_f64() / 1e3;
        println!(
            "{PAIRS} map puts in batches of {batch}: object {:.0} k/s, redb {:.0} k/s, ratio {:.2}",
            rate(object),
            rate(plain),
            plain.as_secs_f64() / object.as_secs_f64()
        );
    }
    Ok(())
}
