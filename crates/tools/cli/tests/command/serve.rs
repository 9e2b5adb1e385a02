//! `hyperslab serve` as a process, and the other commands on what it serves.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Output, Stdio};

use hyperslab::File;

use super::common::{Folder, hyperslab};

const HYPERSLAB: &str = env!("CARGO_BIN_EXE_hyperslab");

/// A folder with the root of a server.
fn served(name: &str) -> Folder {
    let folder = Folder::new(name);
    std::fs::create_dir(folder.at("root")).unwrap();
    folder
}

/// A server, its location and where its metrics are.
fn start(root: &str, more: &[&str]) -> (Child, String, String) {
    let mut command = Command::new(HYPERSLAB);
    command.args([
        "serve",
        "--root",
        root,
        "--listen",
        "127.0.0.1:0",
        "--http",
        "127.0.0.1:0",
        "--log",
        "json",
    ]);
    let mut child = command.args(more).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut after = |start: &str| {
        let found = |line: Result<String, _>| line.unwrap().strip_prefix(start).map(str::to_owned);
        lines.find_map(found).unwrap()
    };
    let (location, http) = (after("serving "), after("metrics at http://"));
    (child, location, http.trim_end_matches("/metrics").to_owned())
}

/// Ends it as an operator would; what it logged.
fn stop(mut child: Child) -> String {
    let id = child.id().to_string();
    assert!(Command::new("kill").args(["-TERM", &id]).status().unwrap().success());
    assert!(child.wait().unwrap().success());
    let mut log = String::new();
    child.stderr.take().unwrap().read_to_string(&mut log).unwrap();
    log
}

fn get(http: &str, path: &str) -> String {
    let mut socket = TcpStream::connect(http).unwrap();
    write!(socket, "GET {path} HTTP/1.1\r\nHost: x\r\n\r\n").unwrap();
    let mut answer = String::new();
    socket.read_to_string(&mut answer).unwrap();
    answer
}

/// A file with numbers in groups.
fn sample(folder: &Folder) -> String {
    let path = folder.at("sample.h5");
    let file = File::create(&path).unwrap();
    for number in 0..4u32 {
        let values: Vec<f64> = (0..1000).map(|n| f64::from(n * number)).collect();
        let dataset = file.new_dataset::<f64>().shape(1000).create(&format!("group/{number}")).unwrap();
        dataset.write_raw(&values).unwrap();
    }
    file.close().unwrap();
    path
}

#[test]
fn every_command_works_on_a_remote_location() {
    let folder = served("commands");
    let sample = sample(&folder);
    let (server, location, http) = start(&folder.at("root"), &[]);
    let there = format!("{location}copy.h5");
    let copied = hyperslab(&["copy", &sample, &there]);
    assert!(copied.status.success(), "{}", String::from_utf8_lossy(&copied.stderr));
    for command in [&["ls", "-r"][..], &["dump"], &["dump", "-H"], &["stat"], &["check"]] {
        let run = hyperslab(&[command, &[&there]].concat());
        assert!(run.status.success(), "{command:?}: {}", String::from_utf8_lossy(&run.stderr));
    }
    let dumped = |file: &str| {
        let text = String::from_utf8(hyperslab(&["dump", file]).stdout).unwrap();
        text.split_once('\n').map(|(_, rest)| rest.to_owned()).unwrap()
    };
    assert_eq!(dumped(&there), dumped(&sample));
    let differ = hyperslab(&["diff", &sample, &there]);
    assert!(differ.status.success(), "{}", String::from_utf8_lossy(&differ.stdout));
    let back = folder.at("back.h5");
    assert!(hyperslab(&["copy", &there, &back]).status.success());
    assert_eq!(dumped(&back), dumped(&sample));
    assert!(get(&http, "/healthz").ends_with("ok\n"));
    let metrics = get(&http, "/metrics");
    assert!(metrics.contains("hyperslab_operations_total{operation=\"dataset_read\"}"), "{metrics}");
    assert!(get(&http, "/else").starts_with("HTTP/1.1 404"));
    let log = stop(server);
    assert!(log.lines().all(|line| line.starts_with("{\"time\":") && line.ends_with('}')), "{log}");
    assert!(log.contains("\"message\":\"opened a container\""), "{log}");
}

#[test]
fn refusals_are_logged_with_who_and_why() {
    let folder = served("refusals");
    let tokens = folder.at("tokens");
    std::fs::write(&tokens, "ann 0123456789abcdef read *\n").unwrap();
    let private = <std::fs::Permissions as std::os::unix::fs::PermissionsExt>::from_mode(0o600);
    std::fs::set_permissions(&tokens, private).unwrap();
    let (server, location, _) = start(&folder.at("root"), &["--tokens", &tokens]);
    for name in ["a.h5", "a.h5?token=wrong-wrong-wrong", "../a.h5?token=0123456789abcdef"] {
        assert!(!hyperslab(&["ls", &format!("{location}{name}")]).status.success());
    }
    let log = stop(server);
    for why in ["no token", "an unknown token", "leaves its folder"] {
        assert!(log.lines().any(|line| line.contains("\"WARN\"") && line.contains(why)), "{why}: {log}");
    }
    assert!(log.contains("\"who\":\"ann\""), "{log}");
    assert!(!log.contains("0123456789abcdef") && !log.contains("wrong-wrong"), "{log}");
}

/// What a client says whose user did not start the server.
fn as_stranger(args: &[&str]) -> Output {
    Command::new(HYPERSLAB).args(args).env("HYPERSLAB_TOKENS", "/nowhere").output().unwrap()
}

#[test]
fn a_server_authenticates_clients_unless_that_is_off() {
    let folder = served("auth");
    let file = sample(&folder);
    std::fs::create_dir_all(folder.at("root")).unwrap();
    std::fs::copy(&file, folder.at("root/a.h5")).unwrap();
    let audit = folder.at("audit");
    let (server, location, _) = start(&folder.at("root"), &["--audit", &audit]);
    let location = format!("{location}a.h5");
    let ours = hyperslab(&["ls", &location]);
    assert!(ours.status.success(), "{}", String::from_utf8_lossy(&ours.stderr));
    let denied = as_stranger(&["ls", &location]);
    assert!(!denied.status.success());
    assert!(String::from_utf8_lossy(&denied.stderr).contains("you may not"), "{denied:?}");
    stop(server);
    let written = std::fs::read_to_string(&audit).unwrap();
    let line = |word: &str| written.lines().any(|line| line.contains("\"hello\"") && line.contains(word));
    assert!(line("\"allowed\":true") && line("\"allowed\":false"), "{written}");
    let (server, location, _) = start(&folder.at("root"), &["--no-auth"]);
    assert!(as_stranger(&["ls", &format!("{location}a.h5")]).status.success());
    stop(server);
}

/// Certificates need TLS: that an option is read as one shows that the command has it.
#[test]
fn the_command_has_tls() {
    let folder = served("tls");
    let (root, file) = (folder.at("root"), folder.at("none.pem"));
    let refused = hyperslab(&["serve", "--check-config", "--root", &root, "--cert", &file, "--key", &file]);
    let text = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(!refused.status.success() && text.contains("PEM") && !text.contains("no TLS"), "{text}");
}

#[test]
fn a_configuration_is_checked_without_serving() {
    let folder = served("config");
    let root = folder.at("root");
    let good = hyperslab(&["serve", "--check-config", "--root", &root, "--vol", "stats | native:"]);
    assert!(good.status.success(), "{}", String::from_utf8_lossy(&good.stderr));
    for bad in [
        &["--root", "/does/not/exist"][..],
        &["--root", &root, "--listen", "0.0.0.0:0"],
        &["--root", &root, "--vol", "nosuchlayer"],
        &["--root", &root, "--vol", "nosuch:"],
        &["--root", &root, "--cert", "x.pem"],
        &["--root", &root, "--patience", "soon"],
        &["--root", &root, "--no-auth", "--listen", "0.0.0.0:0"],
        &["--what"],
    ] {
        assert!(!hyperslab(&[&["serve", "--check-config"], bad].concat()).status.success(), "{bad:?}");
    }
}
