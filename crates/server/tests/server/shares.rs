//! Turns and delays: what one token costs the server is counted, and what it is refused again and again comes late.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use crate::common::raw::{Call, Raw};
use crate::common::{Folder, storage};
use hyperslab_server::{Auth, Config, Listen, Rights, Server, ServerLimits};
use model::Kind;
use model::properties::FileCreate;
use vol::{FileAccess, Operation};

const RIGHTS: &str = "reader readreadreadread read *\nwriter writewritewrite1 write *\n";
const READER: Option<&str> = Some("readreadreadread");
const WRITER: Option<&str> = Some("writewritewrite1");
/// Shorter than the first delay: all of them are as long as this.
const DELAY: Duration = Duration::from_millis(2);

fn start(folder: &Folder, limits: ServerLimits) -> (Server, SocketAddr) {
    let path = folder.path().join("a.h5");
    let create = FileCreate::default();
    let file = storage().create(&path.to_string_lossy(), &create, &FileAccess::write(), false).unwrap();
    file.close().unwrap();
    let auth = Auth::Tokens(Rights::parse(RIGHTS).unwrap());
    let server = Server::start(&Config { limits, auth, ..Config::local(storage(), folder.path()) }).unwrap();
    let Listen::Tcp(address) = *server.listen() else { panic!("not TCP") };
    (server, address)
}

fn client(address: SocketAddr, token: Option<&str>) -> Raw {
    let mut client = Raw::connect(address).unwrap();
    client.hello(token).unwrap();
    client.open("a.h5", &FileAccess::read(), false).unwrap();
    client
}

fn counted(server: &Server, name: &str) -> u64 {
    let text = server.metrics();
    let line = text.lines().find_map(|line| line.strip_prefix(name)).expect("a number");
    line.trim().parse().unwrap()
}

#[test]
fn operations_of_many_connections_wait_for_their_turns() {
    let folder = Folder::new("server");
    let (server, address) = start(&folder, ServerLimits { running_max: 1, ..ServerLimits::default() });
    let began = Instant::now();
    std::thread::scope(|scope| {
        for token in [READER, WRITER].into_iter().cycle().take(8) {
            let server = &server;
            scope.spawn(move || {
                let mut client = client(address, token);
                while counted(server, "hyperslab_turns_waited_total ") == 0 {
                    assert!(began.elapsed() < Duration::from_secs(60), "nobody waits");
                    client.call(Operation::info, Call::default()).unwrap();
                }
            });
        }
    });
    assert!(counted(&server, "hyperslab_processor_nanoseconds_total ") > 0);
}

#[test]
fn who_is_refused_again_and_again_waits_and_others_do_not() {
    let folder = Folder::new("server");
    let limits = ServerLimits { offence_delay_max: DELAY, ..ServerLimits::default() };
    let (server, address) = start(&folder, limits);
    let delays = || counted(&server, "hyperslab_delays_total ");
    let mut eve = client(address, READER);
    let commit = || Call { arguments: &[0], ..Call::default() };
    for _ in 0..60 {
        assert_eq!(eve.call(Operation::commit, commit()).unwrap_err().kind(), Kind::Denied);
    }
    assert_eq!(delays(), 0, "a program may look what it may do");
    let began = Instant::now();
    for _ in 0..100 {
        eve.call(Operation::commit, commit()).unwrap_err();
    }
    let so_far = delays();
    assert!(so_far > 50, "{so_far} refusals came late");
    assert!(began.elapsed() >= DELAY * so_far as u32, "they came after {:?}", began.elapsed());
    eve.call(Operation::info, Call::default()).unwrap();
    client(address, WRITER).call(Operation::info, Call::default()).unwrap();
    assert_eq!(delays(), so_far, "what is allowed comes at once");
    client(address, READER);
    assert!(delays() > so_far, "new connections of the token come late");
}

#[test]
fn wrong_tokens_are_told_late() {
    let folder = Folder::new("server");
    let limits = ServerLimits { offence_delay_max: DELAY, ..ServerLimits::default() };
    let (server, address) = start(&folder, limits);
    let began = Instant::now();
    while counted(&server, "hyperslab_delays_total ") == 0 {
        assert!(began.elapsed() < Duration::from_secs(60), "nobody waits");
        Raw::connect(address).unwrap().hello(Some("a token that nobody has")).unwrap_err();
    }
    client(address, READER);
}
