//! What tests of files that several processes have open share.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use hyperslab::parallel::{Comm, threads};
use hyperslab::{Dataset, File, Result, Selection, Transfer};

/// A file that is removed at the end.
#[derive(Debug)]
pub(crate) struct Scratch(PathBuf);

impl Scratch {
    pub(crate) fn new(name: &str) -> Self {
        let name = format!("hyperslab-parallel-{}-{name}.h5", std::process::id());
        Scratch(std::env::temp_dir().join(name))
    }

    /// Returns a file at a path.
    pub(crate) fn at(path: &str) -> Self {
        Scratch(path.into())
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

/// Runs a program on all ranks; what each returned.
pub(crate) fn on_ranks<T: Send>(count: usize, program: impl Fn(Arc<dyn Comm>) -> T + Sync) -> Vec<T> {
    std::thread::scope(|scope| {
        let ranks: Vec<_> = threads(count)
            .into_iter()
            .map(|comm| {
                let program = &program;
                scope.spawn(move || program(Arc::new(comm)))
            })
            .collect();
        ranks.into_iter().map(|rank| rank.join().expect("a rank panicked")).collect()
    })
}

/// Runs a program on all ranks of a new file, which all close.
pub(crate) fn in_new_file(
    scratch: &Scratch,
    count: usize,
    program: impl Fn(&File, usize) -> Result<()> + Sync,
) {
    let done = on_ranks(count, |comm| {
        let rank = comm.rank();
        let file = File::create_parallel(comm, scratch.path())?;
        program(&file, rank)?;
        file.close()
    });
    done.into_iter().enumerate().for_each(|(rank, done)| done.unwrap_or_else(|e| panic!("rank {rank}: {e}")));
}

pub(crate) fn together(dataset: &Dataset) -> Dataset {
    dataset.with_transfer(Transfer::collective())
}

/// Rows `start..start + count` of a dataset of two dimensions.
pub(crate) fn rows(start: u64, count: u64, columns: u64) -> Selection {
    match count {
        0 => Selection::None,
        _ => Selection::block(&[start, 0], &[count, columns]).expect("a block"),
    }
}

/// Runs a program of h5py, in which `f` is the file, and has h5dump read all of it.
pub(crate) fn others_agree(scratch: &Scratch, program: &str) {
    if !testkit::oracles::has_h5py() || !testkit::oracles::has_program("h5dump") {
        return;
    }
    let program =
        format!("import h5py, sys\nimport numpy as np\nf = h5py.File(sys.argv[1], 'r')\n{program}\n");
    let output = Command::new("python3").args(["-c", &program]).arg(scratch.path()).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let output = Command::new("h5dump").arg(scratch.path()).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}
