//! Many small objects: made, opened, read, visited; and what one call costs.

use std::ffi::{c_char, c_int, c_void};
use std::ops::ControlFlow;
use std::sync::Arc;

use hdf5_sys::h5i::hid_t;
use hdf5_sys::h5o::{H5O_INFO_BASIC, H5O_info2_t, H5Ovisit3};
use hyperslab::vol::{Container, Layer};
use hyperslab::{File, FileAccess};

use crate::Outcome;
use crate::data;
use crate::harness::{Amount, Bench, race, timed};

const DATASETS: usize = 10_000;
const ATTRIBUTES: usize = 5;
const MANY: usize = 100_000;
const LOOPS: u64 = 100_000;
const OPENS: u64 = 1000;

const CREATE: &str = "create 10,000 datasets with 5 attributes";
const CREATE_OBJECTS: &str = "the same in an object store";
const REOPEN: &str = "reopen, read 50,000 attributes";
const REOPEN_DATA: &str = "reopen, read 10,000 small datasets";
const VISIT: &str = "visit 100,000 objects";
const OPEN: &str = "open 100,000 objects, one by path, close";
const TINY: &str = "open a tiny file, read 80 bytes, close";
const CALL: &str = "one attribute read in a loop";
const LAYER: &str = "the same through one layer more";

pub(crate) fn run(bench: &mut Bench) -> Outcome<()> {
    small_datasets(bench)?;
    many(bench)?;
    tiny(bench)?;
    calls(bench)
}

fn create_theirs(path: &str) -> Outcome<()> {
    let file = hdf5::File::create(path)?;
    let values: Vec<f64> = (0..10).map(f64::from).collect();
    for n in 0..DATASETS {
        let dataset = file.new_dataset::<f64>().shape(10).create(format!("dataset {n}").as_str())?;
        crate::c::write(&dataset, None, &values)?;
        for a in 0..ATTRIBUTES {
            dataset
                .new_attr::<i64>()
                .create(format!("attribute {a}").as_str())?
                .write_scalar(&((n + a) as i64))?;
        }
    }
    Ok(file.close()?)
}

/// Seconds to make it anew.
fn again_theirs(path: &str) -> Outcome<f64> {
    std::fs::remove_file(path).ok();
    timed(|| create_theirs(path))
}

fn create_ours(path: &str) -> Outcome<()> {
    let file = data::create(path)?;
    let values: Vec<f64> = (0..10).map(f64::from).collect();
    for n in 0..DATASETS {
        let dataset = file.new_dataset::<f64>().shape(10).create(&format!("dataset {n}"))?;
        dataset.write_raw(&values)?;
        for a in 0..ATTRIBUTES {
            dataset.set_attr(&format!("attribute {a}"), (n + a) as i64)?;
        }
    }
    Ok(file.close()?)
}

fn attributes_of_theirs(path: &str) -> Outcome<i64> {
    let file = hdf5::File::open(path)?;
    let mut sum = 0;
    for n in 0..DATASETS {
        let dataset = file.dataset(&format!("dataset {n}"))?;
        for a in 0..ATTRIBUTES {
            sum += dataset.attr(&format!("attribute {a}"))?.read_scalar::<i64>()?;
        }
    }
    Ok(sum)
}

fn attributes_of_ours(path: &str) -> Outcome<i64> {
    let file = File::open(path)?;
    let mut sum = 0;
    for n in 0..DATASETS {
        let dataset = file.dataset(&format!("dataset {n}"))?;
        for a in 0..ATTRIBUTES {
            sum += dataset.attr(&format!("attribute {a}"))?.read_scalar::<i64>()?;
        }
    }
    Ok(sum)
}

fn small_datasets(bench: &mut Bench) -> Outcome<()> {
    if !bench.wants(&[CREATE, CREATE_OBJECTS, REOPEN, REOPEN_DATA]) {
        return Ok(());
    }
    let (theirs, ours) = (bench.path("theirs.h5"), bench.path("ours.h5"));
    create_theirs(&theirs)?;
    create_ours(&ours)?;
    race(CREATE, Amount::Calls(1))
        .at_least(3.0)
        .theirs(|| again_theirs(&theirs))
        .ours(|| {
            std::fs::remove_file(&ours).ok();
            timed(|| create_ours(&ours))
        })
        .run(bench, || Ok(attributes_of_theirs(&theirs)? == attributes_of_theirs(&ours)?))?;
    let (folder, store) = (bench.path("store"), format!("object:{}", bench.path("store")));
    race(CREATE_OBJECTS, Amount::Calls(1))
        .at_least(2.0)
        .theirs(|| again_theirs(&theirs))
        .ours(|| {
            std::fs::remove_dir_all(&folder).ok();
            timed(|| create_ours(&store))
        })
        .run(bench, || Ok(attributes_of_theirs(&theirs)? == attributes_of_ours(&store)?))?;
    let (mut their, mut our) = (0, 1);
    race(REOPEN, Amount::Calls(1))
        .at_least(5.0)
        .theirs(|| {
            timed(|| {
                their = attributes_of_theirs(&theirs)?;
                Ok(())
            })
        })
        .ours(|| {
            timed(|| {
                our = attributes_of_ours(&theirs)?;
                Ok(())
            })
        })
        .run(bench, || Ok(true))?;
    if bench.wants(&[REOPEN]) && their != our {
        return Err("attributes: results differ".into());
    }
    read_small(bench, &theirs)?;
    bench.remove(&["theirs.h5", "ours.h5", "store"]);
    Ok(())
}

fn read_small(bench: &mut Bench, path: &str) -> Outcome<()> {
    let (mut their, mut our) = ([0f64; 10], [0f64; 10]);
    race(REOPEN_DATA, Amount::Calls(1))
        .theirs(|| {
            timed(|| {
                let file = hdf5::File::open(path)?;
                (0..DATASETS).try_for_each(|n| {
                    crate::c::read(&file.dataset(&format!("dataset {n}"))?, None, &mut their)
                })
            })
        })
        .ours(|| {
            timed(|| {
                let file = File::open(path)?;
                (0..DATASETS)
                    .try_for_each(|n| Ok(file.dataset(&format!("dataset {n}"))?.read_into(&mut our)?))
            })
        })
        .run(bench, || Ok(true))?;
    if their == our { Ok(()) } else { Err("small datasets: results differ".into()) }
}

/// Counts the objects that libhdf5 visits.
extern "C" fn count(_: hid_t, _: *const c_char, _: *const H5O_info2_t, counter: *mut c_void) -> c_int {
    // SAFETY: it is the number that the caller of the visit passed.
    unsafe { *counter.cast::<u64>() += 1 };
    0
}

fn visit_theirs(path: &str) -> Outcome<u64> {
    let file = hdf5::File::open(path)?;
    let mut counter = 0u64;
    // SAFETY: the callback gets a pointer to the counter, which outlives the visit. Index and order are by name, up.
    let done = hdf5::sync::sync(|| unsafe {
        H5Ovisit3(
            file.id(),
            hdf5_sys::h5::H5_index_t::H5_INDEX_NAME,
            hdf5_sys::h5::H5_iter_order_t::H5_ITER_INC,
            Some(count),
            (&raw mut counter).cast(),
            H5O_INFO_BASIC,
        )
    });
    if done < 0 { Err("H5Ovisit3 failed".into()) } else { Ok(counter) }
}

fn visit_ours(path: &str) -> Outcome<u64> {
    let mut counter = 1;
    File::open(path)?.visit(|_| {
        counter += 1;
        Ok(ControlFlow::Continue(()))
    })?;
    Ok(counter)
}

/// A hundred groups of a thousand datasets.
fn make_many(path: &str) -> Outcome<()> {
    let file = data::create_theirs(path)?;
    for g in 0..MANY / 1000 {
        let group = file.create_group(&format!("group {g}"))?;
        for n in 0..1000 {
            group.new_dataset::<i64>().create(format!("dataset {n}").as_str())?;
        }
    }
    Ok(file.close()?)
}

fn many(bench: &mut Bench) -> Outcome<()> {
    if !bench.wants(&[VISIT, OPEN]) {
        return Ok(());
    }
    let path = bench.path("many.h5");
    make_many(&path)?;
    let (mut their, mut our) = (0, 1);
    race(VISIT, Amount::Calls(1))
        .at_least(4.0)
        .rounds(3)
        .theirs(|| {
            timed(|| {
                their = visit_theirs(&path)?;
                Ok(())
            })
        })
        .ours(|| {
            timed(|| {
                our = visit_ours(&path)?;
                Ok(())
            })
        })
        .run(bench, || Ok(true))?;
    if bench.wants(&[VISIT]) && their != our {
        return Err(format!("visit: {their} objects, and {our}").into());
    }
    race(OPEN, Amount::Calls(OPENS))
        .at_least(2.0)
        .theirs(|| {
            timed(|| {
                (0..OPENS).try_for_each(|n| {
                    hdf5::File::open(&path)?.dataset(&format!("group {}/dataset {n}", n % 100))?;
                    Ok(())
                })
            })
        })
        .ours(|| {
            timed(|| {
                (0..OPENS).try_for_each(|n| {
                    File::open(&path)?.dataset(&format!("group {}/dataset {n}", n % 100))?;
                    Ok(())
                })
            })
        })
        .run(bench, || Ok(true))?;
    bench.remove(&["many.h5"]);
    Ok(())
}

fn tiny(bench: &mut Bench) -> Outcome<()> {
    if !bench.wants(&[TINY]) {
        return Ok(());
    }
    let path = bench.path("tiny.h5");
    make_tiny(&path)?;
    let (mut their, mut our) = ([1f64; 10], [2f64; 10]);
    race(TINY, Amount::Calls(OPENS))
        .at_least(3.0)
        .theirs(|| {
            timed(|| {
                (0..OPENS).try_for_each(|_| {
                    crate::c::read(&hdf5::File::open(&path)?.dataset("x")?, None, &mut their)
                })
            })
        })
        .ours(|| {
            timed(|| (0..OPENS).try_for_each(|_| Ok(File::open(&path)?.dataset("x")?.read_into(&mut our)?)))
        })
        .run(bench, || Ok(true))?;
    bench.remove(&["tiny.h5"]);
    if their == our { Ok(()) } else { Err("tiny file: results differ".into()) }
}

fn make_tiny(path: &str) -> Outcome<()> {
    let file = data::create_theirs(path)?;
    let dataset = file.new_dataset::<f64>().shape(10).create("x")?;
    crate::c::write(&dataset, None, &[3f64; 10])?;
    dataset.new_attr::<i64>().create("a")?.write_scalar(&7i64)?;
    drop(dataset);
    Ok(file.close()?)
}

/// A layer that does nothing but forward.
struct PassThrough(Arc<dyn Container>);

impl Layer for PassThrough {
    fn inner(&self) -> &dyn Container {
        self.0.as_ref()
    }
}

fn calls(bench: &mut Bench) -> Outcome<()> {
    if !bench.wants(&[CALL, LAYER]) {
        return Ok(());
    }
    let path = bench.path("calls.h5");
    make_tiny(&path)?;
    let their_file = hdf5::File::open(&path)?;
    let theirs = their_file.dataset("x")?;
    let file = File::open(&path)?;
    let ours = file.dataset("x")?;
    let above = Arc::new(PassThrough(file.container().clone()));
    let above = File::from_container(above, &path, &FileAccess::read())?.dataset("x")?;
    let read_ours = |dataset: &hyperslab::Dataset| {
        timed(|| {
            (0..LOOPS).try_for_each(|_| match dataset.attr("a")?.read_scalar::<i64>()? {
                7 => Ok(()),
                _ => Err("wrong value".into()),
            })
        })
    };
    let read_theirs = || {
        timed(|| {
            (0..LOOPS).try_for_each(|_| match theirs.attr("a")?.read_scalar::<i64>()? {
                7 => Ok(()),
                _ => Err("wrong value".into()),
            })
        })
    };
    race(CALL, Amount::Calls(LOOPS)).theirs(read_theirs).ours(|| read_ours(&ours)).run(bench, || Ok(true))?;
    race(LAYER, Amount::Calls(LOOPS))
        .theirs(|| read_ours(&ours))
        .ours(|| read_ours(&above))
        .run(bench, || Ok(true))?;
    if let Some(row) = bench.rows.last_mut().filter(|row| row.name == LAYER) {
        row.against = "without the layer";
    }
    bench.remove(&["calls.h5"]);
    Ok(())
}
