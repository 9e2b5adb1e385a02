//! Frames that a caller broke: none makes the server panic, hang or ask for memory without end.

use std::io::{self, Cursor, Read, Write};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use model::properties::FileCreate;
use model::{Selection, Token};
use protocol::frame::{FrameKind, Header, Outgoing};
use protocol::stream::Stream;
use protocol::wire::{self, OpenRequest, Wire};
use protocol::{Begin, Hello, Id, Lock, Renew, Unlock, VERSION, queued_token};
use vol::{
    ContainerCreate, FileAccess, LinkLocation, OpGroupCreate, OpList, OpPlacement, Operation, Registry,
};

use crate::config::{Auth, Config, ServerLimits};
use crate::connection::Connection;
use crate::shared::Shared;

/// The frames of a client, all at once; answers go nowhere.
struct Script(Cursor<Vec<u8>>);

impl Read for Script {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        self.0.read(bytes)
    }
}

impl Write for Script {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn frame(header: Header, arguments: &[u8], bulk: &[&[u8]], buffers: &[u64]) -> Vec<u8> {
    let mut bytes = Vec::new();
    Outgoing { header, arguments, bulk, buffers, elements: &[] }.encode(&mut bytes).expect("encoded");
    bytes
}

fn call(kind: FrameKind, code: Operation, sequence: u64) -> Header {
    Header { code: code.number() as u16, ..Header::new(kind, sequence) }
}

/// Good frames of one connection.
fn conversation(name: &str) -> Vec<Vec<u8>> {
    let hello = Hello { version: VERSION, wire_version: wire::VERSION, token: None };
    let begin = Begin::at_one(Id::random(), true);
    let (create, access) = (FileCreate::default(), FileAccess::write());
    let request = OpenRequest::create(&ContainerCreate::new(name, &create, &access));
    let root = Token::from_u64(0);
    let group = OpGroupCreate { place: Some(LinkLocation::new(root, "g")), ..OpGroupCreate::default() };
    let list =
        [wire::to_bytes(&root), wire::to_bytes(&OpList::default())].map(|b| b.expect("bytes")).concat();
    let mut read = 1u32.to_le_bytes().to_vec();
    queued_token(1).put(&mut read).expect("bytes");
    Selection::hyperslab(&[1, 2], &[3, 4], &[2, 2], &[1, 1]).expect("valid").put(&mut read).expect("bytes");
    let mut value = root.0.to_vec();
    "name".to_owned().put(&mut value).expect("bytes");
    let group = wire::to_bytes(&group).expect("bytes");
    let op = OpPlacement { dataset: queued_token(1), selection: Selection::All };
    let lock = Lock { lock: 1, write: true, ops: vec![op] };
    vec![
        frame(Header::new(FrameKind::Hello, 0), &wire::to_bytes(&hello).expect("bytes"), &[], &[]),
        frame(Header::new(FrameKind::Open, 0), &wire::to_bytes(&(begin, request)).expect("bytes"), &[], &[]),
        frame(call(FrameKind::Queued, Operation::group_create, 1), &group, &[], &[]),
        frame(call(FrameKind::Call, Operation::link_list, 2), &list, &[], &[]),
        frame(call(FrameKind::Call, Operation::dataset_read, 3), &read, &[], &[16]),
        frame(call(FrameKind::Call, Operation::attribute_write, 4), &value, &[b"value"], &[]),
        frame(call(FrameKind::Call, Operation::group_create, 5), &group, &[], &[]),
        frame(call(FrameKind::Started, Operation::group_create, 8), &group, &[], &[]),
        frame(call(FrameKind::Call, Operation::commit, 9), &[0], &[], &[]),
        frame(Header::new(FrameKind::Direct, 0), &[], &[], &[]),
        frame(Header::new(FrameKind::Lock, 0), &wire::to_bytes(&lock).expect("bytes"), &[], &[]),
        frame(
            Header::new(FrameKind::Renew, 0),
            &wire::to_bytes(&Renew { lock: 1 }).expect("bytes"),
            &[],
            &[],
        ),
        frame(
            Header::new(FrameKind::Unlock, 0),
            &wire::to_bytes(&Unlock { lock: 1 }).expect("bytes"),
            &[],
            &[],
        ),
        frame(Header::new(FrameKind::Bye, 10), &[], &[], &[]),
    ]
}

/// Small random numbers (xorshift).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, end: usize) -> usize {
        (self.next() % end.max(1) as u64) as usize
    }
}

/// Breaks a frame in one of several ways.
fn mutate(frame: &mut Vec<u8>, random: &mut Random) {
    for _ in 0..=random.below(4) {
        if frame.is_empty() {
            return;
        }
        let at = random.below(frame.len());
        match random.below(6) {
            0 => frame[at] ^= 1 << random.below(8),
            1 => frame[at] = [0, 1, 0x7f, 0x80, 0xff][random.below(5)],
            2 => frame.truncate(at),
            3 => drop(frame.splice(at..at, (0..random.below(40)).map(|_| 0xff))),
            4 => drop(frame.drain(at..(at + random.below(16)).min(frame.len()))),
            // Another operation with the same arguments.
            _ => {
                let code = Operation::ALL[random.below(Operation::ALL.len())];
                if let Some(place) = frame.get_mut(6) {
                    *place = code.number() as u8;
                }
            }
        }
    }
}

/// `HYPERSLAB_FUZZ_FRAMES` and `HYPERSLAB_SEED` say how many and which.
#[test]
fn broken_frames_never_panic_or_hang() {
    let number =
        |name: &str, default: u64| std::env::var(name).ok().and_then(|n| n.parse().ok()).unwrap_or(default);
    let (count, seed) = (number("HYPERSLAB_FUZZ_FRAMES", 100_000), number("HYPERSLAB_SEED", 0x5eed));
    println!("HYPERSLAB_SEED={seed}");
    let mut random = Random(seed | 1);
    let mut shared = fresh();
    let mut answered = 0;
    for number in 0..count {
        let mut frames = conversation(&format!("fuzz{number}"));
        // The first two are left alone most of the time, and one is broken: else nothing behind it is tried.
        let from = if random.below(16) == 0 { 0 } else { 2 };
        let at = from + random.below(frames.len() - from);
        mutate(&mut frames[at], &mut random);
        let stream = Stream::new(Box::new(Script(Cursor::new(frames.concat()))), Duration::from_secs(60));
        Connection::new(&shared, stream, "fuzz".into()).serve();
        assert_eq!(shared.metrics.panics_total.load(Ordering::Relaxed), 0, "frame {number}");
        if number % 4096 == 4095 {
            // What was made so far is forgotten: containers stay in memory.
            answered += shared.metrics.bytes_sent.load(Ordering::Relaxed);
            shared = fresh();
        }
    }
    println!("{answered} bytes of answers");
}

/// Returns a server without containers.
fn fresh() -> Shared {
    let mut storage = Registry::new();
    storage.register(Arc::new(memory::MemoryConnector::new())).expect("memory");
    let stack = Some("memory:".into());
    let limits = ServerLimits { offence_delay_max: Duration::ZERO, ..ServerLimits::default() };
    let config = Config {
        stack,
        direct: true,
        auth: Auth::Off,
        limits,
        ..Config::local(storage, std::env::temp_dir())
    };
    Shared::new(&config, None).expect("a server")
}
