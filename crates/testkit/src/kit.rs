//! Short ways to say common things, and checks that end a behaviour with an error that says where.

use std::fmt::Debug;
use std::panic::Location;

use algorithms::transfer::Elements;
use model::convert::Conversions;
use model::heap::{Heap, VarLenDescriptor};
use model::properties::{CreationOrder, DatasetCreate, FileCreate, GroupCreate, Layout, ObjectCreate};
use model::{CharacterSet, Dataspace, Datatype, Error, Kind, Reference, Result, Selection, Token, Within};
use system::sync::{Mutex, MutexGuard};
use vol::{
    Container, LinkLocation, OpAttributeCreate, OpDatasetCreate, OpGroupCreate, OpLinkCreate, OpList,
    RawBytes,
};

/// Bytes that stand for a file next to a container.
#[derive(Debug, Default)]
pub struct Bytes(Mutex<Vec<u8>>);

impl Bytes {
    fn lock(&self) -> MutexGuard<'_, Vec<u8>> {
        self.0.lock()
    }

    /// Returns a copy of all bytes.
    pub fn all(&self) -> Vec<u8> {
        self.lock().clone()
    }
}

/// A file of a test is small.
const FILE_BYTES_MAX: u64 = 64 << 20;

impl RawBytes for Bytes {
    fn read_at(&self, offset: u64, buf: &mut [u8]) -> Result<()> {
        let bytes = self.lock();
        let from = usize::try_from(offset).unwrap_or(usize::MAX).min(bytes.len());
        let have = buf.len().min(bytes.len() - from);
        buf[..have].copy_from_slice(&bytes[from..from + have]);
        buf[have..].fill(0);
        Ok(())
    }

    fn write_at(&self, offset: u64, data: &[u8]) -> Result<()> {
        let end = offset.saturating_add(data.len() as u64).within(FILE_BYTES_MAX, "test file")?;
        let mut bytes = self.lock();
        let len = bytes.len().max(end);
        bytes.resize(len, 0);
        bytes[end - data.len()..end].copy_from_slice(data);
        Ok(())
    }
}

#[track_caller]
fn failed(problem: &str) -> Error {
    let at = Location::caller();
    Error::invalid(format!("behaviour at {}:{}", at.file(), at.line())).with("problem", problem)
}

/// Returns an error unless both are equal.
#[track_caller]
#[expect(clippy::needless_pass_by_value, reason = "callers hand over what they just made")]
pub(crate) fn same<A: PartialEq<B> + Debug, B: Debug>(found: A, wanted: B) -> Result<()> {
    match found == wanted {
        true => Ok(()),
        false => Err(failed(&format!("found {found:?}, wanted {wanted:?}"))),
    }
}

/// Returns an error unless it holds.
#[track_caller]
pub(crate) fn holds(claim: bool, what: &str) -> Result<()> {
    if claim { Ok(()) } else { Err(failed(&format!("not so: {what}"))) }
}

/// Returns an error unless the operation failed with this kind.
#[track_caller]
pub(crate) fn fails<T>(result: Result<T>, kind: Kind) -> Result<()> {
    match result {
        Err(error) if error.kind() == kind => Ok(()),
        Err(error) => Err(failed(&format!("failed as {:?} instead of {kind:?}: {error}", error.kind()))),
        Ok(_) => Err(failed(&format!("succeeded instead of failing as {kind:?}"))),
    }
}

/// Returns an error unless the operation failed, whatever the kind.
#[track_caller]
#[expect(clippy::needless_pass_by_value, reason = "callers hand over what they just made")]
pub(crate) fn fails_somehow<T>(result: Result<T>) -> Result<()> {
    if result.is_err() { Ok(()) } else { Err(failed("succeeded instead of failing")) }
}

/// Returns the value, or an error that says where it was missing.
#[track_caller]
pub(crate) fn some<T>(found: Option<T>) -> Result<T> {
    found.ok_or_else(|| failed("nothing was found"))
}

pub(crate) fn int() -> Datatype {
    Datatype::native_int(4)
}

pub(crate) fn space(dims: &[u64]) -> Dataspace {
    // Dimensions in behaviours are literals; a wrong one shows as a missing dataset at once.
    Dataspace::simple(dims).unwrap_or(Dataspace::Null)
}

pub(crate) fn chunked(shape: &[u64]) -> DatasetCreate {
    DatasetCreate { layout: Layout::chunked(shape), ..DatasetCreate::default() }
}

pub(crate) fn ordered() -> GroupCreate {
    GroupCreate { link_order: CreationOrder::Indexed, object: attributes_ordered(), ..GroupCreate::default() }
}

pub(crate) fn attributes_ordered() -> ObjectCreate {
    ObjectCreate { attribute_order: CreationOrder::Indexed, ..ObjectCreate::default() }
}

pub(crate) fn ordered_file() -> FileCreate {
    FileCreate { root: ordered(), ..FileCreate::default() }
}

pub(crate) fn block(start: &[u64], shape: &[u64]) -> Result<Selection> {
    Selection::block(start, shape)
}

pub(crate) fn to_bytes(values: &[i32]) -> Vec<u8> {
    values.iter().flat_map(|v| v.to_ne_bytes()).collect()
}

pub(crate) fn to_ints(bytes: &[u8]) -> Vec<i32> {
    bytes.as_chunks::<4>().0.iter().map(|b| i32::from_ne_bytes(*b)).collect()
}

/// Numbers from zero on.
pub(crate) fn counting(n: i32) -> Vec<i32> {
    (0..n).collect()
}

pub(crate) fn dataset_op(
    place: LinkLocation,
    datatype: Datatype,
    space: Dataspace,
    create: DatasetCreate,
) -> OpDatasetCreate {
    OpDatasetCreate { place: Some(place), datatype, committed: None, space, create }
}

pub(crate) fn attribute_op(
    object: Token,
    name: &str,
    datatype: Datatype,
    space: Dataspace,
) -> OpAttributeCreate {
    let charset = if name.is_ascii() { CharacterSet::Ascii } else { CharacterSet::Utf8 };
    OpAttributeCreate { object, name: name.to_owned(), charset, datatype, committed: None, space }
}

/// Comfort over the contract.
pub(crate) trait Ease: Container {
    fn group(&self, parent: Token, name: &str) -> Result<Token> {
        self.group_create(&OpGroupCreate {
            place: Some(LinkLocation::new(parent, name)),
            create: GroupCreate::default(),
        })
    }

    fn link(&self, group: Token, name: &str, target: model::LinkTarget) -> Result<()> {
        self.link_create(&OpLinkCreate { place: LinkLocation::new(group, name), target })
    }

    /// Returns a dataset of any type with default properties.
    fn dataset(&self, parent: Token, name: &str, datatype: &Datatype, dims: &[u64]) -> Result<Token> {
        let op = dataset_op(
            LinkLocation::new(parent, name),
            datatype.clone(),
            space(dims),
            DatasetCreate::default(),
        );
        self.dataset_create(&op)
    }

    /// Returns a contiguous dataset of integers.
    fn ints(&self, parent: Token, name: &str, dims: &[u64]) -> Result<Token> {
        self.dataset(parent, name, &int(), dims)
    }

    /// Returns a dataset of integers.
    fn ints_with(&self, parent: Token, name: &str, space: Dataspace, create: DatasetCreate) -> Result<Token> {
        self.dataset_create(&dataset_op(LinkLocation::new(parent, name), int(), space, create))
    }

    fn put(&self, dataset: Token, selection: &Selection, values: &[i32]) -> Result<()> {
        self.dataset_write(&[vol::OpWrite { dataset, selection, from: &to_bytes(values) }])
    }

    fn get(&self, dataset: Token, selection: &Selection) -> Result<Vec<i32>> {
        let info = self.dataset_info(dataset)?;
        let count = match &info.space {
            Dataspace::Null => 0,
            space => selection.element_count(space.dims())?,
        };
        let mut bytes = vec![0; count.within(1 << 24, "test elements")? * 4];
        self.dataset_read(&mut [vol::OpRead { dataset, selection, into: &mut bytes }])?;
        Ok(to_ints(&bytes))
    }

    fn attribute(&self, object: Token, name: &str, value: i32) -> Result<()> {
        self.attribute_create(&attribute_op(object, name, int(), Dataspace::Scalar))?;
        self.attribute_write(object, name, &value.to_ne_bytes())
    }

    fn attribute_value(&self, object: Token, name: &str) -> Result<Vec<i32>> {
        Ok(self.attribute_read(object, &[name])?.iter().flat_map(|bytes| to_ints(bytes)).collect())
    }

    fn link_names(&self, group: Token, op: &OpList) -> Result<Vec<String>> {
        Ok(self.link_list(group, op)?.entries.into_iter().map(|link| link.name).collect())
    }

    fn attribute_names(&self, object: Token, op: &OpList) -> Result<Vec<String>> {
        Ok(self.attribute_list(object, op)?.entries.into_iter().map(|info| info.name).collect())
    }
}

impl<C: Container + ?Sized> Ease for C {}

/// Writes elements of `memory` type through [`Elements`].
pub(crate) fn write(
    container: &dyn Container,
    dataset: Token,
    selection: &Selection,
    memory: &Datatype,
    (data, heap): (&[u8], &mut Heap),
) -> Result<()> {
    let (info, conversions) = (container.dataset_info(dataset)?, Conversions::default());
    let (file_type, space) = (&info.datatype, &info.space);
    let (conversions, transfer) = (&conversions, vol::Transfer::Independent);
    Elements { container, dataset, file_type, space, selection, conversions, transfer }
        .write(memory, data, heap)
}

/// Reads elements as `memory` type through [`Elements`].
pub(crate) fn read(
    container: &dyn Container,
    dataset: Token,
    selection: &Selection,
    memory: &Datatype,
    heap: &mut Heap,
) -> Result<Vec<u8>> {
    let (info, conversions) = (container.dataset_info(dataset)?, Conversions::default());
    let (file_type, space) = (&info.datatype, &info.space);
    let (conversions, transfer) = (&conversions, vol::Transfer::Independent);
    let elements = Elements { container, dataset, file_type, space, selection, conversions, transfer };
    let bytes = elements.count()?.within(1 << 24, "test elements")? * memory.size() as usize;
    let mut data = vec![0; bytes];
    elements.read(memory, &mut data, heap)?;
    Ok(data)
}

/// Descriptors of variable-length values, one after another.
pub(crate) fn var_descriptors(values: &[(&[u8], u64)], heap: &mut Heap) -> Result<Vec<u8>> {
    let mut data = vec![0; values.len() * 16];
    for (descriptor, (value, count)) in data.chunks_exact_mut(16).zip(values) {
        if *count > 0 {
            heap.push(value, *count).store(descriptor)?;
        }
    }
    Ok(data)
}

pub(crate) fn texts_to_descriptors(texts: &[&str], heap: &mut Heap) -> Result<Vec<u8>> {
    let values: Vec<(&[u8], u64)> = texts.iter().map(|text| (text.as_bytes(), text.len() as u64)).collect();
    var_descriptors(&values, heap)
}

/// Returns the values of variable-length descriptors, whose elements have `element_bytes` each.
pub(crate) fn var_values(data: &[u8], element_bytes: u64, heap: &Heap) -> Result<Vec<Vec<u8>>> {
    data.chunks_exact(16)
        .map(|descriptor| Ok(heap.get(VarLenDescriptor::load(descriptor)?, element_bytes)?.to_vec()))
        .collect()
}

pub(crate) fn descriptors_to_texts(data: &[u8], heap: &Heap) -> Result<Vec<String>> {
    Ok(var_values(data, 1, heap)?.iter().map(|value| String::from_utf8_lossy(value).into_owned()).collect())
}

pub(crate) fn reference_descriptors(references: &[Reference], heap: &mut Heap) -> Result<Vec<u8>> {
    let mut data = vec![0; references.len() * 16];
    for (descriptor, reference) in data.chunks_exact_mut(16).zip(references) {
        heap.store_reference(reference.clone(), descriptor)?;
    }
    Ok(data)
}

pub(crate) fn descriptors_to_references(data: &[u8], heap: &Heap) -> Result<Vec<Reference>> {
    data.chunks_exact(16).map(|descriptor| heap.load_reference(descriptor)).collect()
}
