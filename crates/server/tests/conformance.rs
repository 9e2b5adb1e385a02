//! The conformance suite through a server: over memory, HDF5 files, object stores and key-value stores, arrays and blobs;
//! over TCP and over a socket of this machine, and with elements that clients read and write in the file themselves.

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

/// Through the layer, whose operations are started.
fn asynchronous() -> Result<Subject> {
    Ok(memory()?.with_access(vol::FileAccess::write().with_stack("async")))
}

fn asynchronous_native() -> Result<Subject> {
    Ok(native()?.with_access(vol::FileAccess::write().with_stack("async")))
}

fn native() -> Result<Subject> {
    let folder = Folder::new("server");
    let config = Config::local(common::storage(), folder.path());
    subject("remote-native", &config, Some(folder))
}

/// Containers that a connector keeps in folders.
fn in_folders(name: &str, stack: &str) -> Result<Subject> {
    let folder = Folder::new("server");
    let stack = Some(stack.to_owned());
    let config = Config { stack, ..Config::local(common::storage(), folder.path()) };
    subject(name, &config, Some(folder))
}

fn object() -> Result<Subject> {
    in_folders("remote-object", "object:")
}

fn iod() -> Result<Subject> {
    in_folders("remote-iod", "iod:")
}

fn socket() -> Result<Subject> {
    let folder = Folder::new("server");
    let listen = Listen::Unix(folder.path().join("socket"));
    let config = Config { listen, ..Config::local(common::storage(), folder.path()) };
    subject("remote-unix-native", &config, Some(folder))
}

/// The metadata server: elements pass by it.
fn direct() -> Result<Subject> {
    let folder = Folder::new("server");
    let config = Config { direct: true, ..Config::local(common::storage(), folder.path()) };
    let server = Server::start(&config)?;
    let location = server.direct_location("");
    let subject = Subject::new("direct-native", common::clients(), move |name| format!("{location}{name}"));
    Ok(subject.keeping((server, folder)))
}

fn direct_socket() -> Result<Subject> {
    let folder = Folder::new("server");
    let listen = Listen::Unix(folder.path().join("socket"));
    let config = Config { listen, direct: true, ..Config::local(common::storage(), folder.path()) };
    let server = Server::start(&config)?;
    let location = server.direct_location("");
    let subject =
        Subject::new("direct-unix-native", common::clients(), move |name| format!("{location}{name}"));
    Ok(subject.keeping((server, folder)))
}

/// Through one of two nodes in front of one store.
fn nodes() -> Result<Subject> {
    let storage = common::shared_storage();
    let servers = [Server::start(&common::node(&storage))?, Server::start(&common::node(&storage))?];
    let location = common::location_of(&[&servers[0], &servers[1]], "");
    let subject = Subject::new("nodes-object", common::clients(), move |name| format!("{location}{name}"));
    Ok(subject.keeping(servers))
}

fn main() {
    let arguments = libtest_mimic::Arguments::from_args();
    let mut trials = conformance::trials("remote-memory", memory);
    trials.extend(conformance::trials("remote-native", native));
    trials.extend(conformance::trials("remote-object", object));
    trials.extend(conformance::trials("remote-unix-native", socket));
    trials.extend(conformance::trials("remote-iod", iod));
    trials.extend(conformance::trials("direct-native", direct));
    trials.extend(conformance::trials("direct-unix-native", direct_socket));
    trials.extend(conformance::trials("async-remote-memory", asynchronous));
    trials.extend(conformance::trials("async-remote-native", asynchronous_native));
    trials.extend(conformance::trials("nodes-object", nodes));
    libtest_mimic::run(&arguments, trials).exit();
}
