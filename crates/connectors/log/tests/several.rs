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
fn values_of_variable_length_are_refused_where_several_write() {
    let folder = Folder::new("log");
    let path = folder.at("text.h5");
    on_threads(2, |member| {
        let (create, access) = (FileCreate::default(), FileAccess::write());
        let c = connector().create_shared(member, &ContainerCreate::new(&path, &create, &access)).unwrap();
        let mut op = op(&*c, "d", model::Dataspace::simple(&[2]).unwrap(), Default::default());
        op.datatype = model::Datatype::var_string(model::CharacterSet::Utf8);
        let data = c.dataset_create(&op).unwrap();
        let size = c.dataset_info(data).unwrap().datatype.size() as usize;
        let write = vol::OpWrite { dataset: data, selection: &Selection::All, from: &vec![0; 2 * size] };
        assert_eq!(c.dataset_write(&[write]).unwrap_err().kind(), model::Kind::Unsupported);
        c.close().unwrap();
    });
}
