//! Changes to an extensible array of chunks in place, for readers that look on.
//!
//! An append with a commit each time changes one element of the index. Building the index anew each time would let the file
//! grow with the square of their number, since its old space is not used again while readers look on. Blocks that are there
//! already are published before the header of the dataset, which says how far the reader may go.

use model::{Error, Result};

use super::parts::ChunkSet;
use super::storage::Storage;
use crate::chunk::index::number;
use crate::format::encode::extensible_array::SecondaryBlock;
use crate::format::encode::fixed_array::page;
use crate::format::extensible_array::{ExtensibleArray, Group, IndexBlock, Place};
use crate::format::layout::Chunked;
use crate::format::records::ElementForm;
use crate::format::{Address, checksum};
use crate::txn::Turn;
use crate::update::Blocks;

/// An array while elements of it change.
struct Changing {
    at: Address,
    header: ExtensibleArray,
    form: ElementForm,
    elements: Vec<u8>,
    direct: Vec<Option<Address>>,
    secondary: Vec<Option<Address>>,
}

/// A data block and one element in it.
#[derive(Clone, Copy)]
struct Target<'e> {
    group: Group,
    block: u64,
    element: u64,
    bytes: &'e [u8],
}

fn put(elements: &mut [u8], number: u64, bytes: &[u8]) -> Result<()> {
    let start = (number as usize).checked_mul(bytes.len());
    let room = start.and_then(|start| elements.get_mut(start..start + bytes.len()));
    room.ok_or_else(|| Error::corrupt("change chunk index").with("element", number))?.copy_from_slice(bytes);
    Ok(())
}

impl Storage {
    fn read_back(&self, at: Address, bytes: u64) -> Result<Vec<u8>> {
        Blocks::read(self, at, bytes, "chunk index")
    }

    /// Puts some chunks of a dataset into its array, which stands at `at`.
    pub(crate) fn update_extensible_array(
        &mut self,
        (at, layout): (Address, &Chunked),
        set: &ChunkSet,
        changed: impl Iterator<Item = Vec<u64>>,
    ) -> Result<()> {
        let mut array = self.open_array(at, set.form(layout, self))?;
        let first = set.first_unlimited();
        for scaled in changed {
            let Some(chunk) = set.chunks.get(&scaled) else { continue };
            let number = number(&scaled, first, &set.max_dims, &layout.shape)?;
            let bytes = array.form.encode(set.element(chunk))?;
            self.put_element(&mut array, number, &bytes)?;
            array.header.entries = array.header.entries.max(number + 1);
        }
        let sizes = self.sizes;
        let Changing { header, elements, direct, secondary, .. } = array;
        let index = IndexBlock { elements: &elements, direct, secondary };
        let index_at = header.index_block.ok_or_else(|| Error::corrupt("change chunk index").at(at.0))?;
        self.write_in_turn(index_at, &header.encode_index_block(at, &index, sizes)?, Turn::First)?;
        self.write_in_turn(at, &header.encode(sizes)?, Turn::First)
    }

    fn open_array(&self, at: Address, form: ElementForm) -> Result<Changing> {
        let sizes = self.sizes;
        let header =
            ExtensibleArray::decode(&self.read_back(at, ExtensibleArray::header_bytes(sizes))?, sizes)?;
        let index_at = header.index_block.ok_or_else(|| Error::corrupt("change chunk index").at(at.0))?;
        let bytes = self.read_back(index_at, header.index_block_bytes(sizes))?;
        let index = header.index_block(&bytes, sizes, at)?;
        let (elements, direct, secondary) = (index.elements.to_vec(), index.direct, index.secondary);
        Ok(Changing { at, header, form, elements, direct, secondary })
    }

    fn put_element(&mut self, array: &mut Changing, number: u64, bytes: &[u8]) -> Result<()> {
        match array.header.place(number)? {
            Place::Index { element } => put(&mut array.elements, element, bytes),
            Place::Direct { pointer, group, element } => {
                let before: u64 = (0..group.number).map(|n| array.header.group(n).blocks).sum();
                let target = Target { group, block: pointer - before, element, bytes };
                let there = array.direct.get(pointer as usize).copied().flatten();
                let at = self.put_in_block(array, there, target)?;
                array.direct[pointer as usize] = Some(at);
                Ok(())
            }
            Place::Secondary { pointer, group, block, element } => {
                let target = Target { group, block, element, bytes };
                self.put_below_secondary(array, pointer, target)
            }
        }
    }

    fn put_below_secondary(&mut self, array: &mut Changing, pointer: u64, target: Target<'_>) -> Result<()> {
        let (sizes, group) = (self.sizes, target.group);
        let bytes = array.header.secondary_bytes(group, sizes);
        let (at, mut secondary) = match array.secondary.get(pointer as usize).copied().flatten() {
            Some(at) => {
                let block = self.read_back(at, bytes)?;
                (at, array.header.decode_secondary(&block, array.at, group, sizes)?)
            }
            None => {
                array.header.counts.secondary_blocks += 1;
                array.header.counts.secondary_bytes += bytes;
                (self.allocate(bytes), array.header.empty_secondary(group)?)
            }
        };
        let there = secondary.blocks[target.block as usize];
        let data = match array.header.is_paged(group) {
            true => self.put_in_page(array, there, target, &mut secondary)?,
            false => self.put_in_block(array, there, target)?,
        };
        secondary.blocks[target.block as usize] = Some(data);
        let block = array.header.encode_secondary(array.at, group, &secondary, sizes)?;
        self.write_in_turn(at, &block, Turn::First)?;
        array.secondary[pointer as usize] = Some(at);
        Ok(())
    }

    /// Room for a data block that is not there yet.
    fn new_block(&mut self, array: &mut Changing, group: Group) -> Address {
        let header = &mut array.header;
        let bytes = header.data_bytes(group, self.sizes) + 4 * header.pages(group);
        header.counts.data_blocks += 1;
        header.counts.data_bytes += bytes;
        header.counts.elements += group.elements;
        self.allocate(bytes)
    }

    /// Puts an element into a data block without pages.
    fn put_in_block(
        &mut self,
        array: &mut Changing,
        there: Option<Address>,
        target: Target<'_>,
    ) -> Result<Address> {
        let (sizes, group) = (self.sizes, target.group);
        let (at, mut elements) = match there {
            Some(at) => {
                let block = self.read_back(at, array.header.data_bytes(group, sizes))?;
                array.header.check_data(&block, sizes, array.at)?;
                (at, array.header.data_elements(&block, sizes).to_vec())
            }
            None => (self.new_block(array, group), absent(array.form, group.elements)?),
        };
        put(&mut elements, target.element, target.bytes)?;
        let block = array.header.encode_data(array.at, (group, target.block), &elements, sizes)?;
        self.write_in_turn(at, &block, Turn::First)?;
        Ok(at)
    }

    /// Puts an element into a page of a data block.
    fn put_in_page(
        &mut self,
        array: &mut Changing,
        there: Option<Address>,
        target: Target<'_>,
        secondary: &mut SecondaryBlock,
    ) -> Result<Address> {
        let (sizes, group) = (self.sizes, target.group);
        let at = match there {
            Some(at) => at,
            None => {
                let at = self.new_block(array, group);
                let head = array.header.encode_data(array.at, (group, target.block), &[], sizes)?;
                self.write_in_turn(at, &head, Turn::First)?;
                at
            }
        };
        let entries = array.header.page_entries();
        let (number, within) = (target.element / entries, target.element % entries);
        let (start, bytes) = array.header.page(number, sizes);
        let page_at = Address(at.0 + start);
        let mut elements = match array.header.is_page_written(group, secondary, target.block, number) {
            true => {
                let mut stored = self.read_back(page_at, bytes)?;
                checksum::verify(&stored, "page of chunk index")?;
                stored.truncate(stored.len() - 4);
                stored
            }
            false => absent(array.form, entries)?,
        };
        put(&mut elements, within, target.bytes)?;
        self.write_in_turn(page_at, &page(&elements)?, Turn::First)?;
        array.header.set_page_written(group, secondary, target.block, number);
        Ok(at)
    }
}

/// Elements of chunks that are not stored.
fn absent(form: ElementForm, count: u64) -> Result<Vec<u8>> {
    Ok(form.encode(form.absent())?.repeat(count as usize))
}
