//! One rank: writes its requests of a plan through the log connector, or as many bytes with nothing between.

use std::os::unix::fs::FileExt;
use std::sync::Arc;
use std::time::Instant;

use comm::{Comm, Mpi, Reduce};
use hyperslab::vol::model::properties::{DatasetCreate, FileCreate};
use hyperslab::vol::model::{Dataspace, Datatype, Selection, Token};
use hyperslab::vol::{Container, ContainerCreate, Durability, FileAccess, OpDatasetCreate, OpWrite, LinkLocation};
use log::LogContainer;

use crate::{Outcome, plan};

/// Bytes of one `pwrite` where there is nothing between.
const PLAIN_BYTES: usize = 1 << 20;

/// The datasets, with the number of the part each belongs to.
fn datasets(c: &LogContainer, parts: &[plan::Part]) -> Outcome<Vec<(usize, Token)>> {
    let root = Container::info(c)?.root;
    let mut datasets = Vec::new();
    for (n, part) in parts.iter().enumerate() {
        for variable in 0..part.variables {
            let space = Dataspace::simple(&part.dims)?;
            let place = Some(LinkLocation::new(root, format!("D{n}_{variable}")));
            let datatype = Datatype::native_int(8);
            let op =
                OpDatasetCreate { place, datatype, committed: None, space, create: DatasetCreate::default() };
            datasets.push((n, c.dataset_create(&op)?));
        }
    }
    Ok(datasets)
}

/// The slowest rank's microseconds; one rank prints them.
fn report(comm: &dyn Comm, times: &[u64]) -> Outcome<()> {
    let slowest = times.iter().map(|time| comm.allreduce(*time, Reduce::Max));
    let slowest = slowest.collect::<Result<Vec<_>, _>>()?;
    if comm.rank() == 0 {
        println!("{}", slowest.iter().map(u64::to_string).collect::<Vec<_>>().join(" "));
    }
    Ok(())
}

pub fn run(words: &[String]) -> Outcome<()> {
    let [plan, path, how] = words else { return Err("rank PLAN FILE posted|copied".into()) };
    let comm: Arc<dyn Comm> = Arc::new(Mpi::start()?);
    let parts = plan::read(plan)?;
    let connector = log::LogConnector::new(Arc::new(native::NativeConnector));
    let (create, access) =
        (FileCreate::default(), FileAccess { durability: Durability::None, ..FileAccess::write() });
    let op = ContainerCreate { truncate: true, ..ContainerCreate::new(path, &create, &access) };
    let c = connector.create_shared(comm.clone(), &op)?;
    let datasets = datasets(&c, &parts)?;
    c.commit(Durability::None)?;
    let values: Vec<u8> = (0..1 << 16).map(|n| n as u8).collect();
    comm.barrier()?;
    let start = Instant::now();
    let (mut posting, is_posted) = (c.posting(), how == "posted");
    let mut datasets = datasets.into_iter().peekable();
    for (n, part) in parts.iter().enumerate() {
        // One list of selections serves all variables of a shape.
        let own = &part.requests[comm.rank()];
        let block = |&[row, column, len]: &[u64; 3]| Selection::block(&[row, column], &[1, len]);
        let selections = own.iter().map(block).collect::<Result<Vec<_>, _>>()?;
        while let Some((_, dataset)) = datasets.next_if(|(of, _)| *of == n) {
            for (selection, [.., len]) in selections.iter().zip(own) {
                let from = &values[..*len as usize * 8];
                match is_posted {
                    true => posting.write(dataset, selection, from)?,
                    false => c.dataset_write(&[OpWrite { dataset, selection, from }])?,
                }
            }
        }
    }
    let written = start.elapsed().as_micros() as u64;
    posting.flush(Durability::None)?;
    let flushed = start.elapsed().as_micros() as u64;
    c.close()?;
    let closed = start.elapsed().as_micros() as u64;
    report(&*comm, &[closed, written, flushed])
}

/// As many bytes as the requests of this rank have, in one piece of a fresh file.
pub fn plain(words: &[String]) -> Outcome<()> {
    let [plan, path, ..] = words else { return Err("plain PLAN FILE".into()) };
    let comm = Mpi::start()?;
    let bytes = plan::bytes_of(&plan::read(plan)?, comm.rank());
    let (mut at, values) = (comm.exscan(bytes)?, vec![7; PLAIN_BYTES]);
    let end = at + bytes;
    comm.barrier()?;
    let start = Instant::now();
    let file = std::fs::File::options().create(true).truncate(false).write(true).open(path)?;
    while at < end {
        let len = (end - at).min(PLAIN_BYTES as u64);
        file.write_all_at(&values[..len as usize], at)?;
        at += len;
    }
    drop(file);
    comm.barrier()?;
    report(&comm, &[start.elapsed().as_micros() as u64])
}
