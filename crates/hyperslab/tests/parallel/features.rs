//! Everything that a file has, in one program of all ranks: every filter, extents that change, attributes, links, values of
//! variable length, independent and collective transfers.

use std::sync::Arc;

use hyperslab::parallel::Comm;
use hyperslab::plist::{CreationOrder, GroupCreate};
use hyperslab::{File, H5Type, Result, Selection, UNLIMITED_DIM};

use crate::common::{Scratch, rows, together};

const ROWS: u64 = 48;
const COLUMNS: u64 = 30;
/// Filters that libhdf5 has itself.
const OWN_FILTERS: [&str; 5] = ["GZIP=4", "SHUF", "FLET", "NBIT", "SOFF=0,IN"];
/// Filters for which others need plugins, and szip, which not every build has.
const OTHER_FILTERS: [&str; 8] =
    ["SZIP=8,NN", "LZF", "BZIP2=9", "BLOSC=lz4:5:shuffle", "LZ4", "BITSHUFFLE", "ZSTD=1", "BLOSC2"];

fn value(row: u64, column: u64) -> i32 {
    (row * COLUMNS + column) as i32
}

fn values(start: u64, count: u64) -> Vec<i32> {
    (start..start + count).flat_map(|row| (0..COLUMNS).map(move |column| value(row, column))).collect()
}

/// The ranks, and which of them this is.
struct Place {
    rank: u64,
    ranks: u64,
}

impl Place {
    /// The rows of this rank.
    fn share(&self) -> (u64, u64) {
        let each = ROWS / self.ranks;
        (self.rank * each, each)
    }
}

fn filters(file: &File, names: &[&str], place: &Place) -> Result<()> {
    let (start, count) = place.share();
    for name in names {
        let new = file.new_dataset::<i32>().shape((ROWS as usize, COLUMNS as usize)).chunk((10, 7));
        let data = together(&new.named_filter(name).create(name.split('=').next().unwrap_or(name))?);
        data.write_selection(&rows(start, count, COLUMNS), &values(start, count))?;
        assert_eq!(data.read_raw::<i32>()?, values(0, ROWS), "{name}");
        // Over what is there, and chunks that ranks share.
        let column = Selection::block(&[0, 5 + place.rank], &[ROWS, 1])?;
        let changed: Vec<i32> = (0..ROWS).map(|row| value(row, 5 + place.rank)).collect();
        data.write_selection(&column, &changed)?;
        assert_eq!(data.read_raw::<i32>()?, values(0, ROWS), "{name}");
    }
    Ok(())
}

fn structure(file: &File, place: &Place) -> Result<()> {
    let group = file.create_group("run/1")?;
    group.set_attr("ranks", place.ranks as i32)?;
    group.set_attr("text", "of all")?;
    file.link_soft("/run/1", "soft")?;
    file.link_hard("/run/1", "hard")?;
    file.link_soft("/nowhere", "gone")?;
    file.unlink("gone")?;
    file.relink("hard", "run/moved")?;
    assert_eq!(file.group("soft")?.attr("text")?.read_string()?, "of all");
    assert_eq!(file.group("run/moved")?.attr("ranks")?.read_scalar::<i32>()?, place.ranks as i32);
    Ok(())
}

fn extents(file: &File, place: &Place) -> Result<()> {
    for (name, level) in [("grown", 0), ("grown and deflated", 3)] {
        let new = file.new_dataset::<i64>().shape([0]).max_shape([UNLIMITED_DIM]).chunk([5]);
        let new = if level > 0 { new.deflate(level) } else { new };
        let data = new.create(name)?;
        for round in 0..4 {
            data.resize([((round + 1) * 4 * place.ranks) as usize])?;
            let start = (round * place.ranks + place.rank) * 4;
            together(&data).write_selection(&Selection::block(&[start], &[4])?, &[start as i64; 4])?;
        }
        data.resize([14])?;
        assert_eq!(data.read_raw::<i64>()?, (0..14).map(|n| n / 4 * 4).collect::<Vec<_>>(), "{name}");
    }
    Ok(())
}

/// Objects with creation properties of their own: order, a datatype that datasets share, and what one rank's handle sees of it.
fn ordered(file: &File, place: &Place) -> Result<()> {
    let create = GroupCreate { link_order: CreationOrder::Indexed, ..GroupCreate::default() };
    let group = file.create_group_with("ordered", &create)?;
    ["z", "a", "m"].iter().try_for_each(|name| group.create_group(name).map(drop))?;
    group.unlink("a")?;
    let height = file.commit_datatype("height", i32::datatype())?;
    let shared =
        file.new_dataset_builder().shape(place.ranks as usize).committed(&height)?.create("heights")?;
    let own = Selection::block(&[place.rank], &[1])?;
    together(&shared).write_selection(&own, &[100 + place.rank as i32])?;
    shared.refresh()?;
    let all: Vec<i32> = (0..place.ranks).map(|rank| 100 + rank as i32).collect();
    assert_eq!(shared.read_raw::<i32>()?, all);
    assert_eq!(file.group("ordered")?.len()?, 2);
    Ok(())
}

fn texts(file: &File, place: &Place) -> Result<()> {
    let names = together(&file.new_dataset::<String>().shape(place.ranks as usize).create("names")?);
    let own = Selection::block(&[place.rank], &[1])?;
    names.write_selection(&own, &[format!("rank {}", place.rank)])?;
    names.write_selection(&own, &[format!("this is rank {}", place.rank)])?;
    let expected: Vec<_> = (0..place.ranks).map(|rank| format!("this is rank {rank}")).collect();
    assert_eq!(names.read_raw::<String>()?, expected);
    Ok(())
}

fn independent(file: &File, place: &Place) -> Result<()> {
    let (start, count) = place.share();
    let new = || file.new_dataset::<i32>().shape((ROWS as usize, COLUMNS as usize));
    for data in [new().create("contiguous")?, new().chunk((10, 7)).create("chunked")?] {
        data.write_selection(&rows(start, count, COLUMNS), &values(start, count))?;
        file.flush()?;
        assert_eq!(data.read_raw::<i32>()?, values(0, ROWS));
        // Every rank has a column of every row: many runs of few bytes.
        let own = Selection::hyperslab(
            &[0, place.rank],
            &[1, place.ranks],
            &[ROWS, COLUMNS / place.ranks],
            &[1, 1],
        )?;
        let columns =
            |row| (0..COLUMNS / place.ranks).map(move |n| -value(row, n * place.ranks + place.rank));
        together(&data).write_selection(&own, &(0..ROWS).flat_map(columns).collect::<Vec<_>>())?;
    }
    Ok(())
}

/// What h5py finds in the file.
pub(crate) const CHECK: &str = "\
for name in ['GZIP', 'SHUF', 'FLET', 'NBIT', 'SOFF']:
    assert (f[name][...] == np.arange(48 * 30).reshape(48, 30)).all(), name
assert f['soft'].attrs['text'] == 'of all' and f['run/moved'].attrs['ranks'] == len(f['names'])
for name in ['grown', 'grown and deflated']:
    assert (f[name][...] == np.arange(14) // 4 * 4).all(), name
assert list(f['ordered']) == ['z', 'm'] and (f['heights'][...] == 100 + np.arange(len(f['names']))).all()
assert f['names'][1] == b'this is rank 1'
for name in ['contiguous', 'chunked']:
    assert (f[name][:, :28] == -np.arange(48 * 30).reshape(48, 30)[:, :28]).all(), name
";

/// Runs all of the program that needs no plugins on one rank.
pub(crate) fn own_program(comm: &Arc<dyn Comm>, scratch: &Scratch) -> Result<()> {
    let place = Place { rank: comm.rank() as u64, ranks: comm.size() as u64 };
    let file = File::create_parallel(comm.clone(), scratch.path())?;
    filters(&file, &OWN_FILTERS, &place)?;
    structure(&file, &place)?;
    extents(&file, &place)?;
    ordered(&file, &place)?;
    texts(&file, &place)?;
    independent(&file, &place)?;
    file.close()
}

/// Runs the program on one rank.
pub(crate) fn program(comm: &Arc<dyn Comm>, scratch: &Scratch) -> Result<()> {
    own_program(comm, scratch)?;
    let place = Place { rank: comm.rank() as u64, ranks: comm.size() as u64 };
    let others = scratch.path().with_extension("plugins.h5");
    let file = File::create_parallel(comm.clone(), &others)?;
    filters(&file, &OTHER_FILTERS, &place)?;
    file.close()?;
    comm.barrier()?;
    if place.rank == 0 {
        check_plugins(&others);
    }
    Ok(())
}

/// h5py reads what it has filters for.
fn check_plugins(path: &std::path::Path) {
    let program = "import sys\ntry:\n  import h5py, hdf5plugin, numpy as np\nexcept ImportError: sys.exit(0)\n\
        f = h5py.File(sys.argv[1], 'r')\n\
        names = [n for n in f if n != 'SZIP' or h5py.h5z.filter_avail(4)]\n\
        assert all((f[n][...] == np.arange(1440).reshape(48, 30)).all() for n in names), names\n";
    let output = std::process::Command::new("python3").args(["-c", program]).arg(path).output();
    std::fs::remove_file(path).expect("the file is there");
    let output = output.expect("python3 starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn everything_is_written_by_all_ranks() {
    use crate::common::{on_ranks, others_agree};

    for ranks in [2, 4] {
        let scratch = Scratch::new(&format!("features-{ranks}"));
        on_ranks(ranks, |comm| program(&comm, &scratch)).into_iter().for_each(|done| done.unwrap());
        others_agree(&scratch, CHECK);
    }
}
