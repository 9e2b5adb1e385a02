//! One rank: the cases through Hyperslab. `rival.c` has the same through libhdf5.

use std::os::unix::fs::FileExt;
use std::sync::Arc;
use std::time::Instant;

use hyperslab::parallel::{Comm, Mpi, Reduce};
use hyperslab::vol::model::properties::FileCreate;
use hyperslab::{Dataset, Durability, File, FileAccess, Selection, Transfer};

use crate::Outcome;
use crate::numbers::{CALLS, Numbers, RUN_STEP, RUNS, measurements, runs};

/// Elements of the contiguous dataset: 1 GiB of them.
const LARGE: u64 = 1 << 27;
/// The chunked dataset: 256 MiB.
const ROWS: u64 = 8192;
const COLUMNS: u64 = 8192;
const CHUNK: usize = 256;
/// The many datasets, and their elements.
const DATASETS: usize = 1_000;
const SMALL: u64 = 1_000;

/// One process of the job.
struct Rank<'a> {
    comm: Arc<dyn Comm>,
    rank: u64,
    ranks: u64,
    path: &'a str,
}

pub fn run(case: &str, path: &str) -> Outcome<()> {
    let comm: Arc<dyn Comm> = Arc::new(Mpi::start()?);
    let rank = Rank { rank: comm.rank() as u64, ranks: comm.size() as u64, comm, path };
    let times = match case {
        "contiguous" => rank.contiguous()?,
        "blocks" => rank.blocks()?,
        "points" => rank.points()?,
        "calls" => rank.calls()?,
        "deflate" => rank.deflate()?,
        "datasets" => rank.datasets()?,
        _ => return Err(format!("no case {case}").into()),
    };
    for time in times {
        let slowest = rank.comm.allreduce((time * 1e6) as u64, Reduce::Max)?;
        if rank.rank == 0 {
            print!("{slowest} ");
        }
    }
    Ok(())
}

impl Rank<'_> {
    fn access() -> FileAccess {
        FileAccess { durability: Durability::None, ..FileAccess::write() }
    }

    fn create(&self) -> Outcome<File> {
        Ok(File::create_parallel_with(
            self.comm.clone(),
            self.path,
            &FileCreate::default(),
            &Self::access(),
            true,
        )?)
    }

    fn open(&self) -> Outcome<File> {
        Ok(File::open_parallel_with(self.comm.clone(), self.path, &FileAccess::read())?)
    }

    /// Returns the seconds that some work takes after all ranks are here. A file that was there is gone before.
    fn timed(&self, is_new: bool, work: impl FnOnce() -> Outcome<()>) -> Outcome<f64> {
        if is_new && self.rank == 0 {
            std::fs::remove_file(self.path).ok();
        }
        self.comm.barrier()?;
        let start = Instant::now();
        work()?;
        Ok(start.elapsed().as_secs_f64())
    }

    /// All ranks are done with the file.
    fn remove(&self) -> Outcome<()> {
        self.comm.barrier()?;
        if self.rank == 0 {
            std::fs::remove_file(self.path)?;
        }
        Ok(())
    }

    fn contiguous(&self) -> Outcome<Vec<f64>> {
        let own = LARGE / self.ranks;
        let selection = Selection::block(&[self.rank * own], &[own])?;
        let values: Vec<f64> = (0..own).map(|n| (self.rank * own + n) as f64).collect();
        let write = self.timed(true, || {
            let file = self.create()?;
            let data = collective(&file.new_dataset::<f64>().shape(LARGE as usize).create("data")?);
            data.write_selection(&selection, &values)?;
            Ok(file.close()?)
        })?;
        let mut found = vec![1.0; own as usize];
        let read = self.timed(false, || {
            let file = self.open()?;
            collective(&file.dataset("data")?).read_selection_into(&selection, &mut found)?;
            Ok(file.close()?)
        })?;
        check(found == values)?;
        let (plain_write, plain_read) = self.plain(&values)?;
        self.remove()?;
        Ok(vec![write, read, plain_write, plain_read])
    }

    /// The same bytes with system calls alone: what the machine gives.
    fn plain(&self, values: &[f64]) -> Outcome<(f64, f64)> {
        let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
        let mut into = vec![1; bytes.len()];
        let start = self.rank * bytes.len() as u64;
        let write = self.timed(true, || {
            let file = std::fs::File::options().create(true).truncate(false).write(true).open(self.path)?;
            file.write_all_at(&bytes, start)?;
            Ok(self.comm.barrier()?)
        })?;
        let read = self.timed(false, || {
            std::fs::File::open(self.path)?.read_exact_at(&mut into, start)?;
            Ok(self.comm.barrier()?)
        })?;
        check(into == bytes)?;
        Ok((write, read))
    }

    fn scattered(&self) -> u64 {
        RUNS * self.ranks * RUN_STEP
    }

    fn write_scattered(&self, selection: &Selection, values: &[i32]) -> Outcome<f64> {
        let seconds = self.timed(true, || {
            let file = self.create()?;
            let new = file.new_dataset::<i32>().shape(self.scattered() as usize);
            collective(&new.create("data")?).write_selection(selection, values)?;
            Ok(file.close()?)
        })?;
        let file = self.open()?;
        check(file.dataset("data")?.read_selection::<i32>(selection)? == values)?;
        file.close()?;
        self.remove()?;
        Ok(seconds)
    }

    fn blocks(&self) -> Outcome<Vec<f64>> {
        let runs = runs(self.rank, self.ranks);
        let corners: Vec<u64> = runs.iter().flat_map(|(start, len)| [*start, start + len - 1]).collect();
        let selection = Selection::union_of_blocks(1, &corners)?;
        let count: u64 = runs.iter().map(|(_, len)| len).sum();
        let values: Vec<i32> = (0..count).map(|n| n as i32 * 2 + self.rank as i32).collect();
        Ok(vec![self.write_scattered(&selection, &values)?])
    }

    fn points(&self) -> Outcome<Vec<f64>> {
        let mut places: Vec<u64> = runs(self.rank, self.ranks).iter().map(|(start, _)| *start).collect();
        let mut numbers = Numbers::new(99);
        for n in (1..places.len()).rev() {
            places.swap(n, numbers.below(n as u64 + 1) as usize);
        }
        let values: Vec<i32> = (0..places.len()).map(|n| n as i32 * 2 + self.rank as i32).collect();
        Ok(vec![self.write_scattered(&Selection::points(1, places)?, &values)?])
    }

    fn calls(&self) -> Outcome<Vec<f64>> {
        let runs = runs(self.rank, self.ranks);
        let values = [self.rank as i32; 8];
        let write = |data: &Dataset| -> Outcome<()> {
            for (start, len) in &runs[..CALLS as usize] {
                data.write_selection(&Selection::block(&[*start], &[*len])?, &values[..*len as usize])?;
            }
            Ok(())
        };
        let mut times = Vec::new();
        for is_collective in [true, false] {
            times.push(self.timed(true, || {
                let file = self.create()?;
                let data = file.new_dataset::<i32>().shape(self.scattered() as usize).create("data")?;
                write(&if is_collective { collective(&data) } else { data })?;
                Ok(file.close()?)
            })?);
        }
        self.remove()?;
        Ok(times)
    }

    fn deflate(&self) -> Outcome<Vec<f64>> {
        let own = ROWS / self.ranks;
        let selection = Selection::block(&[self.rank * own, 0], &[own, COLUMNS])?;
        let values = measurements(self.rank, (own * COLUMNS) as usize);
        let write = self.timed(true, || {
            let file = self.create()?;
            let new = file.new_dataset::<f32>().shape((ROWS as usize, COLUMNS as usize));
            let data = new.chunk((CHUNK, CHUNK)).shuffle().deflate(4).create("data")?;
            collective(&data).write_selection(&selection, &values)?;
            Ok(file.close()?)
        })?;
        let mut found = vec![1.0; values.len()];
        let read = self.timed(false, || {
            let file = self.open()?;
            collective(&file.dataset("data")?).read_selection_into(&selection, &mut found)?;
            Ok(file.close()?)
        })?;
        check(found == values)?;
        self.remove()?;
        Ok(vec![write, read])
    }

    fn datasets(&self) -> Outcome<Vec<f64>> {
        let own = SMALL / self.ranks;
        let selection = Selection::block(&[self.rank * own], &[own])?;
        let values: Vec<f64> = (0..own).map(|n| (self.rank * own + n) as f64).collect();
        let write = self.timed(true, || {
            let file = self.create()?;
            for n in 0..DATASETS {
                let new = file.new_dataset::<f64>().shape(SMALL as usize);
                let data = new.create(format!("d{n:04}").as_str())?;
                collective(&data).write_selection(&selection, &values)?;
            }
            Ok(file.close()?)
        })?;
        self.remove()?;
        Ok(vec![write])
    }
}

fn collective(data: &Dataset) -> Dataset {
    data.with_transfer(Transfer::collective())
}

fn check(is_right: bool) -> Outcome<()> {
    if is_right { Ok(()) } else { Err("elements are not those that were written".into()) }
}
