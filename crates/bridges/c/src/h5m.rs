//! H5M: maps.

use std::ffi::c_void;
use std::sync::{Arc, OnceLock};

use hyperslab::ObjectKind;
use hyperslab::plist::MapAccess;
use hyperslab::vol::algorithms::{maps, transfer};
use hyperslab::vol::model::Heap;
use hyperslab::vol::model::convert::{Conversions, Plan};
use hyperslab::vol::model::datatype::Datatype;
use hyperslab::vol::{LinkLocation, MapInfo, OpMapCreate, Pin};
use system::sync::Mutex;

use crate::api;
use crate::arguments::{Bytes, Out, Text};
use crate::codes::{Major, Minor};
use crate::failure::{Failure, Fallible};
use crate::ffi::{herr_t, hid_t, hsize_t};
use crate::h5f::FileHandle;
use crate::h5p::Kind;
use crate::h5p::values::MapAccessValues;
use crate::handles::{self, Object, ObjectHandle};
use crate::listing::{Data, check_answer};
use crate::memory::{self, Allocator};
use crate::{h5p, ids, paths};

/// The state of an open map.
#[derive(Debug, Default)]
pub struct MapState {
    /// The access properties that it was opened with.
    access: OnceLock<MapAccessValues>,
    /// How many keys an iteration had visited when it ended, and the last of them: it goes on after that key, whatever was
    /// set and deleted meanwhile.
    reached: Mutex<Option<(hsize_t, Vec<u8>)>>,
}

impl MapState {
    fn access(&self) -> MapAccessValues {
        self.access.get().cloned().unwrap_or_default()
    }

    /// Returns how many keys are fetched at a time.
    fn pages(&self) -> MapAccess {
        let access = self.access();
        MapAccess { key_prefetch: access.key_prefetch as u64, key_alloc_bytes: access.key_alloc_bytes as u64 }
    }

    /// Returns the key after which an iteration goes on that had visited `position` keys, or how many keys it must pass.
    fn start(&self, position: hsize_t) -> (hsize_t, Option<Vec<u8>>) {
        match &*self.reached.lock() {
            Some((reached, key)) if *reached == position && position > 0 => (0, Some(key.clone())),
            _ => (position, None),
        }
    }
}

type Operator = Option<unsafe extern "C" fn(hid_t, *const c_void, *mut c_void) -> herr_t>;

fn create(
    file: Arc<FileHandle>,
    place: Option<(LinkLocation, Option<String>)>,
    (key, value, mcpl): (hid_t, hid_t, hid_t),
    access: MapAccessValues,
) -> Fallible<hid_t> {
    file.check_writable()?;
    let (place, path) = place.map_or((None, None), |(place, path)| (Some(place), path));
    let op = OpMapCreate {
        place,
        key: (*handles::datatype(key)?.datatype()).clone(),
        value: (*handles::datatype(value)?.datatype()).clone(),
        create: h5p::object_create(mcpl)?,
    };
    let token = file.container().map_create(&op).map_err(crate::h5g::exists)?;
    opened(&ObjectHandle::open(file, token, ObjectKind::Map, path)?, access)
}

/// Returns an identifier for a map that was opened with access properties.
fn opened(map: &Arc<ObjectHandle>, access: MapAccessValues) -> Fallible<hid_t> {
    let _ = map.map.access.set(access);
    map.register()
}

fn info(map: &ObjectHandle) -> Fallible<MapInfo> {
    Ok(map.container().map_info(map.token)?)
}

/// Converts an element that a program passes to the library's memory datatype, with its heap.
fn element(
    datatype: &Datatype,
    value: *const c_void,
    file: &Arc<FileHandle>,
    heap: &mut Heap,
) -> Fallible<Vec<u8>> {
    let bytes = Bytes(value.cast_mut()).read(datatype.size() as usize, "value")?;
    match datatype.has_descriptors() {
        true => memory::from_c(datatype, bytes, Some(file), heap),
        false => Ok(bytes.to_vec()),
    }
}

/// Returns a key as the map holds it.
fn stored_key(map: &ObjectHandle, info: &MapInfo, datatype: hid_t, key: *const c_void) -> Fallible<Vec<u8>> {
    let datatype = handles::datatype(datatype)?.datatype();
    let mut heap = Heap::new();
    let elements = element(&datatype, key, &map.file, &mut heap)?;
    let keys = maps::stored_keys(&info.key, &datatype.memory_type(), &elements, &mut heap)?;
    keys.into_iter().next().ok_or_else(|| Failure::argument("no key"))
}

fn put(
    map: hid_t,
    (key_type, key): (hid_t, *const c_void),
    (value_type, value): (hid_t, *const c_void),
) -> Fallible<()> {
    let map = handles::map(map)?;
    map.file.check_writable()?;
    let info = info(&map)?;
    let key = stored_key(&map, &info, key_type, key)?;
    let datatype = handles::datatype(value_type)?.datatype();
    let mut heap = Heap::new();
    let elements = element(&datatype, value, &map.file, &mut heap)?;
    let in_library = datatype.memory_type();
    let stored = transfer::to_file_type(
        &**map.container(),
        &in_library,
        &elements,
        &info.value,
        &Conversions::default(),
        &mut heap,
    )?;
    Ok(map.container().map_put(map.token, &[(&key, &stored)])?)
}

fn get(
    map: hid_t,
    (key_type, key): (hid_t, *const c_void),
    (value_type, value): (hid_t, Bytes),
    dxpl: hid_t,
) -> Fallible<()> {
    let map = handles::map(map)?;
    let info = info(&map)?;
    let key = stored_key(&map, &info, key_type, key)?;
    let container = map.container();
    let _pin = Pin::of(&**container, &info.value)?;
    let found = container.map_get(map.token, &[&key])?.into_iter().next().flatten();
    let raw = found.ok_or_else(|| Failure::new(Major::MAP, Minor::NOTFOUND, "key not found in map"))?;
    let datatype = handles::datatype(value_type)?.datatype();
    let into = value.write(datatype.size() as usize, "value buffer")?;
    let mut heap = Heap::new();
    let in_library = datatype.memory_type();
    let converted = transfer::from_file_type(
        &**container,
        &info.value,
        &raw,
        &in_library,
        &Conversions::default(),
        &mut heap,
    )?;
    match datatype.has_descriptors() {
        true => {
            memory::to_c(&datatype, &converted, &heap, &map.file, &Allocator::of(&h5p::transfer(dxpl)?), into)
        }
        false => {
            into.copy_from_slice(&converted);
            Ok(())
        }
    }
}

/// Calls a function for the keys of a map from a position on.
fn iterate(
    id: hid_t,
    position: Out<hsize_t>,
    key_type: hid_t,
    operator: Operator,
    data: Data,
) -> Fallible<herr_t> {
    let map = handles::map(id)?;
    let operator = operator.ok_or_else(|| Failure::argument("no operator specified"))?;
    let datatype = handles::datatype(key_type)?.datatype();
    let info = info(&map)?;
    let start = position.get().unwrap_or(0);
    let (mut skip, mut after) = map.map.start(start);
    let (mut reached, pages) = (start, map.map.pages());
    let (mut keys, mut bytes) = (0, 0);
    loop {
        let count = pages.keys_of_page(keys, bytes);
        let page = map.container().map_keys(map.token, after.as_deref(), count)?;
        keys += page.entries.len() as u64;
        bytes += page.entries.iter().map(|key| key.len() as u64).sum::<u64>();
        for key in &page.entries {
            if skip > 0 {
                skip -= 1;
                continue;
            }
            let answer = call(&map, &info, &datatype, key, |key| {
                // SAFETY: the key lives until the function returns; the program gave function and data together.
                unsafe { operator(id, key, data) }
            })?;
            reached += 1;
            position.put(reached);
            *map.map.reached.lock() = Some((reached, key.clone()));
            if let Some(stop) = check_answer(answer)? {
                return Ok(stop);
            }
        }
        match page.entries.into_iter().next_back() {
            Some(last) if page.more => after = Some(last),
            _ => return Ok(0),
        }
    }
}

/// Calls `function` with a key in C's form.
fn call(
    map: &ObjectHandle,
    info: &MapInfo,
    datatype: &Datatype,
    key: &[u8],
    function: impl FnOnce(*const c_void) -> herr_t,
) -> Fallible<herr_t> {
    let mut heap = Heap::new();
    let elements = maps::to_elements(&info.key, std::iter::once(key), &mut heap)?;
    let in_library = datatype.memory_type();
    let mut converted = vec![0; in_library.size() as usize];
    Plan::compile(&info.key.memory_type(), &in_library, &Conversions::default())?.run(
        &elements,
        &mut converted,
        1,
        &mut heap,
    )?;
    if !datatype.has_descriptors() {
        return Ok(function(converted.as_ptr().cast()));
    }
    let mut element = vec![0; datatype.size() as usize];
    let allocator = Allocator::default();
    memory::to_c(datatype, &converted, &heap, &map.file, &allocator, &mut element)?;
    let answer = function(element.as_ptr().cast());
    memory::reclaim(datatype, &mut element, 1, &allocator)?;
    Ok(answer)
}

api! { MAP:
    /// Creates a map.
    fn H5Mcreate(id: hid_t, name: Text, key: hid_t, value: hid_t, lcpl: hid_t, mcpl: hid_t, mapl: hid_t) -> hid_t {
        let base = handles::location(id)?;
        let access = h5p::map_access(mapl)?;
        let place = paths::new_link(&base, &name.name("map name")?, &h5p::link_create(lcpl)?, &access.link)?;
        create(place.file, Some((place.location, place.path)), (key, value, mcpl), access)
    }

    /// Creates a map without a link.
    fn H5Mcreate_anon(id: hid_t, key: hid_t, value: hid_t, mcpl: hid_t, mapl: hid_t) -> hid_t {
        create(handles::location(id)?.file.clone(), None, (key, value, mcpl), h5p::map_access(mapl)?)
    }

    /// Opens a map.
    fn H5Mopen(id: hid_t, name: Text, mapl: hid_t) -> hid_t {
        let base = handles::location(id)?;
        let access = h5p::map_access(mapl)?;
        let found = paths::find(&base, &name.name("map name")?, &access.link)?;
        opened(&found.open_kind(ObjectKind::Map)?, access)
    }

    /// Closes a map.
    fn H5Mclose(id: hid_t) -> herr_t {
        ids::close(id, "a map ID", |object| matches!(object, Object::Map(_)))
    }

    /// Returns the type of a map's keys.
    fn H5Mget_key_type(id: hid_t) -> hid_t {
        let map = handles::map(id)?;
        crate::h5d::register_type(&map, &info(&map)?.key, None)
    }

    /// Returns the type of a map's values.
    fn H5Mget_val_type(id: hid_t) -> hid_t {
        let map = handles::map(id)?;
        crate::h5d::register_type(&map, &info(&map)?.value, None)
    }

    /// Returns the creation properties of a map.
    fn H5Mget_create_plist(id: hid_t) -> hid_t {
        let map = handles::map(id)?;
        Ok(h5p::register_map_create(map.container().object_info(map.token)?.create))
    }

    /// Returns the access properties of a map.
    fn H5Mget_access_plist(id: hid_t) -> hid_t {
        Ok(h5p::register_map_access(handles::map(id)?.map.access()))
    }

    /// Returns the number of pairs.
    fn H5Mget_count(id: hid_t, count: Out<hsize_t>, dxpl: hid_t) -> herr_t {
        h5p::check_list(dxpl, Kind::Transfer)?;
        count.put_required(info(&*handles::map(id)?)?.count, "count")
    }

    /// Sets the value of a key.
    fn H5Mput(id: hid_t, key_type: hid_t, key: *const c_void, value_type: hid_t, value: *const c_void, dxpl: hid_t) -> herr_t {
        h5p::check_list(dxpl, Kind::Transfer)?;
        put(id, (key_type, key), (value_type, value))
    }

    /// Returns the value of a key.
    fn H5Mget(id: hid_t, key_type: hid_t, key: *const c_void, value_type: hid_t, value: Bytes, dxpl: hid_t) -> herr_t {
        get(id, (key_type, key), (value_type, value), dxpl)
    }

    /// Says whether a key has a value.
    fn H5Mexists(id: hid_t, key_type: hid_t, key: *const c_void, exists: Out<bool>, dxpl: hid_t) -> herr_t {
        h5p::check_list(dxpl, Kind::Transfer)?;
        let map = handles::map(id)?;
        let key = stored_key(&map, &info(&map)?, key_type, key)?;
        let found = map.container().map_get(map.token, &[&key])?;
        exists.put_required(found.into_iter().any(|value| value.is_some()), "exists")
    }

    /// Calls a function for the keys of a map.
    fn H5Miterate(id: hid_t, position: Out<hsize_t>, key_type: hid_t, operator: Operator, data: Data, dxpl: hid_t) -> herr_t {
        h5p::check_list(dxpl, Kind::Transfer)?;
        iterate(id, position, key_type, operator, data)
    }

    /// Calls a function for the keys of the map that a name leads to.
    fn H5Miterate_by_name(id: hid_t, name: Text, position: Out<hsize_t>, key_type: hid_t, operator: Operator, data: Data, dxpl: hid_t, lapl: hid_t) -> herr_t {
        h5p::check_list(dxpl, Kind::Transfer)?;
        let found = paths::find_from(id, &name.name("map name")?, lapl)?;
        let map = found.open_kind(ObjectKind::Map)?.register()?;
        let done = iterate(map, position, key_type, operator, data);
        ids::remove_reference(map)?;
        done
    }

    /// Removes a pair.
    fn H5Mdelete(id: hid_t, key_type: hid_t, key: *const c_void, dxpl: hid_t) -> herr_t {
        h5p::check_list(dxpl, Kind::Transfer)?;
        let map = handles::map(id)?;
        map.file.check_writable()?;
        let key = stored_key(&map, &info(&map)?, key_type, key)?;
        match map.container().map_delete(map.token, &key)? {
            true => Ok(()),
            false => Err(Failure::new(Major::MAP, Minor::NOTFOUND, "key not found in map")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_iteration_goes_on_after_the_key_that_it_visited_last() {
        let map = MapState::default();
        assert_eq!(map.start(0), (0, None));
        *map.reached.lock() = Some((3, b"key".to_vec()));
        assert_eq!(map.start(3), (0, Some(b"key".to_vec())));
        // Another position is counted from the first key.
        assert_eq!(map.start(2), (2, None));
        assert_eq!(map.start(0), (0, None));
    }

    #[test]
    fn hints_say_how_many_keys_a_page_has() {
        let map = MapState::default();
        assert_eq!(map.pages(), MapAccess { key_prefetch: 16 << 10, key_alloc_bytes: 1 << 20 });
        let hints = MapAccessValues { key_prefetch: 5, key_alloc_bytes: 7, ..MapAccessValues::default() };
        let _ = map.access.set(hints);
        assert_eq!(map.pages(), MapAccess { key_prefetch: 5, key_alloc_bytes: 7 });
    }
}
