//! Requests that a remote file costs, as the library counts them: the bounds of docs/cloud.md, cold, on files of h5py.

use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use hyperslab::extensions::RemoteRequests;
use hyperslab::vol::call;
use hyperslab::{File, Kind, s};
use testkit::Folder;
use testkit::oracles::has_h5py;

/// A server that answers ranges of one file, and counts requests and bytes of its own.
struct Server {
    url: String,
    requests: Arc<AtomicU64>,
    bytes: Arc<AtomicU64>,
}

impl Server {
    fn start(content: Vec<u8>) -> Server {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/file.h5", listener.local_addr().unwrap());
        let server = Server { url, requests: Arc::default(), bytes: Arc::default() };
        let (content, counts) = (Arc::new(content), (server.requests.clone(), server.bytes.clone()));
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (content, counts) = (content.clone(), counts.clone());
                std::thread::spawn(move || while answer(&stream, &content, &counts).is_some() {});
            }
        });
        server
    }
}

fn answer(mut stream: &TcpStream, content: &[u8], counts: &(Arc<AtomicU64>, Arc<AtomicU64>)) -> Option<()> {
    let mut range = None;
    for line in BufReader::new(stream).lines() {
        let line = line.ok()?.to_ascii_lowercase();
        match line.split_once(": ") {
            Some(("range", value)) => range = Some(value.strip_prefix("bytes=")?.to_owned()),
            None if line.is_empty() => break,
            _ => {}
        }
    }
    let range = range?;
    let (start, last) = range.split_once('-')?;
    let (start, last) = (start.parse::<usize>().ok()?, last.parse::<usize>().ok()?.min(content.len() - 1));
    let body = &content[start..=last];
    counts.0.fetch_add(1, Ordering::SeqCst);
    counts.1.fetch_add(body.len() as u64, Ordering::SeqCst);
    let head = format!(
        "HTTP/1.1 206 Partial Content\r\nETag: \"one\"\r\nContent-Range: bytes {start}-{last}/{}\r\nContent-Length: {}\r\n\r\n",
        content.len(),
        body.len()
    );
    stream.write_all(head.as_bytes()).ok()?;
    stream.write_all(body).ok()
}

const MAKE: &str = "
import sys, h5py, numpy
for name, options in ('', {}), ('-paged', dict(fs_strategy='page', fs_page_size=65536)):
    with h5py.File(f'{sys.argv[1]}/window{name}.h5', 'w', **options) as f:
        f.create_dataset('image', data=numpy.arange(2048 * 2048, dtype='f4').reshape(2048, 2048), chunks=True)
    with h5py.File(f'{sys.argv[1]}/list{name}.h5', 'w', **options) as f:
        for n in range(1000):
            dataset = f.create_dataset(f'object {n:04}', data=numpy.arange(4, dtype='i4') + n)
            for a in range(5):
                dataset.attrs[f'attribute {a}'] = n * a
";

fn window(file: &File) {
    let part = file.dataset("image").unwrap().read_slice_2d::<f32, _>(s![1024..1088, 1024..1088]).unwrap();
    assert_eq!(part[(3, 5)], ((1024 + 3) * 2048 + 1024 + 5) as f32);
}

fn listing(file: &File) {
    let names = file.member_names().unwrap();
    assert_eq!(names.len(), 1000);
    for (n, name) in names.iter().enumerate() {
        let dataset = file.dataset(name).unwrap();
        for a in 0..5 {
            let value = dataset.attr(&format!("attribute {a}")).unwrap().read_scalar::<i64>().unwrap();
            assert_eq!(value, (n * a) as i64);
        }
    }
}

type Read = fn(&File);

#[test]
fn a_window_and_a_listing_cost_few_requests() {
    if !has_h5py() {
        return;
    }
    let folder = Folder::new("remote_requests");
    let made = Command::new("python3").args(["-c", MAKE, &folder.at("")]).status().unwrap();
    assert!(made.success());
    let (window, listing): (Read, Read) = (window, listing);
    let cases = [
        ("window", window, 4),
        ("window-paged", window, 3),
        ("list", listing, 40),
        ("list-paged", listing, 12),
    ];
    for (name, read, requests_max) in cases {
        let content = std::fs::read(folder.at(&format!("{name}.h5"))).unwrap();
        let bytes_max = if name.starts_with("window") { 1 << 20 } else { 3 * content.len() as u64 };
        let server = Server::start(content);
        let file = File::open(&server.url).unwrap();
        read(&file);
        let counts = call::<RemoteRequests>(&**file.container(), &()).unwrap();
        assert_eq!((counts.requests, counts.retries), (server.requests.load(Ordering::SeqCst), 0), "{name}");
        assert_eq!(counts.bytes, server.bytes.load(Ordering::SeqCst), "{name}");
        assert!(counts.requests <= requests_max && counts.bytes <= bytes_max, "{name}: {counts:?}");
    }
}

#[test]
fn a_file_here_makes_no_requests() {
    let folder = Folder::new("no_requests");
    let file = File::create(folder.at("here.h5")).unwrap();
    let counted = call::<RemoteRequests>(&**file.container(), &());
    assert_eq!(counted.unwrap_err().kind(), Kind::Unsupported);
}
