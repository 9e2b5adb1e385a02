//! The cost model of docs/parallel.md: messages and bytes of a rank, by formula.

use std::sync::Arc;

use hyperslab::parallel::{Comm, Meter, Traffic};
use hyperslab::{Durability, File, Result, Selection};

use crate::common::{Scratch, on_ranks, together};

/// Bytes of the header with which every collective call begins and ends.
const HEADER: u64 = 21;

fn since(meter: &Meter, before: Traffic) -> Traffic {
    let now = meter.traffic();
    Traffic {
        calls: now.calls - before.calls,
        sent: now.sent - before.sent,
        received: now.received - before.received,
    }
}

/// What `calls` exchanges of headers cost.
fn headers(calls: u64, ranks: u64) -> Traffic {
    Traffic { calls, sent: calls * HEADER, received: calls * HEADER * ranks }
}

fn program(comm: Arc<dyn Comm>, scratch: &Scratch) -> Result<()> {
    let (rank, ranks) = (comm.rank() as u64, comm.size() as u64);
    let meter = Arc::new(Meter::new(comm));
    let file = File::create_parallel(meter.clone(), scratch.path())?;
    let count = 1 << 16;
    let before = meter.traffic();
    let data = file.new_dataset::<i32>().shape((ranks * count) as usize).create("data")?;
    let made = since(&meter, before);
    // One exchange of headers, one message of rank 0: the answer, and some hundred bytes that the next commit
    // overwrites.
    assert_eq!(made.calls, 2);
    assert!(made.received < HEADER * ranks + 4096, "{made:?}");
    let own = Selection::block(&[rank * count], &[count])?;
    let values = vec![rank as i32; count as usize];
    let before = meter.traffic();
    together(&data).write_selection(&own, &values)?;
    assert_eq!(since(&meter, before), headers(1, ranks), "no element is sent");
    let before = meter.traffic();
    assert_eq!(together(&data).read_selection::<i32>(&own)?, values);
    assert_eq!(since(&meter, before), headers(2, ranks));
    let before = meter.traffic();
    data.write_selection(&own, &values)?;
    assert_eq!(data.read_selection::<i32>(&own)?, values);
    assert_eq!(file.member_names()?, ["data"]);
    assert_eq!(since(&meter, before), Traffic::default(), "a rank alone says nothing");
    let before = meter.traffic();
    file.commit(Durability::Full)?;
    assert_eq!(since(&meter, before).calls, 3);
    // Committed elements go through rank 0, once.
    let before = meter.traffic();
    together(&data).write_selection(&own, &values)?;
    let overwritten = since(&meter, before);
    assert_eq!(overwritten.calls, 5, "{overwritten:?}");
    assert!(overwritten.sent >= if rank == 0 { 0 } else { 4 * count }, "{overwritten:?}");
    drop(data);
    scattered(&file, &meter, (rank, ranks))?;
    filtered(&file, &meter, (rank, ranks))?;
    texts(&file, &meter, (rank, ranks))?;
    file.close()
}

/// Small runs go to aggregators, each with 12 bytes that say where.
fn scattered(file: &File, meter: &Meter, (rank, ranks): (u64, u64)) -> Result<()> {
    let data = together(&file.new_dataset::<i32>().shape((1000 * ranks) as usize).create("scattered")?);
    let own = Selection::hyperslab(&[rank], &[ranks], &[1000], &[1])?;
    let before = meter.traffic();
    data.write_selection(&own, &[7; 1000])?;
    let spent = since(meter, before);
    assert_eq!(spent.calls, 3, "two exchanges of headers, one of elements");
    assert!(spent.sent <= 2 * HEADER + 1000 * (12 + 4), "{spent:?}");
    assert!(spent.received <= 2 * HEADER * ranks + 1000 * ranks * (12 + 4), "{spent:?}");
    Ok(())
}

/// A chunk of one rank alone is not sent.
fn filtered(file: &File, meter: &Meter, (rank, ranks): (u64, u64)) -> Result<()> {
    let new = file.new_dataset::<i32>().shape((1000 * ranks) as usize).chunk(1000);
    let data = together(&new.deflate(1).create("filtered")?);
    let own = Selection::block(&[1000 * rank], &[1000])?;
    let before = meter.traffic();
    data.write_selection(&own, &[7; 1000])?;
    let spent = since(meter, before);
    assert_eq!(spent.calls, 8, "{spent:?}");
    assert!(spent.sent < 4000 || rank == 0, "no element is sent: {spent:?}");
    Ok(())
}

fn texts(file: &File, meter: &Meter, (rank, ranks): (u64, u64)) -> Result<()> {
    let data = together(&file.new_dataset::<String>().shape(ranks as usize).create("texts")?);
    let before = meter.traffic();
    data.write_selection(&Selection::block(&[rank], &[1])?, &[format!("rank {rank}")])?;
    assert_eq!(since(meter, before).calls, 3);
    Ok(())
}

#[test]
fn one_rank_says_nothing() {
    let scratch = Scratch::new("traffic-1");
    let done = on_ranks(1, |comm| {
        let meter = Arc::new(Meter::new(comm));
        let file = File::create_parallel(meter.clone(), scratch.path())?;
        together(&file.new_dataset::<i32>().shape(10).create("data")?).write_raw(&[1; 10])?;
        file.close()?;
        assert_eq!(meter.traffic(), Traffic::default());
        Ok(())
    });
    done.into_iter().for_each(|done: Result<()>| done.unwrap());
}

#[test]
fn messages_and_bytes_are_those_of_the_cost_model() {
    for ranks in [2, 4, 8] {
        let scratch = Scratch::new(&format!("traffic-{ranks}"));
        on_ranks(ranks, |comm| program(comm, &scratch)).into_iter().for_each(|done| done.unwrap());
    }
}
