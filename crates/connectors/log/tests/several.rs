//! Several writers, as threads: what they write together is what one after another would have written.

mod common;

use std::sync::Arc;

use comm::{Comm, threads};
use common::*;
use hyperslab_log::LogContainer;
use model::properties::FileCreate;
use model::{Selection, Token};
use vol::{Container, ContainerCreate, ContainerOpen, Durability, FileAccess};

/// What one round does: writes by rank, then perhaps a new extent.
struct Round {
    writes: Vec<Vec<(usize, Selection, Vec<i32>)>>,
    resize: Option<(usize, Vec<u64>)>,
}

struct Program {
    ranks: usize,
    extents: Vec<Vec<u64>>,
    rounds: Vec<Round>,
    /// The datasets after each round.
    wanted: Vec<Vec<Array>>,
}

impl Program {
    fn new(seed: u64) -> Self {
        let mut random = Random(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1);
        let ranks = 1 + random.below(4) as usize;
        let extent =
            |random: &mut Random| (0..1 + random.below(2)).map(|_| 1 + random.below(12)).collect::<Vec<_>>();
        let extents: Vec<Vec<u64>> = (0..1 + random.below(3)).map(|_| extent(&mut random)).collect();
        let mut arrays: Vec<Array> = extents.iter().map(|dims| Array::new(dims)).collect();
        let (mut rounds, mut wanted) = (Vec::new(), Vec::new());
        for _ in 0..1 + random.below(4) {
            let mut writes = Vec::new();
            for _ in 0..ranks {
                let mut own = Vec::new();
                for _ in 0..random.below(6) {
                    let which = random.below(arrays.len() as u64) as usize;
                    let chosen = selection(&mut random, &arrays[which].dims);
                    let count = chosen.element_count(&arrays[which].dims).unwrap();
                    let values: Vec<i32> = (0..count).map(|_| random.below(1 << 30) as i32).collect();
                    arrays[which].put(&chosen, &values);
                    own.push((which, chosen, values));
                }
                writes.push(own);
            }
            wanted.push(arrays.clone());
            let resize = (random.below(3) == 0).then(|| {
                let which = random.below(arrays.len() as u64) as usize;
                let dims: Vec<u64> = arrays[which].dims.iter().map(|_| 1 + random.below(14)).collect();
                arrays[which].resize(&dims);
                (which, dims)
            });
            rounds.push(Round { writes, resize });
        }
        wanted.push(arrays);
        Program { ranks, extents, rounds, wanted }
    }

    /// What one of the ranks does.
    fn run(&self, member: Arc<dyn Comm>, path: &str) {
        let rank = member.rank();
        let (create, access) = (FileCreate::default(), FileAccess::write());
        let c = connector().create_shared(member, &ContainerCreate::new(path, &create, &access)).unwrap();
        let names: Vec<String> = (0..self.extents.len()).map(|n| format!("d{n}")).collect();
        let made: Vec<Token> =
            names.iter().zip(&self.extents).map(|(name, dims)| growing(&*c, name, dims)).collect();
        for (round, wanted) in self.rounds.iter().zip(&self.wanted) {
            let writes = &round.writes[rank];
            // The first half is copied, the rest borrowed.
            let bytes: Vec<Vec<u8>> = writes.iter().map(|(_, _, values)| to_bytes(values)).collect();
            let mut posting = c.posting();
            for (n, ((which, chosen, values), bytes)) in writes.iter().zip(&bytes).enumerate() {
                match n < writes.len() / 2 {
                    true => put(&*c, made[*which], chosen, values).unwrap(),
                    false => posting.write(made[*which], chosen, bytes).unwrap(),
                }
            }
            posting.flush(Durability::None).unwrap();
            check(&c, &made, wanted);
            if let Some((which, dims)) = &round.resize {
                c.dataset_resize(made[*which], dims).unwrap();
            }
        }
        c.close().unwrap();
    }
}

fn check(c: &LogContainer, datasets: &[Token], wanted: &[Array]) {
    for (dataset, wanted) in datasets.iter().zip(wanted) {
        assert_eq!(get(c, *dataset, &Selection::All).unwrap(), wanted.values);
    }
}

fn on_threads(ranks: usize, work: impl Fn(Arc<dyn Comm>) + Sync) {
    let work = &work;
    std::thread::scope(|scope| {
        for member in threads(ranks) {
            scope.spawn(move || work(Arc::new(member)));
        }
    });
}

#[test]
fn random_programs_of_several_writers_agree_with_the_sequential_model() {
    let folder = Folder::new("log");
    let first = std::env::var("HYPERSLAB_SEED").ok().and_then(|n| n.parse().ok()).unwrap_or(1u64);
    for seed in first..first + 1000 {
        println!("seed {seed}");
        let program = Program::new(seed);
        let path = folder.at(&format!("{seed}.h5"));
        on_threads(program.ranks, |member| program.run(member, &path));
        let c = open(&path, &FileAccess::read()).unwrap();
        let wanted = program.wanted.last().unwrap();
        let datasets: Vec<Token> = (0..wanted.len()).map(|n| find(&*c, &format!("d{n}"))).collect();
        check(&c, &datasets, wanted);
        c.close().unwrap();
        std::fs::remove_file(&path).unwrap();
    }
}

fn scattered_requests_read_back(ranks: usize) {
    let folder = Folder::new("log");
    let path = folder.at("scattered.h5");
    on_threads(ranks, |member| scattered::write(member, &path));
    scattered::check(&path);
}

#[test]
fn scattered_requests_of_four_threads_read_back() {
    scattered_requests_read_back(4);
}

#[test]
fn scattered_requests_of_one_process_read_back() {
    scattered_requests_read_back(1);
}

#[test]
fn a_file_is_opened_together_and_written_on() {
    let folder = Folder::new("log");
    let path = folder.at("again.h5");
    let c = create(&path, &FileAccess::write());
    let data = ints(&*c, "d", &[40]);
    put(&*c, data, &Selection::block(&[0], &[20]).unwrap(), &[1; 20]).unwrap();
    c.close().unwrap();
    on_threads(4, |member| {
        let rank = member.rank() as u64;
        let c = connector().open_shared(member, &ContainerOpen::new(&path, &FileAccess::write())).unwrap();
        let data = find(&*c, "d");
        c.dataset_info(data).unwrap();
        put(&*c, data, &Selection::block(&[rank * 10], &[5]).unwrap(), &[rank as i32 + 2; 5]).unwrap();
        c.commit(Durability::None).unwrap();
        let all = get(&*c, data, &Selection::All).unwrap();
        assert_eq!(all[..15], [2, 2, 2, 2, 2, 1, 1, 1, 1, 1, 3, 3, 3, 3, 3]);
        c.close().unwrap();
    });
}

#[test]
fn a_writer_that_is_gone_fails_the_others_and_the_last_flush_stays() {
    let folder = Folder::new("log");
    let path = folder.at("gone.h5");
    on_threads(3, |member| {
        let rank = member.rank();
        let (create, access) = (FileCreate::default(), FileAccess::write());
        let c = connector().create_shared(member, &ContainerCreate::new(&path, &create, &access)).unwrap();
        let data = ints(&*c, "d", &[3]);
        put(&*c, data, &Selection::block(&[rank as u64], &[1]).unwrap(), &[5]).unwrap();
        c.commit(Durability::None).unwrap();
        put(&*c, data, &Selection::block(&[rank as u64], &[1]).unwrap(), &[6]).unwrap();
        if rank != 1 {
            assert!(c.commit(Durability::None).is_err());
        }
    });
    let c = open(&path, &FileAccess::read()).unwrap();
    assert_eq!(get(&*c, find(&*c, "d"), &Selection::All).unwrap(), [5, 5, 5]);
}

#[test]
fn strings_of_several_writers_are_read_by_all_and_by_plain_programs() {
    for ranks in [2, 4] {
        let folder = Folder::new("log");
        let path = folder.at("text.h5");
        on_threads(ranks, |member| programs::strings(member, &path));
        let native = native::NativeConnector;
        let c = vol::Connector::open(&native, &ContainerOpen::new(&path, &FileAccess::read())).unwrap();
        programs::check_strings(&*c, ranks as u64);
    }
}

#[test]
fn references_of_several_writers_are_read_by_all_and_by_plain_programs() {
    for ranks in [2, 4] {
        let folder = Folder::new("log");
        let path = folder.at("references.h5");
        on_threads(ranks, |member| programs::references(member, &path));
        let native = native::NativeConnector;
        let c = vol::Connector::open(&native, &ContainerOpen::new(&path, &FileAccess::read())).unwrap();
        programs::check_references(&*c, ranks as u64);
        let c = open(&path, &FileAccess::read()).unwrap();
        programs::check_references(&*c, ranks as u64);
    }
}

#[test]
fn tables_that_several_writers_merge_twice_lead_to_the_newest_elements() {
    for ranks in [1, 2, 3, 4] {
        let folder = Folder::new("log");
        let path = folder.at("merged.h5");
        on_threads(ranks, |member| programs::merged(&member, &path));
        let c = open(&path, &FileAccess::read()).unwrap();
        programs::check_merged(&*c);
        assert_eq!(c.statistics().unwrap().flushes, 3);
    }
}

#[test]
fn logs_in_subfiles_are_read_by_all_and_joined() {
    for ranks in [1, 2, 4] {
        let folder = Folder::new("log");
        let path = folder.at("sub.h5");
        on_threads(ranks, |member| programs::subfiled(member, &path));
        let subfile = |n: usize| format!("{path}.subfiles/sub.h5.{n}");
        assert!((0..ranks.min(2)).all(|n| std::fs::metadata(subfile(n)).unwrap().len() > 0));
        let c = open(&path, &FileAccess::read()).unwrap();
        programs::check_subfiled(&*c, ranks as u64);
        assert!(vol::call::<hyperslab_log::CheckRepack>(&*c, &()).is_err(), "subfiles have no other copy");
        c.close().unwrap();
        // What was written stays where it is when the file is written on without subfiles.
        let c = open(&path, &FileAccess::write()).unwrap();
        put(&*c, find(&*c, "a"), &Selection::block(&[1], &[1]).unwrap(), &[0]).unwrap();
        c.close().unwrap();
        let c = open(&path, &FileAccess::write()).unwrap();
        programs::check_subfiled(&*c, ranks as u64);
        c.compact().unwrap();
        c.close().unwrap();
        assert!(!std::fs::exists(format!("{path}.subfiles")).unwrap(), "joined logs are in the file");
        let c = open(&path, &FileAccess::read()).unwrap();
        programs::check_subfiled(&*c, ranks as u64);
        vol::call::<hyperslab_log::CheckRepack>(&*c, &()).unwrap();
        c.close().unwrap();
    }
}

#[test]
fn a_log_in_subfiles_is_deleted_with_them_and_names_of_other_files_lead_nowhere() {
    let folder = Folder::new("log");
    let path = folder.at("gone.h5");
    on_threads(2, |member| programs::subfiled(member, &path));
    let other = folder.at("other.h5");
    std::fs::copy(&path, &other).unwrap();
    let c = open(&other, &FileAccess::read()).unwrap();
    let data = find(&*c, "a");
    assert!(get(&*c, data, &Selection::All).is_err(), "the subfiles belong to another name");
    c.close().unwrap();
    vol::Connector::delete(&connector(), &ContainerOpen::new(&path, &FileAccess::write())).unwrap();
    assert!(!std::fs::exists(format!("{path}.subfiles")).unwrap() && !std::fs::exists(&path).unwrap());
}

#[test]
fn subfiles_are_external_raw_data_to_plain_programs() {
    if !testkit::oracles::has_h5py() {
        return;
    }
    let folder = Folder::new("log");
    let path = folder.at("external.h5");
    on_threads(2, |member| programs::subfiled(member, &path));
    let script = format!(
        "import h5py, os\nos.chdir(os.path.dirname({path:?}))\nf = h5py.File({path:?})\n\
         log = f['__LOG/log_00000000']\nassert len(log.external) == 2, log.external\n\
         assert log[...].view('<i4').tolist() == [0] * 10 + [1] * 10, log[...]\n"
    );
    let output = std::process::Command::new("python3").args(["-c", &script]).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

/// Opens a file through a driver of files that counts, and says which bytes of tables one dataset took.
#[test]
fn a_reader_of_one_dataset_takes_its_entries_only() {
    let folder = Folder::new("log");
    for engine in ["v1", "v2"] {
        let path = folder.at(&format!("{engine}.h5"));
        on_threads(2, |member| {
            let rank = member.rank() as u64;
            let (create, access) = (FileCreate::default(), FileAccess::write());
            let op =
                ContainerCreate { engine: Some(engine), ..ContainerCreate::new(&path, &create, &access) };
            let c = connector().create_shared(member, &op).unwrap();
            let made: Vec<Token> = (0..50).map(|n| ints(&*c, &format!("d{n}"), &[1000])).collect();
            for (n, data) in made.iter().enumerate() {
                for at in (rank..1000).step_by(2 + n % 3) {
                    put(&*c, *data, &Selection::block(&[at], &[1]).unwrap(), &[n as i32]).unwrap();
                }
            }
            c.close().unwrap();
        });
        // The records of all other datasets are overwritten with nonsense.
        let native = native::NativeConnector;
        let c = vol::Connector::open(&native, &ContainerOpen::new(&path, &FileAccess::read())).unwrap();
        let (table, starts) = (find(&*c, "__LOG/metadata"), find(&*c, "__LOG/offsets"));
        let chunk = c.chunk_list(table, 0, 2).unwrap().entries;
        assert_eq!(chunk.len(), 1);
        let mut lines = vec![0; 400];
        c.dataset_read(&mut [vol::OpRead { dataset: starts, selection: &Selection::All, into: &mut lines }])
            .unwrap();
        let lines: Vec<u64> = lines.as_chunks::<8>().0.iter().map(|n| u64::from_le_bytes(*n)).collect();
        assert!(lines.is_sorted() && lines[0] > 0);
        let (start, len) = (chunk[0].address.unwrap(), c.dataset_info(table).unwrap().space.dims()[0]);
        c.close().unwrap();
        let mut image = std::fs::read(&path).unwrap();
        // `entry_off` of version 1 is an offset in the file.
        if engine == "v1" {
            let at = |n: u64| u64::from_le_bytes(image[n as usize..n as usize + 8].try_into().unwrap());
            let names: u64 = (0..50).map(|n| 8 + format!("d{n}").len() as u64).sum();
            assert_eq!(at(start + 16 + names + 8), start + lines[0]);
        }
        let last = (start + lines[49]) as usize..(start + len) as usize;
        let first = (start + lines[0]) as usize;
        let is_version_3 = engine == "v2";
        // In version 3 selections lie between records, which may share them: those before the last record stay.
        let before = if is_version_3 { first + 16 } else { last.start };
        image[first..before].fill(0xee);
        std::fs::write(&path, &image).unwrap();
        let c = open(&path, &FileAccess::read()).unwrap();
        let found = get(&*c, find(&*c, "d49"), &Selection::All).unwrap();
        assert!(found.iter().all(|value| *value == 49 || *value == 0) && found.contains(&49));
        assert!(get(&*c, find(&*c, "d0"), &Selection::All).is_err());
        c.close().unwrap();
    }
}
