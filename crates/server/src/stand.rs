//! The connector of all containers of a server, and where in it they are.

use vol::Location;

/// What comes before and after the name of a container in its location.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Stand {
    /// The connector's name.
    pub(crate) connector: String,
    /// The engine under it.
    pub(crate) engine: Option<String>,
    prefix: String,
    suffix: String,
}

impl Stand {
    /// Reads the last part of a stack: `raw:`, `object+rados:pool/`, `object+rados:pool/?conf=FILE`. `None` for a layer.
    pub(crate) fn parse(text: &str) -> Option<Stand> {
        let (prefix, query) = text.split_at(text.find('?').unwrap_or(text.len()));
        let location = Location::parse(prefix);
        let is_place = location.path.is_empty() || location.path.ends_with('/');
        Some(Stand {
            connector: location.connector.filter(|_| is_place)?,
            engine: location.engine,
            prefix: prefix.to_owned(),
            suffix: query.to_owned(),
        })
    }

    /// Returns the location of the container of this name or path.
    pub(crate) fn location(&self, name: &str) -> String {
        format!("{}{name}{}", self.prefix, self.suffix)
    }

    /// Returns whether containers are in no folder.
    pub(crate) fn is_without_folder(&self) -> bool {
        self.connector == "memory" || self.engine.is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stack_ends_with_a_layer_or_a_place() {
        let location = |text| Stand::parse(text).map(|stand: Stand| stand.location("a/b"));
        assert_eq!(location("memory:").as_deref(), Some("memory:a/b"));
        assert_eq!(location("object+rados:p1/").as_deref(), Some("object+rados:p1/a/b"));
        assert_eq!(
            location("object+rados:p1/runs/?conf=/c").as_deref(),
            Some("object+rados:p1/runs/a/b?conf=/c")
        );
        for layer in ["stats", "mirror{to=raw:copy/}", "readonly", "raw:one"] {
            assert_eq!(location(layer), None, "{layer}");
        }
        assert!(Stand::parse("object+rados:p1/").is_some_and(|stand| stand.is_without_folder()));
        assert!(Stand::parse("raw:").is_some_and(|stand| !stand.is_without_folder()));
    }
}
