//! The conformance suite through a server: over memory, over HDF5 files and over objects, over TCP and over a socket of this machine,
//! and with elements that clients read and write in the file themselves.

mod common;

use common::Folder;
use hyperslab_server::{Config, Listen, Server};
use testkit::{Subject, conformance};
use vol::Result;

fn subject(name: &str, config: &Config, kept: Option<Folder>) -> Result<Subject> {
    let server = Server::start(config)?;
    let location = server.location("");
    let subject = Subject::new(name, common::clients(), move |name| format!("{location}{name}"));
    Ok(subject.keeping((server, kept)))
}

fn memory() -> Result<Subject> {
    subject("remote-memory", &common::in_memory(), None)
}

fn native() -> Result<Subject> {
    let folder = Folder::new();
    let config = Config::local(common::storage(), folder.path());
    subject("remote-native", &config, Some(folder))
}

fn object() -> Result<Subject> {
    let folder = Folder::new();
    let config = Config { stack: Some("object:".into()), ..Config::local(common::storage(), folder.path()) };
    subject("remote-object", &config, Some(folder))
}

fn socket() -> Result<Subject> {
    let folder = Folder::new();
    let listen = Listen::Unix(folder.path().join("socket"));
    let config = Config { listen, ..Config::local(common::storage(), folder.path()) };
    subject("remote-unix-native", &config, Some(folder))
}

/// The metadata server: elements pass by it.
fn direct() -> Result<Subject> {
    let folder = Folder::new();
    let config = Config { direct: true, ..Config::local(common::storage(), folder.path()) };
    let server = Server::start(&config)?;
    let location = server.direct_location("");
    let subject = Subject::new("direct-native", common::clients(), move |name| format!("{location}{name}"));
    Ok(subject.keeping((server, folder)))
}

fn direct_socket() -> Result<Subject> {
    let folder = Folder::new();
    let listen = Listen::Unix(folder.path().join("socket"));
    let config = Config { listen, direct: true, ..Config::local(common::storage(), folder.path()) };
    let server = Server::start(&config)?;
    let location = server.direct_location("");
    let subject =
        Subject::new("direct-unix-native", common::clients(), move |name| format!("{location}{name}"));
    Ok(subject.keeping((server, folder)))
}

fn main() {
    let arguments = libtest_mimic::Arguments::from_args();
    let mut trials = conformance::trials("remote-memory", memory);
    trials.extend(conformance::trials("remote-native", native));
    trials.extend(conformance::trials("remote-object", object));
    trials.extend(conformance::trials("remote-unix-native", socket));
    trials.extend(conformance::trials("direct-native", direct));
    trials.extend(conformance::trials("direct-unix-native", direct_socket));
    libtest_mimic::run(&arguments, trials).exit();
}
