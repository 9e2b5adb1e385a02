//! Two hosts for real: client and server in two network namespaces joined by a veth pair. Where the machine does not
//! allow it (it takes root and `ip`), the test fails, unless `HYPERSLAB_WITHOUT_ORACLES` is set.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

use crate::common::{Folder, clients, group, storage};
use hyperslab_server::{Auth, Config, Listen, Rights, Server};
use model::Selection;
use model::properties::FileCreate;
use vol::{Durability, FileAccess, OpRead, OpWrite};

const TOKEN: &str = "0123456789abcdef0123456789abcdef";
const SERVER: &str = "10.213.77.1";
const CLIENT: &str = "10.213.77.2";

fn ip(words: &str) -> bool {
    let run = Command::new("ip").args(words.split_whitespace()).stderr(Stdio::null()).status();
    run.is_ok_and(|status| status.success())
}

/// Two namespaces with a cable between them; gone at the end.
struct Hosts {
    server: String,
    client: String,
}

impl Hosts {
    fn new() -> Option<Hosts> {
        let id = std::process::id();
        let hosts = Hosts { server: format!("hs{id}s"), client: format!("hs{id}c") };
        let Hosts { server, client } = &hosts;
        let made = [
            format!("netns add {server}"),
            format!("netns add {client}"),
            format!("link add v{id}s netns {server} type veth peer name v{id}c netns {client}"),
            format!("-n {server} addr add {SERVER}/30 dev v{id}s"),
            format!("-n {client} addr add {CLIENT}/30 dev v{id}c"),
            format!("-n {server} link set v{id}s up"),
            format!("-n {client} link set v{id}c up"),
        ];
        made.iter().all(|words| ip(words)).then_some(hosts)
    }
}

impl Drop for Hosts {
    fn drop(&mut self) {
        ip(&format!("netns del {}", self.server));
        ip(&format!("netns del {}", self.client));
    }
}

/// One half of the test, as a process in a namespace.
fn half(host: &str, name: &str, variable: (&str, &str)) -> Child {
    let this = std::env::current_exe().expect("this program");
    let mut command = Command::new("ip");
    command.args(["netns", "exec", host]).arg(this).args(["--exact", name, "--ignored", "--nocapture"]);
    command.env(variable.0, variable.1).stdout(Stdio::piped()).spawn().expect("a process")
}

#[test]
fn client_and_server_on_two_hosts() {
    let Some(hosts) = Hosts::new() else {
        return testkit::oracles::missing("network namespaces (root, iproute2)");
    };
    let root = Folder::new("server");
    let mut server = half(
        &hosts.server,
        "namespaces::the_server",
        ("HYPERSLAB_TEST_ROOT", &root.path().to_string_lossy()),
    );
    let mut lines = BufReader::new(server.stdout.take().expect("output")).lines();
    let ready = |line: String| line.split_once("ready at ").map(|(_, location)| location.to_owned());
    let location = lines.find_map(|line| line.ok().and_then(ready)).expect("a location");
    let client = half(&hosts.client, "namespaces::the_client", ("HYPERSLAB_TEST_LOCATION", &location))
        .wait_with_output();
    server.kill().expect("killed");
    server.wait().expect("ended");
    let client = client.expect("ended");
    assert!(client.status.success(), "{}", String::from_utf8_lossy(&client.stdout));
    let file = storage().open(&root.path().join("run.h5").to_string_lossy(), &FileAccess::read()).unwrap();
    assert_eq!(file.group_info(file.info().unwrap().root).unwrap().links, 1001);
}

/// Not a test: one half of the one above.
#[test]
#[ignore = "run by another test"]
fn the_server() {
    let Ok(root) = std::env::var("HYPERSLAB_TEST_ROOT") else { return };
    let auth = Auth::Tokens(Rights::parse(&format!("client {TOKEN} write *")).unwrap());
    let listen = Listen::Tcp(format!("{SERVER}:0").parse().unwrap());
    let server = Server::start(&Config { auth, listen, ..Config::local(storage(), root) }).unwrap();
    println!("ready at {}", server.location("run.h5"));
    loop {
        std::thread::park();
    }
}

/// Not a test: the other half.
#[test]
#[ignore = "run by another test"]
fn the_client() {
    let Ok(location) = std::env::var("HYPERSLAB_TEST_LOCATION") else { return };
    let denied = clients().create(&location, &FileCreate::default(), &FileAccess::write(), false);
    assert_eq!(denied.map(drop).unwrap_err().root_cause().kind(), model::Kind::Denied);
    let location = format!("{location}?pipeline=yes&token={TOKEN}");
    let container = clients().create(&location, &FileCreate::default(), &FileAccess::write(), false).unwrap();
    let root = container.info().unwrap().root;
    for number in 0..1000 {
        container.group_create(&group(root, &number.to_string())).unwrap();
    }
    let data = crate::common::bytes_dataset(&*container, "data", 16 << 20).unwrap();
    let bytes: Vec<u8> = (0..16u32 << 20).map(|n| (n / 3) as u8).collect();
    container.dataset_write(&[OpWrite { dataset: data, selection: &Selection::All, from: &bytes }]).unwrap();
    container.commit(Durability::Full).unwrap();
    let mut back = vec![0; bytes.len()];
    container
        .dataset_read(&mut [OpRead { dataset: data, selection: &Selection::All, into: &mut back }])
        .unwrap();
    assert!(back == bytes);
    container.close().unwrap();
}
