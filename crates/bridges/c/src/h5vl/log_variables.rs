//! The variables of the published log-based connector, as far as they have a meaning here (docs/log-layout.md).

use hyperslab::vol::{Location, Registry};

/// The connector that they are for.
const LOG: &str = "log";

/// Returns the words that variables add to the name of the connector: `v1`, `sub4`.
fn engine(variable: impl Fn(&str) -> Option<String>) -> Option<String> {
    let is_off = |name: &str| variable(name).is_some_and(|value| value.trim() == "0");
    let mut words = Vec::new();
    let subfiles = variable("H5VL_LOG_NSUBFILES").or_else(|| {
        // The name that it had first: 1 leaves the number to the connector.
        variable("H5VL_LOG_SUBFILING").filter(|value| value.trim() == "1").map(|_| String::new())
    });
    match subfiles.map(|value| value.trim().parse::<i64>()) {
        None | Some(Ok(0)) => {}
        Some(Ok(number @ 1..)) => words.push(format!("sub{number}")),
        // Without a number there is one for each machine, and here is one.
        Some(_) => words.push("sub1".to_owned()),
    }
    // Tables without compression, encoding and sharing are those of version 1, which know no subfiles.
    let is_plain = ["H5VL_LOG_METADATA_ZIP", "H5VL_LOG_METADATA_SHARE"].into_iter().all(is_off);
    if words.is_empty() && is_plain {
        words.push("v1".to_owned());
    }
    (!words.is_empty()).then(|| words.join("-"))
}

/// Returns a location with what the environment says of logs, if its connector is the one of logs.
pub fn with_log_variables(location: &str, registry: &Registry) -> String {
    let place = Location::parse(location);
    let default = || registry.connectors().next().map(|connector| connector.info().name.to_owned());
    let is_log = place.connector.clone().or_else(default).as_deref() == Some(LOG) && place.engine.is_none();
    match engine(|name| std::env::var(name).ok()).filter(|_| is_log) {
        Some(engine) => format!("{LOG}+{engine}:{}", place.path),
        None => location.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(variables: &[(&str, &str)]) -> Option<String> {
        engine(|name| {
            variables.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
        })
    }

    #[test]
    fn variables_become_words_of_the_connector() {
        assert_eq!(with(&[]), None);
        assert_eq!(with(&[("H5VL_LOG_NSUBFILES", "4")]).as_deref(), Some("sub4"));
        assert_eq!(with(&[("H5VL_LOG_NSUBFILES", "0")]), None);
        for unnumbered in ["", "-1", "all"] {
            assert_eq!(with(&[("H5VL_LOG_NSUBFILES", unnumbered)]).as_deref(), Some("sub1"));
        }
        assert_eq!(with(&[("H5VL_LOG_SUBFILING", "1")]).as_deref(), Some("sub1"));
        assert_eq!(with(&[("H5VL_LOG_METADATA_ZIP", "0")]), None);
        let plain = [("H5VL_LOG_METADATA_ZIP", "0"), ("H5VL_LOG_METADATA_SHARE", "0")];
        assert_eq!(with(&plain).as_deref(), Some("v1"));
    }
}
