//! Files of several members: each commit says in the file how much of each is allocated.

use files::DriverBlock;
use model::{Error, Result};

use super::Writer;
use super::file_space::Extension;
use super::storage::Storage;
use crate::format::Address;
use crate::format::encode::driver_info;
use crate::format::header::{flag, kind};
use crate::reader::Reader;
use crate::txn::PublishOrder;

/// Where a file says how much of its members is allocated, and what it says.
#[derive(Debug)]
pub(crate) struct MemberInfo {
    stored: DriverBlock,
    location: InfoLocation,
}

#[derive(Debug)]
enum InfoLocation {
    /// The block of superblocks 0 and 1.
    Block(Address),
    /// The extension of later superblocks. It is prepared before it changes for the first time.
    Extension { extension: Extension, is_prepared: bool },
}

impl InfoLocation {
    fn of(reader: &Reader) -> Result<InfoLocation> {
        let store = &reader.store;
        let missing = || {
            let problem = "it has several members and no driver information";
            Error::unsupported("write to file").with("problem", problem)
        };
        if let Some(at) = store.superblock.driver_info {
            return Ok(InfoLocation::Block(at));
        }
        let extension = Extension::load(store, store.superblock.extension.ok_or_else(missing)?)?;
        Ok(InfoLocation::Extension { extension, is_prepared: false })
    }

    /// Finds space for what will be written.
    fn prepare(&mut self, storage: &mut Storage) -> Result<()> {
        if let InfoLocation::Extension { extension, is_prepared: is_prepared @ false } = self {
            extension.prepare(storage)?;
            *is_prepared = true;
        }
        Ok(())
    }

    /// Published before what may lie in new space: a reader must find that it is there.
    fn write(&mut self, storage: &mut Storage, block: &DriverBlock) -> Result<()> {
        match self {
            InfoLocation::Block(at) => {
                storage.write_in_turn(*at, &driver_info::block(block)?, PublishOrder::First)
            }
            InfoLocation::Extension { extension, .. } => {
                extension.set(kind::DRIVER_INFO, driver_info::message(block)?);
                extension.write(storage, PublishOrder::First)
            }
        }
    }
}

impl Writer {
    /// Replaces what the file says of its driver, or removes it. A file with an extension of its superblock may say it for the
    /// first time.
    ///
    /// # Errors
    /// Returns `Error::Unsupported` if it has no place for that.
    pub(crate) fn replace_driver_info(&mut self, block: Option<&DriverBlock>) -> Result<()> {
        let mut location = InfoLocation::of(&self.reader)?;
        match (block, &mut location) {
            (None, InfoLocation::Block(_)) => {
                let transaction = &mut self.storage.transaction;
                (transaction.superblock.driver_info, transaction.is_changed) = (None, true);
                Ok(())
            }
            (None, InfoLocation::Extension { extension, .. }) => {
                extension.remove(kind::DRIVER_INFO);
                extension.prepare(&mut self.storage)?;
                extension.write(&mut self.storage, PublishOrder::First)
            }
            (Some(block), InfoLocation::Extension { extension, .. }) => {
                extension.put(kind::DRIVER_INFO, flag::NEVER_SHARE, driver_info::message(block)?);
                extension.prepare(&mut self.storage)?;
                extension.write(&mut self.storage, PublishOrder::First)
            }
            (Some(block), location) => location.write(&mut self.storage, block),
        }
    }
}

impl Storage {
    /// Prepares to write to a file of several members.
    ///
    /// # Errors
    /// Returns `Error::Unsupported` if the file has pages, remembers its free space, has a user block, or does not say what its
    /// members are.
    pub(crate) fn take_members(&mut self, reader: &Reader) -> Result<()> {
        if self.store().members().is_none() {
            return Ok(());
        }
        let refused =
            |what: &str| Err(Error::unsupported("write to a file of several members").with("property", what));
        match reader.space.as_ref() {
            _ if self.store().base() > 0 => return refused("user block"),
            Some(space) if space.persist => return refused("free space that the file remembers"),
            Some(_) if self.allocator.space.is_paged() => return refused("pages"),
            _ => {}
        }
        let stored = reader.driver.clone();
        let stored =
            stored.ok_or_else(|| Error::corrupt("open file").with("problem", "no map of members"))?;
        self.members = Some(MemberInfo { stored, location: InfoLocation::of(reader)? });
        Ok(())
    }

    /// Writes how much of each member is allocated, if that changed.
    pub(super) fn store_members(&mut self) -> Result<()> {
        let Some(mut info) = self.members.take() else { return Ok(()) };
        let done = self.store_info(&mut info);
        self.members = Some(info);
        done
    }

    fn store_info(&mut self, info: &mut MemberInfo) -> Result<()> {
        info.location.prepare(self)?;
        let Some(allocated) = self.allocator.space.allocated() else { return Ok(()) };
        if !self.allocator.space.fits() {
            return Err(Error::limit("commit").with("problem", "the first member is full"));
        }
        let Some(block) = self.store().set_allocated(&allocated)? else { return Ok(()) };
        if block != info.stored {
            info.location.write(self, &block)?;
            info.stored = block;
        }
        Ok(())
    }

    /// Returns whether the file says of its members what is no longer so.
    pub(super) fn is_allocation_stale(&self) -> bool {
        let stored =
            self.store().members().map(|ranges| ranges.all().iter().map(|range| range.allocated).collect());
        self.allocator.space.allocated() != stored
    }

    /// Gives what members have past their allocated bytes back, when nothing is written any more.
    pub(super) fn trim_members(&self) -> Result<()> {
        if self.members.is_some() { self.store().trim() } else { Ok(()) }
    }
}
