//! Functions on connectors.

use std::ffi::{c_char, c_int, c_void};
use std::sync::Arc;

use super::{connector, info_pointer, info_text, lookup, register, registered_id};
use crate::api;
use crate::arguments::{Out, Text, TextOut};
use crate::codes::{Major, Minor};
use crate::failure::{Failure, Fallible};
use crate::ffi::{H5O_token_t, herr_t, hid_t, htri_t};
use crate::h5p::{self, Kind};
use crate::h5vl::ConnectorHandle;
use crate::handles::{self, Object};
use crate::ids;

/// `H5VL_OPT_QUERY_SUPPORTED`
const QUERY_SUPPORTED: u64 = 1;

fn not_found() -> Failure {
    Failure::new(Major::VOL, Minor::NOTFOUND, "unable to find VOL connector")
}

/// Returns the connector that stores the file of an object.
fn of_object(id: hid_t) -> Fallible<Arc<ConnectorHandle>> {
    if let Ok(Object::Connector(connector)) = ids::object(id) {
        return Ok(connector);
    }
    let location = handles::location(id).map_err(|_| Failure::wrong_type("invalid VOL object"))?;
    let name = location.container().info()?.connector.clone();
    let found = lookup(&|known, _| known == name)?.ok_or_else(not_found)?;
    Ok(Arc::new(found))
}

/// Registers a connector that the registry has.
fn register_found(is_it: &dyn Fn(&str, c_int) -> bool) -> Fallible<hid_t> {
    Ok(register(Arc::new(lookup(is_it)?.ok_or_else(not_found)?)))
}

/// Returns an error where a list is not one for the initialization of connectors. Such lists have no properties.
fn check_initialization(vipl_id: hid_t) -> Fallible<()> {
    h5p::list_for(vipl_id, Kind::VolInitialize).map(drop)
}

fn known_id(is_it: impl Fn(&ConnectorHandle) -> bool) -> Fallible<hid_t> {
    let id = registered_id(is_it).ok_or_else(not_found)?;
    ids::add_reference(id)?;
    Ok(id)
}

api! { VOL:
    /// Registers a connector by its name.
    fn H5VLregister_connector_by_name(connector_name: Text, vipl_id: hid_t) -> hid_t {
        let name = connector_name.name("VOL connector name")?;
        check_initialization(vipl_id)?;
        register_found(&|known, _| known == name)
    }

    /// Registers a connector by its number.
    fn H5VLregister_connector_by_value(connector_value: c_int, vipl_id: hid_t) -> hid_t {
        if connector_value < 0 {
            return Err(Failure::argument("negative VOL connector value is disallowed"));
        }
        check_initialization(vipl_id)?;
        register_found(&|_, known| known == connector_value)
    }

    /// Refuses a connector of the program: only those of this library can be used.
    fn H5VLregister_connector(cls: *const c_void, _vipl_id: hid_t) -> hid_t {
        if cls.is_null() {
            return Err(Failure::new(Major::ARGS, Minor::UNINITIALIZED, "VOL connector class pointer cannot be NULL"));
        }
        Err::<hid_t, _>(Failure::unsupported("connectors of other libraries (H5VL_class_t) are not supported"))
    }

    /// Says whether a connector with this name is registered.
    fn H5VLis_connector_registered_by_name(name: Text) -> htri_t {
        let name = name.name("VOL connector name")?;
        Ok(registered_id(|known| known.name == name).is_some())
    }

    /// Says whether a connector with this number is registered.
    fn H5VLis_connector_registered_by_value(connector_value: c_int) -> htri_t {
        Ok(registered_id(|known| known.value == connector_value).is_some())
    }

    /// Returns an identifier of the connector of an object.
    fn H5VLget_connector_id(obj_id: hid_t) -> hid_t {
        Ok(register(of_object(obj_id)?))
    }

    /// Returns an identifier of a registered connector.
    fn H5VLget_connector_id_by_name(name: Text) -> hid_t {
        let name = name.name("VOL connector name")?;
        known_id(|known| known.name == name)
    }

    /// Returns an identifier of a registered connector.
    fn H5VLget_connector_id_by_value(connector_value: c_int) -> hid_t {
        known_id(|known| known.value == connector_value)
    }

    /// Returns the name of the connector of an object.
    fn H5VLget_connector_name(id: hid_t, name: TextOut, size: usize) -> isize {
        Ok(name.put_text(size, &of_object(id)?.name))
    }

    /// Closes an identifier of a connector.
    fn H5VLclose(connector_id: hid_t) -> herr_t {
        connector(connector_id, "not a VOL connector")?;
        ids::remove_reference(connector_id).map(drop)
    }

    /// Removes an identifier of a connector; native is never removed.
    fn H5VLunregister_connector(connector_id: hid_t) -> herr_t {
        let connector = connector(connector_id, "not a VOL connector ID")?;
        if connector.name == super::NATIVE {
            return Err(Failure::argument("unregistering the native VOL connector is not allowed"));
        }
        ids::remove_reference(connector_id).map(drop)
    }

    /// Says whether a connector has an operation beyond the interface: native has libhdf5's.
    fn H5VLquery_optional(obj_id: hid_t, _subcls: c_int, _opt_type: c_int, flags: Out<u64>) -> herr_t {
        let is_native = of_object(obj_id)?.registered == super::NATIVE;
        flags.put_required(if is_native { QUERY_SUPPORTED } else { 0 }, "flags parameter")
    }

    /// Says whether an object is stored by the native connector.
    fn H5VLobject_is_native(obj_id: hid_t, is_native: Out<bool>) -> herr_t {
        is_native.check("`is_native` argument")?;
        is_native.put(of_object(obj_id)?.registered == super::NATIVE);
        Ok(())
    }

    /// Returns what a connector can do.
    fn H5VLget_cap_flags(connector_id: hid_t, cap_flags: Out<u64>) -> herr_t {
        cap_flags.put(connector(connector_id, "not a VOL connector ID")?.capability_flags());
        Ok(())
    }

    /// Returns the number of a connector.
    fn H5VLget_value(connector_id: hid_t, conn_value: Out<c_int>) -> herr_t {
        conn_value.put(connector(connector_id, "not a VOL connector ID")?.value);
        Ok(())
    }

    /// Compares two connectors.
    fn H5VLcmp_connector_cls(cmp: Out<c_int>, connector_id1: hid_t, connector_id2: hid_t) -> herr_t {
        let (a, b) = (connector(connector_id1, "not a VOL connector ID")?, connector(connector_id2, "not a VOL connector ID")?);
        cmp.put_required(a.value.cmp(&b.value) as c_int, "cmp")
    }

    /// Copies properties of a connector.
    fn H5VLcopy_connector_info(connector_id: hid_t, dst_vol_info: Out<*mut c_void>, src_vol_info: *mut c_void) -> herr_t {
        connector(connector_id, "not a VOL connector ID")?;
        dst_vol_info.put(info_pointer(info_text(src_vol_info).as_deref()));
        Ok(())
    }

    /// Compares properties of a connector.
    fn H5VLcmp_connector_info(cmp: Out<c_int>, connector_id: hid_t, info1: *const c_void, info2: *const c_void) -> herr_t {
        connector(connector_id, "not a VOL connector ID")?;
        cmp.put_required(info_text(info1).cmp(&info_text(info2)) as c_int, "cmp")
    }

    /// Frees properties of a connector.
    fn H5VLfree_connector_info(connector_id: hid_t, vol_info: *mut c_void) -> herr_t {
        connector(connector_id, "not a VOL connector ID")?;
        // SAFETY: the program got the properties from this library.
        unsafe { crate::ffi::free(vol_info) };
        Ok(())
    }

    /// Returns properties of a connector as text, which the program frees.
    fn H5VLconnector_info_to_str(info: *const c_void, connector_id: hid_t, str: Out<*mut c_char>) -> herr_t {
        connector(connector_id, "not a VOL connector ID")?;
        str.put(info_pointer(info_text(info).as_deref()).cast());
        Ok(())
    }

    /// Returns properties of a connector from text.
    fn H5VLconnector_str_to_info(str: Text, connector_id: hid_t, info: Out<*mut c_void>) -> herr_t {
        connector(connector_id, "not a VOL connector ID")?;
        info.put(info_pointer(str.optional().as_deref()));
        Ok(())
    }

    /// Begins the use of a connector: there is nothing to be done.
    fn H5VLinitialize(connector_id: hid_t, _vipl_id: hid_t) -> herr_t {
        connector(connector_id, "not a VOL connector ID").map(drop)
    }

    /// Ends the use of a connector: there is nothing to be done.
    fn H5VLterminate(connector_id: hid_t) -> herr_t {
        connector(connector_id, "not a VOL connector ID").map(drop)
    }
}

api! { VOL:
    /// Returns the token of an object of a native file.
    fn H5VLnative_addr_to_token(loc_id: hid_t, addr: u64, token: Out<H5O_token_t>) -> herr_t {
        token.check("token pointer")?;
        check_native(loc_id)?;
        let mut data = [0; 16];
        data[..8].copy_from_slice(&addr.to_le_bytes());
        token.put(H5O_token_t { data });
        Ok(())
    }

    /// Returns the address of an object of a native file.
    fn H5VLnative_token_to_addr(loc_id: hid_t, token: H5O_token_t, addr: Out<u64>) -> herr_t {
        addr.check("addr pointer")?;
        check_native(loc_id)?;
        let mut bytes = [0; 8];
        bytes.copy_from_slice(&token.data[..8]);
        addr.put(u64::from_le_bytes(bytes));
        Ok(())
    }
}

fn check_native(id: hid_t) -> Fallible<()> {
    match of_object(id)?.registered == super::NATIVE {
        true => Ok(()),
        false => Err(Failure::new(Major::VOL, Minor::BADVALUE, "not a native VOL connector object")),
    }
}
