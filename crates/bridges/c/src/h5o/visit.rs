//! Visiting all objects below one.

use std::collections::HashSet;
use std::ffi::{c_char, c_int, c_uint, c_void};

use hyperslab::vol::model::link::join;
use hyperslab::{LinkTarget, ObjectKind, Token};

use super::info::{H5O_info1_t, H5O_info2_t, ObjectDetails, fields};
use crate::arguments::Text;
use crate::failure::{Failure, Fallible};
use crate::ffi::{herr_t, hid_t};
use crate::listing::{Data, Listing, check_answer};
use crate::paths::{self, FoundObject};
use crate::stack::c_text;
use crate::{api, handles, ids};

/// A function of a program's that is called for each object.
type Operator<T> = Option<unsafe extern "C" fn(hid_t, *const c_char, *const T, *mut c_void) -> herr_t>;

/// What is visited, and how.
struct Visit<T> {
    id: hid_t,
    listing: Listing,
    operator: unsafe extern "C" fn(hid_t, *const c_char, *const T, *mut c_void) -> herr_t,
    data: Data,
    fields: c_uint,
}

impl<T: ObjectDetails> Visit<T> {
    fn call(&self, object: &FoundObject, name: &str) -> Fallible<Option<herr_t>> {
        let (name, info) = (c_text(name), T::of(object, self.fields)?);
        // SAFETY: name and info live until the function returns; the program gave function and data together.
        check_answer(unsafe { (self.operator)(self.id, name.as_ptr(), &raw const info, self.data) })
    }

    fn links(&self, start: &FoundObject, group: Token) -> Fallible<std::vec::IntoIter<hyperslab::Link>> {
        Ok(self.listing.links_of_visit(&**start.container(), group)?.into_iter())
    }

    /// Visits an object and everything that hard links lead to from there, each object once.
    fn run(&self, start: &FoundObject) -> Fallible<herr_t> {
        if let Some(stop) = self.call(start, ".")? {
            return Ok(stop);
        }
        if start.kind()? != ObjectKind::Group {
            return Ok(0);
        }
        let mut seen = HashSet::from([start.token]);
        let mut stack = vec![(String::new(), self.links(start, start.token)?)];
        while let Some((path, remaining)) = stack.last_mut() {
            let Some(link) = remaining.next() else {
                stack.pop();
                continue;
            };
            let LinkTarget::Hard(token) = link.target else { continue };
            if !seen.insert(token) {
                continue;
            }
            let name = join(path, &link.name);
            let object = FoundObject { file: start.file.clone(), token, path: None };
            if let Some(stop) = self.call(&object, &name)? {
                return Ok(stop);
            }
            if object.kind()? == ObjectKind::Group {
                let below = self.links(start, token)?;
                stack.push((name, below));
            }
        }
        Ok(0)
    }
}

fn visit_id<T: ObjectDetails>(
    id: hid_t,
    (index, order): (c_int, c_int),
    operator: Operator<T>,
    data: Data,
    wanted: c_uint,
) -> Fallible<herr_t> {
    let start = FoundObject::of(&*handles::location(id)?);
    let operator = operator.ok_or_else(|| Failure::argument("no callback operator specified"))?;
    if wanted & !fields::ALL != 0 {
        return Err(Failure::argument("invalid fields"));
    }
    Visit { id, listing: Listing::new(index, order)?, operator, data, fields: wanted }.run(&start)
}

fn visit_name<T: ObjectDetails>(
    (id, name, lapl): (hid_t, Text, hid_t),
    how: (c_int, c_int),
    operator: Operator<T>,
    data: Data,
    wanted: c_uint,
) -> Fallible<herr_t> {
    let object = paths::find_from(id, &name.name("object name")?, lapl)?.open()?.register()?;
    let done = visit_id(object, how, operator, data, wanted);
    ids::remove_reference(object)?;
    done
}

api! { OHDR:
    /// Calls a function for an object and all below it.
    fn H5Ovisit3(id: hid_t, index: c_int, order: c_int, operator: Operator<H5O_info2_t>, data: Data, wanted: c_uint) -> herr_t {
        visit_id(id, (index, order), operator, data, wanted)
    }

    /// Calls a function for the object that a name leads to and all below it.
    fn H5Ovisit_by_name3(id: hid_t, name: Text, index: c_int, order: c_int, operator: Operator<H5O_info2_t>, data: Data, wanted: c_uint, lapl: hid_t) -> herr_t {
        visit_name((id, name, lapl), (index, order), operator, data, wanted)
    }

    /// Calls a function for an object and all below it, as version 1.10 had it.
    fn H5Ovisit2(id: hid_t, index: c_int, order: c_int, operator: Operator<H5O_info1_t>, data: Data, wanted: c_uint) -> herr_t {
        visit_id(id, (index, order), operator, data, wanted)
    }

    /// Calls a function for the object that a name leads to and all below it, as version 1.10 had it.
    fn H5Ovisit_by_name2(id: hid_t, name: Text, index: c_int, order: c_int, operator: Operator<H5O_info1_t>, data: Data, wanted: c_uint, lapl: hid_t) -> herr_t {
        visit_name((id, name, lapl), (index, order), operator, data, wanted)
    }

    /// Calls a function for an object and all below it, as version 1.8 had it.
    fn H5Ovisit1(id: hid_t, index: c_int, order: c_int, operator: Operator<H5O_info1_t>, data: Data) -> herr_t {
        visit_id(id, (index, order), operator, data, fields::ALL)
    }

    /// Calls a function for the object that a name leads to and all below it, as version 1.8 had it.
    fn H5Ovisit_by_name1(id: hid_t, name: Text, index: c_int, order: c_int, operator: Operator<H5O_info1_t>, data: Data, lapl: hid_t) -> herr_t {
        visit_name((id, name, lapl), (index, order), operator, data, fields::ALL)
    }

    /// Calls a function for objects: the name of [`H5Ovisit1`] in programs for 1.8 and 1.10.
    fn H5Ovisit(id: hid_t, index: c_int, order: c_int, operator: Operator<H5O_info1_t>, data: Data) -> herr_t {
        visit_id(id, (index, order), operator, data, fields::ALL)
    }

    /// Calls a function for objects: the name of [`H5Ovisit_by_name1`] in programs for 1.8 and 1.10.
    fn H5Ovisit_by_name(id: hid_t, name: Text, index: c_int, order: c_int, operator: Operator<H5O_info1_t>, data: Data, lapl: hid_t) -> herr_t {
        visit_name((id, name, lapl), (index, order), operator, data, fields::ALL)
    }
}
