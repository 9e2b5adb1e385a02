//! The tree that is shown, and what is selected in it.

use std::cell::{Cell, RefCell};

use hyperslab::{Dataset, File, Group, Object, ObjectHandle, Result};

use crate::elements::texts;
use crate::h5::ls::types::describe;
use crate::view::picture;
use crate::view::text::{Sample, Window, sampled, window};

/// Members of a group that are listed.
const MEMBERS_MAX: usize = 10_000;
/// Columns of an element, with the gap to the next one.
const CELL: usize = 12;
/// Attributes that are shown of an object.
const ATTRIBUTES_MAX: usize = 8;

/// A line of the tree.
#[derive(Debug)]
pub(super) struct Row {
    pub(super) path: String,
    pub(super) name: String,
    pub(super) depth: usize,
    pub(super) is_group: bool,
    pub(super) is_open: bool,
}

/// What is shown of a dataset.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Tab {
    Values,
    Plot,
}

/// The state of the viewer.
#[derive(Debug)]
pub(super) struct Viewer {
    file: File,
    pub(super) rows: Vec<Row>,
    pub(super) at: usize,
    pub(super) tab: Tab,
    /// The page of values that is shown.
    page: Cell<u64>,
    /// Where that begins, unless it is the first.
    start: RefCell<String>,
    pub(super) is_done: bool,
}

impl Viewer {
    /// Returns a viewer with the root group open.
    pub(super) fn new(file: File) -> Result<Self> {
        let name = file.filename().rsplit('/').next().unwrap_or("/").to_owned();
        let root = Row { path: "/".to_owned(), name, depth: 0, is_group: true, is_open: false };
        let (page, start) = (Cell::default(), RefCell::default());
        let mut viewer =
            Viewer { file, rows: vec![root], at: 0, tab: Tab::Values, page, start, is_done: false };
        viewer.open();
        Ok(viewer)
    }

    pub(super) fn move_by(&mut self, by: isize) {
        self.at = self.at.saturating_add_signed(by).min(self.rows.len().saturating_sub(1));
        self.page.set(0);
    }

    /// Shows other values of the selected dataset; in the tree, goes so many pages up or down.
    pub(super) fn page_by(&mut self, by: i8) {
        let is_dataset = matches!(self.file.object(&self.rows[self.at].path), Ok(ObjectHandle::Dataset(_)));
        match self.tab == Tab::Values && is_dataset {
            true => self.page.set(self.page.get().saturating_add_signed(by.into())),
            false => self.move_by(isize::from(by) * 20),
        }
    }

    /// Returns what stands over the values or the plot.
    pub(super) fn title(&self) -> String {
        match (self.tab, &*self.start.borrow()) {
            (Tab::Values, start) if !start.is_empty() => format!(" values from {start} "),
            (Tab::Values, _) => " values ".to_owned(),
            (Tab::Plot, _) => " plot ".to_owned(),
        }
    }

    /// Opens the selected group.
    pub(super) fn open(&mut self) {
        let row = &mut self.rows[self.at];
        if !row.is_group || row.is_open {
            return;
        }
        row.is_open = true;
        let (path, depth) = (row.path.clone(), row.depth + 1);
        let children =
            self.file.group(&path).and_then(|group| members(&group, &path, depth)).unwrap_or_default();
        self.rows.splice(self.at + 1..self.at + 1, children);
    }

    /// Closes the selected group, or goes to the group that the selected object is in.
    pub(super) fn close(&mut self) {
        let depth = self.rows[self.at].depth;
        if self.rows[self.at].is_open && depth > 0 {
            self.rows[self.at].is_open = false;
            let below = self.rows[self.at + 1..].iter().take_while(|row| row.depth > depth).count();
            self.rows.drain(self.at + 1..self.at + 1 + below);
        } else if let Some(parent) = self.rows[..self.at].iter().rposition(|row| row.depth < depth) {
            self.at = parent;
            self.page.set(0);
        }
    }

    /// Shows the other thing of a dataset.
    pub(super) fn turn(&mut self) {
        self.tab = if self.tab == Tab::Values { Tab::Plot } else { Tab::Values };
    }

    /// Returns lines that describe the selected object.
    pub(super) fn about(&self) -> Vec<String> {
        let path = &self.rows[self.at].path;
        match self.file.object(path) {
            Ok(handle) => about(path, &handle).unwrap_or_else(|error| vec![path.clone(), error.to_string()]),
            Err(error) => vec![path.clone(), error.root_cause().to_string()],
        }
    }

    /// Returns the lines of the selected dataset, for a place of this size.
    pub(super) fn content(&self, columns: usize, lines: usize) -> Vec<String> {
        self.start.take();
        let Ok(ObjectHandle::Dataset(dataset)) = self.file.object(&self.rows[self.at].path) else {
            return Vec::new();
        };
        let shown = match self.tab {
            Tab::Values => self.values(&dataset, columns, lines),
            Tab::Plot => plot(&dataset, columns, lines),
        };
        shown.unwrap_or_else(|error| vec![error.root_cause().to_string()])
    }

    /// Returns a page of elements, in as many columns as the last dimension has and the place allows.
    fn values(&self, dataset: &Dataset, columns: usize, lines: usize) -> Result<Vec<String>> {
        let size = ((columns / CELL).max(1), lines);
        let Some(Window { selection, width, page, start }) = window(dataset, size, self.page.get())? else {
            return Ok(vec!["no elements".to_owned()]);
        };
        self.page.set(page);
        self.start.replace(if page == 0 { String::new() } else { format!("{start:?}") });
        let texts = texts(dataset, &selection)?;
        Ok(texts
            .chunks(width.max(1))
            .map(|row| row.iter().map(|text| cell(text)).collect::<Vec<_>>().join(" "))
            .collect())
    }
}

fn members(group: &Group, path: &str, depth: usize) -> Result<Vec<Row>> {
    let names = group.member_names()?;
    let row = |name: String| {
        let is_group = matches!(group.object(&name), Ok(ObjectHandle::Group(_)));
        let path = format!("{}/{name}", path.trim_end_matches('/'));
        Row { path, name, depth, is_group, is_open: false }
    };
    Ok(names.into_iter().take(MEMBERS_MAX).map(row).collect())
}

fn about(path: &str, handle: &ObjectHandle) -> Result<Vec<String>> {
    let mut lines = vec![path.to_owned()];
    match handle {
        ObjectHandle::Dataset(dataset) => {
            lines.push(format!("{:?} {}", dataset.shape(), describe(&dataset.dtype()?, 0, true)));
        }
        ObjectHandle::Group(group) => lines.push(format!("group of {}", group.len()?)),
        ObjectHandle::Datatype(datatype) => lines.push(describe(&datatype.datatype()?, 0, true)),
        ObjectHandle::Map(_) => lines.push("map".to_owned()),
    }
    lines.extend(attributes(handle.object())?);
    Ok(lines)
}

fn attributes(object: &Object) -> Result<Vec<String>> {
    let all = object.attrs()?;
    let shown = all.iter().take(ATTRIBUTES_MAX).map(|attribute| {
        let value = match attribute.is_scalar() {
            true => attribute
                .read_string()
                .or_else(|_| attribute.read_scalar::<f64>().map(|number| number.to_string()))
                .unwrap_or_default(),
            false => format!("{:?}", attribute.shape()),
        };
        format!("{}: {value}", attribute.name())
    });
    Ok(shown.collect())
}

fn cell(text: &str) -> String {
    let text: String = text.chars().take(CELL - 1).collect();
    format!("{text:>width$}", width = CELL - 1)
}

fn plot(dataset: &Dataset, columns: usize, lines: usize) -> Result<Vec<String>> {
    let lines = lines.saturating_sub(1).max(1);
    let is_line = dataset.ndim() < 2;
    let Sample { values, columns: width, .. } = match is_line {
        true => sampled(dataset, 1, columns * 16, 1)?,
        false => sampled(dataset, 2, columns, lines)?,
    };
    let range = match picture::range(&values) {
        Some((low, high)) => format!("{low} .. {high}"),
        None => "no finite numbers".to_owned(),
    };
    let mut shown = match is_line {
        true => picture::line(&values, columns, lines),
        false => picture::heat(&values, width, false),
    };
    shown.push(range);
    Ok(shown)
}
