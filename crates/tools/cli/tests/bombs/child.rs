//! Runs the command within bounds, and measures what it took.

use std::io::Read;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Seconds of processor time that a run may take. The promise is for optimised builds; others take up to twice as long, and
/// more on a machine whose processors others share.
const CPU_SECONDS_MAX: f64 = if cfg!(debug_assertions) { 20.0 } else { 10.0 };
/// Bytes of memory that a run may take.
const MEMORY_BYTES_MAX: u64 = 1 << 30;
/// A run that takes longer than this hangs; the machine may be busy with other things.
const WALL_SECONDS_MAX: u64 = 60;

/// What a run took.
#[derive(Debug)]
pub(crate) struct Taken {
    pub(crate) code: Option<i32>,
    pub(crate) signal: Option<i32>,
    pub(crate) cpu: f64,
    pub(crate) memory: u64,
    pub(crate) wall: Duration,
    pub(crate) errors: String,
}

impl Taken {
    /// What is wrong with it, if anything is.
    pub(crate) fn problem(&self) -> Option<String> {
        let last = self.errors.lines().last().unwrap_or_default();
        if let Some(signal) = self.signal {
            return Some(format!("killed by signal {signal} after {:.1} s of work: {last}", self.cpu));
        }
        if self.errors.contains("panicked at") {
            return Some(format!("panicked: {}", self.errors));
        }
        if self.cpu > CPU_SECONDS_MAX {
            return Some(format!("{:.1} s of work", self.cpu));
        }
        (self.memory > MEMORY_BYTES_MAX).then(|| format!("{} MiB of memory", self.memory >> 20))
    }
}

/// Runs the command with its output thrown away.
#[expect(clippy::zombie_processes, reason = "`wait4` waits for it, and says what it took")]
pub(crate) fn run(arguments: &[&str]) -> Taken {
    let started = Instant::now();
    // The shell's limits keep a run that fails from taking the machine along.
    let limits = format!("ulimit -v 6291456; ulimit -t {}; exec \"$0\" \"$@\"", CPU_SECONDS_MAX as u64 + 5);
    let mut command = Command::new("sh");
    command.args(["-c", &limits, env!("CARGO_BIN_EXE_hyperslab")]).args(arguments);
    let mut child =
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let mut pipe = child.stderr.take().unwrap().take(1 << 20);
    let errors = std::thread::spawn(move || {
        let mut bytes = Vec::new();
        let _ = pipe.read_to_end(&mut bytes);
        // What is too much to look at is still taken, so that the command does not wait for it.
        let _ = std::io::copy(&mut pipe.into_inner(), &mut std::io::sink());
        String::from_utf8_lossy(&bytes).into_owned()
    });
    let id = child.id();
    let (done, is_done) = std::sync::mpsc::channel::<()>();
    let watch = std::thread::spawn(move || {
        if is_done.recv_timeout(Duration::from_secs(WALL_SECONDS_MAX)).is_err() {
            let _ = Command::new("kill").args(["-9", &id.to_string()]).status();
        }
    });
    let usage = wait(id);
    let _ = done.send(());
    let _ = watch.join();
    Taken { wall: started.elapsed(), errors: errors.join().unwrap_or_default(), ..usage }
}

/// Waits for a child and asks the system what it took.
#[expect(unsafe_code, reason = "the standard library does not tell what a child took")]
fn wait(id: u32) -> Taken {
    let mut status = 0;
    // SAFETY: `rusage` is plain numbers, and both pointers are to variables of this function.
    let usage = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        assert_eq!(libc::wait4(id as i32, &mut status, 0, &mut usage), id as i32);
        usage
    };
    let seconds = |time: libc::timeval| time.tv_sec as f64 + time.tv_usec as f64 / 1e6;
    Taken {
        code: libc::WIFEXITED(status).then(|| libc::WEXITSTATUS(status)),
        signal: libc::WIFSIGNALED(status).then(|| libc::WTERMSIG(status)),
        cpu: seconds(usage.ru_utime) + seconds(usage.ru_stime),
        memory: usage.ru_maxrss as u64 * 1024,
        wall: Duration::ZERO,
        errors: String::new(),
    }
}
