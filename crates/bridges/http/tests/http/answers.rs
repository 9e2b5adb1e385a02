//! Answers about a container that is made here.

use std::net::SocketAddr;

use hyperslab::{File, H5Type};
use hyperslab_http::Server;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::client::{encoded, get, get_with};
use crate::serving;

/// A record with a string.
#[derive(H5Type, Clone)]
#[repr(C)]
struct Station {
    id: i32,
    height: f64,
    name: String,
}

fn make(folder: &TempDir) -> hyperslab::Result<()> {
    let file = File::create(folder.path().join("a.h5"))?;
    file.set_attr("title", "Größe <b>".to_owned())?;
    file.set_attr("n", 7i32)?;
    let line: Vec<f64> = (0..10_000).map(|n| if n == 5000 { f64::NAN } else { f64::from(n) }).collect();
    file.new_dataset_builder().with_data(&line).create("line")?;
    let grid: Vec<i16> = (0..200 * 300).map(|n| (n % 300) as i16).collect();
    let grid_dataset = file.new_dataset::<i16>().shape((200, 300)).chunk((64, 64)).deflate(4);
    grid_dataset.fill_value(&-1i16).create("run/grid")?.write_raw(&grid)?;
    let stations = ["Zugspitze", "Brocken"].map(|name| Station { id: 1, height: 2.5, name: name.to_owned() });
    file.new_dataset_builder().with_data(&stations).create("stations")?;
    file.new_dataset_builder().with_data(&["a".to_owned(), "é\"\\".to_owned()]).create("words")?;
    file.new_dataset_builder().with_data(&[true, false]).create("flags")?;
    file.new_dataset::<u64>().shape((0.., 3)).create("none")?;
    file.new_dataset_builder().with_data(&[u64::MAX, 0]).create("large")?;
    file.close()
}

fn served() -> (TempDir, Server) {
    let folder = TempDir::new().unwrap();
    make(&folder).unwrap();
    let server = serving::start(folder.path());
    (folder, server)
}

fn ask(address: SocketAddr, route: &str, path: &str, more: &str) -> Value {
    let response = get(address, &format!("{route}?file=a.h5&path={}{more}", encoded(path)));
    assert_eq!(response.status, 200, "{route} {path} {more}: {}", response.text());
    response.json()
}

#[test]
fn elements_come_as_json() {
    let (_folder, server) = served();
    let data = |path: &str, more: &str| ask(server.address(), "/h5grove/data", path, more);
    assert_eq!(data("/words", ""), json!(["a", "é\"\\"]));
    assert_eq!(data("/stations", "")[1], json!([1, 2.5, "Brocken"]));
    assert_eq!(data("/flags", ""), json!([true, false]));
    assert_eq!(data("/large", ""), json!([u64::MAX, 0]));
    assert_eq!(data("/none", ""), json!([]));
    assert_eq!(data("/line", "&selection=4999:5002"), json!([4999.0, null, 5001.0]));
    assert_eq!(data("/run/grid", "&selection=-1,::100"), json!([0, 100, 200]));
    assert_eq!(data("/run/grid", "&selection=0:2,0:2&flatten=true"), json!([0, 1, 0, 1]));
}

#[test]
fn attributes_are_text_and_numbers() {
    let (_folder, server) = served();
    let values = ask(server.address(), "/h5grove/attr", "/", "");
    assert_eq!(values, json!({ "title": "Größe <b>", "n": 7 }));
    let meta = ask(server.address(), "/h5grove/meta", "/run/grid", "");
    assert_eq!((&meta["shape"], &meta["chunks"]), (&json!([200, 300]), &json!([64, 64])));
}

#[test]
fn samples_are_strides_pairs_or_exact() {
    let (_folder, server) = served();
    let sample = |path: &str, more: &str| {
        let response = get(server.address(), &format!("/api/sample?file=a.h5&path={path}{more}"));
        let header = |name: &str| response.header(name).unwrap_or_default().to_owned();
        (response.status, header("x-shape"), header("x-step"), header("x-how"), response.f64s())
    };
    let (status, shape, step, how, values) = sample("/run/grid", "&points=10,20");
    assert_eq!((status, shape.as_str(), step.as_str(), how.as_str()), (200, "10,20", "20,15", "stride"));
    assert_eq!(values[..3], [0.0, 15.0, 30.0]);
    let (_, shape, step, how, values) = sample("/line", "&points=100&how=minmax");
    assert_eq!((shape.as_str(), step.as_str(), how.as_str()), ("100,2", "100", "minmax"));
    assert_eq!(values[100..102], [5001.0, 5099.0]);
    let (_, shape, step, how, values) = sample("/line", "&selection=10:15&points=100&how=minmax");
    assert_eq!((shape.as_str(), step.as_str(), how.as_str()), ("5", "1", "exact"));
    assert_eq!(values, [10.0, 11.0, 12.0, 13.0, 14.0]);
    for wrong in ["&how=minmax", "&selection=0,0", "&points=0", "&points=1,2,3", "&how=x", "&selection=zz"] {
        assert_eq!(sample("/run/grid", wrong).0, 422, "{wrong}");
    }
    assert_eq!(sample("/words", "").0, 422);
}

#[test]
fn histograms_count_what_is_special() {
    let (_folder, server) = served();
    let histogram = ask(server.address(), "/api/histogram", "/line", "&bins=10");
    assert_eq!(
        (&histogram["count"], &histogram["nan"], &histogram["zero"]),
        (&json!(10_000), &json!(1), &json!(1))
    );
    assert_eq!((&histogram["min"], &histogram["max"]), (&json!(0.0), &json!(9999.0)));
    let counts: u64 = histogram["bins"].as_array().unwrap().iter().map(|n| n.as_u64().unwrap()).sum();
    assert_eq!((counts, histogram["edges"].as_array().unwrap().len()), (9999, 11));
    assert_eq!((&histogram["sampled"], &histogram["fill"]), (&json!(false), &Value::Null));
    assert_eq!(ask(server.address(), "/api/histogram", "/run/grid", "")["fill"], json!(0));
}

#[test]
fn properties_say_how_a_dataset_is_stored() {
    let (_folder, server) = served();
    let properties = ask(server.address(), "/api/properties", "/run/grid", "");
    assert_eq!((&properties["layout"], &properties["elements"]), (&json!("chunked"), &json!(60_000)));
    assert_eq!((&properties["fill_value"], &properties["fill_defined"]), (&json!(-1), &json!("user")));
    assert_eq!(properties["filters"], json!([{ "id": 1, "name": "deflate" }]));
    assert!(properties["storage_bytes"].as_u64().unwrap() < 120_000);
    assert_eq!(ask(server.address(), "/api/properties", "/none", "")["max_shape"], json!([null, 3]));
    assert_eq!(ask(server.address(), "/api/properties", "/run", "")["links"], json!(1));
}

#[test]
fn a_container_says_what_it_is() {
    let (_folder, server) = served();
    let container = ask(server.address(), "/api/container", "/", "");
    assert_eq!((&container["name"], &container["location"]), (&json!("a.h5"), &json!("a.h5")));
    assert_eq!((&container["connector"], &container["writable"]), (&json!("native"), &json!(false)));
}

#[test]
fn searches_find_names_and_values_in_any_case() {
    let (_folder, server) = served();
    let search = |text: &str, more: &str| {
        get(server.address(), &format!("/api/search?file=a.h5&text={}{more}", encoded(text))).json()
    };
    assert_eq!(search("GRID", "")["results"], json!([{ "path": "/run/grid", "kind": "dataset" }]));
    let found = search("größe", "");
    assert_eq!(found["results"][0]["attribute"], json!("title"));
    assert_eq!(found["complete"], json!(true));
    assert_eq!(search("s", "&limit=1")["complete"], json!(false));
    assert_eq!(get(server.address(), "/api/search?file=a.h5").status, 422);
}

#[test]
fn a_known_version_is_not_sent_again() {
    let (folder, server) = served();
    let target = "/h5grove/meta?file=a.h5";
    let etag = get(server.address(), target).header("etag").unwrap().to_owned();
    assert_eq!(get_with(server.address(), target, &[("If-None-Match", &etag)]).status, 304);
    std::fs::remove_file(folder.path().join("a.h5")).unwrap();
    File::create(folder.path().join("a.h5")).unwrap().close().unwrap();
    let changed = get_with(server.address(), target, &[("If-None-Match", &etag)]);
    assert_eq!((changed.status, &changed.json()["children"]), (200, &json!([])));
}

#[test]
fn the_document_has_every_route() {
    let (_folder, server) = served();
    let document = get(server.address(), "/openapi.json").json();
    let described = document["paths"].as_object().unwrap();
    for path in hyperslab_http::route_paths() {
        assert!(described.contains_key(path), "{path}");
    }
    assert_eq!(described.len(), hyperslab_http::route_paths().count());
}

#[test]
fn dimensions_have_the_names_of_their_scales() {
    let folder = TempDir::new().unwrap();
    let file = File::create(folder.path().join("a.h5")).unwrap();
    let run = file.create_group("run").unwrap();
    let scale = |group: &hyperslab::Group, path: &str, name: Option<&str>| {
        let scale = group.new_dataset_builder().with_data(&[1.0f64, 2.0]).create(path).unwrap();
        scale.make_scale(name).unwrap();
        scale
    };
    let time = scale(file.as_group(), "time", Some("time"));
    let nothing = "This is a netCDF dimension but not a netCDF variable.         2";
    let (level, station) = (scale(file.as_group(), "level", Some(nothing)), scale(&run, "station", None));
    let wind = run.new_dataset::<f32>().shape((2, 2, 2, 2, 2)).create("wind").unwrap();
    for (dimension, scale) in [time, level, station].iter().enumerate() {
        wind.attach_scale(dimension, scale).unwrap();
    }
    wind.set_label(2, "place").unwrap();
    file.close().unwrap();
    let server = serving::start(folder.path());
    let names = |path: &str| ask(server.address(), "/api/properties", path, "")["dimensions"].clone();
    assert_eq!(names("/run/wind"), json!(["time", "level", "place", null, null]));
    assert_eq!((names("/time"), names("/run/station")), (json!(["time"]), json!(["station"])));
}
