//! The token of a server of this machine: a file that only its user can read, where clients of that user find it.

use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use system::socket::SocketAddr;

use model::{Error, Result};
use system::{private, random};

/// Bytes of such a file that are read.
const FILE_BYTES_MAX: u64 = 4096;
/// Bytes of a token, before they are hexadecimal digits.
const TOKEN_BYTES: usize = 32;

/// Where a server listens, as the name of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TokenPlace(String);

impl TokenPlace {
    /// Returns an address of this machine.
    pub fn tcp(address: SocketAddr) -> Option<Self> {
        // A colon has a meaning of its own in names of Windows.
        let name = || if cfg!(windows) { address.to_string().replace(':', "_") } else { address.to_string() };
        address.ip().is_loopback().then(|| TokenPlace(format!("{}.token", name())))
    }

    /// Returns a socket of this machine.
    pub fn unix(path: &Path) -> Option<Self> {
        let path = std::path::absolute(path).ok()?;
        Some(TokenPlace(format!("{}.token", path.to_str()?.replace('%', "%25").replace('/', "%2f"))))
    }

    fn file(&self) -> Option<PathBuf> {
        folder().map(|folder| folder.join(&self.0))
    }
}

/// `$HYPERSLAB_TOKENS`, or `hyperslab` under the user's runtime folder or configuration folder, which on Windows is
/// `%LOCALAPPDATA%`.
fn folder() -> Option<PathBuf> {
    let named = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    named("HYPERSLAB_TOKENS").or_else(|| {
        let folders =
            if cfg!(windows) { &["LOCALAPPDATA"][..] } else { &["XDG_RUNTIME_DIR", "XDG_CONFIG_HOME"] };
        let given = folders.iter().find_map(|name| named(name));
        Some(given.or_else(|| named("HOME").map(|home| home.join(".config")))?.join("hyperslab"))
    })
}

/// Returns the token of the server at this place, where its file is ours and no other caller can read it.
pub fn find(place: &TokenPlace) -> Option<String> {
    let mut text = String::new();
    private::open_own(&place.file()?).ok()?.take(FILE_BYTES_MAX).read_to_string(&mut text).ok()?;
    Some(text.trim().to_owned())
}

/// The file of a running server's token; removed at the end.
#[derive(Debug)]
pub struct TokenFile {
    path: PathBuf,
    token: String,
}

impl TokenFile {
    /// Creates a token and its file.
    pub fn make(place: &TokenPlace) -> Result<Self> {
        let nowhere = || {
            let error = Error::not_found("find folder for token");
            error.with(
                "problem",
                "none of HYPERSLAB_TOKENS, XDG_RUNTIME_DIR, XDG_CONFIG_HOME, LOCALAPPDATA and HOME is set",
            )
        };
        let path = place.file().ok_or_else(nowhere)?;
        let token = new_token()?;
        let failed = |e: std::io::Error| Error::io("write token file", &e).with("path", path.display());
        if let Some(folder) = path.parent() {
            private::create_dir_all(folder).map_err(failed)?;
        }
        let new = path.with_extension(format!("new-{}", std::process::id()));
        let _ = std::fs::remove_file(&new);
        let written = private::create_new(&new).and_then(|mut file| file.write_all(token.as_bytes()));
        written.and_then(|()| std::fs::rename(&new, &path)).map_err(failed)?;
        Ok(TokenFile { path, token })
    }

    /// Returns what stands in it.
    pub fn token(&self) -> &str {
        &self.token
    }

    /// Returns where it is.
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

fn new_token() -> Result<String> {
    let mut bytes = [0; TOKEN_BYTES];
    random::fill(&mut bytes).map_err(|e| Error::io("create token", &e))?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}
