//! Heat that spreads in a bar: every process computes a part of it, and all write one file.
//!
//! `cargo run -p parallel-writing --bin heat -- heat.h5` runs four threads in the place of processes;
//! `cargo build -p parallel-writing --features mpi` and `mpirun -n 4 target/debug/heat heat.h5` run four processes.

use std::sync::Arc;

use hyperslab::parallel::Comm;
use hyperslab::{File, Result, Transfer};
use ndarray::Array1;

/// Cells of each process, and steps in time.
const CELLS: usize = 1000;
const STEPS: usize = 10;

/// What one process does.
fn run(comm: Arc<dyn Comm>, path: &str) -> Result<()> {
    let (rank, ranks) = (comm.rank(), comm.size());
    // All processes make the calls that create and change something, with the same arguments.
    let file = File::create_parallel(comm, path)?;
    file.set_attr("processes", ranks as u32)?;
    let new = file.new_dataset::<f64>().shape((STEPS, ranks * CELLS)).chunk((1, CELLS));
    // Each chunk with filters has one owner, which compresses and writes it.
    let heat = new.shuffle().deflate(4).create("heat")?.with_transfer(Transfer::collective());
    let mut own = Array1::from_shape_fn(CELLS, |cell| if rank == 0 && cell == 0 { 1000.0 } else { 0.0 });
    for step in 0..STEPS {
        // All take part, each with its own cells.
        heat.write_slice(&own, (step, rank * CELLS..(rank + 1) * CELLS))?;
        own = spread(&own);
    }
    // One commit of all: whoever opens the file finds everything, or what was there before.
    drop(heat);
    file.close()
}

/// Every cell becomes the mean of itself and its neighbours of the same process.
fn spread(cells: &Array1<f64>) -> Array1<f64> {
    Array1::from_shape_fn(cells.len(), |n| {
        let near = n.saturating_sub(1)..(n + 2).min(cells.len());
        let count = near.len() as f64;
        near.map(|n| cells[n]).sum::<f64>() / count
    })
}

#[cfg(feature = "mpi")]
fn main() -> Result<()> {
    let comm: Arc<dyn Comm> = Arc::new(hyperslab::parallel::Mpi::start()?);
    run(comm, &path())
}

#[cfg(not(feature = "mpi"))]
fn main() -> Result<()> {
    let path = path();
    std::thread::scope(|scope| {
        let ranks = hyperslab::parallel::threads(4)
            .into_iter()
            .map(|comm| scope.spawn(|| run(Arc::new(comm), &path)));
        let ranks: Vec<_> = ranks.collect();
        ranks.into_iter().try_for_each(|rank| rank.join().expect("a thread panicked"))
    })
}

fn path() -> String {
    std::env::args().nth(1).unwrap_or_else(|| "heat.h5".to_owned())
}
