//! One rank: defines and writes the variables of a plan through the log connector, reads them back, or writes as many
//! bytes with nothing between.

use std::collections::HashMap;
use std::os::unix::fs::FileExt;
use std::sync::Arc;
use std::time::Instant;

use comm::{Comm, Mpi, Reduce};
use hyperslab::vol::model::datatype::{ByteOrder, StringPad};
use hyperslab::vol::model::properties::{DatasetCreate, FileCreate, Fill, FillValue, Layout};
use hyperslab::vol::model::{CharacterSet, Dataspace, Datatype, Selection, Token, UNLIMITED};
use hyperslab::vol::{
    Container, ContainerCreate, ContainerOpen, Durability, FileAccess, LinkLocation, OpAttributeCreate,
    OpDatasetCreate, OpRead, OpWrite, path,
};
use log::LogContainer;

use crate::Outcome;
use crate::cases::{Kind, Variable};
use crate::plan::{self, Plan};

/// Bytes of one `pwrite` where there is nothing between.
const PLAIN_BYTES: usize = 1 << 20;
/// The fill value of climate models.
const FILL: f32 = 1e20;

fn datatype(kind: Kind) -> Datatype {
    match kind {
        Kind::Float => Datatype::ieee_f32(ByteOrder::NATIVE),
        Kind::Double => Datatype::ieee_f64(ByteOrder::NATIVE),
        Kind::Int => Datatype::native_int(4),
        Kind::Char => Datatype::native_uint(1),
    }
}

/// Returns an element that a reader knows: which variable, which record, where.
fn element(variable: usize, record: u64, at: u64) -> u64 {
    (variable as u64 * 7 + record * 131 + at) % 200 + 1
}

fn put_element(kind: Kind, value: u64, out: &mut Vec<u8>) {
    match kind {
        Kind::Float => out.extend((value as f32).to_ne_bytes()),
        Kind::Double => out.extend((value as f64).to_ne_bytes()),
        Kind::Int => out.extend((value as i32).to_ne_bytes()),
        Kind::Char => out.push(value as u8),
    }
}

fn attribute(c: &LogContainer, object: Token, name: &str, datatype: Datatype, value: &[u8]) -> Outcome<()> {
    c.attribute_create(&OpAttributeCreate {
        object,
        name: name.to_owned(),
        charset: CharacterSet::Ascii,
        datatype,
        committed: None,
        space: Dataspace::Scalar,
    })?;
    Ok(c.attribute_write(object, name, value)?)
}

fn text(value: &str) -> Datatype {
    Datatype::fixed_string(value.len() as u32, StringPad::NullPadded, CharacterSet::Ascii)
}

/// Defines a variable as the model does, with its attributes.
fn define(c: &LogContainer, root: Token, variable: &Variable) -> Outcome<Token> {
    let (mut dims, mut max) = (variable.dims.clone(), variable.dims.clone());
    let mut create = DatasetCreate::default();
    if variable.is_record {
        create.layout = Layout::chunked(&[&[1], dims.as_slice()].concat());
        dims.insert(0, 0);
        max.insert(0, UNLIMITED);
    }
    if variable.has_fill {
        create.fill = Fill { value: FillValue::Value(FILL.to_ne_bytes().to_vec()), ..Fill::default() };
    }
    let space = if dims.is_empty() { Dataspace::Scalar } else { Dataspace::resizable(&dims, &max)? };
    let place = Some(LinkLocation::new(root, variable.name.as_str()));
    let op = OpDatasetCreate { place, datatype: datatype(variable.kind), committed: None, space, create };
    let dataset = c.dataset_create(&op)?;
    let long_name = format!("{} of the model", variable.name);
    attribute(c, dataset, "long_name", text(&long_name), long_name.as_bytes())?;
    attribute(c, dataset, "units", text(variable.units), variable.units.as_bytes())?;
    if variable.has_fill {
        attribute(c, dataset, "cell_methods", text("time: mean"), b"time: mean")?;
        attribute(c, dataset, "_FillValue", Datatype::ieee_f32(ByteOrder::NATIVE), &FILL.to_ne_bytes())?;
        attribute(c, dataset, "missing_value", Datatype::ieee_f32(ByteOrder::NATIVE), &FILL.to_ne_bytes())?;
    }
    Ok(dataset)
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

/// Returns the selection of a request of a record.
fn block(dims: &[u64], record: Option<u64>, (start, len): (u64, u64)) -> Outcome<Selection> {
    let (mut starts, mut counts, mut rest) = (Vec::new(), Vec::new(), start);
    for (n, dim) in dims.iter().enumerate().rev() {
        starts.push(rest % dim);
        counts.push(if n + 1 == dims.len() { len } else { 1 });
        rest /= dim;
    }
    starts.extend(record);
    counts.extend(record.map(|_| 1));
    starts.reverse();
    counts.reverse();
    Ok(Selection::block(&starts, &counts)?)
}

/// Returns the selection of a request: a part of a record, or all of it where one process writes it.
fn selection(variable: &Variable, record: Option<u64>, request: (u64, u64)) -> Outcome<Selection> {
    if variable.map.is_some() {
        return block(&variable.dims, record, request);
    }
    let starts: Vec<u64> = record.into_iter().chain(variable.dims.iter().map(|_| 0)).collect();
    let counts: Vec<u64> = record.map(|_| 1).into_iter().chain(variable.dims.iter().copied()).collect();
    Ok(if starts.is_empty() { Selection::All } else { Selection::block(&starts, &counts)? })
}

/// One write: the variable, its selection, and where its bytes begin in the variable's buffer.
struct Request {
    variable: usize,
    selection: Arc<Selection>,
    from: usize,
    bytes: usize,
}

/// The requests of a rank and the buffers of its variables, as a model has them before it writes.
struct Work {
    buffers: Vec<Vec<u8>>,
    requests: Vec<Request>,
}

/// Returns what a rank writes. Selections of variables that are divided alike are made once.
fn work(plan: &Plan, rank: usize) -> Outcome<Work> {
    let mut work = Work { buffers: vec![Vec::new(); plan.variables.len()], requests: Vec::new() };
    let mut made: HashMap<(Result<usize, usize>, Option<u64>), Vec<Arc<Selection>>> = HashMap::new();
    for record in 0..plan.records {
        for (n, variable) in plan.variables.iter().enumerate() {
            if record > 0 && !variable.is_record {
                continue;
            }
            let whole = [(0, variable.dims.iter().product::<u64>())];
            let own = match variable.map {
                Some(map) => plan.requests[map][rank].as_slice(),
                None if rank == 0 => &whole,
                None => continue,
            };
            let at = variable.is_record.then_some(record);
            let key = (variable.map.ok_or(n), at);
            if !made.contains_key(&key) {
                let selections = own.iter().map(|request| Ok(Arc::new(selection(variable, at, *request)?)));
                made.insert(key, selections.collect::<Outcome<_>>()?);
            }
            for ((start, len), selection) in own.iter().zip(&made[&key]) {
                let buffer = &mut work.buffers[n];
                let from = buffer.len();
                (*start..start + len)
                    .for_each(|at| put_element(variable.kind, element(n, record, at), buffer));
                let bytes = buffer.len() - from;
                work.requests.push(Request { variable: n, selection: selection.clone(), from, bytes });
            }
        }
    }
    Ok(work)
}

/// Creates the file, defines everything, writes and closes. Reports: writing with flush and close, writing, flush, defining.
pub fn run(words: &[String]) -> Outcome<()> {
    let [plan, path, how] = words else { return Err("rank PLAN FILE posted|copied".into()) };
    let comm: Arc<dyn Comm> = Arc::new(Mpi::start()?);
    let plan = plan::read(plan)?;
    let work = work(&plan, comm.rank())?;
    let connector = log::LogConnector::new(Arc::new(native::NativeConnector));
    let (create, access) =
        (FileCreate::default(), FileAccess { durability: Durability::None, ..FileAccess::write() });
    let op = ContainerCreate { truncate: true, ..ContainerCreate::new(path, &create, &access) };
    comm.barrier()?;
    let start = Instant::now();
    let c = connector.create_shared(comm.clone(), &op)?;
    let root = Container::info(&*c)?.root;
    let datasets = plan.variables.iter().map(|v| define(&c, root, v)).collect::<Outcome<Vec<_>>>()?;
    for (dataset, variable) in datasets.iter().zip(&plan.variables).filter(|(_, v)| v.is_record) {
        c.dataset_resize(*dataset, &[&[plan.records], variable.dims.as_slice()].concat())?;
    }
    c.commit(Durability::None)?;
    comm.barrier()?;
    let defined = start.elapsed().as_micros() as u64;
    let start = Instant::now();
    let (mut posting, is_posted) = (c.posting(), how == "posted");
    for request in &work.requests {
        let (dataset, selection) = (datasets[request.variable], &*request.selection);
        let from = &work.buffers[request.variable][request.from..request.from + request.bytes];
        match is_posted {
            true => posting.write(dataset, selection, from)?,
            false => c.dataset_write(&[OpWrite { dataset, selection, from }])?,
        }
    }
    let written = start.elapsed().as_micros() as u64;
    posting.flush(Durability::None)?;
    let flushed = start.elapsed().as_micros() as u64;
    c.close()?;
    let closed = start.elapsed().as_micros() as u64;
    report(&*comm, &[closed, work.requests.len() as u64, written, flushed, defined])
}

/// Reads variables whole, each by one rank, and checks every element. The time has opening in it, and not the checks.
pub fn read(words: &[String]) -> Outcome<()> {
    let [plan, path] = words else { return Err("read PLAN FILE".into()) };
    let comm: Arc<dyn Comm> = Arc::new(Mpi::start()?);
    let plan = plan::read(plan)?;
    let connector = log::LogConnector::new(Arc::new(native::NativeConnector));
    let access = FileAccess::read();
    let own = |n: &usize| n % comm.size() == comm.rank();
    let sizes = plan.variables.iter().map(|variable| {
        let records = if variable.is_record { plan.records } else { 1 };
        (records * variable.dims.iter().product::<u64>() * variable.kind.bytes()) as usize
    });
    let mut found: Vec<Vec<u8>> =
        sizes.enumerate().map(|(n, size)| vec![1; if own(&n) { size } else { 0 }]).collect();
    comm.barrier()?;
    let start = Instant::now();
    let c = connector.open_shared(comm.clone(), &ContainerOpen::new(path, &access))?;
    let root = Container::info(&*c)?.root;
    for (n, into) in found.iter_mut().enumerate().filter(|(n, _)| own(n)) {
        let dataset = path::token(&*c, root, &plan.variables[n].name, 16)?;
        c.dataset_read(&mut [OpRead { dataset, selection: &Selection::All, into }])?;
    }
    c.close()?;
    let taken = start.elapsed().as_micros() as u64;
    for (n, variable) in plan.variables.iter().enumerate().filter(|(n, _)| own(n)) {
        let (mut wanted, count) = (Vec::new(), variable.dims.iter().product::<u64>());
        let records = if variable.is_record { plan.records } else { 1 };
        for record in 0..records {
            (0..count).for_each(|at| put_element(variable.kind, element(n, record, at), &mut wanted));
        }
        if found[n] != wanted {
            return Err(format!("{} differs", variable.name).into());
        }
    }
    report(&*comm, &[taken, 0])
}

/// As many bytes as the requests of this rank have, in one piece of a fresh file.
pub fn plain(words: &[String]) -> Outcome<()> {
    let [plan, path, ..] = words else { return Err("plain PLAN FILE".into()) };
    let comm = Mpi::start()?;
    let plan = plan::read(plan)?;
    let bytes = work(&plan, comm.rank())?.requests.iter().map(|request| request.bytes as u64).sum();
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
    report(&comm, &[start.elapsed().as_micros() as u64, 0])
}
