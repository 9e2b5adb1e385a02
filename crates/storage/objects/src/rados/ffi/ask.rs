//! Keys and values of objects.

use std::ffi::{CString, c_int, c_uchar};
use std::ptr::{null, null_mut};
use std::sync::Arc;

use super::calls::{
    Handle, rados_aio_read_op_operate, rados_create_read_op, rados_omap_get_end, rados_omap_get_next2,
    rados_read_op_omap_get_vals_by_keys2, rados_read_op_omap_get_vals2, rados_release_read_op,
};
use super::{Code, Completion, INVALID, NOT_FOUND, Names, bytes, checked, pointers, text};

/// A query for keys of one object.
#[derive(Clone, Debug, Default)]
pub(in crate::rados) struct Ask {
    pub(in crate::rados) name: String,
    /// Exactly these.
    pub(in crate::rados) keys: Vec<Vec<u8>>,
    /// And so many behind this one, which must have no 0 byte.
    pub(in crate::rados) after: Option<(Vec<u8>, u64)>,
}

/// Keys and values that were found.
#[derive(Debug, Default)]
pub(in crate::rados) struct Answer {
    pub(in crate::rados) pairs: Vec<(Vec<u8>, Vec<u8>)>,
    /// Those behind.
    pub(in crate::rados) behind: Vec<(Vec<u8>, Vec<u8>)>,
    /// Whether there are more behind.
    pub(in crate::rados) more: bool,
}

/// An `Ask` in flight. The places that librados writes to are boxed, so that they stay where they are.
struct PendingAsk {
    op: Handle,
    places: Box<AskResults>,
    _after: Option<CString>,
    completion: Option<Completion>,
}

#[derive(Debug)]
struct AskResults {
    pairs: Handle,
    behind: Handle,
    more: c_uchar,
    codes: [c_int; 2],
}

impl Drop for PendingAsk {
    fn drop(&mut self) {
        drop(self.completion.take());
        // SAFETY: the operation has ended; each handle is released once.
        unsafe {
            for iterator in [self.places.pairs, self.places.behind] {
                if !iterator.is_null() {
                    rados_omap_get_end(iterator);
                }
            }
            rados_release_read_op(self.op);
        }
    }
}

impl PendingAsk {
    fn begin(names: &Arc<Names>, ask: &Ask) -> Result<PendingAsk, Code> {
        let name = text(&ask.name)?;
        let after =
            ask.after.as_ref().map(|(key, _)| CString::new(key.clone()).map_err(|_| INVALID)).transpose()?;
        let places = Box::new(AskResults { pairs: null_mut(), behind: null_mut(), more: 0, codes: [0; 2] });
        // SAFETY: no argument.
        let op = unsafe { rados_create_read_op() };
        let mut asked = PendingAsk { op, places, _after: after, completion: None };
        let completion = Completion::new(names)?;
        let places = &mut *asked.places;
        // SAFETY: `places` is boxed and goes after the completion; keys are copied by the calls.
        let code = unsafe {
            if !ask.keys.is_empty() {
                let (keys, lengths) = pointers(ask.keys.iter());
                rados_read_op_omap_get_vals_by_keys2(
                    op,
                    keys.as_ptr(),
                    keys.len(),
                    lengths.as_ptr(),
                    &raw mut places.pairs,
                    &raw mut places.codes[0],
                );
            }
            if let (Some(after), Some((_, count))) = (&asked._after, &ask.after) {
                rados_read_op_omap_get_vals2(
                    op,
                    after.as_ptr(),
                    c"".as_ptr(),
                    *count,
                    &raw mut places.behind,
                    &raw mut places.more,
                    &raw mut places.codes[1],
                );
            }
            rados_aio_read_op_operate(op, names.io, completion.handle, name.as_ptr(), 0)
        };
        if code < 0 {
            return Err(completion.abandon(code));
        }
        asked.completion = Some(completion);
        Ok(asked)
    }

    fn end(self) -> Result<Answer, Code> {
        checked(self.completion.as_ref().map_or(INVALID, Completion::wait))?;
        let places = &*self.places;
        places.codes.iter().try_for_each(|code| checked(*code))?;
        Ok(Answer { pairs: drain(places.pairs), behind: drain(places.behind), more: places.more != 0 })
    }
}

/// Returns all that an iterator has.
fn drain(iterator: Handle) -> Vec<(Vec<u8>, Vec<u8>)> {
    let mut all = Vec::new();
    if iterator.is_null() {
        return all;
    }
    loop {
        let (mut key, mut value, mut key_length, mut value_length) = (null(), null(), 0, 0);
        // SAFETY: the iterator is good, and the others are places for results.
        let code = unsafe {
            rados_omap_get_next2(
                iterator,
                &raw mut key,
                &raw mut value,
                &raw mut key_length,
                &raw mut value_length,
            )
        };
        if code < 0 || key.is_null() {
            return all;
        }
        // SAFETY: the iterator keeps both until it ends, and they are as long as it says.
        unsafe { all.push((bytes(key, key_length), bytes(value, value_length))) }
    }
}

impl Names {
    /// Asks many objects for keys, `at_once` in flight. An object that is not there has none.
    pub(in crate::rados) fn ask(
        self: &Arc<Names>,
        asks: &[Ask],
        at_once: usize,
    ) -> Result<Vec<Answer>, Code> {
        let mut answers = Vec::with_capacity(asks.len());
        for part in asks.chunks(at_once) {
            let asked: Vec<PendingAsk> =
                part.iter().map(|ask| PendingAsk::begin(self, ask)).collect::<Result<_, _>>()?;
            for asked in asked {
                answers.push(match asked.end() {
                    Err(NOT_FOUND) => Answer::default(),
                    other => other?,
                });
            }
        }
        Ok(answers)
    }
}
