//! Programs of several processes under `mpirun`, whichever library it belongs to.

use std::process::Command;

fn is_open_mpi(version: &[u8]) -> bool {
    let text = String::from_utf8_lossy(version);
    text.contains("Open MPI") || text.contains("OpenRTE")
}

/// Returns whether processes go on after another one of their job died. MPICH's library asks its launcher to end them,
/// whatever the launcher was told.
pub fn outlive_others() -> bool {
    Command::new("mpirun").arg("--version").output().is_ok_and(|output| is_open_mpi(&output.stdout))
}

/// Returns a command that runs a program in several processes, without the program. `outlives` leaves the others
/// alone when one dies. `None` if there is no `mpirun`; see [`missing`](crate::oracles::missing).
#[track_caller]
pub fn mpirun(processes: usize, outlives: bool) -> Option<Command> {
    mpirun_of("mpirun", processes, outlives)
}

/// Returns a command as [`mpirun`] does, for another launcher such as `mpirun.mpich`.
#[track_caller]
pub fn mpirun_of(launcher: &str, processes: usize, outlives: bool) -> Option<Command> {
    let version =
        Command::new(launcher).arg("--version").output().ok().filter(|output| output.status.success());
    let Some(version) = version else {
        crate::oracles::missing(launcher);
        return None;
    };
    let is_open_mpi = is_open_mpi(&version.stdout);
    let mut command = Command::new(launcher);
    match (is_open_mpi, outlives) {
        (true, true) => command.args(["--allow-run-as-root", "--oversubscribe", "--enable-recovery"]),
        (true, false) => command.args(["--allow-run-as-root", "--oversubscribe"]),
        // MPICH and its relatives take as many processes as they are asked for.
        (false, true) => command.arg("-disable-auto-cleanup"),
        (false, false) => &mut command,
    };
    command.args(["-n", &processes.to_string()]);
    Some(command)
}
