//! Clients that mean harm. The list of what was tried:
//!
//! - malformed frames: see `src/fuzz.rs`;
//! - frames that claim more than is allowed: arguments, byte strings, buffers, their number, their sum;
//! - frames before the hello, answers to nothing, unknown kinds, versions and operations, queued calls without a queue;
//! - half a frame and then silence; an answer that no one reads;
//! - names that leave the root: `..`, absolute, doubled slashes, control characters, links to files and to folders,
//!   percent-encoded, too long;
//! - no token, a wrong one, one that may only read, one for another folder, the session of another caller;
//! - more connections, sessions and open objects than are allowed; drivers and files next to the container;
//! - locks of others, too many at once, on what is not there, and the server's own marks: see `direct_locks.rs`, `direct.rs`.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use crate::common::{Folder, clients, in_folder, in_memory, storage};
use hyperslab_server::{Auth, Config, Listen, Rights, Server, ServerLimits};
use model::properties::FileCreate;
use model::{Kind, Selection};
use protocol::frame::{Frame, FrameKind, FrameLimits, Header, Outgoing};
use protocol::wire::{self, OpenRequest, Wire};
use protocol::{Attach, Begin, Hello, Id, VERSION};
use vol::{Container, ContainerOpen, FileAccess, OpRead, Operation};

fn connect(server: &Server) -> TcpStream {
    let Listen::Tcp(address) = server.listen() else { panic!("not TCP") };
    let socket = TcpStream::connect(address).expect("a connection");
    socket.set_read_timeout(Some(Duration::from_secs(20))).expect("set");
    socket
}

fn send(socket: &mut TcpStream, header: Header, arguments: &[u8], buffers: &[u64]) {
    let outgoing = Outgoing { header, arguments, bulk: &[], buffers, elements: &[] };
    outgoing.send(socket, &mut Vec::new()).expect("sent");
}

/// Asks, and says whether the answer was a success; `None` where the connection ended.
fn ask(socket: &mut TcpStream, kind: FrameKind, message: &impl Wire) -> Option<bool> {
    send(socket, Header::new(kind, 1), &wire::to_bytes(message).expect("bytes"), &[]);
    let mut frame = Frame::default();
    frame.receive(socket, &FrameLimits::default()).ok()?.then(|| frame.header.kind == FrameKind::Answer)
}

fn hello(socket: &mut TcpStream, token: Option<&str>) -> Option<bool> {
    let token = token.map(str::to_owned);
    ask(socket, FrameKind::Hello, &Hello { version: VERSION, wire_version: wire::VERSION, token })
}

/// Whether the server ends the connection, whatever it says before.
fn is_ended(socket: &mut TcpStream) -> bool {
    let mut rest = Vec::new();
    match socket.read_to_end(&mut rest) {
        Ok(_) => true,
        Err(error) => error.kind() == std::io::ErrorKind::ConnectionReset,
    }
}

fn create(server: &Server, name: &str) -> vol::Result<std::sync::Arc<dyn Container>> {
    clients().create(&server.location(name), &FileCreate::default(), &FileAccess::write(), false)
}

/// A connection that has a container open.
fn opened(server: &Server, name: &str) -> TcpStream {
    create(server, name).expect("made").close().expect("closed");
    let mut socket = connect(server);
    assert_eq!(hello(&mut socket, None), Some(true));
    let access = FileAccess::read();
    let opening = OpenRequest::open(&ContainerOpen::new(name, &access));
    let begin = Begin::at_one(Id::random(), false);
    assert_eq!(ask(&mut socket, FrameKind::Open, &(begin, opening)), Some(true));
    socket
}

#[test]
fn frames_that_claim_too_much_end_the_connection() {
    let server = Server::start(&in_memory()).unwrap();
    let call = Header { code: Operation::dataset_read.number() as u16, ..Header::new(FrameKind::Call, 1) };
    let mut claims = Vec::new();
    for (at, value) in [(24, u32::MAX), (28, u32::MAX), (32, u32::MAX), (28, 1 << 21), (24, 17 << 20)] {
        let mut bytes = Vec::new();
        Outgoing { header: call, arguments: &[], bulk: &[], buffers: &[], elements: &[] }
            .encode(&mut bytes)
            .unwrap();
        bytes[at..at + 4].copy_from_slice(&value.to_le_bytes());
        claims.push(bytes);
    }
    for buffers in [&[u64::MAX][..], &[u64::MAX, 1], &[257 << 20], &[200 << 20, 200 << 20]] {
        let mut bytes = Vec::new();
        Outgoing { header: call, arguments: &[], bulk: &[], buffers, elements: &[] }
            .encode(&mut bytes)
            .unwrap();
        claims.push(bytes);
    }
    for (number, bytes) in claims.iter().enumerate() {
        let mut socket = opened(&server, &format!("claims{number}"));
        let _ = socket.write_all(bytes);
        assert!(is_ended(&mut socket), "claim {number}");
    }
    assert!(server.metrics().contains(&format!("hyperslab_refusals_total {}", claims.len())));
}

#[test]
fn frames_out_of_order_end_the_connection() {
    let server = Server::start(&in_memory()).unwrap();
    for kind in [FrameKind::Call, FrameKind::Open, FrameKind::Attach, FrameKind::Ping, FrameKind::Answer] {
        let mut socket = connect(&server);
        send(&mut socket, Header::new(kind, 1), &[], &[]);
        assert!(is_ended(&mut socket), "{kind:?} before the hello");
    }
    for header in [
        Header::new(FrameKind::Answer, 1),
        Header { code: 999, ..Header::new(FrameKind::Call, 1) },
        Header { code: Operation::group_create.number() as u16, ..Header::new(FrameKind::Queued, 1) },
        Header { code: Operation::group_create.number() as u16, ..Header::new(FrameKind::Started, 1) },
    ] {
        let mut socket = opened(&server, &format!("order{}{}", header.code, header.kind as u8));
        send(&mut socket, header, &[], &[]);
        assert!(is_ended(&mut socket), "{header:?}");
    }
    let mut socket = connect(&server);
    let old = Hello { version: VERSION + 1, wire_version: wire::VERSION, token: None };
    assert_eq!(ask(&mut socket, FrameKind::Hello, &old), Some(false));
    assert!(is_ended(&mut socket));
}

fn impatient() -> Config {
    let limits = ServerLimits { patience: Duration::from_millis(300), ..ServerLimits::default() };
    Config { limits, ..in_memory() }
}

#[test]
fn half_a_frame_and_silence_ends_the_connection() {
    let server = Server::start(&impatient()).unwrap();
    let mut socket = connect(&server);
    assert_eq!(hello(&mut socket, None), Some(true));
    socket.write_all(b"H5S\x01half").unwrap();
    assert!(is_ended(&mut socket));
}

#[test]
fn an_answer_that_nobody_reads_ends_the_connection_and_nobody_else_waits() {
    let server = Server::start(&impatient()).unwrap();
    let bytes = 64 << 20;
    let container = create(&server, "large").unwrap();
    let dataset = crate::common::bytes_dataset(&*container, "data", bytes).unwrap();
    let mut socket = connect(&server);
    assert_eq!(hello(&mut socket, None), Some(true));
    let access = FileAccess::read();
    let opening = OpenRequest::open(&ContainerOpen::new("large", &access));
    let begin = Begin::at_one(Id::random(), false);
    assert_eq!(ask(&mut socket, FrameKind::Open, &(begin, opening)), Some(true));
    let header = Header { code: Operation::dataset_read.number() as u16, ..Header::new(FrameKind::Call, 2) };
    let mut arguments = 1u32.to_le_bytes().to_vec();
    dataset.put(&mut arguments).unwrap();
    Selection::All.put(&mut arguments).unwrap();
    send(&mut socket, header, &arguments, &[bytes]);
    let mut buffer = vec![0; 1 << 10];
    let window = Selection::hyperslab(&[0], &[1], &[1], &[1 << 10]).unwrap();
    loop {
        // Others are served all the while.
        container.dataset_read(&mut [OpRead { dataset, selection: &window, into: &mut buffer }]).unwrap();
        if server.metrics().contains("hyperslab_refusals_total 1\n") {
            break;
        }
    }
    assert!(is_ended(&mut socket));
}

#[test]
fn names_do_not_leave_the_root() {
    let (server, folder) = in_folder().unwrap();
    let outside = Folder::new("server");
    std::fs::write(outside.path().join("secret.h5"), "secret").unwrap();
    std::os::unix::fs::symlink(outside.path(), folder.path().join("folder")).unwrap();
    std::os::unix::fs::symlink(outside.path().join("secret.h5"), folder.path().join("file.h5")).unwrap();
    std::os::unix::fs::symlink(outside.path().join("new.h5"), folder.path().join("dangling.h5")).unwrap();
    let absolute = outside.path().join("secret.h5").to_string_lossy().into_owned();
    let long = "x/".repeat(1000);
    let names = [
        "../secret.h5",
        "a/../../secret.h5",
        "..",
        "./x",
        "a//b",
        "/etc/passwd",
        "folder/secret.h5",
        "file.h5",
        "folder/new.h5",
        "dangling.h5",
        "a\\..\\b",
        "x\u{0}y",
        "x\ny",
        &absolute,
        &long,
    ];
    for name in names {
        let location = server.location(name);
        let read = clients().open(&location, &FileAccess::read()).map(drop).unwrap_err();
        let made = create(&server, name).map(drop).unwrap_err();
        let removed = clients().delete(&location, &FileAccess::read()).unwrap_err();
        for error in [&read, &made, &removed] {
            assert_eq!(error.root_cause().kind(), Kind::Denied, "{name:?}: {error}");
        }
    }
    // An encoded name is a name like any other: it stays in the root.
    for name in ["%2e%2e%2fsecret.h5", "..%2fsecret.h5"] {
        create(&server, name).unwrap().close().unwrap();
        assert!(folder.path().join(name).is_file());
    }
    assert_eq!(std::fs::read_dir(outside.path()).unwrap().count(), 1);
    assert_eq!(std::fs::read_to_string(outside.path().join("secret.h5")).unwrap(), "secret");
}

const RIGHTS: &str = "\
    ann annannannannannann write runs\n\
    bob bobbobbobbobbobbob read runs\n\
    cid cidcidcidcidcidcid write other\n";

#[test]
fn tokens_grant_what_they_say_and_nothing_else() {
    let folder = Folder::new("server");
    std::fs::create_dir(folder.path().join("runs")).unwrap();
    let auth = Auth::Tokens(Rights::parse(RIGHTS).unwrap());
    let server = Server::start(&Config { auth, ..Config::local(storage(), folder.path()) }).unwrap();
    let kind = |name: &str, access: FileAccess| {
        clients().open(&server.location(name), &access).map(drop).map_err(|error| error.root_cause().kind())
    };
    create(&server, "runs/a.h5?token=annannannannannann").unwrap().close().unwrap();
    assert_eq!(kind("runs/a.h5?token=bobbobbobbobbobbob", FileAccess::read()), Ok(()));
    for token in ["", "?token=", "?token=wrong", "?token=annannannannannan", "?token=cidcidcidcidcidcid"] {
        let denied = kind(&format!("runs/a.h5{token}"), FileAccess::read());
        assert_eq!(denied, Err(Kind::Denied), "{token}");
    }
    assert_eq!(kind("runs/a.h5?token=bobbobbobbobbobbob", FileAccess::write()), Err(Kind::Denied));
    let bob = server.location("runs/a.h5?token=bobbobbobbobbobbob");
    assert_eq!(clients().delete(&bob, &FileAccess::read()).unwrap_err().root_cause().kind(), Kind::Denied);
    // Bob's container is read-only whatever he calls.
    let container = clients().open(&bob, &FileAccess::read()).unwrap();
    let root = container.info().unwrap().root;
    assert_eq!(container.group_create(&crate::common::group(root, "x")).unwrap_err().kind(), Kind::Denied);
}

#[test]
fn a_session_belongs_to_who_began_it() {
    let folder = Folder::new("server");
    std::fs::create_dir(folder.path().join("runs")).unwrap();
    let auth = Auth::Tokens(Rights::parse(RIGHTS).unwrap());
    let server = Server::start(&Config { auth, ..Config::local(storage(), folder.path()) }).unwrap();
    create(&server, "runs/a.h5?token=annannannannannann").unwrap().close().unwrap();
    let session = Id::random();
    let (access, begin) = (FileAccess::write(), Begin::at_one(session, false));
    let opening = OpenRequest::open(&ContainerOpen::new("runs/a.h5", &access));
    let mut ann = connect(&server);
    assert_eq!(hello(&mut ann, Some("annannannannannann")), Some(true));
    assert_eq!(ask(&mut ann, FrameKind::Open, &(begin, opening)), Some(true));
    for (token, found) in [("annannannannannann", true), ("bobbobbobbobbobbob", false)] {
        let mut socket = connect(&server);
        assert_eq!(hello(&mut socket, Some(token)), Some(true));
        assert_eq!(ask(&mut socket, FrameKind::Attach, &Attach { session }), Some(found));
    }
}

#[test]
fn more_than_is_allowed_is_refused() {
    let limits =
        ServerLimits { connections_max: 3, sessions_max: 2, objects_max: 1, ..ServerLimits::default() };
    let server = Server::start(&Config { limits, ..in_memory() }).unwrap();
    let first = create(&server, "first").unwrap();
    let second = create(&server, "second").unwrap();
    assert_eq!(create(&server, "third").map(drop).unwrap_err().root_cause().kind(), Kind::Busy);
    let root = first.info().unwrap().root;
    let group = first.group_create(&crate::common::group(root, "x")).unwrap();
    first.retain(root).unwrap();
    first.retain(root).unwrap();
    assert_eq!(first.retain(group).unwrap_err().kind(), Kind::Limit);
    let third = connect(&server);
    let mut fourth = connect(&server);
    assert!(is_ended(&mut fourth));
    drop((second, third));
    assert_eq!(first.group_info(root).unwrap().links, 1);
}

#[test]
fn drivers_are_not_the_clients_choice() {
    let (server, _folder) = in_folder().unwrap();
    let access = FileAccess { driver: Some("family{member_bytes=1}".into()), ..FileAccess::read() };
    let error = clients().open(&server.location("a.h5"), &access).map(drop).unwrap_err();
    assert_eq!(error.root_cause().kind(), Kind::Unsupported);
    let mut socket = connect(&server);
    assert_eq!(hello(&mut socket, None), Some(true));
    let opening = OpenRequest::open(&ContainerOpen::new("a.h5", &access));
    let begin = Begin::at_one(Id::random(), false);
    assert_eq!(ask(&mut socket, FrameKind::Open, &(begin, opening)), Some(false));
}

#[test]
fn beyond_this_machine_nobody_is_let_in_without_asking_who() {
    let listen = Listen::Tcp("0.0.0.0:0".parse().unwrap());
    let config = Config { listen, ..in_memory() };
    assert_eq!(config.check().unwrap_err().kind(), Kind::Invalid);
    let config = Config { auth: Auth::Tokens(Rights::parse(RIGHTS).unwrap()), ..config };
    config.check().unwrap();
}
