//! Clients of several nodes: which of their changes they keep until they are stored.

use vol::Operation;

/// Returns whether a client of several nodes keeps a change until it is stored, and makes it again at another node.
///
/// Such a change says what a value is, so that making it again leaves the same. Every other change is stored before it is
/// answered.
pub fn is_kept(code: Operation) -> bool {
    use Operation as O;
    matches!(
        code,
        O::dataset_write | O::chunk_write | O::attribute_write | O::map_put | O::object_set_comment
    )
}

/// Returns whether the path of a location (`host:port,host:port/name`) names several servers.
pub fn has_several_nodes(path: &str) -> bool {
    match path.strip_prefix("[unix:") {
        Some(rest) => rest.find("],").is_some_and(|comma| rest.find("]/").is_none_or(|end| comma < end)),
        None => path.find([',', '/']).is_some_and(|at| path[at..].starts_with(',')),
    }
}

/// Returns whether everything that a client of several nodes changed before is stored when this was answered.
pub fn stores(code: Operation) -> bool {
    code == Operation::commit || code == Operation::close || code.changes() && !is_kept(code)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commas_of_names_separate_no_servers() {
        for path in ["a,b/x", "a:1,b:2/x,y", "[unix:/a],[unix:/b]/x", "[unix:/a],b/x"] {
            assert!(has_several_nodes(path), "{path}");
        }
        for path in ["a/x", "a:1/x,y", "[unix:/a]/x,y", "[unix:/a,b]/x],y", "[::1]:2/x"] {
            assert!(!has_several_nodes(path), "{path}");
        }
    }
}
