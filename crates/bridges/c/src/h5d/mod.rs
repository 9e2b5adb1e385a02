//! H5D: datasets.

mod chunks;
mod create;
mod elements;
mod outcome;
mod tolerant;
mod transfer;
pub(crate) mod transform;

use std::ffi::{c_int, c_void};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use hyperslab::extensions::SetVirtualView;
use hyperslab::vol::model::datatype::Datatype;
use hyperslab::vol::model::properties::Layout;
use hyperslab::vol::model::text::from_path;
use hyperslab::vol::{Allocation, Direction, VirtualView, call};
use hyperslab::{Kind, ObjectKind, Token};

use crate::api;
use crate::arguments::{Out, Text, Values};
use crate::codes::{Major, Minor};
use crate::failure::{Failure, Fallible};
use crate::ffi::{H5P_DEFAULT, HADDR_UNDEF, haddr_t, herr_t, hid_t, hsize_t};
use crate::h5f::with_origin;
use crate::h5p::values::DatasetAccessValues;
use crate::handles::{self, Object, ObjectHandle, Space, SpaceHandle, TypeHandle};
use crate::{h5p, ids, paths};
use create::NewDataset;
use transfer::{Transfer, TransferIds};

/// Returns an identifier of the type of a dataset or an attribute: the committed datatype where it shares one.
pub(crate) fn register_type(
    object: &ObjectHandle,
    datatype: &Datatype,
    committed: Option<Token>,
) -> Fallible<hid_t> {
    match committed {
        Some(token) => ObjectHandle::open(object.file.clone(), token, ObjectKind::Datatype, None)?.register(),
        None => {
            let handle = TypeHandle::transient(crate::memory::c_form(datatype));
            Ok(ids::register(Object::Datatype(Arc::new(handle))))
        }
    }
}

/// Remembers the access properties of a dataset that is opened, and lets them take effect.
fn set_access(dataset: &ObjectHandle, mut access: DatasetAccessValues) -> Fallible<()> {
    set_prefixes(dataset, &mut access)?;
    set_view(dataset, &access)?;
    if let Some(cache) = access.chunk_cache {
        // A connector without such a cache needs none.
        let _ = dataset.container().chunk_cache_set(dataset.token, cache.bytes as u64);
    }
    let _ = dataset.dataset_access.set(access);
    Ok(())
}

/// Tells the file where the files are that a dataset leads to.
fn set_prefixes(dataset: &ObjectHandle, access: &mut DatasetAccessValues) -> Fallible<()> {
    if access.external_prefix.is_none() && access.virtual_prefix.is_none() {
        return Ok(());
    }
    let shared = &dataset.file.shared;
    for prefix in [&mut access.external_prefix, &mut access.virtual_prefix].into_iter().flatten() {
        *prefix = from_path(&with_origin(prefix, &shared.location));
    }
    let (files, prefix): (Vec<String>, _) =
        match &dataset.container().dataset_info(dataset.token)?.create.layout {
            Layout::External(files) => {
                (files.iter().map(|file| file.name.clone()).collect(), &access.external_prefix)
            }
            Layout::Virtual(mappings) => {
                (mappings.iter().map(|m| m.file.clone()).collect(), &access.virtual_prefix)
            }
            _ => return Ok(()),
        };
    if let Some(prefix) = prefix {
        files.iter().for_each(|file| shared.rules.set_prefix(file, prefix));
    }
    Ok(())
}

/// Tells the file how far a virtual dataset reaches. Connectors without views have none to set.
fn set_view(dataset: &ObjectHandle, access: &DatasetAccessValues) -> Fallible<()> {
    let view = VirtualView { first_missing: access.virtual_first_missing, gap: access.virtual_printf_gap };
    let has_views = &dataset.file.shared.rules.has_views;
    if view == VirtualView::default() && !has_views.load(Ordering::Relaxed) {
        return Ok(());
    }
    has_views.store(true, Ordering::Relaxed);
    match call::<SetVirtualView>(&**dataset.container(), &SetVirtualView { dataset: dataset.token, view }) {
        Err(error) if error.kind() == Kind::Unsupported => Ok(()),
        done => Ok(done?),
    }
}

fn open(id: hid_t, name: Text, dapl: hid_t) -> Fallible<hid_t> {
    let access = h5p::dataset_access(dapl)?;
    let base = handles::location(id)?;
    let found = paths::find(&base, &name.name("dataset name")?, &access.link)?;
    let dataset = found.open_kind(ObjectKind::Dataset)?;
    set_access(&dataset, access)?;
    dataset.register()
}

fn create(id: hid_t, name: Text, lcpl: hid_t, new: NewDataset) -> Fallible<hid_t> {
    let base = handles::location(id)?;
    let name = name.name("dataset name")?;
    handles::datatype(new.datatype)?;
    handles::space(new.space)?;
    let access = h5p::dataset_access(new.dapl)?.link;
    let place = paths::new_link(&base, &name, &h5p::link_create(lcpl)?, &access)?;
    create::create(place.file, Some((place.location, place.path)), &new)
}

/// Makes the transfers of one call, in order.
fn transfer_all<B: Copy>(
    all: impl IntoIterator<Item = TransferIds>,
    dxpl: hid_t,
    buffers: &[B],
    direction: Direction,
    run: fn(&Transfer, B) -> Fallible<()>,
) -> Fallible<()> {
    let values = h5p::transfer(dxpl)?;
    let new = |ids| {
        let failed = |failure| transfer::refuse(ids, &values, direction, failure);
        Transfer::new(ids, values.clone()).map_err(failed)
    };
    let transfers = all.into_iter().map(new).collect::<Fallible<Vec<_>>>()?;
    let done = transfers.iter().zip(buffers).try_for_each(|(transfer, buffer)| run(transfer, *buffer));
    outcome::note(dxpl, &transfers);
    done
}

/// The arrays of a call for several datasets.
struct Several {
    datasets: Values<hid_t>,
    memory_types: Values<hid_t>,
    memory_spaces: Values<hid_t>,
    file_spaces: Values<hid_t>,
}

impl Several {
    fn ids(&self, count: usize) -> Fallible<Vec<TransferIds>> {
        let datasets = self.datasets.required(count, "dset_id array")?;
        let types = self.memory_types.required(count, "mem_type_id array")?;
        let memory = self.memory_spaces.required(count, "mem_space_id array")?;
        let file = self.file_spaces.required(count, "file_space_id array")?;
        let one = |n: usize| TransferIds {
            dataset: datasets[n],
            memory_type: types[n],
            memory_space: memory[n],
            file_space: file[n],
        };
        Ok((0..count).map(one).collect())
    }
}

fn set_extent(id: hid_t, dims: Values<hsize_t>, only_grow: bool) -> Fallible<()> {
    let dataset = handles::dataset(id)?;
    dataset.file.check_writable()?;
    let info = dataset.container().dataset_info(dataset.token)?;
    let mut dims = dims.required(info.space.rank(), "size array")?.to_vec();
    if dims.is_empty() {
        return Err(Failure::new(Major::ARGS, Minor::BADVALUE, "dataspace is not simple"));
    }
    if only_grow {
        dims.iter_mut().zip(info.space.dims()).for_each(|(new, old)| *new = (*new).max(*old));
    }
    Ok(dataset.container().dataset_resize(dataset.token, &dims)?)
}

api! { DATASET:
    /// Creates a dataset.
    fn H5Dcreate2(id: hid_t, name: Text, datatype: hid_t, space: hid_t, lcpl: hid_t, dcpl: hid_t, dapl: hid_t) -> hid_t {
        create(id, name, lcpl, NewDataset { datatype, space, dcpl, dapl })
    }

    /// Creates a dataset.
    fn H5Dcreate1(id: hid_t, name: Text, datatype: hid_t, space: hid_t, dcpl: hid_t) -> hid_t {
        create(id, name, H5P_DEFAULT, NewDataset { datatype, space, dcpl, dapl: H5P_DEFAULT })
    }

    /// Creates a dataset without a link.
    fn H5Dcreate_anon(id: hid_t, datatype: hid_t, space: hid_t, dcpl: hid_t, dapl: hid_t) -> hid_t {
        let file = handles::location(id)?.file.clone();
        create::create(file, None, &NewDataset { datatype, space, dcpl, dapl })
    }

    /// Opens a dataset.
    fn H5Dopen2(id: hid_t, name: Text, dapl: hid_t) -> hid_t {
        open(id, name, dapl)
    }

    /// Opens a dataset.
    fn H5Dopen1(id: hid_t, name: Text) -> hid_t {
        open(id, name, H5P_DEFAULT)
    }

    /// Closes a dataset.
    fn H5Dclose(id: hid_t) -> herr_t {
        ids::close(id, "a dataset ID", |object| matches!(object, Object::Dataset(_)))
    }

    /// Returns the dataspace of a dataset.
    fn H5Dget_space(id: hid_t) -> hid_t {
        let dataset = handles::dataset(id)?;
        Ok(SpaceHandle::register(Space::all(dataset.container().dataset_info(dataset.token)?.space.clone())))
    }

    /// Returns how much of a dataset's storage is allocated.
    fn H5Dget_space_status(id: hid_t, status: Out<c_int>) -> herr_t {
        let dataset = handles::dataset(id)?;
        status.put(match dataset.container().dataset_storage(dataset.token)?.allocation {
            Allocation::None => 0,
            Allocation::Part => 1,
            Allocation::Full => 2,
        });
        Ok(())
    }

    /// Returns the datatype of a dataset.
    fn H5Dget_type(id: hid_t) -> hid_t {
        let dataset = handles::dataset(id)?;
        let info = dataset.container().dataset_info(dataset.token)?;
        register_type(&dataset, &info.datatype, info.committed)
    }

    /// Returns the creation properties of a dataset.
    fn H5Dget_create_plist(id: hid_t) -> hid_t {
        let dataset = handles::dataset(id)?;
        let info = dataset.container().dataset_info(dataset.token)?;
        Ok(h5p::register_dataset_create(create::values_of(&dataset, &info)?))
    }

    /// Returns the access properties of a dataset.
    fn H5Dget_access_plist(id: hid_t) -> hid_t {
        let dataset = handles::dataset(id)?;
        let mut values = dataset.dataset_access.get().cloned().unwrap_or_default();
        if values.chunk_cache.is_none() {
            values.chunk_cache = Some(dataset.file.shared.values.read().chunk_cache);
        }
        Ok(h5p::register_dataset_access(values))
    }

    /// Returns the bytes of a dataset in storage.
    fn H5Dget_storage_size(id: hid_t) -> hsize_t {
        let dataset = handles::dataset(id)?;
        Ok(dataset.container().dataset_storage(dataset.token)?.bytes)
    }

    /// Returns where the elements of a dataset begin in its file, if they lie in one piece.
    fn H5Dget_offset(id: hid_t) -> haddr_t, or HADDR_UNDEF {
        let dataset = handles::dataset(id)?;
        Ok(dataset.container().dataset_storage(dataset.token)?.offset.unwrap_or(HADDR_UNDEF))
    }

    /// Reads elements.
    fn H5Dread(id: hid_t, memory_type: hid_t, memory_space: hid_t, file_space: hid_t, dxpl: hid_t, buffer: *mut c_void) -> herr_t {
        let ids = TransferIds { dataset: id, memory_type, memory_space, file_space };
        transfer_all([ids], dxpl, &[buffer], Direction::Read, Transfer::read)
    }

    /// Writes elements.
    fn H5Dwrite(id: hid_t, memory_type: hid_t, memory_space: hid_t, file_space: hid_t, dxpl: hid_t, buffer: *const c_void) -> herr_t {
        let ids = TransferIds { dataset: id, memory_type, memory_space, file_space };
        transfer_all([ids], dxpl, &[buffer], Direction::Write, Transfer::write)
    }

    /// Reads elements of several datasets.
    fn H5Dread_multi(
        count: usize, datasets: Values<hid_t>, memory_types: Values<hid_t>, memory_spaces: Values<hid_t>, file_spaces: Values<hid_t>,
        dxpl: hid_t, buffers: Values<*mut c_void>,
    ) -> herr_t {
        let several = Several { datasets, memory_types, memory_spaces, file_spaces };
        let buffers = buffers.required(count, "buf array")?;
        transfer_all(several.ids(count)?, dxpl, buffers, Direction::Read, Transfer::read)
    }

    /// Writes elements of several datasets.
    fn H5Dwrite_multi(
        count: usize, datasets: Values<hid_t>, memory_types: Values<hid_t>, memory_spaces: Values<hid_t>, file_spaces: Values<hid_t>,
        dxpl: hid_t, buffers: Values<*const c_void>,
    ) -> herr_t {
        let several = Several { datasets, memory_types, memory_spaces, file_spaces };
        let buffers = buffers.required(count, "buf array")?;
        transfer_all(several.ids(count)?, dxpl, buffers, Direction::Write, Transfer::write)
    }

    /// Changes the extent of a dataset.
    fn H5Dset_extent(id: hid_t, dims: Values<hsize_t>) -> herr_t {
        set_extent(id, dims, false)
    }

    /// Makes a dataset larger where it is smaller.
    fn H5Dextend(id: hid_t, dims: Values<hsize_t>) -> herr_t {
        set_extent(id, dims, true)
    }

    /// Commits what was written to the file of a dataset.
    fn H5Dflush(id: hid_t) -> herr_t {
        crate::h5o::flush(&*handles::dataset(id)?, id)
    }

    /// Forgets what is cached of a dataset.
    fn H5Drefresh(id: hid_t) -> herr_t {
        let dataset = handles::dataset(id)?;
        Ok(dataset.container().object_refresh(dataset.token)?)
    }

    /// Prints nothing.
    fn H5Ddebug(id: hid_t) -> herr_t {
        handles::dataset(id).map(drop)
    }

    /// Chunk indexes are not converted in place.
    fn H5Dformat_convert(id: hid_t) -> herr_t {
        handles::dataset(id)?;
        Err::<(), _>(Failure::unsupported("datasets are not converted in place: hyperslab repack --high does that"))
    }
}
