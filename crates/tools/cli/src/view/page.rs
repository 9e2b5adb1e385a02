//! `hyperslab view`: a page in the browser, served on this machine only.

use std::net::{Ipv4Addr, SocketAddr};
use std::process::{Command, Stdio};
use std::sync::mpsc;

use http_bridge::{Config, Server};
use hyperslab::vol::FileAccess;
use hyperslab::{Error, FolderResolver, Result};

use crate::open::{folder_of, open_live};
use crate::settings::{layered, registry};

/// Serves a container until a signal comes.
pub(crate) fn show(location: &str, port: u16, opens_browser: bool) -> Result<()> {
    // A location that does not open is an error now, not one on the page.
    let (_, access) = open_live(location, access(location))?;
    let (stop, stopped) = mpsc::channel();
    let handler = ctrlc::set_handler(move || {
        // Who stops already needs no second signal.
        let _ = stop.send(());
    });
    handler.map_err(|e| Error::invalid("wait for signals").with("problem", e))?;
    let listen = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    let server = Server::start(&Config { listen, access, ..Config::view(registry().clone(), location) })?;
    println!("{}", server.url());
    if opens_browser {
        open_browser(&server.url());
    }
    // A signal, or no one who could send one.
    let _ = stopped.recv();
    server.stop();
    Ok(())
}

/// Returns how the container is opened: with the user's layers, and files that it refers to from its own folder only.
fn access(location: &str) -> FileAccess {
    let access = layered(FileAccess::read());
    match FolderResolver::metered(folder_of(location), registry().clone(), None) {
        Ok(resolver) => access.with_resolver(resolver),
        Err(_) => access,
    }
}

/// Opens the address in a browser. Where there is none, its user has the address.
fn open_browser(url: &str) {
    let (program, words): (&str, &[&str]) = match std::env::consts::OS {
        "macos" => ("open", &[]),
        "windows" => ("rundll32", &["url.dll,FileProtocolHandler"]),
        _ => ("xdg-open", &[]),
    };
    let mut command = Command::new(program);
    command.args(words).arg(url).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let _ = command.spawn();
}
