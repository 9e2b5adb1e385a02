//! Elements whose type in memory is not the one in the file.

use hyperslab::vol::model::ByteOrder;
use hyperslab::{Datatype, File};

use crate::data;
use crate::harness::{Amount, Bench, race, timed};
use crate::{Outcome, c, limits};

const ELEMENTS: usize = 1 << 26;
const RECORDS: usize = 10_000_000;

const NARROW: &str = "f64 memory to f32 file, write";
const SWAPPED: &str = "big-endian i32 to native, read";
const COMPOUND: [&str; 3] = [
    "compound {i32, f64, u8} × 10⁷, write",
    "compound {i32, f64, u8} × 10⁷, read",
    "compound × 10⁷, one member",
];

pub(crate) fn run(bench: &mut Bench) -> Outcome<()> {
    narrow(bench)?;
    swapped(bench)?;
    compound(bench)
}

fn narrow(bench: &mut Bench) -> Outcome<()> {
    if !bench.wants(&[NARROW]) {
        return Ok(());
    }
    let values: Vec<f64> = (0..ELEMENTS).map(|n| n as f64 * 0.1).collect();
    let (theirs, ours, plain) = (bench.path("theirs.h5"), bench.path("ours.h5"), bench.path("plain"));
    race(NARROW, Amount::Elements(ELEMENTS as u64))
        .at_least(1.6)
        .theirs(|| {
            std::fs::remove_file(&theirs).ok();
            timed(|| {
                let file = hdf5::File::create(&theirs)?;
                c::write(&file.new_dataset::<f32>().shape(ELEMENTS).create("x")?, None, &values)
            })
        })
        .ours(|| {
            std::fs::remove_file(&ours).ok();
            timed(|| {
                let file = data::create(&ours)?;
                file.new_dataset::<f32>().shape(ELEMENTS).create("x")?.write_raw(&values)?;
                Ok(file.close()?)
            })
        })
        .limit("pwrite, 2 threads", || limits::pwrite(&plain, 4 * ELEMENTS))
        .run(bench, || data::same::<f32>(&theirs, &ours, "x"))?;
    bench.remove(&["theirs.h5", "ours.h5", "plain"]);
    Ok(())
}

fn swapped(bench: &mut Bench) -> Outcome<()> {
    if !bench.wants(&[SWAPPED]) {
        return Ok(());
    }
    let path = bench.path("swapped.h5");
    let values: Vec<i32> = (0..ELEMENTS as i32).map(|n| n.wrapping_mul(2_654_435)).collect();
    let file = data::create(&path)?;
    let datatype = Datatype::integer(4, true, ByteOrder::Big);
    file.new_dataset_as(datatype).shape(ELEMENTS).create("x")?.write_raw(&values)?;
    file.close()?;
    let (mut their, mut our) = (vec![1i32; ELEMENTS], vec![2i32; ELEMENTS]);
    race(SWAPPED, Amount::Elements(ELEMENTS as u64))
        .at_least(1.25)
        .theirs(|| timed(|| c::read(&hdf5::File::open(&path)?.dataset("x")?, None, &mut their)))
        .ours(|| timed(|| Ok(File::open(&path)?.dataset("x")?.read_into(&mut our)?)))
        .limit("pread, 2 threads", || limits::pread(&path))
        .run(bench, || Ok(true))?;
    bench.remove(&["swapped.h5"]);
    if their == values && our == values { Ok(()) } else { Err("big-endian read: results differ".into()) }
}

/// A record as C and Rust lay it out: 24 bytes, of which 13 are stored.
#[derive(Debug, Clone, Copy, PartialEq, Default, hdf5::H5Type, hyperslab::H5Type)]
#[repr(C)]
struct Record {
    id: i32,
    value: f64,
    flag: u8,
}

/// One member of it.
#[derive(Debug, Clone, Copy, PartialEq, Default, hdf5::H5Type, hyperslab::H5Type)]
#[repr(C)]
struct ValueOnly {
    value: f64,
}

/// Our type for records without padding.
fn packed() -> Datatype {
    use hyperslab::H5Type;
    Datatype::Compound(hyperslab::vol::model::datatype::Compound::packed(
        [("id", i32::datatype()), ("value", f64::datatype()), ("flag", u8::datatype())]
            .map(|(name, datatype)| (name.to_owned(), datatype)),
    ))
}

fn compound(bench: &mut Bench) -> Outcome<()> {
    if !bench.wants(&COMPOUND) {
        return Ok(());
    }
    let record = |n: usize| Record { id: n as i32, value: n as f64 * 0.5, flag: (n % 7) as u8 };
    let records: Vec<Record> = (0..RECORDS).map(record).collect();
    let (theirs, ours, plain) = (bench.path("theirs.h5"), bench.path("ours.h5"), bench.path("plain"));
    let write_theirs = || {
        std::fs::remove_file(&theirs).ok();
        timed(|| {
            let file = hdf5::File::create(&theirs)?;
            c::write(&file.new_dataset::<Record>().packed(true).shape(RECORDS).create("x")?, None, &records)
        })
    };
    let write_ours = || {
        std::fs::remove_file(&ours).ok();
        timed(|| {
            let file = data::create(&ours)?;
            file.new_dataset_as(packed()).shape(RECORDS).create("x")?.write_raw(&records)?;
            Ok(file.close()?)
        })
    };
    write_theirs()?;
    write_ours()?;
    race(COMPOUND[0], Amount::Calls(1))
        .at_least(2.5)
        .theirs(write_theirs)
        .ours(write_ours)
        .limit("pwrite, 2 threads", || limits::pwrite(&plain, 13 * RECORDS))
        .run(bench, || data::same::<Record>(&theirs, &ours, "x"))?;
    let (mut their, mut our) = (vec![Record::default(); RECORDS], vec![Record::default(); RECORDS]);
    race(COMPOUND[1], Amount::Calls(1))
        .at_least(2.5)
        .theirs(|| timed(|| c::read(&hdf5::File::open(&theirs)?.dataset("x")?, None, &mut their)))
        .ours(|| timed(|| Ok(File::open(&theirs)?.dataset("x")?.read_into(&mut our)?)))
        .limit("pread, 2 threads", || limits::pread(&theirs))
        .run(bench, || Ok(true))?;
    if bench.wants(&[COMPOUND[1]]) && (their != records || our != records) {
        return Err("compound read: results differ".into());
    }
    drop((their, our));
    one_member(bench, &theirs)?;
    bench.remove(&["theirs.h5", "ours.h5"]);
    Ok(())
}

fn one_member(bench: &mut Bench, path: &str) -> Outcome<()> {
    let (mut their, mut our) = (vec![ValueOnly::default(); RECORDS], vec![ValueOnly::default(); RECORDS]);
    race(COMPOUND[2], Amount::Calls(1))
        .at_least(2.0)
        .theirs(|| timed(|| c::read(&hdf5::File::open(path)?.dataset("x")?, None, &mut their)))
        .ours(|| timed(|| Ok(File::open(path)?.dataset("x")?.read_into(&mut our)?)))
        .limit("pread, 2 threads", || limits::pread(path))
        .run(bench, || Ok(true))?;
    if their == our { Ok(()) } else { Err("one member: results differ".into()) }
}
