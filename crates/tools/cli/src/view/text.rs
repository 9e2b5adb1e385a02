//! `hyperslab view --text`: a dataset as a picture in the terminal, a group as a list with small ones.

use std::io::{self, Write};

use hyperslab::vol::FileAccess;
use hyperslab::vol::model::datatype::Datatype;
use hyperslab::{Dataset, Error, File, Group, ObjectHandle, Result, Selection};

use super::picture;
use crate::h5::ls::types::describe;
use crate::near::hint;
use crate::open::{OpenContainer, open};

/// Members of a group that are shown.
const MEMBERS_MAX: usize = 1000;
/// Columns of the small pictures.
const SMALL: usize = 24;

/// The part of a terminal that a picture may take.
#[derive(Clone, Copy)]
struct Screen {
    columns: usize,
    rows: usize,
    has_colours: bool,
}

impl Screen {
    fn of_terminal() -> Self {
        let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse::<usize>().ok());
        let columns = number("COLUMNS").unwrap_or(80).clamp(20, 400);
        let rows = number("LINES").map_or(20, |lines| lines.saturating_sub(6)).clamp(4, 200);
        Screen { columns, rows, has_colours: crate::colours::are_wanted() }
    }
}

/// Prints an object of a container: the root group, or the one that a path names.
pub(crate) fn show(location: &str, path: &str) -> Result<()> {
    let OpenContainer { container, location, .. } = open(location, None)?;
    let file = File::from_container(container.clone(), &location, &FileAccess::read())?;
    let mut out = io::BufWriter::new(crate::out::stdout());
    let shown = match file.object(path).inspect_err(|_| hint(&*container, path))? {
        ObjectHandle::Dataset(dataset) => show_dataset(&mut out, &dataset, Screen::of_terminal()),
        ObjectHandle::Group(group) => show_group(&mut out, &group),
        _ => Err(Error::unsupported("show object").with("path", path)),
    };
    shown.and_then(|()| out.flush().map_err(|error| Error::io("print", &error)))
}

fn put(out: &mut dyn Write, line: &str) -> Result<()> {
    writeln!(out, "{line}").map_err(|error| Error::io("print", &error))
}

/// Prints a line with colours of our own. What files hold goes through the other writer, which escapes it.
fn put_coloured(out: &mut dyn Write, line: &str) -> Result<()> {
    let printed = out.flush().and_then(|()| io::stdout().write_all(format!("{line}\n").as_bytes()));
    printed.map_err(|error| Error::io("print", &error))
}

fn show_group(out: &mut dyn Write, group: &Group) -> Result<()> {
    let names = group.member_names()?;
    let width = names.iter().take(MEMBERS_MAX).map(|name| name.chars().count()).max().unwrap_or(0).min(40);
    for name in names.iter().take(MEMBERS_MAX) {
        let about = match group.object(name) {
            Ok(ObjectHandle::Dataset(dataset)) => {
                format!("{:?} {}", dataset.shape(), small(&dataset).unwrap_or_default())
            }
            Ok(ObjectHandle::Group(group)) => format!("group of {}", group.len()?),
            Ok(_) => String::new(),
            Err(error) => format!("({})", error.root_cause()),
        };
        put(out, &format!("{name:width$}  {about}"))?;
    }
    match names.len().checked_sub(MEMBERS_MAX + 1) {
        Some(more) => put(out, &format!("... and {} more", more + 1)),
        None => Ok(()),
    }
}

/// Returns a sparkline of the numbers of a dataset, and their range.
fn small(dataset: &Dataset) -> Result<String> {
    let sample = sampled(dataset, 1, SMALL * 8, 1)?;
    let range = picture::range(&sample.values);
    let range = range.map_or_else(String::new, |(low, high)| format!(" {low:.4} .. {high:.4}"));
    Ok(picture::sparkline(&sample.values, SMALL) + &range)
}

fn show_dataset(out: &mut dyn Write, dataset: &Dataset, screen: Screen) -> Result<()> {
    let dims = dataset.shape();
    put(out, &format!("{} {dims:?} {}", dataset.name(), describe(&dataset.dtype()?, 0, true)))?;
    let shown = if dims.len() < 2 { 1 } else { 2 };
    let (columns, rows) = match (shown, screen.has_colours) {
        (1, _) => (screen.columns * 2 * 8, 1),
        (_, true) => (screen.columns, screen.rows * 2),
        (_, false) => (screen.columns, screen.rows),
    };
    let sample = sampled(dataset, shown, columns, rows)?;
    let lines = match shown {
        1 => picture::line(&sample.values, screen.columns, screen.rows),
        _ => picture::heat(&sample.values, sample.columns, screen.has_colours),
    };
    for line in lines {
        put_coloured(out, &line)?;
    }
    put(out, &legend(&sample, &dims))
}

fn legend(sample: &Sample, dims: &[usize]) -> String {
    let range = match picture::range(&sample.values) {
        Some((low, high)) => format!("{low} .. {high}"),
        None => "no finite numbers".to_owned(),
    };
    let missing = sample.values.iter().filter(|value| !value.is_finite()).count();
    let missing = if missing == 0 { String::new() } else { format!(", {missing} not finite") };
    let step = sample.steps.iter().any(|&step| step > 1);
    let step = if step { format!(", every {:?}th element", sample.steps) } else { String::new() };
    let first = dims.len().saturating_sub(sample.steps.len());
    let slice = if first > 0 { format!(", first of {:?}", &dims[..first]) } else { String::new() };
    range + &missing + &step + &slice
}

/// Some numbers of a dataset, taken at regular steps.
pub(super) struct Sample {
    pub(super) values: Vec<f64>,
    pub(super) columns: usize,
    steps: Vec<u64>,
}

/// Returns at most `rows` by `columns` numbers of the last `shown` dimensions, at the start of the others.
pub(super) fn sampled(dataset: &Dataset, shown: usize, columns: usize, rows: usize) -> Result<Sample> {
    if !is_number(&dataset.dtype()?) {
        let error = Error::unsupported("draw dataset").with("path", dataset.name());
        return Err(error.with("problem", "only numbers can be drawn; `hyperslab dump` prints its elements"));
    }
    let dims: Vec<u64> = dataset.shape().iter().map(|&dim| dim as u64).collect();
    if dims.is_empty() || dims.contains(&0) {
        let values = if dims.is_empty() { dataset.read_raw::<f64>()? } else { Vec::new() };
        return Ok(Sample { values, columns: 1, steps: Vec::new() });
    }
    let first = dims.len() - shown.min(dims.len());
    let wanted = |at: usize| if at + 1 == dims.len() { columns } else { rows } as u64;
    let steps: Vec<u64> = (first..dims.len()).map(|at| dims[at].div_ceil(wanted(at)).max(1)).collect();
    let mut stride = vec![1; dims.len()];
    let mut count = vec![1; dims.len()];
    for (at, step) in (first..).zip(&steps) {
        (stride[at], count[at]) = (*step, dims[at].div_ceil(*step));
    }
    let ones = vec![1; dims.len()];
    let selection = Selection::hyperslab(&vec![0; dims.len()], &stride, &count, &ones)?;
    let values = dataset.read_selection::<f64>(&selection)?;
    Ok(Sample { values, columns: count[dims.len() - 1] as usize, steps })
}

/// A page of the elements of a dataset.
#[cfg(feature = "tui")]
pub(super) struct Window {
    pub(super) selection: Selection,
    /// Elements in a line.
    pub(super) width: usize,
    /// Which page it is: the one that was asked for, or the last one.
    pub(super) page: u64,
    /// Where it begins.
    pub(super) start: Vec<u64>,
}

/// Returns the elements that fit into a table, of a page counted from the first element; `None` where there are none. One
/// dimension goes down. Of more, the last goes to the right and the one before it down; the next pages have the next indexes
/// of the others.
#[cfg(feature = "tui")]
pub(super) fn window(
    dataset: &Dataset,
    (columns, rows): (usize, usize),
    page: u64,
) -> Result<Option<Window>> {
    let dims: Vec<u64> = dataset.shape().iter().map(|&dim| dim as u64).collect();
    if dataset.dataset_info().space.element_count()? == 0 {
        return Ok(None);
    }
    let rank = dims.len();
    let (mut start, mut count) = (vec![0; rank], vec![1; rank]);
    let Some(down) = rank.checked_sub(1).map(|last| last.saturating_sub(1)) else {
        return Ok(Some(Window { selection: Selection::All, width: 1, page: 0, start }));
    };
    if rank > 1 {
        count[rank - 1] = dims[rank - 1].min(columns as u64);
    }
    let rows = (rows as u64).max(1);
    let pages = dims[down].div_ceil(rows);
    let page = page.min(dims[..down].iter().fold(pages, |pages, dim| pages.saturating_mul(*dim)) - 1);
    start[down] = page % pages * rows;
    count[down] = (dims[down] - start[down]).min(rows);
    let mut rest = page / pages;
    for at in (0..down).rev() {
        (start[at], rest) = (rest % dims[at], rest / dims[at]);
    }
    let width = if rank > 1 { count[rank - 1] as usize } else { 1 };
    Ok(Some(Window { selection: Selection::block(&start, &count)?, width, page, start }))
}

fn is_number(datatype: &Datatype) -> bool {
    matches!(datatype, Datatype::Integer(_) | Datatype::Float(_) | Datatype::Enum(_) | Datatype::Bitfield(_))
}
