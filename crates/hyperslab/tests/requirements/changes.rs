//! Everything that a program can change in a container: through handles and, where they have no word for it, through the
//! container of a handle.

use hyperslab::vol::model::datatype::ReferenceKind;
use hyperslab::vol::{Kind, LinkLocation, OpMapCreate, OpObjectCopy, OpPlacement};
use hyperslab::{Datatype, File, Reference, Result, Selection};

pub(crate) fn make_all(file: &File) -> Result<()> {
    objects(file)?;
    values(file)?;
    attributes(file)?;
    maps(file)
}

fn objects(file: &File) -> Result<()> {
    file.create_group("a/b")?;
    file.commit_datatype("type", Datatype::native_int(4))?;
    file.link_soft("/a", "soft")?;
    file.relink("soft", "moved")?;
    file.unlink("moved")?;
    let group = file.group("a")?;
    group.set_comment(Some("about a"))?;
    let container = file.container();
    container.object_adjust_references(group.token(), 1)?;
    container.object_copy(&OpObjectCopy::new(group.token(), LinkLocation::new(file.token(), "copy")))?;
    // Not every connector has these; they are operations all the same.
    assert_eq!(file.start_swmr().unwrap_err().kind(), Kind::Unsupported);
    assert_eq!(hyperslab::check::repair(&**container).unwrap_err().kind(), Kind::Unsupported);
    Ok(())
}

fn values(file: &File) -> Result<()> {
    let grid = file.new_dataset::<i16>().shape(4).max_shape(8).chunk(4).create("grid")?;
    grid.write_raw(&[1i16, 2, 3, 4])?;
    grid.resize(6)?;
    let container = file.container();
    container.chunk_write(grid.token(), &[0], 0, &[0; 8])?;
    // Where elements lie, only a container in one file can say; they are operations all the same.
    let placement = OpPlacement { dataset: grid.token(), selection: Selection::All };
    assert_eq!(container.elements_place(&placement).unwrap_err().kind(), Kind::Unsupported);
    assert_eq!(container.elements_changed(&placement).unwrap_err().kind(), Kind::Unsupported);
    let words = file.new_dataset::<String>().shape(2).create("words")?;
    words.write_raw(&["one".to_owned(), "two".to_owned()])?;
    let ids = container.blob_put(&[b"more"])?;
    container.blob_delete(&[&ids])?;
    container.reference_put(ReferenceKind::Object, &[Reference::object(grid.token())]).map(drop)
}

fn attributes(file: &File) -> Result<()> {
    file.set_attr("answer", 42i32)?;
    file.container().attribute_rename(file.token(), "answer", "question")?;
    file.delete_attr("question")
}

fn maps(file: &File) -> Result<()> {
    let (key, value) = (Datatype::native_int(4), Datatype::native_int(2));
    let place = Some(LinkLocation::new(file.token(), "map"));
    let container = file.container();
    let map = container.map_create(&OpMapCreate { place, key, value, create: Default::default() })?;
    container.map_put(map, &[(&[1, 0, 0, 0], &[2, 0])])?;
    container.map_delete(map, &[1, 0, 0, 0]).map(drop)
}
