//! Rows added one at a time.

use hyperslab::UNLIMITED_DIM;
use ndarray::Array2;

use crate::data;
use crate::harness::{Amount, Bench, race, timed};
use crate::{Outcome, c};

const ROWS: usize = 100_000;
const COLUMNS: usize = 100;
const NAME: &str = "append 10⁵ rows of 100 f64";

pub(crate) fn run(bench: &mut Bench) -> Outcome<()> {
    if !bench.wants(&[NAME]) {
        return Ok(());
    }
    let row = Array2::from_shape_fn((1, COLUMNS), |(_, n)| n as f64);
    let values = row.as_slice().ok_or("a row lies in one piece")?;
    let (theirs, ours) = (bench.path("theirs.h5"), bench.path("ours.h5"));
    race(NAME, Amount::Calls(ROWS as u64))
        .at_least(3.0)
        .theirs(|| {
            let file = data::create_theirs(&theirs)?;
            timed(|| {
                let builder = file.new_dataset::<f64>().chunk((100, COLUMNS));
                let dataset = builder.shape((hdf5::Extent::resizable(0), COLUMNS)).create("x")?;
                for n in 0..ROWS as u64 {
                    dataset.resize((n as usize + 1, COLUMNS))?;
                    let space = c::Space::new(&[n + 1, COLUMNS as u64]);
                    space.select(&[n, 0], &[1, COLUMNS as u64])?;
                    c::write(&dataset, Some(&space), values)?;
                }
                drop(dataset);
                Ok(file.close()?)
            })
        })
        .ours(|| {
            let file = data::create(&ours)?;
            timed(|| {
                let builder =
                    file.new_dataset::<f64>().shape([0, COLUMNS]).max_shape([UNLIMITED_DIM, COLUMNS]);
                let dataset = builder.chunk([100, COLUMNS]).create("x")?;
                for _ in 0..ROWS {
                    dataset.append(0, &row)?;
                }
                Ok(file.close()?)
            })
        })
        .run(bench, || data::same::<f64>(&theirs, &ours, "x"))?;
    bench.remove(&["theirs.h5", "ours.h5"]);
    Ok(())
}
