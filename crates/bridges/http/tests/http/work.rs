//! Requests whose answers are small and whose work is not: they end, with an error or with their client.

use std::io::Write;
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use hyperslab::File;
use hyperslab_http::{HttpLimits, Server};
use serde_json::json;
use tempfile::TempDir;

use crate::client::{encoded, get, send};
use crate::decoded::Decoded;
use crate::serving;

const SIDE: usize = 4000;
const CHUNK: usize = 100;
/// Bytes of all chunks.
const BYTES: u64 = 8 * (SIDE * SIDE) as u64;

/// Dense, compressed: a row of chunks is 3.2 MB.
fn served(change: impl FnOnce(&mut HttpLimits)) -> (TempDir, Server, Decoded) {
    let folder = TempDir::new().unwrap();
    let file = File::create(folder.path().join("a.h5")).unwrap();
    let grid: Vec<f64> = (0..SIDE * SIDE).map(|n| n as f64).collect();
    let dataset = file.new_dataset::<f64>().shape((SIDE, SIDE)).chunk((CHUNK, CHUNK)).deflate(1);
    dataset.create("grid").unwrap().write_raw(&grid).unwrap();
    file.close().unwrap();
    let mut config = serving::folder(folder.path());
    change(&mut config.limits);
    let decoded = Decoded::watch(&mut config);
    (folder, Server::start(&config).unwrap(), decoded)
}

/// Requests for few elements of every chunk.
const GROVE: [&str; 5] = [
    "/h5grove/data?format=bin&selection=::50,::50",
    "/h5grove/data?format=npy&selection=::50,::50",
    "/h5grove/data?format=csv&selection=::50,::50",
    "/h5grove/data?format=json&selection=::50,::50",
    "/h5grove/stats?selection=::50,::50",
];

/// Returns the path of the values of the dataset in HSDS's interface.
fn values(address: SocketAddr) -> String {
    let root = get(address, "/?domain=/a.h5").json()["root"].as_str().unwrap().to_owned();
    let link = get(address, &format!("/groups/{root}/links/grid?domain=/a.h5")).json();
    format!("/datasets/{}/value", link["link"]["id"].as_str().unwrap())
}

#[test]
fn a_request_that_would_decode_too_much_is_refused_before_it_does() {
    let (_folder, server, decoded) = served(|limits| limits.decoded_bytes_max = BYTES / 2);
    let before = decoded.chunks();
    for target in GROVE {
        let response = get(server.address(), &format!("{target}&file=a.h5&path=/grid"));
        assert_eq!(response.status, 413, "{target}: {}", response.text());
        assert!(response.text().contains("select elements of fewer chunks"), "{}", response.text());
    }
    let values = values(server.address());
    for select in ["[::50,::50]", "[[0,1000,2000,3000],::2]"] {
        let target = format!("{values}?domain=/a.h5&select={}", encoded(select));
        assert_eq!(get(server.address(), &target).status, if select.starts_with("[:") { 413 } else { 200 });
    }
    let points: Vec<[usize; 2]> = (0..1600).map(|n| [n / 40 * CHUNK, n % 40 * CHUNK]).collect();
    let body = json!({ "points": points }).to_string();
    let response = send(server.address(), "POST", &format!("{values}?domain=/a.h5"), body.as_bytes());
    assert_eq!(response.status, 413, "{}", response.text());
    assert!(decoded.chunks() - before <= 160, "only the rows that were allowed are decoded");
    let allowed =
        get(server.address(), "/h5grove/data?format=bin&selection=:1900:50,::50&file=a.h5&path=/grid");
    assert_eq!((allowed.status, allowed.f64s()[..2].to_vec()), (200, vec![0.0, 50.0]));
    let body = json!({ "select": "[::50,::50]", "value": vec![vec![0.0; 80]; 80] }).to_string();
    let response = send(server.address(), "PUT", &format!("{values}?domain=/a.h5"), body.as_bytes());
    assert_eq!(response.status, 413, "a part of a chunk is written into the whole: {}", response.text());
}

#[test]
fn a_request_ends_when_its_time_has_passed() {
    let (_folder, server, decoded) = served(|limits| limits.request_time_max = Duration::ZERO);
    let before = decoded.chunks();
    for target in GROVE {
        let response = get(server.address(), &format!("{target}&file=a.h5&path=/grid"));
        assert_eq!(response.status, 503, "{target}: {}", response.text());
        assert!(response.text().contains("it took too long: select less"), "{}", response.text());
    }
    let sample = get(server.address(), "/api/sample?file=a.h5&path=/grid&points=10");
    assert_eq!(sample.status, 503);
    let target = format!("{}?domain=/a.h5&select={}", values(server.address()), encoded("[::50,::50]"));
    assert_eq!(get(server.address(), &target).status, 503);
    assert_eq!(decoded.chunks(), before);
    assert_eq!(get(server.address(), "/api/container?file=a.h5").status, 200);
}

/// Sends a request and leaves before the answer.
fn leave(address: SocketAddr, target: &str) {
    let mut stream = TcpStream::connect(address).unwrap();
    write!(stream, "GET {target}&file=a.h5&path=/grid HTTP/1.1\r\nHost: {address}\r\n\r\n").unwrap();
    std::thread::sleep(Duration::from_millis(10));
}

#[test]
fn a_request_ends_when_its_client_leaves() {
    let (_folder, server, decoded) = served(|limits| {
        limits.running_max = 1;
        limits.turn_time_max = Duration::from_secs(60);
    });
    let (before, clients) = (decoded.chunks(), 20);
    // Each would decode all chunks; one request runs at a time.
    for _ in 0..clients {
        leave(server.address(), GROVE[0]);
    }
    let started = Instant::now();
    assert_eq!(get(server.address(), "/h5grove/meta?file=a.h5").status, 200);
    let all = (SIDE / CHUNK * (SIDE / CHUNK)) as u64;
    let count = decoded.chunks() - before;
    assert!(count < clients * all / 4, "{count} chunks were decoded for {clients} clients that left");
    assert!(started.elapsed() < Duration::from_secs(20), "{:?}", started.elapsed());
}

#[test]
fn parts_of_a_read_are_put_together() {
    let (_folder, server, _) = served(|_| {});
    let element = |row: usize, column: usize| (row * SIDE + column) as f64;
    // Several tiles, of rows that are not whole.
    let response =
        get(server.address(), "/h5grove/data?format=bin&selection=7::3,1:3999:2&file=a.h5&path=/grid");
    let (rows, columns): (Vec<usize>, Vec<usize>) =
        ((7..SIDE).step_by(3).collect(), (1..3999).step_by(2).collect());
    let expected = rows.iter().flat_map(|row| columns.iter().map(move |column| element(*row, *column)));
    assert!(response.f64s().into_iter().eq(expected));
    // Several bands: text is in C order.
    let response =
        get(server.address(), "/h5grove/data?format=json&selection=:,::7&flatten=1&file=a.h5&path=/grid");
    let numbers = response.json();
    let expected = (0..SIDE).flat_map(|row| (0..SIDE).step_by(7).map(move |column| element(row, column)));
    assert!(numbers.as_array().unwrap().iter().map(|number| number.as_f64().unwrap()).eq(expected));
    // Points of all chunks, in an order that is none.
    let points: Vec<[usize; 2]> = (0..5000).map(|n| [n * 7919 % SIDE, n * 6007 % SIDE]).collect();
    let body = json!({ "points": points }).to_string();
    let target = format!("{}?domain=/a.h5", values(server.address()));
    let response = send(server.address(), "POST", &target, body.as_bytes()).json();
    let expected: Vec<f64> = points.iter().map(|[row, column]| element(*row, *column)).collect();
    assert_eq!(response["value"], json!(expected));
}
