//! Connectors as libhdf5 names them: `HDF5_VOL_CONNECTOR` holds a name or a number, and then the connector under it.
//!
//! `stats under_vol=0;under_info={}` is a layer over the native connector. The text in `under_info`'s braces is read
//! in the same way. Other settings are parameters of the connector, as they would stand in the braces of a stack.

use model::{Error, Result};

use crate::Registry;

/// Layers, and the connector under them if one is named.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct VolSetting {
    /// Layers, outermost first, in the syntax of [`crate::Stack`].
    pub stack: Option<String>,
    /// The connector of locations without a prefix.
    pub connector: Option<String>,
}

/// Parses libhdf5's syntax, for connectors and layers that `registry` knows.
///
/// # Errors
/// Returns `Invalid` if the text does not have this syntax, and `NotFound` or `Unsupported` if a connector or layer is
/// not registered.
pub fn parse(text: &str, registry: &Registry) -> Result<VolSetting> {
    let mut layers = Vec::new();
    let (mut name, mut settings) = split_name(text);
    // Each turn takes one layer off, so the text gets shorter.
    loop {
        let found = find(name, registry)?;
        let parts = split_settings(settings)?;
        let own = parts.iter().filter(|(key, _)| !key.starts_with("under_"));
        let parameters: Vec<String> = own.map(|(key, value)| format!("{key}={value}")).collect();
        if !found.is_layer {
            let stack = if layers.is_empty() { None } else { Some(layers.join(" | ")) };
            return Ok(VolSetting { stack, connector: Some(found.name) });
        }
        match parameters.is_empty() {
            true => layers.push(found.name),
            false => layers.push(format!("{}{{{}}}", found.name, parameters.join(", "))),
        }
        let value = |wanted: &str| parts.iter().find(|(key, _)| *key == wanted).map(|(_, value)| *value);
        let Some(under) = value("under_vol") else {
            return Ok(VolSetting { stack: Some(layers.join(" | ")), connector: None });
        };
        name = under;
        settings = value("under_info").map_or("", inside_braces);
    }
}

struct NamedEntry {
    name: String,
    is_layer: bool,
}

/// Returns the connector or layer with this name, or with this number as `under_vol` has it.
fn find(name: &str, registry: &Registry) -> Result<NamedEntry> {
    let number = name.parse::<u32>().ok();
    let is_it = |info: &crate::ConnectorInfo| info.name == name || Some(info.value) == number;
    if let Some(connector) = registry.connectors().find(|c| is_it(&c.info())) {
        return Ok(NamedEntry { name: connector.info().name.to_owned(), is_layer: false });
    }
    if let Some(layer) = registry.layers().find(|l| is_it(&l.info())) {
        return Ok(NamedEntry { name: layer.info().name.to_owned(), is_layer: true });
    }
    let known: Vec<_> = registry.connectors().map(|connector| connector.info().name).collect();
    Err(registry.missing("find connector", name, &known))
}

fn split_name(text: &str) -> (&str, &str) {
    text.trim().split_once(char::is_whitespace).unwrap_or((text.trim(), ""))
}

fn inside_braces(text: &str) -> &str {
    text.trim().strip_prefix('{').and_then(|rest| rest.strip_suffix('}')).unwrap_or(text).trim()
}

/// Splits settings into `key=value` parts at semicolons outside of braces.
fn split_settings(text: &str) -> Result<Vec<(&str, &str)>> {
    let bad = |part: &str| {
        Error::invalid("read connector").with("problem", "key=value is expected").with("found", part)
    };
    let (mut depth, mut start, mut parts) = (0i64, 0, Vec::new());
    for (at, c) in text.char_indices().chain([(text.len(), ';')]) {
        match c {
            '{' => depth += 1,
            '}' => depth -= 1,
            ';' if depth == 0 => {
                let part = text[start..at].trim();
                if !part.is_empty() {
                    let (key, value) = part.split_once('=').ok_or_else(|| bad(part))?;
                    parts.push((key.trim(), value.trim()));
                }
                start = at + 1;
            }
            _ => {}
        }
    }
    if depth == 0 { Ok(parts) } else { Err(bad(text).with("braces", "they do not match")) }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::{Capability, Connector, ConnectorInfo, Container, ContainerOpen, LayerFactory, Wrap};

    struct Named(&'static str, u32);

    impl Named {
        fn who(&self) -> ConnectorInfo {
            let (capability, about) = (Capability::default(), "");
            ConnectorInfo { name: self.0, value: self.1, version: 1, capability, about }
        }
    }

    impl Connector for Named {
        fn info(&self) -> ConnectorInfo {
            self.who()
        }
        fn open(&self, _: &ContainerOpen<'_>) -> Result<Arc<dyn Container>> {
            Err(Error::unsupported("open"))
        }
        fn is_accessible(&self, _: &ContainerOpen<'_>) -> Result<bool> {
            Ok(false)
        }
    }

    impl LayerFactory for Named {
        fn info(&self) -> ConnectorInfo {
            self.who()
        }
        fn wrap(&self, op: &Wrap<'_>) -> Result<Arc<dyn Container>> {
            Ok(op.inner.clone())
        }
    }

    fn registry() -> Registry {
        let mut registry = Registry::new();
        registry.register(Arc::new(Named("native", 0))).unwrap();
        registry.register(Arc::new(Named("raw", 530))).unwrap();
        registry.register_layer(Arc::new(Named("stats", 520))).unwrap();
        registry.register_layer(Arc::new(Named("async", 525))).unwrap();
        registry
    }

    #[test]
    fn a_number_that_is_taken_is_refused() {
        let mut registry = registry();
        for taken in [0, 530, 520] {
            let layer = registry.register_layer(Arc::new(Named("mine", taken))).unwrap_err();
            let connector = registry.register(Arc::new(Named("mine", taken))).unwrap_err();
            assert_eq!([layer.kind(), connector.kind()], [model::Kind::Exists; 2], "{taken}");
        }
        assert!(registry.register_layer(Arc::new(Named("stats", 700))).is_err());
        registry.register_layer(Arc::new(Named("mine", 700))).unwrap();
        registry.register(Arc::new(Named("mine", 701))).unwrap();
    }

    #[test]
    fn what_the_build_lacks_is_unsupported_and_names_its_feature() {
        let mut registry = registry();
        registry.register_absent("iod", "iod");
        registry.register_absent("trace", "layers");
        let errors = [registry.by_name("iod").err(), parse("iod", &registry).err()];
        let layer = (registry.layer("trace").err(), "`layers`");
        for (error, feature) in errors.into_iter().map(|error| (error, "`iod`")).chain([layer]) {
            let error = error.unwrap();
            assert_eq!(error.kind(), model::Kind::Unsupported);
            assert!(error.to_string().contains(feature), "{error}");
        }
        assert_eq!(registry.by_name("other").err().unwrap().kind(), model::Kind::NotFound);
    }

    fn chosen(stack: Option<&str>, connector: Option<&str>) -> VolSetting {
        VolSetting { stack: stack.map(str::to_owned), connector: connector.map(str::to_owned) }
    }

    #[test]
    fn layers_nest_by_name_and_by_number() {
        let cases = [
            ("native", chosen(None, Some("native"))),
            ("0", chosen(None, Some("native"))),
            ("raw", chosen(None, Some("raw"))),
            ("stats", chosen(Some("stats"), None)),
            ("stats under_vol=0;under_info={}", chosen(Some("stats"), Some("native"))),
            (
                "async threads=2;under_vol=520;under_info={by=object;under_vol=530;under_info={}}",
                chosen(Some("async{threads=2} | stats{by=object}"), Some("raw")),
            ),
        ];
        for (text, wanted) in cases {
            assert_eq!(parse(text, &registry()).unwrap(), wanted, "{text}");
        }
    }

    #[test]
    fn what_is_unknown_or_broken_is_reported() {
        for text in ["", "nothing", "stats under_vol=9", "stats under_vol", "stats x={", "77 under_vol=0"] {
            assert!(parse(text, &registry()).is_err(), "{text}");
        }
    }
}
