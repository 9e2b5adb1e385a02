//! HSDS's interface, as far as h5pyd does not show it (`scripts/test-http`).

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use hyperslab::File;
use hyperslab_http::{Config, Server};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::client::{get, get_with, send};
use crate::serving;

/// A domain and a client of it.
pub(crate) struct Domain {
    pub(crate) folder: TempDir,
    pub(crate) server: Server,
}

impl Domain {
    /// Returns a server whose root has `a.h5` with a dataset.
    pub(crate) fn new() -> Self {
        let folder = TempDir::new().unwrap();
        let file = File::create(folder.path().join("a.h5")).unwrap();
        file.new_dataset_builder().with_data(&[1.0f64, 2.0, 3.0]).create("x").unwrap();
        file.close().unwrap();
        Domain { server: serving::start(folder.path()), folder }
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.server.address()
    }

    /// Returns the path of the root group.
    pub(crate) fn root(&self) -> String {
        format!("/groups/{}", self.json("/?domain=/a.h5")["root"].as_str().unwrap())
    }

    pub(crate) fn json(&self, target: &str) -> Value {
        let response = get(self.address(), target);
        assert_eq!(response.status, 200, "{target}: {}", response.text());
        response.json()
    }

    /// Returns the identifier that a link of the root group leads to.
    pub(crate) fn id(&self, title: &str) -> String {
        let link = self.json(&format!("{}/links/{title}?domain=/a.h5", self.root()));
        link["link"]["id"].as_str().unwrap().to_owned()
    }

    pub(crate) fn put(&self, target: &str, body: &Value) -> u16 {
        send(self.address(), "PUT", target, body.to_string().as_bytes()).status
    }

    pub(crate) fn post(&self, target: &str, body: &Value) -> (u16, Value) {
        let response = send(self.address(), "POST", target, body.to_string().as_bytes());
        (response.status, serde_json::from_slice(&response.body).unwrap_or(Value::Null))
    }
}

#[test]
fn an_object_has_one_identifier_and_says_what_it_is() {
    let domain = Domain::new();
    let id = domain.id("x");
    let dataset = domain.json(&format!("/datasets/{id}?domain=/a.h5"));
    assert_eq!((dataset["id"].as_str(), &dataset["shape"]["dims"]), (Some(id.as_str()), &json!([3])));
    assert_eq!(dataset["type"], json!({ "class": "H5T_FLOAT", "base": "H5T_IEEE_F64LE" }));
    assert_eq!(domain.id("x"), id);
    let value = domain.json(&format!("/datasets/{id}/value?domain=/a.h5&select=[0:3:2]"));
    assert_eq!(value["value"], json!([1.0, 3.0]));
    let bytes = get_with(
        domain.address(),
        &format!("/datasets/{id}/value?domain=/a.h5"),
        &[("Accept", "application/octet-stream")],
    );
    assert_eq!(bytes.f64s(), [1.0, 2.0, 3.0]);
}

#[test]
fn identifiers_that_clients_bring_lead_to_their_objects() {
    let domain = Domain::new();
    let brought = "g-01234567-89abcdef-0123-456789-abcdef";
    let (status, created) = domain.post("/groups?domain=/a.h5", &json!([{ "id": brought }]));
    assert_eq!((status, created["id"].as_str()), (201, Some(brought)));
    assert_eq!(domain.post("/groups?domain=/a.h5", &json!({ "id": brought })).0, 409, "once only");
    let links = json!({ "links": { "new": { "id": brought } } });
    assert_eq!(domain.put(&format!("{}/links?domain=/a.h5", domain.root()), &links), 201);
    let attribute = json!({ "shape": [2], "type": "H5T_STD_I16BE", "value": [1, -2] });
    assert_eq!(domain.put(&format!("/groups/{brought}/attributes/n?domain=/a.h5"), &attribute), 201);
    let own = domain.id("new");
    assert_ne!(own, brought, "others get the server's own");
    let read = domain.json(&format!("/groups/{own}/attributes/n?domain=/a.h5"));
    assert_eq!(read["value"], json!([1, -2]));
}

#[test]
fn what_a_request_changed_is_in_the_file_when_it_is_answered() {
    let domain = Domain::new();
    let id = domain.id("x");
    let target = format!("/datasets/{id}/value?domain=/a.h5&select=[1:2]");
    assert_eq!(send(domain.address(), "PUT", &target, &7.0f64.to_le_bytes()).status, 200);
    // The copy has what a power failure would have left.
    let copy = domain.folder.path().join("copy.h5");
    std::fs::copy(domain.folder.path().join("a.h5"), &copy).unwrap();
    assert_eq!(File::open(&copy).unwrap().dataset("x").unwrap().read_raw::<f64>().unwrap(), [1.0, 7.0, 3.0]);
}

#[test]
fn an_object_that_is_deleted_is_gone() {
    let domain = Domain::new();
    let id = domain.id("x");
    let target = format!("/datasets/{id}?domain=/a.h5");
    assert_eq!(send(domain.address(), "DELETE", &target, b"").status, 200);
    assert_eq!(get(domain.address(), &target).status, 404);
    assert_eq!(send(domain.address(), "DELETE", &target, b"").status, 410);
    assert_eq!(send(domain.address(), "DELETE", "/?domain=/a.h5", b"").status, 200);
    assert_eq!(get(domain.address(), "/?domain=/a.h5").status, 404);
    assert!(!domain.folder.path().join("a.h5").exists());
}

#[test]
fn domains_and_folders_are_created_listed_and_removed() {
    let domain = Domain::new();
    let create = |name: &str, body: Value| domain.put(&format!("/?domain={name}"), &body);
    assert_eq!(create("/f", json!({ "folder": true })), 201);
    assert_eq!(create("/f/b.h5", json!({})), 201);
    assert_eq!((create("/f/b.h5", json!({})), create("/none/b.h5", json!({}))), (409, 404));
    let names = |folder: &str| {
        let listed = domain.json(&format!("/domains?domain={folder}"));
        let all = listed["domains"].as_array().unwrap().clone();
        all.iter().map(|entry| entry["name"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(
        (names("/"), names("/f/")),
        (vec!["/a.h5".to_owned(), "/f".to_owned()], vec!["/f/b.h5".to_owned()])
    );
    let delete = |name: &str| send(domain.address(), "DELETE", &format!("/?domain={name}"), b"").status;
    assert_eq!((delete("/f"), delete("/f/b.h5"), delete("/f"), delete("/")), (409, 200, 200, 403));
}

#[test]
fn a_changed_domain_has_another_tag() {
    let domain = Domain::new();
    let target = format!("{}?domain=/a.h5", domain.root());
    let first = get(domain.address(), &target);
    let tag = first.header("etag").unwrap().to_owned();
    assert_eq!(get_with(domain.address(), &target, &[("If-None-Match", &tag)]).status, 304);
    let attribute = json!({ "type": "H5T_STD_I8LE", "value": 1 });
    assert_eq!(domain.put(&format!("{}/attributes/a?domain=/a.h5", domain.root()), &attribute), 201);
    assert_eq!(get_with(domain.address(), &target, &[("If-None-Match", &tag)]).status, 200);
}

#[test]
fn changes_and_refusals_are_written_down_and_reads_are_not() {
    let folder = TempDir::new().unwrap();
    let lines = Arc::new(Mutex::new(Vec::new()));
    let written = lines.clone();
    let config = Config {
        audit: Some(Arc::new(move |asked, outcome| {
            let from_here = asked.from.starts_with("127.0.0.1:");
            let line = format!("{} {} {} {} {from_here}", asked.who, asked.what, asked.name, outcome.is_ok());
            written.lock().unwrap().push(line);
        })),
        ..serving::folder(folder.path())
    };
    let server = Server::start(&config).unwrap();
    let address = server.address();
    assert_eq!(send(address, "PUT", "/?domain=/new.h5", b"").status, 201);
    assert_eq!(get(address, "/?domain=/new.h5").status, 200);
    assert_eq!(send(address, "DELETE", "/?domain=/nothing.h5", b"").status, 404);
    assert_eq!(get_with(address, "/?domain=/new.h5", &[("Origin", "https://elsewhere.test")]).status, 403);
    server.stop();
    let expected = [
        "anybody PUT / /new.h5 true true",
        "anybody DELETE / /nothing.h5 false true",
        "? GET / /new.h5 false true",
    ];
    assert_eq!(*lines.lock().unwrap(), expected);
}
