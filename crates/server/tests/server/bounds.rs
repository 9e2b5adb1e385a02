//! What one client can take: memory is refused with an error that says what wanted how much, and given back.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use crate::common::raw::{Call, Raw};
use crate::common::{Folder, storage};
use hyperslab_server::{Auth, Config, Listen, Rights, Server, ServerLimits};
use model::properties::FileCreate;
use model::{Kind, Selection};
use protocol::Attach;
use protocol::frame::FrameKind;
use protocol::wire::Wire;
use vol::{FileAccess, OpAttributeCreate, Operation};

const MEMORY: u64 = 64 << 20;
const RIGHTS: &str = "reader readreadreadread read *\nwriter writewritewrite1 write *\n";
const READER: Option<&str> = Some("readreadreadread");
const WRITER: Option<&str> = Some("writewritewrite1");

fn start(folder: &Folder, patience: Duration) -> (Server, SocketAddr) {
    let limits = ServerLimits {
        memory_bytes_max: MEMORY,
        connections_max: 32,
        handshakes_max: 32,
        memory_patience: patience,
        ..ServerLimits::default()
    };
    let auth = Auth::Tokens(Rights::parse(RIGHTS).unwrap());
    let http = Some(SocketAddr::from(([127, 0, 0, 1], 0)));
    let config = Config { limits, auth, http, ..Config::local(storage(), folder.path()) };
    let server = Server::start(&config).unwrap();
    let Listen::Tcp(address) = *server.listen() else { panic!("not TCP") };
    (server, address)
}

/// A file with a value of 1 MiB, as a blob and as an attribute; the identity of the blob, and the root.
fn with_value(folder: &Folder, name: &str) -> (Vec<u8>, model::Token) {
    let path = folder.path().join(name);
    let create = FileCreate::default();
    let file = storage().create(&path.to_string_lossy(), &create, &FileAccess::write(), false).unwrap();
    let value = vec![7; 1 << 20];
    let id = file.blob_put(&[&value]).unwrap();
    let root = file.info().unwrap().root;
    let datatype = model::Datatype::integer(1, false, model::datatype::ByteOrder::Little);
    let space = model::Dataspace::simple(&[1 << 20]).unwrap();
    let charset = model::datatype::CharacterSet::Ascii;
    let attribute =
        OpAttributeCreate { object: root, name: "value".into(), charset, datatype, committed: None, space };
    file.attribute_create(&attribute).unwrap();
    file.attribute_write(root, "value", &value).unwrap();
    crate::common::bytes_dataset(&*file, "data", 12 << 20).unwrap();
    file.close().unwrap();
    (id, root)
}

fn client(
    address: SocketAddr,
    token: Option<&str>,
    access: &FileAccess,
    queued: bool,
) -> (Raw, protocol::Id) {
    let mut client = Raw::connect(address).unwrap();
    client.hello(token).unwrap();
    let session = client.open("a.h5", access, queued).unwrap();
    (client, session)
}

/// Bytes that the server counts as used now.
fn used(server: &Server) -> u64 {
    let text = server.metrics();
    let line = text.lines().find_map(|line| line.strip_prefix("hyperslab_memory_bytes ")).expect("a number");
    line.parse().unwrap()
}

/// Waits until the server counts less than `bytes` more than `before`.
fn wait_until_used(server: &Server, bytes: u64) {
    let since = Instant::now();
    while used(server) > bytes {
        assert!(since.elapsed() < Duration::from_secs(20), "{} bytes are still used", used(server));
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn one_value_asked_for_200_000_times_is_refused() {
    let folder = Folder::new("server");
    let (id, root) = with_value(&folder, "a.h5");
    let (server, address) = start(&folder, Duration::from_secs(1));
    let at_rest = used(&server);
    let (mut reader, _) = client(address, READER, &FileAccess::read(), false);
    let (ids, count) = (vec![&id[..]; 200_000], 200_000u32.to_le_bytes());
    let call = Call { arguments: &count, bulk: &ids, buffers: &[] };
    let refused = reader.call(Operation::blob_get, call).unwrap_err();
    assert_eq!(refused.kind(), Kind::Limit, "{refused}");
    assert!(refused.to_string().contains("values") && refused.to_string().contains("session"), "{refused}");
    let mut names = root.0.to_vec();
    vec!["value".to_owned(); 100_000].put(&mut names).unwrap();
    let refused = reader.call(Operation::attribute_read, Call { arguments: &names, ..Call::default() });
    assert_eq!(refused.unwrap_err().kind(), Kind::Limit);
    // The client is served as before, and nothing stays charged.
    reader.call(Operation::info, Call::default()).unwrap();
    reader.bye();
    wait_until_used(&server, at_rest + 1024);
}

#[test]
fn a_chunk_cache_is_chosen_by_writers_and_within_bounds() {
    let folder = Folder::new("server");
    with_value(&folder, "a.h5");
    let (_server, address) = start(&folder, Duration::from_secs(1));
    let arguments = [&[0; 16][..], &(1u64 << 40).to_le_bytes()].concat();
    let tera = || Call { arguments: &arguments, bulk: &[], buffers: &[] };
    for (token, access, kind) in
        [(READER, FileAccess::read(), Kind::Denied), (WRITER, FileAccess::write(), Kind::Limit)]
    {
        let (mut client, _) = client(address, token, &access, false);
        let error = client.call(Operation::chunk_cache_set, tera());
        assert_eq!(error.unwrap_err().kind(), kind);
        client.bye();
    }
}

/// Queued frames of many connections wait for each other, but not in memory without end.
#[test]
fn queued_frames_are_charged_before_they_run() {
    let folder = Folder::new("server");
    let (_, root) = with_value(&folder, "a.h5");
    let (server, address) = start(&folder, Duration::from_millis(200));
    let (mut first, session) = client(address, WRITER, &FileAccess::write(), true);
    let at_rest = used(&server);
    let mut arguments = root.0.to_vec();
    "value".to_owned().put(&mut arguments).unwrap();
    std::thread::scope(|scope| {
        for number in 0..12 {
            let arguments = &arguments;
            scope.spawn(move || {
                let mut other = Raw::connect(address).unwrap();
                other.hello(WRITER).unwrap();
                other.ask(FrameKind::Attach, &Attach { session }).unwrap();
                let value = vec![1; 12 << 20];
                for round in 0..4 {
                    let call = Call { arguments, bulk: &[&value], buffers: &[] };
                    other.queue(Operation::attribute_write, 1 + 12 * round + number, call).unwrap();
                }
                other.ask(FrameKind::Ping, &()).unwrap();
            });
        }
        let mut most = 0;
        for _ in 0..200 {
            most = most.max(used(&server));
            std::thread::sleep(Duration::from_millis(2));
        }
        assert!(most <= MEMORY, "{most} bytes");
        assert!(most > at_rest + (8 << 20), "queued frames are counted: {most} bytes");
    });
    let durability = protocol::wire::to_bytes(&vol::Durability::None).unwrap();
    let told = first.call(Operation::commit, Call { arguments: &durability, ..Call::default() }).unwrap_err();
    assert!(told.to_string().contains("queued"), "{told}");
}

#[test]
fn answers_that_nobody_acknowledges_are_charged() {
    let folder = Folder::new("server");
    with_value(&folder, "a.h5");
    let (server, address) = start(&folder, Duration::from_millis(200));
    let (mut writer, _) = client(address, WRITER, &FileAccess::write(), false);
    let values = vec![&b"x"[..]; 50_000];
    let count = (values.len() as u32).to_le_bytes();
    let before = used(&server);
    for _ in 0..60 {
        let call = Call { arguments: &count, bulk: &values, buffers: &[] };
        if let Err(error) = writer.call(Operation::blob_put, call) {
            assert_eq!(error.kind(), Kind::Limit, "{error}");
        }
        assert!(used(&server) <= MEMORY);
    }
    assert!(used(&server) > before + (8 << 20), "answers are kept, and counted");
    writer.bye();
    wait_until_used(&server, before + (1 << 20));
}

#[test]
fn elements_that_nobody_reads_wait_in_bounded_memory() {
    let folder = Folder::new("server");
    with_value(&folder, "a.h5");
    let (server, address) = start(&folder, Duration::from_millis(200));
    let open = |token| client(address, token, &FileAccess::read(), false).0;
    let path = folder.path().join("a.h5");
    let file = storage().open(&path.to_string_lossy(), &FileAccess::read()).unwrap();
    let root = file.info().unwrap().root;
    let data = vol::path::token(&*file, root, "data", 4).unwrap();
    let mut arguments = 1u32.to_le_bytes().to_vec();
    data.put(&mut arguments).unwrap();
    Selection::All.put(&mut arguments).unwrap();
    let call = || Call { arguments: &arguments, bulk: &[], buffers: &[12 << 20] };
    let mut silent: Vec<Raw> = (0..8).map(|_| open(READER)).collect();
    for client in &mut silent {
        client.post(Operation::dataset_read, call()).unwrap();
    }
    let mut refused = 0;
    // The first one is in the way of the others, who are reported so.
    for client in &mut silent[1..] {
        refused += usize::from(client.receive().is_err());
        assert!(used(&server) <= MEMORY);
    }
    assert!(refused > 0, "none was refused");
    // A caller with another token is not.
    open(WRITER).call(Operation::dataset_read, call()).unwrap();
}

#[test]
fn silent_connections_keep_nobody_out() {
    let folder = Folder::new("server");
    with_value(&folder, "a.h5");
    let (server, address) = start(&folder, Duration::from_secs(1));
    let http = server.http().unwrap();
    let _silent: Vec<_> = (0..256).map(|_| std::net::TcpStream::connect(address).unwrap()).collect();
    let _slow: Vec<_> = (0..64).map(|_| std::net::TcpStream::connect(http).unwrap()).collect();
    let since = Instant::now();
    let location = server.location("a.h5?token=readreadreadread");
    crate::common::clients().open(&location, &FileAccess::read()).unwrap().info().unwrap();
    let mut health = std::net::TcpStream::connect(http).unwrap();
    std::io::Write::write_all(&mut health, b"GET /healthz HTTP/1.1\r\n\r\n").unwrap();
    let mut answer = String::new();
    std::io::Read::read_to_string(&mut health, &mut answer).unwrap();
    assert!(answer.ends_with("ok\n"), "{answer}");
    assert!(since.elapsed() < Duration::from_secs(4), "{:?}", since.elapsed());
}

#[test]
fn whoever_says_nothing_is_given_up() {
    let folder = Folder::new("server");
    let limits = ServerLimits { handshake: Duration::from_secs(1), ..ServerLimits::default() };
    let config = Config { limits, ..Config::local(storage(), folder.path()) };
    let server = Server::start(&config).unwrap();
    let Listen::Tcp(address) = *server.listen() else { panic!("not TCP") };
    let mut drip = std::net::TcpStream::connect(address).unwrap();
    drip.set_read_timeout(Some(Duration::from_millis(200))).unwrap();
    let since = Instant::now();
    // A byte now and then is no hello.
    let is_ended = |stream: &mut std::net::TcpStream| {
        let sent = std::io::Write::write_all(stream, b"H");
        let read = std::io::Read::read(stream, &mut [0]);
        sent.is_err() || read.is_ok() || read.is_err_and(|e| e.kind() != std::io::ErrorKind::WouldBlock)
    };
    while !is_ended(&mut drip) {
        assert!(since.elapsed() < Duration::from_secs(10), "still there");
    }
}
