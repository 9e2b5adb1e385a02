//! The free space of a file, and space that is taken for nothing: extensions of the native connector.

use model::{Context, Error, Result};

use crate::format::Address;
use crate::format::free_space::{Manager, Section};
use crate::reader::Reader;
use crate::space::Class;
use crate::write::Writer;

vol::extension! {
    /// Returns the free sections that a file knows of: for each the number of its manager, counted from 1 on as
    /// `H5FD_mem_t` counts kinds of data, its address, and its bytes. The extension `native.free_sections`.
    pub struct FreeSections = "native.free_sections": Read, () => Vec<u64>;

    /// Takes so many bytes at the end of a file, in which nothing will be (`H5Fincrement_filesize`). The extension
    /// `native.increase_file_size`.
    pub struct IncreaseFileSize = "native.increase_file_size": Write, u64 => ();
}

/// Returns the sections that a free-space manager lists.
pub(crate) fn of_manager(file: &Reader, at: Address) -> Result<Vec<Section>> {
    let sizes = file.store.sizes();
    let header = file.store.block(at, Manager::header_bytes(sizes), "free-space manager")?;
    let manager = Manager::decode(&header, sizes).during_at("read free-space manager", at.0)?;
    let Some(list) = manager.list else { return Ok(Vec::new()) };
    let bytes = file.store.block(list, manager.list_bytes, "free-space sections")?;
    manager.sections(&bytes, at, sizes, &file.store.limits).during_at("read free space", list.0)
}

/// Returns the sections that a file remembers.
pub(crate) fn of_file(file: &Reader) -> Result<Vec<u64>> {
    let managers = file.space.iter().flat_map(|space| &space.managers).zip(1..);
    let mut found = Vec::new();
    for (at, number) in managers.filter_map(|(at, number)| at.map(|at| (at, number))) {
        for section in of_manager(file, at)? {
            found.extend([number, file.store.absolute(Address(section.offset)), section.bytes]);
        }
    }
    Ok(found)
}

/// Returns the sections that a writer knows of. Without pages there is one pool, which is told as that of metadata.
pub(crate) fn of_writer(file: &Reader, writer: &Writer) -> Vec<u64> {
    let sections = writer.storage.free_ranges().map(|(class, at, bytes)| {
        let number = match class {
            Class::Metadata => 1,
            Class::Raw => 3,
            Class::Large => 7,
        };
        [number, file.store.absolute(Address(at)), bytes]
    });
    sections.flatten().collect()
}

/// Returns the error of a file that would end beyond what offsets in files can be.
pub(crate) fn too_large(end: u64, by: u64) -> Error {
    Error::limit("increase file size").with("end", end).with("bytes", by)
}
