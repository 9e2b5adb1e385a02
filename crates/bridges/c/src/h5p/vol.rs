//! Connectors of file access lists.

use std::ffi::c_void;

use super::class::Kind;
use super::file_access::{change, read};
use super::list;
use super::values::ConnectorChoice;
use crate::api;
use crate::arguments::Out;
use crate::failure::Fallible;
use crate::ffi::{herr_t, hid_t};
use crate::h5vl;

/// Returns the connector of a list: the one that was set, or that of the environment.
pub(crate) fn connector(id: hid_t) -> Fallible<ConnectorChoice> {
    match read(id, |access| access.connector.clone())? {
        Some(choice) => Ok(choice),
        None => h5vl::default_connector(),
    }
}

api! { PLIST:
    /// Sets a connector with its own properties.
    fn H5Pset_vol(plist_id: hid_t, new_vol_id: hid_t, new_vol_info: *const c_void) -> herr_t {
        list::list(plist_id)?;
        let connector = h5vl::connector(new_vol_id, "not a file VOL ID")?;
        list::list_of(plist_id, Kind::FileAccess)?;
        let info = h5vl::info_text(new_vol_info);
        change(plist_id, &["vol_connector_info"], |access| {
            access.connector = Some(ConnectorChoice { connector, info });
        })
    }

    /// Returns an identifier of the connector, which the program closes.
    fn H5Pget_vol_id(plist_id: hid_t, vol_id: Out<hid_t>) -> herr_t {
        vol_id.check("vol_id")?;
        vol_id.put(h5vl::register(connector(plist_id)?.connector));
        Ok(())
    }

    /// Returns a copy of the connector's own properties, which the program frees with `H5VLfree_connector_info`.
    fn H5Pget_vol_info(plist_id: hid_t, vol_info: Out<*mut c_void>) -> herr_t {
        let info = connector(plist_id)?.info;
        vol_info.put(h5vl::info_pointer(info.as_deref()));
        Ok(())
    }

    /// Returns what the connector can do.
    fn H5Pget_vol_cap_flags(plist_id: hid_t, cap_flags: Out<u64>) -> herr_t {
        let flags = connector(plist_id)?.connector.capability_flags();
        cap_flags.put(flags);
        Ok(())
    }
}
