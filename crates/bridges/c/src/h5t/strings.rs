//! Character sets and padding of strings, and tags of opaque datatypes.

use std::ffi::{c_char, c_int};

use hyperslab::vol::model::datatype::{CharacterSet, Datatype, FixedString, StringPad, VarLen, VarLenKind};
use hyperslab::vol::model::text;

use super::{is_variable_string, parent, parent_mut, undefined, view, wrong_class};
use crate::api;
use crate::arguments::Text;
use crate::failure::{Failure, Fallible};
use crate::ffi::{allocate_text, herr_t, hid_t, htri_t};
use crate::handles;

/// Bytes of the longest tag, with its NUL (`H5T_OPAQUE_TAG_MAX`).
const TAG_BYTES_MAX: usize = 256;

fn string_of(datatype: &Datatype) -> Fallible<(StringPad, CharacterSet)> {
    match datatype {
        Datatype::String(FixedString { padding, charset, .. })
        | Datatype::VarLen(VarLen { kind: VarLenKind::String { padding, charset }, .. }) => {
            Ok((*padding, *charset))
        }
        other => parent(other).map_or_else(|| Err(undefined()), |inner| string_of(&inner)),
    }
}

fn change_string(
    datatype: &mut Datatype,
    change: impl FnOnce(&mut StringPad, &mut CharacterSet),
) -> Fallible<()> {
    match datatype {
        Datatype::String(FixedString { padding, charset, .. })
        | Datatype::VarLen(VarLen { kind: VarLenKind::String { padding, charset }, .. }) => {
            change(padding, charset);
            Ok(())
        }
        other => parent_mut(other).map_or_else(|| Err(undefined()), |inner| change_string(inner, change)),
    }
}

fn set_tag(datatype: &mut Datatype, tag: &str) -> Fallible<()> {
    if text::as_bytes(tag).len() >= TAG_BYTES_MAX {
        return Err(Failure::argument("tag too long"));
    }
    match datatype {
        Datatype::Opaque(t) => {
            t.tag = tag.to_owned();
            Ok(())
        }
        other => parent_mut(other)
            .map_or_else(|| Err(Failure::wrong_type("not an opaque data type")), |inner| set_tag(inner, tag)),
    }
}

fn tag(datatype: &Datatype) -> Fallible<String> {
    match datatype {
        Datatype::Opaque(t) => Ok(t.tag.clone()),
        other => parent(other).map_or_else(|| Err(wrong_class()), |inner| tag(&inner)),
    }
}

api! { DATATYPE:
    /// Returns the character set of a string.
    fn H5Tget_cset(id: hid_t) -> c_int {
        Ok(string_of(&*view(id)?)?.1 as c_int)
    }

    /// Sets the character set of a string.
    fn H5Tset_cset(id: hid_t, code: c_int) -> herr_t {
        let value = match code {
            0 => CharacterSet::Ascii,
            1 => CharacterSet::Utf8,
            _ => return Err(Failure::argument("illegal character set type")),
        };
        handles::datatype(id)?.change(|datatype| change_string(datatype, |_, charset| *charset = value))
    }

    /// Returns the padding of a string.
    fn H5Tget_strpad(id: hid_t) -> c_int {
        Ok(string_of(&*view(id)?)?.0 as c_int)
    }

    /// Sets the padding of a string.
    fn H5Tset_strpad(id: hid_t, code: c_int) -> herr_t {
        let value = match code {
            0 => StringPad::NullTerminated,
            1 => StringPad::NullPadded,
            2 => StringPad::SpacePadded,
            _ => return Err(Failure::argument("illegal string pad type")),
        };
        handles::datatype(id)?.change(|datatype| change_string(datatype, |padding, _| *padding = value))
    }

    /// Says whether a datatype is a string of variable length.
    fn H5Tis_variable_str(id: hid_t) -> htri_t {
        Ok(is_variable_string(&*view(id)?))
    }

    /// Sets the tag of an opaque datatype.
    fn H5Tset_tag(id: hid_t, tag: Text) -> herr_t {
        let tag = tag.required("tag")?;
        handles::datatype(id)?.change(|datatype| set_tag(datatype, &tag))
    }

    /// Returns the tag of an opaque datatype, which the caller frees.
    fn H5Tget_tag(id: hid_t) -> *mut c_char {
        Ok(allocate_text(&text::as_bytes(&tag(&*view(id)?)?)))
    }
}
