//! Subsets of datasets: `-s`, `-S`, `-c`, `-k`, and the compact form behind a dataset's name.

use hyperslab::{Error, Result, Selection};

use crate::h5::dump::streams::WRITING;

/// A hyperslab as the user gave it; what is missing has a default.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Subset {
    pub(crate) start: Option<Vec<u64>>,
    pub(crate) stride: Option<Vec<u64>>,
    pub(crate) count: Option<Vec<u64>>,
    pub(crate) block: Option<Vec<u64>>,
}

/// A hyperslab with one number for each dimension.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Hyperslab {
    pub(crate) start: Vec<u64>,
    pub(crate) stride: Vec<u64>,
    pub(crate) count: Vec<u64>,
    pub(crate) block: Vec<u64>,
}

/// Integers with anything between them; `None` where there are none.
pub(crate) fn parse_list(text: &str) -> Option<Vec<u64>> {
    let end = text.find([';', ']']).unwrap_or(text.len());
    let words = text[..end].split(|c: char| !c.is_ascii_digit()).filter(|word| !word.is_empty());
    let numbers: Vec<u64> = words.map(|word| word.parse().unwrap_or(u64::MAX)).collect();
    (!numbers.is_empty()).then_some(numbers)
}

impl Subset {
    /// Returns a dataset's name and the subset behind it: `name[start;stride;count;block]`.
    pub(crate) fn split(name: &str) -> (String, Option<Subset>) {
        let Some((name, rest)) = name.rsplit_once('[') else { return (name.to_owned(), None) };
        let mut lists = rest.splitn(4, ';').map(parse_list);
        let mut next = || lists.next().flatten();
        let subset = Subset { start: next(), stride: next(), count: next(), block: next() };
        (name.to_owned(), Some(subset))
    }

    /// Returns the hyperslab in a dataset of `rank` dimensions.
    pub(crate) fn resolve(&self, rank: usize) -> Result<Hyperslab> {
        let fill = |list: &Option<Vec<u64>>, default: u64, name: &'static str| {
            let mut list = list.clone().unwrap_or_default();
            if list.len() > rank {
                let error = Error::invalid("select a subset").with(name, format!("{} numbers", list.len()));
                return Err(error.with("dimensions", rank));
            }
            list.resize(rank, default);
            Ok(list)
        };
        let slab = Hyperslab {
            start: fill(&self.start, 0, "start")?,
            stride: fill(&self.stride, 1, "stride")?,
            count: fill(&self.count, 1, "count")?,
            block: fill(&self.block, 1, "block")?,
        };
        let overlap = (0..rank).any(|i| slab.count[i] > 1 && slab.stride[i] < slab.block[i]);
        if overlap {
            return Err(Error::invalid("select a subset").with("problem", "blocks overlap"));
        }
        Ok(slab)
    }
}

/// A row of a hyperslab, as it is read and printed.
#[derive(Debug)]
pub(crate) struct Row {
    /// Its elements.
    pub(crate) selection: Selection,
    /// Number of the first one in the extent.
    pub(crate) first: u64,
    /// The last row of its plane: h5dump puts no comma after it.
    pub(crate) ends_plane: bool,
}

impl Hyperslab {
    /// Calls `visit` for every row of the last dimension. Dimensions before the last two step by their stride
    /// with whole blocks in one row, as h5dump does it.
    pub(crate) fn rows(&self, dims: &[u64], visit: &mut dyn FnMut(Row) -> Result<()>) -> Result<()> {
        let rank = dims.len();
        if rank == 1 {
            return visit(self.row(&self.start, None, dims, true)?);
        }
        let outer = rank - 2;
        let mut at = self.start.clone();
        let mut result = Ok(());
        loop {
            // A plane that leaves the extent ends there; the next one is printed all the same.
            match self.plane(&at, outer, dims, visit) {
                Err(error) if error.operation() == WRITING => return Err(error),
                plane => result = result.and(plane),
            }
            let Some(dim) = (0..outer).rev().find(|&i| at[i] < self.last_start(i)) else { return result };
            at[dim] += self.stride[dim];
            at[dim + 1..outer].copy_from_slice(&self.start[dim + 1..outer]);
        }
    }

    fn last_start(&self, dim: usize) -> u64 {
        let steps = self.count[dim].saturating_sub(1).saturating_mul(self.stride[dim]);
        self.start[dim].saturating_add(steps)
    }

    fn plane(
        &self,
        at: &[u64],
        dim: usize,
        dims: &[u64],
        visit: &mut dyn FnMut(Row) -> Result<()>,
    ) -> Result<()> {
        let mut at = at.to_vec();
        for block in 0..self.count[dim] {
            for line in 0..self.block[dim] {
                let offset = block.saturating_mul(self.stride[dim]).saturating_add(line);
                at[dim] = self.start[dim].saturating_add(offset);
                let last = block + 1 == self.count[dim] && line + 1 == self.block[dim];
                visit(self.row(&at, Some(dim), dims, last)?)?;
            }
        }
        Ok(())
    }

    /// Returns the row through `at`; `dim` is the dimension of rows, of which this is a single one.
    fn row(&self, at: &[u64], dim: Option<usize>, dims: &[u64], ends_plane: bool) -> Result<Row> {
        let rank = dims.len();
        let mut count = vec![1; rank];
        count[rank - 1] = self.count[rank - 1];
        let mut block = self.block.clone();
        if let Some(dim) = dim {
            block[dim] = 1;
        }
        let stride: Vec<u64> = self.stride.iter().zip(&block).map(|(&s, &b)| s.max(b)).collect();
        let selection = Selection::hyperslab(at, &stride, &count, &block)?;
        selection.validate(dims)?;
        let first = at.iter().zip(dims).fold(0u64, |n, (&i, &d)| n.saturating_mul(d).saturating_add(i));
        Ok(Row { selection, first, ends_plane })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn compact_form_is_split_from_the_name() {
        let (name, subset) = Subset::split("/g/d[1,2;2,2;3,3]");
        let subset = subset.unwrap();
        assert_eq!(name, "/g/d");
        assert_eq!((subset.start, subset.count, subset.block), (Some(vec![1, 2]), Some(vec![3, 3]), None));
        assert_eq!(Subset::split("d").1, None);
    }

    #[test]
    fn rows_follow_blocks_and_planes() {
        let subset = Subset { stride: Some(vec![2, 3, 2]), count: Some(vec![2, 2, 2]), ..Subset::default() };
        let mut firsts = Vec::new();
        let slab = subset.resolve(3).unwrap();
        slab.rows(&[4, 6, 4], &mut |row| {
            firsts.push((row.first, row.ends_plane));
            Ok(())
        })
        .unwrap();
        assert_eq!(firsts, [(0, false), (12, true), (48, false), (60, true)]);
    }
}
