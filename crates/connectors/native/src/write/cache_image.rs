//! Metadata cache images: one that the file has becomes part of it when the file is changed, and a new one is written
//! when it is closed, if its caller asks for that.

use files::DataKind;
use model::properties::ObjectCreate;
use model::{Error, Result};
use vol::{Durability, LibVersion};

use super::Writer;
use super::file_space::Extension;
use super::storage::Storage;
use super::versions;
use crate::format::Address;
use crate::format::encode::cache_image as encode;
use crate::format::header::{Message, flag, kind};
use crate::object::header::Header;
use crate::reader::Reader;
use crate::store::Store;
use crate::txn::PublishOrder;

const FLAGS: u8 = flag::NEVER_SHARE | flag::FAIL_ALWAYS;

/// Bytes of an image, at most: some of many headers are as useful as all.
const IMAGE_BYTES_MAX: u64 = 32 << 20;

/// Writes the entries of an image where they belong, with the next commit.
pub(crate) fn stage(store: &Store, entries: &[(Address, Vec<u8>)]) -> Result<()> {
    for (at, bytes) in entries {
        check_entry(store, *at, bytes.len() as u64)?;
        store.shared.stage(*at, bytes, PublishOrder::First)?;
    }
    Ok(())
}

/// Returns an error for an entry that is not metadata within the file.
fn check_entry(store: &Store, at: Address, len: u64) -> Result<()> {
    let first = store.superblock.encode()?.len() as u64;
    match at.0.checked_add(len) {
        Some(end) if at.0 >= first && end <= store.end() => Ok(()),
        _ => Err(Error::corrupt("read cache image").at(at.0).with("bytes", len)),
    }
}

impl Storage {
    /// Gives up the file's image, whose entries the reader staged where they belong: from the next commit on.
    pub(crate) fn take_cache_image(&mut self, reader: &Reader) -> Result<()> {
        let Some((at, bytes)) = reader.cache_image else { return Ok(()) };
        self.change_extension(reader, |extension| extension.remove(kind::CACHE_IMAGE))?;
        self.release(at, bytes);
        Ok(())
    }

    /// Changes messages of the superblock extension, which is made if there is none.
    fn change_extension(&mut self, reader: &Reader, change: impl FnOnce(&mut Extension)) -> Result<()> {
        let mut extension = match self.transaction.superblock.extension {
            Some(at) => Extension::load(&reader.store, at)?,
            None => self.new_extension()?,
        };
        change(&mut extension);
        extension.prepare(self)?;
        extension.write(self, PublishOrder::Middle)?;
        self.reload_account(&extension);
        Ok(())
    }

    fn new_extension(&mut self) -> Result<Extension> {
        let create = ObjectCreate { track_times: false, ..ObjectCreate::default() };
        let body = encode::message(Address(0), 0, self.sizes)?;
        let message = Message { kind: kind::CACHE_IMAGE, flags: FLAGS, creation_order: None, body };
        let bytes = versions::prefix(LibVersion::V18, &create, 0).messages_bytes(&[message]);
        let prefix = versions::prefix(LibVersion::V18, &create, bytes);
        let at = self.allocate(prefix.first_block_bytes(), DataKind::ObjectHeader);
        self.transaction.superblock.extension = Some(at);
        self.transaction.is_changed = true;
        Ok(Extension::new(at, prefix))
    }
}

impl Writer {
    /// Stores the object headers that are in memory as an image, with a commit of their own. Files whose superblock has
    /// no place for it have none, as in libhdf5.
    pub(super) fn commit_cache_image(&mut self, durability: Durability) -> Result<()> {
        let superblock = &self.storage.transaction.superblock;
        let has_place = superblock.version >= 2 && self.storage.store().members().is_none();
        if !self.has_cache_image || !has_place || self.storage.is_swmr() {
            return Ok(());
        }
        self.storage.forget_managers()?;
        let sizes = self.storage.sizes;
        let image = encode::image(&self.headers_in_memory()?, sizes)?;
        let len = image.len() as u64;
        let at = self.storage.allocate(len, DataKind::Superblock);
        self.storage.write(at, &image)?;
        let body = encode::message(at, len, sizes)?;
        let reader = self.reader.clone();
        self.storage.change_extension(&reader, |extension| extension.put(kind::CACHE_IMAGE, FLAGS, body))?;
        self.storage.commit(durability)
    }

    /// Returns the first blocks of headers that readers or this writer have in memory.
    fn headers_in_memory(&self) -> Result<Vec<(Address, Vec<u8>)>> {
        let mut addresses = self.reader.headers.keys();
        addresses.extend(self.objects.addresses());
        addresses.sort_unstable();
        addresses.dedup();
        addresses.retain(|at| !self.objects.is_removed(*at));
        let (mut headers, mut bytes) = (Vec::new(), 0);
        for at in addresses {
            // What was removed meanwhile is not there.
            let Ok(header) = Header::load(&self.reader.store, at) else { continue };
            let len = header.prefix.first_block_bytes();
            bytes += len;
            if bytes > IMAGE_BYTES_MAX {
                break;
            }
            headers.push((at, self.reader.store.bytes(at, len, "object header")?));
        }
        Ok(headers)
    }
}
