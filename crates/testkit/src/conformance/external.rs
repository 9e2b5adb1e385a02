//! Elements in external storage: in other datasets and in files next to the container.

use model::properties::{DatasetCreate, ExternalFile, Fill, FillTime, FillValue, Layout, VirtualMapping};
use model::{Kind, Result, Selection, Token};
use vol::{FileAccess, RawBytes};

use crate::kit::*;
use crate::{Case, Subject};

super::suite! { "external":
    |c| c.virtual_datasets => virtual_dataset_shows_its_sources, virtual_dataset_shows_parts_of_its_sources,
        points_of_a_virtual_dataset_come_in_order, writing_a_virtual_dataset_writes_its_sources,
        writing_what_no_source_holds_is_refused, virtual_dataset_in_another_container, virtual_dataset_made_of_itself_fails,
        virtual_mappings_survive_reopening;
    |c| c.virtual_datasets && c.fill_values => missing_source_shows_the_fill_value;
    |c| c.external_data => external_data_is_read, external_data_is_written, external_data_spans_files,
        external_data_without_a_resolver_is_denied;
}

fn mapping(file: &str, dataset: &str, source: Selection, target: Selection) -> VirtualMapping {
    VirtualMapping { file: file.into(), dataset: dataset.into(), source, target }
}

fn fill(value: i32) -> Fill {
    Fill { value: FillValue::Value(to_bytes(&[value])), time: FillTime::Alloc }
}

/// Returns a 2 by 3 dataset whose rows are the datasets `a` and `b`.
fn rows(c: &Case<'_>, file: &str) -> Result<Token> {
    let row = |n| block(&[n, 0], &[1, 3]);
    let layout = Layout::Virtual(vec![
        mapping(file, "/a", Selection::All, row(0)?),
        mapping(file, "/b", Selection::All, row(1)?),
    ]);
    c.ints_with(c.root()?, "virtual", space(&[2, 3]), DatasetCreate { layout, ..DatasetCreate::default() })
}

fn sources(c: &Case<'_>) -> Result<[Token; 2]> {
    let (a, b) = (c.ints(c.root()?, "a", &[3])?, c.ints_with(c.root()?, "b", space(&[3]), chunked(&[2]))?);
    c.put(a, &Selection::All, &[1, 2, 3])?;
    c.put(b, &Selection::All, &[4, 5, 6])?;
    Ok([a, b])
}

fn virtual_dataset_shows_its_sources(s: &Subject) -> Result<()> {
    let c = s.fresh()?;
    let [a, _] = sources(&c)?;
    let data = rows(&c, ".")?;
    same(c.get(data, &Selection::All)?, counting(7)[1..].to_vec())?;
    c.put(a, &block(&[0], &[1])?, &[9])?;
    same(c.get(data, &block(&[0, 0], &[2, 1])?)?, [9, 4])
}

fn virtual_dataset_shows_parts_of_its_sources(s: &Subject) -> Result<()> {
    let c = s.fresh()?;
    sources(&c)?;
    let every_second = Selection::hyperslab(&[0], &[2], &[2], &[1])?;
    let layout = Layout::Virtual(vec![mapping(".", "a", every_second, block(&[1], &[2])?)]);
    let data =
        c.ints_with(c.root()?, "v", space(&[4]), DatasetCreate { layout, ..DatasetCreate::default() })?;
    same(c.get(data, &Selection::All)?, [0, 1, 3, 0])?;
    same(c.get(data, &block(&[2], &[2])?)?, [3, 0])
}

fn points_of_a_virtual_dataset_come_in_order(s: &Subject) -> Result<()> {
    let c = s.fresh()?;
    sources(&c)?;
    let data = rows(&c, ".")?;
    // Neighbours in both directions, and one point twice.
    let points = Selection::points(2, vec![1, 2, 0, 1, 0, 0, 1, 0, 1, 1, 0, 2, 1, 2])?;
    same(c.get(data, &points)?, [6, 2, 1, 4, 5, 3, 6])?;
    c.put(data, &points, &[10, 11, 12, 13, 14, 15, 16])?;
    same(c.get(data, &Selection::All)?, [12, 11, 15, 13, 14, 16])
}

fn writing_a_virtual_dataset_writes_its_sources(s: &Subject) -> Result<()> {
    let c = s.fresh()?;
    let [a, b] = sources(&c)?;
    let data = rows(&c, ".")?;
    c.put(data, &block(&[0, 1], &[2, 2])?, &[10, 11, 12, 13])?;
    same(c.get(a, &Selection::All)?, [1, 10, 11])?;
    same(c.get(b, &Selection::All)?, [4, 12, 13])
}

fn writing_what_no_source_holds_is_refused(s: &Subject) -> Result<()> {
    let c = s.fresh()?;
    let [a, _] = sources(&c)?;
    let layout = Layout::Virtual(vec![mapping(".", "a", Selection::All, block(&[0], &[3])?)]);
    let data =
        c.ints_with(c.root()?, "v", space(&[4]), DatasetCreate { layout, ..DatasetCreate::default() })?;
    fails(c.put(data, &Selection::All, &[0; 4]), Kind::Invalid)?;
    same(c.get(a, &Selection::All)?, [1, 2, 3])
}

fn virtual_dataset_in_another_container(s: &Subject) -> Result<()> {
    let (c, other) = (s.fresh()?, s.fresh()?);
    sources(&other)?;
    other.close()?;
    let data = rows(&c, &other.location)?;
    same(c.get(data, &Selection::All)?, counting(7)[1..].to_vec())?;
    c.put(data, &block(&[0, 1], &[2, 2])?, &[10, 11, 12, 13])?;
    same(c.get(data, &Selection::All)?, [1, 10, 11, 4, 12, 13])
}

fn virtual_dataset_made_of_itself_fails(s: &Subject) -> Result<()> {
    let c = s.fresh()?;
    let layout = Layout::Virtual(vec![mapping(".", "v", block(&[0], &[2])?, block(&[0], &[2])?)]);
    let data =
        c.ints_with(c.root()?, "v", space(&[2]), DatasetCreate { layout, ..DatasetCreate::default() })?;
    fails(c.get(data, &Selection::All), Kind::Limit)
}

fn virtual_mappings_survive_reopening(s: &Subject) -> Result<()> {
    let mut c = s.fresh()?;
    sources(&c)?;
    rows(&c, ".")?;
    c.reopen()?;
    let data = vol::path::token(&*c.container, c.root()?, "virtual", 16)?;
    let info = c.dataset_info(data)?;
    match &info.create.layout {
        Layout::Virtual(mappings) => same((mappings.len(), mappings[1].dataset.as_str()), (2, "/b"))?,
        other => holds(false, &format!("virtual: {other:?}"))?,
    }
    same(c.get(data, &Selection::All)?, counting(7)[1..].to_vec())
}

fn missing_source_shows_the_fill_value(s: &Subject) -> Result<()> {
    let c = s.fresh()?;
    sources(&c)?;
    let layout = Layout::Virtual(vec![
        mapping(".", "missing", Selection::All, block(&[0], &[3])?),
        mapping(".", "a", Selection::All, block(&[3], &[3])?),
    ]);
    let create = DatasetCreate { layout, fill: fill(-1), ..DatasetCreate::default() };
    let data = c.ints_with(c.root()?, "v", space(&[7]), create)?;
    same(c.get(data, &Selection::All)?, [-1, -1, -1, 1, 2, 3, -1])
}

fn external(c: &Case<'_>, files: &[(&str, u64, u64)]) -> Result<Token> {
    let file =
        |&(name, offset, size): &(&str, u64, u64)| ExternalFile { name: name.to_owned(), offset, size };
    let layout = Layout::External(files.iter().map(file).collect());
    c.ints_with(c.root()?, "external", space(&[6]), DatasetCreate { layout, ..DatasetCreate::default() })
}

fn external_data_is_read(s: &Subject) -> Result<()> {
    let c = s.fresh()?;
    let name = format!("{}.raw", c.location);
    let data = external(&c, &[(&name, 8, u64::MAX)])?;
    s.bytes(&name).write_at(8, &to_bytes(&counting(5)))?;
    same(c.get(data, &Selection::All)?, [0, 1, 2, 3, 4, 0])?;
    same(c.get(data, &block(&[3], &[2])?)?, [3, 4])
}

fn external_data_is_written(s: &Subject) -> Result<()> {
    let c = s.fresh()?;
    let name = format!("{}.raw", c.location);
    let data = external(&c, &[(&name, 4, 24)])?;
    c.put(data, &Selection::hyperslab(&[0], &[2], &[3], &[1])?, &[7, 8, 9])?;
    c.commit(vol::Durability::None)?;
    same(to_ints(&s.bytes(&name).all())[..6].to_vec(), [0, 7, 0, 8, 0, 9])
}

fn external_data_spans_files(s: &Subject) -> Result<()> {
    let c = s.fresh()?;
    let (one, two) = (format!("{}.1", c.location), format!("{}.2", c.location));
    // The first file ends in the middle of an element.
    let data = external(&c, &[(&one, 0, 10), (&two, 2, 14)])?;
    c.put(data, &Selection::All, &counting(6))?;
    same(c.get(data, &Selection::All)?, counting(6))?;
    c.commit(vol::Durability::None)?;
    same(s.bytes(&one).all(), to_bytes(&counting(6))[..10].to_vec())?;
    same(s.bytes(&two).all()[2..].to_vec(), to_bytes(&counting(6))[10..].to_vec())
}

fn external_data_without_a_resolver_is_denied(s: &Subject) -> Result<()> {
    let mut c = s.fresh()?;
    let name = format!("{}.raw", c.location);
    external(&c, &[(&name, 0, 24)])?;
    c.reopen_as(&FileAccess { resolver: None, ..s.access() })?;
    let data = vol::path::token(&*c.container, c.root()?, "external", 16)?;
    fails(c.get(data, &Selection::All), Kind::Denied)
}
