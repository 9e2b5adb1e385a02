//! Blocks of files that libhdf5 wrote, decoded and encoded again: the same bytes.
//!
//! They come from `tests/golden/make.py`.

use std::collections::btree_map::Entry as MapEntry;
use std::collections::{BTreeMap, HashSet};

use model::{Limits, Result};

use super::super::super::btree1::{Kind, Node};
use super::super::super::btree2::BTree2;
use super::super::super::extensible_array::ExtensibleArray;
use super::super::super::fixed_array::{FixedArray, page_is_written};
use super::super::super::fractal_heap::FractalHeap;
use super::super::super::free_space::Manager;
use super::super::super::local_heap::LocalHeap;
use super::super::super::superblock::{self, Superblock, TreeK};
use super::super::super::{Address, Sizes, global_heap, symbol_table};
use super::super::fixed_array::page;
use super::super::global_heap::Collection;
use super::super::local_heap::Segment;
use super::super::symbol_table as symbol_table_encode;
use super::golden_objects;

/// Blocks of one kind: how many came out the same, and the first that did not.
#[derive(Debug, Default)]
pub(super) struct Count {
    same: usize,
    /// The same but for bytes after those in use, where libraries leave what was there before.
    same_in_use: usize,
    different: usize,
    first: Option<String>,
}

/// A file from its superblock on.
pub(super) struct Image<'a> {
    name: String,
    pub(super) bytes: &'a [u8],
    pub(super) sizes: Sizes,
    pub(super) k: TreeK,
    /// Broken files have circles.
    seen: HashSet<Address>,
    counts: &'a mut BTreeMap<&'static str, Count>,
}

impl<'a> Image<'a> {
    /// Whether a node or a block is met for the first time.
    pub(super) fn is_new(&mut self, address: Address) -> bool {
        self.seen.insert(address)
    }

    pub(super) fn at(&self, address: Address, len: u64) -> Option<&'a [u8]> {
        let start = usize::try_from(address.0).ok()?;
        self.bytes.get(start..start.checked_add(usize::try_from(len).ok()?)?)
    }

    /// Counts whether `encoded` is what the file has.
    pub(super) fn compare(&mut self, what: &'static str, stored: &[u8], encoded: &Result<Vec<u8>>) {
        let count = match self.counts.entry(what) {
            MapEntry::Vacant(v) => v.insert(Count::default()),
            MapEntry::Occupied(o) => o.into_mut(),
        };
        if encoded.as_ref().is_ok_and(|e| e == stored) {
            count.same += 1;
            return;
        }
        if encoded.as_ref().is_ok_and(|e| same_in_use(stored, e)) {
            count.same_in_use += 1;
            return;
        }
        count.different += 1;
        let difference = match encoded {
            Err(error) => error.to_string(),
            Ok(e) => {
                format!("{:?}\n  stored  {stored:02x?}\n  encoded {e:02x?}", first_difference(stored, e))
            }
        };
        count.first.get_or_insert_with(|| format!("{}: {difference}", self.name));
    }

    /// Every place that starts with `signature`.
    pub(super) fn found(&self, signature: &[u8]) -> Vec<Address> {
        let windows = self.bytes.windows(signature.len()).enumerate();
        windows.filter(|(_, w)| *w == signature).map(|(at, _)| Address(at as u64)).collect()
    }
}

/// Whether the bytes agree up to the zeros at the end of `encoded`.
fn same_in_use(stored: &[u8], encoded: &[u8]) -> bool {
    let used = encoded.iter().rposition(|&b| b != 0).map_or(0, |last| last + 1);
    stored.len() == encoded.len() && stored[..used] == encoded[..used]
}

fn first_difference(a: &[u8], b: &[u8]) -> (usize, usize, Option<usize>) {
    (a.len(), b.len(), a.iter().zip(b).position(|(a, b)| a != b))
}

/// What golden files have at least one of.
const KINDS: [&str; 22] = [
    "superblock",
    "TREE group",
    "TREE chunk",
    "SNOD",
    "HEAP",
    "GCOL",
    "OHDR",
    "OCHK",
    "FRHP",
    "FHDB",
    "FHIB",
    "BTHD",
    "BTLF",
    "BTIN",
    "FAHD",
    "FADB",
    "EAHD",
    "EAIB",
    "EASB",
    "EADB",
    "FSHD",
    "FSSE",
];

#[test]
fn blocks_that_libhdf5_wrote_encode_to_the_same_bytes() {
    let Some(folder) = testkit::oracles::golden() else { return };
    let mut counts = BTreeMap::new();
    for path in testkit::oracles::files_under(&folder.join("files")) {
        let bytes = std::fs::read(&path).expect("golden file");
        check_file(path.display().to_string(), &bytes, &mut counts);
    }
    for (what, count) in &counts {
        let Count { same, same_in_use, different, .. } = count;
        println!(
            "{what:28} same {same:6}  same but for unused bytes {same_in_use:4}  different {different:4}"
        );
    }
    let first: Vec<_> = counts.iter().filter_map(|(what, c)| Some((what, c.first.as_ref()?))).collect();
    for (what, difference) in &first {
        println!("{what}: {difference}");
    }
    assert!(first.is_empty(), "blocks differ");
    let missing: Vec<_> = KINDS.into_iter().filter(|kind| !counts.contains_key(kind)).collect();
    assert!(missing.is_empty(), "none was found of {missing:?}");
}

fn check_file(name: String, bytes: &[u8], counts: &mut BTreeMap<&'static str, Count>) {
    let starts = std::iter::once(0).chain((9..).map(|n| 1usize << n)).take_while(|&at| at < bytes.len());
    let Some(base) = starts.into_iter().find(|&at| bytes[at..].starts_with(&superblock::SIGNATURE)) else {
        return;
    };
    let bytes = &bytes[base..];
    let Ok(superblock) = Superblock::decode(bytes) else { return };
    let (sizes, k) = (superblock.sizes, superblock.k);
    let mut image = Image { name, bytes, sizes, k, seen: HashSet::new(), counts };
    let encoded = superblock.encode();
    let len = encoded.as_ref().map_or(0, Vec::len).min(bytes.len());
    image.compare("superblock", &bytes[..len], &encoded);
    golden_objects::check(&mut image, &superblock);
    symbol_nodes(&mut image);
    local_heaps(&mut image);
    collections(&mut image);
    trees_2(&mut image);
    fractal_heaps(&mut image);
    fixed_arrays(&mut image);
    extensible_arrays(&mut image);
    managers(&mut image);
}

/// Nodes of a version 1 B-tree from its root down.
pub(super) fn tree_1(image: &mut Image<'_>, root: Address, kind: Kind, k: u16) {
    let mut todo = vec![root];
    while let Some(address) = todo.pop() {
        if !image.is_new(address) {
            continue;
        }
        let Some(block) = image.at(address, kind.node_bytes(k, image.sizes)) else { continue };
        let Ok(node) = Node::decode(block, kind, k, image.sizes) else { continue };
        let what = if kind == Kind::Group { "TREE group" } else { "TREE chunk" };
        image.compare(what, block, &node.encode(kind, k, image.sizes));
        if node.level > 0 {
            todo.extend(node.children);
        }
    }
}

fn symbol_nodes(image: &mut Image<'_>) {
    for address in image.found(b"SNOD") {
        let len = symbol_table::node_bytes(image.k.group_leaf, image.sizes);
        let Some(block) = image.at(address, len) else { continue };
        let Ok(entries) = symbol_table::node(block, image.sizes) else { continue };
        let encoded = symbol_table_encode::node(&entries, image.k.group_leaf, image.sizes);
        image.compare("SNOD", block, &encoded);
    }
}

fn local_heaps(image: &mut Image<'_>) {
    for address in image.found(b"HEAP") {
        let len = LocalHeap::header_bytes(image.sizes).next_multiple_of(8);
        let Some(block) = image.at(address, len) else { continue };
        let Ok(heap) = LocalHeap::decode(block, image.sizes) else { continue };
        image.compare("HEAP", block, &heap.encode(image.sizes));
        let Some(data) = image.at(heap.data, heap.data_bytes) else { continue };
        let Ok(segment) = Segment::decode(data, &heap, image.sizes) else { continue };
        assert_eq!(segment.first_free(), heap.free);
        image.compare("HEAP data", data, &segment.encode());
    }
}

fn collections(image: &mut Image<'_>) {
    for address in image.found(b"GCOL") {
        let head = image.at(address, global_heap::header_bytes(image.sizes));
        let len = head.and_then(|h| global_heap::collection_bytes(h, image.sizes).ok());
        let Some(block) = len.and_then(|len| image.at(address, len)) else { continue };
        let Ok(collection) = Collection::decode(block, image.sizes) else { continue };
        image.compare("GCOL", block, &collection.encode());
    }
}

fn trees_2(image: &mut Image<'_>) {
    for address in image.found(b"BTHD") {
        let block = image.at(address, BTree2::header_bytes(image.sizes));
        let Some(block) = block else { continue };
        let Ok(tree) = BTree2::decode(block, image.sizes) else { continue };
        image.compare("BTHD", block, &tree.encode());
        let Some(root) = tree.root else { continue };
        let mut todo = vec![(root, tree.depth, u64::from(tree.root_records))];
        while let Some((address, depth, records)) = todo.pop() {
            if !image.is_new(address) {
                continue;
            }
            let Some(block) = image.at(address, u64::from(tree.node_bytes)) else { continue };
            let Ok(node) = tree.node(super::block(block), depth, records) else { continue };
            let (records, children) = (super::records(&node), &node.children);
            let what = if depth == 0 { "BTLF" } else { "BTIN" };
            image.compare(what, block, &tree.encode_node(depth, &records, children));
            golden_objects::records(image, &tree, &records);
            todo.extend(children.iter().map(|c| (c.address, depth - 1, c.records)));
        }
    }
}

fn fractal_heaps(image: &mut Image<'_>) {
    for address in image.found(b"FRHP") {
        let start = image.at(address, 9).and_then(|b| FractalHeap::header_bytes_of(b, image.sizes).ok());
        let Some(block) = start.and_then(|len| image.at(address, len)) else { continue };
        let Ok(heap) = FractalHeap::decode(block, image.sizes) else { continue };
        image.compare("FRHP", block, &heap.encode());
        match (heap.root, heap.root_rows) {
            (None, _) => {}
            (Some(root), 0) => direct_block(image, &heap, address, (root, 0, heap.start_bytes)),
            (Some(root), rows) => indirect_block(image, &heap, address, (root, 0, u64::from(rows))),
        }
    }
}

fn direct_block(image: &mut Image<'_>, heap: &FractalHeap, header: Address, at: (Address, u64, u64)) {
    let (address, offset, len) = at;
    let Some(block) = image.at(address, len).filter(|_| heap.filters.is_empty()) else { return };
    if heap.check_direct(block, header, offset).is_ok() {
        let body = &block[heap.direct_prefix_bytes()..];
        image.compare("FHDB", block, &heap.encode_direct(header, offset, body));
    }
}

fn indirect_block(image: &mut Image<'_>, heap: &FractalHeap, header: Address, at: (Address, u64, u64)) {
    let (address, offset, rows) = at;
    let block = image.at(address, heap.indirect_bytes(rows));
    let Some(block) = block.filter(|_| image.is_new(address)) else { return };
    let Ok(children) = heap.indirect(block, header, offset, rows) else { return };
    image.compare("FHIB", block, &heap.encode_indirect(header, offset, rows, &children));
    let mut within = 0;
    for child in &children {
        let Ok(spot) = heap.spot(within) else { return };
        let place = offset + within;
        within += spot.block_bytes;
        let Some(address) = child.address else { continue };
        if spot.row < heap.direct_rows() {
            direct_block(image, heap, header, (address, place, spot.block_bytes));
        } else {
            indirect_block(image, heap, header, (address, place, heap.rows_of(spot.block_bytes)));
        }
    }
}

fn fixed_arrays(image: &mut Image<'_>) {
    for header in image.found(b"FAHD") {
        let Some(block) = image.at(header, FixedArray::header_bytes(image.sizes)) else { continue };
        let Ok(array) = FixedArray::decode(block, image.sizes) else { continue };
        image.compare("FAHD", block, &array.encode(image.sizes));
        let Some(address) = array.block else { continue };
        let len = array.block_bytes(image.sizes).unwrap_or(u64::MAX);
        let Some(block) = image.at(address, len) else { continue };
        if array.check_block(block, image.sizes, header).is_err() {
            continue;
        }
        let body = array.block_body(block, image.sizes);
        image.compare("FADB", block, &array.encode_block(header, body, image.sizes));
        for number in (0..array.pages()).filter(|&n| array.is_paged() && page_is_written(body, n)) {
            let Some((start, entries)) = array.page(number, image.sizes) else { continue };
            let len = entries * u64::from(array.element_bytes) + 4;
            pages(image, "FA page", Address(address.0 + start), len);
        }
    }
}

fn pages(image: &mut Image<'_>, what: &'static str, address: Address, len: u64) {
    if let Some(block) = image.at(address, len) {
        image.compare(what, block, &page(&block[..block.len() - 4]));
    }
}

fn extensible_arrays(image: &mut Image<'_>) {
    let sizes = image.sizes;
    for header in image.found(b"EAHD") {
        let Some(block) = image.at(header, ExtensibleArray::header_bytes(sizes)) else { continue };
        let Ok(array) = ExtensibleArray::decode(block, sizes) else { continue };
        image.compare("EAHD", block, &array.encode(sizes));
        let block = array.index_block.and_then(|a| image.at(a, array.index_block_bytes(sizes)));
        let Some(block) = block else { continue };
        let Ok(index) = array.index_block(block, sizes, header) else { continue };
        image.compare("EAIB", block, &array.encode_index_block(header, &index, sizes));
        let mut direct = index.direct.iter();
        for place in array.groups() {
            if place.is_direct {
                let blocks: Vec<_> = direct.by_ref().take(place.group.blocks as usize).copied().collect();
                data_blocks(image, &array, header, place.group, &blocks, &[]);
                continue;
            }
            let Some(address) = index.secondary[place.pointer as usize] else { continue };
            let Some(block) = image.at(address, array.secondary_bytes(place.group, sizes)) else { continue };
            let Ok(secondary) = array.decode_secondary(block, header, place.group, sizes) else { continue };
            image.compare("EASB", block, &array.encode_secondary(header, place.group, &secondary, sizes));
            data_blocks(image, &array, header, place.group, &secondary.blocks, &secondary.bitmaps);
        }
    }
}

fn data_blocks(
    image: &mut Image<'_>,
    array: &ExtensibleArray,
    header: Address,
    group: super::super::super::extensible_array::Group,
    blocks: &[Option<Address>],
    bitmaps: &[u8],
) {
    let (sizes, paged) = (image.sizes, array.is_paged(group));
    for (number, address) in blocks.iter().enumerate() {
        let Some(address) = *address else { continue };
        let len = if paged { array.page(0, sizes).0 } else { array.data_bytes(group, sizes) };
        let Some(block) = image.at(address, len) else { continue };
        let elements = array.data_elements(block, sizes);
        let encoded = array.encode_data(header, (group, number as u64), elements, sizes);
        image.compare(if paged { "EADB paged" } else { "EADB" }, block, &encoded);
        let pages_each = array.pages(group);
        let first = number as u64 * pages_each;
        for page in (0..pages_each).filter(|page| page_is_written(bitmaps, first + page)) {
            let (start, len) = array.page(page, sizes);
            pages(image, "EA page", Address(address.0 + start), len);
        }
    }
}

fn managers(image: &mut Image<'_>) {
    let sizes = image.sizes;
    for header in image.found(b"FSHD") {
        let Some(block) = image.at(header, Manager::header_bytes(sizes)) else { continue };
        let Ok(manager) = Manager::decode(block, sizes) else { continue };
        image.compare("FSHD", block, &manager.encode(sizes));
        let block = manager.list.and_then(|a| image.at(a, manager.list_bytes));
        let Some(block) = block else { continue };
        let Ok(sections) = manager.sections(block, header, sizes, &Limits::default()) else { continue };
        assert_eq!(manager.list_bytes_of(&sections, sizes) as u64, manager.list_used_bytes);
        image.compare("FSSE", block, &manager.encode_list(header, &sections, sizes));
    }
}
