//! Samples and histograms of datasets that are too large to be read for them.

use std::net::SocketAddr;

use hyperslab::File;
use hyperslab_http::{HttpLimits, Server};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::client::{Response, get};
use crate::decoded::Decoded;
use crate::serving;

const ROWS: usize = 400;
const COLUMNS: usize = 300;
const LINE: usize = 100_000;
/// Elements of a chunk of each dataset, all of the same size in bytes.
const CHUNK_ELEMENTS: usize = 1000;
const CHUNK_BYTES: u64 = 4 * CHUNK_ELEMENTS as u64;

/// Dense chunks: the element at row r and column c is 1000 r + c, and that at n is n.
fn make(folder: &TempDir) {
    let file = File::create(folder.path().join("a.h5")).unwrap();
    let grid: Vec<f32> = (0..ROWS * COLUMNS).map(|n| (n / COLUMNS * 1000 + n % COLUMNS) as f32).collect();
    let dataset = file.new_dataset::<f32>().shape((ROWS, COLUMNS)).chunk((20, 50)).deflate(1);
    dataset.create("grid").unwrap().write_raw(&grid).unwrap();
    let line: Vec<f32> = (0..LINE).map(|n| n as f32).collect();
    let dataset = file.new_dataset::<f32>().shape(LINE).chunk(CHUNK_ELEMENTS).deflate(1);
    dataset.create("line").unwrap().write_raw(&line).unwrap();
    let line: Vec<f64> = (0..10_000).map(f64::from).collect();
    file.new_dataset_builder().with_data(&line).create("contiguous").unwrap();
    // Four of a million chunks are stored.
    let sparse = file
        .new_dataset::<f32>()
        .shape((20_000, 50_000))
        .chunk((20, 50))
        .deflate(1)
        .create("sparse")
        .unwrap();
    for row in [0, 5000, 10_000, 19_999] {
        sparse.write_slice(&[row as f32], hyperslab::s![row..row + 1, 0]).unwrap();
    }
    file.close().unwrap();
}

/// A server that reads so many chunks for one overview.
fn served(chunks: u64, change: impl FnOnce(&mut HttpLimits)) -> (TempDir, Server, Decoded) {
    let folder = TempDir::new().unwrap();
    make(&folder);
    let mut config = serving::folder(folder.path());
    config.limits.overview_bytes_max = chunks * CHUNK_BYTES;
    change(&mut config.limits);
    let decoded = Decoded::watch(&mut config);
    (folder, Server::start(&config).unwrap(), decoded)
}

fn sample(address: SocketAddr, path: &str, more: &str) -> Response {
    let response = get(address, &format!("/api/sample?file=a.h5&path={path}{more}"));
    assert_eq!(response.status, 200, "{path} {more}: {}", response.text());
    response
}

fn histogram(address: SocketAddr, path: &str) -> Value {
    get(address, &format!("/api/histogram?file=a.h5&path={path}&bins=10")).json()
}

#[test]
fn a_map_of_some_chunks_has_elements_near_those_it_stands_for() {
    let (_folder, server, decoded) = served(30, |_| {});
    let count = decoded.during(|| {
        let response = sample(server.address(), "/grid", "&points=100,150");
        assert_eq!(response.header("x-how"), Some("stride"));
        assert_eq!((response.header("x-shape"), response.header("x-step")), (Some("100,150"), Some("4,2")));
        let sampled = response.header("x-sampled").unwrap().to_owned();
        let (read, of) = sampled.split_once(',').unwrap();
        assert_eq!(of, "120");
        assert!((10..=30).contains(&read.parse::<u64>().unwrap()), "{sampled}");
        for (n, value) in response.f64s().into_iter().enumerate() {
            let (row, column) = ((value / 1000.0).floor(), value % 1000.0);
            assert_eq!(value, row * 1000.0 + column);
            let (far_down, far_right) = (row - (n / 150 * 4) as f64, column - (n % 150 * 2) as f64);
            assert!(far_down.abs() <= 60.0 && far_right.abs() <= 150.0, "{n}: {value}");
        }
    });
    assert!((10..=30).contains(&count), "{count} chunks were decoded");
}

#[test]
fn a_map_that_may_be_read_has_every_nth_element() {
    let (_folder, server, _) = served(120, |_| {});
    let response = sample(server.address(), "/grid", "&points=100,150");
    assert_eq!((response.header("x-how"), response.header("x-sampled")), (Some("stride"), None));
    assert_eq!(response.f64s()[..3], [0.0, 2.0, 4.0]);
    assert_eq!(response.f64s()[150], 4000.0);
}

#[test]
fn chunks_that_are_not_stored_do_not_count() {
    // As many bytes as it takes to find out that chunks are not there.
    let (_folder, server, decoded) = served(500, |_| {});
    let count = decoded.during(|| {
        let response = sample(server.address(), "/sparse", "&points=400,4");
        assert_eq!(response.header("x-sampled"), None, "1600 chunks have its elements, four are stored");
        assert_eq!(response.f64s()[400], 5000.0);
    });
    assert!(count <= 4, "{count} chunks were decoded");
}

#[test]
fn a_line_of_some_chunks_has_bins_of_what_was_read() {
    let (_folder, server, decoded) = served(40, |_| {});
    let mut all = 0;
    for (points, bins) in [(10, 10), (40, 40), (1000, 40)] {
        let count = decoded.during(|| {
            let response = sample(server.address(), "/line", &format!("&points={points}&how=minmax"));
            let step = LINE / bins;
            assert_eq!(response.header("x-how"), Some("minmax"));
            assert_eq!(response.header("x-step"), Some(step.to_string().as_str()));
            assert_eq!(response.header("x-shape"), Some(format!("{bins},2").as_str()));
            assert!(response.header("x-sampled").unwrap().ends_with(",100"));
            for (bin, pair) in response.f64s().chunks(2).enumerate() {
                let range = (bin * step) as f64..((bin + 1) * step) as f64;
                assert!(range.contains(&pair[0]) && range.contains(&pair[1]), "{bin}: {pair:?}");
                assert!(pair[1] - pair[0] >= CHUNK_ELEMENTS as f64 / 2.0, "{bin}: {pair:?}");
            }
        });
        assert!(count <= 40, "{points}: {count} chunks were decoded");
        all += count;
    }
    assert!(all >= 20, "{all} chunks were decoded");
}

#[test]
fn a_line_that_may_be_read_has_all_elements() {
    let (_folder, server, _) = served(100, |_| {});
    let response = sample(server.address(), "/line", "&points=100&how=minmax");
    assert_eq!((response.header("x-how"), response.header("x-sampled")), (Some("minmax"), None));
    assert_eq!(response.f64s()[2..4], [1000.0, 1999.0]);
    let steps = sample(server.address(), "/line", "&selection=5::10&points=100&how=minmax");
    assert_eq!(steps.f64s()[2..4], [1005.0, 1995.0]);
}

#[test]
fn a_line_with_steps_is_sampled() {
    let (_folder, server, _) = served(10, |_| {});
    let response = sample(server.address(), "/line", "&selection=5::10&points=100&how=minmax");
    assert_eq!((response.header("x-shape"), response.header("x-sampled")), (Some("10,2"), Some("10,100")));
    assert!(response.f64s().iter().all(|number| number % 10.0 == 5.0));
    let histogram = get(server.address(), "/api/histogram?file=a.h5&path=/line&selection=5::10").json();
    assert_eq!((&histogram["sampled"], &histogram["count"]), (&json!(true), &json!(500)));
    let column = sample(server.address(), "/grid", "&selection=:,7&points=100&how=stride");
    assert_eq!((column.header("x-shape"), column.header("x-sampled")), (Some("100"), Some("10,20")));
    assert!(column.f64s().iter().all(|number| number % 1000.0 == 7.0));
}

#[test]
fn statistics_of_some_chunks_say_so() {
    let (_folder, server, decoded) = served(40, |_| {});
    let count = decoded.during(|| {
        let histogram = histogram(server.address(), "/grid");
        assert_eq!((&histogram["sampled"], &histogram["parts"]), (&json!(true), &json!(120)));
        let read = histogram["parts_read"].as_u64().unwrap();
        assert!((6..=20).contains(&read), "{read}");
        assert_eq!(histogram["count"], json!(read * CHUNK_ELEMENTS as u64));
    });
    assert!(count <= 40, "{count} chunks were decoded");
    let (_folder, server, _) = served(100, |_| {});
    let exact = self::histogram(server.address(), "/contiguous");
    assert_eq!(
        (&exact["sampled"], &exact["parts"], &exact["count"]),
        (&json!(false), &Value::Null, &json!(10_000))
    );
}

#[test]
fn elements_are_bounded_where_bytes_are_not() {
    let (_folder, server, _) = served(10_000, |limits| limits.elements_max = 1000);
    let histogram = histogram(server.address(), "/contiguous");
    let count = histogram["count"].as_u64().unwrap();
    assert!((900..=1000).contains(&count) && histogram["sampled"] == json!(true), "{histogram}");
    let response = sample(server.address(), "/contiguous", "&points=10&how=minmax");
    assert_eq!((response.header("x-how"), response.header("x-shape")), (Some("minmax"), Some("10,2")));
    assert!(response.header("x-sampled").is_some());
}
