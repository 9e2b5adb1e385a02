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

/// A dataset of strings, one for each rank.
fn strings(c: &LogContainer, name: &str, count: u64) -> Token {
    let mut op = op(c, name, model::Dataspace::simple(&[count]).unwrap(), Default::default());
    op.datatype = model::Datatype::var_string(model::CharacterSet::Utf8);
    c.dataset_create(&op).unwrap()
}

/// Writes one string collectively, in the memory datatype.
fn put_string(c: &LogContainer, dataset: Token, at: u64, text: &str) -> vol::Result<()> {
    let mut heap = model::heap::Heap::new();
    let descriptor = heap.push(text.as_bytes(), text.len() as u64);
    let datatype = c.dataset_info(dataset).unwrap().datatype.memory_type();
    let mut element = vec![0; datatype.size() as usize];
    descriptor.store(&mut element).unwrap();
    let selection = Selection::block(&[at], &[1]).unwrap();
    let together = Container::collective(c).unwrap();
    together.write_values_all(dataset, &selection, &element, &heap)
}

/// Reads strings collectively.
fn get_strings(c: &LogContainer, dataset: Token, selection: &Selection, count: usize) -> vol::Result<Vec<String>> {
    let info = c.dataset_info(dataset)?;
    let mut raw = vec![0; count * info.datatype.size() as usize];
    let together = Container::collective(c).unwrap();
    together.read_all(&mut [vol::OpRead { dataset, selection, into: &mut raw }])?;
    let (memory, mut heap) = (info.datatype.memory_type(), model::heap::Heap::new());
    let none = Default::default();
    let values =
        algorithms::transfer::from_file_type(c, &info.datatype, &raw, &memory, &none, &mut heap)?;
    let text = |element: &[u8]| {
        let descriptor = model::heap::VarLenDescriptor::load(element).unwrap();
        String::from_utf8(heap.get(descriptor, 1).unwrap().to_vec()).unwrap()
    };
    Ok(values.chunks_exact(memory.size() as usize).map(text).collect())
}

#[test]
fn strings_of_several_writers_are_read_by_all_and_by_plain_programs() {
    for ranks in [2, 4] {
        let folder = Folder::new("log");
        let path = folder.at("text.h5");
        on_threads(ranks, |member| {
            let rank = member.rank() as u64;
            let (create, access) = (FileCreate::default(), FileAccess::write());
            let c = connector().create_shared(member, &ContainerCreate::new(&path, &create, &access)).unwrap();
            let (text, numbers) = (strings(&c, "text", ranks as u64), ints(&*c, "numbers", &[ranks as u64]));
            put_string(&c, text, rank, &format!("rank {rank}")).unwrap();
            let own = Selection::block(&[rank], &[1]).unwrap();
            put(&*c, numbers, &own, &[rank as i32]).unwrap();
            let wanted: Vec<String> = (0..ranks).map(|rank| format!("rank {rank}")).collect();
            assert_eq!(get_strings(&c, text, &Selection::All, ranks).unwrap(), wanted);
            // Each reads another element.
            let other = (rank + 1) % ranks as u64;
            let one = Selection::block(&[other], &[1]).unwrap();
            assert_eq!(get_strings(&c, text, &one, 1).unwrap(), [format!("rank {other}")]);
            c.commit(Durability::None).unwrap();
            // One that cannot take part fails all, and no one waits.
            let at = if rank == 1 { 99 } else { rank };
            assert!(put_string(&c, text, at, "lost").is_err());
            // Without the others such a dataset is not transferred.
            let size = c.dataset_info(text).unwrap().datatype.size() as usize;
            let write = vol::OpWrite { dataset: text, selection: &own, from: &vec![0; size] };
            assert_eq!(c.dataset_write(&[write]).unwrap_err().kind(), model::Kind::Unsupported);
            c.close().unwrap();
        });
        let native = native::NativeConnector;
        let c = vol::Connector::open(&native, &ContainerOpen::new(&path, &FileAccess::read())).unwrap();
        let text = find(&*c, "text");
        assert_eq!(c.dataset_info(text).unwrap().space.dims(), [ranks as u64]);
        let mut raw = vec![0; ranks * c.dataset_info(text).unwrap().datatype.size() as usize];
        c.dataset_read(&mut [vol::OpRead { dataset: text, selection: &Selection::All, into: &mut raw }]).unwrap();
        let (info, mut heap) = (c.dataset_info(text).unwrap(), model::heap::Heap::new());
        let none = Default::default();
        let memory = info.datatype.memory_type();
        algorithms::transfer::from_file_type(&*c, &info.datatype, &raw, &memory, &none, &mut heap).unwrap();
        let (bytes, _) = heap.parts();
        assert!(String::from_utf8_lossy(bytes).contains("rank 0") && !String::from_utf8_lossy(bytes).contains("lost"));
    }
}
