//! Writes of one object.

use std::ptr::{null, null_mut};
use std::sync::Arc;

use super::calls::{
    Handle, rados_aio_write_op_operate, rados_create_write_op, rados_release_write_op, rados_write_op_create,
    rados_write_op_omap_cmp2, rados_write_op_omap_rm_keys2, rados_write_op_omap_set2, rados_write_op_remove,
    rados_write_op_write,
};
use super::{Code, Completion, Names, checked, pointers, text};

/// The condition of a key's value.
#[derive(Clone, Debug)]
pub(in crate::rados) enum Guard {
    /// Exactly this; nothing at all where it is empty.
    Equals(Vec<u8>),
    /// Anything.
    Present,
}

/// A write of one object, all of it or nothing.
#[derive(Debug, Default)]
pub(in crate::rados) struct Write<'a> {
    /// Creates the object if it is not there; with `true` it must not be there.
    pub(in crate::rados) create: Option<bool>,
    pub(in crate::rados) guards: Vec<(Vec<u8>, Guard)>,
    pub(in crate::rados) set: Vec<(Vec<u8>, Vec<u8>)>,
    pub(in crate::rados) unset: Vec<Vec<u8>>,
    /// Bytes from an offset on.
    pub(in crate::rados) bytes: Option<(u64, &'a [u8])>,
    pub(in crate::rados) remove: bool,
}

impl Write<'_> {
    /// Fills an operation: librados copies everything.
    fn fill(&self, op: Handle) {
        // SAFETY: pointers and lengths belong together and live through the calls; `op` is good.
        unsafe {
            if let Some(exclusive) = self.create {
                rados_write_op_create(op, exclusive.into(), null());
            }
            for (key, guard) in &self.guards {
                let (operator, value): (u8, &[u8]) = match guard {
                    Guard::Equals(value) => (1, value),
                    Guard::Present => (3, &[]),
                };
                rados_write_op_omap_cmp2(
                    op,
                    key.as_ptr(),
                    operator,
                    value.as_ptr(),
                    key.len(),
                    value.len(),
                    null_mut(),
                );
            }
            if !self.unset.is_empty() {
                let (keys, lengths) = pointers(self.unset.iter());
                rados_write_op_omap_rm_keys2(op, keys.as_ptr(), lengths.as_ptr(), keys.len());
            }
            if !self.set.is_empty() {
                let (keys, key_lengths) = pointers(self.set.iter().map(|pair| &pair.0));
                let (values, lengths) = pointers(self.set.iter().map(|pair| &pair.1));
                rados_write_op_omap_set2(
                    op,
                    keys.as_ptr(),
                    values.as_ptr(),
                    key_lengths.as_ptr(),
                    lengths.as_ptr(),
                    keys.len(),
                );
            }
            if let Some((offset, bytes)) = self.bytes {
                rados_write_op_write(op, bytes.as_ptr(), bytes.len(), offset);
            }
            if self.remove {
                rados_write_op_remove(op);
            }
        }
    }
}

impl Names {
    /// Begins a write.
    pub(in crate::rados) fn begin(
        self: &Arc<Names>,
        name: &str,
        write: &Write<'_>,
    ) -> Result<Completion, Code> {
        let name = text(name)?;
        let completion = Completion::new(self)?;
        // SAFETY: the operation lives until it was submitted, which copies it.
        let code = unsafe {
            let op = rados_create_write_op();
            write.fill(op);
            let code =
                rados_aio_write_op_operate(op, self.io, completion.handle, name.as_ptr(), null_mut(), 0);
            rados_release_write_op(op);
            code
        };
        if code < 0 { Err(completion.abandon(code)) } else { Ok(completion) }
    }

    /// Writes, and waits for the acknowledgement.
    pub(in crate::rados) fn write(self: &Arc<Names>, name: &str, write: &Write<'_>) -> Result<(), Code> {
        checked(self.begin(name, write)?.wait())
    }
}
