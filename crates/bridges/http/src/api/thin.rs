//! Fewer elements of a selection.

use crate::elements::selection::SelectedDims;

/// Returns the selection with steps such that it has at most `count_max` elements, and whether there are any steps.
///
/// Steps go along the slowest dimensions first: whole rows and chunks are left out, and are not read.
pub(crate) fn within(selected: &SelectedDims, count_max: u64) -> (SelectedDims, bool) {
    let count_max = count_max.max(1);
    let mut excess = selected.count().div_ceil(count_max).max(1);
    let is_sampled = excess > 1;
    let steps: Vec<u64> = selected
        .kept()
        .map(|dim| {
            let step = excess.min(dim.count).max(1);
            // What is left of a dimension may be more than its share: 3 of 5 with a step of 2.
            let left = dim.count.div_ceil(step);
            excess = if left == 0 { 1 } else { excess.saturating_mul(left).div_ceil(dim.count) };
            step
        })
        .collect();
    (selected.thinned(&steps), is_sampled)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_result_is_within_the_bound() {
        for dims in [&[1000u64, 1000][..], &[5, 7, 11], &[3], &[1, 1, 100_000], &[100, 1, 9]] {
            for bound in [1, 2, 10, 100, 5000] {
                let selected = SelectedDims::parse(None, dims).ok().unwrap();
                let (thin, is_sampled) = within(&selected, bound);
                assert!(thin.count() <= bound, "{dims:?} {bound}: {}", thin.count());
                assert_eq!(is_sampled, selected.count() > bound);
                assert!(thin.count() > 0);
            }
        }
    }
}
