//! H5O: objects of any kind.

mod info;
mod merge;
mod visit;

use std::ffi::{c_char, c_int, c_uint};
use std::sync::Arc;

use hyperslab::vol::algorithms::copy::{self, CommittedSearch, CopyContext};
use hyperslab::vol::{Container, OpObjectCopy};
use hyperslab::{LinkTarget, Token};

use crate::api;
use crate::arguments::{Out, Text, TextOut, Values};
use crate::codes::{Major, Minor};
use crate::failure::{Failure, Fallible};
use crate::ffi::{
    H5O_token_t, H5P_DEFAULT, HADDR_UNDEF, allocate_text, haddr_t, herr_t, hid_t, hsize_t, htri_t,
};
use crate::handles::{self, Object, ObjectHandle};
use crate::listing::Listing;
use crate::paths::{self, FoundObject};
use crate::{h5l, h5p, ids};
pub(crate) use info::H5O_info2_t;
use info::{H5O_info1_t, H5O_native_info_t, ObjectDetails, fields, native_info};

/// No object.
#[unsafe(no_mangle)]
pub static H5O_TOKEN_UNDEF_g: H5O_token_t = H5O_token_t { data: [0xff; 16] };

/// Returns the object at a position of a group.
pub(crate) fn by_index(
    id: hid_t,
    name: Text,
    (index, order, n): (c_int, c_int, hsize_t),
    lapl: hid_t,
) -> Fallible<FoundObject> {
    let listing = Listing::new(index, order)?;
    let found = paths::find_from(id, &name.name("group name")?, lapl)?;
    let link = listing.link(&**found.container(), found.token, n)?;
    let path = found.path.as_deref().map(|path| hyperslab::vol::model::link::join(path, &link.name));
    match link.target {
        LinkTarget::Hard(token) if !found.file.has_mounts() => Ok(FoundObject { token, path, ..found }),
        _ => {
            let group = found.open()?;
            paths::find(&group, &link.name, &h5p::link_access(lapl)?)
        }
    }
}

/// Returns the object with an identity in the file of a location.
fn by_token(id: hid_t, token: Token) -> Fallible<hid_t> {
    let file = handles::location(id)?.file.clone();
    let missing = || Failure::new(Major::OHDR, Minor::CANTOPENOBJ, "unable to open object");
    if token.0 == H5O_TOKEN_UNDEF_g.data || token == Token::default() {
        return Err(missing());
    }
    let found = FoundObject { file, token, path: None };
    found.open().map_err(|failure| Failure { cause: failure.cause, ..missing() })?.register()
}

/// Commits what was written to the file of an object, and calls the program's function.
pub(crate) fn flush(object: &ObjectHandle, id: hid_t) -> Fallible<()> {
    object.file.check_writable()?;
    object.file.flush()?;
    let (function, data) = object.file.shared.values.read().object_flush;
    if let Some(function) = function {
        // SAFETY: the program set both in the access properties of the file.
        let answer = unsafe { function(id, data.map_or(std::ptr::null_mut(), |data| data.0)) };
        if answer < 0 {
            return Err(Failure::callback("object flush callback failed"));
        }
    }
    Ok(())
}

pub(crate) fn set_comment(found: &FoundObject, comment: Text) -> Fallible<()> {
    found.file.check_writable()?;
    let comment = comment.optional().filter(|comment| !comment.is_empty());
    Ok(found.container().object_set_comment(found.token, comment.as_deref())?)
}

fn comment(found: &FoundObject, buffer: TextOut, size: usize) -> Fallible<isize> {
    let comment = found.container().object_info(found.token)?.comment.unwrap_or_default();
    Ok(buffer.put_text(size, &comment))
}

/// Returns an object of an identifier: a committed datatype too, but not an attribute.
fn object(id: hid_t) -> Fallible<Arc<ObjectHandle>> {
    ids::get(id, "an object", |object| match object {
        Object::Attribute(_) => None,
        object => object.location(),
    })
}

fn adjust(id: hid_t, by: i32) -> Fallible<()> {
    let object = handles::location(id)?;
    object.file.check_writable()?;
    object.container().object_adjust_references(object.token, by)?;
    Ok(())
}

fn put_details<T: ObjectDetails>(found: &FoundObject, out: Out<T>, wanted: c_uint) -> Fallible<()> {
    out.check("info struct")?;
    if wanted & !fields::ALL != 0 {
        return Err(Failure::argument("invalid fields"));
    }
    out.put(T::of(found, wanted)?);
    Ok(())
}

fn named(id: hid_t, name: Text, lapl: hid_t) -> Fallible<FoundObject> {
    paths::find_from(id, &name.name("object name")?, lapl)
}

fn this(id: hid_t) -> Fallible<FoundObject> {
    Ok(FoundObject::of(&*handles::location(id)?))
}

/// Copies an object, inside its file or to another.
fn copy(from: (hid_t, Text), to: (hid_t, Text), ocpypl: hid_t, lcpl: hid_t) -> Fallible<()> {
    let object = named(from.0, from.1, H5P_DEFAULT)?;
    let target = handles::location(to.0)?;
    let name = to.1.name("destination name")?;
    let place = paths::new_link(&target, &name, &h5p::link_create(lcpl)?, &Default::default())?;
    place.file.check_writable()?;
    let values = h5p::object_copy(ocpypl)?;
    let (options, shared) = (values.options(), &object.file.shared);
    let suggested = merge::suggested(&values, &target, &place.file);
    let asks = || merge::is_search_wanted(&values);
    let committed = CommittedSearch { first: &suggested, is_wanted: Some(&asks) };
    let context = CopyContext { options, committed, ..CopyContext::of(&shared.access, &shared.location) };
    let (source, target): (&dyn Container, &dyn Container) =
        (&**object.container(), &**place.file.container());
    let done = match object.file.is_same(&place.file) {
        true => {
            let op = OpObjectCopy { object: object.token, place: place.location, options };
            copy::object(target, &op, context)
        }
        false => copy::between((source, object.token), (target, &place.location), context),
    };
    done.map(drop).map_err(|error| match error.kind() {
        hyperslab::Kind::Exists => crate::h5g::exists(error),
        _ => Failure::from(error).as_minor(Minor::CANTCOPY),
    })
}

/// Returns an identity as text: for an HDF5 file the address, as libhdf5 prints it.
fn token_text(token: Token) -> String {
    match token.0[8..] == [0; 8] {
        true => token.to_u64().to_string(),
        false => format!("{:#034x}", u128::from_le_bytes(token.0)),
    }
}

fn token_from_text(text: &str) -> Fallible<Token> {
    let wrong = |_| Failure::argument("not a token");
    match text.strip_prefix("0x") {
        Some(hex) => Ok(Token(u128::from_str_radix(hex, 16).map_err(wrong)?.to_le_bytes())),
        None => Ok(Token::from_u64(text.parse().map_err(wrong)?)),
    }
}

api! { OHDR:
    /// Opens an object.
    fn H5Oopen(id: hid_t, name: Text, lapl: hid_t) -> hid_t {
        named(id, name, lapl)?.open()?.register()
    }

    /// Opens the object at a position of a group.
    fn H5Oopen_by_idx(id: hid_t, group: Text, index: c_int, order: c_int, n: hsize_t, lapl: hid_t) -> hid_t {
        by_index(id, group, (index, order, n), lapl)?.open()?.register()
    }

    /// Opens the object with an identity.
    fn H5Oopen_by_token(id: hid_t, token: H5O_token_t) -> hid_t {
        by_token(id, Token(token.data))
    }

    /// Opens the object at an address.
    fn H5Oopen_by_addr(id: hid_t, address: haddr_t) -> hid_t {
        match address {
            HADDR_UNDEF => Err(Failure::argument("no address supplied")),
            address => by_token(id, Token::from_u64(address)),
        }
    }

    /// Says whether a name leads to an object.
    fn H5Oexists_by_name(id: hid_t, name: Text, lapl: hid_t) -> htri_t {
        let name = name.name("object name")?;
        if name != "." && !h5l::exists(id, &name, lapl)? {
            return Err(Failure::new(Major::OHDR, Minor::NOTFOUND, format!("unable to determine if '{name}' exists")));
        }
        match paths::find_from(id, &name, lapl) {
            Ok(_) => Ok(true),
            Err(failure) if matches!(failure.minor, Minor::NOTFOUND | Minor::CANTOPENFILE | Minor::CANTOPENOBJ) => Ok(false),
            Err(failure) => Err(failure),
        }
    }

    /// Returns the info of an object.
    fn H5Oget_info3(id: hid_t, out: Out<H5O_info2_t>, wanted: c_uint) -> herr_t {
        put_details(&this(id)?, out, wanted)
    }

    /// Returns the info of the object that a name leads to.
    fn H5Oget_info_by_name3(id: hid_t, name: Text, out: Out<H5O_info2_t>, wanted: c_uint, lapl: hid_t) -> herr_t {
        put_details(&named(id, name, lapl)?, out, wanted)
    }

    /// Returns the info of the object at a position.
    fn H5Oget_info_by_idx3(id: hid_t, group: Text, index: c_int, order: c_int, n: hsize_t, out: Out<H5O_info2_t>, wanted: c_uint, lapl: hid_t) -> herr_t {
        put_details(&by_index(id, group, (index, order, n), lapl)?, out, wanted)
    }

    /// Returns the info of an object, as version 1.8 had it.
    fn H5Oget_info1(id: hid_t, out: Out<H5O_info1_t>) -> herr_t {
        put_details(&this(id)?, out, fields::ALL)
    }

    /// Returns the info of an object, as version 1.10 had it.
    fn H5Oget_info2(id: hid_t, out: Out<H5O_info1_t>, wanted: c_uint) -> herr_t {
        put_details(&this(id)?, out, wanted)
    }

    /// Returns the info of an object: the name of [`H5Oget_info1`] in programs for 1.8 and 1.10.
    fn H5Oget_info(id: hid_t, out: Out<H5O_info1_t>) -> herr_t {
        put_details(&this(id)?, out, fields::ALL)
    }

    /// Returns the info of the object that a name leads to, as version 1.8 had it.
    fn H5Oget_info_by_name1(id: hid_t, name: Text, out: Out<H5O_info1_t>, lapl: hid_t) -> herr_t {
        put_details(&named(id, name, lapl)?, out, fields::ALL)
    }

    /// Returns the info of the object that a name leads to, as version 1.10 had it.
    fn H5Oget_info_by_name2(id: hid_t, name: Text, out: Out<H5O_info1_t>, wanted: c_uint, lapl: hid_t) -> herr_t {
        put_details(&named(id, name, lapl)?, out, wanted)
    }

    /// Returns the info of an object: the name of [`H5Oget_info_by_name1`] in programs for 1.8 and 1.10.
    fn H5Oget_info_by_name(id: hid_t, name: Text, out: Out<H5O_info1_t>, lapl: hid_t) -> herr_t {
        put_details(&named(id, name, lapl)?, out, fields::ALL)
    }

    /// Returns the info of the object at a position, as version 1.8 had it.
    fn H5Oget_info_by_idx1(id: hid_t, group: Text, index: c_int, order: c_int, n: hsize_t, out: Out<H5O_info1_t>, lapl: hid_t) -> herr_t {
        put_details(&by_index(id, group, (index, order, n), lapl)?, out, fields::ALL)
    }

    /// Returns the info of the object at a position, as version 1.10 had it.
    fn H5Oget_info_by_idx2(id: hid_t, group: Text, index: c_int, order: c_int, n: hsize_t, out: Out<H5O_info1_t>, wanted: c_uint, lapl: hid_t) -> herr_t {
        put_details(&by_index(id, group, (index, order, n), lapl)?, out, wanted)
    }

    /// Returns the info of an object: the name of [`H5Oget_info_by_idx1`] in programs for 1.8 and 1.10.
    fn H5Oget_info_by_idx(id: hid_t, group: Text, index: c_int, order: c_int, n: hsize_t, out: Out<H5O_info1_t>, lapl: hid_t) -> herr_t {
        put_details(&by_index(id, group, (index, order, n), lapl)?, out, fields::ALL)
    }

    /// Returns the sizes of an object's metadata.
    fn H5Oget_native_info(id: hid_t, out: Out<H5O_native_info_t>, _wanted: c_uint) -> herr_t {
        out.put_required(native_info(&this(id)?)?, "info struct")
    }

    /// Returns the sizes of the metadata of the object that a name leads to.
    fn H5Oget_native_info_by_name(id: hid_t, name: Text, out: Out<H5O_native_info_t>, _wanted: c_uint, lapl: hid_t) -> herr_t {
        out.put_required(native_info(&named(id, name, lapl)?)?, "info struct")
    }

    /// Returns the sizes of the metadata of the object at a position.
    fn H5Oget_native_info_by_idx(id: hid_t, group: Text, index: c_int, order: c_int, n: hsize_t, out: Out<H5O_native_info_t>, _wanted: c_uint, lapl: hid_t) -> herr_t {
        out.put_required(native_info(&by_index(id, group, (index, order, n), lapl)?)?, "info struct")
    }

    /// Links an object.
    fn H5Olink(id: hid_t, to: hid_t, name: Text, lcpl: hid_t, lapl: hid_t) -> herr_t {
        let object = object(id)?;
        let found = FoundObject::of(&object);
        let text = name.name("link name")?;
        h5l::create(to, name, (lcpl, lapl), |file| h5l::hard_target(file, &found))?;
        if object.path.read().is_none() {
            let base = handles::location(to)?;
            *object.path.write() = paths::path_from(&base, &text);
        }
        Ok(())
    }

    /// Adds to the reference count of an object.
    fn H5Oincr_refcount(id: hid_t) -> herr_t {
        adjust(id, 1)
    }

    /// Takes from the reference count of an object.
    fn H5Odecr_refcount(id: hid_t) -> herr_t {
        adjust(id, -1)
    }

    /// Copies an object.
    fn H5Ocopy(from: hid_t, name: Text, to: hid_t, new_name: Text, ocpypl: hid_t, lcpl: hid_t) -> herr_t {
        copy((from, name), (to, new_name), ocpypl, lcpl)
    }

    /// Sets the comment on an object.
    fn H5Oset_comment(id: hid_t, comment: Text) -> herr_t {
        set_comment(&this(id)?, comment)
    }

    /// Sets the comment on the object that a name leads to.
    fn H5Oset_comment_by_name(id: hid_t, name: Text, comment: Text, lapl: hid_t) -> herr_t {
        set_comment(&named(id, name, lapl)?, comment)
    }

    /// Returns the comment on an object.
    fn H5Oget_comment(id: hid_t, buffer: TextOut, size: usize) -> isize {
        comment(&this(id)?, buffer, size)
    }

    /// Returns the comment on the object that a name leads to.
    fn H5Oget_comment_by_name(id: hid_t, name: Text, buffer: TextOut, size: usize, lapl: hid_t) -> isize {
        comment(&named(id, name, lapl)?, buffer, size)
    }

    /// Closes an object.
    fn H5Oclose(id: hid_t) -> herr_t {
        ids::close(id, "an object", |object| {
            !matches!(object, Object::File(_) | Object::Attribute(_)) && object.location().is_some()
        })
    }

    /// Commits what was written to the file of an object.
    fn H5Oflush(id: hid_t) -> herr_t {
        flush(&*handles::location(id)?, id)
    }

    /// Forgets what is cached of an object.
    fn H5Orefresh(id: hid_t) -> herr_t {
        let object = handles::location(id)?;
        Ok(object.container().object_refresh(object.token)?)
    }

    /// Says that metadata of an object is not to be flushed. It is remembered: commits are of the whole file.
    fn H5Odisable_mdc_flushes(id: hid_t) -> herr_t {
        let object = object(id)?;
        match object.file.shared.without_flushes.lock().insert(object.token) {
            true => Ok(()),
            false => Err(Failure::new(Major::OHDR, Minor::CANTCORK, "unable to cork object")),
        }
    }

    /// Says that metadata of an object may be flushed again.
    fn H5Oenable_mdc_flushes(id: hid_t) -> herr_t {
        let object = object(id)?;
        match object.file.shared.without_flushes.lock().remove(&object.token) {
            true => Ok(()),
            false => Err(Failure::new(Major::OHDR, Minor::CANTUNCORK, "unable to uncork object")),
        }
    }

    /// Returns whether metadata of an object is not to be flushed.
    fn H5Oare_mdc_flushes_disabled(id: hid_t, are_disabled: Out<bool>) -> herr_t {
        let object = object(id)?;
        let are = object.file.shared.without_flushes.lock().contains(&object.token);
        are_disabled.put_required(are, "are_disabled")
    }

    /// Compares two identities.
    fn H5Otoken_cmp(id: hid_t, a: Values<H5O_token_t>, b: Values<H5O_token_t>, out: Out<c_int>) -> herr_t {
        handles::location(id)?;
        let number = |token: Values<H5O_token_t>| token.optional(1).map(|token| u128::from_le_bytes(token[0].data));
        out.put_required(number(a).cmp(&number(b)) as c_int, "cmp_value")
    }

    /// Returns an identity as text, which the program frees.
    fn H5Otoken_to_str(id: hid_t, token: Values<H5O_token_t>, out: Out<*mut c_char>) -> herr_t {
        handles::location(id)?;
        let token = Token(token.one("token")?.data);
        out.put_required(allocate_text(token_text(token).as_bytes()), "token string")
    }

    /// Reads an identity from text.
    fn H5Otoken_from_str(id: hid_t, text: Text, out: Out<H5O_token_t>) -> herr_t {
        handles::location(id)?;
        let token = token_from_text(&text.name("token string")?)?;
        out.put_required(H5O_token_t { data: token.0 }, "token")
    }
}
