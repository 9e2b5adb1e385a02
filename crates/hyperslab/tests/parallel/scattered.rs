//! Small scattered elements, which aggregators write.

use std::sync::Arc;

use hyperslab::parallel::{Meter, ParallelAccess};
use hyperslab::{File, FileAccess, Result, Selection};

use crate::common::{Scratch, on_ranks, others_agree, together};

const COUNT: u64 = 30_000;

/// Every `3 * ranks`th element from that of the rank on; others are gaps.
fn own_points(rank: u64, ranks: u64) -> Vec<u64> {
    (0..COUNT / (3 * ranks)).map(|n| (n * ranks + rank) * 3).collect()
}

fn value(at: u64, round: i32) -> i32 {
    at as i32 * 10 + round
}

fn write_points(data: &hyperslab::Dataset, mut points: Vec<u64>, round: i32) -> Result<()> {
    // In the order of a caller who does not care.
    points.sort_by_key(|at| (at * 7919) % 104_729);
    let values: Vec<i32> = points.iter().map(|at| value(*at, round)).collect();
    together(data).write_selection(&Selection::points(1, points)?, &values)
}

/// Returns what the dataset has at an index after independent writes to gaps and scattered ones in `round`.
fn expected(at: u64, round: i32) -> i32 {
    [value(at, round), -1, -2][at as usize % 3]
}

fn program(file: &File, rank: u64, ranks: u64) -> Result<()> {
    let new = || file.new_dataset::<i32>().fill_value(&-1).shape(COUNT as usize);
    let datasets = [new().create("contiguous")?, new().chunk(777).create("chunked")?];
    for data in &datasets {
        // Each rank writes gaps of its own, without a word: aggregators must not write others there.
        let gaps: Vec<u64> = (rank..COUNT / 3).step_by(ranks as usize).map(|n| n * 3 + 2).collect();
        let values = vec![-2; gaps.len()];
        data.write_selection(&Selection::points(1, gaps)?, &values)?;
        write_points(data, own_points(rank, ranks), 1)?;
    }
    file.flush()?;
    datasets.iter().for_each(|data| check(data, 1));
    // What is committed goes through rank 0.
    datasets.iter().try_for_each(|data| write_points(data, own_points(rank, ranks), 2))?;
    datasets.iter().for_each(|data| check(data, 2));
    Ok(())
}

fn check(data: &hyperslab::Dataset, round: i32) {
    // The last elements belong to no rank.
    let found = data.read_raw::<i32>().unwrap();
    for (at, found) in found[..29_970].iter().enumerate() {
        assert_eq!(*found, expected(at as u64, round), "{} at {at} in round {round}", data.name());
    }
}

#[test]
fn gaps_between_scattered_elements_keep_what_ranks_wrote() {
    let options = [
        ParallelAccess::default(),
        ParallelAccess { aggregators: Some(1), ..ParallelAccess::default() },
        ParallelAccess { aggregators: Some(2), stripe_bytes: Some(1000), ..ParallelAccess::default() },
        ParallelAccess { aggregators: Some(99), stripe_bytes: Some(1 << 40), ..ParallelAccess::default() },
    ];
    for (n, parallel) in options.into_iter().enumerate() {
        for ranks in [2, 4] {
            let scratch = Scratch::new(&format!("scattered-{n}-{ranks}"));
            let done = on_ranks(ranks, |comm| {
                let rank = comm.rank() as u64;
                let access = FileAccess { parallel, ..FileAccess::write() };
                let location = scratch.path().to_str().expect("a path");
                let file = File::create_parallel_with(comm, location, &Default::default(), &access, true)?;
                program(&file, rank, ranks as u64)?;
                file.close()
            });
            done.into_iter().for_each(|done| done.unwrap());
            others_agree(
                &scratch,
                "assert (f['contiguous'][:29970:3] == np.arange(0, 299700, 30) + 2).all()",
            );
        }
    }
}

#[test]
fn one_scattered_rank_makes_all_take_part() {
    let scratch = Scratch::new("one-scattered");
    let done = on_ranks(3, |comm| {
        let (rank, meter) = (comm.rank() as u64, Arc::new(Meter::new(comm)));
        let file = File::create_parallel(meter.clone(), scratch.path())?;
        let data = together(&file.new_dataset::<i32>().shape(30_000).create("data")?);
        let selection = match rank {
            0 => Selection::hyperslab(&[0], &[10], &[1000], &[1])?,
            1 => Selection::block(&[10_000], &[10_000])?,
            _ => Selection::None,
        };
        let count = [1000, 10_000, 0][rank as usize];
        let before = meter.traffic();
        data.write_selection(&selection, &vec![7; count])?;
        assert_eq!(meter.traffic().calls - before.calls, 3, "two of headers, one of elements");
        let found = data.read_raw::<i32>()?;
        assert!(found.iter().enumerate().all(|(n, value)| {
            *value == if n < 10_000 && n % 10 == 0 || (10_000..20_000).contains(&n) { 7 } else { 0 }
        }));
        drop(data);
        file.close()
    });
    done.into_iter().for_each(|done: Result<()>| done.unwrap());
}

#[test]
fn ranks_with_other_options_are_named() {
    let scratch = Scratch::new("other-options");
    let done = on_ranks(2, |comm| {
        let parallel =
            ParallelAccess { aggregators: Some(1 + comm.rank() as u32), ..ParallelAccess::default() };
        let access = FileAccess { parallel, ..FileAccess::write() };
        let location = scratch.path().to_str().expect("a path").to_owned();
        File::create_parallel_with(comm, &location, &Default::default(), &access, true).map(drop)
    });
    for done in done {
        let text = done.unwrap_err().to_string();
        assert!(text.contains("ranks unlike rank 0"), "{text}");
    }
}

#[test]
fn reads_of_structure_are_collective_where_asked() {
    let scratch = Scratch::new("collective-metadata");
    let done = on_ranks(3, |comm| {
        let meter = Arc::new(Meter::new(comm));
        let parallel = ParallelAccess { collective_metadata: true, ..ParallelAccess::default() };
        let access = FileAccess { parallel, ..FileAccess::write() };
        let location = scratch.path().to_str().expect("a path");
        let file = File::create_parallel_with(meter.clone(), location, &Default::default(), &access, true)?;
        file.new_dataset::<i32>().shape(10).create("data")?.set_attr("step", 3)?;
        let before = meter.traffic();
        let data = file.dataset("data")?;
        assert!(meter.traffic().calls > before.calls, "rank 0 reads for all");
        assert_eq!(data.attr("step")?.read_scalar::<i32>()?, 3);
        together(&data).write_raw(&[1; 10])?;
        assert_eq!(data.read_raw::<i32>()?, [1; 10], "elements are each rank's own");
        assert_eq!(file.member_names()?, ["data"]);
        drop(data);
        file.close()
    });
    done.into_iter().for_each(|done: Result<()>| done.unwrap());
}
