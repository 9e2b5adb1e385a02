//! The token of a server of this machine: a file that only its user can read, where clients of that user find it.

use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{Read, Write};
use std::net::SocketAddr;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use model::{Error, Result};

/// Bytes of such a file that are read.
const FILE_BYTES_MAX: u64 = 4096;
/// Bytes of a token, before they are hexadecimal digits.
const TOKEN_BYTES: usize = 32;

/// Where a server listens, as the name of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place(String);

impl Place {
    /// An address of this machine.
    pub fn tcp(address: SocketAddr) -> Option<Self> {
        address.ip().is_loopback().then(|| Place(format!("{address}.token")))
    }

    /// A socket of this machine.
    pub fn unix(path: &Path) -> Option<Self> {
        let path = std::path::absolute(path).ok()?;
        Some(Place(format!("{}.token", path.to_str()?.replace('%', "%25").replace('/', "%2f"))))
    }

    fn file(&self) -> Option<PathBuf> {
        folder().map(|folder| folder.join(&self.0))
    }
}

/// `$HYPERSLAB_TOKENS`, or `hyperslab` under the user's runtime folder or configuration folder.
fn folder() -> Option<PathBuf> {
    let named = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    named("HYPERSLAB_TOKENS").or_else(|| {
        let runtime = named("XDG_RUNTIME_DIR").or_else(|| named("XDG_CONFIG_HOME"));
        Some(runtime.or_else(|| named("HOME").map(|home| home.join(".config")))?.join("hyperslab"))
    })
}

/// The token of the server at this place, where its file is ours and nobody else can read it.
pub fn find(place: &Place) -> Option<String> {
    // A link could lead to what somebody else wrote.
    let flags = rustix::fs::OFlags::NOFOLLOW.bits() as i32;
    let file = OpenOptions::new().read(true).custom_flags(flags).open(place.file()?).ok()?;
    let metadata = file.metadata().ok()?;
    let is_ours = metadata.uid() == rustix::process::geteuid().as_raw() && metadata.mode() & 0o077 == 0;
    let mut text = String::new();
    file.take(FILE_BYTES_MAX).read_to_string(&mut text).ok()?;
    (is_ours && metadata.is_file()).then(|| text.trim().to_owned())
}

/// The file of a running server's token; removed at the end.
#[derive(Debug)]
pub struct TokenFile {
    path: PathBuf,
    token: String,
}

impl TokenFile {
    /// Makes a token and its file.
    pub fn make(place: &Place) -> Result<Self> {
        let nowhere = || {
            let error = Error::not_found("find folder for token");
            error
                .with("problem", "none of HYPERSLAB_TOKENS, XDG_RUNTIME_DIR, XDG_CONFIG_HOME and HOME is set")
        };
        let path = place.file().ok_or_else(nowhere)?;
        let token = random()?;
        let failed = |e: std::io::Error| Error::io("write token file", &e).with("path", path.display());
        if let Some(folder) = path.parent() {
            DirBuilder::new().recursive(true).mode(0o700).create(folder).map_err(failed)?;
        }
        let new = path.with_extension(format!("new-{}", std::process::id()));
        let _ = std::fs::remove_file(&new);
        let file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&new);
        let written = file.and_then(|mut file| file.write_all(token.as_bytes()));
        written.and_then(|()| std::fs::rename(&new, &path)).map_err(failed)?;
        Ok(TokenFile { path, token })
    }

    /// What stands in it.
    pub fn token(&self) -> &str {
        &self.token
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for TokenFile {
    fn drop(&mut self) {
        // The next server at this place may have written its own.
        if std::fs::read_to_string(&self.path).is_ok_and(|text| text == self.token) {
            let _ = std::fs::remove_file(&self.path);
        }
    }
}

fn random() -> Result<String> {
    let mut bytes = [0; TOKEN_BYTES];
    let read = File::open("/dev/urandom").and_then(|mut file| file.read_exact(&mut bytes));
    read.map_err(|e| Error::io("make token", &e))?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}
