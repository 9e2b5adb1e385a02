//! Virtual file drivers of file access lists.

use std::ffi::{c_int, c_uint, c_void};
use std::sync::Arc;

use super::class::Kind;
use super::driver_stacks::{LOG_DEFAULT, of_config, subfiling_parameters};
use super::file_access::{change, read};
use super::list;
use super::values::{DriverChoice, FileAccessValues};
use crate::arguments::{Out, Text, TextOut};
use crate::codes::{Major, Minor};
use crate::failure::{Failure, Fallible};
use crate::ffi::{H5P_DEFAULT, herr_t, hid_t, hsize_t};
use crate::h5fd::{self, BuiltIn, DriverHandle, DriverInfo};
use crate::{api, refused};

/// The first bytes of a family that none chose a size for.
const FAMILY_BYTES_DEFAULT: u64 = 100 << 20;

/// Sets a driver of the library with its properties.
pub(super) fn choose(id: hid_t, driver: BuiltIn, parameters: &str, info: Option<DriverInfo>) -> Fallible<()> {
    check_list(id)?;
    let name = driver.registered().ok_or_else(|| h5fd::absent(driver.name()))?;
    let text = if parameters.is_empty() { name.to_owned() } else { format!("{name}{{{parameters}}}") };
    let choice = DriverChoice {
        driver: Arc::new(DriverHandle::BuiltIn(driver)),
        text: Some(text),
        info: info.map(Arc::new),
    };
    change(id, &["vfd_info"], |access| access.driver = Some(choice))
}

fn check_list(id: hid_t) -> Fallible<()> {
    let list = list::list_of(id, Kind::FileAccess);
    list.map_err(|_| Failure::wrong_type("not a file access property list").as_major(Major::PLIST))?
        .check_writable()
}

/// Returns a driver's own properties, if it is that driver.
pub(super) fn info(id: hid_t, driver: BuiltIn) -> Fallible<Option<Arc<DriverInfo>>> {
    let choice = read(id, |access| access.driver.clone())?;
    match choice {
        Some(DriverChoice { driver: set, info, .. }) if set.value() == Some(driver as c_int) => Ok(info),
        _ => Err(Failure::new(Major::PLIST, Minor::BADVALUE, "incorrect VFL driver")),
    }
}

/// Returns an error if a list has another driver.
pub fn check_driver(id: hid_t, driver: BuiltIn) -> Fallible<()> {
    info(id, driver).map(drop)
}

/// Returns the driver that is used when none was set.
fn default_driver() -> Arc<DriverHandle> {
    let name = std::env::var("HDF5_DRIVER").ok().filter(|name| !name.is_empty());
    let named = name.and_then(|name| h5fd::find(|driver| driver.name() == name));
    named.unwrap_or_else(|| Arc::new(DriverHandle::BuiltIn(BuiltIn::Sec2)))
}

/// Returns the driver that a list was given without properties, with those that it has then.
fn plain(driver: Arc<DriverHandle>) -> Fallible<DriverChoice> {
    let (text, info) = match &*driver {
        DriverHandle::BuiltIn(BuiltIn::Log) => (Some(LOG_DEFAULT.to_owned()), None),
        DriverHandle::BuiltIn(BuiltIn::Subfiling) => {
            (Some(format!("subfiling{{{}}}", subfiling_parameters(None, None)?)), None)
        }
        DriverHandle::BuiltIn(known) => {
            let name = known.registered().ok_or_else(|| h5fd::absent(known.name()))?;
            (Some(name.to_owned()), None)
        }
        DriverHandle::Foreign(_) => (None, None),
    };
    Ok(DriverChoice { driver, text, info })
}

/// Returns the driver that `HDF5_DRIVER` names, for lists that have none.
///
/// # Errors
/// Returns a failure if there is no such driver.
pub fn of_environment() -> Fallible<Option<DriverChoice>> {
    let Ok(name) = std::env::var("HDF5_DRIVER") else { return Ok(None) };
    if name.is_empty() {
        return Ok(None);
    }
    let config = std::env::var("HDF5_DRIVER_CONFIG").ok();
    let found = h5fd::find(|driver| driver.name() == name).ok_or_else(|| h5fd::absent(&name))?;
    configured(found, config).map(Some)
}

/// A configuration is text in the syntax of the registry, `backing_store=false`, or that of libhdf5's driver.
fn configured(driver: Arc<DriverHandle>, config: Option<String>) -> Fallible<DriverChoice> {
    let mut choice = plain(driver)?;
    let Some(config) = config.filter(|config| !config.is_empty()) else { return Ok(choice) };
    if let DriverHandle::BuiltIn(driver) = &*choice.driver {
        let name = driver.registered().ok_or_else(|| h5fd::absent(driver.name()))?;
        choice.text = Some(format!("{name}{{{}}}", of_config(*driver, &config)?));
    }
    Ok(choice)
}

fn set_found(id: hid_t, found: Option<Arc<DriverHandle>>, config: Text, name: &str) -> Fallible<()> {
    let choice = configured(found.ok_or_else(|| h5fd::absent(name))?, config.optional())?;
    change(id, &["vfd_info"], |access| access.driver = Some(choice))
}

/// Returns the driver of a list.
fn driver_of(access: &FileAccessValues) -> Arc<DriverHandle> {
    access.driver.as_ref().map_or_else(default_driver, |choice| choice.driver.clone())
}

api! { PLIST:
    /// Sets a driver with its own properties.
    fn H5Pset_driver(plist_id: hid_t, driver_id: hid_t, driver_info: *const c_void) -> herr_t {
        list::list(plist_id)?;
        let driver = h5fd::driver(driver_id, "not a file driver ID")?;
        let mut choice = plain(driver.clone())?;
        if let DriverHandle::Foreign(class) = &*driver {
            choice.info = DriverInfo::foreign(class, driver_info)?.map(Arc::new);
        } else if !driver_info.is_null() {
            // Drivers of libhdf5 have structs that are not public; lists carry what their own functions set.
            let text = "properties of this driver are set by its own function";
            return Err(Failure::unsupported(text));
        }
        change(plist_id, &["vfd_info"], |access| access.driver = Some(choice))
    }

    /// Sets a driver by its name.
    fn H5Pset_driver_by_name(plist_id: hid_t, driver_name: Text, driver_config: Text) -> herr_t {
        let name = driver_name.name("driver name")?;
        list::list_of(plist_id, Kind::FileAccess)?;
        set_found(plist_id, h5fd::find(|driver| driver.name() == name), driver_config, &name)
    }

    /// Sets a driver by its number.
    fn H5Pset_driver_by_value(plist_id: hid_t, driver_value: c_int, driver_config: Text) -> herr_t {
        if driver_value < 0 {
            return Err(Failure::argument("negative VFD value is disallowed"));
        }
        list::list_of(plist_id, Kind::FileAccess)?;
        let found = h5fd::find(|driver| driver.value() == Some(driver_value));
        set_found(plist_id, found, driver_config, &driver_value.to_string())
    }

    /// Returns the identifier of the driver, which the program does not close.
    fn H5Pget_driver(plist_id: hid_t) -> hid_t {
        Ok(h5fd::id_of(&read(plist_id, driver_of)?))
    }

    /// Returns the driver's own properties, which belong to the list.
    fn H5Pget_driver_info(plist_id: hid_t) -> *mut c_void {
        let info = read(plist_id, |access| access.driver.as_ref().and_then(|choice| choice.info.clone()))?;
        Ok(info.map_or(std::ptr::null_mut(), |info| info.pointer().cast_mut()))
    }

    /// Returns the driver's properties as text.
    fn H5Pget_driver_config_str(fapl_id: hid_t, config_buf: TextOut, buf_size: usize) -> isize {
        let text = read(fapl_id, |access| access.driver.as_ref().and_then(|choice| choice.text.clone()))?;
        let text = text.unwrap_or_default();
        let config = text.split_once('{').and_then(|(_, rest)| rest.strip_suffix('}')).unwrap_or_default();
        Ok(config_buf.put_text(buf_size, config))
    }

    /// Sets the driver of ordinary files.
    fn H5Pset_fapl_sec2(fapl_id: hid_t) -> herr_t {
        choose(fapl_id, BuiltIn::Sec2, "", None)
    }

    /// Sets the driver of ordinary files that uses C's own buffers, which has no advantage here.
    fn H5Pset_fapl_stdio(fapl_id: hid_t) -> herr_t {
        choose(fapl_id, BuiltIn::Stdio, "", None)
    }

    /// Sets the driver of ordinary files of Windows, where that is the default.
    fn H5Pset_fapl_windows(fapl_id: hid_t) -> herr_t {
        choose(fapl_id, BuiltIn::Sec2, "", None)
    }

    /// Sets the driver of files in memory.
    fn H5Pset_fapl_core(fapl_id: hid_t, increment: usize, backing_store: bool) -> herr_t {
        // 0 grows by as much as is needed.
        let step = if increment == 0 { String::new() } else { format!("increment={increment}, ") };
        let parameters = format!("{step}backing_store={backing_store}");
        choose(fapl_id, BuiltIn::Core, &parameters, Some(DriverInfo::Core { increment, backing_store }))
    }

    /// Returns the properties of files in memory.
    fn H5Pget_fapl_core(fapl_id: hid_t, increment: Out<usize>, backing_store: Out<bool>) -> herr_t {
        let (step, is_backed) = match info(fapl_id, BuiltIn::Core)?.as_deref() {
            Some(DriverInfo::Core { increment, backing_store }) => (*increment, *backing_store),
            _ => (64 << 10, true),
        };
        increment.put(step);
        backing_store.put(is_backed);
        Ok(())
    }

    /// Sets the driver of member files of equal size.
    fn H5Pset_fapl_family(fapl_id: hid_t, memb_size: hsize_t, memb_fapl_id: hid_t) -> herr_t {
        let member = match memb_fapl_id {
            H5P_DEFAULT => None,
            id => Some(Arc::new(list::get(id, Kind::FileAccess, |values| values.access_ref().cloned())?)),
        };
        super::members::check_member(member.as_deref())?;
        let bytes = if memb_size == 0 { FAMILY_BYTES_DEFAULT } else { memb_size };
        let info = DriverInfo::Family { member_bytes: memb_size, member };
        choose(fapl_id, BuiltIn::Family, &format!("member_bytes={bytes}"), Some(info))
    }

    /// Returns the properties of member files of equal size.
    fn H5Pget_fapl_family(fapl_id: hid_t, memb_size: Out<hsize_t>, memb_fapl_id: Out<hid_t>) -> herr_t {
        let info = info(fapl_id, BuiltIn::Family)?;
        let (bytes, member) = match info.as_deref() {
            Some(DriverInfo::Family { member_bytes, member }) => (*member_bytes, member.clone()),
            _ => (FAMILY_BYTES_DEFAULT, None),
        };
        memb_size.put(bytes);
        if memb_fapl_id.is_wanted() {
            memb_fapl_id.put(super::register_file_access(member.map(|member| (*member).clone()).unwrap_or_default()));
        }
        Ok(())
    }
}

/// Defines setters of drivers that the registry lacks: they fail with libhdf5's numbers for it.
macro_rules! absent_drivers {
    ($($name:ident($($arg:ident : $ty:ty),*) $driver:literal;)+) => {
        api! { PLIST: $(
            #[doc = concat!("Fails: this library has no driver `", $driver, "`.")]
            fn $name(fapl_id: hid_t, $($arg: $ty),*) -> herr_t {
                $(let _ = $arg;)*
                check_list(fapl_id)?;
                Err::<(), _>(h5fd::absent($driver))
            }
        )+ }
    };
}

absent_drivers! {
    H5Pset_fapl_hdfs(_fa: *mut c_void) "hdfs";
    H5Pget_fapl_hdfs(_fa: *mut c_void) "hdfs";
}

refused! { PLIST:
    /// Version 1.8 had this for programs that use MPI.
    fn H5Pset_fapl_mpiposix(_fapl_id: hid_t, _comm: *mut c_void, _use_gpfs: c_uint) -> herr_t;
}
