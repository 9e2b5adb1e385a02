//! Counting for h5stat.

use std::collections::BTreeMap;

use hyperslab::extensions::{FileMetadata, ObjectMetadata};
use hyperslab::vol::model::ObjectPath;
use hyperslab::vol::model::properties::{FileCreate, Layout};
use hyperslab::vol::{Container, Extension, ObjectInfo, call};
use hyperslab::{Datatype, Kind, LinkTarget, ObjectKind, Result};

use crate::h5::diff::native;
use crate::h5::ls::seen::Seen;
use crate::h5::ls::source::ObjectAt;
use crate::h5::ls::types::in_memory;
use crate::h5::ls::walk::Frame;

/// How often each number occurs.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    /// Each number.
    pub(crate) each: BTreeMap<u64, u64>,
    /// By the number of decimal digits; zero has none.
    pub(crate) digits: BTreeMap<u32, u64>,
}

impl Counts {
    pub(crate) fn add(&mut self, number: u64) {
        *self.each.entry(number).or_default() += 1;
        *self.digits.entry(number.checked_ilog10().map_or(0, |log| log + 1)).or_default() += 1;
    }

    pub(crate) fn max(&self) -> u64 {
        self.each.keys().next_back().copied().unwrap_or(0)
    }
}

/// Bytes of headers, and of them unused ones.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Headers {
    pub(crate) total: u64,
    pub(crate) unused: u64,
}

/// Bytes of trees and heaps.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Indexed {
    pub(crate) index: u64,
    pub(crate) heap: u64,
}

/// A datatype of datasets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TypeCount {
    pub(crate) datatype: Datatype,
    /// Bytes of its description.
    pub(crate) encoded_bytes: u64,
    pub(crate) count: u64,
    pub(crate) committed: u64,
}

/// How many filters have a column of their own: 1 to 6. Those without any come first, all others last.
pub(crate) const FILTERS: usize = 8;

/// Everything about datasets.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Datasets {
    pub(crate) count: u64,
    pub(crate) headers: Headers,
    pub(crate) storage: Indexed,
    pub(crate) ranks: BTreeMap<usize, u64>,
    /// Sizes of those with one dimension.
    pub(crate) dims: Counts,
    pub(crate) raw_bytes: u64,
    pub(crate) external_bytes: u64,
    pub(crate) external_files: u64,
    /// Compact, contiguous, chunked, virtual.
    pub(crate) layouts: [u64; 4],
    pub(crate) filters: [u64; FILTERS],
    pub(crate) types: Vec<TypeCount>,
}

/// The space that belongs to no object.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct FileSpace {
    pub(crate) superblock: u64,
    pub(crate) extension: u64,
    pub(crate) shared_table: u64,
    pub(crate) shared: Indexed,
    pub(crate) managers: u64,
    pub(crate) free: u64,
    pub(crate) sections: Counts,
}

/// Everything.
#[derive(Debug, Clone, Default)]
pub(crate) struct Statistics {
    pub(crate) create: FileCreate,
    pub(crate) file_bytes: u64,
    pub(crate) space: FileSpace,
    /// Links of each group.
    pub(crate) groups: Counts,
    pub(crate) group_headers: Headers,
    pub(crate) links: Indexed,
    pub(crate) datasets: Datasets,
    pub(crate) datatypes: u64,
    pub(crate) datatype_headers: Headers,
    pub(crate) soft_links: u64,
    pub(crate) others: u64,
    pub(crate) references_max: u32,
    /// Attributes of each object.
    pub(crate) attributes: Counts,
    pub(crate) attribute_storage: Indexed,
}

/// Counts all that is in a file.
pub(crate) fn collect(root: &ObjectAt) -> Result<Statistics> {
    let info = root.container().info()?;
    let mut found = Statistics {
        create: info.create.clone(),
        file_bytes: info.storage_bytes.unwrap_or(0),
        space: file_space(root.container())?,
        ..Statistics::default()
    };
    found.object(root)?;
    let seen = Seen::from(root, &ObjectPath::start(""));
    let mut frames = vec![Frame::new(root.clone(), ObjectPath::start(""), seen)];
    while let Some(frame) = frames.last_mut() {
        let Some(link) = frame.next()? else {
            frames.pop();
            continue;
        };
        let LinkTarget::Hard(token) = link.target else {
            found.link(&link.target);
            continue;
        };
        let (place, seen) = (ObjectAt { token, ..frame.group.clone() }, frame.seen.clone());
        if seen.insert(token, &frame.path)? && found.object(&place)? == ObjectKind::Group {
            let path = frame.path.clone();
            frames.push(Frame::new(place, path, seen));
        }
    }
    Ok(found)
}

impl Statistics {
    fn link(&mut self, target: &LinkTarget) {
        match target {
            LinkTarget::User { .. } => self.others += 1,
            _ => self.soft_links += 1,
        }
    }

    fn object(&mut self, place: &ObjectAt) -> Result<ObjectKind> {
        let container = place.container();
        let info = container.object_info(place.token)?;
        let storage = ObjectStorage::of(container, &info)?;
        self.references_max = self.references_max.max(info.references);
        self.attributes.add(info.attributes);
        self.attribute_storage.add(storage.attributes);
        match info.kind {
            ObjectKind::Group => {
                self.groups.add(container.group_info(place.token)?.links);
                self.group_headers.add(storage.header);
                self.links.add(storage.links);
            }
            ObjectKind::Dataset => self.datasets.add(place, &storage)?,
            ObjectKind::Datatype => {
                container.datatype_get(place.token)?;
                self.datatypes += 1;
                self.datatype_headers.add(storage.header);
            }
            ObjectKind::Map => self.others += 1,
        }
        Ok(info.kind)
    }

    /// Returns the number of bytes of all metadata.
    pub(crate) fn metadata_bytes(&self) -> u64 {
        let headers = [self.group_headers, self.datasets.headers, self.datatype_headers];
        let indexed = [self.links, self.attribute_storage, self.datasets.storage, self.space.shared];
        let space = &self.space;
        let own = [space.superblock, space.extension, self.create.userblock_bytes, space.shared_table];
        let sums =
            headers.iter().map(|h| h.total).chain(indexed.iter().map(|i| i.index.wrapping_add(i.heap)));
        sums.chain(own).chain([space.managers]).fold(0, u64::wrapping_add)
    }
}

impl Headers {
    fn add(&mut self, other: Headers) {
        self.total = self.total.wrapping_add(other.total);
        self.unused = self.unused.wrapping_add(other.unused);
    }
}

impl Indexed {
    fn add(&mut self, other: Indexed) {
        self.index = self.index.wrapping_add(other.index);
        self.heap = self.heap.wrapping_add(other.heap);
    }
}

impl Datasets {
    fn add(&mut self, place: &ObjectAt, storage: &ObjectStorage) -> Result<()> {
        let container = place.container();
        let info = container.dataset_info(place.token)?;
        let bytes = container.dataset_storage(place.token)?.bytes;
        self.count += 1;
        self.headers.add(storage.header);
        self.storage.add(storage.dataset);
        let layout = match &info.create.layout {
            Layout::Compact => 0,
            Layout::Contiguous | Layout::External(_) => 1,
            Layout::Chunked { .. } => 2,
            Layout::Virtual(_) => 3,
        };
        self.layouts[layout] += 1;
        if layout == 0 {
            // Compact elements are in the header, and counted as elements.
            self.headers.total = self.headers.total.wrapping_sub(bytes);
        }
        match &info.create.layout {
            Layout::External(files) if !files.is_empty() => {
                self.external_files += files.len() as u64;
                self.external_bytes = self.external_bytes.wrapping_add(bytes);
            }
            _ => self.raw_bytes = self.raw_bytes.wrapping_add(bytes),
        }
        *self.ranks.entry(info.space.rank()).or_default() += 1;
        if let [dim] = info.space.dims() {
            self.dims.add(*dim);
        }
        self.add_filters(info.create.filters.iter().map(|filter| filter.id));
        self.add_type(&info.datatype, info.committed.is_some(), storage.datatype_version)
    }

    fn add_filters(&mut self, ids: impl ExactSizeIterator<Item = u16>) {
        if ids.len() == 0 {
            self.filters[0] += 1;
        }
        for id in ids {
            self.filters[usize::from(id).min(FILTERS - 1)] += 1;
        }
    }

    fn add_type(&mut self, datatype: &Datatype, committed: bool, version: u8) -> Result<()> {
        let at = self.types.iter().position(|known| native::equal(&known.datatype, datatype));
        let at = match at {
            Some(at) => at,
            None => {
                self.types.push(TypeCount {
                    datatype: datatype.clone(),
                    // Before the message stand its type and a version.
                    encoded_bytes: in_memory(datatype).encode(version)?.len() as u64 + 2,
                    count: 0,
                    committed: 0,
                });
                self.types.len() - 1
            }
        };
        self.types[at].count += 1;
        self.types[at].committed += u64::from(committed);
        Ok(())
    }
}

/// The storage of one object's metadata.
#[derive(Debug, Default)]
struct ObjectStorage {
    header: Headers,
    links: Indexed,
    attributes: Indexed,
    dataset: Indexed,
    datatype_version: u8,
}

impl ObjectStorage {
    fn of(container: &dyn Container, info: &ObjectInfo) -> Result<Self> {
        let found = ask::<ObjectMetadata>(container, &info.token)?;
        Ok(ObjectStorage {
            header: Headers { total: found.header_bytes, unused: found.header_unused_bytes },
            links: Indexed { index: found.link_index_bytes, heap: found.link_heap_bytes },
            attributes: Indexed { index: found.attribute_index_bytes, heap: found.attribute_heap_bytes },
            dataset: Indexed { index: found.chunk_index_bytes, heap: found.external_bytes },
            datatype_version: found.datatype_version as u8,
        })
    }
}

fn file_space(container: &dyn Container) -> Result<FileSpace> {
    let found = ask::<FileMetadata>(container, &())?;
    let mut sections = Counts::default();
    found.section_bytes.iter().for_each(|bytes| sections.add(*bytes));
    Ok(FileSpace {
        superblock: found.superblock_bytes,
        extension: found.extension_bytes,
        shared_table: found.shared_table_bytes,
        shared: Indexed { index: found.shared_index_bytes, heap: found.shared_heap_bytes },
        managers: found.manager_bytes,
        free: found.free_bytes,
        sections,
    })
}

/// Returns what only an HDF5 file has, or zeros if the container is no such file.
fn ask<E>(container: &dyn Container, request: &E::Request) -> Result<E::Answer>
where
    E: Extension,
    E::Answer: Default,
{
    match call::<E>(container, request) {
        Err(error) if error.kind() == Kind::Unsupported => Ok(E::Answer::default()),
        answer => answer,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_counted_by_their_digits() {
        let mut counts = Counts::default();
        [0, 1, 9, 10, 99, 100].into_iter().for_each(|n| counts.add(n));
        assert_eq!(counts.digits.into_iter().collect::<Vec<_>>(), [(0, 1), (1, 2), (2, 2), (3, 1)]);
    }

    #[test]
    fn filters_without_a_name_share_a_column() {
        let mut datasets = Datasets::default();
        datasets.add_filters([1, 307, 32001].into_iter());
        datasets.add_filters([].into_iter());
        assert_eq!(datasets.filters, [1, 1, 0, 0, 0, 0, 0, 2]);
    }
}
