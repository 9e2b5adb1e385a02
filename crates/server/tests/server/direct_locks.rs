//! Locks on datasets that clients use in the file themselves: who waits for whom, and for how long.

use std::net::TcpStream;
use std::sync::Arc;
use std::time::Duration;

use crate::common::{Folder, bytes_dataset, chunked, clients, group, storage};
use hyperslab_server::{Auth, Config, Listen, Server, ServerLimits};
use model::properties::FileCreate;
use model::{Kind, LinkTarget, Selection, Token};
use protocol::frame::{Frame, FrameKind, FrameLimits, Header, Outgoing};
use protocol::wire::{self, OpenRequest, Wire};
use protocol::{Begin, Hello, Id, Lock, Unlock, VERSION};
use vol::{Container, ContainerOpen, FileAccess, LinkLocation, OpPlacement, OpRead, OpWrite};

fn create(location: &str) -> Arc<dyn Container> {
    clients().create(location, &FileCreate::default(), &FileAccess::write(), false).unwrap()
}

fn impatient(folder: &Folder, lock_lease: Duration, lock_patience: Duration) -> Server {
    let limits = ServerLimits { lock_lease, lock_patience, ..ServerLimits::default() };
    let config = Config { limits, direct: true, auth: Auth::Off, ..Config::local(storage(), folder.path()) };
    Server::start(&config).unwrap()
}

const LONG: Duration = Duration::from_secs(3600);

/// A client that says what it likes.
struct Raw(TcpStream);

impl Raw {
    fn open(server: &Server, name: &str, access: &FileAccess) -> Raw {
        let Listen::Tcp(address) = server.listen() else { panic!("not TCP") };
        let mut raw = Raw(TcpStream::connect(address).unwrap());
        let hello = Hello { version: VERSION, wire_version: wire::VERSION, token: None };
        assert!(raw.ask(FrameKind::Hello, &hello));
        let opening = OpenRequest::open(&ContainerOpen::new(name, access));
        assert!(raw.ask(FrameKind::Open, &(Begin::at_one(Id::random(), false), opening)));
        raw
    }

    fn tell(&mut self, kind: FrameKind, message: &impl Wire) {
        let arguments = &wire::to_bytes(message).unwrap();
        let header = Header::new(kind, 1);
        let outgoing = Outgoing { header, arguments, bulk: &[], buffers: &[], elements: &[] };
        outgoing.send(&mut self.0, &mut Vec::new()).unwrap();
    }

    fn ask(&mut self, kind: FrameKind, message: &impl Wire) -> bool {
        self.tell(kind, message);
        let mut frame = Frame::default();
        assert!(frame.receive(&mut self.0, &FrameLimits::default()).unwrap());
        frame.header.kind == FrameKind::Answer
    }

    fn lock(&mut self, lock: u64, dataset: Token, write: bool) -> bool {
        let ops = vec![OpPlacement { dataset, selection: Selection::All }];
        self.ask(FrameKind::Lock, &Lock { lock, write, ops })
    }
}

#[test]
fn what_changes_a_dataset_waits_for_shared_locks_and_gives_up_in_the_end() {
    let folder = Folder::new("server");
    let server = impatient(&folder, LONG, Duration::from_millis(20));
    let container = create(&server.location("a.h5"));
    let data = chunked(&*container, "data", &[8], &[64], &[4]);
    let root = container.info().unwrap().root;
    let mut other = Raw::open(&server, "a.h5", &FileAccess::write());
    assert!(other.lock(1, data, true));
    let busy = |result: vol::Result<()>| assert_eq!(result.unwrap_err().kind(), Kind::Busy);
    let byte = [OpWrite { dataset: data, selection: &Selection::All, from: &[1; 8] }];
    busy(container.dataset_resize(data, &[16]));
    busy(container.dataset_write(&byte));
    busy(container.chunk_write(data, &[0], 0, &[0; 4]));
    busy(container.link_delete(root, "data"));
    // A reader of the same elements would see half of a write: it waits too. Other locks to write are no obstacle.
    let mut bytes = [0; 8];
    busy(container.dataset_read(&mut [OpRead {
        dataset: data,
        selection: &Selection::All,
        into: &mut bytes,
    }]));
    let mut third = Raw::open(&server, "a.h5", &FileAccess::write());
    assert!(!third.lock(1, data, false));
    assert!(third.lock(2, data, true));
    other.tell(FrameKind::Unlock, &Unlock { lock: 1 });
    third.tell(FrameKind::Unlock, &Unlock { lock: 2 });
    // Answers come in their order: the locks are back.
    assert!(other.ask(FrameKind::Ping, &()) && third.ask(FrameKind::Ping, &()));
    container.dataset_resize(data, &[16]).unwrap();
    container
        .dataset_write(&[OpWrite { dataset: data, selection: &Selection::All, from: &[1; 16] }])
        .unwrap();
    container.link_delete(root, "data").unwrap();
}

#[test]
fn a_group_is_not_deleted_under_those_who_write_in_it() {
    let folder = Folder::new("server");
    let server = impatient(&folder, LONG, Duration::from_millis(20));
    let container = create(&server.location("a.h5"));
    let root = container.info().unwrap().root;
    let inside = container.group_create(&group(root, "group")).unwrap();
    let data = bytes_dataset(&*container, "data", 8).unwrap();
    let place = LinkLocation::new(inside, "data");
    container.link_create(&vol::OpLinkCreate { place, target: LinkTarget::Hard(data) }).unwrap();
    container.link_delete(root, "data").unwrap();
    let mut other = Raw::open(&server, "a.h5", &FileAccess::write());
    assert!(other.lock(1, data, true));
    assert_eq!(container.link_delete(root, "group").unwrap_err().kind(), Kind::Busy);
    other.tell(FrameKind::Bye, &());
    drop(other);
    while container.link_delete(root, "group").is_err() {
        std::thread::yield_now();
    }
}

#[test]
fn a_vanished_client_frees_its_locks_when_they_run_out() {
    let folder = Folder::new("server");
    let server = impatient(&folder, Duration::from_millis(100), LONG);
    let container = create(&server.location("a.h5"));
    let data = chunked(&*container, "data", &[8], &[64], &[4]);
    let mut other = Raw::open(&server, "a.h5", &FileAccess::write());
    assert!(other.lock(1, data, true));
    drop(other);
    container.dataset_resize(data, &[16]).unwrap();
    // So does one that is there and silent.
    let mut other = Raw::open(&server, "a.h5", &FileAccess::write());
    assert!(other.lock(1, data, true));
    container.dataset_resize(data, &[24]).unwrap();
    assert!(!other.ask(FrameKind::Renew, &protocol::Renew { lock: 1 }), "it ran out");
}

#[test]
fn locks_of_others_are_nobodys_business() {
    let folder = Folder::new("server");
    let server = impatient(&folder, LONG, Duration::from_millis(20));
    let container = create(&server.location("a.h5"));
    let data = chunked(&*container, "data", &[8], &[64], &[4]);
    let mut owner = Raw::open(&server, "a.h5", &FileAccess::write());
    let mut other = Raw::open(&server, "a.h5", &FileAccess::write());
    assert!(owner.lock(1, data, true));
    assert!(!other.ask(FrameKind::Renew, &protocol::Renew { lock: 1 }));
    other.tell(FrameKind::Unlock, &Unlock { lock: 1 });
    assert!(other.ask(FrameKind::Ping, &()));
    assert_eq!(container.dataset_resize(data, &[16]).unwrap_err().kind(), Kind::Busy);
    assert!(owner.ask(FrameKind::Renew, &protocol::Renew { lock: 1 }));
    // More than may be locked at once, what is not there, what is no dataset.
    let op = |dataset| OpPlacement { dataset, selection: Selection::All };
    assert!(!other.ask(FrameKind::Lock, &Lock { lock: 2, write: true, ops: vec![op(data); 2000] }));
    assert!(!other.lock(3, Token::from_u64(1 << 40), true));
    assert!(!other.lock(4, container.info().unwrap().root, false));
    owner.tell(FrameKind::Unlock, &Unlock { lock: 1 });
    assert!(owner.ask(FrameKind::Ping, &()));
    container.dataset_resize(data, &[16]).unwrap();
}
