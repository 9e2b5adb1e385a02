//! Compound datatypes, and members of compounds and enumerations.

use std::ffi::{c_char, c_int, c_uint};

use hyperslab::vol::model::datatype::{Compound, Datatype, Member};
use hyperslab::vol::model::text;

use super::{class_of, parent_mut, register, view, wrong_class};
use crate::api;
use crate::arguments::Text;
use crate::codes::{Major, Minor};
use crate::failure::{Failure, Fallible};
use crate::ffi::{allocate_text, herr_t, hid_t};
use crate::handles;

fn compound(datatype: &Datatype) -> Fallible<&Compound> {
    match datatype {
        Datatype::Compound(compound) => Ok(compound),
        _ => Err(Failure::wrong_type("not a compound datatype")),
    }
}

fn member(compound: &Compound, number: c_uint) -> Fallible<&Member> {
    compound.members.get(number as usize).ok_or_else(|| Failure::argument("invalid member number"))
}

fn cannot_insert(text: &'static str) -> Failure {
    Failure::new(Major::DATATYPE, Minor::CANTINSERT, text)
}

fn insert(datatype: &mut Datatype, name: String, offset: usize, inserted: &Datatype) -> Fallible<()> {
    let Datatype::Compound(compound) = datatype else {
        return Err(Failure::wrong_type("not a compound datatype"));
    };
    if compound.member(&name).is_some() {
        return Err(cannot_insert("member name is not unique"));
    }
    let size = inserted.size() as usize;
    let end =
        offset.checked_add(size).ok_or_else(|| cannot_insert("member extends past end of compound type"))?;
    let overlaps = |m: &Member| {
        let (start, stop) = (m.offset as usize, m.offset as usize + m.datatype.size() as usize);
        offset < stop && start < end
    };
    if compound.members.iter().any(overlaps) {
        return Err(cannot_insert("member overlaps with another member"));
    }
    if end > compound.size as usize {
        return Err(cannot_insert("member extends past end of compound type"));
    }
    compound.members.push(Member { name, offset: offset as u32, datatype: inserted.clone() });
    Ok(())
}

/// Removes the gaps of a compound and of those inside of it. Members are sorted by their offset then.
fn pack(datatype: &mut Datatype) {
    if let Some(inner) = parent_mut(datatype) {
        return pack(inner);
    }
    let Datatype::Compound(compound) = datatype else { return };
    compound.members.sort_by_key(|m| m.offset);
    let mut size = 0;
    for member in &mut compound.members {
        pack(&mut member.datatype);
        member.offset = size;
        size += member.datatype.size();
    }
    compound.size = size.max(1);
}

fn member_name(datatype: &Datatype, number: c_uint) -> Fallible<String> {
    match datatype {
        Datatype::Compound(compound) => Ok(member(compound, number)?.name.clone()),
        Datatype::Enum(t) => {
            let member = t.members.get(number as usize);
            member.map(|m| m.0.clone()).ok_or_else(|| Failure::argument("invalid member number"))
        }
        _ => Err(wrong_class()),
    }
}

fn member_index(datatype: &Datatype, name: &str) -> Fallible<c_int> {
    let found = match datatype {
        Datatype::Compound(t) => t.members.iter().position(|m| m.name == name),
        Datatype::Enum(t) => t.members.iter().position(|m| m.0 == name),
        _ => return Err(wrong_class()),
    };
    // As libhdf5: a name that is not there is no error.
    Ok(found.map_or(-1, |at| at as c_int))
}

api! { DATATYPE:
    /// Adds a member to a compound datatype.
    fn H5Tinsert(parent_id: hid_t, name: Text, offset: usize, member_id: hid_t) -> herr_t {
        if parent_id == member_id {
            return Err(Failure::argument("can't insert compound datatype within itself"));
        }
        let parent = handles::datatype(parent_id)?;
        compound(&parent.datatype())?;
        let name = name.name("no member name")?;
        let inserted = view(member_id)?;
        parent.change(|datatype| insert(datatype, name, offset, &inserted))
    }

    /// Removes the gaps between the members of a compound datatype.
    fn H5Tpack(id: hid_t) -> herr_t {
        let datatype = handles::datatype(id)?;
        let has_compound = datatype.datatype().any(&|inner| matches!(inner, Datatype::Compound(_)));
        if !has_compound {
            return Err(Failure::wrong_type("not a compound datatype"));
        }
        datatype.change(|datatype| {
            pack(datatype);
            Ok(())
        })
    }

    /// Returns the number of members of a compound or an enumeration.
    fn H5Tget_nmembers(id: hid_t) -> c_int {
        match &*view(id)? {
            Datatype::Compound(t) => Ok(t.members.len() as c_int),
            Datatype::Enum(t) => Ok(t.members.len() as c_int),
            _ => Err(wrong_class()),
        }
    }

    /// Returns the name of a member, which the caller frees.
    fn H5Tget_member_name(id: hid_t, number: c_uint) -> *mut c_char {
        Ok(allocate_text(&text::as_bytes(&member_name(&*view(id)?, number)?)))
    }

    /// Returns the number of the member with a name.
    fn H5Tget_member_index(id: hid_t, name: Text) -> c_int {
        member_index(&*view(id)?, &name.required("name")?)
    }

    /// Returns the offset of a member of a compound.
    fn H5Tget_member_offset(id: hid_t, number: c_uint) -> usize {
        Ok(member(compound(&*view(id)?)?, number)?.offset as usize)
    }

    /// Returns the class of a member of a compound.
    fn H5Tget_member_class(id: hid_t, number: c_uint) -> c_int {
        Ok(class_of(&member(compound(&*view(id)?)?, number)?.datatype))
    }

    /// Returns the datatype of a member of a compound.
    fn H5Tget_member_type(id: hid_t, number: c_uint) -> hid_t {
        Ok(register(member(compound(&*view(id)?)?, number)?.datatype.clone()))
    }
}
