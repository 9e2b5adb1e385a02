//! H5VL: connectors.
//!
//! Connectors and layers are those of the registry, under their names and numbers and under libhdf5's. Their properties are
//! text, as `HDF5_VOL_CONNECTOR` has it; to C they are strings. Connectors that programs bring along are refused.

pub mod functions;
mod log_variables;
pub mod refused_functions;

use std::ffi::{c_int, c_void};
use std::sync::{Arc, LazyLock, Once};

use hyperslab::Environment;
use hyperslab::vol::{Capability, Registry, libhdf5};

use crate::arguments::Text;
use crate::codes::{Major, Minor};
use crate::failure::{Failure, Fallible};
use crate::ffi::{GlobalId, H5I_INVALID_HID, allocate_text, hid_t, id_type};
use crate::h5p::values::ConnectorChoice;
use crate::handles::Object;
use crate::ids;
use crate::stack::c_text;

pub use log_variables::with_log_variables;

const NATIVE: &str = "native";
const NATIVE_SERIAL: u64 = 1;
const NATIVE_ID: hid_t = ids::predefined(id_type::VOL, NATIVE_SERIAL);

/// The connector of HDF5 files.
#[unsafe(no_mangle)]
pub static H5VL_NATIVE_g: GlobalId = GlobalId::new(NATIVE_ID);

/// libhdf5's connector that only calls another: there is none.
#[unsafe(no_mangle)]
pub static H5VL_PASSTHRU_g: GlobalId = GlobalId::new(H5I_INVALID_HID);

/// A connector or a layer that has an identifier.
#[derive(Debug, Clone)]
pub struct ConnectorHandle {
    /// The name that the program knows it by.
    pub name: String,
    /// The number.
    pub value: c_int,
    /// The name in the registry.
    pub registered: String,
    /// Whether it is a layer over another connector.
    pub is_layer: bool,
    capability: Capability,
}

/// Names and numbers of libhdf5's world for connectors of ours.
const ALIASES: [(&str, c_int, &str); 2] = [("LOG", 514, "log"), ("daos", 4004, "object")];

/// Returns the bits of `H5VL_CAP_FLAG_…` for what a connector can do.
fn flags_of(capability: &Capability, is_native: bool) -> u64 {
    // Threads, datasets, files, groups, links, objects, iteration, sizes, access by index, property lists.
    let always = 0x1 | 0x1_9fe0 | 0x0f00_0000;
    let pairs = [
        (is_native, 0x4),
        (capability.attributes, 0x18),
        (capability.maps, 0x6000),
        (capability.object_references, 0x6_0000 | 0x8_0000),
        (capability.region_references, 0x10_0000),
        (capability.attribute_references, 0x20_0000),
        (capability.committed_datatypes, 0x40_0000),
        (capability.creation_order, 0x80_0000),
        // One flag for flush, which all have, and refresh.
        (capability.refresh, 0x1000_0000),
        (capability.external_links, 0x2000_0000),
        (capability.hard_links, 0x4000_0000),
        (capability.soft_links, 0x8000_0000),
        (capability.user_links, 0x1_0000_0000),
        (capability.times, 0x2_0000_0000),
        // Files are mounted by this library, whatever connector they have.
        (true, 0x4_0000_0000),
        (capability.filters, 0x8_0000_0000),
        (capability.fill_values, 0x10_0000_0000),
    ];
    pairs.iter().filter(|(is_there, _)| *is_there).fold(always, |flags, (_, bits)| flags | bits)
}

impl ConnectorHandle {
    /// Returns what it can do, in the bits of `H5VL_CAP_FLAG_…`.
    pub fn capability_flags(&self) -> u64 {
        flags_of(&self.capability, self.registered == NATIVE || self.registered == "log")
    }
}

static ENVIRONMENT: LazyLock<Result<Environment, Failure>> = LazyLock::new(|| {
    let read = Environment::from(|name| {
        let value = std::env::var_os(name)?;
        // C plugins are not those of the registry, which would only list them as skipped.
        match name {
            "HDF5_VOL_CONNECTOR" => Some(translated(&value.to_string_lossy()).into()),
            "HDF5_PLUGIN_PATH" => None,
            _ => Some(value),
        }
    });
    // Not the "not found" of an object: programs would take it for a missing name.
    let failed = |error| Failure::from(error).as_major(Major::VOL).as_minor(Minor::CANTINIT);
    let mut environment = read.map_err(failed)?;
    crate::h5z::add_to(&mut environment.registry);
    Ok(environment)
});

/// Returns the text of `HDF5_VOL_CONNECTOR` with names and numbers of connectors that are ours under others.
fn translated(text: &str) -> String {
    let mut text = text.to_owned();
    for (name, value, ours) in ALIASES {
        let first = text.split_whitespace().next().unwrap_or_default().to_owned();
        if first == name || first == value.to_string() {
            text = text.replacen(&first, ours, 1);
        }
        for theirs in [name.to_owned(), value.to_string()] {
            text = text.replace(&format!("under_vol={theirs};"), &format!("under_vol={ours};"));
        }
    }
    text
}

/// Returns the registry and the stack that the environment of the process chooses.
///
/// # Errors
/// Returns a failure if a variable cannot be read.
pub fn environment() -> Fallible<&'static Environment> {
    ENVIRONMENT.as_ref().map_err(Clone::clone)
}

fn registry() -> Fallible<&'static Registry> {
    environment().map(|environment| &environment.registry)
}

pub(crate) fn predefined(serial: u64) -> Option<Arc<ConnectorHandle>> {
    static NATIVE_HANDLE: LazyLock<Arc<ConnectorHandle>> = LazyLock::new(|| {
        Arc::new(lookup(&|name, _| name == NATIVE).ok().flatten().unwrap_or_else(|| ConnectorHandle {
            name: NATIVE.to_owned(),
            value: 0,
            registered: NATIVE.to_owned(),
            is_layer: false,
            capability: Capability::default(),
        }))
    });
    (serial == NATIVE_SERIAL).then(|| NATIVE_HANDLE.clone())
}

/// Returns a connector or a layer of the registry, or one under another name.
fn lookup(is_it: &dyn Fn(&str, c_int) -> bool) -> Fallible<Option<ConnectorHandle>> {
    // A broken setting must not take the native connector away.
    let own;
    let registry = match registry() {
        Ok(registry) => registry,
        Err(_) => {
            own = hyperslab::registry();
            &own
        }
    };
    let connectors = registry.connectors().map(|connector| (connector.info(), false));
    let layers = registry.layers().map(|layer| (layer.info(), true));
    for (info, is_layer) in connectors.chain(layers) {
        let alias = ALIASES.iter().find(|(name, value, ours)| *ours == info.name && is_it(name, *value));
        let known = is_it(info.name, info.value as c_int).then_some((info.name, info.value as c_int));
        let Some((name, value)) = known.or(alias.map(|(name, value, _)| (*name, *value))) else { continue };
        return Ok(Some(ConnectorHandle {
            name: name.to_owned(),
            value,
            registered: info.name.to_owned(),
            is_layer,
            capability: info.capability,
        }));
    }
    Ok(None)
}

/// Returns the connector of an identifier.
pub fn connector(id: hid_t, what: &'static str) -> Fallible<Arc<ConnectorHandle>> {
    match ids::object(id) {
        Ok(Object::Connector(connector)) => Ok(connector),
        _ => Err(Failure::wrong_type(what)),
    }
}

/// Returns an identifier of a connector, which the program closes. One connector has one identifier.
pub fn register(connector: Arc<ConnectorHandle>) -> hid_t {
    if connector.name == NATIVE {
        return NATIVE_ID;
    }
    if let Some(id) = registered_id(|known| known.name == connector.name)
        && ids::add_reference(id).is_ok()
    {
        return id;
    }
    ids::register(Object::Connector(connector))
}

/// Registers the connector of the environment, which libhdf5 does when it starts. A setting that cannot be read shows when a file is
/// opened.
fn register_default() {
    static REGISTERED: Once = Once::new();
    REGISTERED.call_once(|| {
        if let Ok(choice) = default_connector()
            && choice.connector.name != NATIVE
        {
            ids::register(Object::Connector(choice.connector));
        }
    });
}

fn registered_id(is_it: impl Fn(&ConnectorHandle) -> bool) -> Option<hid_t> {
    register_default();
    if predefined(NATIVE_SERIAL).is_some_and(|native| is_it(&native)) {
        return Some(NATIVE_ID);
    }
    ids::find(|object| matches!(object, Object::Connector(connector) if is_it(connector))).first().copied()
}

/// Returns the connector that lists have when none was set: that of the environment, or native.
///
/// # Errors
/// Returns a failure if the environment names one that is not there.
pub fn default_connector() -> Fallible<ConnectorChoice> {
    let environment = environment()?;
    let text = std::env::var("HDF5_VOL_CONNECTOR").unwrap_or_default();
    let name = text.split_whitespace().next().unwrap_or_default().to_owned();
    let of_number = name.parse::<c_int>().ok();
    let named = match name.is_empty() {
        true => None,
        false => lookup(&|known, value| known == name || of_number == Some(value))?,
    };
    let first = environment.registry.connectors().next().map(|connector| connector.info().name);
    let handle = match named {
        Some(handle) => Some(handle),
        None => lookup(&|known, _| Some(known) == first)?,
    };
    let handle = handle.ok_or_else(|| Failure::new(Major::VOL, Minor::CANTGET, "there is no connector"))?;
    let info = text.trim_start().strip_prefix(&name).map(|rest| rest.trim().to_owned());
    Ok(ConnectorChoice { connector: Arc::new(handle), info: info.filter(|info| !info.is_empty()) })
}

/// Returns the registry and the stack of a file that is opened with this connector; `None` is that of the environment.
///
/// # Errors
/// Returns a failure if the connector or its properties cannot be read.
pub fn chosen(choice: Option<&ConnectorChoice>) -> Fallible<(Registry, Option<String>)> {
    let environment = environment()?;
    let Some(choice) = choice else {
        return Ok((environment.registry.clone(), environment.stack.clone()));
    };
    let text = format!("{} {}", choice.connector.registered, choice.info.as_deref().unwrap_or_default());
    let mut registry = environment.registry.clone();
    let setting = libhdf5::parse(&translated(text.trim()), &registry)?;
    registry.set_default(setting.connector.as_deref().unwrap_or(NATIVE))?;
    Ok((registry, setting.stack))
}

/// Returns the properties of a connector that the program passes.
pub fn info_text(info: *const c_void) -> Option<String> {
    Text(info.cast()).optional().filter(|text| !text.is_empty())
}

/// Returns properties of a connector for the program, which frees them.
pub fn info_pointer(info: Option<&str>) -> *mut c_void {
    info.map_or(std::ptr::null_mut(), |info| allocate_text(c_text(info).as_bytes()).cast())
}
