//! A server in a process of its own, which can be killed.

use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use hyperslab_server::{Auth, Config, Listen, Server, ServerLimits};
use vol::Result;

use crate::common::{Folder, storage};

pub(crate) struct Process {
    child: Child,
    pub(crate) address: String,
}

impl Process {
    pub(crate) fn start(root: &Folder, listen: &str, direct: bool) -> Process {
        let mut command = Process::command(listen);
        command.env("HYPERSLAB_TEST_ROOT", root.path()).env("HYPERSLAB_TEST_DIRECT", direct.to_string());
        Process::of(command)
    }

    /// A node in front of a store that several servers share.
    pub(crate) fn start_node(stack: &str, listen: &str) -> Process {
        let mut command = Process::command(listen);
        command.env("HYPERSLAB_TEST_STACK", stack);
        Process::of(command)
    }

    fn command(listen: &str) -> Command {
        let this = std::env::current_exe().expect("this program");
        let mut command = Command::new(this);
        command.args(["--exact", "process::a_server_of_its_own", "--ignored", "--nocapture"]);
        command.env("HYPERSLAB_TEST_LISTEN", listen);
        command
    }

    fn of(mut command: Command) -> Process {
        let mut child = command.stdout(Stdio::piped()).spawn().expect("a process");
        let mut lines = BufReader::new(child.stdout.take().expect("output")).lines();
        let ready = |line: String| line.split_once("ready at ").map(|(_, address)| address.to_owned());
        let address = lines.find_map(|line| line.ok().and_then(ready)).expect("an address");
        // The rest of the output has nowhere to go, and must not fill up.
        std::thread::spawn(move || lines.for_each(drop));
        Process { child, address }
    }

    pub(crate) fn kill(&mut self) {
        self.child.kill().expect("killed");
        self.child.wait().expect("ended");
    }
}

/// Not a test: what [`Process`] runs.
#[test]
#[ignore = "run by other tests"]
fn a_server_of_its_own() {
    let Ok(listen) = std::env::var("HYPERSLAB_TEST_LISTEN") else { return };
    let (root, stack) = (std::env::var("HYPERSLAB_TEST_ROOT"), std::env::var("HYPERSLAB_TEST_STACK").ok());
    let listen = listen.parse().unwrap();
    let direct = std::env::var("HYPERSLAB_TEST_DIRECT").is_ok_and(|word| word == "true");
    // The next server waits for the locks of the one that was killed.
    let limits = ServerLimits { lock_lease: Duration::from_secs(1), ..ServerLimits::default() };
    let (listen, auth, root) = (Listen::Tcp(listen), Auth::Off, root.ok().map(PathBuf::from));
    let config = Config { listen, auth, direct, limits, stack, root, ..Config::local(storage(), "") };
    // The port of the server that was killed may be ours a moment later.
    let server = std::iter::repeat_with(|| Server::start(&config)).find_map(Result::ok).unwrap();
    let Listen::Tcp(address) = server.listen() else { return };
    println!("ready at {address}");
    loop {
        std::thread::park();
    }
}
