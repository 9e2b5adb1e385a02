//! The space that an object occupies outside of its header.

use model::{ObjectKind, Result};

use crate::chunk::index::Chunks;
use crate::format::Address;
use crate::format::header::kind;
use crate::format::layout::Layout;
use crate::format::local_heap::LocalHeap;
use crate::object::header::Header;
use crate::object::{attribute, btree2, dataset, fractal_heap, group};
use crate::reader::Reader;

/// Where blocks are, and their bytes.
pub(crate) type Ranges = Vec<(Address, u64)>;

/// The blocks of links or attributes.
#[derive(Debug, Default)]
pub(crate) struct Blocks {
    pub(crate) trees: Ranges,
    pub(crate) heaps: Ranges,
}

impl Blocks {
    /// Returns the blocks of a heap and of the trees that index it.
    pub(crate) fn dense(file: &Reader, heap: Option<Address>, trees: [Option<Address>; 2]) -> Result<Blocks> {
        let mut blocks = Blocks::default();
        if let Some(heap) = heap {
            blocks.heaps = fractal_heap::open(file, heap)?.blocks()?;
        }
        for tree in trees.into_iter().flatten() {
            blocks.trees.extend(btree2::blocks(file, tree, &mut |_, _| Ok(()))?);
        }
        Ok(blocks)
    }

    /// Returns all of them.
    pub(crate) fn all(mut self) -> Ranges {
        self.trees.append(&mut self.heaps);
        self.trees
    }
}

/// Everything that an object occupies besides its header.
#[derive(Debug, Default)]
pub(crate) struct Footprint {
    pub(crate) links: Blocks,
    pub(crate) attributes: Blocks,
    pub(crate) chunk_index: Ranges,
    pub(crate) elements: Ranges,
    /// Names of external files.
    pub(crate) external_names: Ranges,
}

impl Footprint {
    /// Returns every range, whatever it is for.
    pub(crate) fn all(self) -> impl Iterator<Item = (Address, u64)> {
        let parts = [self.links.all(), self.attributes.all(), self.chunk_index, self.elements];
        parts.into_iter().flatten().chain(self.external_names)
    }
}

/// Returns what links, attributes and names of external files occupy outside of an object's header.
pub(crate) fn metadata_of(file: &Reader, header: &Header) -> Result<Footprint> {
    let mut found = Footprint {
        attributes: attribute::blocks(file, header)?,
        external_names: external_names(file, header)?,
        ..Footprint::default()
    };
    if header.object_kind()? == ObjectKind::Group {
        found.links = group::blocks(file, header)?;
    }
    Ok(found)
}

/// Returns what a dataset's elements and their index occupy.
pub(crate) fn of_dataset(file: &Reader, header: &Header) -> Result<Footprint> {
    let mut found = Footprint::default();
    let dataset = dataset::load(file, header)?;
    match &dataset.layout {
        Layout::Contiguous { address: Some(at), .. } => {
            found.elements.push((*at, crate::chunk::logical_bytes(&dataset)?));
        }
        Layout::Chunked(layout) => {
            let chunks = Chunks::open(file, &dataset, layout)?;
            found.chunk_index = chunks.blocks()?;
            chunks.walk(&mut |_, chunk| {
                found.elements.push((chunk.address, chunk.bytes));
                Ok(())
            })?;
        }
        _ => {}
    }
    found.external_names = external_names(file, header)?;
    Ok(found)
}

/// Returns the heap of the names of external files.
fn external_names(file: &Reader, header: &Header) -> Result<Ranges> {
    let Some(message) = header.message(kind::EXTERNAL_FILES) else { return Ok(Vec::new()) };
    let sizes = file.store.sizes();
    let (at, _) = crate::format::external_files::decode(message.body, sizes)?;
    let bytes = LocalHeap::header_bytes(sizes);
    let heap = LocalHeap::decode(&file.store.block(at, bytes, "local heap")?, sizes)?;
    Ok(vec![(at, bytes), (heap.data, heap.data_bytes)])
}
