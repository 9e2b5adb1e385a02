//! Classes of user-defined links.

use std::collections::BTreeMap;
use std::ffi::{c_char, c_int, c_void};

use system::sync::Mutex;

use super::info::kind;
use crate::api;
use crate::arguments::Values;
use crate::codes::{Major, Minor};
use crate::failure::{Failure, Fallible};
use crate::ffi::{H5P_DEFAULT, herr_t, hid_t, htri_t};
use crate::h5p::values::LinkAccessValues;
use crate::handles::ObjectHandle;
use crate::paths::FoundObject;
use crate::stack::c_text;
use crate::{handles, ids};

type Create = Option<unsafe extern "C" fn(*const c_char, hid_t, *const c_void, usize, hid_t) -> herr_t>;
type Move = Option<unsafe extern "C" fn(*const c_char, hid_t, *const c_void, usize) -> herr_t>;
type Traverse =
    Option<unsafe extern "C" fn(*const c_char, hid_t, *const c_void, usize, hid_t, hid_t) -> hid_t>;
type Delete = Option<unsafe extern "C" fn(*const c_char, hid_t, *const c_void, usize) -> herr_t>;
type Query = Option<unsafe extern "C" fn(*const c_char, *const c_void, usize, *mut c_void, usize) -> isize>;

/// `H5L_class_t`
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct H5L_class_t {
    version: c_int,
    id: c_int,
    comment: *const c_char,
    create_func: Create,
    move_func: Move,
    copy_func: Move,
    trav_func: Traverse,
    del_func: Delete,
    query_func: Query,
}

// SAFETY: the functions are the program's, which says with the registration that they may be called; the comment is not read.
unsafe impl Send for H5L_class_t {}

static CLASSES: Mutex<BTreeMap<c_int, H5L_class_t>> = Mutex::new(BTreeMap::new());

fn class(number: u8) -> Option<H5L_class_t> {
    CLASSES.lock().get(&c_int::from(number)).copied()
}

/// Returns the class of a user-defined link, or an error that says that it is not registered.
fn registered(number: u8) -> Fallible<H5L_class_t> {
    class(number).ok_or_else(|| {
        Failure::new(Major::LINK, Minor::NOTREGISTERED, "link class has not been registered with library")
    })
}

/// Follows a user-defined link with the program's function.
pub(crate) fn traverse(
    here: &FoundObject,
    name: &str,
    (class, data): (u8, &[u8]),
    access: &LinkAccessValues,
) -> Fallible<FoundObject> {
    let function = registered(class)?.trav_func;
    let function = function
        .ok_or_else(|| Failure::new(Major::LINK, Minor::TRAVERSE, "link class cannot be traversed"))?;
    let group =
        ObjectHandle::open(here.file.clone(), here.token, here.kind()?, here.path.clone())?.register()?;
    let (name, list) = (c_text(name), crate::h5p::register_link_access(access.clone()));
    // SAFETY: the class is the program's; name and data live until the function returns.
    let id = unsafe { function(name.as_ptr(), group, data.as_ptr().cast(), data.len(), list, H5P_DEFAULT) };
    let _ = (ids::remove_reference(group), ids::remove_reference(list));
    if id < 0 {
        return Err(Failure::callback("user-defined link callback returned invalid ID").as_major(Major::LINK));
    }
    let found = handles::location(id).map(|object| FoundObject::of(&object));
    ids::remove_reference(id)?;
    found
}

/// Returns the value of a user-defined link as its class tells it.
pub(super) fn query(name: &str, number: u8, data: &[u8]) -> Fallible<Vec<u8>> {
    let Some(function) = class(number).and_then(|class| class.query_func) else { return Ok(Vec::new()) };
    let name = c_text(name);
    let call = |buffer: *mut c_void, size: usize| {
        // SAFETY: the class is the program's; name, data and buffer live until the function returns.
        unsafe { function(name.as_ptr(), data.as_ptr().cast(), data.len(), buffer, size) }
    };
    let failed =
        || Failure::callback("query buffer size callback returned negative value").as_major(Major::LINK);
    let size = usize::try_from(call(std::ptr::null_mut(), 0)).map_err(|_| failed())?;
    let mut value = vec![0u8; size];
    match call(value.as_mut_ptr().cast(), size) {
        answer if answer < 0 => Err(failed()),
        _ => Ok(value),
    }
}

/// What happens to a user-defined link that its class may have a word about.
#[derive(Debug, Clone, Copy)]
pub(super) enum Change {
    Create,
    Move,
    Copy,
    Delete,
}

/// Tells the class of a link what is about to happen to it.
pub(super) fn tell(change: Change, number: u8, name: &str, location: hid_t, data: &[u8]) -> Fallible<()> {
    let class = match change {
        Change::Create => registered(number)?,
        _ => match class(number) {
            Some(class) => class,
            None => return Ok(()),
        },
    };
    let (name, value) = (c_text(name), (data.as_ptr().cast::<c_void>(), data.len()));
    // SAFETY: the class is the program's; name and data live until the function returns.
    let answer = unsafe {
        match change {
            Change::Create => {
                class.create_func.map(|f| f(name.as_ptr(), location, value.0, value.1, H5P_DEFAULT))
            }
            Change::Move => class.move_func.map(|f| f(name.as_ptr(), location, value.0, value.1)),
            Change::Copy => class.copy_func.map(|f| f(name.as_ptr(), location, value.0, value.1)),
            Change::Delete => class.del_func.map(|f| f(name.as_ptr(), location, value.0, value.1)),
        }
    };
    match answer {
        Some(answer) if answer < 0 => {
            Err(Failure::callback("link callback returned failure").as_major(Major::LINK))
        }
        _ => Ok(()),
    }
}

fn check_number(number: c_int) -> Fallible<()> {
    match (kind::EXTERNAL..=kind::MAX).contains(&number) {
        true => Ok(()),
        false => Err(Failure::argument("invalid link identification number")),
    }
}

api! { LINK:
    /// Registers a class of links.
    fn H5Lregister(class: Values<H5L_class_t>) -> herr_t {
        let class = *class.one("link class")?;
        if !(0..=1).contains(&class.version) {
            return Err(Failure::argument("invalid H5L_class_t version number"));
        }
        check_number(class.id)?;
        if class.trav_func.is_none() {
            return Err(Failure::argument("no traversal function specified"));
        }
        CLASSES.lock().insert(class.id, class);
        Ok(())
    }

    /// Removes a class of links.
    fn H5Lunregister(number: c_int) -> herr_t {
        check_number(number)?;
        let removed = CLASSES.lock().remove(&number);
        removed.map(drop).ok_or_else(|| Failure::new(Major::LINK, Minor::NOTREGISTERED, "link class is not registered"))
    }

    /// Says whether a class of links is registered.
    fn H5Lis_registered(number: c_int) -> htri_t {
        if !(0..=kind::MAX).contains(&number) {
            return Err(Failure::argument("invalid link type id number"));
        }
        Ok(matches!(number, kind::HARD | kind::SOFT | kind::EXTERNAL) || CLASSES.lock().contains_key(&number))
    }
}
