//! Arrays of chunks that change in place: one element, one block.
//!
//! An element has its place for good, so that a block can be overwritten in one write: a caller that reads finds what was there, or
//! what is new. Blocks are published before the header of the dataset, which says how far a reader may go.

use files::DataKind;
use model::{Error, Result};

use super::storage::Storage;
use crate::format::encode::extensible_array::SecondaryBlock;
use crate::format::encode::fixed_array::{page, set_page_written};
use crate::format::extensible_array::{ElementLocation, ExtensibleArray, Group, IndexBlock};
use crate::format::fixed_array::{FixedArray, page_is_written};
use crate::format::records::ElementForm;
use crate::format::{Address, checksum};
use crate::txn::PublishOrder;
use crate::update::Blocks;

/// An array while elements of it change.
struct ArrayUpdate {
    at: Address,
    header: ExtensibleArray,
    form: ElementForm,
    index_at: Address,
    /// When the index block is published: one that is new, before the header that leads to it.
    index_order: PublishOrder,
    elements: Vec<u8>,
    direct: Vec<Option<Address>>,
    secondary: Vec<Option<Address>>,
}

/// A data block and elements in it, all in one page if it has pages.
#[derive(Clone, Copy)]
struct ArrayTarget<'e> {
    group: Group,
    block: u64,
    /// Within the block.
    elements: &'e [(u64, &'e [u8])],
}

/// An element and its number in the array.
pub(super) type Element = (u64, Vec<u8>);

fn put_all(buffer: &mut [u8], elements: &[(u64, &[u8])]) -> Result<()> {
    for (number, bytes) in elements {
        let start = (*number as usize).checked_mul(bytes.len());
        let place = start.and_then(|start| buffer.get_mut(start..start + bytes.len()));
        let outside = || Error::corrupt("change chunk index").with("element", number);
        place.ok_or_else(outside)?.copy_from_slice(bytes);
    }
    Ok(())
}

/// Returns the place of an element in its block.
fn element_of(place: ElementLocation) -> u64 {
    match place {
        ElementLocation::Index { element }
        | ElementLocation::Direct { element, .. }
        | ElementLocation::Secondary { element, .. } => element,
    }
}

impl ArrayUpdate {
    /// Returns what is read and written together: the index block, a data block, or a page of one.
    fn block_of(&self, place: ElementLocation) -> (u8, u64, u64, u64) {
        match place {
            ElementLocation::Index { .. } => (0, 0, 0, 0),
            ElementLocation::Direct { pointer, .. } => (1, pointer, 0, 0),
            ElementLocation::Secondary { pointer, group, block, element } => {
                let page = if self.header.is_paged(group) { element / self.header.page_entries() } else { 0 };
                (2, pointer, block, page)
            }
        }
    }
}

impl Storage {
    fn read_back(&self, at: Address, bytes: u64) -> Result<Vec<u8>> {
        Blocks::read(self, at, bytes, "chunk index")
    }

    /// Puts elements, which are sorted by their numbers, into the array at `at`.
    pub(crate) fn update_extensible_array(
        &mut self,
        at: Address,
        form: ElementForm,
        elements: &[Element],
    ) -> Result<()> {
        let Some((last, _)) = elements.last() else { return Ok(()) };
        let mut array = self.open_array(at, form)?;
        let places = elements.iter().map(|(number, bytes)| Ok((array.header.place(*number)?, &bytes[..])));
        let places = places.collect::<Result<Vec<_>>>()?;
        let near: Vec<&[_]> = places.chunk_by(|a, b| array.block_of(a.0) == array.block_of(b.0)).collect();
        near.into_iter().try_for_each(|near| self.put_elements(&mut array, near))?;
        array.header.entries = array.header.entries.max(last + 1);
        let sizes = self.sizes;
        let ArrayUpdate { header, index_at, index_order, elements, direct, secondary, .. } = array;
        let index = IndexBlock { elements: &elements, direct, secondary };
        self.write_in_turn(index_at, &header.encode_index_block(at, &index, sizes)?, index_order)?;
        self.write_in_turn(at, &header.encode(sizes)?, PublishOrder::Second)
    }

    fn open_array(&mut self, at: Address, form: ElementForm) -> Result<ArrayUpdate> {
        let sizes = self.sizes;
        let header =
            ExtensibleArray::decode(&self.read_back(at, ExtensibleArray::header_bytes(sizes))?, sizes)?;
        let Some(index_at) = header.index_block else { return self.first_index_block(at, header, form) };
        let bytes = self.read_back(index_at, header.index_block_bytes(sizes))?;
        let index = header.index_block(&bytes, sizes, at)?;
        let (elements, direct, secondary) = (index.elements.to_vec(), index.direct, index.secondary);
        let index_order = PublishOrder::Second;
        Ok(ArrayUpdate { at, header, form, index_at, index_order, elements, direct, secondary })
    }

    /// Gives an index block to an array that never had an element: libhdf5 makes one with the first.
    fn first_index_block(
        &mut self,
        at: Address,
        mut header: ExtensibleArray,
        form: ElementForm,
    ) -> Result<ArrayUpdate> {
        let index_at = self.allocate(header.index_block_bytes(self.sizes), DataKind::ObjectHeader);
        header.index_block = Some(index_at);
        header.counts.elements += u64::from(header.index_elements);
        Ok(ArrayUpdate {
            at,
            form,
            index_at,
            index_order: PublishOrder::First,
            elements: absent(form, u64::from(header.index_elements))?,
            direct: vec![None; header.direct_pointers() as usize],
            secondary: vec![None; header.secondary_pointers() as usize],
            header,
        })
    }

    /// Puts elements of one block, or of one page of it, to their places.
    fn put_elements(&mut self, array: &mut ArrayUpdate, near: &[(ElementLocation, &[u8])]) -> Result<()> {
        let Some((first, _)) = near.first() else { return Ok(()) };
        let elements: Vec<(u64, &[u8])> =
            near.iter().map(|(place, bytes)| (element_of(*place), *bytes)).collect();
        match *first {
            ElementLocation::Index { .. } => put_all(&mut array.elements, &elements),
            ElementLocation::Direct { pointer, group, .. } => {
                let before: u64 = (0..group.number).map(|n| array.header.group(n).blocks).sum();
                let target = ArrayTarget { group, block: pointer - before, elements: &elements };
                let there = array.direct.get(pointer as usize).copied().flatten();
                let at = self.put_in_block(array, there, target)?;
                array.direct[pointer as usize] = Some(at);
                Ok(())
            }
            ElementLocation::Secondary { pointer, group, block, .. } => {
                let target = ArrayTarget { group, block, elements: &elements };
                self.put_below_secondary(array, pointer, target)
            }
        }
    }

    fn put_below_secondary(
        &mut self,
        array: &mut ArrayUpdate,
        pointer: u64,
        target: ArrayTarget<'_>,
    ) -> Result<()> {
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
                (self.allocate(bytes, DataKind::Tree), array.header.empty_secondary(group)?)
            }
        };
        let there = secondary.blocks[target.block as usize];
        let data = match array.header.is_paged(group) {
            true => self.put_in_page(array, there, target, &mut secondary)?,
            false => self.put_in_block(array, there, target)?,
        };
        secondary.blocks[target.block as usize] = Some(data);
        let block = array.header.encode_secondary(array.at, group, &secondary, sizes)?;
        self.write_in_turn(at, &block, PublishOrder::Second)?;
        array.secondary[pointer as usize] = Some(at);
        Ok(())
    }

    /// Allocates a data block that does not exist yet.
    fn new_block(&mut self, array: &mut ArrayUpdate, group: Group) -> Address {
        let header = &mut array.header;
        let bytes = header.data_bytes(group, self.sizes) + 4 * header.pages(group);
        header.counts.data_blocks += 1;
        header.counts.data_bytes += bytes;
        header.counts.elements += group.elements;
        self.allocate(bytes, DataKind::LocalHeap)
    }

    /// Puts an element into a data block without pages.
    fn put_in_block(
        &mut self,
        array: &mut ArrayUpdate,
        there: Option<Address>,
        target: ArrayTarget<'_>,
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
        put_all(&mut elements, target.elements)?;
        let block = array.header.encode_data(array.at, (group, target.block), &elements, sizes)?;
        self.write_in_turn(at, &block, PublishOrder::First)?;
        Ok(at)
    }

    /// Puts an element into a page of a data block.
    fn put_in_page(
        &mut self,
        array: &mut ArrayUpdate,
        there: Option<Address>,
        target: ArrayTarget<'_>,
        secondary: &mut SecondaryBlock,
    ) -> Result<Address> {
        let (sizes, group) = (self.sizes, target.group);
        let at = match there {
            Some(at) => at,
            None => {
                let at = self.new_block(array, group);
                let head = array.header.encode_data(array.at, (group, target.block), &[], sizes)?;
                self.write_in_turn(at, &head, PublishOrder::First)?;
                at
            }
        };
        let entries = array.header.page_entries();
        let number = target.elements.first().map_or(0, |(element, _)| element / entries);
        let within: Vec<(u64, &[u8])> =
            target.elements.iter().map(|(n, bytes)| (n % entries, *bytes)).collect();
        let (start, bytes) = array.header.page(number, sizes);
        let page_at = Address(at.0 + start);
        let mut elements = match array.header.is_page_written(group, secondary, target.block, number) {
            true => self.read_page(page_at, bytes)?,
            false => absent(array.form, entries)?,
        };
        put_all(&mut elements, &within)?;
        self.write_in_turn(page_at, &page(&elements)?, PublishOrder::First)?;
        array.header.set_page_written(group, secondary, target.block, number);
        Ok(at)
    }
}

impl Storage {
    /// Puts elements, which are sorted by their numbers, into the fixed array at `at`.
    pub(crate) fn update_fixed_array(
        &mut self,
        at: Address,
        form: ElementForm,
        elements: &[Element],
    ) -> Result<()> {
        let (sizes, wrong) = (self.sizes, || Error::corrupt("change chunk index").at(at.0));
        let array = FixedArray::decode(&self.read_back(at, FixedArray::header_bytes(sizes))?, sizes)?;
        let Some(block) = array.block else { return self.first_fixed_block(at, array, form, elements) };
        let bytes = self.read_back(block, array.block_bytes(sizes).ok_or_else(wrong)?)?;
        array.check_block(&bytes, sizes, at)?;
        let before = array.block_body(&bytes, sizes);
        let mut body = before.to_vec();
        let all: Vec<(u64, &[u8])> = elements.iter().map(|(number, bytes)| (*number, &bytes[..])).collect();
        match array.is_paged() {
            false => put_all(&mut body, &all)?,
            true => {
                for near in all.chunk_by(|a, b| a.0 / array.page_entries() == b.0 / array.page_entries()) {
                    self.put_in_fixed_page(&array, block, &mut body, form, near)?;
                }
            }
        }
        match body == before {
            true => Ok(()),
            false => self.write_in_turn(block, &array.encode_block(at, &body, sizes)?, PublishOrder::Second),
        }
    }

    /// Gives a block to an array that never had an element: libhdf5 makes one with the first.
    fn first_fixed_block(
        &mut self,
        at: Address,
        mut array: FixedArray,
        form: ElementForm,
        elements: &[Element],
    ) -> Result<()> {
        let (block, bytes) = self.build_fixed_block(at, &array, form, elements)?;
        array.block = Some(block);
        self.write_in_turn(block, &bytes, PublishOrder::First)?;
        self.write_in_turn(at, &array.encode(self.sizes)?, PublishOrder::Second)
    }

    /// Puts elements into a page, and notes in the bitmap that it is there.
    fn put_in_fixed_page(
        &mut self,
        array: &FixedArray,
        block: Address,
        bitmap: &mut [u8],
        form: ElementForm,
        near: &[(u64, &[u8])],
    ) -> Result<()> {
        let Some((first, _)) = near.first() else { return Ok(()) };
        let number = first / array.page_entries();
        let outside = || Error::corrupt("change chunk index").with("page", number);
        let (start, count) = array.page(number, self.sizes).ok_or_else(outside)?;
        let at = Address(block.0 + start);
        let mut elements = match page_is_written(bitmap, number) {
            true => self.read_page(at, count * form.bytes() as u64 + 4)?,
            false => absent(form, count)?,
        };
        let from = number * array.page_entries();
        let within: Vec<(u64, &[u8])> = near.iter().map(|(n, bytes)| (n - from, *bytes)).collect();
        put_all(&mut elements, &within)?;
        self.write_in_turn(at, &page(&elements)?, PublishOrder::First)?;
        set_page_written(bitmap, number);
        Ok(())
    }

    /// Returns the elements of a page that is there.
    fn read_page(&self, at: Address, bytes: u64) -> Result<Vec<u8>> {
        let mut stored = self.read_back(at, bytes)?;
        checksum::verify(&stored, "page of chunk index")?;
        stored.truncate(stored.len() - 4);
        Ok(stored)
    }
}

/// Returns the elements of chunks that are not stored.
fn absent(form: ElementForm, count: u64) -> Result<Vec<u8>> {
    Ok(form.encode(form.absent())?.repeat(count as usize))
}
