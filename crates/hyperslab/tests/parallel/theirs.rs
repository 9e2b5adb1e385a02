//! A file that libhdf5 wrote in parallel (`theirs.c`), changed by all ranks.

use std::path::PathBuf;
use std::process::Command;
use std::sync::Arc;

use hyperslab::parallel::Comm;
use hyperslab::{File, Result};

use crate::common::{Scratch, rows, together};

const ROWS: u64 = 24;
const COLUMNS: u64 = 10;

/// What h5py finds in the file at the end.
pub(crate) const CHECK: &str = "\
assert sorted(f) == ['chunked', 'contiguous', 'deflated', 'group', 'ours'], list(f)
assert f['group'].attrs['ranks'] == f['group'].attrs['ours']
for name in ['contiguous', 'chunked', 'deflated', 'ours']:
    assert (f[name][...] == -np.arange(240).reshape(24, 10)).all(), name
";

/// Compilers for parallel programs with libhdf5, and the launchers of what they make.
const COMPILERS: [(&str, &str); 3] =
    [("h5pcc.openmpi", "mpirun.openmpi"), ("h5pcc.mpich", "mpirun.mpich"), ("h5pcc", "mpirun")];

/// The program of libhdf5.
pub(crate) struct Program {
    path: PathBuf,
    launcher: &'static str,
}

impl Program {
    /// Compiles the program; `None` if there is no compiler for it.
    pub(crate) fn compile() -> Option<Program> {
        let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/parallel/theirs.c");
        let folder = std::env::temp_dir();
        let path = folder.join(format!("hyperslab-theirs-{}", std::process::id()));
        for (compiler, launcher) in COMPILERS {
            let made = Command::new(compiler).arg("-o").arg(&path).arg(source).current_dir(&folder).output();
            if made.is_ok_and(|output| output.status.success()) {
                return Some(Program { path, launcher });
            }
        }
        testkit::oracles::missing("h5pcc (Debian: libhdf5-openmpi-dev)");
        None
    }

    /// Runs the program under its own launcher.
    pub(crate) fn run(
        &self,
        mode: &str,
        scratch: &Scratch,
        processes: usize,
    ) -> std::result::Result<(), String> {
        let mut command = testkit::mpi::mpirun_of(self.launcher, processes, false).ok_or("no mpirun")?;
        let output = command.arg(&self.path).arg(mode).arg(scratch.path()).output();
        let output = output.map_err(|error| error.to_string())?;
        match output.status.success() {
            true => Ok(()),
            false => Err(format!("{mode}: {}", String::from_utf8_lossy(&output.stderr))),
        }
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.path);
    }
}

/// Changes everything in the file, and adds to it.
pub(crate) fn change(comm: &Arc<dyn Comm>, scratch: &Scratch) -> Result<()> {
    let (rank, ranks) = (comm.rank() as u64, comm.size() as u64);
    let each = ROWS / ranks;
    let file = File::open_parallel(comm.clone(), scratch.path())?;
    let whole: Vec<i32> = (0..(ROWS * COLUMNS) as i32).collect();
    let group = file.group("group")?;
    assert_eq!(group.attr("ranks")?.read_scalar::<i32>()?, ranks as i32);
    group.set_attr("ours", ranks as i32)?;
    let new = file.new_dataset::<i32>().shape((ROWS as usize, COLUMNS as usize));
    new.chunk((7, 3)).shuffle().deflate(2).create("ours")?;
    let own = rows(rank * each, each, COLUMNS);
    let start = rank * each * COLUMNS;
    let values: Vec<i32> = (start..start + each * COLUMNS).map(|n| -(n as i32)).collect();
    for name in ["contiguous", "chunked", "deflated", "ours"] {
        let data = together(&file.dataset(name)?);
        assert!(name == "ours" || data.read_raw::<i32>()? == whole, "{name}");
        data.write_selection(&own, &values)?;
    }
    file.close()
}
