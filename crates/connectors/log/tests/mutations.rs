//! Broken tables: whatever their bytes, nothing panics, and nothing is read outside of the logs.

mod common;

use common::*;
use model::properties::FileCreate;
use model::{LinkTarget, Selection};
use native::NativeConnector;
use vol::{Connector, Container, ContainerCreate, ContainerOpen, FileAccess, OpRead};

/// Mutations of each of the two versions; `HYPERSLAB_MUTATIONS` sets another number.
fn count() -> u64 {
    std::env::var("HYPERSLAB_MUTATIONS").ok().and_then(|n| n.parse().ok()).unwrap_or(2500)
}

/// A log with some datasets, and where its table lies in the file.
fn good(path: &str, engine: &str) -> (u64, u64) {
    let (create, access) = (FileCreate::default(), FileAccess::write());
    let op = ContainerCreate { engine: Some(engine), ..ContainerCreate::new(path, &create, &access) };
    let c = connector().create_log(&op).unwrap();
    let mut random = Random(9);
    for name in ["a", "b", "c"] {
        let data = ints(&*c, name, &[20, 10]);
        for _ in 0..6 {
            let chosen = selection(&mut random, &[20, 10]);
            let n = chosen.element_count(&[20, 10]).unwrap();
            put(&*c, data, &chosen, &vec![0x0707_0707; n as usize]).unwrap();
        }
    }
    // Divided alike, into small pieces: what the first has looked up serves the second.
    let comb = Selection::hyperslab(&[0, 0], &[1, 3], &[20, 4], &[1, 1]).unwrap();
    for name in ["d", "e"] {
        let data = ints(&*c, name, &[20, 10]);
        put(&*c, data, &comb, &[0x0707_0707; 80]).unwrap();
    }
    c.close().unwrap();
    let c = NativeConnector.open(&ContainerOpen::new(path, &FileAccess::read())).unwrap();
    let group = c.link_get(c.info().unwrap().root, "__LOG").unwrap().unwrap();
    let LinkTarget::Hard(group) = group.target else { panic!("no group") };
    let table = c.link_get(group, "metadata").unwrap().unwrap();
    let LinkTarget::Hard(table) = table.target else { panic!("no table") };
    let chunk = c.chunk_list(table, 0, 1).unwrap().entries.remove(0);
    (chunk.address.unwrap(), c.dataset_info(table).unwrap().space.dims()[0])
}

fn mutate(random: &mut Random, table: &mut [u8]) {
    for _ in 0..1 + random.below(4) {
        let at = random.below(table.len() as u64) as usize;
        match random.below(4) {
            0 => table[at] = random.below(256) as u8,
            1 => table[at] ^= 1 << random.below(8),
            2 => table[at] = [0, 0x7f, 0x80, 0xff][random.below(4) as usize],
            _ => {
                let end = (at + 8).min(table.len());
                let huge = [u64::MAX, 1 << 62, 1 << 40, 0][random.below(4) as usize].to_le_bytes();
                table[at..end].copy_from_slice(&huge[..end - at]);
            }
        }
    }
}

fn read_all(path: &str) -> vol::Result<()> {
    let c = open(path, &FileAccess::read().with_limits(vol::Limits::strict()))?;
    for name in ["a", "b", "c", "d", "e"] {
        let dataset = find(&*c, name);
        let mut into = vec![0; 800];
        // Where it reads, it reads what was written or nothing: the log has no other bytes.
        if c.dataset_read(&mut [OpRead { dataset, selection: &Selection::All, into: &mut into }]).is_ok() {
            assert!(to_ints(&into).iter().all(|value| *value == 0x0707_0707 || *value == 0));
        }
    }
    c.close()
}

fn mutated(engine: &str, seed: u64) {
    println!("{engine}, seed {seed}");
    let folder = Folder::new("log");
    let path = folder.at("broken.h5");
    let (at, len) = good(&path, engine);
    let image = std::fs::read(&path).unwrap();
    assert!(read_all(&path).is_ok());
    let (mut random, mut failed) = (Random(seed), 0);
    for _ in 0..count() {
        let mut bytes = image.clone();
        mutate(&mut random, &mut bytes[at as usize..(at + len) as usize]);
        std::fs::write(&path, &bytes).unwrap();
        failed += u64::from(read_all(&path).is_err());
    }
    assert!(failed > 0);
}

#[test]
fn mutated_tables_of_version_1_never_panic() {
    mutated("v1", 0x1234_5678);
}

#[test]
fn mutated_tables_of_version_2_never_panic() {
    mutated("v2", 0x8765_4321);
}
