//! Names of files: a file of that name comes first, then a location (`object:store/`).

use std::ffi::c_int;
use std::path::Path;

use hyperslab::vol::Location;
use hyperslab::vol::model::text::to_path;

use crate::codes::{Major, Minor};
use crate::failure::{Failure, Fallible};
use crate::h5fd::BuiltIn;
use crate::h5p::values::FileAccessValues;

/// Allows locations on the network.
const NETWORK_VARIABLE: &str = "HYPERSLAB_NETWORK";

/// The folder that files which others lead to must lie in.
const ROOT_VARIABLE: &str = "HYPERSLAB_ROOT";

/// Returns the location of a file that a program names, as the registry reads it. A program that chose a driver of the
/// network knows of it.
pub(super) fn of_name(name: &str, values: &FileAccessValues) -> Fallible<String> {
    let location = Location::parse(name);
    if location.connector.is_none() || to_path(name).is_file() {
        return Ok(as_path(name));
    }
    let is_allowed = is_allowed(NETWORK_VARIABLE) || chose_network(values);
    if location.connector.as_deref().is_some_and(is_on_network) && !is_allowed {
        let text = format!("{name} is on the network: set {NETWORK_VARIABLE}=1 to allow that");
        return Err(Failure::new(Major::FILE, Minor::CANTOPENFILE, text));
    }
    Ok(name.to_owned())
}

/// Returns whether the driver is one of the network.
fn chose_network(values: &FileAccessValues) -> bool {
    let of_environment = || crate::h5p::drivers::of_environment().ok().flatten();
    let chosen = values.driver.clone().or_else(of_environment);
    chosen.and_then(|choice| choice.driver.value()) == Some(BuiltIn::Ros3 as c_int)
}

/// Returns whether locations with this prefix lead to other machines.
fn is_on_network(prefix: &str) -> bool {
    matches!(prefix, "remote" | "http" | "https" | "s3" | "gs" | "az")
}

/// Returns a path that is not read as a location with a prefix.
fn as_path(name: &str) -> String {
    match Location::parse(name).connector {
        Some(_) => format!("./{name}"),
        None => name.to_owned(),
    }
}

fn is_allowed(variable: &str) -> bool {
    std::env::var(variable).is_ok_and(|value| matches!(value.as_str(), "1" | "TRUE" | "true"))
}

/// Checks that a file which another one leads to lies where such files may lie.
pub(super) fn check_root(path: &Path) -> Fallible<()> {
    let Some(root) = std::env::var_os(ROOT_VARIABLE) else { return Ok(()) };
    let real = |path: &Path| path.canonicalize().ok();
    match (real(path), real(Path::new(&root))) {
        (Some(path), Some(root)) if path.starts_with(&root) => Ok(()),
        _ => {
            let text = format!("{} is outside of {ROOT_VARIABLE}", path.display());
            Err(Failure::new(Major::FILE, Minor::CANTOPENFILE, text))
        }
    }
}
