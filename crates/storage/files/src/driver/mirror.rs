//! A copy on a server.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use super::{Created, Driver, DriverInfo, Target};
use crate::mirror::{MIRROR_PORT_DEFAULT, Mirror, MirrorOptions};
use crate::{Handle, Mode};

/// How long a reply may take when the caller does not say.
const TIMEOUT_MS_DEFAULT: u64 = 30_000;

/// A file that a server writes, as libhdf5's mirror driver has it: for the copy of a splitter, as it cannot be read.
#[derive(Debug, Clone, Copy, Default)]
pub struct MirrorDriver;

impl MirrorDriver {
    fn options(&self, target: &Target<'_>) -> io::Result<MirrorOptions> {
        target.parameters.only(&self.info())?;
        let parameters = target.parameters;
        let port = match parameters.number("port")? {
            None => MIRROR_PORT_DEFAULT,
            Some(port) => u16::try_from(port).map_err(|_| {
                io::Error::new(io::ErrorKind::InvalidInput, format!("there is no port {port}"))
            })?,
        };
        Ok(MirrorOptions {
            host: parameters.get("host").unwrap_or("127.0.0.1").to_owned(),
            port,
            timeout: Duration::from_millis(
                parameters.number("timeout_ms")?.unwrap_or(TIMEOUT_MS_DEFAULT).max(1),
            ),
        })
    }
}

impl Driver for MirrorDriver {
    fn info(&self) -> DriverInfo {
        DriverInfo {
            name: "mirror",
            aliases: &[],
            about: "a copy on a server, written only: for the splitter driver",
            parameters: &[
                ("host", "name or address of the server (default: 127.0.0.1)"),
                ("port", "the port on which it waits (default: 3000)"),
                ("timeout_ms", "how long a reply may take (default: 30000)"),
            ],
        }
    }

    /// What is at the path is known to the server only.
    fn create(&self, target: &Target<'_>, may_exist: bool) -> io::Result<Created> {
        let mode = if may_exist { Mode::Create } else { Mode::CreateNew };
        let file = Arc::new(Mirror::open(target.path, mode, &self.options(target)?)?);
        Ok(Created { file, is_new: !may_exist })
    }

    fn open(&self, target: &Target<'_>, mode: Mode) -> io::Result<Handle> {
        Ok(Arc::new(Mirror::open(target.path, mode, &self.options(target)?)?))
    }

    fn delete(&self, target: &Target<'_>) -> io::Result<()> {
        self.options(target)?;
        Err(io::Error::new(io::ErrorKind::Unsupported, "a copy on a server cannot be deleted from here"))
    }
}
