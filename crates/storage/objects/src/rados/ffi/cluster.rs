//! The connection, and the objects of a namespace.

use std::ptr::{null, null_mut};
use std::sync::Arc;

use super::calls::{
    Handle, rados_conf_read_file, rados_conf_set, rados_connect, rados_create, rados_ioctx_create,
    rados_ioctx_destroy, rados_ioctx_set_namespace, rados_nobjects_list_close, rados_nobjects_list_next2,
    rados_nobjects_list_open, rados_shutdown,
};
use super::{Code, NOT_FOUND, bytes, checked, text};

/// A connection.
#[derive(Debug)]
pub(in crate::rados) struct Cluster(Handle);

// SAFETY: librados locks inside; a cluster handle may be used by any thread.
unsafe impl Send for Cluster {}
// SAFETY: as above.
unsafe impl Sync for Cluster {}

/// How far connecting came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::rados) enum Step {
    Configuration,
    Connection,
}

impl Cluster {
    /// Connects as the configuration says; the options are set after it was read.
    pub(in crate::rados) fn connect(
        conf: Option<&str>,
        options: &[(&str, &str)],
    ) -> Result<Cluster, (Step, Code)> {
        let configuration = |code| (Step::Configuration, code);
        let mut handle = null_mut();
        // SAFETY: `handle` is a place for the result; without a name the client is `admin`.
        checked(unsafe { rados_create(&raw mut handle, null()) }).map_err(configuration)?;
        let cluster = Cluster(handle);
        let path = conf.map(text).transpose().map_err(configuration)?;
        let path = path.as_ref().map_or(null(), |path| path.as_ptr());
        // SAFETY: the handle is good; without a path librados looks where Ceph's tools look.
        checked(unsafe { rados_conf_read_file(handle, path) }).map_err(configuration)?;
        for (option, value) in options {
            let (option, value) = (text(option).map_err(configuration)?, text(value).map_err(configuration)?);
            // SAFETY: the handle is good, and both texts end with 0.
            checked(unsafe { rados_conf_set(handle, option.as_ptr(), value.as_ptr()) })
                .map_err(configuration)?;
        }
        // SAFETY: the handle is good.
        checked(unsafe { rados_connect(handle) }).map_err(|code| (Step::Connection, code))?;
        Ok(cluster)
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        // SAFETY: nothing else has the handle: all that was made from it holds the `Arc` of this.
        unsafe { rados_shutdown(self.0) }
    }
}

/// The objects of one namespace of a pool.
#[derive(Debug)]
pub(in crate::rados) struct Names {
    pub(super) io: Handle,
    _cluster: Arc<Cluster>,
}

// SAFETY: an I/O context may be used by any thread as long as its namespace is not changed, and only `new` does.
unsafe impl Send for Names {}
// SAFETY: as above.
unsafe impl Sync for Names {}

impl Drop for Names {
    fn drop(&mut self) {
        // SAFETY: operations in flight hold the `Arc` of this.
        unsafe { rados_ioctx_destroy(self.io) }
    }
}

impl Names {
    pub(in crate::rados) fn new(
        cluster: &Arc<Cluster>,
        pool: &str,
        namespace: &str,
    ) -> Result<Arc<Names>, Code> {
        let (pool, namespace) = (text(pool)?, text(namespace)?);
        let mut io = null_mut();
        // SAFETY: the cluster is connected, and `io` is a place for the result.
        checked(unsafe { rados_ioctx_create(cluster.0, pool.as_ptr(), &raw mut io) })?;
        // SAFETY: the context is good, and no other caller has it yet.
        unsafe { rados_ioctx_set_namespace(io, namespace.as_ptr()) };
        Ok(Arc::new(Names { io, _cluster: cluster.clone() }))
    }

    /// Returns the names of all objects, in no order.
    pub(in crate::rados) fn list(&self) -> Result<Vec<String>, Code> {
        let mut list = null_mut();
        // SAFETY: the context is good, and `list` is a place for the result.
        checked(unsafe { rados_nobjects_list_open(self.io, &raw mut list) })?;
        let mut names = Vec::new();
        let code = loop {
            let (mut name, mut length) = (null(), 0);
            // SAFETY: the list is open; what is not wanted may be null.
            let code = unsafe {
                rados_nobjects_list_next2(
                    list,
                    &raw mut name,
                    null_mut(),
                    null_mut(),
                    &raw mut length,
                    null_mut(),
                    null_mut(),
                )
            };
            if code < 0 {
                break code;
            }
            // SAFETY: the name is good until the next call.
            names.push(String::from_utf8_lossy(&unsafe { bytes(name, length) }).into_owned());
        };
        // SAFETY: it is open, and closed once.
        unsafe { rados_nobjects_list_close(list) };
        if code == NOT_FOUND { Ok(names) } else { Err(code) }
    }
}
