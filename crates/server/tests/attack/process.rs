//! The server and the attackers, as processes.

use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use hyperslab_server::{Auth, Config, Listen, Rights, Server, ServerLimits};

use crate::common::{Folder, storage};
use crate::hostile;

/// The bound that the server is given.
pub(crate) const MEMORY_BYTES_MAX: u64 = 256 << 20;
pub(crate) const HONEST_TOKEN: &str = "honesthonesthonest";
pub(crate) const READER_TOKEN: &str = "readerreaderreader";
pub(crate) const WRITER_TOKEN: &str = "writerwriterwriter";

fn rights() -> Rights {
    let text = format!(
        "honest {HONEST_TOKEN} write honest\nreader {READER_TOKEN} read shared\nwriter {WRITER_TOKEN} write hostile\n"
    );
    Rights::parse(&text).expect("rights")
}

/// One of the functions below as a process of its own.
fn half(name: &str) -> Command {
    let mut command = Command::new("nice");
    // Attackers are on other machines: they do not take the processor from the server.
    let nice = if name.ends_with("attackers") { "10" } else { "0" };
    command.args(["-n", nice]).arg(std::env::current_exe().expect("this program"));
    command.args(["--exact", name, "--ignored", "--nocapture"]).stdout(Stdio::piped());
    command
}

pub(crate) struct Process {
    child: Child,
    pub(crate) address: SocketAddr,
    pub(crate) http: SocketAddr,
}

impl Process {
    pub(crate) fn start(root: &Folder) -> Process {
        let mut child = half("process::the_server");
        // As the command does (`serve.rs` there): memory that is given back is given back to the system.
        child.env("MALLOC_MMAP_THRESHOLD_", (1 << 20).to_string());
        let mut child = child.env("HYPERSLAB_TEST_ROOT", root.path()).spawn().expect("a process");
        let mut lines = BufReader::new(child.stdout.take().expect("output")).lines();
        let ready = |line: String| {
            let (address, http) = line.split_once("ready at ")?.1.split_once(' ')?;
            Some((address.parse().ok()?, http.parse().ok()?))
        };
        let (address, http) = lines.find_map(|line| line.ok().and_then(ready)).expect("an address");
        std::thread::spawn(move || lines.for_each(drop));
        Process { child, address, http }
    }

    pub(crate) fn processor_time(&self) -> Duration {
        processor_time(self.child.id())
    }

    /// The most memory that the process had at once (`VmHWM`).
    pub(crate) fn memory_peak(&self) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).expect("alive");
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).expect("a peak");
        line.trim().trim_end_matches(" kB").parse::<u64>().expect("a number") << 10
    }
}

/// The system counts in hundredths of a second.
const TICK: Duration = Duration::from_millis(10);

/// Processor time that all programs of the machine took so far: all but what was idle.
pub(crate) fn machine_time() -> Duration {
    let stat = std::fs::read_to_string("/proc/stat").expect("counters");
    let all = stat.lines().next().expect("a sum").split_whitespace().skip(1).take(8);
    let ticks = all.map(|field| field.parse::<u32>().expect("a number"));
    // The fourth and fifth are time without work.
    TICK * ticks.enumerate().filter(|(n, _)| !matches!(n, 3 | 4)).map(|(_, ticks)| ticks).sum()
}

/// Processor time that a process took so far.
pub(crate) fn processor_time(id: u32) -> Duration {
    let stat = std::fs::read_to_string(format!("/proc/{id}/stat")).expect("alive");
    // The name may hold spaces; after it, `utime` and `stime` are the twelfth and the thirteenth.
    let fields = stat.rsplit_once(')').expect("a name").1.split_whitespace().skip(11).take(2);
    TICK * fields.map(|field| field.parse::<u32>().expect("a number")).sum::<u32>()
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Not a test: the server.
#[test]
#[ignore = "run by another test"]
fn the_server() {
    let Ok(root) = std::env::var("HYPERSLAB_TEST_ROOT") else { return };
    let limits = ServerLimits {
        memory_bytes_max: MEMORY_BYTES_MAX,
        memory_patience: Duration::from_secs(2),
        patience: Duration::from_secs(5),
        ..ServerLimits::default()
    };
    let http = Some(SocketAddr::from(([127, 0, 0, 1], 0)));
    let auth = Auth::Tokens(rights());
    let config = Config { limits, http, auth, ..Config::local(storage(), root) };
    let server = Server::start(&config).unwrap();
    let Listen::Tcp(address) = server.listen() else { return };
    println!("ready at {address} {}", server.http().unwrap());
    loop {
        std::thread::park();
    }
}

pub(crate) struct Attackers(Child);

impl Attackers {
    pub(crate) fn start(server: &Process, id: &[u8]) -> Attackers {
        let id: String = id.iter().map(|byte| format!("{byte:02x}")).collect();
        let mut command = half("process::the_attackers");
        command.env("HYPERSLAB_TEST_SERVER", server.address.to_string()).env("HYPERSLAB_TEST_ID", id);
        let child = command.env("HYPERSLAB_TEST_HTTP", server.http.to_string()).stdout(Stdio::null()).spawn();
        Attackers(child.expect("a process"))
    }

    pub(crate) fn processor_time(&self) -> Duration {
        processor_time(self.0.id())
    }
}

impl Drop for Attackers {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Not a test: the attackers.
#[test]
#[ignore = "run by another test"]
fn the_attackers() {
    let variable = |name: &str| std::env::var(name).ok();
    let (Some(server), Some(http)) = (variable("HYPERSLAB_TEST_SERVER"), variable("HYPERSLAB_TEST_HTTP"))
    else {
        return;
    };
    let id = variable("HYPERSLAB_TEST_ID").unwrap();
    let id = (0..id.len() / 2).map(|at| u8::from_str_radix(&id[2 * at..2 * at + 2], 16).unwrap()).collect();
    hostile::attack(server.parse().unwrap(), http.parse().unwrap(), id);
}
