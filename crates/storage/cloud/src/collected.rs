//! A file that is collected on this machine and uploaded by each commit.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use bytes::Bytes;
use files::{File, Lock, Mode, Posix, Sync};
use futures_util::future::BoxFuture;
use object_store::path::Path as Key;
use object_store::{MultipartUpload, ObjectStore, ObjectStoreExt, PutMode, PutPayload, UpdateVersion};
use system::sync::{Mutex, RwLock};

use crate::failure::Failure;
use crate::remote::RemoteFile;
use crate::runtime;
use crate::stores::StoredObject;

/// Files up to this size are uploaded with one request.
const WHOLE_BYTES_MAX: u64 = 16 << 20;
/// Bytes of a part of a larger one.
const PART_BYTES: u64 = 8 << 20;
/// Parts that an upload can have: stores accept 10,000.
const PARTS_MAX: u64 = 9_000;
/// Parts that travel at the same time.
const PARTS_AT_ONCE: usize = 4;

/// What must be in the store for an upload to take place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Precondition {
    /// Anything: it is replaced.
    Nothing,
    /// No object.
    Absent,
    /// The object that was opened, or that was uploaded last.
    Version(Option<String>),
}

/// A file on this machine that nobody else sees. [`File::publish`] uploads it as a whole.
#[derive(Debug)]
pub struct CollectedFile {
    object: StoredObject,
    content: RwLock<CollectedContent>,
    is_changed: AtomicBool,
    precondition: Mutex<Precondition>,
}

#[derive(Debug)]
enum CollectedContent {
    /// The object as it is in the store: nothing was read or written yet.
    Remote(RemoteFile),
    Local(LocalFile),
}

/// A file without a name that goes with its handle.
#[derive(Debug)]
struct LocalFile {
    file: Arc<Posix>,
    /// Removes the file.
    _path: tempfile::TempPath,
}

impl LocalFile {
    fn new() -> io::Result<Self> {
        let path = tempfile::Builder::new().prefix("hyperslab-upload-").tempfile()?.into_temp_path();
        Ok(LocalFile { file: Arc::new(Posix::open(&path, Mode::ReadWrite)?), _path: path })
    }

    fn copy_of(remote: &RemoteFile) -> io::Result<Self> {
        let local = LocalFile::new()?;
        let (len, mut at) = (remote.len()?, 0);
        let mut bytes = vec![0; usize::try_from(len.min(4 * PART_BYTES)).unwrap_or(0)];
        while at < len {
            let part = bytes.len().min(usize::try_from(len - at).unwrap_or(usize::MAX));
            remote.read_at(at, &mut bytes[..part])?;
            local.file.write_at(at, &bytes[..part])?;
            at += part as u64;
        }
        Ok(local)
    }
}

impl CollectedFile {
    /// Returns an empty file.
    pub(crate) fn new(object: StoredObject, precondition: Precondition) -> io::Result<Self> {
        let content = RwLock::new(CollectedContent::Local(LocalFile::new()?));
        let precondition = Mutex::new(precondition);
        Ok(CollectedFile { object, content, is_changed: AtomicBool::new(false), precondition })
    }

    /// Returns a file with the content of an object, which is fetched when it is first needed.
    pub(crate) fn of_existing(object: StoredObject, remote: RemoteFile) -> Self {
        let version = remote.version().map(str::to_owned);
        CollectedFile {
            object,
            content: RwLock::new(CollectedContent::Remote(remote)),
            is_changed: AtomicBool::new(false),
            precondition: Mutex::new(Precondition::Version(version)),
        }
    }

    fn local(&self) -> io::Result<Arc<Posix>> {
        if let CollectedContent::Local(local) = &*self.content.read() {
            return Ok(local.file.clone());
        }
        let mut content = self.content.write();
        if let CollectedContent::Remote(remote) = &*content {
            *content = CollectedContent::Local(LocalFile::copy_of(remote)?);
        }
        match &*content {
            CollectedContent::Local(local) => Ok(local.file.clone()),
            CollectedContent::Remote(_) => Err(io::ErrorKind::Other.into()),
        }
    }

    fn changed(&self) -> io::Result<Arc<Posix>> {
        let local = self.local()?;
        self.is_changed.store(true, Ordering::Release);
        Ok(local)
    }

    fn upload(&self) -> io::Result<()> {
        let mut precondition = self.precondition.lock();
        let upload = Upload {
            object: self.object.clone(),
            file: self.local()?,
            len: self.len()?,
            precondition: precondition.clone(),
        };
        let version = runtime::wait_for(upload.run())??;
        *precondition = Precondition::Version(version);
        Ok(())
    }
}

impl File for CollectedFile {
    fn len(&self) -> io::Result<u64> {
        match &*self.content.read() {
            CollectedContent::Remote(remote) => remote.len(),
            CollectedContent::Local(local) => local.file.len(),
        }
    }

    fn read_at(&self, offset: u64, buf: &mut [u8]) -> io::Result<()> {
        self.local()?.read_at(offset, buf)
    }

    fn write_at(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        self.changed()?.write_at(offset, data)
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        if len == 0 && matches!(&*self.content.read(), CollectedContent::Remote(_)) {
            // What is about to go is not fetched.
            *self.content.write() = CollectedContent::Local(LocalFile::new()?);
        }
        self.changed()?.set_len(len)
    }

    /// Does nothing: what lasts is what was published.
    fn sync(&self, _: Sync) -> io::Result<()> {
        Ok(())
    }

    /// Does nothing: nobody else sees the file.
    fn lock(&self, _: Lock) -> io::Result<()> {
        Ok(())
    }

    fn is_private(&self) -> bool {
        true
    }

    fn publish(&self) -> io::Result<()> {
        if !self.is_changed.swap(false, Ordering::AcqRel) {
            return Ok(());
        }
        self.upload().inspect_err(|_| self.is_changed.store(true, Ordering::Release))
    }
}

/// One upload of a whole file.
struct Upload {
    object: StoredObject,
    file: Arc<Posix>,
    len: u64,
    precondition: Precondition,
}

impl Upload {
    /// Uploads the file, and returns the version that the object has then.
    async fn run(self) -> Result<Option<String>, Failure> {
        if self.len <= WHOLE_BYTES_MAX {
            return self.put_whole().await;
        }
        match &self.precondition {
            Precondition::Nothing => self.put_parts(&self.object.key).await,
            Precondition::Absent => self.put_absent().await,
            Precondition::Version(version) => {
                // A store cannot compare and upload in parts at once: another writer could come between.
                if self.object.version().await?.as_ref() != Some(version) {
                    return Err(Failure::overtaken());
                }
                self.put_parts(&self.object.key).await
            }
        }
    }

    fn read(&self, at: u64, len: u64) -> Result<PutPayload, Failure> {
        let mut bytes = vec![0; usize::try_from(len).unwrap_or(0)];
        let read = self.file.read_at(at, &mut bytes);
        read.map_err(|e| Failure::lasting(e.kind(), format!("cannot read what is uploaded: {e}")))?;
        Ok(PutPayload::from(Bytes::from(bytes)))
    }

    /// Returns the condition that the object still has this tag.
    async fn update(&self, e_tag: Option<String>) -> Result<PutMode, Failure> {
        if !self.object.has_generations {
            return Ok(update(e_tag));
        }
        let found = self.object.store.head(&self.object.key).await?;
        match found.e_tag == e_tag {
            true => Ok(PutMode::Update(UpdateVersion { e_tag, version: found.version })),
            false => Err(Failure::overtaken()),
        }
    }

    async fn put_whole(&self) -> Result<Option<String>, Failure> {
        let payload = self.read(0, self.len)?;
        let (store, key) = (&self.object.store, &self.object.key);
        let mode = match &self.precondition {
            Precondition::Nothing | Precondition::Version(None) => PutMode::Overwrite,
            Precondition::Absent => PutMode::Create,
            Precondition::Version(e_tag) => self.update(e_tag.clone()).await?,
        };
        let put = match (store.put_opts(key, payload.clone(), mode.clone().into()).await, &mode) {
            // Some stores want the tag without its quotes, and answer as if the object had changed.
            (Err(object_store::Error::Precondition { .. }), PutMode::Update(version))
                if self.object.version().await? == Some(version.e_tag.clone()) =>
            {
                let bare = version.e_tag.as_ref().map(|tag| tag.trim_matches('"').to_owned());
                store.put_opts(key, payload, update(bare).into()).await
            }
            (put, _) => put,
        };
        match put {
            Ok(put) => Ok(put.e_tag),
            Err(object_store::Error::Precondition { .. }) => Err(Failure::overtaken()),
            Err(error) => Err(error.into()),
        }
    }

    /// Uploads under another name, then copies where nothing is: a store does the latter as one step.
    async fn put_absent(&self) -> Result<Option<String>, Failure> {
        let (store, key) = (&self.object.store, &self.object.key);
        let suffix: String = system::random::unique().iter().map(|byte| format!("{byte:02x}")).collect();
        let partial = Key::from(format!("{key}.{suffix}.partial"));
        let done = async {
            self.put_parts(&partial).await?;
            store.copy_if_not_exists(&partial, key).await.map_err(Failure::from)
        };
        let done = done.await;
        // It is of no use any more, whether the copy succeeded or not.
        let _ = store.delete(&partial).await;
        done?;
        Ok(self.object.version().await?.flatten())
    }

    async fn put_parts(&self, key: &Key) -> Result<Option<String>, Failure> {
        let mut upload = self.object.store.put_multipart(key).await?;
        match self.send_parts(&mut *upload).await {
            Ok(()) => {}
            Err(failure) => {
                // A store keeps parts, and bills them, until they are given up.
                let _ = upload.abort().await;
                return Err(failure);
            }
        }
        let put = upload.complete().await?;
        match put.e_tag {
            Some(e_tag) => Ok(Some(e_tag)),
            None => Ok(self.object.store.head(key).await?.e_tag),
        }
    }

    async fn send_parts(&self, upload: &mut dyn MultipartUpload) -> Result<(), Failure> {
        use futures_util::{StreamExt, stream::FuturesUnordered};
        let part_bytes = PART_BYTES.max(self.len.div_ceil(PARTS_MAX));
        let mut under_way: FuturesUnordered<BoxFuture<'_, object_store::Result<()>>> =
            FuturesUnordered::new();
        for at in (0..self.len).step_by(part_bytes as usize) {
            if under_way.len() >= PARTS_AT_ONCE
                && let Some(sent) = under_way.next().await
            {
                sent?;
            }
            let payload = self.read(at, part_bytes.min(self.len - at))?;
            under_way.push(upload.put_part(payload));
        }
        while let Some(sent) = under_way.next().await {
            sent?;
        }
        Ok(())
    }
}

fn update(e_tag: Option<String>) -> PutMode {
    PutMode::Update(UpdateVersion { e_tag, version: None })
}
