//! A million strings of variable length.

use hdf5::types::VarLenUnicode;
use hyperslab::File;

use crate::data;
use crate::harness::{Amount, Bench, race, timed};
use crate::{Outcome, c};

const COUNT: usize = 1_000_000;
const NAMES: [&str; 2] = ["10⁶ variable strings, write", "10⁶ variable strings, read"];

pub(crate) fn run(bench: &mut Bench) -> Outcome<()> {
    if !bench.wants(&NAMES) {
        return Ok(());
    }
    let texts: Vec<String> = (0..COUNT).map(|n| format!("string {}", n * n % 1_000_003)).collect();
    let theirs_in: Vec<VarLenUnicode> = texts.iter().map(|t| t.parse()).collect::<Result<_, _>>()?;
    let (theirs, ours) = (bench.path("theirs.h5"), bench.path("ours.h5"));
    let write_theirs = || {
        std::fs::remove_file(&theirs).ok();
        timed(|| {
            let file = hdf5::File::create(&theirs)?;
            c::write(&file.new_dataset::<VarLenUnicode>().shape(COUNT).create("x")?, None, &theirs_in)
        })
    };
    let write_ours = || {
        std::fs::remove_file(&ours).ok();
        timed(|| {
            let file = data::create(&ours)?;
            file.new_dataset::<String>().shape(COUNT).create("x")?.write_raw(&texts)?;
            Ok(file.close()?)
        })
    };
    write_theirs()?;
    write_ours()?;
    race(NAMES[0], Amount::Calls(1))
        .at_least(2.5)
        .theirs(write_theirs)
        .ours(write_ours)
        .run(bench, || data::same::<VarLenUnicode>(&theirs, &ours, "x"))?;
    let (mut their, mut our) = (Vec::new(), Vec::new());
    race(NAMES[1], Amount::Calls(1))
        .at_least(4.0)
        .theirs(|| {
            their = Vec::new();
            timed(|| {
                their = hdf5::File::open(&theirs)?.dataset("x")?.read_raw::<VarLenUnicode>()?;
                Ok(())
            })
        })
        .ours(|| {
            our = Vec::new();
            timed(|| {
                our = File::open(&theirs)?.dataset("x")?.read_strings()?;
                Ok(())
            })
        })
        .run(bench, || Ok(true))?;
    let same = our.iter().zip(&their).all(|(a, b)| a.as_str() == b.as_str()) && our.len() == their.len();
    bench.remove(&["theirs.h5", "ours.h5"]);
    if same { Ok(()) } else { Err("strings: results differ".into()) }
}
