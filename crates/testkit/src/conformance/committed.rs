//! Committed datatypes.

use model::properties::{DatasetCreate, ObjectCreate};
use model::{Dataspace, Datatype, Kind, ObjectKind, Result, Token};
use vol::{LinkLocation, OpAttributeCreate, OpDatasetCreate, OpDatatypeCommit};

use crate::kit::*;
use crate::{Case, Subject};

super::suite! { "committed":
    |c| c.committed_datatypes => committed_type_reads_back, committed_type_is_shared_by_datasets,
        users_count_as_references, type_in_use_lives_without_a_link, sharing_another_type_is_refused,
        sharing_what_is_not_a_type_is_refused, sharing_survives_reopening, type_under_a_used_name_is_refused,
        committed_type_keeps_its_descriptors_in_the_file_datatype;
    |c| c.committed_datatypes && c.attributes => committed_type_is_shared_by_attributes, committed_type_has_attributes,
        deleted_attribute_gives_up_its_type;
}

fn commit(c: &Case<'_>, name: &str, datatype: Datatype) -> Result<Token> {
    let place = Some(LinkLocation::new(c.root()?, name));
    c.datatype_commit(&OpDatatypeCommit { place, datatype, create: ObjectCreate::default() })
}

fn sharing(c: &Case<'_>, name: &str, datatype: Datatype, committed: Token) -> Result<Token> {
    let op = dataset_op(LinkLocation::new(c.root()?, name), datatype, space(&[2]), DatasetCreate::default());
    c.dataset_create(&OpDatasetCreate { committed: Some(committed), ..op })
}

fn committed_type_reads_back(s: &Subject) -> Result<()> {
    let mut c = s.fresh()?;
    let mut generator = crate::generate::Generator::new(5);
    let types: Vec<Datatype> = (0..10).map(|_| generator.plain_datatype(3)).collect();
    for (n, datatype) in types.iter().enumerate() {
        let token = commit(&c, &n.to_string(), datatype.clone())?;
        same(c.object_info(token)?.kind, ObjectKind::Datatype)?;
    }
    c.reopen()?;
    for (n, datatype) in types.iter().enumerate() {
        let token = vol::path::token(&*c.container, c.root()?, &n.to_string(), 16)?;
        same(&c.datatype_get(token)?, datatype)?;
    }
    Ok(())
}

fn committed_type_is_shared_by_datasets(s: &Subject) -> Result<()> {
    let c = s.fresh()?;
    let datatype = commit(&c, "type", int())?;
    let data = sharing(&c, "d", int(), datatype)?;
    let info = c.dataset_info(data)?;
    same((info.committed, &info.datatype), (Some(datatype), &int()))
}

fn committed_type_is_shared_by_attributes(s: &Subject) -> Result<()> {
    let c = s.fresh()?;
    let datatype = commit(&c, "type", int())?;
    let op = attribute_op(c.root()?, "a", int(), Dataspace::Scalar);
    c.attribute_create(&OpAttributeCreate { committed: Some(datatype), ..op })?;
    same(some(c.attribute_info(c.root()?, "a")?)?.committed, Some(datatype))?;
    same(c.object_info(datatype)?.references, 2)
}

fn users_count_as_references(s: &Subject) -> Result<()> {
    let c = s.fresh()?;
    let datatype = commit(&c, "type", int())?;
    same(c.object_info(datatype)?.references, 1)?;
    sharing(&c, "a", int(), datatype)?;
    sharing(&c, "b", int(), datatype)?;
    same(c.object_info(datatype)?.references, 3)?;
    c.link_delete(c.root()?, "a")?;
    same(c.object_info(datatype)?.references, 2)
}

fn type_in_use_lives_without_a_link(s: &Subject) -> Result<()> {
    let c = s.fresh()?;
    let datatype = commit(&c, "type", int())?;
    sharing(&c, "d", int(), datatype)?;
    c.link_delete(c.root()?, "type")?;
    same(c.datatype_get(datatype)?, int())?;
    c.link_delete(c.root()?, "d")?;
    fails(c.datatype_get(datatype), Kind::NotFound)
}

fn sharing_another_type_is_refused(s: &Subject) -> Result<()> {
    let c = s.fresh()?;
    let datatype = commit(&c, "type", int())?;
    fails(sharing(&c, "d", Datatype::native_int(8), datatype), Kind::Invalid)?;
    same(c.object_info(datatype)?.references, 1)
}

fn sharing_what_is_not_a_type_is_refused(s: &Subject) -> Result<()> {
    let c = s.fresh()?;
    fails(sharing(&c, "d", int(), c.root()?), Kind::Invalid)?;
    fails(c.datatype_get(c.root()?), Kind::Invalid)?;
    fails(sharing(&c, "d", int(), Token([0xEE; 16])), Kind::NotFound)
}

fn sharing_survives_reopening(s: &Subject) -> Result<()> {
    let mut c = s.fresh()?;
    let datatype = commit(&c, "type", int())?;
    sharing(&c, "d", int(), datatype)?;
    c.reopen()?;
    let token = |name| vol::path::token(&*c.container, c.root()?, name, 16);
    same(c.dataset_info(token("d")?)?.committed, Some(token("type")?))?;
    same(c.object_info(token("type")?)?.references, 2)
}

fn type_under_a_used_name_is_refused(s: &Subject) -> Result<()> {
    let c = s.fresh()?;
    commit(&c, "x", int())?;
    fails(commit(&c, "x", int()), Kind::Exists)
}

fn committed_type_keeps_its_descriptors_in_the_file_datatype(s: &Subject) -> Result<()> {
    let c = s.fresh()?;
    if !c.info()?.capability.variable_length {
        return Ok(());
    }
    let text = Datatype::var_string(model::CharacterSet::Utf8);
    let datatype = commit(&c, "type", text.clone())?;
    same(c.datatype_get(datatype)?, text.with_descriptors(&c.info()?.descriptors))?;
    let data = sharing(&c, "d", text, datatype)?;
    same(c.dataset_info(data)?.committed, Some(datatype))
}

fn committed_type_has_attributes(s: &Subject) -> Result<()> {
    let mut c = s.fresh()?;
    let datatype = commit(&c, "type", int())?;
    c.attribute(datatype, "a", 3)?;
    c.reopen()?;
    let datatype = vol::path::token(&*c.container, c.root()?, "type", 16)?;
    same(c.attribute_value(datatype, "a")?, [3])
}

fn deleted_attribute_gives_up_its_type(s: &Subject) -> Result<()> {
    let c = s.fresh()?;
    let datatype = commit(&c, "type", int())?;
    let op = attribute_op(c.root()?, "a", int(), Dataspace::Scalar);
    c.attribute_create(&OpAttributeCreate { committed: Some(datatype), ..op })?;
    c.attribute_delete(c.root()?, "a")?;
    same(c.object_info(datatype)?.references, 1)
}
