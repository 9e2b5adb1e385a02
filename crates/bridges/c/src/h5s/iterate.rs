//! Iterators over selections.

use std::ffi::c_uint;
use std::sync::Arc;

use hyperslab::vol::model::selection::{Run, Runs};
use system::sync::Mutex;

use super::{dataspace_failure, runs, space};
use crate::api;
use crate::arguments::Out;
use crate::codes::{Major, Minor};
use crate::failure::{Failure, Fallible};
use crate::ffi::{herr_t, hid_t, hsize_t};
use crate::handles::Object;
use crate::ids;

/// `H5S_SEL_ITER_GET_SEQ_LIST_SORTED`: sequences come in ascending order.
const SORTED: c_uint = 1;
/// `H5S_SEL_ITER_SHARE_WITH_DATASPACE`: the dataspace does not change meanwhile. Iterators have a copy anyway.
const SHARED: c_uint = 2;

/// An iterator over a selection.
#[derive(Debug)]
pub struct SelectionIterator {
    element_bytes: u64,
    is_sorted: bool,
    runs: Runs,
    /// The run that comes next, or what is left of it.
    next: Option<Run>,
}

impl SelectionIterator {
    fn new(mut runs: Runs, element_bytes: u64, flags: c_uint) -> Self {
        let next = runs.next();
        SelectionIterator { element_bytes, is_sorted: flags & SORTED != 0, runs, next }
    }

    /// Returns up to `runs_max` sequences of up to `elements_max` elements together.
    fn take(&mut self, runs_max: usize, elements_max: usize) -> (Vec<Run>, u64) {
        let (mut taken, mut left) = (Vec::<Run>::new(), elements_max as u64);
        while left > 0 {
            let Some(run) = self.next else { break };
            let end = taken.last().map_or(0, |last| last.offset + last.len);
            let joins = !taken.is_empty() && end == run.offset;
            if (taken.len() == runs_max && !joins) || (self.is_sorted && run.offset < end) {
                break;
            }
            let len = run.len.min(left);
            match taken.last_mut() {
                Some(last) if joins => last.len += len,
                _ => taken.push(Run { offset: run.offset, len }),
            }
            left -= len;
            self.next = match run.len - len {
                0 => self.runs.next(),
                rest => Some(Run { offset: run.offset + len, len: rest }),
            };
        }
        (taken, elements_max as u64 - left)
    }
}

fn invalid(text: &'static str) -> Failure {
    dataspace_failure(Minor::BADVALUE, text)
}

fn iterator(id: hid_t) -> Fallible<Arc<Mutex<SelectionIterator>>> {
    ids::get(id, "a dataspace selection iterator", |object| match object {
        Object::SelectionIterator(iterator) => Some(iterator.clone()),
        _ => None,
    })
}

fn sequence(run: &Run, element_bytes: u64) -> Fallible<(hsize_t, usize)> {
    let bytes = || {
        Some((
            run.offset.checked_mul(element_bytes)?,
            usize::try_from(run.len.checked_mul(element_bytes)?).ok()?,
        ))
    };
    bytes().ok_or_else(|| Failure::argument("selection is too large"))
}

api! { DATASPACE:
    /// Creates an iterator over the selection of a dataspace.
    fn H5Ssel_iter_create(id: hid_t, element_bytes: usize, flags: c_uint) -> hid_t {
        let space = space(id)?;
        if element_bytes == 0 {
            return Err(invalid("element size must be greater than 0"));
        }
        if flags & !(SORTED | SHARED) != 0 {
            return Err(invalid("invalid selection iterator flag"));
        }
        let iterator = SelectionIterator::new(runs(&space)?, element_bytes as u64, flags);
        Ok(ids::register(Object::SelectionIterator(Arc::new(Mutex::new(iterator)))))
    }

    /// Returns the next sequences of selected elements, as offsets and lengths in bytes.
    fn H5Ssel_iter_get_seq_list(
        id: hid_t, runs_max: usize, elements_max: usize, count: Out<usize>, elements: Out<usize>,
        offsets: Out<hsize_t>, lengths: Out<usize>,
    ) -> herr_t {
        let iterator = iterator(id)?;
        let wanted = [count.is_wanted(), elements.is_wanted(), offsets.is_wanted(), lengths.is_wanted()];
        if wanted.contains(&false) {
            return Err(invalid("a pointer for the sequences is NULL"));
        }
        let mut iterator = iterator.lock();
        let (taken, total) = match runs_max {
            0 => (Vec::new(), 0),
            _ => iterator.take(runs_max, elements_max),
        };
        let sequences = taken.iter().map(|run| sequence(run, iterator.element_bytes));
        let (starts, sizes): (Vec<_>, Vec<_>) = sequences.collect::<Fallible<Vec<_>>>()?.into_iter().unzip();
        offsets.put_all(&starts, starts.len());
        lengths.put_all(&sizes, sizes.len());
        count.put(taken.len());
        elements.put(total as usize);
        Ok(())
    }

    /// Starts an iterator again, over the selection of a dataspace.
    fn H5Ssel_iter_reset(id: hid_t, space_id: hid_t) -> herr_t {
        let iterator = iterator(id)?;
        let runs = runs(&space(space_id)?)?;
        let mut iterator = iterator.lock();
        let flags = c_uint::from(iterator.is_sorted);
        *iterator = SelectionIterator::new(runs, iterator.element_bytes, flags);
        Ok(())
    }

    /// Closes an iterator.
    fn H5Ssel_iter_close(id: hid_t) -> herr_t {
        iterator(id).map_err(|failure| failure.as_major(Major::DATASPACE))?;
        ids::close(id, "a dataspace selection iterator", |object| matches!(object, Object::SelectionIterator(_)))
    }
}
