//! Elements of fixed and extensible arrays.

use std::sync::Arc;

use model::{Context, Error, Result};

use crate::format::Address;
use crate::format::checksum;
use crate::format::extensible_array::{ElementLocation, ExtensibleArray, Group, GroupPlace};
use crate::format::fixed_array::{self, FixedArray};
use crate::reader::Reader;

/// An open array of chunk records.
#[derive(Debug)]
pub(crate) enum Array {
    Fixed { header: FixedArray, address: Address },
    Extensible { header: ExtensibleArray, address: Address },
}

impl Array {
    pub(crate) fn open_fixed(file: &Reader, address: Address) -> Result<Array> {
        let sizes = file.store.sizes();
        let bytes = file.store.block(address, FixedArray::header_bytes(sizes), "fixed array header")?;
        let header = FixedArray::decode(&bytes, sizes).during_at("open fixed array", address.0)?;
        Ok(Array::Fixed { header, address })
    }

    pub(crate) fn open_extensible(file: &Reader, address: Address) -> Result<Array> {
        let sizes = file.store.sizes();
        let bytes =
            file.store.block(address, ExtensibleArray::header_bytes(sizes), "extensible array header")?;
        let header = ExtensibleArray::decode(&bytes, sizes).during_at("open extensible array", address.0)?;
        Ok(Array::Extensible { header, address })
    }

    pub(crate) fn is_extensible(&self) -> bool {
        matches!(self, Array::Extensible { .. })
    }

    /// Returns the bytes of element `number`, or nothing where no block holds it.
    pub(crate) fn element(&self, file: &Reader, number: u64) -> Result<Option<Vec<u8>>> {
        match self {
            Array::Fixed { header, address } => fixed(file, header, *address, number),
            Array::Extensible { header, address } if number < header.entries => {
                extensible(file, header, *address, number)
            }
            Array::Extensible { .. } => Ok(None),
        }
    }
}

/// Called with the number and the bytes of an element.
type Visit<'v> = dyn FnMut(u64, &[u8]) -> Result<()> + 'v;

impl Array {
    /// Visits every element of every block that exists.
    pub(crate) fn walk(&self, file: &Reader, visit: &mut Visit<'_>) -> Result<()> {
        match self {
            Array::Fixed { header, address } => walk_fixed(file, header, *address, visit),
            Array::Extensible { header, address } => walk_extensible(file, header, *address, visit),
        }
    }
}

impl Array {
    /// Returns every block of the index, with its bytes.
    pub(crate) fn blocks(&self, file: &Reader) -> Result<Vec<(Address, u64)>> {
        let sizes = file.store.sizes();
        match self {
            Array::Fixed { header, address } => {
                let oversize = || Error::corrupt("read fixed array").at(address.0);
                let pages = header.pages_bytes().ok_or_else(oversize)?;
                let block =
                    header.block_bytes(sizes).and_then(|n| n.checked_add(pages)).ok_or_else(oversize)?;
                let block = header.block.map(|at| (at, block));
                Ok([(*address, FixedArray::header_bytes(sizes))].into_iter().chain(block).collect())
            }
            Array::Extensible { header, address } => {
                let mut found = vec![(*address, ExtensibleArray::header_bytes(sizes))];
                extensible_blocks(file, header, *address, &mut found)?;
                Ok(found)
            }
        }
    }
}

fn extensible_blocks(
    file: &Reader,
    header: &ExtensibleArray,
    address: Address,
    found: &mut Vec<(Address, u64)>,
) -> Result<()> {
    let Some(at) = header.index_block else { return Ok(()) };
    let sizes = file.store.sizes();
    let bytes = header.index_block_bytes(sizes);
    found.push((at, bytes));
    let bytes = file.store.block(at, bytes, "extensible array index block")?;
    let index = header.index_block(&bytes, sizes, address).during_at("read extensible array", at.0)?;
    let mut direct = index.direct.iter();
    for place in header.groups() {
        let group = place.group;
        let whole = header.data_bytes(group, sizes) + 4 * header.pages(group);
        if place.is_direct {
            found.extend(direct.by_ref().take(group.blocks as usize).flatten().map(|&at| (at, whole)));
        } else if let Some(at) = index.secondary.get(place.pointer as usize).copied().flatten() {
            let bytes = header.secondary_bytes(group, sizes);
            found.push((at, bytes));
            let block = file.store.block(at, bytes, "extensible array secondary block")?;
            let blocks = header.decode_secondary(&block, address, group, sizes)?.blocks;
            found.extend(blocks.into_iter().flatten().map(|at| (at, whole)));
        }
    }
    Ok(())
}

fn each(elements: &[u8], first: u64, bytes: u8, visit: &mut Visit<'_>) -> Result<()> {
    let numbered = elements.chunks_exact(usize::from(bytes)).zip(first..);
    numbered.into_iter().try_for_each(|(element, number)| visit(number, element))
}

/// Returns the block of a fixed array, checked: its elements, or what stands before its pages.
fn fixed_block(file: &Reader, header: &FixedArray, address: Address, at: Address) -> Result<Arc<Vec<u8>>> {
    let sizes = file.store.sizes();
    let oversize = || Error::corrupt("read fixed array").at(at.0).with("entries", header.entries);
    let bytes = header.block_bytes(sizes).ok_or_else(oversize)?;
    file.store.verified_with(at, bytes, "fixed array block", |b| header.check_block(b, sizes, address))
}

fn walk_fixed(file: &Reader, header: &FixedArray, address: Address, visit: &mut Visit<'_>) -> Result<()> {
    let Some(at) = header.block else { return Ok(()) };
    let sizes = file.store.sizes();
    let oversize = || Error::corrupt("read fixed array").at(at.0).with("entries", header.entries);
    let block = fixed_block(file, header, address, at)?;
    let body = header.block_body(&block, sizes);
    if !header.is_paged() {
        return each(body, 0, header.element_bytes, visit);
    }
    for page in (0..8 * body.len() as u64).filter(|&page| fixed_array::page_is_written(body, page)) {
        let (start, entries) = header.page(page, sizes).ok_or_else(oversize)?;
        let elements = page_elements(file, at, start, entries * u64::from(header.element_bytes) + 4)?;
        each(&elements[..elements.len() - 4], page * header.page_entries(), header.element_bytes, visit)?;
    }
    Ok(())
}

fn walk_extensible(
    file: &Reader,
    header: &ExtensibleArray,
    address: Address,
    visit: &mut Visit<'_>,
) -> Result<()> {
    let Some(at) = header.index_block else { return Ok(()) };
    let sizes = file.store.sizes();
    let bytes = file.store.block(at, header.index_block_bytes(sizes), "extensible array index block")?;
    let index = header.index_block(&bytes, sizes, address).during_at("read extensible array", at.0)?;
    each(index.elements, 0, header.element_bytes, visit)?;
    let mut direct = index.direct.iter();
    for group in header.groups() {
        if group.is_direct {
            for (block, data) in direct.by_ref().take(group.group.blocks as usize).enumerate() {
                walk_data(file, header, address, *data, (group, block as u64), &[], visit)?;
            }
        } else if let Some(at) = index.secondary.get(group.pointer as usize).copied().flatten() {
            let bytes = header.secondary_bytes(group.group, sizes);
            let bytes = file.store.block(at, bytes, "extensible array secondary block")?;
            for block in 0..group.group.blocks {
                let (data, bitmap) = header.secondary(&bytes, sizes, address, group.group, block)?;
                walk_data(file, header, address, data, (group, block), bitmap, visit)?;
            }
        }
    }
    Ok(())
}

fn walk_data(
    file: &Reader,
    header: &ExtensibleArray,
    address: Address,
    data: Option<Address>,
    (place, block): (GroupPlace, u64),
    bitmap: &[u8],
    visit: &mut Visit<'_>,
) -> Result<()> {
    let Some(at) = data else { return Ok(()) };
    let (sizes, group) = (file.store.sizes(), place.group);
    let first = place.first_element + block * group.elements;
    if !header.is_paged(group) {
        let bytes = header.data_bytes(group, sizes);
        let check = |b: &[u8]| header.check_data(b, sizes, address);
        let block = file.store.verified_with(at, bytes, "extensible array data block", check)?;
        return each(header.data_elements(&block, sizes), first, header.element_bytes, visit);
    }
    for page in
        (0..group.elements / header.page_entries()).filter(|&p| fixed_array::page_is_written(bitmap, p))
    {
        let (start, bytes) = header.page(page, sizes);
        let elements = page_elements(file, at, start, bytes)?;
        each(
            &elements[..elements.len() - 4],
            first + page * header.page_entries(),
            header.element_bytes,
            visit,
        )?;
    }
    Ok(())
}

fn cut(elements: &[u8], number: u64, bytes: u8) -> Result<Option<Vec<u8>>> {
    let start = usize::try_from(number).ok().and_then(|n| n.checked_mul(usize::from(bytes)));
    let element = start.and_then(|s| elements.get(s..s.checked_add(usize::from(bytes))?));
    element
        .map(|e| Some(e.to_vec()))
        .ok_or_else(|| Error::corrupt("read chunk index").with("element", number))
}

fn fixed(file: &Reader, header: &FixedArray, address: Address, number: u64) -> Result<Option<Vec<u8>>> {
    let Some(at) = header.block else { return Ok(None) };
    let sizes = file.store.sizes();
    let oversize = || Error::corrupt("read fixed array").at(at.0).with("entries", header.entries);
    if number >= header.entries {
        return Err(oversize().with("entry", number));
    }
    let block = fixed_block(file, header, address, at)?;
    let body = header.block_body(&block, sizes);
    if !header.is_paged() {
        return cut(body, number, header.element_bytes);
    }
    let (page, within) = (number / header.page_entries(), number % header.page_entries());
    if !fixed_array::page_is_written(body, page) {
        return Ok(None);
    }
    let (start, entries) = header.page(page, sizes).ok_or_else(oversize)?;
    let elements = page_elements(file, at, start, entries * u64::from(header.element_bytes) + 4)?;
    cut(&elements, within, header.element_bytes)
}

/// Returns the elements of a page: all but its checksum.
fn page_elements(file: &Reader, block: Address, start: u64, bytes: u64) -> Result<Arc<Vec<u8>>> {
    let at =
        block.0.checked_add(start).ok_or_else(|| Error::corrupt("find page of chunk index").at(block.0))?;
    let page = file.store.verified_with(Address(at), bytes, "page of chunk index", |b| {
        checksum::verify(b, "page of chunk index")
    })?;
    Ok(page)
}

fn extensible(
    file: &Reader,
    header: &ExtensibleArray,
    address: Address,
    number: u64,
) -> Result<Option<Vec<u8>>> {
    let Some(at) = header.index_block else { return Ok(None) };
    let sizes = file.store.sizes();
    let bytes = file.store.block(at, header.index_block_bytes(sizes), "extensible array index block")?;
    let index = header.index_block(&bytes, sizes, address).during_at("read extensible array", at.0)?;
    match header.place(number)? {
        ElementLocation::Index { element } => cut(index.elements, element, header.element_bytes),
        ElementLocation::Direct { pointer, group, element } => {
            let block = index.direct.get(pointer as usize).copied().flatten();
            data_element(file, header, address, block, group, element, &[])
        }
        ElementLocation::Secondary { pointer, group, block, element } => {
            let Some(at) = index.secondary.get(pointer as usize).copied().flatten() else { return Ok(None) };
            let bytes = file.store.block(
                at,
                header.secondary_bytes(group, sizes),
                "extensible array secondary block",
            )?;
            let (data, bitmap) = header.secondary(&bytes, sizes, address, group, block)?;
            data_element(file, header, address, data, group, element, bitmap)
        }
    }
}

fn data_element(
    file: &Reader,
    header: &ExtensibleArray,
    address: Address,
    block: Option<Address>,
    group: Group,
    element: u64,
    bitmap: &[u8],
) -> Result<Option<Vec<u8>>> {
    let Some(at) = block else { return Ok(None) };
    let sizes = file.store.sizes();
    if !header.is_paged(group) {
        let bytes = header.data_bytes(group, sizes);
        let block = file.store.verified_with(at, bytes, "extensible array data block", |b| {
            header.check_data(b, sizes, address)
        })?;
        return cut(header.data_elements(&block, sizes), element, header.element_bytes);
    }
    let (page, within) = (element / header.page_entries(), element % header.page_entries());
    if !fixed_array::page_is_written(bitmap, page) {
        return Ok(None);
    }
    let (start, bytes) = header.page(page, sizes);
    cut(&page_elements(file, at, start, bytes)?, within, header.element_bytes)
}
