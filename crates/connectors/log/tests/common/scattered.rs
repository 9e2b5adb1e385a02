//! Scattered requests of all ranks to all datasets, and whether everyone reads what was written.

use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use algorithms::copy::{CopyContext, contents};
use comm::Comm;
use model::properties::FileCreate;
use model::{Limits, Selection, Token};
use native::NativeConnector;
use vol::{Connector, Container, ContainerCreate, Durability, FileAccess};

use super::{Random, connector, find, get, ints, open, put};

/// Elements of a request: 512 bytes.
const ELEMENTS: u64 = 128;
const DATASETS: u64 = 100;
/// A tenth of what is to be shown (200000); `HYPERSLAB_REQUESTS` sets another number.
const REQUESTS: u64 = 20_000;

fn requests() -> u64 {
    std::env::var("HYPERSLAB_REQUESTS").ok().and_then(|n| n.parse().ok()).unwrap_or(REQUESTS)
}

/// Writes the requests of one rank, in an order that looks random, in two flushes.
pub(crate) fn write(comm: Arc<dyn Comm>, path: &str) {
    let (rank, ranks, total) = (comm.rank() as u64, comm.size() as u64, requests());
    let (create, access) = (FileCreate::default(), FileAccess::write());
    let c = connector().create_shared(comm, &ContainerCreate::new(path, &create, &access)).unwrap();
    let each = total / DATASETS * ELEMENTS;
    let made: Vec<Token> = (0..DATASETS).map(|n| ints(&*c, &format!("d{n}"), &[each])).collect();
    let mut random = Random(rank + 7);
    let mut order: Vec<u64> = (0..total).filter(|n| (n + n / DATASETS) % ranks == rank).collect();
    (1..order.len()).rev().for_each(|n| order.swap(n, random.below(n as u64 + 1) as usize));
    let half = order.len() / 2;
    for (k, n) in order.into_iter().enumerate() {
        let values: Vec<i32> = (0..ELEMENTS).map(|k| (n * ELEMENTS + k) as i32).collect();
        let block = Selection::block(&[n / DATASETS * ELEMENTS], &[ELEMENTS]).unwrap();
        put(&*c, made[(n % DATASETS) as usize], &block, &values).unwrap();
        if k == half {
            c.commit(Durability::None).unwrap();
        }
    }
    c.commit(Durability::None).unwrap();
    c.close().unwrap();
}

/// One process reads everything back, and h5py the canonical copy: both find what was written.
pub(crate) fn check(path: &str) {
    let c = open(path, &FileAccess::read()).unwrap();
    let blocks = requests() / DATASETS;
    for n in 0..DATASETS {
        let found = get(&*c, find(&*c, &format!("d{n}")), &Selection::All).unwrap();
        let block = |b: u64| (0..ELEMENTS).map(move |k| ((b * DATASETS + n) * ELEMENTS + k) as i32);
        assert!(found.into_iter().eq((0..blocks).flat_map(block)), "dataset {n} differs");
    }
    assert_eq!(c.statistics().unwrap().flushes, 2);
    let copy = format!("{path}.canonical");
    let (create, access, limits) = (FileCreate::default(), FileAccess::write(), Limits::default());
    let canonical = NativeConnector.create(&ContainerCreate::new(&copy, &create, &access)).unwrap();
    contents(&*c, &*canonical, CopyContext::new(&limits)).unwrap();
    canonical.close().unwrap();
    c.close().unwrap();
    check_with_h5py(Path::new(&copy), blocks);
}

fn check_with_h5py(path: &Path, blocks: u64) {
    if !testkit::oracles::has_h5py() {
        return;
    }
    let script = format!(
        "import h5py, numpy\n\
         f = h5py.File({path:?})\n\
         assert len(f) == {DATASETS}, len(f)\n\
         for n in range({DATASETS}):\n\
         \x20   b, k = numpy.ogrid[:{blocks}, :{ELEMENTS}]\n\
         \x20   wanted = ((b * {DATASETS} + n) * {ELEMENTS} + k).ravel()\n\
         \x20   assert numpy.array_equal(f[f'd{{n}}'][...], wanted), n\n"
    );
    let output = Command::new("python3").args(["-c", &script]).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}
