//! Names of dimensions: their labels, or the names of their scales, as netCDF-4 and xarray have them.

use hyperslab::vol::model::Token;
use hyperslab::{Dataset, Group, LinkTarget, Result};

use crate::call::Call;

/// How the name of a scale begins that is a dimension of netCDF-4 and no variable: it says nothing.
const NO_VARIABLE: &str = "This is a netCDF dimension but not a netCDF variable";
/// Links of a group among which a scale is looked for.
const LINKS_MAX: u64 = 10_000;

/// Returns the name of each dimension; `None` where it has none, or where what says so cannot be read.
pub(super) fn names(call: &Call<'_>, dataset: &Dataset) -> Vec<Option<String>> {
    let name = |dimension| of_dimension(call, dataset, dimension).ok().flatten();
    (0..dataset.ndim()).map(name).collect()
}

fn of_dimension(call: &Call<'_>, dataset: &Dataset, dimension: usize) -> Result<Option<String>> {
    if let Some(label) = dataset.label(dimension)? {
        return Ok(Some(label));
    }
    match dataset.scales(dimension)?.first() {
        Some(scale) => of_scale(call, scale),
        // The coordinates of a dimension have its name.
        None if dataset.ndim() == 1 && dataset.is_scale()? => Ok(last_name(call.path())),
        None => Ok(None),
    }
}

/// Returns the name of a scale, or that of a link to it.
fn of_scale(call: &Call<'_>, scale: &Dataset) -> Result<Option<String>> {
    match scale.scale_name()?.filter(|name| !name.is_empty() && !name.starts_with(NO_VARIABLE)) {
        Some(name) => Ok(Some(name)),
        None => link_to(call, scale.token()),
    }
}

/// Returns the name of a link to an object from a group that the path of the request goes through, the nearest first.
fn link_to(call: &Call<'_>, token: Token) -> Result<Option<String>> {
    let mut path = call.path();
    while let Some((parent, _)) = path.rsplit_once('/') {
        let group = call.container.file.group(if parent.is_empty() { "/" } else { parent })?;
        if let Some(name) = link_in(&group, token)? {
            return Ok(Some(name));
        }
        path = parent;
    }
    Ok(None)
}

fn link_in(group: &Group, token: Token) -> Result<Option<String>> {
    if group.len()? > LINKS_MAX {
        return Ok(None);
    }
    let mut links = group.links()?.into_iter();
    Ok(links.find(|link| link.target == LinkTarget::Hard(token)).map(|link| link.name))
}

fn last_name(path: &str) -> Option<String> {
    path.rsplit('/').next().filter(|name| !name.is_empty()).map(str::to_owned)
}
