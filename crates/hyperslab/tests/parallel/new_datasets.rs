//! Datasets created one after another: ranks use them at once, and see the links to them whenever they look.

use std::collections::BTreeMap;
use std::sync::Arc;

use hyperslab::parallel::{Comm, Meter};
use hyperslab::vol::LibVersion;
use hyperslab::vol::model::properties::FileCreate;
use hyperslab::{Durability, File, FileAccess, Kind, Result, Selection};

use crate::common::{Scratch, in_new_file, on_ranks, others_agree, together};

/// Numbers that look random.
struct Numbers(u64);

impl Numbers {
    fn next(&mut self, below: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % below
    }
}

/// What each dataset holds, by its path.
type Known = BTreeMap<String, Vec<i32>>;

/// Creates a dataset of which every rank writes its part, but for the last element.
fn create(file: &File, known: &mut Known, path: &str, (rank, ranks): (u64, u64)) -> Result<()> {
    let seed = known.len() as i32 * 1000;
    let count = 3 * ranks + 1;
    let new = file.new_dataset::<i32>().shape(count as usize).fill_value(&(seed - 1));
    let data = if seed % 2000 == 0 { new } else { new.fill_value(&0) }.create(path)?;
    let own = Selection::block(&[3 * rank], &[3])?;
    let values: Vec<i32> = (0..3 * ranks as i32).map(|n| seed + n).collect();
    let start = 3 * rank as usize;
    together(&data).write_selection(&own, &values[start..start + 3])?;
    let last = if seed % 2000 == 0 { seed - 1 } else { 0 };
    known.insert(path.to_owned(), [values, vec![last]].concat());
    assert_eq!(data.read_raw::<i32>()?, known[path]);
    Ok(())
}

/// Looks at links, alone. All ranks see all of them.
fn look(file: &File, known: &Known, numbers: &mut Numbers) -> Result<()> {
    let inside = |path: &&String| path.starts_with("inner/");
    match numbers.next(4) {
        0 => {
            let names: Vec<&String> = known.keys().filter(|path| !inside(path)).collect();
            let found = file.member_names()?;
            assert!(names.iter().all(|name| found.contains(name)), "{names:?} {found:?}");
            assert_eq!(found.len(), names.len() + 1);
        }
        1 => assert_eq!(file.group("inner")?.len()?, known.keys().filter(inside).count() as u64),
        2 => assert_eq!(file.dataset("never").unwrap_err().kind(), Kind::NotFound),
        _ => {
            for (path, values) in known {
                assert_eq!(&file.dataset(path)?.read_raw::<i32>()?, values, "{path}");
            }
        }
    }
    Ok(())
}

fn program(comm: &Arc<dyn Comm>, scratch: &Scratch, seed: u64, low: LibVersion) -> Result<()> {
    let place = (comm.rank() as u64, comm.size() as u64);
    let (mut numbers, mut own) = (Numbers(seed), Numbers(seed * 100 + place.0));
    let access = FileAccess { version_low: low, ..FileAccess::write() };
    let location = scratch.path().to_str().unwrap();
    let open = || File::open_parallel_with(comm.clone(), location, &access);
    let mut file = File::create_parallel_with(comm.clone(), location, &FileCreate::default(), &access, true)?;
    let mut known = Known::new();
    file.create_group("inner")?;
    for step in 0..120 {
        match numbers.next(30) {
            0 => file.flush()?,
            1 => drop(file.set_attr("step", step)?),
            2 if !known.is_empty() => {
                let path = known.keys().nth(numbers.next(known.len() as u64) as usize).cloned().unwrap();
                file.dataset(&path)?.set_attr("step", step)?;
                assert_eq!(file.dataset(&path)?.attr("step")?.read_scalar::<i32>()?, step);
            }
            3 if !known.is_empty() => {
                let path = known.keys().nth(numbers.next(known.len() as u64) as usize).cloned().unwrap();
                file.unlink(&path)?;
                known.remove(&path);
            }
            4 if !known.is_empty() => {
                let path = known.keys().next().cloned().unwrap();
                let error = file.new_dataset::<i32>().shape(1).create(path.as_str()).unwrap_err();
                assert_eq!(error.kind(), Kind::Exists);
            }
            5 => {
                file.close()?;
                file = open()?;
            }
            n => {
                let folder = if n % 3 == 0 { "inner/" } else { "" };
                create(&file, &mut known, &format!("{folder}d{step:03}"), place)?;
            }
        }
        if own.next(6) == 0 {
            look(&file, &known, &mut own)?;
        }
    }
    look(&file, &known, &mut own)?;
    file.close()
}

#[test]
fn ranks_see_all_links_whenever_they_look() {
    for (n, low) in [LibVersion::Earliest, LibVersion::V18, LibVersion::LATEST].into_iter().enumerate() {
        for ranks in [2, 3, 5] {
            for seed in 0..4 {
                let (seed, scratch) =
                    (seed * 10 + n as u64, Scratch::new(&format!("links-{n}-{ranks}-{seed}")));
                let done = on_ranks(ranks, |comm| program(&comm, &scratch, seed, low));
                let failed: Vec<_> = done
                    .into_iter()
                    .enumerate()
                    .filter_map(|(rank, done)| Some((rank, done.err()?)))
                    .collect();
                assert!(failed.is_empty(), "seed {seed}, {ranks} ranks, {low:?}: {failed:?}");
                others_agree(
                    &scratch,
                    "f.visititems(lambda n, o: o[...] if isinstance(o, h5py.Dataset) else None)",
                );
            }
        }
    }
}

/// What rank 0 reads alone, it may have to write; others must not see half of it.
#[test]
fn what_rank_0_reads_changes_nothing_for_others() {
    let scratch = Scratch::new("held");
    in_new_file(&scratch, 3, |file, rank| {
        for n in 0..100 {
            file.new_dataset::<i32>().shape(4).create(format!("first{n:03}").as_str())?;
        }
        drop(file.set_attr("told", 1)?);
        for n in 0..200 {
            let data = file.new_dataset::<i32>().shape(4).create(format!("d{n:03}").as_str())?;
            if rank == 0 {
                assert_eq!(file.member_names()?.len(), 101 + n);
            }
            if rank == 0 {
                data.write_raw(&[n as i32; 4])?;
            }
            if rank == 1 && n % 50 == 49 {
                assert_eq!(file.dataset("first050")?.read_raw::<i32>()?, [0; 4]);
                assert_eq!(file.member_names()?.len(), 101 + n);
            }
        }
        file.flush()?;
        assert_eq!(file.dataset("d199")?.read_raw::<i32>()?, [199; 4]);
        Ok(())
    });
    others_agree(
        &scratch,
        "assert len(f) == 300 and all((f[f'd{n:03}'][...] == n).all() for n in range(200))",
    );
}

/// A dataset is told of in a few hundred bytes, however many links its group has.
#[test]
fn a_new_dataset_is_a_short_message() {
    let scratch = Scratch::new("short");
    let done = on_ranks(4, |comm| {
        let meter = Arc::new(Meter::new(comm));
        let file = File::create_parallel(meter.clone(), scratch.path())?;
        for n in 0..500 {
            let before = meter.traffic();
            file.new_dataset::<i32>().shape(8).create(format!("d{n}").as_str())?;
            let now = meter.traffic();
            assert_eq!(now.calls - before.calls, 2);
            assert!(now.received - before.received < 4 * 21 + 1000, "{n}: {now:?} {before:?}");
        }
        file.commit(Durability::None)?;
        assert_eq!(file.member_names()?.len(), 500);
        file.close()
    });
    done.into_iter().for_each(|done| done.unwrap());
}
