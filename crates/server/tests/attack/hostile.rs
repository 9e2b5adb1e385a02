//! What hostile clients do, each kind again and again.

use std::io::Write;
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use model::{Result, Selection, Token};
use protocol::frame::{FrameKind, Header};
use protocol::wire::Wire;
use protocol::{Attach, Id};
use vol::{FileAccess, Operation};

use crate::common::raw::{Call, Raw};
use crate::process::{READER_TOKEN, WRITER_TOKEN};

/// How often an id is repeated.
const REPEATS: usize = 200_000;

#[derive(Clone)]
struct Target {
    server: SocketAddr,
    http: SocketAddr,
    id: Vec<u8>,
}

/// One attempt; how it ends is the server's business.
type Attack = fn(&Target) -> Result<()>;

/// All kinds, and how many clients do each at the same time. `HYPERSLAB_ATTACK_KINDS` names some of them.
const ATTACKS: [(&str, Attack, usize); 11] = [
    ("silence", silence, 300),
    ("wrong_token", wrong_token, 2),
    ("repeated_value", repeated_value, 2),
    ("large_cache", large_cache, 2),
    ("queued_frames", queued_frames, 12),
    ("unread_elements", unread_elements, 8),
    ("unread_answers", unread_answers, 4),
    ("slow_frame", slow_frame, 8),
    ("broken_frames", broken_frames, 2),
    ("slow_http", slow_http, 40),
    ("handles", handles, 2),
];

pub(crate) fn attack(server: SocketAddr, http: SocketAddr, id: Vec<u8>) {
    let target = Target { server, http, id };
    let kinds = std::env::var("HYPERSLAB_ATTACK_KINDS").ok();
    let is_wanted = |name: &str| kinds.as_ref().is_none_or(|kinds| kinds.split(',').any(|kind| kind == name));
    std::thread::scope(|scope| {
        for (_, attack, count) in ATTACKS.into_iter().filter(|(name, ..)| is_wanted(name)) {
            for number in 0..count {
                let target = &target;
                let thread = std::thread::Builder::new().stack_size(256 << 10);
                let run = move || loop {
                    let _ = attack(target);
                    std::thread::sleep(Duration::from_millis(100 + 7 * number as u64 % 400));
                };
                let _ = thread.spawn_scoped(scope, run);
            }
        }
    });
}

fn connect(target: &Target, token: &str) -> Result<Raw> {
    let mut client = stranger(target)?;
    client.hello(Some(token))?;
    Ok(client)
}

fn stranger(target: &Target) -> Result<Raw> {
    Raw::connect(target.server).map_err(|e| model::Error::io("connect", &e))
}

fn reader(target: &Target) -> Result<Raw> {
    let mut client = connect(target, READER_TOKEN)?;
    client.open("shared/bomb.h5", &FileAccess::read(), false)?;
    Ok(client)
}

fn pause(seconds: u64) {
    std::thread::sleep(Duration::from_secs(seconds));
}

/// Connects and says nothing.
fn silence(target: &Target) -> Result<()> {
    let mut client = stranger(target)?;
    client.receive().map(drop)
}

fn wrong_token(target: &Target) -> Result<()> {
    stranger(target)?.hello(Some("a token that nobody has"))
}

/// One value of 1 MiB, 200,000 times.
fn repeated_value(target: &Target) -> Result<()> {
    let mut client = reader(target)?;
    let ids = vec![&target.id[..]; REPEATS];
    let arguments = (REPEATS as u32).to_le_bytes();
    client.call(Operation::blob_get, Call { arguments: &arguments, bulk: &ids, buffers: &[] })?;
    Ok(())
}

/// A chunk cache of 1 TiB.
fn large_cache(target: &Target) -> Result<()> {
    let mut client = reader(target)?;
    let arguments = [&[0; 16][..], &(1u64 << 40).to_le_bytes()].concat();
    client.call(Operation::chunk_cache_set, Call { arguments: &arguments, bulk: &[], buffers: &[] })?;
    Ok(())
}

/// Values that no one waits for, over several connections of a session.
fn queued_frames(target: &Target) -> Result<()> {
    let mut first = connect(target, WRITER_TOKEN)?;
    let session: Id = first.open("hostile/queue.h5", &FileAccess::write(), true)?;
    let mut second = connect(target, WRITER_TOKEN)?;
    second.ask(FrameKind::Attach, &Attach { session })?;
    let value = vec![1; 24 << 20];
    for sequence in 0..4 {
        for client in [&mut first, &mut second] {
            let mut arguments = Token([0; 16]).0.to_vec();
            "name".to_owned().put(&mut arguments)?;
            let call = Call { arguments: &arguments, bulk: &[&value], buffers: &[] };
            client.queue(Operation::attribute_write, 1 << 20 | sequence, call)?;
        }
    }
    Ok(())
}

/// Elements that are asked for and not read.
fn unread_elements(target: &Target) -> Result<()> {
    let mut client = reader(target)?;
    let mut arguments = 1u32.to_le_bytes().to_vec();
    Token([0; 16]).put(&mut arguments)?;
    Selection::All.put(&mut arguments)?;
    client.post(Operation::dataset_read, Call { arguments: &arguments, bulk: &[], buffers: &[48 << 20] })?;
    let ids = vec![&target.id[..]; 40];
    let arguments = 40u32.to_le_bytes();
    client.post(Operation::blob_get, Call { arguments: &arguments, bulk: &ids, buffers: &[] })?;
    pause(3);
    Ok(())
}

/// Answers that the server keeps, because no one says that they came.
fn unread_answers(target: &Target) -> Result<()> {
    let mut client = connect(target, WRITER_TOKEN)?;
    client.open("hostile/queue.h5", &FileAccess::write(), false)?;
    let values = vec![&b""[..]; 100_000];
    let arguments = (values.len() as u32).to_le_bytes();
    for _ in 0..400 {
        client.post(Operation::blob_put, Call { arguments: &arguments, bulk: &values, buffers: &[] })?;
    }
    pause(3);
    Ok(())
}

/// A frame that claims much and comes a byte at a time.
fn slow_frame(target: &Target) -> Result<()> {
    let mut client = reader(target)?;
    let mut bytes = Vec::new();
    let header = Header { code: Operation::blob_get.number() as u16, ..Header::new(FrameKind::Call, 1) };
    protocol::frame::Outgoing { header, arguments: &[0; 1000], bulk: &[], buffers: &[], elements: &[] }
        .encode(&mut bytes)
        .map_err(|e| model::Error::io("encode", &e))?;
    bytes[24..28].copy_from_slice(&(16u32 << 20).to_le_bytes());
    bytes[28..32].copy_from_slice(&(1u32 << 20).to_le_bytes());
    for byte in bytes {
        client.send_bytes(&[byte])?;
        std::thread::sleep(Duration::from_millis(50));
    }
    Ok(())
}

fn broken_frames(target: &Target) -> Result<()> {
    let mut client = reader(target)?;
    client.send_bytes(&[0xff; 4096])?;
    client.receive().map(drop)
}

/// A request of `/healthz` that does not end.
fn slow_http(target: &Target) -> Result<()> {
    let failed = |e: std::io::Error| model::Error::io("connect", &e);
    let mut stream = TcpStream::connect(target.http).map_err(failed)?;
    for byte in b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n" {
        stream.write_all(&[*byte]).map_err(failed)?;
        std::thread::sleep(Duration::from_millis(500));
    }
    Ok(())
}

/// Pins without end, and sessions that no one closes.
fn handles(target: &Target) -> Result<()> {
    let mut client = reader(target)?;
    for pin in 0u64..20_000 {
        client.call(Operation::blob_pin, Call { arguments: &pin.to_le_bytes(), ..Call::default() })?;
    }
    Ok(())
}
