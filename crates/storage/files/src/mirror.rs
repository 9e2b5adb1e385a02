//! A copy of a file on a server, which is written and never read: the sending side of libhdf5's mirror driver.
//!
//! Every request waits for the server's reply. The protocol has none that makes bytes durable: a sync says that the server has
//! them.

mod protocol;

use std::io::{self, Read, Write};
use std::path::Path;
use std::time::Duration;

use system::socket::Socket;
use system::sync::Mutex;

use self::protocol::{Operation, REPLY_BYTES, Session};
use crate::{File, Lock, Mode, Sync, write_end};

/// The port of libhdf5's server.
pub const MIRROR_PORT_DEFAULT: u16 = 3000;

/// Where the server is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MirrorOptions {
    /// Name or address of the server.
    pub host: String,
    /// The port on which it waits.
    pub port: u16,
    /// How long a reply may take.
    pub timeout: Duration,
}

/// A file that a server writes. Reads are `Unsupported`.
#[derive(Debug)]
pub struct Mirror {
    /// Of the process that opened it.
    generation: u32,
    connection: Mutex<Connection>,
}

#[derive(Debug)]
struct Connection {
    stream: Socket,
    session: Session,
    /// The end of addresses that the server knows: writes past it are refused.
    end: u64,
    /// The first error: what the server has is not known from then on.
    failed: Option<(io::ErrorKind, String)>,
}

impl Mirror {
    /// Opens the file at a path of the server, or creates it.
    ///
    /// # Errors
    /// Returns the error of the connection, and what the server says.
    pub fn open(path: &Path, mode: Mode, options: &MirrorOptions) -> io::Result<Self> {
        let name = path.to_str().ok_or_else(|| protocol::invalid("the server needs a path in UTF-8"))?;
        let stream = Socket::connect(&options.host, options.port, options.timeout)?;
        stream.set_patience(options.timeout)?;
        let session =
            Session::new(u32::from_be_bytes(*system::random::unique().first_chunk().unwrap_or(&[1; 4])));
        let mut connection = Connection { stream, session, end: 0, failed: None };
        connection.ask(Operation::Open { name, mode }, &[])?;
        Ok(Mirror { generation: system::process::generation(), connection: Mutex::new(connection) })
    }

    fn ask(&self, operation: Operation<'_>) -> io::Result<()> {
        self.connection.lock().ask(operation, &[])
    }
}

impl Connection {
    /// Sends a request, then `data` if there is any, and waits for the reply to each.
    fn ask(&mut self, operation: Operation<'_>, data: &[u8]) -> io::Result<()> {
        if let Some((kind, problem)) = &self.failed {
            return Err(io::Error::new(*kind, format!("the server is lost: {problem}")));
        }
        let asked = self.exchange(operation, data);
        if let Err(error) = &asked {
            self.failed = Some((error.kind(), error.to_string()));
        }
        asked
    }

    fn exchange(&mut self, operation: Operation<'_>, data: &[u8]) -> io::Result<()> {
        self.stream.write_all(&self.session.request(operation)?)?;
        self.reply()?;
        if !data.is_empty() {
            self.stream.write_all(data)?;
            self.reply()?;
        }
        Ok(())
    }

    fn reply(&mut self) -> io::Result<()> {
        let mut bytes = [0; REPLY_BYTES];
        self.stream.read_exact(&mut bytes)?;
        self.session.check_reply(&bytes)
    }

    fn extend(&mut self, end: u64) -> io::Result<()> {
        if end > self.end {
            self.ask(Operation::SetEnd(end), &[])?;
            self.end = end;
        }
        Ok(())
    }
}

impl File for Mirror {
    /// As far as this writer knows.
    fn len(&self) -> io::Result<u64> {
        Ok(self.connection.lock().end)
    }

    fn read_at(&self, _offset: u64, buf: &mut [u8]) -> io::Result<()> {
        match buf.is_empty() {
            true => Ok(()),
            false => Err(io::Error::new(io::ErrorKind::Unsupported, "a copy on a server is written only")),
        }
    }

    fn write_at(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        if data.is_empty() {
            return Ok(());
        }
        let end = write_end(offset, data.len())?;
        let mut connection = self.connection.lock();
        connection.extend(end)?;
        connection.ask(Operation::Write { offset, bytes: data.len() as u64 }, data)
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        let mut connection = self.connection.lock();
        connection.ask(Operation::SetEnd(len), &[])?;
        connection.end = len;
        connection.ask(Operation::Truncate, &[])
    }

    /// Every request has been answered.
    fn sync(&self, _sync: Sync) -> io::Result<()> {
        match &self.connection.lock().failed {
            Some((kind, problem)) => Err(io::Error::new(*kind, problem.clone())),
            None => Ok(()),
        }
    }

    fn lock(&self, lock: Lock) -> io::Result<()> {
        self.ask(match lock {
            Lock::Unlock => Operation::Unlock,
            Lock::Shared => Operation::Lock { is_exclusive: false },
            Lock::Exclusive => Operation::Lock { is_exclusive: true },
        })
    }
}

impl Drop for Mirror {
    /// An error here has nowhere to go; call `sync` first to see those before.
    fn drop(&mut self) {
        // A child process leaves the connection of its parent alone.
        if self.generation == system::process::generation() {
            let _ = self.ask(Operation::Close);
        }
    }
}

#[cfg(test)]
#[path = "mirror/tests.rs"]
mod tests;
