//! Fixed and extensible arrays of chunks, built whole.

use files::DataKind;
use model::{Error, Result};

use super::super::parts::{ChunkMap, ChunkSet};
use super::super::storage::Storage;
use crate::format::Address;
use crate::format::encode::fixed_array::{page, set_page_written};
use crate::format::extensible_array::{Counts, ExtensibleArray, Group, IndexBlock};
use crate::format::fixed_array::FixedArray;
use crate::format::layout::Chunked;
use crate::format::records::ElementForm;

/// Returns the elements `start..start + count` as one piece, with absent ones between those that are there.
fn piece(elements: &[(u64, Vec<u8>)], start: u64, count: u64, form: ElementForm) -> Result<Option<Vec<u8>>> {
    let from = elements.partition_point(|e| e.0 < start);
    let to = elements.partition_point(|e| e.0 < start + count);
    if from == to {
        return Ok(None);
    }
    let mut bytes = form.encode(form.absent())?.repeat(count as usize);
    for (number, element) in &elements[from..to] {
        let at = (number - start) as usize * element.len();
        bytes[at..at + element.len()].copy_from_slice(element);
    }
    Ok(Some(bytes))
}

fn element_bytes(form: ElementForm) -> Result<u8> {
    u8::try_from(form.bytes()).map_err(|_| Error::limit("build chunk index"))
}

impl Storage {
    pub(super) fn build_fixed_array(
        &mut self,
        set: &ChunkSet,
        chunks: &ChunkMap,
        layout: &Chunked,
    ) -> Result<Address> {
        let (sizes, form) = (self.sizes, set.form(layout, self));
        let too_many = || Error::limit("build chunk index").with("problem", "too many chunks");
        let grid = set.max_dims().iter().zip(&layout.shape).map(|(d, c)| d.div_ceil(*c));
        let entries = grid.into_iter().try_fold(1u64, u64::checked_mul).ok_or_else(too_many)?;
        let page_bits = layout.parameters.first().copied().unwrap_or(10);
        let element_bytes = element_bytes(form)?;
        let mut array = FixedArray { filtered: set.filtered, element_bytes, page_bits, entries, block: None };
        let header = self.allocate(FixedArray::header_bytes(sizes), DataKind::ObjectHeader);
        let elements = set.numbered(chunks.iter().map(|(s, c)| (s, Some(c))), layout, self)?;
        let (block, bytes) = self.build_fixed_block(header, &array, form, &elements)?;
        array.block = Some(block);
        self.write(block, &bytes)?;
        self.write(header, &array.encode(sizes)?)?;
        Ok(header)
    }

    /// Allocates the block of an array and writes its pages. Returns where it is, and what stands before the pages.
    pub(in crate::write) fn build_fixed_block(
        &mut self,
        header: Address,
        array: &FixedArray,
        form: ElementForm,
        elements: &[(u64, Vec<u8>)],
    ) -> Result<(Address, Vec<u8>)> {
        let too_many = || Error::limit("build chunk index").with("problem", "too many chunks");
        let head_bytes = array.block_bytes(self.sizes).ok_or_else(too_many)?;
        let bytes =
            array.pages_bytes().and_then(|pages| head_bytes.checked_add(pages)).ok_or_else(too_many)?;
        let block = self.allocate(bytes, DataKind::LocalHeap);
        let body = match array.is_paged() {
            false => piece(elements, 0, array.entries, form)?.unwrap_or_default(),
            true => self.store_fixed_pages(array, block, elements, form)?,
        };
        Ok((block, array.encode_block(header, &body, self.sizes)?))
    }

    /// Writes the pages that have chunks; the bitmap that says which.
    fn store_fixed_pages(
        &mut self,
        array: &FixedArray,
        block: Address,
        elements: &[(u64, Vec<u8>)],
        form: ElementForm,
    ) -> Result<Vec<u8>> {
        let mut bitmap = vec![0; array.pages().div_ceil(8) as usize];
        let mut rest = elements;
        while let Some((first, _)) = rest.first() {
            let number = first / array.page_entries();
            let (start, count) =
                array.page(number, self.sizes).ok_or_else(|| Error::limit("build chunk index"))?;
            if let Some(bytes) = piece(rest, number * array.page_entries(), count, form)? {
                self.write(Address(block.0 + start), &page(&bytes)?)?;
                set_page_written(&mut bitmap, number);
            }
            rest = &rest[rest.partition_point(|e| e.0 / array.page_entries() == number)..];
        }
        Ok(bitmap)
    }

    pub(super) fn build_extensible_array(
        &mut self,
        set: &ChunkSet,
        chunks: &ChunkMap,
        layout: &Chunked,
    ) -> Result<Address> {
        let (sizes, form) = (self.sizes, set.form(layout, self));
        let [max_bits, index_elements, pointers_min, block_elements_min, page_bits] =
            layout.parameters.first_chunk().copied().unwrap_or([32, 4, 4, 16, 10]);
        let elements = set.numbered(chunks.iter().map(|(s, c)| (s, Some(c))), layout, self)?;
        let mut array = ExtensibleArray {
            filtered: set.filtered,
            element_bytes: element_bytes(form)?,
            max_bits,
            index_elements,
            block_elements_min,
            pointers_min,
            page_bits,
            counts: Counts::default(),
            entries: elements.last().map_or(0, |e| e.0 + 1),
            index_block: None,
        };
        let header = self.allocate(ExtensibleArray::header_bytes(sizes), DataKind::ObjectHeader);
        array.counts.elements = u64::from(index_elements);
        let in_index = match piece(&elements, 0, u64::from(index_elements), form)? {
            Some(bytes) => bytes,
            None => form.encode(form.absent())?.repeat(usize::from(index_elements)),
        };
        let mut index = IndexBlock { elements: &in_index, direct: Vec::new(), secondary: Vec::new() };
        for place in array.groups().collect::<Vec<_>>() {
            let (group, first) = (place.group, place.first_element);
            if place.is_direct {
                for block in 0..group.blocks {
                    let start = first + block * group.elements;
                    let stored =
                        self.store_data(&mut array, header, (group, block, start), &elements, form)?;
                    index.direct.push(stored.map(|s| s.0));
                }
            } else {
                index.secondary.push(self.store_secondary(
                    &mut array,
                    header,
                    (group, first),
                    &elements,
                    form,
                )?);
            }
        }
        let at = self.allocate(array.index_block_bytes(sizes), DataKind::ObjectHeader);
        array.index_block = Some(at);
        self.write(at, &array.encode_index_block(header, &index, sizes)?)?;
        self.write(header, &array.encode(sizes)?)?;
        Ok(header)
    }

    /// Returns a secondary block with its data blocks, where any chunk is in them.
    fn store_secondary(
        &mut self,
        array: &mut ExtensibleArray,
        header: Address,
        (group, first): (Group, u64),
        elements: &[(u64, Vec<u8>)],
        form: ElementForm,
    ) -> Result<Option<Address>> {
        let count = group.blocks.saturating_mul(group.elements);
        let from = elements.partition_point(|e| e.0 < first);
        let to = elements.partition_point(|e| e.0 < first.saturating_add(count));
        let mut rest = &elements[from..to];
        if rest.is_empty() {
            return Ok(None);
        }
        let mut secondary = array.empty_secondary(group)?;
        while let Some((number, _)) = rest.first() {
            let block = (number - first) / group.elements;
            let start = first + block * group.elements;
            let stored = self.store_data(array, header, (group, block, start), rest, form)?;
            if let Some((at, pages)) = stored {
                secondary.blocks[block as usize] = Some(at);
                for page in pages {
                    array.set_page_written(group, &mut secondary, block, page);
                }
            }
            rest = &rest[rest.partition_point(|e| e.0 < start + group.elements)..];
        }
        let bytes = array.secondary_bytes(group, self.sizes);
        let at = self.allocate(bytes, DataKind::Tree);
        array.counts.secondary_blocks += 1;
        array.counts.secondary_bytes += bytes;
        self.write(at, &array.encode_secondary(header, group, &secondary, self.sizes)?)?;
        Ok(Some(at))
    }

    /// Returns a data block whose first element is `start`, where any chunk is in it, and its written pages.
    fn store_data(
        &mut self,
        array: &mut ExtensibleArray,
        header: Address,
        (group, block, start): (Group, u64, u64),
        elements: &[(u64, Vec<u8>)],
        form: ElementForm,
    ) -> Result<Option<(Address, Vec<u64>)>> {
        let sizes = self.sizes;
        let from = elements.partition_point(|e| e.0 < start);
        let to = elements.partition_point(|e| e.0 < start + group.elements);
        let mut rest = &elements[from..to];
        if rest.is_empty() {
            return Ok(None);
        }
        let bytes = array.data_bytes(group, sizes) + 4 * array.pages(group);
        let at = self.allocate(bytes, DataKind::LocalHeap);
        array.counts.data_blocks += 1;
        array.counts.data_bytes += bytes;
        array.counts.elements += group.elements;
        if !array.is_paged(group) {
            let body = piece(rest, start, group.elements, form)?.unwrap_or_default();
            self.write(at, &array.encode_data(header, (group, block), &body, sizes)?)?;
            return Ok(Some((at, Vec::new())));
        }
        self.write(at, &array.encode_data(header, (group, block), &[], sizes)?)?;
        let (mut pages, entries) = (Vec::new(), array.page_entries());
        while let Some((number, _)) = rest.first() {
            let n = (number - start) / entries;
            if let Some(bytes) = piece(rest, start + n * entries, entries, form)? {
                self.write(Address(at.0 + array.page(n, sizes).0), &page(&bytes)?)?;
            }
            pages.push(n);
            rest = &rest[rest.partition_point(|e| e.0 < start + (n + 1) * entries)..];
        }
        Ok(Some((at, pages)))
    }
}
