//! The table of differences of one dataset or attribute.

use super::report::{Report, column};
use crate::h5::subset::Hyperslab;

/// The head of a table, and how positions in it are counted.
pub(crate) struct Table<'a> {
    pub(crate) names: [&'a str; 2],
    pub(crate) dims: &'a [u64],
    /// The part that is compared, where it is not all.
    pub(crate) part: Option<&'a Hyperslab>,
    /// Number of the element that the next buffer starts with.
    pub(crate) first: u64,
    /// The heading was printed.
    pub(crate) headed: bool,
}

/// Between a place and the values.
const GAP: &[u8] = b"          ";

impl Table<'_> {
    /// Prints the heading, once, and where an element is. `character`: its place in a text.
    pub(crate) fn place(
        &mut self,
        report: &mut Report<'_>,
        element: u64,
        character: Option<usize>,
        relative: bool,
    ) {
        if !self.headed {
            self.headed = true;
            self.heading(report, relative);
        }
        let text = match (self.dims, character) {
            ([], Some(at)) => format!("[ {at}]"),
            ([], None) => " ".repeat(6),
            _ => {
                let at = self.coordinates(self.first + element);
                let at: Vec<String> = at.iter().map(u64::to_string).collect();
                format!("[ {} ]", at.join(" "))
            }
        };
        report.say(&text);
        report.put(GAP);
    }

    fn heading(&self, report: &mut Report<'_>, relative: bool) {
        let size = dimensions(self.dims);
        let mut text = format!("{:<16}{size}{:<11}{size}\n", "size:", "").into_bytes();
        text.extend(column("position", 15));
        for name in self.names {
            text.push(b' ');
            text.extend(column(name, 15));
        }
        let rest = if relative {
            format!(" {:<15} {:<15}\n{}\n", "difference", "relative", "-".repeat(72))
        } else {
            format!(" {:<20}\n{}\n", "difference", "-".repeat(60))
        };
        text.extend(rest.into_bytes());
        report.put(&text);
    }

    /// Returns where the element of a number is.
    fn coordinates(&self, element: u64) -> Vec<u64> {
        let mut rest = self.part.map_or(element, |part| position(part, self.dims, element));
        let mut at = vec![0; self.dims.len()];
        for (place, &dim) in at.iter_mut().zip(self.dims).skip(1).rev() {
            *place = rest % dim.max(1);
            rest /= dim.max(1);
        }
        if let Some(slowest) = at.first_mut() {
            *slowest = rest;
        }
        if let Some(part) = self.part {
            at.iter_mut().zip(&part.start).for_each(|(place, start)| *place += start);
        }
        at
    }
}

/// Returns the number in the whole extent that h5diff gives to an element of a part, counted from the part's start. It takes
/// steps inside of blocks for strides, and from the third dimension on it counts rows that are not in the part; people
/// compare its output, so that we count with it.
fn position(part: &Hyperslab, dims: &[u64], element: u64) -> u64 {
    let (mut left, mut at, mut row, mut step, mut carried) = (element, 0u64, 1u64, 1u64, 0);
    let mut stride = 1;
    for dim in (0..dims.len()).rev() {
        stride = part.stride[dim];
        let selected = part.count[dim].saturating_mul(part.block[dim]).max(1);
        step = row;
        carried = left / selected;
        at = at.wrapping_add((left % selected).wrapping_mul(stride).wrapping_mul(step));
        if carried == 0 {
            return at;
        }
        left = carried.wrapping_mul(row);
        row = row.wrapping_mul(dims[dim]);
    }
    at.wrapping_add(carried.wrapping_mul(stride).wrapping_mul(step))
}

/// Returns an extent: `[2x3]`.
pub(crate) fn dimensions(dims: &[u64]) -> String {
    if dims.is_empty() {
        return "H5S_SCALAR".to_owned();
    }
    let dims: Vec<String> = dims.iter().map(u64::to_string).collect();
    format!("[{}]", dims.join("x"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table<'a>(dims: &'a [u64], part: Option<&'a Hyperslab>) -> Table<'a> {
        Table { names: ["a", "b"], dims, part, first: 0, headed: false }
    }

    fn part(start: &[u64], stride: &[u64], count: &[u64], block: &[u64]) -> Hyperslab {
        let [start, stride, count, block] = [start, stride, count, block].map(<[u64]>::to_vec);
        Hyperslab { start, stride, count, block }
    }

    #[test]
    fn coordinates_follow_the_part_that_is_compared() {
        assert_eq!(table(&[4, 6], None).coordinates(8), [1, 2]);
        let two = part(&[1, 0], &[2, 3], &[2, 2], &[1, 1]);
        assert_eq!(table(&[4, 6], Some(&two)).coordinates(3), [3, 3]);
    }

    #[test]
    fn coordinates_are_those_of_h5diff_where_it_miscounts() {
        let blocks = part(&[1, 2], &[3, 4], &[2, 2], &[2, 3]);
        assert_eq!(table(&[6, 10], Some(&blocks)).coordinates(3), [2, 4]);
        let three = part(&[0, 0, 0], &[1, 1, 1], &[2, 3, 4], &[1, 1, 1]);
        assert_eq!(table(&[5, 6, 7], Some(&three)).coordinates(12), [4, 0, 0]);
    }
}
