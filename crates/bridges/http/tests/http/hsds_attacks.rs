//! Clients of HSDS's interface that want more than they may have.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use hyperslab::File;
use hyperslab_http::Server;
use serde_json::json;

use crate::client::{encoded, exchange, get, get_with, send};
use crate::hsds::Domain;
use crate::serving;

#[test]
fn identifiers_that_were_made_up_lead_nowhere() {
    let domain = Domain::new();
    let id = domain.id("x");
    let turned: String = id.chars().rev().collect();
    let other = domain.root().replace("/groups/g", "d");
    for made_up in [
        "d-00000000-00000000-0000-000000-000000",
        "d-ffffffff-ffffffff-ffff-ffffff-ffffff",
        &id.replace(&id[30..], "00000000"),
        &other,
        &turned,
        "../x",
        "",
    ] {
        for rest in ["", "/value", "/shape", "/attributes"] {
            let response = get(domain.address(), &format!("/datasets/{made_up}{rest}?domain=/a.h5"));
            assert!(matches!(response.status, 400 | 404 | 405), "{made_up}{rest}: {}", response.status);
        }
    }
    // A group's identifier is not a dataset's, nor that of another domain.
    let as_group = format!("/groups/{}?domain=/a.h5", id.replacen('d', "g", 1));
    assert_eq!(get(domain.address(), &as_group).status, 404);
    std::fs::copy(domain.folder.path().join("a.h5"), domain.folder.path().join("b.h5")).unwrap();
    assert_eq!(get(domain.address(), &format!("/datasets/{id}?domain=/b.h5")).status, 404);
}

#[test]
fn names_of_domains_lead_nowhere_outside_the_root() {
    let (domain, outside) = (Domain::new(), Domain::new());
    let secret = outside.folder.path().join("a.h5").to_string_lossy().into_owned();
    #[cfg(unix)]
    std::os::unix::fs::symlink(&secret, domain.folder.path().join("link.h5")).unwrap();
    let up = format!("/../{}/a.h5", outside.folder.path().file_name().unwrap().to_string_lossy());
    for name in [up.as_str(), &secret, "/link.h5", "/..", "/a.h5/../a.h5", "//a.h5", "/a\0.h5"] {
        for (method, body) in [("GET", ""), ("PUT", "{}"), ("PUT", "{\"folder\": true}"), ("DELETE", "")] {
            let target = format!("/?domain={}", encoded(name));
            let response = send(domain.address(), method, &target, body.as_bytes());
            assert!(matches!(response.status, 400 | 403 | 404), "{method} {name}: {}", response.status);
            assert!(
                !response.text().contains(&*domain.folder.path().to_string_lossy()),
                "{}",
                response.text()
            );
        }
    }
    assert!(outside.folder.path().join("a.h5").exists());
}

#[test]
fn malformed_bodies_are_refused() {
    let domain = Domain::new();
    let id = domain.id("x");
    let deep = format!("{}1{}", "[".repeat(100_000), "]".repeat(100_000));
    let nested = "{\"type\": ".repeat(5000);
    let bodies = [
        "{",
        "[1",
        "{\"type\": 3}",
        "{\"type\": {\"class\": \"H5T_NO\"}}",
        "[[]]",
        "{\"a\": \"\\ud800\"}",
        &deep,
        &nested,
    ];
    for body in bodies {
        for target in ["/groups", "/datasets", "/datatypes"] {
            let response = send(domain.address(), "POST", &format!("{target}?domain=/a.h5"), body.as_bytes());
            // A group needs nothing, and what else the body says is not looked at.
            assert!(
                target == "/groups" || response.status == 400,
                "{target} {body:.40}: {}",
                response.status
            );
            assert!(response.status < 500, "{target} {body:.40}: {}", response.status);
        }
        let value = format!("/datasets/{id}/value?domain=/a.h5");
        assert_eq!(send(domain.address(), "PUT", &value, body.as_bytes()).status, 400, "{body:.40}");
    }
    for bytes in [&b""[..], b"1234567", &[0; 32]] {
        let value = format!("/datasets/{id}/value?domain=/a.h5");
        assert_eq!(send(domain.address(), "PUT", &value, bytes).status, 400);
    }
}

#[test]
fn datasets_in_other_files_are_not_created() {
    let domain = Domain::new();
    for layout in [
        json!({ "class": "H5D_CONTIGUOUS", "externalStorage": [{ "fileName": "/etc/passwd" }] }),
        json!({ "class": "H5D_VIRTUAL", "mappings": [] }),
        json!({ "class": "H5D_CHUNKED_REF", "file_uri": "s3://b/a" }),
    ] {
        let body =
            json!({ "type": "H5T_STD_I8LE", "shape": [4], "creationProperties": { "layout": layout } });
        assert_eq!(domain.post("/datasets?domain=/a.h5", &body).0, 400, "{layout}");
    }
}

#[test]
fn few_bytes_do_not_take_much_memory_or_time() {
    let domain = Domain::new();
    let started = Instant::now();
    let huge = json!({ "type": "H5T_IEEE_F64LE", "shape": [1u64 << 40], "link": link(&domain, "huge"),
                       "creationProperties": { "layout": { "class": "H5D_CHUNKED", "dims": [1 << 20] } } });
    assert_eq!(domain.post("/datasets?domain=/a.h5", &huge).0, 201);
    let id = domain.id("huge");
    let value = format!("/datasets/{id}/value?domain=/a.h5");
    assert_eq!(get(domain.address(), &value).status, 413);
    let bytes = get_with(domain.address(), &value, &[("Accept", "application/octet-stream")]);
    assert_eq!(bytes.status, 413);
    assert_eq!(send(domain.address(), "PUT", &value, &[0; 64]).status, 400);
    // One element of a terabyte with a fill value.
    let filled = json!({ "type": "H5T_IEEE_F64LE", "shape": [1u64 << 37], "link": link(&domain, "filled"),
                         "creationProperties": { "fillValue": 7.0, "allocTime": "H5D_ALLOC_TIME_EARLY" } });
    domain.post("/datasets?domain=/a.h5", &filled);
    let one = format!("/datasets/{}/value?domain=/a.h5&select=[5:6]", domain.id("filled"));
    assert_eq!(send(domain.address(), "PUT", &one, &[0; 8]).status, 200);
    let bytes = std::fs::metadata(domain.folder.path().join("a.h5")).unwrap().len();
    assert!(bytes < 64 << 20, "{bytes}");
    // A megabyte of short strings for elements of a megabyte each.
    let wide = json!({ "class": "H5T_STRING", "length": 1 << 20, "charSet": "H5T_CSET_ASCII", "strPad": "H5T_STR_NULLPAD" });
    let many = json!({ "type": wide, "shape": [100_000], "value": vec![""; 100_000] });
    assert_eq!(domain.post("/datasets?domain=/a.h5", &many).0, 413);
    let points = [u64::MAX.to_le_bytes(), 0u64.to_le_bytes()].concat();
    assert_eq!(send(domain.address(), "POST", &value, &points).status, 400);
    assert!(started.elapsed() < Duration::from_secs(20), "{:?}", started.elapsed());
}

fn link(domain: &Domain, name: &str) -> serde_json::Value {
    json!({ "id": domain.root().trim_start_matches("/groups/"), "name": name })
}

#[test]
fn pages_of_other_sites_change_nothing() {
    let domain = Domain::new();
    let mut config = serving::folder(domain.folder.path());
    config.origins = vec!["https://plots.example".to_owned()];
    let server = Server::start(&config).unwrap();
    // Also one whose pages may read: browsers send such a request without asking first.
    for origin in ["https://plots.example", "https://evil.example", "null"] {
        let request = format!(
            "POST /groups?domain=/a.h5 HTTP/1.1\r\nHost: {}\r\nOrigin: {origin}\r\nConnection: close\r\n\
             Content-Type: text/plain\r\nContent-Length: 2\r\n\r\n{{}}",
            server.address()
        );
        let response = exchange(server.address(), request.as_bytes());
        assert!(response.starts_with(b"HTTP/1.1 403"), "{origin}: {}", String::from_utf8_lossy(&response));
    }
}

#[test]
fn a_container_that_is_viewed_is_not_changed() {
    let domain = Domain::new();
    let location = domain.folder.path().join("a.h5").to_string_lossy().into_owned();
    let view = Server::start(&hyperslab_http::Config::view(hyperslab::registry(), location)).unwrap();
    let cookie = get(view.address(), &format!("/{}", view.url().rsplit_once('/').unwrap().1));
    let cookie = cookie.header("set-cookie").unwrap().split(';').next().unwrap().to_owned();
    for method in ["PUT", "DELETE", "GET"] {
        let request = format!(
            "{method} /?domain=/a.h5 HTTP/1.1\r\nHost: {}\r\nCookie: {cookie}\r\nConnection: close\r\n\r\n",
            view.address()
        );
        let response = exchange(view.address(), request.as_bytes());
        assert!(response.starts_with(b"HTTP/1.1 404"), "{method}: {}", String::from_utf8_lossy(&response));
    }
    assert!(File::open(domain.folder.path().join("a.h5")).is_ok());
}

#[test]
fn a_client_that_sends_a_body_slowly_is_left() {
    let domain = Domain::new();
    let mut config = serving::folder(domain.folder.path());
    config.limits.stall_time_max = Duration::from_millis(300);
    config.limits.header_time_max = Duration::from_millis(300);
    let server = Server::start(&config).unwrap();
    let mut stream = TcpStream::connect(server.address()).unwrap();
    let head = "PUT /?domain=/b.h5 HTTP/1.1\r\nHost: {}\r\nContent-Length: 1000\r\n\r\n{";
    stream.write_all(head.replace("{}", &server.address().to_string()).as_bytes()).unwrap();
    let started = Instant::now();
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer);
    assert!(answer.starts_with(b"HTTP/1.1 408"), "{}", String::from_utf8_lossy(&answer));
    assert!(started.elapsed() < Duration::from_secs(5), "{:?}", started.elapsed());
    assert_eq!(get(server.address(), "/?domain=/a.h5").status, 200, "the server goes on");
}

#[test]
fn a_body_that_is_too_large_is_refused_before_it_comes() {
    let domain = Domain::new();
    for (method, target) in [("PUT", "/datasets/x/value?domain=/a.h5"), ("GET", "/?domain=/a.h5")] {
        let request = format!(
            "{method} {target} HTTP/1.1\r\nHost: {}\r\nContent-Length: 99999999999\r\n\r\n",
            domain.address()
        );
        let response = exchange(domain.address(), request.as_bytes());
        assert!(response.starts_with(b"HTTP/1.1 413"), "{}", String::from_utf8_lossy(&response));
    }
}
