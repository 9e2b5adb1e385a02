//! H5FD: virtual file drivers.
//!
//! Drivers of the library have constant identifiers; `foreign` calls those that programs register. [`prepare`] gives a file
//! that is opened its driver.

mod class;
mod foreign;
pub mod functions;

use std::ffi::{c_int, c_void};
use std::sync::Arc;

use hyperslab::vol::Registry;

use crate::codes::{Major, Minor};
use crate::failure::{Failure, Fallible};
use crate::ffi::{GlobalId, hid_t, id_type};
use crate::h5p::values::FileAccessValues;
use crate::handles::Object;
use crate::ids;

pub use class::ForeignClass;

/// The drivers that libhdf5 has, with their numbers (`H5_VFD_…`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum BuiltIn {
    Sec2 = 0,
    Core = 1,
    Log = 2,
    Family = 3,
    Multi = 4,
    Stdio = 5,
    Splitter = 6,
    Mpio = 7,
    Direct = 8,
    Mirror = 9,
    Ros3 = 11,
    Subfiling = 12,
    Ioc = 13,
    Onion = 14,
}

impl BuiltIn {
    /// All of them.
    pub const ALL: [BuiltIn; 14] = [
        BuiltIn::Sec2,
        BuiltIn::Core,
        BuiltIn::Log,
        BuiltIn::Family,
        BuiltIn::Multi,
        BuiltIn::Stdio,
        BuiltIn::Splitter,
        BuiltIn::Mpio,
        BuiltIn::Direct,
        BuiltIn::Mirror,
        BuiltIn::Ros3,
        BuiltIn::Subfiling,
        BuiltIn::Ioc,
        BuiltIn::Onion,
    ];

    /// Returns the name that libhdf5 gives the driver.
    pub fn name(self) -> &'static str {
        match self {
            BuiltIn::Sec2 => "sec2",
            BuiltIn::Core => "core",
            BuiltIn::Log => "log",
            BuiltIn::Family => "family",
            BuiltIn::Multi => "multi",
            BuiltIn::Stdio => "stdio",
            BuiltIn::Splitter => "splitter",
            BuiltIn::Mpio => "mpio",
            BuiltIn::Direct => "direct",
            BuiltIn::Mirror => "mirror",
            BuiltIn::Ros3 => "ros3",
            BuiltIn::Subfiling => "subfiling",
            BuiltIn::Ioc => "ioc",
            BuiltIn::Onion => "onion",
        }
    }

    /// Returns the driver of the registry that does the same, or `None` if it has none.
    pub fn registered(self) -> Option<&'static str> {
        match self {
            BuiltIn::Sec2 | BuiltIn::Stdio => Some("posix"),
            BuiltIn::Core => Some("core"),
            BuiltIn::Log => Some("log"),
            BuiltIn::Family => Some("family"),
            BuiltIn::Multi => Some("multi"),
            BuiltIn::Splitter => Some("splitter"),
            // Every process transfers its own elements; `mpi` makes one file of them.
            BuiltIn::Mpio => Some("posix").filter(|_| cfg!(feature = "mpi")),
            BuiltIn::Direct => Some("direct"),
            BuiltIn::Mirror => Some("mirror"),
            // Concentrators are threads of the process.
            BuiltIn::Subfiling | BuiltIn::Ioc => Some("subfiling"),
            BuiltIn::Onion => Some("onion"),
            BuiltIn::Ros3 => Some("s3").filter(|_| cfg!(feature = "cloud")),
        }
    }

    /// Returns the identifier of the driver.
    pub const fn id(self) -> hid_t {
        ids::predefined(id_type::VFL, self as u64 + 1)
    }

    /// Returns what the driver can do, as libhdf5's drivers say it (`H5FD_FEAT_…`).
    pub fn features(self) -> u64 {
        match self {
            BuiltIn::Sec2 | BuiltIn::Log => 0x909f,
            BuiltIn::Core => 0xc1f,
            BuiltIn::Family => 0x1f,
            BuiltIn::Multi => 0x6018,
            BuiltIn::Stdio => 0x801f,
            BuiltIn::Mpio => 0x8111,
            BuiltIn::Direct => 0x801f,
            BuiltIn::Mirror => 0x909f,
            _ => 0,
        }
    }
}

/// Exports identifiers of drivers.
macro_rules! export {
    ($($kind:ident $symbol:literal;)+) => {
        $(const _: () = {
            #[unsafe(export_name = $symbol)]
            static ID: GlobalId = GlobalId::new(BuiltIn::$kind.id());
        };)+
    };
}

export! {
    Sec2 "H5FD_SEC2_id_g";
    Core "H5FD_CORE_id_g";
    Log "H5FD_LOG_id_g";
    Family "H5FD_FAMILY_id_g";
    Multi "H5FD_MULTI_id_g";
    Stdio "H5FD_STDIO_id_g";
    Splitter "H5FD_SPLITTER_id_g";
    Direct "H5FD_DIRECT_id_g";
    Ros3 "H5FD_ROS3_id_g";
    Onion "H5FD_ONION_id_g";
    Mirror "H5FD_MIRROR_id_g";
    Subfiling "H5FD_SUBFILING_id_g";
    Ioc "H5FD_IOC_id_g";
}

#[cfg(feature = "mpi")]
export! {
    Mpio "H5FD_MPIO_id_g";
}

/// Exports identifiers of drivers that libhdf5 has only when it is built with them: there are none.
macro_rules! export_absent {
    ($($symbol:ident)+) => { $(
        /// There is no such driver.
        #[unsafe(no_mangle)]
        pub static $symbol: GlobalId = GlobalId::new(crate::ffi::H5I_INVALID_HID);
    )+ };
}

export_absent! { H5FD_HDFS_id_g }

#[cfg(not(feature = "mpi"))]
export_absent! { H5FD_MPIO_id_g }

/// A driver that has an identifier.
#[derive(Debug)]
pub enum DriverHandle {
    /// One of libhdf5's.
    BuiltIn(BuiltIn),
    /// One that a program registered.
    Foreign(Arc<ForeignClass>),
}

impl DriverHandle {
    /// Returns the driver's name.
    pub fn name(&self) -> &str {
        match self {
            DriverHandle::BuiltIn(driver) => driver.name(),
            DriverHandle::Foreign(class) => &class.name,
        }
    }

    /// Returns the driver's number, if it has one.
    pub fn value(&self) -> Option<c_int> {
        match self {
            DriverHandle::BuiltIn(driver) => Some(*driver as c_int),
            DriverHandle::Foreign(class) => class.value,
        }
    }
}

/// A driver's own properties.
#[derive(Debug)]
pub enum DriverInfo {
    /// Of files in memory.
    Core { increment: usize, backing_store: bool },
    /// Of member files of equal size.
    Family { member_bytes: u64, member: Option<Arc<FileAccessValues>> },
    /// Of files for each kind of bytes.
    Multi(Box<crate::h5p::members::MultiInfo>),
    /// Of files for metadata and raw data.
    Split { metadata: String, raw: String },
    /// Of a log.
    Log { file: Option<String>, flags: u64, buffer_bytes: usize },
    /// Of files without the system's cache.
    Direct { alignment: usize, block: usize, copy: usize },
    /// Of files with a second copy.
    Splitter(Box<crate::h5p::driver_stacks::SplitterInfo>),
    /// Of files with revisions.
    Onion(Box<crate::h5p::driver_stacks::OnionInfo>),
    /// Of files in stripes over subfiles.
    Subfiling { params: crate::h5p::driver_structs::H5FD_subfiling_params_t, threads: i32 },
    /// Of concentrators.
    Ioc { threads: i32 },
    /// Of files on a server.
    Mirror { host: String, port: c_int },
    /// Of objects of S3.
    Ros3(Box<crate::h5p::ros3::Ros3Info>),
    /// Of a program's driver, in the form that its functions take.
    Foreign(class::ForeignInfo),
}

impl DriverInfo {
    /// Returns the properties that a program passes to its own driver.
    pub fn foreign(class: &Arc<ForeignClass>, info: *const c_void) -> Fallible<Option<Self>> {
        class::ForeignInfo::copy(class, info).map(|info| info.map(DriverInfo::Foreign))
    }

    /// Returns the properties as `H5Pget_driver_info` gives them to the program.
    pub fn pointer(&self) -> *const c_void {
        match self {
            DriverInfo::Foreign(info) => info.pointer(),
            _ => std::ptr::null(),
        }
    }
}

pub(crate) fn predefined(serial: u64) -> Option<Arc<DriverHandle>> {
    let found = BuiltIn::ALL.into_iter().find(|driver| *driver as u64 + 1 == serial);
    found.map(|driver| Arc::new(DriverHandle::BuiltIn(driver)))
}

/// Returns the driver of an identifier.
pub fn driver(id: hid_t, what: &'static str) -> Fallible<Arc<DriverHandle>> {
    match ids::object(id) {
        Ok(Object::Driver(driver)) => Ok(driver),
        _ => Err(Failure::wrong_type(what)),
    }
}

/// Returns an identifier of a driver: a constant, or the one that the program registered it under.
pub fn id_of(driver: &Arc<DriverHandle>) -> hid_t {
    match &**driver {
        DriverHandle::BuiltIn(driver) => driver.id(),
        DriverHandle::Foreign(_) => {
            let is_it =
                |object: &Object| matches!(object, Object::Driver(known) if Arc::ptr_eq(known, driver));
            let known = ids::find(is_it).first().copied();
            known.unwrap_or_else(|| ids::register(Object::Driver(driver.clone())))
        }
    }
}

/// Returns the driver with a name or a number, among those of the library and of the program.
pub fn find(is_it: impl Fn(&DriverHandle) -> bool) -> Option<Arc<DriverHandle>> {
    let built_in = BuiltIn::ALL.into_iter().filter(|driver| driver.registered().is_some());
    let mut built_in = built_in.map(|driver| Arc::new(DriverHandle::BuiltIn(driver)));
    built_in.find(|driver| is_it(driver)).or_else(|| {
        let found = ids::find(|object| matches!(object, Object::Driver(driver) if is_it(driver)));
        found.first().and_then(|id| driver(*id, "not a file driver ID").ok())
    })
}

/// Gives a file that is about to be opened its driver: returns the text for `FileAccess::driver`. A driver of the program is
/// added to `registry`, which is that of this file alone. Without one in the list it is that of `HDF5_DRIVER`.
///
/// # Errors
/// Returns a failure if there is no such driver.
pub fn prepare(registry: &mut Registry, access: &FileAccessValues) -> Fallible<Option<String>> {
    let of_environment = match access.driver {
        Some(_) => None,
        None => crate::h5p::drivers::of_environment()?,
    };
    let Some(choice) = access.driver.as_ref().or(of_environment.as_ref()) else { return Ok(None) };
    if let Some(DriverInfo::Ros3(info)) = choice.info.as_deref() {
        return info.prepare(registry).map(Some);
    }
    match &*choice.driver {
        DriverHandle::BuiltIn(driver) => match &choice.text {
            Some(text) => Ok(Some(text.clone())),
            None => Err(absent(driver.name())),
        },
        DriverHandle::Foreign(class) => {
            let driver = foreign::ForeignDriver::new(class.clone(), access.clone());
            registry.register_driver(Arc::new(driver))?;
            Ok(Some(foreign::NAME.to_owned()))
        }
    }
}

/// Returns the failure of a driver that is not there.
pub fn absent(name: &str) -> Failure {
    Failure::new(Major::PLIST, Minor::UNSUPPORTED, format!("this library has no driver \"{name}\""))
}
