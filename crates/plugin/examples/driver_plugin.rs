//! A driver of Rust: a file whose bytes are stored with a key added to each, which other programs cannot read.

use std::io;
use std::sync::Arc;

use files::{Created, Driver, DriverInfo, File, Handle, Identity, Lock, Mode, PosixDriver, Sync, Target};

struct ScrambledDriver;

impl Driver for ScrambledDriver {
    fn info(&self) -> DriverInfo {
        let parameters = &[("key", "what is added to each byte (default: 1)")];
        DriverInfo { name: "scrambled", aliases: &[], about: "bytes with a key added", parameters }
    }

    fn check_create(&self, target: &Target<'_>) -> io::Result<()> {
        target.parameters.only(&self.info())?;
        key(target).map(drop)
    }

    fn create(&self, target: &Target<'_>, may_exist: bool) -> io::Result<Created> {
        self.check_create(target)?;
        let Created { file, is_new } = PosixDriver.create(&plain(target), may_exist)?;
        Ok(Created { file: Arc::new(Scrambled { file, key: key(target)? }), is_new })
    }

    fn open(&self, target: &Target<'_>, mode: Mode) -> io::Result<Handle> {
        let file = PosixDriver.open(&plain(target), mode)?;
        Ok(Arc::new(Scrambled { file, key: key(target)? }))
    }

    fn delete(&self, target: &Target<'_>) -> io::Result<()> {
        PosixDriver.delete(&plain(target))
    }
}

fn key(target: &Target<'_>) -> io::Result<u8> {
    let wrong = || io::Error::new(io::ErrorKind::InvalidInput, "the key is a number below 256");
    target.parameters.number("key")?.map_or(Ok(1), |key| u8::try_from(key).map_err(|_| wrong()))
}

/// Returns the same path without parameters, for the driver of the file itself.
fn plain<'a>(target: &Target<'a>) -> Target<'a> {
    static NONE: std::sync::LazyLock<files::DriverParameters> = std::sync::LazyLock::new(Default::default);
    Target { parameters: &NONE, ..*target }
}

#[derive(Debug)]
struct Scrambled {
    file: Handle,
    key: u8,
}

impl File for Scrambled {
    fn len(&self) -> io::Result<u64> {
        self.file.len()
    }

    fn read_at(&self, offset: u64, buf: &mut [u8]) -> io::Result<()> {
        self.file.read_at(offset, buf)?;
        buf.iter_mut().for_each(|byte| *byte = byte.wrapping_sub(self.key));
        Ok(())
    }

    fn write_at(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        let end = self.file.len()?;
        if offset > end && !data.is_empty() {
            // A hole reads as zeros, which are stored as anything else.
            self.set_len(offset)?;
        }
        let stored: Vec<u8> = data.iter().map(|byte| byte.wrapping_add(self.key)).collect();
        self.file.write_at(offset, &stored)
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        let end = self.file.len()?;
        self.file.set_len(len)?;
        match len.checked_sub(end) {
            Some(grown) if grown > 0 => self.file.write_at(end, &vec![self.key; grown as usize]),
            _ => Ok(()),
        }
    }

    fn sync(&self, sync: Sync) -> io::Result<()> {
        self.file.sync(sync)
    }

    fn lock(&self, lock: Lock) -> io::Result<()> {
        self.file.lock(lock)
    }

    fn identity(&self) -> Option<Identity> {
        self.file.identity()
    }
}

hyperslab_plugin::export_driver!(ScrambledDriver);
