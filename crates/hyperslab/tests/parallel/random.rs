//! Random programs: all ranks make the same calls, but for those in which one shall disagree.

use hyperslab::parallel::Comm;
use hyperslab::{Dataset, File, Result, Selection};

use crate::common::{Scratch, rows, together};

const COLUMNS: u64 = 6;

/// Numbers that look random, the same for all ranks.
struct Numbers(u64);

impl Numbers {
    fn next(&mut self, below: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % below
    }
}

/// A dataset, and what is in it.
struct Known {
    dataset: Dataset,
    filtered: bool,
    rows: Vec<Vec<i32>>,
}

impl Known {
    fn create(file: &File, numbers: &mut Numbers, name: &str) -> Result<Known> {
        let (layout, count) = (numbers.next(3), 1 + numbers.next(20));
        let new = file.new_dataset::<i32>().fill_value(&-1).shape([
            hyperslab::Extent::resizable(count as usize),
            hyperslab::Extent::fixed(COLUMNS as usize),
        ]);
        let fixed = file.new_dataset::<i32>().fill_value(&-1).shape((count as usize, COLUMNS as usize));
        let dataset = match layout {
            0 => fixed.create(name)?,
            1 => new.chunk((3, 4)).create(name)?,
            _ => new.chunk((3, 4)).shuffle().deflate(2).create(name)?,
        };
        Ok(Known { dataset, filtered: layout == 2, rows: vec![vec![-1; COLUMNS as usize]; count as usize] })
    }

    /// Every rank writes some rows, at random; all know what the others write.
    fn write(&mut self, numbers: &mut Numbers, (rank, ranks): (u64, u64)) -> Result<()> {
        let is_collective = self.filtered || numbers.next(2) == 0;
        let count = self.rows.len() as u64;
        let (each, value) = (count / ranks, numbers.next(1000) as i32);
        let skipped = numbers.next(each + 1);
        for writer in 0..ranks {
            for row in writer * each..writer * each + each - skipped {
                self.rows[row as usize] = (0..COLUMNS).map(|n| value + (row * COLUMNS + n) as i32).collect();
            }
        }
        let own = rows(rank * each, each - skipped, COLUMNS);
        let start = (rank * each) as usize;
        let values = self.rows[start..start + (each - skipped) as usize].concat();
        match is_collective {
            true => together(&self.dataset).write_selection(&own, &values),
            false => self.dataset.write_selection(&own, &values),
        }
    }

    fn resize(&mut self, numbers: &mut Numbers) -> Result<()> {
        if !self.dataset.is_resizable() {
            return Ok(());
        }
        let count = 1 + numbers.next(24) as usize;
        self.rows.resize(count, vec![-1; COLUMNS as usize]);
        self.dataset.resize([count, COLUMNS as usize])
    }

    fn check(&self) -> Result<()> {
        assert_eq!(self.dataset.read_raw::<i32>()?, self.rows.concat(), "{}", self.dataset.name());
        Ok(())
    }
}

/// One rank does something else: all get an error, and go on.
fn disagree(file: &File, numbers: &mut Numbers, (rank, ranks): (u64, u64)) {
    let (kind, odd) = (numbers.next(3), numbers.next(ranks));
    if ranks == 1 {
        return;
    }
    let done = match (kind, rank == odd) {
        (0, true) => file.flush(),
        (0, false) | (1, false) => file.create_group("never").map(drop),
        (1, true) => file.create_group("never at all").map(drop),
        (_, true) => file.set_attr("never", 1).map(drop),
        (_, false) => file.flush(),
    };
    let text = done.unwrap_err().to_string();
    assert!(text.contains("rank"), "{text}");
}

/// Runs a random program on one rank.
pub(crate) fn program(comm: &std::sync::Arc<dyn Comm>, scratch: &Scratch, seed: u64) -> Result<()> {
    let place = (comm.rank() as u64, comm.size() as u64);
    let mut numbers = Numbers(seed);
    let mut file = File::create_parallel(comm.clone(), scratch.path())?;
    let mut known: Vec<Known> = Vec::new();
    for step in 0..60 {
        match numbers.next(12) {
            0 | 1 => known.push(Known::create(&file, &mut numbers, &format!("d{step}"))?),
            2..=6 if !known.is_empty() => {
                let chosen = numbers.next(known.len() as u64) as usize;
                known[chosen].write(&mut numbers, place)?;
            }
            7 if !known.is_empty() => {
                let chosen = numbers.next(known.len() as u64) as usize;
                known[chosen].resize(&mut numbers)?;
            }
            8 => {
                file.flush()?;
                known.iter().try_for_each(Known::check)?;
            }
            9 => {
                file.create_group(&format!("g{step}"))?.set_attr("step", step)?;
            }
            10 => disagree(&file, &mut numbers, place),
            11 if step % 3 == 0 => {
                let names: Vec<String> = known.iter().map(|known| known.dataset.name().to_owned()).collect();
                let contents: Vec<_> = known.drain(..).map(|k| (k.filtered, k.rows)).collect();
                file.close()?;
                file = File::open_parallel(comm.clone(), scratch.path())?;
                for (name, (filtered, rows)) in names.iter().zip(contents) {
                    known.push(Known { dataset: file.dataset(name)?, filtered, rows });
                }
            }
            _ => {}
        }
    }
    file.flush()?;
    known.iter().try_for_each(Known::check)?;
    together_none(&known)?;
    drop(known);
    file.close()
}

/// Collective reads of nothing.
fn together_none(known: &[Known]) -> Result<()> {
    known.iter().try_for_each(|known| {
        assert!(together(&known.dataset).read_selection::<i32>(&Selection::None)?.is_empty());
        Ok(())
    })
}

#[test]
fn random_programs_leave_what_their_ranks_wrote() {
    use crate::common::{on_ranks, others_agree};

    for (seed, ranks) in [(1, 1), (2, 2), (3, 3), (4, 4), (5, 2), (6, 3), (7, 8), (8, 2), (9, 4), (10, 3)] {
        let scratch = Scratch::new(&format!("random-{seed}"));
        for (rank, done) in on_ranks(ranks, |comm| program(&comm, &scratch, seed)).into_iter().enumerate() {
            done.unwrap_or_else(|error| panic!("seed {seed}, rank {rank} of {ranks}: {error}"));
        }
        others_agree(&scratch, "f.visititems(lambda n, o: o[...] if isinstance(o, h5py.Dataset) else None)");
    }
}
