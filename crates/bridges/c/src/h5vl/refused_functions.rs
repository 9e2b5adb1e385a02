//! Functions for connectors that are written in C. Connectors of this library have no C form.

use std::ffi::{c_int, c_uint, c_void};

use crate::ffi::{herr_t, hid_t};
use crate::refused;

refused! { VOL:
    /// Fails: connectors have no C form here.
    fn H5VLobject(_obj_id: hid_t) -> *mut c_void;
    /// Fails: connectors have no C form here.
    fn H5VLget_file_type(_file_obj: *mut c_void, _connector_id: hid_t, _dtype_id: hid_t) -> hid_t;
    /// Fails: connectors have no C form here.
    fn H5VLregister_opt_operation(_subcls: c_int, _op_name: *mut c_void, _op_val: *mut c_void) -> herr_t;
    /// Fails: connectors have no C form here.
    fn H5VLfind_opt_operation(_subcls: c_int, _op_name: *mut c_void, _op_val: *mut c_void) -> herr_t;
    /// Fails: connectors have no C form here.
    fn H5VLunregister_opt_operation(_subcls: c_int, _op_name: *mut c_void) -> herr_t;
    /// Fails: connectors have no C form here.
    fn H5VLattr_optional_op(_app_file: *mut c_void, _app_func: *mut c_void, _app_line: c_uint, _attr_id: hid_t, _args: *mut c_void, _dxpl_id: hid_t, _es_id: hid_t) -> herr_t;
    /// Fails: connectors have no C form here.
    fn H5VLdataset_optional_op(_app_file: *mut c_void, _app_func: *mut c_void, _app_line: c_uint, _dset_id: hid_t, _args: *mut c_void, _dxpl_id: hid_t, _es_id: hid_t) -> herr_t;
    /// Fails: connectors have no C form here.
    fn H5VLdatatype_optional_op(_app_file: *mut c_void, _app_func: *mut c_void, _app_line: c_uint, _type_id: hid_t, _args: *mut c_void, _dxpl_id: hid_t, _es_id: hid_t) -> herr_t;
    /// Fails: connectors have no C form here.
    fn H5VLfile_optional_op(_app_file: *mut c_void, _app_func: *mut c_void, _app_line: c_uint, _file_id: hid_t, _args: *mut c_void, _dxpl_id: hid_t, _es_id: hid_t) -> herr_t;
    /// Fails: connectors have no C form here.
    fn H5VLgroup_optional_op(_app_file: *mut c_void, _app_func: *mut c_void, _app_line: c_uint, _group_id: hid_t, _args: *mut c_void, _dxpl_id: hid_t, _es_id: hid_t) -> herr_t;
    /// Fails: connectors have no C form here.
    fn H5VLlink_optional_op(_app_file: *mut c_void, _app_func: *mut c_void, _app_line: c_uint, _loc_id: hid_t, _name: *mut c_void, _lapl_id: hid_t, _args: *mut c_void, _dxpl_id: hid_t, _es_id: hid_t) -> herr_t;
    /// Fails: connectors have no C form here.
    fn H5VLobject_optional_op(_app_file: *mut c_void, _app_func: *mut c_void, _app_line: c_uint, _loc_id: hid_t, _name: *mut c_void, _lapl_id: hid_t, _args: *mut c_void, _dxpl_id: hid_t, _es_id: hid_t) -> herr_t;
    /// Fails: connectors have no C form here.
    fn H5VLrequest_optional_op(_req: *mut c_void, _connector_id: hid_t, _args: *mut c_void) -> herr_t;
    /// Fails: connectors have no C form here.
    fn H5VLwrap_register(_obj: *mut c_void, _type: c_int) -> hid_t;
    /// Fails: connectors have no C form here.
    fn H5VLretrieve_lib_state(_state: *mut c_void) -> herr_t;
    /// Fails: connectors have no C form here.
    fn H5VLopen_lib_context(_context: *mut c_void) -> herr_t;
    /// Fails: connectors have no C form here.
    fn H5VLrestore_lib_state(_state: *mut c_void) -> herr_t;
    /// Fails: connectors have no C form here.
    fn H5VLclose_lib_context(_context: *mut c_void) -> herr_t;
    /// Fails: connectors have no C form here.
    fn H5VLfree_lib_state(_state: *mut c_void) -> herr_t;
    /// Fails: connectors have no C form here.
    fn H5VLget_object(_obj: *mut c_void, _connector_id: hid_t) -> *mut c_void;
    /// Fails: connectors have no C form here.
    fn H5VLget_wrap_ctx(_obj: *mut c_void, _connector_id: hid_t, _wrap_ctx: *mut c_void) -> herr_t;
    /// Fails: connectors have no C form here.
    fn H5VLwrap_object(_obj: *mut c_void, _obj_type: c_int, _connector_id: hid_t, _wrap_ctx: *mut c_void) -> *mut c_void;
    /// Fails: connectors have no C form here.
    fn H5VLunwrap_object(_obj: *mut c_void, _connector_id: hid_t) -> *mut c_void;
    /// Fails: connectors have no C form here.
    fn H5VLfree_wrap_ctx(_wrap_ctx: *mut c_void, _connector_id: hid_t) -> herr_t;
    /// Fails: connectors have no C form here.
    fn H5VLattr_create(_obj: *mut c_void, _loc_params: *mut c_void, _connector_id: hid_t, _attr_name: *mut c_void, _type_id: hid_t, _space_id: hid_t, _acpl_id: hid_t, _aapl_id: hid_t, _dxpl_id: hid_t, _req: *mut c_void) -> *mut c_void;
    /// Fails: connectors have no C form here.
    fn H5VLattr_open(_obj: *mut c_void, _loc_params: *mut c_void, _connector_id: hid_t, _name: *mut c_void, _aapl_id: hid_t, _dxpl_id: hid_t, _req: *mut c_void) -> *mut c_void;
    /// Fails: connectors have no C form here.
    fn H5VLattr_read(_attr: *mut c_void, _connector_id: hid_t, _dtype_id: hid_t, _buf: *mut c_void, _dxpl_id: hid_t, _req: *mut c_void) -> herr_t;
    /// Fails: connectors have no C form here.
    fn H5VLattr_write(_attr: *mut c_void, _connector_id: hid_t, _dtype_id: hid_t, _buf: *mut c_void, _dxpl_id: hid_t, _req: *mut c_void) -> herr_t;
    /// Fails: connectors have no C form here.
    fn H5VLattr_get(_obj: *mut c_void, _connector_id: hid_t, _args: *mut c_void, _dxpl_id: hid_t, _req: *mut c_void) -> herr_t;
    /// Fails: connectors have no C form here.
    fn H5VLattr_specific(_obj: *mut c_void, _loc_params: *mut c_void, _connector_id: hid_t, _args: *mut c_void, _dxpl_id: hid_t, _req: *mut c_void) -> herr_t;
    /// Fails: connectors have no C form here.
    fn H5VLattr_optional(_obj: *mut c_void, _connector_id: hid_t, _args: *mut c_void, _dxpl_id: hid_t, _req: *mut c_void) -> herr_t;
    /// Fails: connectors have no C form here.
    fn H5VLattr_close(_attr: *mut c_void, _connector_id: hid_t, _dxpl_id: hid_t, _req: *mut c_void) -> herr_t;
    /// Fails: connectors have no C form here.
    fn H5VLdataset_create(_obj: *mut c_void, _loc_params: *mut c_void, _connector_id: hid_t, _name: *mut c_void, _lcpl_id: hid_t, _type_id: hid_t, _space_id: hid_t, _dcpl_id: hid_t, _dapl_id: hid_t, _dxpl_id: hid_t, _req: *mut c_void) -> *mut c_void;
    /// Fails: connectors have no C form here.
    fn H5VLdataset_open(_obj: *mut c_void, _loc_params: *mut c_void, _connector_id: hid_t, _name: *mut c_void, _dapl_id: hid_t, _dxpl_id: hid_t, _req: *mut c_void) -> *mut c_void;
    /// Fails: connectors have no C form here.
    fn H5VLdataset_read(_count: usize, _dset: *mut c_void, _connector_id: hid_t, _mem_type_id: *mut c_void, _mem_space_id: *mut c_void, _file_space_id: *mut c_void, _plist_id: hid_t, _buf: *mut c_void, _req: *mut c_void) -> herr_t;
    /// Fails: connectors have no C form here.
    fn H5VLdataset_write(_count: usize, _dset: *mut c_void, _connector_id: hid_t, _mem_type_id: *mut c_void, _mem_space_id: *mut c_void, _file_space_id: *mut c_void, _plist_id: hid_t, _buf: *mut c_void, _req: *mut c_void) -> herr_t;
    /// Fails: connectors have no C form here.
    fn H5VLdataset_get(_dset: *mut c_void, _connector_id: hid_t, _args: *mut c_void, _dxpl_id: hid_t, _req: *mut c_void) -> herr_t;
    /// Fails: connectors have no C form here.
    fn H5VLdataset_specific(_obj: *mut c_void, _connector_id: hid_t, _args: *mut c_void, _dxpl_id: hid_t, _req: *mut c_void) -> herr_t;
    /// Fails: connectors have no C form here.
    fn H5VLdataset_optional(_obj: *mut c_void, _connector_id: hid_t, _args: *mut c_void, _dxpl_id: hid_t, _req: *mut c_void) -> herr_t;
    /// Fails: connectors have no C form here.
    fn H5VLdataset_close(_dset: *mut c_void, _connector_id: hid_t, _dxpl_id: hid_t, _req: *mut c_void) -> herr_t;
    /// Fails: connectors have no C form here.
    fn H5VLdatatype_commit(_obj: *mut c_void, _loc_params: *mut c_void, _connector_id: hid_t, _name: *mut c_void, _type_id: hid_t, _lcpl_id: hid_t, _tcpl_id: hid_t, _tapl_id: hid_t, _dxpl_id: hid_t, _req: *mut c_void) -> *mut c_void;
    /// Fails: connectors have no C form here.
    fn H5VLdatatype_open(_obj: *mut c_void, _loc_params: *mut c_void, _connector_id: hid_t, _name: *mut c_void, _tapl_id: hid_t, _dxpl_id: hid_t, _req: *mut c_void) -> *mut c_void;
    /// Fails: connectors have no C form here.
    fn H5VLdatatype_get(_dt: *mut c_void, _connector_id: hid_t, _args: *mut c_void, _dxpl_id: hid_t, _req: *mut c_void) -> herr_t;
    /// Fails: connectors have no C form here.
    fn H5VLdatatype_specific(_obj: *mut c_void, _connector_id: hid_t, _args: *mut c_void, _dxpl_id: hid_t, _req: *mut c_void) -> herr_t;
    /// Fails: connectors have no C form here.
    fn H5VLdatatype_optional(_obj: *mut c_void, _connector_id: hid_t, _args: *mut c_void, _dxpl_id: hid_t, _req: *mut c_void) -> herr_t;
    /// Fails: connectors have no C form here.
    fn H5VLdatatype_close(_dt: *mut c_void, _connector_id: hid_t, _dxpl_id: hid_t, _req: *mut c_void) -> herr_t;
    /// Fails: connectors have no C form here.
    fn H5VLfile_create(_name: *mut c_void, _flags: c_uint, _fcpl_id: hid_t, _fapl_id: hid_t, _dxpl_id: hid_t, _req: *mut c_void) -> *mut c_void;
    /// Fails: connectors have no C form here.
    fn H5VLfile_open(_name: *mut c_void, _flags: c_uint, _fapl_id: hid_t, _dxpl_id: hid_t, _req: *mut c_void) -> *mut c_void;
    /// Fails: connectors have no C form here.
    fn H5VLfile_get(_file: *mut c_void, _connector_id: hid_t, _args: *mut c_void, _dxpl_id: hid_t, _req: *mut c_void) -> herr_t;
    /// Fails: connectors have no C form here.
    fn H5VLfile_specific(_obj: *mut c_void, _connector_id: hid_t, _args: *mut c_void, _dxpl_id: hid_t, _req: *mut c_void) -> herr_t;
    /// Fails: connectors have no C form here.
    fn H5VLfile_optional(_obj: *mut c_void, _connector_id: hid_t, _args: *mut c_void, _dxpl_id: hid_t, _req: *mut c_void) -> herr_t;
    /// Fails: connectors have no C form here.
    fn H5VLfile_close(_file: *mut c_void, _connector_id: hid_t, _dxpl_id: hid_t, _req: *mut c_void) -> herr_t;
    /// Fails: connectors have no C form here.
    fn H5VLgroup_create(_obj: *mut c_void, _loc_params: *mut c_void, _connector_id: hid_t, _name: *mut c_void, _lcpl_id: hid_t, _gcpl_id: hid_t, _gapl_id: hid_t, _dxpl_id: hid_t, _req: *mut c_void) -> *mut c_void;
    /// Fails: connectors have no C form here.
    fn H5VLgroup_open(_obj: *mut c_void, _loc_params: *mut c_void, _connector_id: hid_t, _name: *mut c_void, _gapl_id: hid_t, _dxpl_id: hid_t, _req: *mut c_void) -> *mut c_void;
    /// Fails: connectors have no C form here.
    fn H5VLgroup_get(_obj: *mut c_void, _connector_id: hid_t, _args: *mut c_void, _dxpl_id: hid_t, _req: *mut c_void) -> herr_t;
    /// Fails: connectors have no C form here.
    fn H5VLgroup_specific(_obj: *mut c_void, _connector_id: hid_t, _args: *mut c_void, _dxpl_id: hid_t, _req: *mut c_void) -> herr_t;
    /// Fails: connectors have no C form here.
    fn H5VLgroup_optional(_obj: *mut c_void, _connector_id: hid_t, _args: *mut c_void, _dxpl_id: hid_t, _req: *mut c_void) -> herr_t;
    /// Fails: connectors have no C form here.
    fn H5VLgroup_close(_grp: *mut c_void, _connector_id: hid_t, _dxpl_id: hid_t, _req: *mut c_void) -> herr_t;
    /// Fails: connectors have no C form here.
    fn H5VLlink_create(_args: *mut c_void, _obj: *mut c_void, _loc_params: *mut c_void, _connector_id: hid_t, _lcpl_id: hid_t, _lapl_id: hid_t, _dxpl_id: hid_t, _req: *mut c_void) -> herr_t;
    /// Fails: connectors have no C form here.
    fn H5VLlink_copy(_src_obj: *mut c_void, _loc_params1: *mut c_void, _dst_obj: *mut c_void, _loc_params2: *mut c_void, _connector_id: hid_t, _lcpl_id: hid_t, _lapl_id: hid_t, _dxpl_id: hid_t, _req: *mut c_void) -> herr_t;
    /// Fails: connectors have no C form here.
    fn H5VLlink_move(_src_obj: *mut c_void, _loc_params1: *mut c_void, _dst_obj: *mut c_void, _loc_params2: *mut c_void, _connector_id: hid_t, _lcpl_id: hid_t, _lapl_id: hid_t, _dxpl_id: hid_t, _req: *mut c_void) -> herr_t;
    /// Fails: connectors have no C form here.
    fn H5VLlink_get(_obj: *mut c_void, _loc_params: *mut c_void, _connector_id: hid_t, _args: *mut c_void, _dxpl_id: hid_t, _req: *mut c_void) -> herr_t;
    /// Fails: connectors have no C form here.
    fn H5VLlink_specific(_obj: *mut c_void, _loc_params: *mut c_void, _connector_id: hid_t, _args: *mut c_void, _dxpl_id: hid_t, _req: *mut c_void) -> herr_t;
    /// Fails: connectors have no C form here.
    fn H5VLlink_optional(_obj: *mut c_void, _loc_params: *mut c_void, _connector_id: hid_t, _args: *mut c_void, _dxpl_id: hid_t, _req: *mut c_void) -> herr_t;
    /// Fails: connectors have no C form here.
    fn H5VLobject_open(_obj: *mut c_void, _loc_params: *mut c_void, _connector_id: hid_t, _opened_type: *mut c_void, _dxpl_id: hid_t, _req: *mut c_void) -> *mut c_void;
    /// Fails: connectors have no C form here.
    fn H5VLobject_copy(_src_obj: *mut c_void, _loc_params1: *mut c_void, _src_name: *mut c_void, _dst_obj: *mut c_void, _loc_params2: *mut c_void, _dst_name: *mut c_void, _connector_id: hid_t, _ocpypl_id: hid_t, _lcpl_id: hid_t, _dxpl_id: hid_t, _req: *mut c_void) -> herr_t;
    /// Fails: connectors have no C form here.
    fn H5VLobject_get(_obj: *mut c_void, _loc_params: *mut c_void, _connector_id: hid_t, _args: *mut c_void, _dxpl_id: hid_t, _req: *mut c_void) -> herr_t;
    /// Fails: connectors have no C form here.
    fn H5VLobject_specific(_obj: *mut c_void, _loc_params: *mut c_void, _connector_id: hid_t, _args: *mut c_void, _dxpl_id: hid_t, _req: *mut c_void) -> herr_t;
    /// Fails: connectors have no C form here.
    fn H5VLobject_optional(_obj: *mut c_void, _loc_params: *mut c_void, _connector_id: hid_t, _args: *mut c_void, _dxpl_id: hid_t, _req: *mut c_void) -> herr_t;
    /// Fails: connectors have no C form here.
    fn H5VLintrospect_get_conn_cls(_obj: *mut c_void, _connector_id: hid_t, _lvl: c_int, _conn_cls: *mut c_void) -> herr_t;
    /// Fails: connectors have no C form here.
    fn H5VLintrospect_get_cap_flags(_info: *mut c_void, _connector_id: hid_t, _cap_flags: *mut c_void) -> herr_t;
    /// Fails: connectors have no C form here.
    fn H5VLintrospect_opt_query(_obj: *mut c_void, _connector_id: hid_t, _subcls: c_int, _opt_type: c_int, _flags: *mut c_void) -> herr_t;
    /// Fails: connectors have no C form here.
    fn H5VLrequest_wait(_req: *mut c_void, _connector_id: hid_t, _timeout: u64, _status: *mut c_void) -> herr_t;
    /// Fails: connectors have no C form here.
    fn H5VLrequest_notify(_req: *mut c_void, _connector_id: hid_t, _cb: *mut c_void, _ctx: *mut c_void) -> herr_t;
    /// Fails: connectors have no C form here.
    fn H5VLrequest_cancel(_req: *mut c_void, _connector_id: hid_t, _status: *mut c_void) -> herr_t;
    /// Fails: connectors have no C form here.
    fn H5VLrequest_specific(_req: *mut c_void, _connector_id: hid_t, _args: *mut c_void) -> herr_t;
    /// Fails: connectors have no C form here.
    fn H5VLrequest_optional(_req: *mut c_void, _connector_id: hid_t, _args: *mut c_void) -> herr_t;
    /// Fails: connectors have no C form here.
    fn H5VLrequest_free(_req: *mut c_void, _connector_id: hid_t) -> herr_t;
    /// Fails: connectors have no C form here.
    fn H5VLblob_put(_obj: *mut c_void, _connector_id: hid_t, _buf: *mut c_void, _size: usize, _blob_id: *mut c_void, _ctx: *mut c_void) -> herr_t;
    /// Fails: connectors have no C form here.
    fn H5VLblob_get(_obj: *mut c_void, _connector_id: hid_t, _blob_id: *mut c_void, _buf: *mut c_void, _size: usize, _ctx: *mut c_void) -> herr_t;
    /// Fails: connectors have no C form here.
    fn H5VLblob_specific(_obj: *mut c_void, _connector_id: hid_t, _blob_id: *mut c_void, _args: *mut c_void) -> herr_t;
    /// Fails: connectors have no C form here.
    fn H5VLblob_optional(_obj: *mut c_void, _connector_id: hid_t, _blob_id: *mut c_void, _args: *mut c_void) -> herr_t;
    /// Fails: connectors have no C form here.
    fn H5VLtoken_cmp(_obj: *mut c_void, _connector_id: hid_t, _token1: *mut c_void, _token2: *mut c_void, _cmp_value: *mut c_void) -> herr_t;
    /// Fails: connectors have no C form here.
    fn H5VLtoken_to_str(_obj: *mut c_void, _obj_type: c_int, _connector_id: hid_t, _token: *mut c_void, _token_str: *mut c_void) -> herr_t;
    /// Fails: connectors have no C form here.
    fn H5VLtoken_from_str(_obj: *mut c_void, _obj_type: c_int, _connector_id: hid_t, _token_str: *mut c_void, _token: *mut c_void) -> herr_t;
    /// Fails: connectors have no C form here.
    fn H5VLoptional(_obj: *mut c_void, _connector_id: hid_t, _args: *mut c_void, _dxpl_id: hid_t, _req: *mut c_void) -> herr_t;
}
