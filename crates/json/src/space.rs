//! Dataspaces and selections as HDF5/JSON.

use model::selection::Axis;
use model::{Dataspace, Error, Result, Selection, UNLIMITED};

use crate::text::{Fields, Value, list};

const UNLIMITED_WORD: &str = "H5S_UNLIMITED";

/// Returns a number, or the word for no bound.
fn bound_to_json(n: u64) -> Value<'static> {
    if n == UNLIMITED { UNLIMITED_WORD.into() } else { n.into() }
}

fn bound_from_json(value: &Value<'_>) -> Result<u64> {
    match value {
        Value::String(word) if word == UNLIMITED_WORD => Ok(UNLIMITED),
        number => number.uint(),
    }
}

fn numbers(value: &Value<'_>) -> Result<Vec<u64>> {
    value.array()?.iter().map(bound_from_json).collect()
}

/// Returns a dataspace as JSON.
pub fn dataspace_to_json(space: &Dataspace) -> Value<'static> {
    match space {
        Dataspace::Null => Fields::class("H5S_NULL"),
        Dataspace::Scalar => Fields::class("H5S_SCALAR"),
        Dataspace::Simple(_) => {
            let fields = Fields::class("H5S_SIMPLE").with("dims", list(space.dims().iter().copied()));
            let maxima =
                space.is_resizable().then(|| list(space.max_dims().iter().map(|&n| bound_to_json(n))));
            fields.some("maxdims", maxima)
        }
    }
    .into()
}

/// Returns the dataspace that JSON means.
pub fn dataspace_from_json(value: &Value<'_>) -> Result<Dataspace> {
    let space = match value.need("class")?.text()? {
        "H5S_NULL" => return Ok(Dataspace::Null),
        "H5S_SCALAR" => return Ok(Dataspace::Scalar),
        "H5S_SIMPLE" => {
            let dims = value.need("dims")?.array()?.iter().map(Value::uint).collect::<Result<Vec<u64>>>()?;
            let max_dims = value.or("maxdims", dims.clone(), max_dims)?;
            Dataspace::resizable(&dims, &max_dims)
        }
        other => return Err(Error::corrupt("read dataspace").with("unknown class", other)),
    };
    space.map_err(|e| Error::corrupt("read dataspace").because(e))
}

/// In the published form, zero means without bound too.
fn max_dims(value: &Value<'_>) -> Result<Vec<u64>> {
    Ok(numbers(value)?.into_iter().map(|n| if n == 0 { UNLIMITED } else { n }).collect())
}

/// Returns a selection as JSON.
pub fn selection_to_json(selection: &Selection) -> Result<Value<'static>> {
    let fields = |kind: &'static str| Fields::new().with("select_type", kind);
    Ok(match selection {
        Selection::None => fields("H5S_SEL_NONE").into(),
        Selection::All => fields("H5S_SEL_ALL").into(),
        Selection::Points(points) => {
            let points = list(points.iter().map(|point| list(point.iter().copied())));
            fields("H5S_SEL_POINTS").with("selection", points).into()
        }
        Selection::Regular(regular) => {
            let axes = regular.axes();
            fields("H5S_SEL_HYPERSLABS")
                .with("start", list(axes.iter().map(Axis::start)))
                .with("stride", list(axes.iter().map(Axis::stride)))
                .with("count", list(axes.iter().map(|a| bound_to_json(a.count()))))
                .with("block", list(axes.iter().map(|a| bound_to_json(a.block()))))
                .into()
        }
        Selection::Irregular(_) => fields("H5S_SEL_HYPERSLABS").with("selection", corners(selection)?).into(),
    })
}

/// Returns the first and last element of each block.
fn corners(selection: &Selection) -> Result<Value<'static>> {
    // Blocks are what they are; an extent large enough for all of them does not change them.
    let dims = vec![UNLIMITED - 1; selection.rank().unwrap_or(0)];
    Ok(list(selection.blocks(&dims)?.map(|(first, last)| list([list(first), list(last)]))))
}

/// Returns the selection that JSON means.
pub fn selection_from_json(value: &Value<'_>, blocks_max: u64) -> Result<Selection> {
    get_selection(value, blocks_max).map_err(|e| Error::corrupt("read selection").because(e))
}

fn get_selection(value: &Value<'_>, blocks_max: u64) -> Result<Selection> {
    match (value.need("select_type")?.text()?, value.get("selection")) {
        ("H5S_SEL_NONE", _) => Ok(Selection::None),
        ("H5S_SEL_ALL", _) => Ok(Selection::All),
        ("H5S_SEL_POINTS", Some(points)) => {
            let points = points.array()?.iter().map(numbers).collect::<Result<Vec<_>>>()?;
            let rank = same_rank(points.iter())?;
            Selection::points(rank, points.concat())
        }
        ("H5S_SEL_HYPERSLABS", Some(blocks)) => {
            let blocks = blocks.array()?;
            if blocks.len() as u64 > blocks_max {
                return Err(Error::limit("read selection").with("blocks", blocks.len()));
            }
            let corners = blocks.iter().map(|block| block.array()?.iter().map(numbers).collect());
            let corners = corners.collect::<Result<Vec<Vec<Vec<u64>>>>>()?;
            if corners.iter().any(|block| block.len() != 2) {
                return Err(Error::corrupt("read selection").with("problem", "a block has two corners"));
            }
            let rank = same_rank(corners.iter().flatten())?;
            Selection::union_of_blocks(rank, &corners.into_iter().flatten().flatten().collect::<Vec<_>>())
        }
        ("H5S_SEL_HYPERSLABS", None) => {
            let axis = |name| numbers(value.need(name)?);
            let start = axis("start")?;
            let ones = vec![1; start.len()];
            let or_ones = |name| value.or(name, ones.clone(), numbers);
            Selection::hyperslab(&start, &or_ones("stride")?, &axis("count")?, &or_ones("block")?)
        }
        (other, _) => Err(Error::corrupt("read selection").with("unknown kind", other)),
    }
}

fn same_rank<'p>(points: impl Iterator<Item = &'p Vec<u64>>) -> Result<usize> {
    let mut rank = None;
    for point in points {
        if *rank.get_or_insert(point.len()) != point.len() || point.is_empty() || point.len() > 32 {
            return Err(Error::corrupt("read selection").with("problem", "coordinates differ in number"));
        }
    }
    Ok(rank.unwrap_or(1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text;

    #[test]
    fn spaces_read_back() {
        for space in [
            Dataspace::Null,
            Dataspace::Scalar,
            Dataspace::simple(&[0, 3]).unwrap(),
            Dataspace::resizable(&[2, 3], &[UNLIMITED, 9]).unwrap(),
        ] {
            let text = text::write(&dataspace_to_json(&space)).unwrap();
            assert_eq!(dataspace_from_json(&text::read(&text).unwrap()).unwrap(), space, "{text}");
        }
        for text in
            ["{\"class\": \"H5S_SIMPLE\", \"dims\": [5], \"maxdims\": [4]}", "{\"class\": \"x\"}", "1"]
        {
            assert!(dataspace_from_json(&text::read(text).unwrap()).is_err(), "{text}");
        }
    }

    #[test]
    fn selections_read_back() {
        for selection in [
            Selection::None,
            Selection::All,
            Selection::points(2, vec![5, 7, 0, 0, 2, 3]).unwrap(),
            Selection::hyperslab(&[1, 2], &[3, 4], &[2, UNLIMITED], &[2, 1]).unwrap(),
            Selection::union_of_blocks(2, &[0, 0, 1, 1, 3, 3, 3, 7]).unwrap(),
        ] {
            let text = text::write(&selection_to_json(&selection).unwrap()).unwrap();
            let read = selection_from_json(&text::read(&text).unwrap(), 1000).unwrap();
            assert_eq!(read, selection, "{text}");
        }
    }
}
