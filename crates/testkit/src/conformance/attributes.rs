//! Attributes.

use model::datatype::Compound;
use model::{CharacterSet, Dataspace, Datatype, Kind, Result};
use vol::OpList;

use crate::Subject;
use crate::kit::*;

super::suite! { "attributes":
    |c| c.attributes => attribute_reads_zeros_until_written, written_attribute_reads_back,
        groups_and_datasets_have_attributes, several_attributes_are_read_in_the_order_asked_for,
        missing_attribute_is_none, reading_a_missing_attribute_is_not_found, writing_a_missing_attribute_is_not_found,
        duplicate_attribute_is_refused, deleted_attribute_is_gone, deleting_a_missing_attribute_is_not_found,
        renamed_attribute_keeps_its_value, renaming_onto_another_is_refused, renaming_a_missing_attribute_is_not_found,
        null_attribute_has_no_bytes, attribute_of_several_dimensions_reads_back, attribute_of_a_wrong_length_is_refused,
        attributes_are_counted, attribute_names_may_have_slashes, attribute_names_in_utf8_are_kept,
        attribute_without_a_name_is_refused, a_hundred_attributes_are_kept, attribute_of_a_compound_reads_back,
        attribute_of_zero_elements_has_no_bytes, attribute_info_tells_type_and_extent,
        attribute_of_an_unknown_object_is_not_found;
    |c| c.attributes && c.creation_order => attributes_tell_their_position, renamed_attribute_keeps_its_position;
}

fn attribute_reads_zeros_until_written(s: &Subject) -> Result<()> {
    let c = s.fresh()?;
    c.attribute_create(&attribute_op(c.root()?, "a", int(), space(&[3])))?;
    same(c.attribute_value(c.root()?, "a")?, [0, 0, 0])
}

fn written_attribute_reads_back(s: &Subject) -> Result<()> {
    let c = s.fresh()?;
    c.attribute(c.root()?, "a", 5)?;
    same(c.attribute_value(c.root()?, "a")?, [5])?;
    c.attribute_write(c.root()?, "a", &to_bytes(&[6]))?;
    same(c.attribute_value(c.root()?, "a")?, [6])
}

fn groups_and_datasets_have_attributes(s: &Subject) -> Result<()> {
    let c = s.fresh()?;
    let (group, data) = (c.group(c.root()?, "g")?, c.ints(c.root()?, "d", &[1])?);
    for (n, object) in [c.root()?, group, data].into_iter().enumerate() {
        c.attribute(object, "a", n as i32)?;
    }
    for (n, object) in [c.root()?, group, data].into_iter().enumerate() {
        same(c.attribute_value(object, "a")?, [n as i32])?;
    }
    Ok(())
}

fn several_attributes_are_read_in_the_order_asked_for(s: &Subject) -> Result<()> {
    let c = s.fresh()?;
    for (name, value) in [("a", 1), ("b", 2), ("c", 3)] {
        c.attribute(c.root()?, name, value)?;
    }
    let values = c.attribute_read(c.root()?, &["c", "a", "c"])?;
    same(values, [to_bytes(&[3]), to_bytes(&[1]), to_bytes(&[3])])?;
    same(c.attribute_read(c.root()?, &[])?.len(), 0)
}

fn missing_attribute_is_none(s: &Subject) -> Result<()> {
    let c = s.fresh()?;
    same(c.attribute_info(c.root()?, "a")?, None)
}

fn reading_a_missing_attribute_is_not_found(s: &Subject) -> Result<()> {
    let c = s.fresh()?;
    c.attribute(c.root()?, "a", 1)?;
    fails(c.attribute_read(c.root()?, &["a", "b"]), Kind::NotFound)
}

fn writing_a_missing_attribute_is_not_found(s: &Subject) -> Result<()> {
    let c = s.fresh()?;
    fails(c.attribute_write(c.root()?, "a", &[]), Kind::NotFound)
}

fn duplicate_attribute_is_refused(s: &Subject) -> Result<()> {
    let c = s.fresh()?;
    c.attribute(c.root()?, "a", 1)?;
    fails(c.attribute_create(&attribute_op(c.root()?, "a", int(), space(&[9]))), Kind::Exists)?;
    same(c.attribute_value(c.root()?, "a")?, [1])
}

fn deleted_attribute_is_gone(s: &Subject) -> Result<()> {
    let mut c = s.fresh()?;
    c.attribute(c.root()?, "a", 1)?;
    c.attribute(c.root()?, "b", 2)?;
    c.attribute_delete(c.root()?, "a")?;
    c.reopen()?;
    same(c.attribute_info(c.root()?, "a")?, None)?;
    same(c.attribute_value(c.root()?, "b")?, [2])
}

fn deleting_a_missing_attribute_is_not_found(s: &Subject) -> Result<()> {
    let c = s.fresh()?;
    fails(c.attribute_delete(c.root()?, "a"), Kind::NotFound)
}

fn renamed_attribute_keeps_its_value(s: &Subject) -> Result<()> {
    let c = s.fresh()?;
    c.attribute(c.root()?, "old", 7)?;
    c.attribute_rename(c.root()?, "old", "new")?;
    same(c.attribute_info(c.root()?, "old")?, None)?;
    same(some(c.attribute_info(c.root()?, "new")?)?.name, "new")?;
    same(c.attribute_value(c.root()?, "new")?, [7])
}

fn renaming_onto_another_is_refused(s: &Subject) -> Result<()> {
    let c = s.fresh()?;
    c.attribute(c.root()?, "a", 1)?;
    c.attribute(c.root()?, "b", 2)?;
    fails(c.attribute_rename(c.root()?, "a", "b"), Kind::Exists)?;
    same(c.attribute_value(c.root()?, "b")?, [2])
}

fn renaming_a_missing_attribute_is_not_found(s: &Subject) -> Result<()> {
    let c = s.fresh()?;
    fails(c.attribute_rename(c.root()?, "a", "b"), Kind::NotFound)
}

fn null_attribute_has_no_bytes(s: &Subject) -> Result<()> {
    let mut c = s.fresh()?;
    c.attribute_create(&attribute_op(c.root()?, "null", int(), Dataspace::Null))?;
    c.reopen()?;
    same(some(c.attribute_info(c.root()?, "null")?)?.space, Dataspace::Null)?;
    same(c.attribute_read(c.root()?, &["null"])?, [vec![]; 1])
}

fn attribute_of_several_dimensions_reads_back(s: &Subject) -> Result<()> {
    let mut c = s.fresh()?;
    c.attribute_create(&attribute_op(c.root()?, "a", int(), space(&[2, 3])))?;
    c.attribute_write(c.root()?, "a", &to_bytes(&counting(6)))?;
    c.reopen()?;
    same(c.attribute_value(c.root()?, "a")?, counting(6))?;
    same(some(c.attribute_info(c.root()?, "a")?)?.space.dims(), [2, 3])
}

fn attribute_of_a_wrong_length_is_refused(s: &Subject) -> Result<()> {
    let c = s.fresh()?;
    c.attribute(c.root()?, "a", 1)?;
    for length in [0, 3, 5, 8] {
        fails(c.attribute_write(c.root()?, "a", &vec![9; length]), Kind::Invalid)?;
    }
    same(c.attribute_value(c.root()?, "a")?, [1])
}

fn attributes_are_counted(s: &Subject) -> Result<()> {
    let c = s.fresh()?;
    for n in 0..10 {
        same(c.object_info(c.root()?)?.attributes, n)?;
        c.attribute(c.root()?, &format!("a{n}"), 0)?;
    }
    c.attribute_delete(c.root()?, "a3")?;
    same(c.object_info(c.root()?)?.attributes, 9)
}

fn attribute_names_may_have_slashes(s: &Subject) -> Result<()> {
    let c = s.fresh()?;
    for (n, name) in ["a/b", "/", ".", "..", " "].into_iter().enumerate() {
        c.attribute(c.root()?, name, n as i32)?;
        same(c.attribute_value(c.root()?, name)?, [n as i32])?;
    }
    Ok(())
}

fn attribute_names_in_utf8_are_kept(s: &Subject) -> Result<()> {
    let mut c = s.fresh()?;
    c.attribute(c.root()?, "teplota °C", 1)?;
    c.reopen()?;
    same(some(c.attribute_info(c.root()?, "teplota °C")?)?.charset, CharacterSet::Utf8)
}

fn attribute_without_a_name_is_refused(s: &Subject) -> Result<()> {
    let c = s.fresh()?;
    fails(c.attribute(c.root()?, "", 1), Kind::Invalid)?;
    fails(c.attribute(c.root()?, "a\0b", 1), Kind::Invalid)
}

fn a_hundred_attributes_are_kept(s: &Subject) -> Result<()> {
    let mut c = s.fresh()?;
    let names: Vec<String> = (0..100).map(|n| format!("attribute {n:03}")).collect();
    for (n, name) in names.iter().enumerate() {
        c.attribute(c.root()?, name, n as i32)?;
    }
    c.reopen()?;
    same(c.attribute_names(c.root()?, &OpList::default())?, names)?;
    same(c.attribute_value(c.root()?, "attribute 077")?, [77])
}

fn attribute_of_a_compound_reads_back(s: &Subject) -> Result<()> {
    let mut c = s.fresh()?;
    let members = [("x".to_owned(), int()), ("tag".to_owned(), Datatype::native_uint(1))];
    let compound = Datatype::Compound(Compound::packed(members));
    c.attribute_create(&attribute_op(c.root()?, "a", compound.clone(), space(&[2])))?;
    c.attribute_write(c.root()?, "a", b"\x01\x02\x03\x04A\x05\x06\x07\x08B")?;
    c.reopen()?;
    same(some(c.attribute_info(c.root()?, "a")?)?.datatype, compound)?;
    same(c.attribute_read(c.root()?, &["a"])?, [b"\x01\x02\x03\x04A\x05\x06\x07\x08B".to_vec()])
}

fn attribute_of_zero_elements_has_no_bytes(s: &Subject) -> Result<()> {
    let c = s.fresh()?;
    c.attribute_create(&attribute_op(c.root()?, "a", int(), space(&[0])))?;
    c.attribute_write(c.root()?, "a", &[])?;
    same(c.attribute_value(c.root()?, "a")?.len(), 0)
}

fn attribute_info_tells_type_and_extent(s: &Subject) -> Result<()> {
    let c = s.fresh()?;
    let wide = Datatype::integer(8, false, model::ByteOrder::Big);
    c.attribute_create(&attribute_op(c.root()?, "a", wide.clone(), Dataspace::Scalar))?;
    let info = some(c.attribute_info(c.root()?, "a")?)?;
    same((info.name.as_str(), info.datatype, info.committed), ("a", wide, None))?;
    same((info.space, info.charset), (Dataspace::Scalar, CharacterSet::Ascii))
}

fn attribute_of_an_unknown_object_is_not_found(s: &Subject) -> Result<()> {
    let c = s.fresh()?;
    fails(c.attribute(model::Token([0xEE; 16]), "a", 1), Kind::NotFound)
}

fn attributes_tell_their_position(s: &Subject) -> Result<()> {
    let mut c = s.fresh_with(&ordered_file())?;
    for name in ["z", "a"] {
        c.attribute(c.root()?, name, 0)?;
    }
    c.reopen()?;
    same(some(c.attribute_info(c.root()?, "z")?)?.creation_order, Some(0))?;
    same(some(c.attribute_info(c.root()?, "a")?)?.creation_order, Some(1))
}

fn renamed_attribute_keeps_its_position(s: &Subject) -> Result<()> {
    let c = s.fresh_with(&ordered_file())?;
    for name in ["a", "b", "c"] {
        c.attribute(c.root()?, name, 0)?;
    }
    c.attribute_rename(c.root()?, "a", "z")?;
    same(some(c.attribute_info(c.root()?, "z")?)?.creation_order, Some(0))
}
