//! A file that we see as the server does: its elements are read and written here, under locks that the server gives.

use std::collections::HashSet;
use std::fs::File;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use system::clock::Instant;

use model::{Error, Kind, Result, Token};
use protocol::{Lock, MARK_PREFIX, Whereabouts};
use system::sync::Mutex;
use vol::{OpPlacement, Placement};

use crate::session::Session;

/// Datasets that are remembered because their elements never lie in the file as they are.
const SHIPPED_MAX: usize = 1 << 16;

/// The file of a session.
#[derive(Debug)]
pub(crate) struct Direct {
    /// The name that we asked for: a server does not choose another file of ours.
    name: String,
    /// Where we see the server's root, if not where it does.
    root: Option<PathBuf>,
    writable: bool,
    /// Another one after the server began a new life.
    file: Mutex<Option<Arc<File>>>,
    /// Something was written since the last sync.
    is_unsynced: AtomicBool,
    /// The number of the last lock.
    last: AtomicU64,
    shipped: Mutex<HashSet<Token>>,
}

impl Direct {
    pub(crate) fn new(name: &str, root: Option<PathBuf>, writable: bool) -> Self {
        Direct {
            name: name.to_owned(),
            root,
            writable,
            file: Mutex::default(),
            is_unsynced: AtomicBool::new(false),
            last: AtomicU64::new(0),
            shipped: Mutex::default(),
        }
    }

    /// Opens the file, if it is the server's. No lock of the system is asked for: the server has it.
    pub(crate) fn see(&self, found: &Whereabouts) -> Result<()> {
        let root = self.root.as_deref().unwrap_or(Path::new(&found.root));
        let refused = |problem: &str| {
            let error = Error::invalid("use file directly").with("root", root.display());
            error
                .with("problem", problem)
                .with("help", "h5s:// needs no common file system; ?root=DIR says where it is")
        };
        let is_plain =
            |name: &str| Path::new(name).components().all(|part| matches!(part, Component::Normal(_)));
        if found.name != self.name || !is_plain(&found.name) {
            return Err(refused("the server names another file"));
        }
        if !found.mark.starts_with(MARK_PREFIX) || found.mark.contains('/') {
            return Err(refused("the server names something else as its mark"));
        }
        let proof = std::fs::read_to_string(root.join(&found.mark));
        if proof.ok().as_deref() != Some(&found.proof) {
            return Err(refused("this is not the folder that the server sees"));
        }
        let path = root.join(&found.name);
        let is_inside = root.canonicalize().and_then(|root| Ok(path.canonicalize()?.starts_with(root)));
        if !is_inside.unwrap_or(false) {
            return Err(refused("the file is not there, or a link leads out of the root"));
        }
        let opened = File::options().read(true).write(self.writable).open(&path);
        let file = opened.map_err(|e| Error::io("use file directly", &e).with("path", path.display()))?;
        let inode = system::file::identity(&file).map(|(_, inode)| inode);
        if inode.ok() != Some(found.inode) {
            return Err(refused("this is not the file that the server sees"));
        }
        *self.file.lock() = Some(Arc::new(file));
        Ok(())
    }

    pub(crate) fn file(&self) -> Result<Arc<File>> {
        let file = self.file.lock().clone();
        file.ok_or_else(|| Error::invalid("use file directly").with("problem", "it is not open"))
    }

    /// Makes durable what was written here, before the server makes durable what leads there.
    pub(crate) fn sync(&self) -> Result<()> {
        if !self.is_unsynced.swap(false, Ordering::AcqRel) {
            return Ok(());
        }
        self.file()?.sync_data().map_err(|e| {
            self.is_unsynced.store(true, Ordering::Release);
            Error::io("sync file", &e)
        })
    }

    pub(crate) fn wrote(&self) {
        self.is_unsynced.store(true, Ordering::Release);
    }

    /// Returns whether it is known that elements of a dataset are better shipped.
    pub(crate) fn is_shipped(&self, dataset: Token) -> bool {
        self.shipped.lock().contains(&dataset)
    }

    /// Remembers datasets whose elements never lie in the file as they are. Where that is wrong, it only costs time.
    fn note_refusal(&self, ops: &[OpPlacement], error: &Error) {
        let [op] = ops else { return };
        let mut shipped = self.shipped.lock();
        if error.kind() == Kind::Unsupported && shipped.len() < SHIPPED_MAX {
            shipped.insert(op.dataset);
        }
    }

    /// Returns a shared lock on datasets, and where their elements lie; nothing where the elements must be shipped.
    pub(crate) fn lock<'s>(
        &self,
        session: &'s Session,
        ops: Vec<OpPlacement>,
        write: bool,
    ) -> Option<(Lease<'s>, Vec<Placement>)> {
        let number = self.last.fetch_add(1, Ordering::Relaxed) + 1;
        let (wanted, asked) = (Lock { lock: number, write, ops }, Instant::now());
        match session.lock_datasets(&wanted) {
            Ok(granted) if granted.placements.len() == wanted.ops.len() => {
                let span = Duration::from_millis(granted.lease_ms.into());
                Some((Lease::new(session, number, asked, span), granted.placements))
            }
            Ok(_) => None,
            Err(error) => {
                self.note_refusal(&wanted.ops, &error);
                None
            }
        }
    }
}

/// A lock that the server gave us, until it is dropped or its time ran out.
pub(crate) struct Lease<'s> {
    session: &'s Session,
    number: u64,
    span: Duration,
    began: Instant,
    /// Nanoseconds after `began` until which it is good, with a margin for what is under way then.
    good_ns: AtomicU64,
    renewing: Mutex<()>,
    is_lost: AtomicBool,
}

impl<'s> Lease<'s> {
    fn new(session: &'s Session, number: u64, began: Instant, span: Duration) -> Self {
        let good_ns = AtomicU64::new(nanoseconds(span * 3 / 4));
        let (renewing, is_lost) = (Mutex::new(()), AtomicBool::new(false));
        Lease { session, number, span, began, good_ns, renewing, is_lost }
    }

    /// Returns the time for which the lock is valid, as far as this client knows.
    fn left(&self) -> Duration {
        let now = nanoseconds(self.began.elapsed());
        Duration::from_nanos(self.good_ns.load(Ordering::Acquire).saturating_sub(now))
    }

    /// Returns an error where the lock may have run out. It is renewed in time.
    pub(crate) fn check(&self) -> Result<()> {
        if self.left() < self.span / 4 {
            self.renew();
        }
        if self.left().is_zero() {
            self.is_lost.store(true, Ordering::Release);
            return Err(Error::busy("use file directly").with("problem", "the lock ran out"));
        }
        Ok(())
    }

    /// Returns whether the lock ran out before everything was done.
    pub(crate) fn is_lost(&self) -> bool {
        self.is_lost.load(Ordering::Acquire) || self.left().is_zero()
    }

    fn renew(&self) {
        let _one = self.renewing.lock();
        if self.is_lost() || self.left() >= self.span / 4 {
            return;
        }
        let asked = self.began.elapsed();
        if self.session.renew_lock(self.number).is_ok() {
            self.good_ns.store(nanoseconds(asked + self.span * 3 / 4), Ordering::Release);
        }
    }
}

impl Drop for Lease<'_> {
    fn drop(&mut self) {
        // Where it does not arrive, the lock ends with its time.
        let _ = self.session.unlock(self.number, self.span);
    }
}

fn nanoseconds(span: Duration) -> u64 {
    u64::try_from(span.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(all(test, unix))]
mod tests {

    use super::*;

    #[test]
    fn a_server_does_not_choose_another_file_of_ours() {
        let root = std::env::temp_dir().join(format!("hyperslab-direct-{}", std::process::id()));
        std::fs::create_dir_all(&root).unwrap();
        let mark = format!("{MARK_PREFIX}1");
        std::fs::write(root.join(&mark), "proof").unwrap();
        std::fs::write(root.join("plain"), "proof").unwrap();
        std::fs::write(root.join("a.h5"), "data").unwrap();
        let inode = system::file::identity_at(&root.join("a.h5")).unwrap().1;
        let right = Whereabouts {
            root: root.to_string_lossy().into_owned(),
            name: "a.h5".into(),
            inode,
            mark,
            proof: "proof".into(),
        };
        let direct = Direct::new("a.h5", None, true);
        direct.see(&right).unwrap();
        assert!(direct.file().is_ok());
        for wrong in [
            Whereabouts { name: "plain".into(), ..right.clone() },
            Whereabouts { mark: "plain".into(), ..right.clone() },
            Whereabouts { mark: format!("{MARK_PREFIX}/../plain"), ..right.clone() },
            Whereabouts { proof: "guess".into(), ..right.clone() },
            Whereabouts { inode: inode + 1, ..right.clone() },
            Whereabouts { root: "/".into(), ..right.clone() },
        ] {
            assert_eq!(direct.see(&wrong).unwrap_err().kind(), Kind::Invalid, "{wrong:?}");
        }
        std::os::unix::fs::symlink("/etc/hostname", root.join("link")).unwrap();
        let outside = Whereabouts { name: "link".into(), ..right.clone() };
        assert_eq!(Direct::new("link", None, false).see(&outside).unwrap_err().kind(), Kind::Invalid);
        let above = Direct::new("../a.h5", Some(root.join("x")), true);
        let found = Whereabouts { name: "../a.h5".into(), ..right };
        assert_eq!(above.see(&found).unwrap_err().kind(), Kind::Invalid);
        std::fs::remove_dir_all(&root).unwrap();
    }
}
