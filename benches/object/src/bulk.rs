//! 1 GiB in chunks of 1 MiB, without filters.

use std::time::Duration;

use model::properties::{DatasetCreate, Layout};
use model::{ByteOrder, Dataspace, Datatype, Result, Selection, Token};
use vol::{Container, Durability, LinkLocation, OpDatasetCreate, OpRead, OpWrite};

use crate::{Bench, Side, keep, rate, timed};

const CHUNKS: u64 = 1024;
const CHUNK_ELEMENTS: u64 = 1 << 17;
const BYTES: u64 = CHUNKS * CHUNK_ELEMENTS * 8;
/// Chunks of one call.
const AT_ONCE: u64 = 64;
const ROUNDS: usize = 3;

fn write(c: &dyn Container, data: &[u8]) -> Result<()> {
    let place = Some(LinkLocation::new(c.info()?.root, "d"));
    let create = DatasetCreate { layout: Layout::chunked(&[1, CHUNK_ELEMENTS]), ..DatasetCreate::default() };
    let (datatype, space) =
        (Datatype::ieee_f64(ByteOrder::Little), Dataspace::simple(&[CHUNKS, CHUNK_ELEMENTS])?);
    let dataset = c.dataset_create(&OpDatasetCreate { place, datatype, committed: None, space, create })?;
    for first in (0..CHUNKS).step_by(AT_ONCE as usize) {
        let selection = Selection::block(&[first, 0], &[AT_ONCE, CHUNK_ELEMENTS])?;
        c.dataset_write(&[OpWrite { dataset, selection: &selection, from: data }])?;
    }
    c.commit(Durability::Full)
}

fn read(c: &dyn Container, dataset: Token, into: &mut [u8]) -> Result<()> {
    for first in (0..CHUNKS).step_by(AT_ONCE as usize) {
        let selection = Selection::block(&[first, 0], &[AT_ONCE, CHUNK_ELEMENTS])?;
        c.dataset_read(&mut [OpRead { dataset, selection: &selection, into }])?;
    }
    Ok(())
}

pub(crate) fn run(bench: &Bench) -> Result<()> {
    let bytes = (AT_ONCE * CHUNK_ELEMENTS * 8) as usize;
    let data: Vec<u8> = (0..bytes).map(|n| (n / 7) as u8).collect();
    let mut into = vec![0; bytes];
    let sides = [Side::Native, Side::Object];
    let (mut writes, mut reads) = ([Duration::MAX; 2], [Duration::MAX; 2]);
    for _ in 0..ROUNDS {
        for (n, side) in sides.into_iter().enumerate() {
            let c = bench.create(side, "bulk")?;
            keep(&mut writes[n], timed(|| write(&*c, &data))?.0);
            c.close()?;
            let c = bench.open(side, "bulk")?;
            let dataset = vol::path::token(&*c, c.info()?.root, "d", 16)?;
            keep(&mut reads[n], timed(|| read(&*c, dataset, &mut into))?.0);
            assert!(into == data, "what was read is not what was written");
            c.close()?;
            bench.delete(side, "bulk")?;
        }
    }
    for (what, [native, object]) in [("write", writes), ("read", reads)] {
        println!(
            "1 GiB in 1 MiB chunks, {what}: object {:.0} MB/s, native {:.0} MB/s, ratio {:.2}",
            rate(BYTES, object),
            rate(BYTES, native),
            native.as_secs_f64() / object.as_secs_f64()
        );
    }
    Ok(())
}
