//! The side of the plugin: a connector, layer, filter or driver of Rust as a table of C functions.
#![expect(unsafe_code, reason = "the C interface")]

use std::ffi::{CString, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, OnceLock};

use files::Driver;
use filters::Filter;
use protocol::wire;
use vol::{Capability, Connector, ConnectorInfo, LayerFactory};

use crate::abi;
use crate::call::{Message, Reply};
use crate::connector::{answer_connector, answer_layer};
use crate::driver::answer_driver;
use crate::filter::answer_filter;
use crate::serve::serve;

/// Makes a connector a plugin: `hyperslab_plugin::export!(MyConnector::new());` in a `cdylib` crate, once.
#[macro_export]
macro_rules! export {
    ($connector:expr) => {
        $crate::export_table!(|| $crate::guest::Exported::connector(std::sync::Arc::new($connector)));
    };
}

/// Makes a layer a plugin: `hyperslab_plugin::export_layer!(MyLayers);` in a `cdylib` crate, once.
#[macro_export]
macro_rules! export_layer {
    ($layer:expr) => {
        $crate::export_table!(|| $crate::guest::Exported::layer(std::sync::Arc::new($layer)));
    };
}

/// Makes a filter a plugin: `hyperslab_plugin::export_filter!(MyFilter);` in a `cdylib` crate, once.
#[macro_export]
macro_rules! export_filter {
    ($filter:expr) => {
        $crate::export_table!(|| $crate::guest::Exported::filter(std::sync::Arc::new($filter)));
    };
}

/// Makes a virtual file driver a plugin: `hyperslab_plugin::export_driver!(MyDriver);` in a `cdylib` crate, once.
#[macro_export]
macro_rules! export_driver {
    ($driver:expr) => {
        $crate::export_table!(|| $crate::guest::Exported::driver(std::sync::Arc::new($driver)));
    };
}

/// The one symbol of a plugin.
#[doc(hidden)]
#[macro_export]
macro_rules! export_table {
    ($make:expr) => {
        /// Returns the table of the plugin, as the header `hyperslab_connector.h` describes it.
        #[allow(unsafe_code)]
        #[unsafe(no_mangle)]
        pub extern "C" fn hyperslab_connector_v1() -> *const $crate::abi::Table {
            static EXPORTED: $crate::guest::Once = $crate::guest::Once::new();
            EXPORTED.table($make)
        }
    };
}

/// The kind of a plugin.
enum PluginKind {
    Connector(Arc<dyn Connector>),
    Layer(Arc<dyn LayerFactory>),
    Filter(Arc<dyn Filter>),
    Driver(Arc<dyn Driver>),
}

/// A connector, layer, filter or driver with its table.
pub struct Exported {
    what: PluginKind,
    table: abi::Table,
    _name: CString,
    _about: CString,
}

// SAFETY: the pointers of the table point to texts that never change and to this value itself; what is behind them is
// `Send` and `Sync`.
unsafe impl Send for Exported {}
// SAFETY: as above.
unsafe impl Sync for Exported {}

impl std::fmt::Debug for Exported {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Exported").field("table", &self.table).finish_non_exhaustive()
    }
}

impl Exported {
    /// Returns a connector.
    pub fn connector(connector: Arc<dyn Connector>) -> Self {
        let info = connector.info();
        let mut exported = Exported::new(&info, abi::KIND_CONNECTOR, PluginKind::Connector(connector));
        let table = &mut exported.table;
        table.create = Some(asked);
        table.open = Some(asked);
        table.remove = Some(asked);
        table.is_accessible = Some(asked);
        exported
    }

    /// Returns a layer.
    pub fn layer(layer: Arc<dyn LayerFactory>) -> Self {
        let info = layer.info();
        let mut exported = Exported::new(&info, abi::KIND_LAYER, PluginKind::Layer(layer));
        exported.table.wrap = Some(asked);
        exported
    }

    /// Returns a filter.
    pub fn filter(filter: Arc<dyn Filter>) -> Self {
        let info = info_of(filter.name(), filter.id().into(), "");
        let mut exported = Exported::new(&info, abi::KIND_FILTER, PluginKind::Filter(filter));
        exported.table.filter = Some(asked);
        exported
    }

    /// Returns a virtual file driver.
    pub fn driver(driver: Arc<dyn Driver>) -> Self {
        let info = info_of(driver.info().name, 0, driver.info().about);
        let mut exported = Exported::new(&info, abi::KIND_DRIVER, PluginKind::Driver(driver));
        exported.table.driver = Some(asked);
        exported
    }

    fn new(info: &ConnectorInfo, kind: u32, what: PluginKind) -> Self {
        // A name with a NUL in it is no name; the host refuses an empty one.
        let (name, about) =
            (CString::new(info.name).unwrap_or_default(), CString::new(info.about).unwrap_or_default());
        let table = abi::Table {
            abi: abi::ABI,
            size: size_of::<abi::Table>() as u32,
            wire: wire::VERSION,
            kind,
            value: info.value,
            version: info.version,
            capability: info.capability.to_bits(),
            name: name.as_ptr(),
            about: about.as_ptr(),
            this: std::ptr::null_mut(),
            create: None,
            open: None,
            remove: None,
            is_accessible: None,
            wrap: None,
            filter: None,
            driver: None,
        };
        Exported { what, table, _name: name, _about: about }
    }

    fn answer(&self, mut message: Message<'_>) -> model::Result<Reply> {
        match &self.what {
            PluginKind::Connector(connector) => answer_connector(&**connector, &message),
            PluginKind::Layer(layer) => answer_layer(&**layer, &mut message),
            PluginKind::Filter(filter) => answer_filter(&**filter, &message),
            PluginKind::Driver(driver) => answer_driver(&**driver, &message),
        }
    }
}

/// Returns the description of a plugin that stores no containers.
fn info_of(name: &'static str, value: u32, about: &'static str) -> ConnectorInfo {
    ConnectorInfo { name, value, version: 1, capability: Capability::default(), about }
}

unsafe extern "C" fn asked(this: *mut c_void, request: *const abi::Request, answer: *mut abi::Answer) -> i32 {
    // SAFETY: `this` is what the table says, which `Once` made and no one ends.
    let exported = unsafe { &*this.cast::<Exported>() };
    // SAFETY: the pointers are those of this call.
    unsafe { serve(request, answer, |message| exported.answer(message)) }
}

/// The table of a plugin, which is created when it is first asked for.
#[derive(Debug)]
pub struct Once(OnceLock<Option<&'static Exported>>);

impl Once {
    /// Returns a table that is not created yet.
    #[expect(clippy::new_without_default, reason = "for a static")]
    pub const fn new() -> Self {
        Once(OnceLock::new())
    }

    /// Returns the table; null where making it panics.
    pub fn table(&self, make: impl FnOnce() -> Exported) -> *const abi::Table {
        let exported = self.0.get_or_init(|| {
            let made = catch_unwind(AssertUnwindSafe(make)).ok()?;
            let made = Box::leak(Box::new(made));
            made.table.this = std::ptr::from_ref(made).cast_mut().cast();
            Some(made)
        });
        exported.map_or(std::ptr::null(), |exported| &exported.table)
    }
}
