//! Virtual file drivers across the boundary: asking one of the other side, and answering for one of ours.

use std::io;
use std::sync::Arc;

use files::{
    Created, Driver, DriverInfo, DriverParameters, Drivers, File, Handle, Identity, Lock, Mode, Sync, Target,
};
use model::text::{from_path, to_path};
use model::{Error, Kind, Result};
use protocol::wire::{self, Wire};

use crate::abi::{driver as code, file};
use crate::call::{Message, Reply, broken};
use crate::connector::Source;
use crate::object::{Callee, Remote, lend};
use crate::serve::arguments;

/// Path, parameters, and what the request is about: whether a file may exist, or whether it is opened for writing.
type DriverArguments = (String, (Vec<(String, String)>, bool));

/// A driver of a plugin.
pub(crate) struct ForeignDriver<S> {
    pub(crate) name: &'static str,
    pub(crate) about: &'static str,
    pub(crate) source: S,
}

impl<S: Source> ForeignDriver<S> {
    fn ask(&self, code: u32, target: &Target<'_>, flag: bool) -> io::Result<Reply> {
        let pairs = target.parameters.iter().map(|(key, value)| (key.to_owned(), value.to_owned()));
        let asked: DriverArguments = (from_path(target.path), (pairs.collect(), flag));
        let arguments = wire::to_bytes(&asked).map_err(|error| io_error(&error))?;
        let message = Message { code, arguments: &arguments, ..Message::default() };
        self.source.ask(message).map_err(|error| io_error(&error))
    }
}

fn file_of(reply: Reply) -> io::Result<Handle> {
    Ok(Arc::new(ForeignFile(reply.into_object().map_err(|error| io_error(&error))?)))
}

impl<S: Source> Driver for ForeignDriver<S> {
    /// The plugin itself says which parameters it takes.
    fn info(&self) -> DriverInfo {
        DriverInfo { name: self.name, aliases: &[], about: self.about, parameters: &[] }
    }

    fn check_create(&self, target: &Target<'_>) -> io::Result<()> {
        self.ask(code::CHECK_CREATE, target, true).map(drop)
    }

    fn create(&self, target: &Target<'_>, may_exist: bool) -> io::Result<Created> {
        let reply = self.ask(code::CREATE, target, may_exist)?;
        let is_new = wire::from_bytes(&reply.answer.bytes).map_err(|error| io_error(&error))?;
        Ok(Created { file: file_of(reply)?, is_new })
    }

    fn open(&self, target: &Target<'_>, mode: Mode) -> io::Result<Handle> {
        file_of(self.ask(code::OPEN, target, mode.is_writable())?)
    }

    fn delete(&self, target: &Target<'_>) -> io::Result<()> {
        self.ask(code::DELETE, target, false).map(drop)
    }
}

/// A file of a plugin's driver.
#[derive(Debug)]
struct ForeignFile(Remote);

impl ForeignFile {
    fn ask(&self, message: Message<'_>) -> io::Result<Reply> {
        self.0.call(message).map_err(|error| io_error(&error))
    }

    fn ask_with<A: Wire, R: Wire>(&self, code: u32, value: &A) -> io::Result<R> {
        let arguments = wire::to_bytes(value).map_err(|error| io_error(&error))?;
        let reply = self.ask(Message { code, arguments: &arguments, ..Message::default() })?;
        wire::from_bytes(&reply.answer.bytes).map_err(|error| io_error(&error))
    }
}

impl File for ForeignFile {
    fn len(&self) -> io::Result<u64> {
        self.ask_with(file::LEN, &())
    }

    fn read_at(&self, offset: u64, buf: &mut [u8]) -> io::Result<()> {
        if buf.is_empty() {
            return Ok(());
        }
        let (arguments, into) = (&offset.to_le_bytes(), vec![buf]);
        self.ask(Message { code: file::READ_AT, arguments, into, ..Message::default() }).map(drop)
    }

    fn write_at(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        if data.is_empty() {
            return Ok(());
        }
        let (arguments, bulk) = (&offset.to_le_bytes(), vec![data]);
        self.ask(Message { code: file::WRITE_AT, arguments, bulk, ..Message::default() }).map(drop)
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.ask_with(file::SET_LEN, &len)
    }

    fn sync(&self, sync: Sync) -> io::Result<()> {
        self.ask_with(file::SYNC, &u8::from(sync == Sync::All))
    }

    fn lock(&self, lock: Lock) -> io::Result<()> {
        let number = match lock {
            Lock::Shared => 0u8,
            Lock::Exclusive => 1,
            Lock::Unlock => 2,
        };
        self.ask_with(file::LOCK, &number)
    }

    fn identity(&self) -> Option<Identity> {
        self.ask_with(file::IDENTITY, &()).ok().flatten()
    }
}

/// Returns an error of the other side as drivers have it.
fn io_error(error: &Error) -> io::Error {
    let kind = match error.kind() {
        Kind::NotFound => io::ErrorKind::NotFound,
        Kind::Exists => io::ErrorKind::AlreadyExists,
        Kind::Denied => io::ErrorKind::PermissionDenied,
        Kind::Busy => io::ErrorKind::WouldBlock,
        Kind::Invalid => io::ErrorKind::InvalidInput,
        Kind::Unsupported => io::ErrorKind::Unsupported,
        Kind::Corrupt => io::ErrorKind::UnexpectedEof,
        Kind::Limit => io::ErrorKind::StorageFull,
        _ => io::ErrorKind::Other,
    };
    io::Error::new(kind, error.to_string())
}

/// Returns the error of an I/O error, as the interface carries it.
fn wire_error(error: &io::Error) -> Error {
    let base = match error.kind() {
        io::ErrorKind::WouldBlock => Error::new(Kind::Busy, "use driver"),
        io::ErrorKind::InvalidInput => Error::invalid("use driver"),
        io::ErrorKind::Unsupported => Error::unsupported("use driver"),
        io::ErrorKind::UnexpectedEof => Error::corrupt("use driver"),
        io::ErrorKind::StorageFull => Error::limit("use driver"),
        _ => return Error::io("use driver", error),
    };
    base.with("problem", error)
}

/// Answers for a driver of ours. Drivers that it passes requests on to are those of this build.
pub(crate) fn answer_driver(driver: &dyn Driver, message: &Message<'_>) -> Result<Reply> {
    let (path, (parameters, flag)): DriverArguments = arguments(message)?;
    let parameters: DriverParameters = parameters.into_iter().collect();
    let (path, drivers) = (to_path(&path), Drivers::default());
    let target = Target { path: &path, parameters: &parameters, drivers: &drivers };
    let done = match message.code {
        code::CREATE => driver.create(&target, flag).map(|created| (created.is_new, Some(created.file))),
        code::OPEN => {
            let mode = if flag { Mode::ReadWrite } else { Mode::Read };
            driver.open(&target, mode).map(|file| (false, Some(file)))
        }
        code::DELETE => driver.delete(&target).map(|()| (false, None)),
        code::CHECK_CREATE => driver.check_create(&target).map(|()| (false, None)),
        code => return Err(Error::unsupported("ask driver").with("code", code)),
    };
    let (is_new, file) = done.map_err(|error| wire_error(&error))?;
    let reply = Reply::of(&is_new)?;
    Ok(Reply { object: file.map(|file| lend(LentFile(file))), ..reply })
}

/// A file of ours, for the other side.
struct LentFile(Handle);

impl Callee for LentFile {
    fn answer(&self, mut message: Message<'_>) -> Result<Reply> {
        let file = &*self.0;
        let failed = |error: io::Error| wire_error(&error);
        match (message.code, &mut message.into[..], &message.bulk[..]) {
            (file::LEN, [], []) => return Reply::of(&file.len().map_err(failed)?),
            (file::IDENTITY, [], []) => return Reply::of(&file.identity()),
            (file::READ_AT, [into], []) => {
                let offset = wire::from_bytes(message.arguments)?;
                file.read_at(offset, into).map_err(failed)?;
            }
            (file::WRITE_AT, [], [data]) => file.write_at(arguments(&message)?, data).map_err(failed)?,
            (file::SET_LEN, [], []) => file.set_len(arguments(&message)?).map_err(failed)?,
            (file::SYNC, [], []) => {
                let is_all = arguments::<u8>(&message)? != 0;
                file.sync(if is_all { Sync::All } else { Sync::Data }).map_err(failed)?;
            }
            (file::LOCK, [], []) => file.lock(lock_of(arguments(&message)?)?).map_err(failed)?,
            (code, ..) => return Err(Error::unsupported("ask file").with("code", code)),
        }
        Ok(Reply::default())
    }
}

fn lock_of(number: u8) -> Result<Lock> {
    [Lock::Shared, Lock::Exclusive, Lock::Unlock]
        .get(usize::from(number))
        .copied()
        .ok_or_else(|| broken("unknown kind of lock"))
}
