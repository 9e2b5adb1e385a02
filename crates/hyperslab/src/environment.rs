//! Settings from the environment. The library reads none of them unless a program calls this.

use std::ffi::OsString;

use model::{Context, Result};
use vol::{Registry, libhdf5};

use crate::registry;

/// Connectors, and layers for every container, as environment variables choose them.
///
/// | variable | value |
/// |---|---|
/// | `HYPERSLAB_VOL` | layers, outermost first: `stats \| mirror{to=raw:copy/}` |
/// | `HDF5_VOL_CONNECTOR` | the same in libhdf5's syntax: `stats under_vol=0;under_info={}`; it may also name the inner connector |
/// | `HDF5_PLUGIN_PATH` | folders with plugins (with the feature `plugins`) |
#[derive(Debug, Clone, Default)]
pub struct Environment {
    /// The connectors and layers of this build, and those of plugins.
    pub registry: Registry,
    /// The layers that were chosen, for [`vol::FileAccess::with_stack`].
    pub stack: Option<String>,
    /// Files on the plugin path that were not loaded as plugins, and why.
    pub skipped: Vec<String>,
}

impl Environment {
    /// Reads the environment of this process. `HYPERSLAB_VOL` takes precedence over `HDF5_VOL_CONNECTOR`.
    ///
    /// # Errors
    /// Returns `Invalid` if a variable cannot be parsed, and `NotFound` or `Unsupported` if it names an unknown
    /// connector or layer. The error names the variable.
    pub fn read() -> Result<Environment> {
        Self::from(|name| std::env::var_os(name))
    }

    /// Reads variables as [`Environment::read`] does, from a function instead of the environment.
    ///
    /// # Errors
    /// Returns the errors of [`Environment::read`].
    pub fn from(variable: impl Fn(&str) -> Option<OsString>) -> Result<Environment> {
        let mut found = Environment { registry: registry(), ..Environment::default() };
        if let Some(path) = variable("HDF5_PLUGIN_PATH") {
            found.add_plugins(&path);
        }
        let text = |name| variable(name).map(|text| text.to_string_lossy().into_owned());
        let given = |text: &String| !text.trim().is_empty();
        if let Some(theirs) = text("HDF5_VOL_CONNECTOR").filter(given) {
            let chosen = libhdf5::parse(&theirs, &found.registry).during("read HDF5_VOL_CONNECTOR")?;
            found.stack = chosen.stack;
            if let Some(connector) = chosen.connector {
                found.registry.set_default(&connector)?;
            }
        }
        if let Some(stack) = text("HYPERSLAB_VOL").filter(given) {
            found.registry.check_stack(&stack).during("read HYPERSLAB_VOL")?;
            found.stack = Some(stack);
        }
        Ok(found)
    }

    #[cfg(feature = "plugins")]
    fn add_plugins(&mut self, path: &std::ffi::OsStr) {
        let plugins = plugin::SearchPath::parse(path).register_all(&mut self.registry);
        let note = |skipped: &plugin::Skipped| format!("{}: {}", skipped.path.display(), skipped.why);
        self.skipped.extend(plugins.skipped.iter().map(note));
    }

    #[cfg(not(feature = "plugins"))]
    fn add_plugins(&mut self, path: &std::ffi::OsStr) {
        self.skipped
            .push(format!("{}: this program was built without the feature `plugins`", path.display()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(variables: &[(&str, &str)]) -> Result<Environment> {
        Environment::from(|name| {
            variables.iter().find(|(known, _)| *known == name).map(|(_, value)| OsString::from(value))
        })
    }

    #[test]
    fn layers_and_the_default_connector_come_from_variables() {
        assert_eq!(with(&[]).unwrap().stack, None);
        let theirs = ("HDF5_VOL_CONNECTOR", "stats under_vol=530;under_info={}");
        let found = with(&[theirs]).unwrap();
        assert_eq!(found.stack.as_deref(), Some("stats"));
        assert_eq!(found.registry.connectors().next().unwrap().info().name, "raw");
        let found = with(&[theirs, ("HYPERSLAB_VOL", "trace | check")]).unwrap();
        assert_eq!(found.stack.as_deref(), Some("trace | check"));
    }

    #[test]
    fn what_is_wrong_names_its_variable() {
        for (name, value) in
            [("HYPERSLAB_VOL", "stats |"), ("HYPERSLAB_VOL", "nothing"), ("HDF5_VOL_CONNECTOR", "what")]
        {
            assert!(with(&[(name, value)]).unwrap_err().to_string().contains(name), "{name}={value}");
        }
    }
}
