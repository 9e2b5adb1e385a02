//! Containers that are small and ask for much.

use std::collections::HashMap;
use std::sync::Arc;

use hyperslab::vol::algorithms::transfer::to_file_type;
use hyperslab::vol::model::convert::Conversions;
use hyperslab::vol::model::datatype::{Compound, ReferenceKind};
use hyperslab::vol::model::properties::{DatasetCreate, ExternalFile, FileCreate, Layout, VirtualMapping};
use hyperslab::vol::model::{CharacterSet, Heap};
use hyperslab::vol::{
    ChunkInfo, Container, FileAccess, LibVersion, LinkLocation, OpAttributeCreate, OpDatasetCreate,
    OpDatatypeCommit, OpGroupCreate, OpLinkCreate, OpWrite,
};
use hyperslab::{Dataspace, Datatype, Kind, LinkTarget, Result, Selection, Token};

/// Elements of an extent that no one could store.
const HUGE: u64 = 1 << 40;

/// A new container.
pub(crate) fn create(location: &str) -> Result<Arc<dyn Container>> {
    hyperslab::registry().create(location, &FileCreate::default(), &FileAccess::write(), true)
}

/// A container that is there, to change it.
fn open(location: &str) -> Result<Arc<dyn Container>> {
    hyperslab::registry().open(location, &FileAccess::write())
}

fn group(container: &dyn Container, parent: Token, name: &str) -> Result<Token> {
    let place = Some(LinkLocation::new(parent, name));
    container.group_create(&OpGroupCreate { place, create: Default::default() })
}

fn dataset(
    container: &dyn Container,
    name: &str,
    datatype: Datatype,
    dims: &[u64],
    create: DatasetCreate,
) -> Result<Token> {
    let place = Some(LinkLocation::new(container.info()?.root, name));
    let space = Dataspace::simple(dims)?;
    container.dataset_create(&OpDatasetCreate { place, datatype, committed: None, space, create })
}

fn chunked(shape: &[u64]) -> DatasetCreate {
    DatasetCreate { layout: Layout::chunked(shape), ..DatasetCreate::default() }
}

/// Groups in groups, so many levels.
pub(crate) fn nested_groups(location: &str, levels: usize) -> Result<()> {
    let container = create(location)?;
    let mut here = container.info()?.root;
    for _ in 0..levels {
        here = group(&*container, here, "g")?;
    }
    container.close()
}

/// Many links of a group to one object, so many levels deep that every path is long.
pub(crate) fn deep_links(location: &str) -> Result<()> {
    let container = create(location)?;
    let mut here = container.info()?.root;
    for _ in 0..2000 {
        here = group(&*container, here, "g")?;
    }
    let hard = LinkTarget::Hard(group(&*container, here, "x")?);
    for number in 0..2500 {
        for (name, target) in [("hard", hard.clone()), ("soft", LinkTarget::Soft("x".to_owned()))] {
            let place = LinkLocation::new(here, format!("{name}{number}"));
            container.link_create(&OpLinkCreate { place, target })?;
        }
    }
    container.close()
}

/// Types in types, as deep as they may be.
pub(crate) fn nested_types(location: &str) -> Result<()> {
    let container = create(location)?;
    let root = container.info()?.root;
    let wrap = |inner| Datatype::Compound(Compound::packed([("m".to_owned(), inner)]));
    let nested = (0..60).fold(Datatype::native_int(4), |inner, level| match level % 3 {
        0 => wrap(inner),
        1 => Datatype::array(&[2], inner),
        _ => inner,
    });
    let place = Some(LinkLocation::new(root, "type"));
    container.datatype_commit(&OpDatatypeCommit {
        place,
        datatype: nested.clone(),
        create: Default::default(),
    })?;
    dataset(&*container, "d", nested, &[1], DatasetCreate::default())?;
    container.close()
}

/// Extents far larger than what is stored, of every layout that a connector has.
pub(crate) fn huge_extents(location: &str) -> Result<()> {
    let container = create(location)?;
    let int = || Datatype::native_int(4);
    dataset(&*container, "nothing", int(), &[HUGE], chunked(&[1024]))?;
    let few = dataset(&*container, "few", int(), &[1 << 20, 1 << 20], chunked(&[16, 16]))?;
    for start in [[0, 0], [1000, 1 << 19], [(1 << 20) - 16, (1 << 20) - 16]] {
        let selection = Selection::block(&start, &[16, 16])?;
        let from: Vec<u8> = (0..256i32).flat_map(i32::to_le_bytes).collect();
        container.dataset_write(&[OpWrite { dataset: few, selection: &selection, from: &from }])?;
    }
    dataset(&*container, "contiguous", int(), &[1 << 36], DatasetCreate::default())?;
    let texts = Datatype::var_string(CharacterSet::Utf8);
    dataset(&*container, "texts", texts, &[1 << 36], chunked(&[1024]))?;
    let references = Datatype::reference(ReferenceKind::Object1);
    // Not every connector has these.
    let _ = dataset(&*container, "references", references, &[1 << 36], chunked(&[1024]));
    let mapping = VirtualMapping {
        file: "missing.h5".to_owned(),
        dataset: "/d".to_owned(),
        source: Selection::All,
        target: Selection::block(&[5], &[10])?,
    };
    let create = DatasetCreate { layout: Layout::Virtual(vec![mapping]), ..DatasetCreate::default() };
    let _ = dataset(&*container, "virtual", int(), &[HUGE], create);
    container.close()
}

/// A log whose dataset claims an extent that it never had, in a file of a few kilobytes.
pub(crate) fn forged_extent_of_log(path: &str) -> Result<()> {
    let location = format!("log:{path}");
    let container = create(&location)?;
    let space = Dataspace::resizable(&[4, 3], &[1 << 40, 5])?;
    let place = Some(LinkLocation::new(container.info()?.root, "d"));
    let (datatype, create) = (Datatype::native_int(4), chunked(&[4, 3]));
    let data =
        container.dataset_create(&OpDatasetCreate { place, datatype, committed: None, space, create })?;
    container.dataset_write(&[OpWrite { dataset: data, selection: &Selection::All, from: &[7; 48] }])?;
    container.close()?;
    // The inner file is an HDF5 file like any other.
    let file = open(path)?;
    let anchor = hyperslab::vol::path::token(&*file, file.info()?.root, "d", 16)?;
    let dims: Vec<u8> = [1u64 << 40, 3].iter().flat_map(|dim| dim.to_le_bytes()).collect();
    file.attribute_write(anchor, "__LOG_DIMS", &dims)?;
    file.close()
}

/// A log with entries of several flushes, to be damaged.
pub(crate) fn log(path: &str) -> Result<()> {
    let container = create(&format!("log:{path}"))?;
    let root = container.info()?.root;
    let deflate = hyperslab::named_filter("GZIP=6")?;
    let filtered = DatasetCreate { filters: vec![deflate], ..chunked(&[8, 8]) };
    for (name, create) in [("plain", chunked(&[8, 8])), ("filtered", filtered)] {
        let place = Some(LinkLocation::new(root, name));
        let space = Dataspace::resizable(&[32, 32], &[1 << 30, 64])?;
        let datatype = Datatype::native_int(4);
        let data =
            container.dataset_create(&OpDatasetCreate { place, datatype, committed: None, space, create })?;
        for row in 0..4 {
            let selection = Selection::block(&[row * 8, row], &[8, 16])?;
            container.dataset_write(&[OpWrite { dataset: data, selection: &selection, from: &[3; 512] }])?;
            container.commit(hyperslab::Durability::None)?;
        }
    }
    container.close()
}

/// One object with more attributes than anybody reads.
pub(crate) fn many_attributes(location: &str, count: u32) -> Result<()> {
    let container = create(location)?;
    let object = group(&*container, container.info()?.root, "g")?;
    for number in 0..count {
        let (name, charset) = (format!("attribute{number}"), CharacterSet::Ascii);
        let datatype = Datatype::native_int(4);
        container.attribute_create(&OpAttributeCreate {
            object,
            name,
            charset,
            datatype,
            committed: None,
            space: Dataspace::Scalar,
        })?;
    }
    container.close()
}

/// Names as long as they may be.
pub(crate) fn long_names(location: &str) -> Result<()> {
    let container = create(location)?;
    let mut here = container.info()?.root;
    for number in 0..400 {
        here = group(&*container, here, &format!("{number}{}", "n".repeat(60_000)))?;
    }
    container.close()
}

/// Links that lead back to where they came from: hard, soft and external, also through another file.
pub(crate) fn cyclic_links(folder: &dyn Fn(&str) -> String) -> Result<()> {
    cycle(&folder("cycle.h5"), "other.h5")?;
    cycle(&folder("other.h5"), "cycle.h5")
}

/// The half of these that is in one container. What a connector does not have is left out.
pub(crate) fn cycle(location: &str, other: &str) -> Result<()> {
    let container = create(location)?;
    let root = container.info()?.root;
    for number in 0..200 {
        let here = group(&*container, root, &format!("g{number}"))?;
        for (name, target) in round_links(root, here, number, other) {
            match container.link_create(&OpLinkCreate { place: LinkLocation::new(here, name), target }) {
                Err(error) if error.kind() == Kind::Unsupported => {}
                made => made?,
            }
        }
    }
    container.close()
}

fn round_links(root: Token, here: Token, number: u64, other: &str) -> [(&'static str, LinkTarget); 7] {
    let next = (number + 1) % 200;
    let external = |path: String| LinkTarget::External { file: other.to_owned(), path };
    [
        ("up", LinkTarget::Hard(root)),
        ("self", LinkTarget::Hard(here)),
        ("soft", LinkTarget::Soft("soft".to_owned())),
        ("there", LinkTarget::Soft(format!("/g{next}/back"))),
        ("back", LinkTarget::Soft(format!("/g{next}/there"))),
        ("out", external(format!("/g{next}"))),
        ("around", external(format!("/g{number}/around"))),
    ]
}

/// Many elements that share one long value.
pub(crate) fn shared_values(location: &str) -> Result<()> {
    let container = create(location)?;
    let (text, count) = ("x".repeat(100_000), 20_000u64);
    let datatype = Datatype::var_string(CharacterSet::Utf8);
    let data = dataset(&*container, "d", datatype, &[count], DatasetCreate::default())?;
    let info = container.dataset_info(data)?;
    let (mut heap, mut element) = (Heap::new(), [0; 16]);
    heap.push(text.as_bytes(), text.len() as u64).store(&mut element)?;
    let memory = info.datatype.memory_type();
    let slot =
        to_file_type(&*container, &memory, &element, &info.datatype, &Conversions::default(), &mut heap)?;
    let all = slot.repeat(count as usize);
    container.dataset_write(&[OpWrite { dataset: data, selection: &Selection::All, from: &all }])?;
    container.close()
}

/// Chunks of zeros, as small as a filter makes them.
pub(crate) fn ratio(location: &str, filter: &str) -> Result<()> {
    let container = create(location)?;
    let filters = vec![hyperslab::named_filter(filter)?];
    let create = DatasetCreate { filters, ..chunked(&[1 << 20]) };
    let data = dataset(&*container, "zeros", Datatype::native_int(8), &[1 << 21], create)?;
    container.dataset_write(&[OpWrite {
        dataset: data,
        selection: &Selection::All,
        from: &vec![0; 1 << 24],
    }])?;
    container.close()
}

/// Names, values and comments that a terminal would act upon.
pub(crate) fn nasty(location: &str) -> Result<()> {
    let nasty = "\u{1b}]0;title\u{7}\u{1b}[2J\u{8}\r\u{7f}\u{9b}31m\u{202e}x\u{f79b}";
    let container = create(location)?;
    let root = container.info()?.root;
    let here = group(&*container, root, nasty)?;
    container.object_set_comment(here, Some(nasty))?;
    for (name, target) in [
        (format!("soft{nasty}"), LinkTarget::Soft(nasty.to_owned())),
        (format!("external{nasty}"), LinkTarget::External { file: nasty.to_owned(), path: nasty.to_owned() }),
    ] {
        container.link_create(&OpLinkCreate {
            place: LinkLocation { charset: CharacterSet::Utf8, ..LinkLocation::new(here, &name) },
            target,
        })?;
    }
    let bytes = hyperslab::vol::model::text::to_bytes(nasty);
    let fixed = Datatype::fixed_string(
        bytes.len() as u32,
        hyperslab::vol::model::datatype::StringPad::NullPadded,
        CharacterSet::Utf8,
    );
    let members = Datatype::Compound(Compound::packed([(nasty.to_owned(), fixed.clone())]));
    for (name, datatype) in [("text", fixed.clone()), ("compound", members.clone())] {
        let name = format!("{name}{nasty}");
        let data = dataset(&*container, &name, datatype, &[1], chunked(&[1]))?;
        container.dataset_write(&[OpWrite { dataset: data, selection: &Selection::All, from: &bytes }])?;
    }
    let place = Some(LinkLocation::new(root, format!("type{nasty}")));
    container.datatype_commit(&OpDatatypeCommit { place, datatype: members, create: Default::default() })?;
    let (name, charset) = (nasty.to_owned(), CharacterSet::Utf8);
    container.attribute_create(&OpAttributeCreate {
        object: here,
        name,
        charset,
        datatype: fixed,
        committed: None,
        space: Dataspace::Scalar,
    })?;
    container.attribute_write(here, nasty, &bytes)?;
    container.close()
}

/// So many chunks of zeros, of so many bytes each, which are stored in almost none.
pub(crate) fn zeros(location: &str, (chunk, count): (u64, u64)) -> Result<()> {
    let container = create(location)?;
    let create = DatasetCreate { filters: vec![hyperslab::named_filter("ZSTD=3")?], ..chunked(&[chunk / 4]) };
    let data = dataset(&*container, "zeros", Datatype::native_int(4), &[chunk / 4 * count], create)?;
    let selection = Selection::block(&[0], &[chunk / 4])?;
    container.dataset_write(&[OpWrite {
        dataset: data,
        selection: &selection,
        from: &vec![0; chunk as usize],
    }])?;
    let (mask, stored) = container.chunk_read(data, &[0])?;
    for number in 1..count {
        container.chunk_write(data, &[chunk / 4 * number], mask, &stored)?;
    }
    container.close()
}

/// A chunk index whose entries all lead to one chunk of 256 KiB, which is stored without its filter.
pub(crate) fn repeated_chunks(path: &str) -> Result<()> {
    let (elements, count) = (1u64 << 16, 8192);
    let access = FileAccess { version_low: LibVersion::Earliest, ..FileAccess::write() };
    let container = hyperslab::registry().create(path, &FileCreate::default(), &access, true)?;
    let create = DatasetCreate { filters: vec![hyperslab::named_filter("GZIP=1")?], ..chunked(&[elements]) };
    let data = dataset(&*container, "repeated", Datatype::native_int(4), &[elements * count], create)?;
    let numbers: Vec<u8> = (0..elements as u32).flat_map(u32::to_le_bytes).collect();
    container.chunk_write(data, &[0], 1, &numbers)?;
    for number in 1..count {
        container.chunk_write(data, &[number * elements], 1, &[7; 8])?;
    }
    let chunks = container.chunk_list(data, 0, count)?.entries;
    container.close()?;
    let mut image = std::fs::read(path).map_err(|e| hyperslab::Error::io("read file", &e))?;
    let first = entry_of(&chunks[0]);
    let entries: HashMap<Vec<u8>, u64> =
        chunks[1..].iter().map(|chunk| (entry_of(chunk), chunk.offset[0])).collect();
    let mut forged = 0;
    for at in 0..image.len() - first.len() {
        if let Some(offset) = entries.get(&image[at..at + first.len()]) {
            image[at..at + first.len()].copy_from_slice(&first);
            image[at + 8..at + 16].copy_from_slice(&offset.to_le_bytes());
            forged += 1;
        }
    }
    assert_eq!(forged, count - 1, "the index is no B-tree of version 1");
    std::fs::write(path, image).map_err(|e| hyperslab::Error::io("write file", &e))
}

/// A chunk as its entry in a B-tree of version 1: size, filter mask, offsets, address (format spec III.A.1).
fn entry_of(chunk: &ChunkInfo) -> Vec<u8> {
    let sizes = [chunk.bytes as u32, chunk.filter_mask].map(u32::to_le_bytes).concat();
    let places = [chunk.offset[0], 0, chunk.address.unwrap_or(0)].map(u64::to_le_bytes).concat();
    [sizes, places].concat()
}

/// Many groups next to each other.
pub(crate) fn many_objects(location: &str) -> Result<()> {
    let container = create(location)?;
    let root = container.info()?.root;
    for number in 0..40_000 {
        group(&*container, root, &format!("group{number}"))?;
    }
    container.close()
}

/// Elements in another file, which has hardly any, and a virtual dataset that shows them all.
pub(crate) fn elements_elsewhere(location: &str) -> Result<()> {
    let container = create(location)?;
    let file = ExternalFile { name: "few.bin".to_owned(), offset: 0, size: u64::MAX };
    let external = DatasetCreate { layout: Layout::External(vec![file]), ..DatasetCreate::default() };
    dataset(&*container, "external", Datatype::native_int(4), &[1 << 34], external)?;
    let mapping = VirtualMapping {
        file: ".".to_owned(),
        dataset: "/external".to_owned(),
        source: Selection::All,
        target: Selection::All,
    };
    let shown = DatasetCreate { layout: Layout::Virtual(vec![mapping]), ..DatasetCreate::default() };
    dataset(&*container, "virtual", Datatype::native_int(4), &[1 << 34], shown)?;
    container.close()
}
