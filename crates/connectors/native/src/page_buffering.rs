//! The page buffer of a file with the page strategy: whether it has one, and what passed through it.

use std::sync::Arc;

use files::{Handle, PageBuffer, PageBufferOptions};
use model::properties::{FileCreate, SpaceStrategy};
use model::{Error, Result, Within};
use vol::FileAccess;

use crate::format::file_space::{self, FileSpace};
use crate::format::header::{flag, kind};
use crate::object::header::Header;
use crate::statistics::PageBufferStatistics;
use crate::store::Store;

vol::extension! { PageBufferStatistics = "native.page_buffer_statistics": Read, () => PageBufferStatistics }

vol::extension! {
    /// Counts what passes through the page buffer from zero on (`H5Freset_page_buffering_stats`): the extension
    /// `native.reset_page_buffer_statistics`.
    pub struct ResetPageBufferStatistics = "native.reset_page_buffer_statistics": Write, () => ();
}

/// Returns an error for a new file whose pages do not fit into the buffer that it is to have.
pub(crate) fn check_create(create: &FileCreate, access: &FileAccess) -> Result<()> {
    let problem = match access.page_buffer.bytes {
        0 => return Ok(()),
        _ if create.space_strategy != SpaceStrategy::Page => {
            "a page buffer needs a file with the page strategy"
        }
        bytes if bytes < create.page_bytes => "a page buffer has at least one page of the file",
        _ => return Ok(()),
    };
    Err(Error::invalid("create file")
        .with("problem", problem)
        .with("page buffer bytes", access.page_buffer.bytes))
}

/// Returns the file with the page buffer that its caller asks for, if it has pages. `look` returns the file as it is
/// before it is opened.
pub(crate) fn buffered(
    file: &Handle,
    access: &FileAccess,
    look: impl FnOnce() -> Store,
) -> Result<Option<Arc<PageBuffer>>> {
    if access.page_buffer.bytes == 0 || access.swmr {
        return Ok(None);
    }
    let store = look();
    let pages = stored_space(&store)?.filter(|space| space.strategy == SpaceStrategy::Page);
    let Some(pages) = pages.filter(|space| space.page_bytes > 0) else { return Ok(None) };
    let options = options(store.user_block_bytes(), pages.page_bytes, access)?;
    Ok(Some(Arc::new(PageBuffer::new(file.clone(), options))))
}

fn options(base: u64, page_bytes: u64, access: &FileAccess) -> Result<PageBufferOptions> {
    page_bytes.within(access.limits.metadata_bytes_max, "page of a file")?;
    let asked = access.page_buffer;
    let pages_max = usize::try_from(asked.bytes / page_bytes).unwrap_or(usize::MAX).max(1);
    let share = |percent: u32| (pages_max as u128 * u128::from(percent.min(100)) / 100) as usize;
    Ok(PageBufferOptions {
        base,
        page_bytes,
        pages_max,
        metadata_pages_min: share(asked.metadata_percent_min),
        raw_pages_min: share(asked.raw_percent_min),
    })
}

/// Returns how the file says that its space is managed.
fn stored_space(store: &Store) -> Result<Option<FileSpace>> {
    let Some(at) = store.superblock.extension else { return Ok(None) };
    let header = Header::load(store, at)?;
    let message = header.message(kind::FILE_SPACE).filter(|message| message.flags & flag::WAS_UNKNOWN == 0);
    message.map(|message| file_space::decode(message.body, store.sizes())).transpose()
}

/// Returns what passed through the buffer of an open file.
pub(crate) fn statistics(store: &Store) -> Result<PageBufferStatistics> {
    Ok(buffer_of(store)?.statistics().into())
}

/// Counts from zero on.
pub(crate) fn reset(store: &Store) -> Result<()> {
    buffer_of(store)?.reset_statistics();
    Ok(())
}

fn buffer_of(store: &Store) -> Result<&PageBuffer> {
    let none = || Error::invalid("count pages").with("problem", "the file has no page buffer");
    store.shared.page_buffer().ok_or_else(none)
}
