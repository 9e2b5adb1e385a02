//! Maps inside a valid HDF5 file: a group with a mark, in which two datasets hold the pairs row by row (docs/native-maps.md).
//! libhdf5 sees a group and reads both.

use std::collections::{BTreeMap, HashMap};
use std::ops::Bound;

use algorithms::maps::{check_key, check_key_type, page};
use algorithms::transfer;
use model::convert::Conversions;
use model::heap::Heap;
use model::properties::{DatasetCreate, GroupCreate, Layout};
use model::{
    ByteOrder, CharacterSet, Dataspace, Datatype, Error, LinkTarget, ObjectKind, Result, Selection, Token,
    Within,
};
use system::sync::MutexGuard;
use vol::{
    Container, LinkLocation, MapInfo, ObjectInfo, OpAttributeCreate, OpDatasetCreate, OpGroupCreate,
    OpLinkCreate, OpMapCreate, OpRead, OpWrite, Page,
};

use crate::container::NativeContainer;
use crate::format::Address;
use crate::object::attribute;
use crate::object::header::Header;
use crate::reader::Reader;

/// The attribute that makes a map of a group. Its value is the version of the layout.
pub(crate) const MARK: &str = "HYPERSLAB_MAP";
const VERSION: u32 = 1;
const KEYS: &str = "keys";
const VALUES: &str = "values";
/// Bytes of a chunk: a map of few pairs takes little.
const CHUNK_BYTES: u64 = 4096;
/// Rows that are read at once while keys are looked through.
const PAGE: u64 = 4096;

/// Where keys are, of maps that were used.
#[derive(Debug, Default)]
pub(crate) struct Maps(HashMap<Token, Index>);

#[derive(Debug)]
struct Index {
    keys: Token,
    rows: BTreeMap<Vec<u8>, u64>,
}

/// The two datasets of a map.
struct Parts {
    keys: Token,
    values: Token,
    info: MapInfo,
}

/// Returns whether a header is that of a map.
pub(crate) fn is_map(file: &Reader, header: &Header) -> Result<bool> {
    Ok(header.object_kind()? == ObjectKind::Group && attribute::find(file, header, MARK)?.is_some())
}

/// Returns what an object is, maps among them.
pub(crate) fn kind_of(file: &Reader, header: &Header) -> Result<ObjectKind> {
    Ok(if is_map(file, header)? { ObjectKind::Map } else { header.object_kind()? })
}

/// Returns the info of a map: the attribute that marks it as one is not counted.
pub(crate) fn map_info(info: ObjectInfo) -> ObjectInfo {
    ObjectInfo { kind: ObjectKind::Map, attributes: info.attributes.saturating_sub(1), ..info }
}

/// Refuses to touch the mark.
pub(crate) fn check_attribute(name: &str) -> Result<()> {
    match name {
        MARK => Err(Error::invalid("change attribute").with("name", name).with("problem", "it marks maps")),
        _ => Ok(()),
    }
}

/// While this is held, no one is in the middle of changing a map: its two datasets agree, and may be committed.
pub(crate) fn indexes(container: &NativeContainer) -> Result<MutexGuard<'_, Maps>> {
    Ok(container.open_file()?.maps.lock())
}

pub(crate) fn create(container: &NativeContainer, op: &OpMapCreate) -> Result<Token> {
    check_key_type(&op.key)?;
    if let Some(place) = &op.place
        && container.link_get(place.group, &place.name)?.is_some()
    {
        return Err(Error::exists("create map").with("name", &place.name));
    }
    let create = GroupCreate { object: op.create.clone(), ..GroupCreate::default() };
    let map = container.group_create(&OpGroupCreate { place: None, create })?;
    let done = fill(container, map, op);
    if done.is_err() {
        // Nothing leads to it, so it goes with its last handle.
        container.retain(map)?;
        container.release(map)?;
    }
    indexes(container)?.0.remove(&map);
    done.map(|()| map)
}

fn fill(container: &NativeContainer, map: Token, op: &OpMapCreate) -> Result<()> {
    let mark = OpAttributeCreate {
        object: map,
        name: MARK.to_owned(),
        charset: CharacterSet::Ascii,
        datatype: Datatype::integer(4, false, ByteOrder::Little),
        committed: None,
        space: Dataspace::Scalar,
    };
    container.change_objects(&[Address(map.to_u64())], |writer| writer.attribute_create(&mark))?;
    container.attribute_write(map, MARK, &VERSION.to_le_bytes())?;
    for (name, datatype) in [(KEYS, &op.key), (VALUES, &op.value)] {
        let rows = (CHUNK_BYTES / u64::from(datatype.size()).max(1)).max(1);
        let layout = Layout::Chunked { shape: vec![rows], edge_chunks_unfiltered: false, index: None };
        container.dataset_create(&OpDatasetCreate {
            place: Some(LinkLocation::new(map, name)),
            datatype: datatype.clone(),
            committed: None,
            space: Dataspace::resizable(&[0], &[model::dataspace::UNLIMITED])?,
            create: DatasetCreate { layout, ..DatasetCreate::default() },
        })?;
    }
    match &op.place {
        Some(place) => {
            container.link_create(&OpLinkCreate { place: place.clone(), target: LinkTarget::Hard(map) })
        }
        None => Ok(()),
    }
}

fn parts(container: &NativeContainer, map: Token) -> Result<Parts> {
    let no_map = || Error::invalid("use map").with("token", map).with("problem", "object is not a map");
    let mark = container.attribute_info(map, MARK)?.ok_or_else(no_map)?;
    let version = container.attribute_read(map, &[&mark.name])?.concat();
    if version != VERSION.to_le_bytes() {
        return Err(Error::unsupported("use map").with("layout", format!("{version:?}")));
    }
    let part = |name: &str| {
        let link = container.link_get(map, name)?;
        match link.map(|link| link.target) {
            Some(LinkTarget::Hard(token)) => Ok((token, container.dataset_info(token)?)),
            _ => Err(Error::corrupt("use map").with("missing", name)),
        }
    };
    let ((keys, key), (values, value)) = (part(KEYS)?, part(VALUES)?);
    match (key.space.dims(), value.space.dims()) {
        (&[count], &[same]) if count == same => {
            let info = MapInfo { key: key.datatype.clone(), value: value.datatype.clone(), count };
            Ok(Parts { keys, values, info })
        }
        _ => Err(Error::corrupt("use map").with("problem", "keys and values differ in number")),
    }
}

pub(crate) fn info(container: &NativeContainer, map: Token) -> Result<MapInfo> {
    let _still = indexes(container)?;
    parts(container, map).map(|parts| parts.info)
}

/// Returns some rows of one of the datasets, in the file datatype.
fn read_rows(
    container: &NativeContainer,
    dataset: Token,
    size: u32,
    (start, count): (u64, u64),
) -> Result<Vec<u8>> {
    let limits = &container.open_file()?.store.limits;
    let mut raw = vec![0; count.saturating_mul(u64::from(size)).within(limits.result_bytes_max, "map")?];
    if count > 0 {
        let selection = Selection::block(&[start], &[count])?;
        container.dataset_read(&mut [OpRead { dataset, selection: &selection, into: &mut raw }])?;
    }
    Ok(raw)
}

fn key_page(container: &NativeContainer, parts: &Parts, start: u64, count: u64) -> Result<Vec<Vec<u8>>> {
    let key = &parts.info.key;
    let raw = read_rows(container, parts.keys, key.size(), (start, count))?;
    if !matches!(key, Datatype::VarLen(_)) {
        return Ok(raw.chunks_exact(key.size().max(1) as usize).map(<[u8]>::to_vec).collect());
    }
    let (memory, mut heap) = (key.memory_type(), Heap::new());
    let descriptors =
        transfer::from_file_type(container, key, &raw, &memory, &Conversions::default(), &mut heap)?;
    algorithms::maps::from_elements(key, &descriptors, &heap)
}

/// Returns the keys in the form in which the file holds them.
fn stored_keys(container: &NativeContainer, key: &Datatype, keys: &[&[u8]]) -> Result<Vec<u8>> {
    if !matches!(key, Datatype::VarLen(_)) {
        return Ok(keys.concat());
    }
    let mut heap = Heap::new();
    let elements = algorithms::maps::to_elements(key, keys.iter().copied(), &mut heap)?;
    let (memory, conversions) = (key.memory_type(), Conversions::default());
    transfer::to_file_type(container, &memory, &elements, key, &conversions, &mut heap)
}

impl Maps {
    /// Returns the rows of a map's keys, which are read where they are not known, or not any more.
    fn rows(
        &mut self,
        container: &NativeContainer,
        map: Token,
        parts: &Parts,
    ) -> Result<&mut BTreeMap<Vec<u8>, u64>> {
        let live = container.open_file()?.store.is_live();
        let is_known =
            |index: &Index| !live && index.keys == parts.keys && index.rows.len() as u64 == parts.info.count;
        if !self.0.get(&map).is_some_and(is_known) {
            let rows = all_rows(container, parts)?;
            self.0.insert(map, Index { keys: parts.keys, rows });
        }
        let missing = || Error::invalid("use map").with("token", map);
        self.0.get_mut(&map).map(|index| &mut index.rows).ok_or_else(missing)
    }
}

fn all_rows(container: &NativeContainer, parts: &Parts) -> Result<BTreeMap<Vec<u8>, u64>> {
    let (count, limits) = (parts.info.count, &container.open_file()?.store.limits);
    count.within(limits.entries_max, "map")?;
    let mut rows = BTreeMap::new();
    for start in (0..count).step_by(PAGE as usize) {
        let page = key_page(container, parts, start, PAGE.min(count - start))?;
        rows.extend(page.into_iter().zip(start..));
    }
    match rows.len() as u64 == count {
        true => Ok(rows),
        false => Err(Error::corrupt("use map").with("problem", "a key repeats")),
    }
}

pub(crate) fn get(container: &NativeContainer, map: Token, keys: &[&[u8]]) -> Result<Vec<Option<Vec<u8>>>> {
    let mut indexes = indexes(container)?;
    let parts = parts(container, map)?;
    let rows = indexes.rows(container, map, &parts)?;
    let value = |row: u64| read_rows(container, parts.values, parts.info.value.size(), (row, 1));
    let one = |key: &&[u8]| {
        check_key(&parts.info.key, key)?;
        rows.get(*key).map(|row| value(*row)).transpose()
    };
    keys.iter().map(one).collect()
}

pub(crate) fn keys(
    container: &NativeContainer,
    map: Token,
    after: Option<&[u8]>,
    count_max: u64,
) -> Result<Page<Vec<u8>>> {
    let mut indexes = indexes(container)?;
    let parts = parts(container, map)?;
    let from = after.map_or(Bound::Unbounded, Bound::Excluded);
    let rows = indexes.rows(container, map, &parts)?.range::<[u8], _>((from, Bound::Unbounded));
    Ok(page(rows.map(|(key, _)| key), count_max))
}

/// The changes of a batch: values of existing rows, and new rows.
#[derive(Default)]
struct Batch<'p> {
    changed: HashMap<u64, &'p [u8]>,
    new: Vec<(&'p [u8], &'p [u8])>,
}

impl<'p> Batch<'p> {
    fn new(rows: &BTreeMap<Vec<u8>, u64>, pairs: &[(&'p [u8], &'p [u8])]) -> Self {
        let (mut batch, mut places) = (Batch::default(), HashMap::new());
        for (key, value) in pairs {
            match rows.get(*key) {
                Some(row) => {
                    batch.changed.insert(*row, value);
                }
                // A key that comes twice has its last value.
                None => {
                    let at = *places.entry(*key).or_insert(batch.new.len());
                    match batch.new.get_mut(at) {
                        Some(pair) => pair.1 = value,
                        None => batch.new.push((key, value)),
                    }
                }
            }
        }
        batch
    }
}

pub(crate) fn put(container: &NativeContainer, map: Token, pairs: &[(&[u8], &[u8])]) -> Result<()> {
    let mut indexes = indexes(container)?;
    let parts = parts(container, map)?;
    algorithms::maps::check_pairs(&parts.info, pairs)?;
    let rows = indexes.rows(container, map, &parts)?;
    let batch = Batch::new(rows, pairs);
    let count = parts.info.count;
    let limit = container.open_file()?.store.limits.entries_max;
    count.saturating_add(batch.new.len() as u64).within(limit, "map")?;
    if let Err(error) = append(container, &parts, &batch.new) {
        // What was begun must not be counted.
        for dataset in [parts.keys, parts.values] {
            container.dataset_resize(dataset, &[count])?;
        }
        return Err(error);
    }
    rows.extend(batch.new.iter().map(|(key, _)| key.to_vec()).zip(count..));
    for (row, value) in batch.changed {
        let selection = Selection::block(&[row], &[1])?;
        container.dataset_write(&[OpWrite { dataset: parts.values, selection: &selection, from: value }])?;
    }
    Ok(())
}

fn append(container: &NativeContainer, parts: &Parts, new: &[(&[u8], &[u8])]) -> Result<()> {
    let (start, added) = (parts.info.count, new.len() as u64);
    if added == 0 {
        return Ok(());
    }
    let keys: Vec<&[u8]> = new.iter().map(|pair| pair.0).collect();
    let keys = stored_keys(container, &parts.info.key, &keys)?;
    let values = new.iter().map(|pair| pair.1).collect::<Vec<_>>().concat();
    let selection = Selection::block(&[start], &[added])?;
    for (dataset, from) in [(parts.values, &values), (parts.keys, &keys)] {
        container.dataset_resize(dataset, &[start + added])?;
        container.dataset_write(&[OpWrite { dataset, selection: &selection, from }])?;
    }
    Ok(())
}

/// The last pair takes the place of one that goes.
pub(crate) fn delete(container: &NativeContainer, map: Token, key: &[u8]) -> Result<bool> {
    let mut indexes = indexes(container)?;
    let parts = parts(container, map)?;
    check_key(&parts.info.key, key)?;
    let rows = indexes.rows(container, map, &parts)?;
    let Some(row) = rows.get(key).copied() else { return Ok(false) };
    let last = parts.info.count.saturating_sub(1);
    let last_key = key_page(container, &parts, last, 1)?.concat();
    let selection = Selection::block(&[row], &[1])?;
    for (dataset, datatype) in [(parts.keys, &parts.info.key), (parts.values, &parts.info.value)] {
        if row != last {
            let raw = read_rows(container, dataset, datatype.size(), (last, 1))?;
            container.dataset_write(&[OpWrite { dataset, selection: &selection, from: &raw }])?;
        }
        container.dataset_resize(dataset, &[last])?;
    }
    rows.remove(key);
    if row != last {
        rows.insert(last_key, row);
    }
    Ok(true)
}
