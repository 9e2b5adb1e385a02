//! Clients that want more than they may have.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use hyperslab::File;
use hyperslab_http::{Auth, Config, Server};
use server::ServerLimits;
use tempfile::TempDir;

use crate::client::{encoded, exchange, get, get_with};
use crate::serving;

const META: &str = "/h5grove/meta?file=a.h5";

fn folder() -> TempDir {
    let folder = TempDir::new().unwrap();
    let file = File::create(folder.path().join("a.h5")).unwrap();
    file.new_dataset_builder().with_data(&[1.0f64, 2.0]).create("x").unwrap();
    // A petabyte by its extent; nothing of it is stored.
    file.new_dataset::<f64>().shape((1 << 20, 1 << 27)).chunk((1, 1 << 17)).create("huge").unwrap();
    file.new_dataset::<u8>().shape(64 << 20).chunk(1 << 20).create("long").unwrap();
    file.close().unwrap();
    folder
}

fn view(folder: &TempDir) -> Server {
    let location = folder.path().join("a.h5").to_string_lossy().into_owned();
    Server::start(&Config::view(hyperslab::registry(), location)).unwrap()
}

#[test]
fn requests_that_name_another_host_are_refused() {
    let folder = folder();
    let server = serving::start(folder.path());
    let port = server.address().port();
    let status = |host: &str| get_with(server.address(), META, &[("Host", host)]).status;
    assert_eq!(status(&format!("localhost:{port}")), 200);
    for host in ["evil.example", "localhost", &format!("evil.example:{port}"), "127.0.0.1:1", ""] {
        assert_eq!(status(host), 403, "{host}");
    }
    let none = exchange(server.address(), format!("GET {META} HTTP/1.0\r\n\r\n").as_bytes());
    assert!(String::from_utf8_lossy(&none).contains(" 403 "), "{:?}", String::from_utf8_lossy(&none));
}

#[test]
fn requests_of_other_sites_are_refused() {
    let folder = folder();
    let server = serving::start(folder.path());
    let status = |headers: &[(&str, &str)]| get_with(server.address(), META, headers).status;
    let own = format!("http://{}", server.address());
    assert_eq!(status(&[("Origin", &own)]), 200);
    assert_eq!(status(&[("Sec-Fetch-Site", "same-origin")]), 200);
    for origin in ["http://evil.example", "null", "https://127.0.0.1"] {
        assert_eq!(status(&[("Origin", origin)]), 403, "{origin}");
    }
    for site in ["cross-site", "same-site"] {
        assert_eq!(status(&[("Sec-Fetch-Site", site)]), 403, "{site}");
    }
}

#[test]
fn origins_are_allowed_by_name_only() {
    let folder = folder();
    let mut config = serving::folder(folder.path());
    config.origins = vec!["https://plots.example".to_owned()];
    let server = Server::start(&config).unwrap();
    let allowed = get_with(server.address(), META, &[("Origin", "https://plots.example")]);
    assert_eq!(allowed.header("access-control-allow-origin"), Some("https://plots.example"));
    let other = get_with(server.address(), META, &[("Origin", "https://evil.example")]);
    assert_eq!((other.status, other.header("access-control-allow-origin")), (403, None));
}

#[test]
fn a_code_is_good_for_one_browser() {
    let folder = folder();
    let server = view(&folder);
    let code = server.url().rsplit_once('/').unwrap().1.to_owned();
    let target = format!("/{code}");
    assert_eq!(get(server.address(), "/api/container").status, 401);
    assert_eq!(get(server.address(), "/?code=0123").status, 403);
    let first = get(server.address(), &target);
    let cookie = first.header("set-cookie").unwrap().to_owned();
    assert_eq!((first.status, first.header("location")), (303, Some("/")));
    assert!(cookie.contains("HttpOnly") && cookie.contains("SameSite=Strict"), "{cookie}");
    assert_eq!(get(server.address(), &target).status, 403, "a second browser");
    let pair = cookie.split(';').next().unwrap();
    assert_eq!(get_with(server.address(), "/api/container", &[("Cookie", pair)]).status, 200);
    let wrong = format!("{}0", &pair[..pair.len() - 1]);
    let wrong = get_with(server.address(), "/api/container", &[("Cookie", &format!("{wrong}x"))]);
    assert_eq!(wrong.status, 401);
}

#[test]
fn the_page_may_load_nothing_from_elsewhere() {
    let folder = folder();
    let server = view(&folder);
    let page = get(server.address(), "/");
    assert_eq!(page.status, 200);
    let policy = page.header("content-security-policy").unwrap();
    assert!(policy.contains("default-src 'self'") && policy.contains("frame-ancestors 'none'"), "{policy}");
    assert!(!policy.contains("unsafe"), "{policy}");
    assert_eq!(page.header("x-content-type-options"), Some("nosniff"));
    assert_eq!(page.header("referrer-policy"), Some("no-referrer"));
}

#[test]
fn tokens_have_rights_under_a_path() {
    let folder = folder();
    std::fs::create_dir(folder.path().join("runs")).unwrap();
    std::fs::copy(folder.path().join("a.h5"), folder.path().join("runs/b.h5")).unwrap();
    let (ann, bob) = ("0123456789abcdef0123456789abcdef", "fedcba9876543210fedcba9876543210");
    let rights = folder.path().join("tokens");
    std::fs::write(&rights, format!("ann {ann} read /\nbob {bob} read runs\n")).unwrap();
    private(&rights);
    let mut config = serving::folder(folder.path());
    config.auth = Auth::Tokens(server::Rights::read(&rights).unwrap());
    let server = Server::start(&config).unwrap();
    let status = |target: &str, token: &str| {
        get_with(server.address(), target, &[("Authorization", &format!("Bearer {token}"))]).status
    };
    assert_eq!((status(META, ann), status("/h5grove/meta?file=runs/b.h5", bob)), (200, 200));
    assert_eq!(status(META, bob), 403);
    assert_eq!(status(META, "wrong"), 401);
    let none = get(server.address(), META);
    assert_eq!(none.status, 401);
    assert!(none.header("www-authenticate").unwrap().starts_with("Basic"));
    // ann:0123…, as curl -u sends it.
    let basic = "Basic YW5uOjAxMjM0NTY3ODlhYmNkZWYwMTIzNDU2Nzg5YWJjZGVm";
    assert_eq!(get_with(server.address(), META, &[("Authorization", basic)]).status, 200);
}

fn private(path: &std::path::Path) {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o600)).unwrap();
    }
    #[cfg(not(unix))]
    let _ = path;
}

#[test]
fn names_lead_nowhere_outside_the_root() {
    let (folder, outside) = (folder(), folder());
    let secret = outside.path().join("a.h5");
    #[cfg(unix)]
    std::os::unix::fs::symlink(&secret, folder.path().join("link.h5")).unwrap();
    let server = serving::start(folder.path());
    let up = format!("../{}/a.h5", outside.path().file_name().unwrap().to_string_lossy());
    let absolute = secret.to_string_lossy().into_owned();
    let names = [
        up.as_str(),
        &absolute,
        "link.h5",
        "..",
        "a.h5/../a.h5",
        "./a.h5",
        "a\0.h5",
        "",
        "file:a.h5",
        "s3://b/a",
    ];
    for name in names {
        let response = get(server.address(), &format!("/h5grove/meta?file={}", encoded(name)));
        assert!(
            matches!(response.status, 403 | 404 | 422),
            "{name}: {} {}",
            response.status,
            response.text()
        );
        assert!(!response.text().contains(&*folder.path().to_string_lossy()), "{}", response.text());
    }
}

#[test]
fn huge_answers_are_refused_before_they_are_made() {
    let folder = folder();
    let server = serving::start(folder.path());
    let started = Instant::now();
    for more in
        ["", "&format=bin", "&format=npy", "&format=csv", "&flatten=true", "&selection=0:1000&format=bin"]
    {
        let response = get(server.address(), &format!("/h5grove/data?file=a.h5&path=/huge{more}"));
        assert_eq!(response.status, 413, "{more}: {}", response.text());
    }
    let sample = "/api/sample?file=a.h5&path=/huge&points=16777216";
    assert_eq!(get(server.address(), sample).status, 413);
    assert_eq!(get(server.address(), "/h5grove/stats?file=a.h5&path=/huge").status, 422);
    assert!(started.elapsed() < Duration::from_secs(5), "{:?}", started.elapsed());
}

#[test]
fn malformed_requests_are_refused() {
    let folder = folder();
    let server = serving::start(folder.path());
    let status = |target: &str| get(server.address(), target).status;
    for query in ["path=%", "path=%zz", "path=%ff", "%80=1"] {
        assert_eq!(status(&format!("/h5grove/meta?file=a.h5&{query}")), 400, "{query}");
    }
    for selection in ["x", "0,0", "::0", "9", "%00", "99999999999999999999", "-3", "1:2:3:4"] {
        let target = format!("/h5grove/data?file=a.h5&path=/x&selection={selection}");
        assert_eq!(status(&target), 422, "{selection}");
    }
    assert_eq!((status("/nothing"), status("/..%2f..%2fetc/passwd")), (404, 404));
    let post = format!(
        "POST /h5grove/meta HTTP/1.1\r\nHost: {}\r\nConnection: close\r\nContent-Length: 5\r\n\r\n{{\"a\":",
        server.address()
    );
    assert!(exchange(server.address(), post.as_bytes()).starts_with(b"HTTP/1.1 405"));
    let long = format!("GET / HTTP/1.1\r\nHost: {}\r\nX: {}\r\n\r\n", server.address(), "x".repeat(200_000));
    assert!(!exchange(server.address(), long.as_bytes()).starts_with(b"HTTP/1.1 200"));
    assert!(
        !exchange(server.address(), b"\x16\x03\x01\x02\x00\x01\x00\r\n\r\n").starts_with(b"HTTP/1.1 200")
    );
    assert_eq!(status(META), 200, "the server goes on");
}

fn impatient(folder: &TempDir) -> Server {
    let mut config = serving::folder(folder.path());
    config.limits.header_time_max = Duration::from_millis(300);
    config.limits.stall_time_max = Duration::from_millis(300);
    config.connections = serving::connections(&ServerLimits { handshakes_max: 4, ..ServerLimits::default() });
    Server::start(&config).unwrap()
}

/// Returns how long the server keeps a connection whose client does not go on.
fn time_until_end(mut stream: TcpStream) -> Duration {
    let started = Instant::now();
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    let mut buffer = vec![0; 1 << 16];
    while stream.read(&mut buffer).is_ok_and(|bytes| bytes > 0) {}
    started.elapsed()
}

#[test]
fn a_client_that_sends_headers_slowly_is_left() {
    let folder = folder();
    let server = impatient(&folder);
    let mut stream = TcpStream::connect(server.address()).unwrap();
    stream.write_all(b"GET / HTTP/1.1\r\nHost: ").unwrap();
    assert!(time_until_end(stream) < Duration::from_secs(5));
}

#[test]
fn a_client_that_does_not_read_is_left() {
    let folder = folder();
    let server = impatient(&folder);
    let mut stream = TcpStream::connect(server.address()).unwrap();
    let target = "/h5grove/data?file=a.h5&path=/long&format=bin";
    write!(stream, "GET {target} HTTP/1.1\r\nHost: {}\r\n\r\n", server.address()).unwrap();
    std::thread::sleep(Duration::from_secs(2));
    // The answer was cut off: what is left are the buffers of the system.
    let mut bytes = Vec::new();
    let _ = stream.read_to_end(&mut bytes);
    assert!(bytes.len() < 64 << 20, "{}", bytes.len());
    assert_eq!(get(server.address(), META).status, 200);
}

#[test]
fn connections_that_ask_nothing_keep_no_one_out() {
    let folder = folder();
    let server = impatient(&folder);
    let _idle: Vec<TcpStream> = (0..4).map(|_| TcpStream::connect(server.address()).unwrap()).collect();
    // Each has a moment to ask; then the oldest goes.
    let refused = exchange_quietly(server.address());
    assert!(refused.starts_with("HTTP/1.1 503"), "{refused}");
    std::thread::sleep(Duration::from_millis(150));
    assert_eq!(get(server.address(), META).status, 200);
}

fn exchange_quietly(address: SocketAddr) -> String {
    let mut text = String::new();
    let mut stream = TcpStream::connect(address).unwrap();
    let _ = stream.read_to_string(&mut text);
    text
}

#[test]
fn a_server_beyond_this_machine_needs_tokens() {
    let folder = folder();
    let mut config = serving::folder(folder.path());
    config.listen = "0.0.0.0:0".parse().unwrap();
    assert!(Server::start(&config).is_err());
}
