//! Operations that only this connector has.

use model::{Error, Result, Token};
use vol::{ExtensionValue, Optional};

use super::{NativeContainer, address};
use crate::chunk;
use crate::free_sections::{self, FreeSections, IncreaseFileSize};
use crate::gate::Scope;
use crate::image::FileImage;
use crate::link_storage::LinkStorage;
use crate::metadata_cache::{EvictObject, LogMetadataCache, ResetMetadataCacheCounts, SetMetadataCacheBytes};
use crate::object::group;
use crate::page_buffering::{self, ResetPageBufferStatistics};
use crate::statistics::{
    self, FileMetadata, MetadataCache, ObjectMetadata, PageBufferStatistics, RemoteRequests,
};
use crate::stored_chunk::{StoredChunk, StoredChunks};
use crate::version_bounds::SetVersionBounds;
use crate::virtual_views::SetVirtualView;

/// Chooses whether committed elements of a dataset are overwritten where they are (`docs/durability.md`): the extension
/// `native.overwrite_in_place`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OverwriteInPlace {
    /// The dataset.
    pub dataset: Token,
    /// The choice.
    pub is_in_place: bool,
}

vol::extension! { OverwriteInPlace = "native.overwrite_in_place": Write, OverwriteInPlace => () }

impl ExtensionValue for OverwriteInPlace {
    fn to_bytes(&self) -> Vec<u8> {
        [&self.dataset.0[..], &[u8::from(self.is_in_place)]].concat()
    }

    fn from_bytes(bytes: &[u8]) -> Result<Self> {
        match bytes.split_first_chunk::<{ size_of::<Token>() }>() {
            Some((token, [choice @ 0..=1])) => {
                Ok(OverwriteInPlace { dataset: Token(*token), is_in_place: *choice == 1 })
            }
            _ => Err(Error::invalid("decode choice of a dataset").with("bytes", bytes.len())),
        }
    }
}

pub(super) fn run(c: &NativeContainer, name: &str, request: &[u8]) -> Result<Vec<u8>> {
    Optional::new(name, request)
        .on::<ObjectMetadata>(|object| {
            let view = c.view(object)?;
            statistics::object(view.file, &*view.header(object)?)
        })
        .on::<FileMetadata>(|()| match (&c.file.writer, c.reading()?) {
            (None, _) => statistics::file(c.open_file()?),
            // Structures that a writer has not committed yet are nowhere. What is free it knows.
            (Some(_), Some(writer)) => Ok(statistics::of_writer(&writer)),
            (Some(_), None) => {
                Err(Error::unsupported("read file metadata").with("problem", "it is open for writing"))
            }
        })
        .on::<LinkStorage>(|object| {
            let view = c.view(object)?;
            group::link_storage(view.file, &*view.header(object)?)
        })
        .on::<StoredChunk>(|wanted| {
            let (view, dataset, layout) = c.chunked(wanted.dataset)?;
            let found = view.file.steady(|| chunk::find(view.file, &dataset, &layout, &wanted.offset))?;
            Ok(StoredChunk::answer(found))
        })
        .on::<StoredChunks>(|dataset| {
            let (view, dataset, layout) = c.chunked(dataset)?;
            view.file.steady(|| chunk::count(view.file, &dataset, &layout))
        })
        .on::<FileImage>(|()| c.open_file()?.image())
        .on::<RemoteRequests>(|()| RemoteRequests::of(c.open_file()?))
        .on::<MetadataCache>(|()| Ok(c.open_file()?.metadata_cache()))
        .on::<ResetMetadataCacheCounts>(|()| c.open_file().map(|file| file.look_ups.reset()))
        .on::<SetMetadataCacheBytes>(|bytes| c.open_file().map(|file| file.set_metadata_cache_bytes(bytes)))
        .on::<EvictObject>(|object| c.open_file().map(|file| file.evict(address(object))))
        .on::<LogMetadataCache>(|choice| match choice {
            0 => c.open_file()?.log.stop(),
            _ => c.open_file()?.log.start(),
        })
        .on::<PageBufferStatistics>(|()| page_buffering::statistics(&c.open_file()?.store))
        .on::<ResetPageBufferStatistics>(|()| page_buffering::reset(&c.open_file()?.store))
        .on::<SetVirtualView>(|set| {
            c.open_file().map(|file| file.virtual_views.set(address(set.dataset), set.view))
        })
        .on::<OverwriteInPlace>(|choice| {
            let at = address(choice.dataset);
            c.change(Scope::Objects(&[at]), |writer| writer.set_in_place(at, choice.is_in_place))
        })
        .on::<FreeSections>(|()| match (&c.file.writer, c.reading()?) {
            (None, _) => free_sections::of_file(c.open_file()?),
            (Some(_), Some(writer)) => Ok(free_sections::of_writer(c.open_file()?, &writer)),
            (Some(_), None) => {
                Err(Error::unsupported("list free sections").with("problem", "it is open for writing"))
            }
        })
        .on::<IncreaseFileSize>(|bytes| {
            c.change(Scope::Nothing, |writer| {
                writer.storage.check_structure()?;
                writer.storage.extend(bytes)
            })
        })
        .on::<SetVersionBounds>(|bounds| {
            c.change(Scope::Nothing, |writer| {
                writer.set_version_bounds(bounds.low, bounds.high);
                Ok(())
            })
        })
        .or_unsupported()
}
