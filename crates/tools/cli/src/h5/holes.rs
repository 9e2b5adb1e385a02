//! Datasets whose extent is far larger than what is stored: holes are reported as such, unless the user wants all of them.

use hyperslab::vol::algorithms::stored::{StoredRuns, sparse};
use hyperslab::vol::{Container, DatasetInfo};
use hyperslab::{Result, Token};

/// Returns the runs that are stored, where these are far fewer than the elements of a dataset. Elements that lie in other files may be
/// any number: there the account of work says when it is enough.
pub(crate) fn stored(
    container: &dyn Container,
    dataset: Token,
    info: &DatasetInfo,
) -> Result<Option<StoredRuns>> {
    if crate::common::expand() {
        return Ok(None);
    }
    sparse(container, dataset, info)
}

/// Returns the index of an element in C order.
pub(crate) fn index_text(position: u64, dims: &[u64]) -> String {
    let (mut rest, mut index) = (position, Vec::with_capacity(dims.len()));
    for dim in dims.iter().rev() {
        index.push((rest % dim.max(&1)).to_string());
        rest /= dim.max(&1);
    }
    index.reverse();
    format!("({})", index.join(","))
}

/// Returns what is said of a hole after the value that its elements have.
pub(crate) fn remark((start, len): (u64, u64), dims: &[u64]) -> String {
    format!(" repeated {len} times up to {}, which are not stored", index_text(start + len - 1, dims))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hole_is_printed_with_its_last_index() {
        assert_eq!(remark((0, 12), &[3, 4]), " repeated 12 times up to (2,3), which are not stored");
        assert_eq!(index_text(7, &[3, 4]), "(1,3)");
    }
}
