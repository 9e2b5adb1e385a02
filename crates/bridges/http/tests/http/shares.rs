//! Shares of connections and memory: what one client has, others do not.

use std::io::{Read, Write};
use std::net::{IpAddr, SocketAddr, TcpStream, UdpSocket};
use std::time::{Duration, Instant};

use hyperslab::File;
use hyperslab_http::{Auth, Config, Server};
use server::{Rights, ServerLimits};
use tempfile::TempDir;

use crate::client::get_with;
use crate::serving;

const META: &str = "/h5grove/meta?file=a.h5";
const LONG: &str = "/h5grove/data?file=a.h5&path=/long&format=bin";
const LONG_BYTES: usize = 64 << 20;
const ANN: &str = "0123456789abcdef";
const BOB: &str = "fedcba9876543210";

fn configured(limits: &ServerLimits) -> (TempDir, Config) {
    let folder = TempDir::new().unwrap();
    let file = File::create(folder.path().join("a.h5")).unwrap();
    file.new_dataset::<u8>().shape(LONG_BYTES).chunk(1 << 20).create("long").unwrap();
    file.close().unwrap();
    let rights = Rights::parse(&format!("ann {ANN} read *\nbob {BOB} read *\n")).unwrap();
    let connections = serving::connections(limits);
    let config = Config { auth: Auth::Tokens(rights), connections, ..serving::folder(folder.path()) };
    (folder, config)
}

fn status(address: SocketAddr, token: &str, target: &str) -> u16 {
    get_with(address, target, &[("Authorization", &format!("Bearer {token}"))]).status
}

/// Returns a connection that stays open, and the start of the answer to its request.
fn hold(address: SocketAddr, token: &str, target: &str) -> (TcpStream, String) {
    let mut stream = TcpStream::connect(address).unwrap();
    let host = format!("Host: {address}\r\nAuthorization: Bearer {token}");
    write!(stream, "GET {target} HTTP/1.1\r\n{host}\r\n\r\n").unwrap();
    let mut bytes = vec![0; 4096];
    let len = stream.read(&mut bytes).unwrap();
    (stream, String::from_utf8_lossy(&bytes[..len]).into_owned())
}

/// Tries until a request is answered: a connection counts until the server sees its end.
fn until(wanted: u16, status: impl Fn() -> u16) {
    let started = Instant::now();
    while status() != wanted {
        assert!(started.elapsed() < Duration::from_secs(10), "{}", status());
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn a_token_has_its_share_of_connections() {
    let limits = ServerLimits { connections_per_token_max: 2, ..ServerLimits::default() };
    let (_folder, config) = configured(&limits);
    let server = Server::start(&config).unwrap();
    let address = server.address();
    let held = [hold(address, ANN, META), hold(address, ANN, META)];
    assert!(held.iter().all(|(_, answer)| answer.starts_with("HTTP/1.1 200")));
    let (_, refused) = hold(address, ANN, META);
    assert!(refused.starts_with("HTTP/1.1 503") && refused.contains("retry-after"), "{refused}");
    assert!(refused.contains("too many connections with this token"), "{refused}");
    assert_eq!(status(address, BOB, META), 200);
    drop(held);
    until(200, || status(address, ANN, META));
}

#[test]
fn all_connections_together_are_bounded() {
    let limits = ServerLimits { connections_max: 2, ..ServerLimits::default() };
    let (_folder, config) = configured(&limits);
    let server = Server::start(&config).unwrap();
    let address = server.address();
    let held = [hold(address, ANN, META), hold(address, BOB, META)];
    assert_eq!((status(address, ANN, META), status(address, BOB, META)), (503, 503));
    drop(held);
    until(200, || status(address, BOB, META));
}

/// Returns an address of this machine that others know it by.
fn address_of_this_machine() -> Option<IpAddr> {
    let socket = UdpSocket::bind("0.0.0.0:0").ok()?;
    // Nothing is sent: the system chooses the address that it would be sent from.
    socket.connect("192.0.2.1:9").ok()?;
    Some(socket.local_addr().ok()?.ip()).filter(|address| !address.is_loopback() && !address.is_unspecified())
}

#[test]
fn an_address_has_its_share_of_connections() {
    let Some(ip) = address_of_this_machine() else {
        println!("skipped: this machine has no address but its own");
        return;
    };
    let limits = ServerLimits { connections_per_address_max: 2, ..ServerLimits::default() };
    let (_folder, mut config) = configured(&limits);
    config.listen = SocketAddr::new(ip, 0);
    let server = Server::start(&config).unwrap();
    let address = server.address();
    let held = [hold(address, ANN, META), hold(address, BOB, META)];
    assert!(held.iter().all(|(_, answer)| answer.starts_with("HTTP/1.1 200")));
    let (_, refused) = hold(address, BOB, META);
    assert!(refused.contains("too many connections of this address"), "{refused}");
    drop(held);
    until(200, || status(address, BOB, META));
}

#[test]
fn memory_that_others_use_is_asked_for_again() {
    let (_folder, config) = configured(&ServerLimits::default());
    let server = Server::start(&config.with_memory(LONG_BYTES as u64 * 3 / 2)).unwrap();
    let address = server.address();
    let (slow, answer) = hold(address, ANN, LONG);
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    assert_eq!(status(address, BOB, LONG), 503);
    assert_eq!(status(address, BOB, META), 200);
    drop(slow);
    until(200, || status(address, BOB, LONG));
}

#[test]
fn more_than_all_memory_is_too_much() {
    let (_folder, config) = configured(&ServerLimits::default());
    let server = Server::start(&config.with_memory(LONG_BYTES as u64 / 2)).unwrap();
    assert_eq!(status(server.address(), ANN, LONG), 413);
}
