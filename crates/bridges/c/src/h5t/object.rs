//! Datatypes as objects: made, copied, closed, compared, locked, encoded.

use std::ffi::{c_char, c_int, c_uint, c_void};
use std::sync::Arc;

use hyperslab::Limits;
use hyperslab::vol::model::datatype::{
    ByteOrder, Compound, Datatype, Enum, FixedString, Opaque, StringPad, VarLenKind,
};

use super::announced::encoded_datatype;
use super::{VARIABLE, cannot_init, class, class_of, is_variable_string, parent, register, view};
use crate::api;
use crate::arguments::{Bytes, Out, Values};
use crate::codes::{Major, Minor};
use crate::failure::{Failure, Fallible};
use crate::ffi::{herr_t, hid_t, htri_t};
use crate::handles::{self, Object};
use crate::{ids, memory};

/// The first bytes of an encoded datatype: the number of the datatype message, and the version of the encoding.
const ENCODED: [u8; 2] = [3, 0];

/// Returns the size of an element, which must fit the format's 32 bits.
pub(super) fn element_size(size: usize) -> Fallible<u32> {
    match u32::try_from(size) {
        Ok(0) | Err(_) => Err(Failure::argument("invalid size")),
        Ok(size) => Ok(size),
    }
}

/// Returns a string of the given size, as a copy of `H5T_C_S1`.
fn string(size: usize) -> Fallible<Datatype> {
    if size == VARIABLE {
        return Ok(memory::c_form(&Datatype::var_string(Default::default())));
    }
    let (padding, charset) = (StringPad::NullTerminated, Default::default());
    Ok(Datatype::String(FixedString { size: element_size(size)?, padding, charset }))
}

fn create(kind: c_int, size: usize) -> Fallible<Datatype> {
    match kind {
        class::STRING => string(size),
        _ if size == VARIABLE => Err(Failure::argument("only strings may be variable length")),
        class::OPAQUE => Ok(Datatype::Opaque(Opaque { size: element_size(size)?, tag: String::new() })),
        class::COMPOUND => {
            Ok(Datatype::Compound(Compound { size: element_size(size)?, members: Vec::new() }))
        }
        class::ENUM if matches!(size, 1 | 2 | 4 | 8) => {
            let base = Datatype::integer(size as u32, true, ByteOrder::NATIVE);
            Ok(Datatype::Enum(Enum { base: Box::new(base), members: Vec::new() }))
        }
        class::ENUM => Err(cannot_init("no applicable native integer type")),
        0..=class::COMPLEX => Err(cannot_init("type class is not appropriate - use H5Tcopy()")),
        _ => Err(cannot_init("unknown data type class")),
    }
}

/// Returns the datatype of a datatype or of a dataset.
fn copied(id: hid_t) -> Fallible<Datatype> {
    match ids::object(id) {
        Ok(Object::Datatype(datatype)) => Ok((*datatype.datatype()).clone()),
        Ok(Object::Dataset(dataset)) => {
            Ok(memory::c_form(&dataset.container().dataset_info(dataset.token)?.datatype))
        }
        _ => Err(Failure::wrong_type("not a datatype or dataset")),
    }
}

fn close(id: hid_t) -> Fallible<()> {
    if handles::datatype(id)?.is_immutable() {
        return Err(Failure::argument("immutable datatype"));
    }
    ids::close(id, "a datatype", |object| matches!(object, Object::Datatype(_)))
}

/// Returns whether two datatypes are equal. The order of members does not count.
pub(crate) fn same(a: &Datatype, b: &Datatype) -> bool {
    match (a, b) {
        (Datatype::Compound(a), Datatype::Compound(b)) => {
            let is_member = |m: &hyperslab::vol::model::datatype::Member| {
                b.member(&m.name).is_some_and(|n| n.offset == m.offset && same(&m.datatype, &n.datatype))
            };
            a.size == b.size && a.members.len() == b.members.len() && a.members.iter().all(is_member)
        }
        (Datatype::Enum(a), Datatype::Enum(b)) => {
            let is_member = |m: &(String, Vec<u8>)| b.members.iter().any(|n| n == m);
            same(&a.base, &b.base)
                && a.members.len() == b.members.len()
                && (a.members == b.members || a.members.iter().all(is_member))
        }
        (Datatype::Array(a), Datatype::Array(b)) => a.dims == b.dims && same(&a.base, &b.base),
        (Datatype::VarLen(a), Datatype::VarLen(b)) => match (&a.kind, &b.kind) {
            (VarLenKind::Sequence(x), VarLenKind::Sequence(y)) => a.size == b.size && same(x, y),
            // As libhdf5: character set and padding do not count.
            (VarLenKind::String { .. }, VarLenKind::String { .. }) => a.size == b.size,
            _ => false,
        },
        _ => a == b,
    }
}

/// Returns whether a type or one inside of it is of a class.
fn detect(datatype: &Datatype, kind: c_int) -> bool {
    if is_variable_string(datatype) || class_of(datatype) == kind {
        return class_of(datatype) == kind;
    }
    match datatype {
        // As libhdf5: in a compound, strings of variable length are sequences as well.
        Datatype::Compound(t) => {
            t.members.iter().any(|m| c_int::from(m.datatype.class()) == kind || detect(&m.datatype, kind))
        }
        other => parent(other).is_some_and(|inner| detect(&inner, kind)),
    }
}

fn encode(id: hid_t, buffer: Bytes, size: Out<usize>) -> Fallible<()> {
    let have = size.get().ok_or_else(|| Failure::argument("NULL pointer for buffer size"))?;
    let mut bytes = ENCODED.to_vec();
    bytes.extend(
        view(id)?
            .encode(1)
            .map_err(|error| Failure::from(error).as_major(Major::DATATYPE).as_minor(Minor::CANTENCODE))?,
    );
    if !buffer.0.is_null() && have >= bytes.len() {
        buffer.write(bytes.len(), "buf")?.copy_from_slice(&bytes);
    } else {
        size.put(bytes.len());
    }
    Ok(())
}

fn decode(bytes: &[u8]) -> hyperslab::Result<Datatype> {
    let rest = bytes.strip_prefix(&ENCODED);
    let rest = rest.ok_or_else(|| {
        hyperslab::Error::corrupt("decode datatype").with("problem", "not an encoded datatype")
    })?;
    Ok(memory::c_form(&Datatype::decode(rest, &Limits::default())?))
}

fn cannot_decode(error: hyperslab::Error) -> Failure {
    Failure::from(error).as_major(Major::DATATYPE).as_minor(Minor::CANTDECODE)
}

fn decode_announced(buffer: Values<u8>) -> Fallible<hid_t> {
    decode(encoded_datatype(buffer)?).map(register).map_err(cannot_decode)
}

/// Returns the committed datatype of an identifier.
fn committed(id: hid_t) -> Fallible<Arc<handles::ObjectHandle>> {
    handles::datatype(id)?.committed().ok_or_else(|| Failure::wrong_type("not a committed datatype"))
}

api! { DATATYPE:
    /// Creates a compound, opaque, enumeration or string datatype.
    fn H5Tcreate(kind: c_int, size: usize) -> hid_t {
        create(kind, size).map(register)
    }

    /// Copies a datatype, or the datatype of a dataset. The copy can be changed.
    fn H5Tcopy(id: hid_t) -> hid_t {
        copied(id).map(register)
    }

    /// Closes a datatype.
    fn H5Tclose(id: hid_t) -> herr_t {
        close(id)
    }

    /// Closes a datatype; it is done when the function returns.
    fn H5Tclose_async(_file: *const c_char, _func: *const c_char, _line: c_uint, id: hid_t, _es: hid_t) -> herr_t {
        close(id)
    }

    /// Says whether two datatypes are equal.
    fn H5Tequal(a: hid_t, b: hid_t) -> htri_t {
        Ok(same(&*view(a)?, &*view(b)?))
    }

    /// Makes a datatype one that can be neither changed nor closed.
    fn H5Tlock(id: hid_t) -> herr_t {
        let datatype = handles::datatype(id)?;
        if datatype.committed().is_some() {
            return Err(Failure::argument("unable to lock named datatype"));
        }
        datatype.lock();
        Ok(())
    }

    /// Returns the class of a datatype.
    fn H5Tget_class(id: hid_t) -> c_int {
        Ok(class_of(&*view(id)?))
    }

    /// Says whether a datatype or one inside of it is of a class.
    fn H5Tdetect_class(id: hid_t, kind: c_int) -> htri_t {
        let datatype = view(id)?;
        match kind {
            0..=class::COMPLEX => Ok(detect(&datatype, kind)),
            _ => Err(Failure::wrong_type("not a datatype class")),
        }
    }

    /// Returns the datatype that a datatype is derived from.
    fn H5Tget_super(id: hid_t) -> hid_t {
        let base = parent(&*view(id)?).ok_or_else(|| cannot_init("not a derived data type"))?;
        Ok(register(base))
    }

    /// Encodes a datatype, or returns the size of the buffer that it needs.
    fn H5Tencode(id: hid_t, buffer: *mut c_void, size: Out<usize>) -> herr_t {
        encode(id, Bytes(buffer), size)
    }

    /// Decodes a datatype from a buffer of the given size.
    fn H5Tdecode2(buffer: *const c_void, size: usize) -> hid_t {
        let bytes = Values(buffer.cast::<u8>()).optional(size);
        let bytes = bytes.ok_or_else(|| Failure::argument("empty buffer"))?;
        decode(bytes).map(register).map_err(cannot_decode)
    }

    /// Decodes a datatype from a buffer that is as long as the datatype says.
    fn H5Tdecode1(buffer: *const c_void) -> hid_t {
        decode_announced(Values(buffer.cast()))
    }

    /// Decodes a datatype, by the name that programs built for 1.14 and before import.
    fn H5Tdecode(buffer: *const c_void) -> hid_t {
        decode_announced(Values(buffer.cast()))
    }

    /// Writes changes of a committed datatype to its file.
    fn H5Tflush(id: hid_t) -> herr_t {
        let object = committed(id)?;
        Ok(object.container().commit(Default::default())?)
    }

    /// Reads a committed datatype again from its file.
    fn H5Trefresh(id: hid_t) -> herr_t {
        let object = committed(id)?;
        Ok(object.container().object_refresh(object.token)?)
    }
}
