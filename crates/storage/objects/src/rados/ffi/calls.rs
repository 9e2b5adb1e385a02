//! The functions of librados, as its header declares them.

use std::ffi::{c_char, c_int, c_uchar, c_void};

/// Any of its handles.
pub(super) type Handle = *mut c_void;

#[link(name = "rados")]
unsafe extern "C" {
    pub(super) fn rados_create(cluster: *mut Handle, id: *const c_char) -> c_int;
    pub(super) fn rados_conf_read_file(cluster: Handle, path: *const c_char) -> c_int;
    pub(super) fn rados_conf_set(cluster: Handle, option: *const c_char, value: *const c_char) -> c_int;
    pub(super) fn rados_connect(cluster: Handle) -> c_int;
    pub(super) fn rados_shutdown(cluster: Handle);
    pub(super) fn rados_ioctx_create(cluster: Handle, pool: *const c_char, io: *mut Handle) -> c_int;
    pub(super) fn rados_ioctx_destroy(io: Handle);
    pub(super) fn rados_ioctx_set_namespace(io: Handle, namespace: *const c_char);
    pub(super) fn rados_aio_create_completion2(
        argument: *mut c_void,
        done: *const c_void,
        completion: *mut Handle,
    ) -> c_int;
    pub(super) fn rados_aio_wait_for_complete(completion: Handle) -> c_int;
    pub(super) fn rados_aio_is_complete(completion: Handle) -> c_int;
    pub(super) fn rados_aio_get_return_value(completion: Handle) -> c_int;
    pub(super) fn rados_aio_release(completion: Handle);
    pub(super) fn rados_aio_read(
        io: Handle,
        name: *const c_char,
        completion: Handle,
        into: *mut u8,
        length: usize,
        from: u64,
    ) -> c_int;
    pub(super) fn rados_create_write_op() -> Handle;
    pub(super) fn rados_release_write_op(op: Handle);
    pub(super) fn rados_write_op_create(op: Handle, exclusive: c_int, category: *const c_char);
    pub(super) fn rados_write_op_write(op: Handle, bytes: *const u8, length: usize, offset: u64);
    pub(super) fn rados_write_op_remove(op: Handle);
    pub(super) fn rados_write_op_omap_set2(
        op: Handle,
        keys: *const *const u8,
        values: *const *const u8,
        key_lengths: *const usize,
        value_lengths: *const usize,
        count: usize,
    );
    pub(super) fn rados_write_op_omap_rm_keys2(
        op: Handle,
        keys: *const *const u8,
        key_lengths: *const usize,
        count: usize,
    );
    pub(super) fn rados_write_op_omap_cmp2(
        op: Handle,
        key: *const u8,
        operator: u8,
        value: *const u8,
        key_length: usize,
        value_length: usize,
        result: *mut c_int,
    );
    pub(super) fn rados_aio_write_op_operate(
        op: Handle,
        io: Handle,
        completion: Handle,
        name: *const c_char,
        time: *mut c_void,
        flags: c_int,
    ) -> c_int;
    pub(super) fn rados_create_read_op() -> Handle;
    pub(super) fn rados_release_read_op(op: Handle);
    pub(super) fn rados_read_op_omap_get_vals2(
        op: Handle,
        after: *const c_char,
        prefix: *const c_char,
        count: u64,
        iterator: *mut Handle,
        more: *mut c_uchar,
        result: *mut c_int,
    );
    pub(super) fn rados_read_op_omap_get_vals_by_keys2(
        op: Handle,
        keys: *const *const u8,
        count: usize,
        key_lengths: *const usize,
        iterator: *mut Handle,
        result: *mut c_int,
    );
    pub(super) fn rados_aio_read_op_operate(
        op: Handle,
        io: Handle,
        completion: Handle,
        name: *const c_char,
        flags: c_int,
    ) -> c_int;
    pub(super) fn rados_omap_get_next2(
        iterator: Handle,
        key: *mut *const u8,
        value: *mut *const u8,
        key_length: *mut usize,
        value_length: *mut usize,
    ) -> c_int;
    pub(super) fn rados_omap_get_end(iterator: Handle);
    pub(super) fn rados_nobjects_list_open(io: Handle, list: *mut Handle) -> c_int;
    pub(super) fn rados_nobjects_list_next2(
        list: Handle,
        name: *mut *const u8,
        key: *mut *const u8,
        namespace: *mut *const u8,
        name_length: *mut usize,
        key_length: *mut usize,
        namespace_length: *mut usize,
    ) -> c_int;
    pub(super) fn rados_nobjects_list_close(list: Handle);
}
