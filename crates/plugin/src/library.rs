//! The side of the host: plugins from files.
#![expect(unsafe_code, reason = "shared libraries")]

use std::ffi::{CStr, c_char};
use std::mem::MaybeUninit;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use files::Driver;
use filters::Filter;
use model::{Error, Result};
use protocol::wire;
use vol::{Capability, Connector, ConnectorInfo, LayerFactory, Registry};

use crate::abi::{self, connector as code};
use crate::call::{Message, Reply, broken, invoke};
use crate::connector::{Foreign, Source};
use crate::driver::ForeignDriver;
use crate::filter::ForeignFilter;
use crate::image;
use crate::names::interned;

/// A connector, a layer, a filter or a driver from a plugin.
#[derive(Clone)]
pub enum Plugin {
    /// It stores containers.
    Connector(Arc<dyn Connector>),
    /// It puts something over containers.
    Layer(Arc<dyn LayerFactory>),
    /// It is a filter of chunks.
    Filter(Arc<dyn Filter>),
    /// It stores the bytes of files.
    Driver(Arc<dyn Driver>),
}

impl std::fmt::Debug for Plugin {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Plugin::Connector(_) => "Connector",
            Plugin::Layer(_) => "Layer",
            Plugin::Filter(_) => "Filter",
            Plugin::Driver(_) => "Driver",
        })
    }
}

/// A plugin that was loaded. Its library stays for the rest of the process.
#[derive(Debug, Clone)]
pub struct Loaded {
    /// Where it came from.
    pub path: PathBuf,
    /// Its name and number.
    pub info: ConnectorInfo,
    /// The connector, layer, filter or driver.
    pub plugin: Plugin,
}

impl Loaded {
    /// Adds it to what a program knows. A name or a number that is taken is an error.
    pub fn register(&self, registry: &mut Registry) -> Result<()> {
        let origin = self.path.display().to_string();
        let registered = match &self.plugin {
            Plugin::Connector(connector) => registry.register_from(connector.clone(), &origin),
            Plugin::Layer(layer) => registry.register_layer_from(layer.clone(), &origin),
            Plugin::Filter(filter) => registry.register_filter_from(filter.clone(), &origin),
            Plugin::Driver(driver) => registry.register_driver(driver.clone()),
        };
        registered.map_err(|e| e.with("plugin", origin))
    }
}

/// Loads a plugin. Its code runs in this process from now on, with all its rights.
///
/// A file that is no plugin is refused before any code of it runs.
pub fn load(path: impl AsRef<Path>) -> Result<Loaded> {
    let path = path.as_ref();
    let loaded = image::check(path, abi::SYMBOL).and_then(|()| open(path));
    loaded.map_err(|e| e.during(format!("load plugin {}", path.display())))
}

fn open(path: &Path) -> Result<Loaded> {
    let refused = |e: libloading::Error| Error::invalid("open library").with("cause", e);
    // A bare name would be looked for in the folders of the system.
    let absolute = std::path::absolute(path).map_err(|e| Error::io("find library", &e))?;
    // SAFETY: the library's own initialisation runs. That is what a caller of `load` asks for.
    let library = unsafe { libloading::Library::new(&absolute) }.map_err(refused)?;
    // It is never unloaded: tables, containers and threads of it may be anywhere.
    let library: &'static libloading::Library = Box::leak(Box::new(library));
    // SAFETY: the symbol has this type by the contract that its name states.
    let symbol =
        unsafe { library.get::<unsafe extern "C" fn() -> *const abi::Table>(abi::SYMBOL.as_bytes()) };
    let missing =
        |e: libloading::Error| Error::invalid("find symbol").with("symbol", abi::SYMBOL).with("cause", e);
    let function = symbol.map_err(missing)?;
    // SAFETY: as above.
    let table = unsafe { function() };
    describe(path, checked(table)?)
}

/// Returns a table whose fields are all there.
fn checked(table: *const abi::Table) -> Result<&'static abi::Table> {
    if table.is_null() {
        return Err(refused("the plugin could not start"));
    }
    // SAFETY: a table of any version starts with its version and its size.
    let [version, size] = unsafe { *table.cast::<[u32; 2]>() };
    if version != abi::ABI {
        let error = Error::unsupported("read table").with("problem", "another version of the interface");
        return Err(error.with("version", version).with("known", abi::ABI));
    }
    if (size as usize) < TABLE_BYTES_MIN {
        return Err(refused("too small").with("bytes", size).with("needed", TABLE_BYTES_MIN));
    }
    let table = whole(table, size as usize);
    match table.wire == wire::VERSION {
        true => Ok(table),
        false => Err(Error::unsupported("read table")
            .with("problem", "another version of messages")
            .with("version", table.wire)
            .with("known", wire::VERSION)),
    }
}

/// Bytes of a table of the first header.
const TABLE_BYTES_MIN: usize = std::mem::offset_of!(abi::Table, filter);

/// Returns the table with all fields that are known here. Those that an older header lacks are not there.
fn whole(table: *const abi::Table, size: usize) -> &'static abi::Table {
    let mut whole = MaybeUninit::<abi::Table>::zeroed();
    let bytes = size.min(size_of::<abi::Table>());
    // SAFETY: the table has `size` bytes, as it says itself. Zeros are null pointers and functions that are not there.
    let whole = unsafe {
        std::ptr::copy_nonoverlapping(table.cast::<u8>(), whole.as_mut_ptr().cast::<u8>(), bytes);
        whole.assume_init()
    };
    Box::leak(Box::new(whole))
}

fn describe(path: &Path, table: &'static abi::Table) -> Result<Loaded> {
    let info = ConnectorInfo {
        name: text(table.name, "name")?,
        value: table.value,
        version: table.version,
        capability: Capability::from_bits(table.capability),
        about: text(table.about, "about")?,
    };
    if !is_name(info.name) {
        return Err(Error::invalid("read table")
            .with("problem", "not a name for a location")
            .with("name", info.name));
    }
    let foreign = || Arc::new(Foreign { info: info.clone(), source: Functions(table) });
    let plugin = match table.kind {
        abi::KIND_CONNECTOR => Plugin::Connector(foreign()),
        abi::KIND_LAYER => Plugin::Layer(foreign()),
        abi::KIND_FILTER => Plugin::Filter(Arc::new(filter_of(&info, table)?)),
        abi::KIND_DRIVER => Plugin::Driver(Arc::new(driver_of(&info, table)?)),
        kind => {
            return Err(Error::unsupported("read table").with("problem", "unknown kind").with("kind", kind));
        }
    };
    Ok(Loaded { path: path.to_owned(), info, plugin })
}

fn refused(problem: &str) -> Error {
    Error::invalid("read table").with("problem", problem)
}

fn filter_of(info: &ConnectorInfo, table: &'static abi::Table) -> Result<ForeignFilter<OneFunction>> {
    let id = u16::try_from(info.value).map_err(|_| refused("not the number of a filter"))?;
    let function = table.filter.ok_or_else(|| refused("a filter without a function"))?;
    Ok(ForeignFilter { id, name: info.name, source: OneFunction { function, functions: Functions(table) } })
}

fn driver_of(info: &ConnectorInfo, table: &'static abi::Table) -> Result<ForeignDriver<OneFunction>> {
    let function = table.driver.ok_or_else(|| refused("a driver without a function"))?;
    let source = OneFunction { function, functions: Functions(table) };
    Ok(ForeignDriver { name: info.name, about: info.about, source })
}

/// Returns whether a location can start with it.
fn is_name(name: &str) -> bool {
    let is_name_byte = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_' || b == b'-';
    name.len() >= 2 && name.starts_with(|c: char| c.is_ascii_lowercase()) && name.bytes().all(is_name_byte)
}

fn text(pointer: *const c_char, what: &str) -> Result<&'static str> {
    if pointer.is_null() {
        return Err(Error::invalid("read table").with("missing", what));
    }
    // SAFETY: texts of a table end with a NUL by the contract.
    let text = unsafe { CStr::from_ptr(pointer) };
    let text = text.to_str().map_err(|_| Error::invalid("read table").with("not UTF-8", what))?;
    Ok(interned(text))
}

/// The functions of a table.
struct Functions(&'static abi::Table);

// SAFETY: a table never changes, and its functions are called from any thread by the contract.
unsafe impl Send for Functions {}
// SAFETY: as above.
unsafe impl Sync for Functions {}

impl Source for Functions {
    fn ask(&self, message: Message<'_>) -> Result<Reply> {
        let (function, name) = match message.code {
            code::CREATE => (self.0.create, "create container"),
            code::OPEN => (self.0.open, "open container"),
            code::REMOVE => (self.0.remove, "delete container"),
            code::IS_ACCESSIBLE => (self.0.is_accessible, "look for container"),
            code::WRAP => (self.0.wrap, "wrap container"),
            _ => return Err(broken("unknown code")),
        };
        let function = function.ok_or_else(|| Error::unsupported(name))?;
        let mut reply = Reply::default();
        // SAFETY: function and `this` stand in one table.
        unsafe { invoke(function, self.0.this, message, &mut reply) }?;
        Ok(reply)
    }
}

/// The function of a table that does all that a filter or a driver does.
struct OneFunction {
    function: abi::Call,
    functions: Functions,
}

impl Source for OneFunction {
    fn ask(&self, message: Message<'_>) -> Result<Reply> {
        let mut reply = Reply::default();
        // SAFETY: function and `this` stand in one table.
        unsafe { invoke(self.function, self.functions.0.this, message, &mut reply) }?;
        Ok(reply)
    }
}
