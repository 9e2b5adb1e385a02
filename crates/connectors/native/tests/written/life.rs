//! The changes of a file's life, each step a commit, and short ways to make them.

use algorithms::transfer::Elements;
use model::convert::Conversions;
use model::heap::Heap;
use model::properties::{DatasetCreate, FilterSpec, GroupCreate, Layout};
use model::{CharacterSet, Dataspace, Datatype, LinkTarget, Result, Selection, Token, UNLIMITED};
use testkit::snapshot::Snapshot;
use vol::{Container, LinkLocation, OpAttributeCreate, OpDatasetCreate, OpGroupCreate, OpWrite};

const DEFLATE: u16 = 1;

pub(crate) fn group(c: &dyn Container, parent: Token, name: &str) -> Result<Token> {
    c.group_create(&OpGroupCreate {
        place: Some(LinkLocation::new(parent, name)),
        create: GroupCreate::default(),
    })
}

pub(crate) fn dataset(
    c: &dyn Container,
    (parent, name): (Token, &str),
    datatype: Datatype,
    space: Dataspace,
    create: DatasetCreate,
) -> Result<Token> {
    let place = Some(LinkLocation::new(parent, name));
    c.dataset_create(&OpDatasetCreate { place, datatype, committed: None, space, create })
}

pub(crate) fn deflated(shape: &[u64]) -> DatasetCreate {
    let filter = FilterSpec { id: DEFLATE, name: None, optional: false, values: vec![4] };
    DatasetCreate { layout: Layout::chunked(shape), filters: vec![filter], ..DatasetCreate::default() }
}

pub(crate) fn put(c: &dyn Container, dataset: Token, selection: &Selection, values: &[i32]) -> Result<()> {
    let from: Vec<u8> = values.iter().flat_map(|v| v.to_le_bytes()).collect();
    c.dataset_write(&[OpWrite { dataset, selection, from: &from }])
}

pub(crate) fn put_texts(c: &dyn Container, dataset: Token, texts: &[&str]) -> Result<()> {
    let (mut heap, conversions, info) = (Heap::new(), Conversions::default(), c.dataset_info(dataset)?);
    let mut data = vec![0; texts.len() * 16];
    for (slot, text) in data.chunks_exact_mut(16).zip(texts) {
        heap.push(text.as_bytes(), text.len() as u64).store(slot)?;
    }
    let (file_type, space, selection) = (&info.datatype, &info.space, &Selection::All);
    let (container, conversions, transfer) = (c, &conversions, vol::Transfer::Independent);
    let elements = Elements { container, dataset, file_type, space, selection, conversions, transfer };
    elements.write(&Datatype::var_string(CharacterSet::Utf8), &data, &mut heap)
}

pub(crate) fn attribute(c: &dyn Container, object: Token, name: &str, value: i32) -> Result<()> {
    let (name, charset) = (name.to_owned(), CharacterSet::Ascii);
    let (datatype, space) = (Datatype::native_int(4), Dataspace::Scalar);
    let op = OpAttributeCreate { object, name: name.clone(), charset, datatype, committed: None, space };
    c.attribute_create(&op)?;
    c.attribute_write(object, &name, &value.to_le_bytes())
}

pub(crate) fn member(c: &dyn Container, group: Token, name: &str) -> Token {
    match c.link_get(group, name).unwrap().expect(name).target {
        LinkTarget::Hard(token) => token,
        other => panic!("{name} is {other:?}"),
    }
}

pub(crate) fn snapshot(c: &dyn Container) -> Snapshot {
    Snapshot::of(c, c.info().unwrap().root).unwrap()
}

pub(crate) fn ints() -> Datatype {
    Datatype::native_int(4)
}

pub(crate) fn simple(dims: &[u64]) -> Dataspace {
    Dataspace::simple(dims).unwrap()
}

pub(crate) fn first_objects(c: &dyn Container) -> Result<()> {
    let root = c.info()?.root;
    let a = group(c, root, "a")?;
    let d = dataset(c, (a, "contiguous"), ints(), simple(&[40]), DatasetCreate::default())?;
    put(c, d, &Selection::All, &(0..40).collect::<Vec<_>>())?;
    let space = Dataspace::resizable(&[10, 10], &[UNLIMITED, 30])?;
    let d = dataset(c, (root, "chunked"), ints(), space, deflated(&[4, 4]))?;
    put(c, d, &Selection::All, &(0..100).collect::<Vec<_>>())?;
    attribute(c, a, "one", 1)
}

pub(crate) fn dense_objects(c: &dyn Container) -> Result<()> {
    let root = c.info()?.root;
    let dense = group(c, root, "dense")?;
    for n in 0..30 {
        group(c, dense, &format!("member {n}"))?;
    }
    (0..12).try_for_each(|n| attribute(c, dense, &format!("attribute {n}"), n))
}

pub(crate) fn overwrites(c: &dyn Container) -> Result<()> {
    let root = c.info()?.root;
    let d = member(c, member(c, root, "a"), "contiguous");
    put(c, d, &Selection::block(&[10], &[20])?, &[-1; 20])?;
    put(c, member(c, root, "chunked"), &Selection::block(&[2, 2], &[5, 5])?, &[-2; 25])?;
    let texts = Datatype::var_string(CharacterSet::Utf8);
    let d = dataset(c, (root, "texts"), texts, simple(&[3]), DatasetCreate::default())?;
    put_texts(c, d, &["one", "zwei", "trois et demi"])
}

pub(crate) fn deletes_and_resizes(c: &dyn Container) -> Result<()> {
    let root = c.info()?.root;
    let dense = member(c, root, "dense");
    (0..25).try_for_each(|n| c.link_delete(dense, &format!("member {n}")))?;
    (0..9).try_for_each(|n| c.attribute_delete(dense, &format!("attribute {n}")))?;
    c.link_delete(root, "a")?;
    c.dataset_resize(member(c, root, "chunked"), &[7, 13])?;
    put_texts(c, member(c, root, "texts"), &["un", "", "a text that is longer than those before it"])
}

/// Uses space that earlier steps gave up.
pub(crate) fn new_objects_in_old_space(c: &dyn Container) -> Result<()> {
    let root = c.info()?.root;
    for n in 0..10 {
        let d = dataset(c, (root, &format!("new {n}")), ints(), simple(&[60]), DatasetCreate::default())?;
        put(c, d, &Selection::All, &[n; 60])?;
    }
    let d = member(c, root, "chunked");
    put(c, d, &Selection::All, &[5; 91])?;
    (0..10).try_for_each(|n| attribute(c, d, &format!("attribute {n}"), n))
}

pub(crate) fn last_changes(c: &dyn Container) -> Result<()> {
    let root = c.info()?.root;
    (3..8).try_for_each(|n| c.link_delete(root, &format!("new {n}")))?;
    put(c, member(c, root, "new 1"), &Selection::All, &[77; 60])?;
    c.dataset_resize(member(c, root, "chunked"), &[20, 20])?;
    more_members(c, "another")
}

pub(crate) fn more_members(c: &dyn Container, name: &str) -> Result<()> {
    let dense = member(c, c.info()?.root, "dense");
    (0..20).try_for_each(|n| group(c, dense, &format!("{name} {n}")).map(|_| ()))
}

pub(crate) const STEPS: [fn(&dyn Container) -> Result<()>; 6] =
    [first_objects, dense_objects, overwrites, deletes_and_resizes, new_objects_in_old_space, last_changes];
