//! Everything that a client can ask for, and who may: the table in `docs/serve.md`, asserted against a server.

use std::fmt::Write as _;
use std::net::SocketAddr;

use crate::common::Folder;
use crate::common::raw::{Call, Raw};
use hyperslab_server::{Auth, Config, Listen, Rights, Server, ServerLimits};
use model::properties::FileCreate;
use model::{Kind, Result};
use protocol::frame::FrameKind;
use protocol::wire::{self, OpenRequest, Wire};
use protocol::{Attach, Begin, Id, Lock};
use vol::{Access, ContainerCreate, FileAccess, Operation};

const RIGHTS: &str = "\
    reader readreadreadread read runs\n\
    other otherotherother1 write others\n\
    writer writewritewrite1 write runs\n";

/// Who asks; the columns of the table.
const WHO: [(&str, Option<&str>); 4] = [
    ("no token", None),
    ("read token", Some("readreadreadread")),
    ("write token for another container", Some("otherotherother1")),
    ("write token", Some("writewritewrite1")),
];

/// Optional operations that change something; any that is not known counts as one.
fn server(folder: &Folder) -> (Server, SocketAddr) {
    for name in ["runs", "others"] {
        std::fs::create_dir(folder.path().join(name)).unwrap();
    }
    let auth = Auth::Tokens(Rights::parse(RIGHTS).unwrap());
    // Most of what is asked here is refused.
    let limits = ServerLimits { offence_delay_max: std::time::Duration::ZERO, ..ServerLimits::default() };
    let config =
        Config { auth, limits, direct: true, ..Config::local(crate::common::storage(), folder.path()) };
    let server = Server::start(&config).unwrap();
    let Listen::Tcp(address) = *server.listen() else { panic!("not TCP") };
    (server, address)
}

/// A container that is made and not open any more.
fn make(address: SocketAddr, name: &str) -> Result<()> {
    let mut writer = Raw::connect(address).unwrap();
    writer.hello(WHO[3].1)?;
    create(&mut writer, name)?;
    writer.call(Operation::close, Call::default()).map(drop)
}

fn create(client: &mut Raw, name: &str) -> Result<()> {
    let (create, access) = (FileCreate::default(), FileAccess::write());
    let opening = OpenRequest::create(&ContainerCreate {
        truncate: true,
        ..ContainerCreate::new(name, &create, &access)
    });
    client.ask(FrameKind::Open, &(Begin::at_one(Id::random(), false), opening)).map(drop)
}

/// Whether it was allowed: whatever else went wrong came later.
fn is_allowed(outcome: Result<()>) -> bool {
    outcome
        .err()
        .is_none_or(|error| error.root_cause().kind() != Kind::Denied && error.kind() != Kind::Denied)
}

/// A connection that has the container open as far as its token lets it.
fn opened(address: SocketAddr, token: Option<&str>) -> Result<Raw> {
    let mut client = Raw::connect(address).unwrap();
    client.hello(token)?;
    let written = client.open("runs/a.h5", &FileAccess::write(), false);
    match written {
        Err(error) if error.root_cause().kind() == Kind::Denied => {
            client.open("runs/a.h5", &FileAccess::read(), false)?;
        }
        written => drop(written.expect("the container opens")),
    }
    Ok(client)
}

type Ask = Box<dyn Fn(SocketAddr, Option<&str>) -> Result<()>>;

/// A request that is not an operation of a container.
fn request(ask: impl Fn(&mut Raw) -> Result<()> + 'static) -> Ask {
    Box::new(move |address, token| {
        let mut client = Raw::connect(address).unwrap();
        client.hello(token)?;
        let asked = ask(&mut client);
        client.bye();
        asked
    })
}

fn in_session(ask: impl Fn(&mut Raw) -> Result<()> + 'static) -> Ask {
    Box::new(move |address, token| {
        let mut client = opened(address, token)?;
        let asked = ask(&mut client);
        client.bye();
        asked
    })
}

fn optional(name: &'static str) -> Ask {
    in_session(move |client| {
        let mut text = Vec::new();
        name.to_owned().put(&mut text)?;
        client.call(Operation::optional, Call { arguments: &text, bulk: &[&[]], buffers: &[] }).map(drop)
    })
}

fn lock(write: bool) -> Ask {
    in_session(move |client| client.ask(FrameKind::Lock, &Lock { lock: 1, write, ops: Vec::new() }).map(drop))
}

/// All requests: their names, the right that they need on the container, and how to ask.
fn requests(session: Id) -> Vec<(String, Access, Ask)> {
    let name = || "runs/a.h5".to_owned();
    let mut all: Vec<(String, Access, Ask)> = vec![
        (
            "*open to read*".into(),
            Access::Read,
            request(|client| client.open("runs/a.h5", &FileAccess::read(), false).map(drop)),
        ),
        (
            "*open to write*".into(),
            Access::Write,
            request(|client| client.open("runs/a.h5", &FileAccess::write(), false).map(drop)),
        ),
        ("*create*".into(), Access::Write, request(|client| create(client, "runs/new.h5"))),
        (
            "*delete*".into(),
            Access::Write,
            request(|client| client.ask(FrameKind::Delete, &"runs/gone.h5".to_owned()).map(drop)),
        ),
        (
            "*ask whether it is there*".into(),
            Access::Read,
            request(move |client| client.ask(FrameKind::Accessible, &name()).map(drop)),
        ),
        ("*lock elements to read*".into(), Access::Read, lock(false)),
        ("*lock elements to write*".into(), Access::Write, lock(true)),
    ];
    all.extend(Operation::ALL.iter().filter(|code| **code != Operation::optional).map(|&code| {
        let ask = in_session(move |client| client.call(code, Call::default()).map(drop));
        (format!("`{}`", code.name()), code.access(), ask)
    }));
    let registry = crate::common::storage();
    let known = registry.extensions().map(|known| known.name);
    for name in known.chain(["any other name"]) {
        all.push((format!("`optional` {name}"), registry.extension_access(name), optional(name)));
    }
    // A session belongs to who began it, whatever others may do.
    all.push((
        "*go on with the session of another token*".into(),
        Access::Write,
        request(move |client| match client.ask(FrameKind::Attach, &Attach { session }) {
            Err(error) if error.kind() == Kind::NotFound => Err(model::Error::denied("attach")),
            answered => answered.map(drop),
        }),
    ));
    all
}

/// What the table says of one who has this right on the container.
fn expected(needs: Access, column: usize, is_attach: bool) -> bool {
    !is_attach
        && match column {
            1 => needs == Access::Read,
            3 => true,
            _ => false,
        }
}

fn row(name: &str, allowed: [bool; 4]) -> String {
    let cells = allowed.map(|allowed| if allowed { "yes" } else { "–" });
    format!("| {name} | {} |\n", cells.join(" | "))
}

#[test]
fn every_request_asks_for_its_right() {
    let folder = Folder::new("server");
    let (_server, address) = server(&folder);
    make(address, "runs/a.h5").unwrap();
    let mut somebody = Raw::connect(address).unwrap();
    somebody.hello(WHO[2].1).unwrap();
    create(&mut somebody, "others/b.h5").unwrap();
    let session = somebody.open("others/b.h5", &FileAccess::read(), false).unwrap();
    let mut table =
        format!("| request | {} |\n|---|---|---|---|---|\n", WHO.map(|(name, _)| name).join(" | "));
    for (name, needs, ask) in requests(session) {
        let is_attach = name.contains("another token");
        let mut allowed = [false; 4];
        for (column, (who, token)) in WHO.iter().enumerate() {
            // Its owner goes on with a session; the table is about the others.
            if is_attach && column == 2 {
                continue;
            }
            if name == "*delete*" {
                make(address, "runs/gone.h5").unwrap();
            }
            allowed[column] = is_allowed(ask(address, *token));
            assert_eq!(allowed[column], expected(needs, column, is_attach), "{name} with {who}");
        }
        let _ = write!(table, "{}", row(&name, allowed));
    }
    check_document(&table);
}

/// The table in the document is this one; `HYPERSLAB_WRITE_DOCS=1` writes it there.
fn check_document(table: &str) {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/serve.md");
    let text = std::fs::read_to_string(path).unwrap();
    let (begin, end) = ("<!-- rights: begin -->\n", "<!-- rights: end -->");
    let start = text.find(begin).expect("the table's begin") + begin.len();
    let stop = text.find(end).expect("the table's end");
    if std::env::var_os("HYPERSLAB_WRITE_DOCS").is_some() {
        std::fs::write(path, format!("{}{table}{}", &text[..start], &text[stop..])).unwrap();
        return;
    }
    assert!(
        text[start..stop] == *table,
        "docs/serve.md is out of date: run with HYPERSLAB_WRITE_DOCS=1\n{table}"
    );
}

#[test]
fn the_wire_of_an_operation_does_not_matter_for_its_right() {
    let folder = Folder::new("server");
    let (_server, address) = server(&folder);
    make(address, "runs/a.h5").unwrap();
    let mut reader = opened(address, WHO[1].1).unwrap();
    let bytes = wire::to_bytes(&vol::Durability::Full).unwrap();
    for arguments in [&bytes[..], &[0xff; 100], b""] {
        let call = Call { arguments, ..Call::default() };
        assert_eq!(reader.call(Operation::commit, call).unwrap_err().kind(), Kind::Denied);
    }
}
