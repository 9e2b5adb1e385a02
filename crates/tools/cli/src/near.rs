//! Guesses at the path that was meant by one that leads nowhere.

use hyperslab::vol::model::link::components;
use hyperslab::vol::{Container, OpList, path};
use hyperslab::{Limits, Token};

use crate::help::nearest;

/// Names of a group that are compared with what was typed.
const NAMES_MAX: u64 = 10_000;

/// Says on standard error which path may have been meant, if one is near.
pub(crate) fn hint(container: &dyn Container, path: &str) {
    if let Some(near) = near_path(container, path) {
        eprintln!("did you mean \"{near}\"?");
    }
}

/// Returns a path like the one that leads nowhere: with another name in the first group that has no such link. `None` if the
/// path leads somewhere, or no name is near.
fn near_path(container: &dyn Container, path: &str) -> Option<String> {
    let (mut group, mut found) = (container.info().ok()?.root, String::new());
    let mut names = components(path);
    while let Some(name) = names.next() {
        if container.link_get(group, name).ok()?.is_none() {
            found = format!("{found}/{}", near_name(container, group, name)?);
            return Some(names.fold(found, |path, name| format!("{path}/{name}")));
        }
        group = path::token(container, group, name, Limits::default().link_traversals_max).ok()?;
        found = format!("{found}/{name}");
    }
    None
}

fn near_name(container: &dyn Container, group: Token, name: &str) -> Option<String> {
    let page = container.link_list(group, &OpList { count_max: NAMES_MAX, ..OpList::default() }).ok()?;
    nearest(name, page.entries.iter().map(|link| link.name.as_str())).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use hyperslab::File;
    use hyperslab::vol::FileAccess;

    use super::*;

    #[test]
    fn the_nearest_name_of_the_group_that_is_there_is_guessed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.h5").to_string_lossy().into_owned();
        let file = File::create(&path).unwrap();
        file.new_dataset::<i32>().shape([2]).create("run1/temperature").unwrap();
        file.create_group("other").unwrap();
        file.close().unwrap();
        let container = hyperslab::registry().open(&path, &FileAccess::read()).unwrap();
        let near = |path| near_path(&*container, path);
        assert_eq!(near("/run1/temprature").as_deref(), Some("/run1/temperature"));
        assert_eq!(near("run/temperature").as_deref(), Some("/run1/temperature"));
        assert_eq!(near("/run1/temp").as_deref(), Some("/run1/temperature"));
        assert_eq!(near("/run1/temperature"), None);
        assert_eq!(near("/run1/pressure"), None);
        assert_eq!(near("/run1/temperature/x"), None);
    }
}
