//! One rank: writes its requests of a plan through the log connector.

use std::sync::Arc;
use std::time::Instant;

use comm::{Comm, Mpi, Reduce};
use hyperslab::model::properties::{DatasetCreate, FileCreate};
use hyperslab::model::{Dataspace, Datatype, Selection};
use hyperslab::vol::{Container, ContainerCreate, Durability, FileAccess, OpDatasetCreate, OpWrite, Place};

use crate::{Outcome, plan};

pub fn run(words: &[String]) -> Outcome<()> {
    let [plan, path] = words else { return Err("rank PLAN FILE".into()) };
    let comm: Arc<dyn Comm> = Arc::new(Mpi::start()?);
    let parts = plan::read(plan)?;
    let connector = log::LogConnector::new(Arc::new(native::NativeConnector));
    let (create, access) =
        (FileCreate::default(), FileAccess { durability: Durability::None, ..FileAccess::write() });
    let op = ContainerCreate { truncate: true, ..ContainerCreate::new(path, &create, &access) };
    let c = connector.create_shared(comm.clone(), &op)?;
    let root = Container::info(&*c)?.root;
    let mut datasets = Vec::new();
    for (n, part) in parts.iter().enumerate() {
        for variable in 0..part.variables {
            let space = Dataspace::simple(&part.dims)?;
            let place = Some(Place::new(root, format!("D{n}_{variable}")));
            let datatype = Datatype::native_int(8);
            let op =
                OpDatasetCreate { place, datatype, committed: None, space, create: DatasetCreate::default() };
            datasets.push((n, c.dataset_create(&op)?));
        }
    }
    c.commit(Durability::None)?;
    let values: Vec<u8> = (0..1 << 16).map(|n| n as u8).collect();
    comm.barrier()?;
    let start = Instant::now();
    for (n, dataset) in datasets {
        for &[row, column, len] in &parts[n].requests[comm.rank()] {
            let selection = Selection::block(&[row, column], &[1, len])?;
            c.dataset_write(&[OpWrite {
                dataset,
                selection: &selection,
                from: &values[..len as usize * 8],
            }])?;
        }
    }
    let written = start.elapsed().as_micros() as u64;
    c.commit(Durability::None)?;
    let flushed = start.elapsed().as_micros() as u64;
    c.close()?;
    let closed = start.elapsed().as_micros() as u64;
    let slowest = |time| comm.allreduce(time, Reduce::Max);
    let (written, flushed, closed) = (slowest(written)?, slowest(flushed)?, slowest(closed)?);
    if comm.rank() == 0 {
        println!("{closed} {written} {flushed}");
    }
    Ok(())
}
