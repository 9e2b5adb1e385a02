//! The driver that a command line names: `--vfd-name` and `--vfd-info`, as the tools of HDF5 have them.

use hyperslab::extend::onion_parameters;

/// Asks for the number of revisions instead of a revision.
const REVISION_COUNT: &str = "revision_count";

/// A driver with its configuration.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct VfdChoice {
    pub(crate) name: Option<String>,
    pub(crate) info: Option<String>,
}

impl VfdChoice {
    /// Returns the driver as the registry finds it.
    ///
    /// # Errors
    /// Returns what is wrong with the configuration.
    pub(crate) fn driver(&self) -> Result<Option<String>, String> {
        let Some(name) = &self.name else { return Ok(None) };
        let info = match self.info.as_deref() {
            None | Some("") => return Ok(Some(name.clone())),
            Some(_) if self.asks_for_count() => return Ok(Some(name.clone())),
            Some(info) if name == "onion" => onion_parameters(info).map_err(|error| error.to_string())?,
            Some(info) => info.to_owned(),
        };
        Ok(Some(format!("{name}{{{info}}}")))
    }

    /// Returns whether the number of revisions is asked for.
    pub(crate) fn asks_for_count(&self) -> bool {
        self.name.as_deref() == Some("onion") && self.info.as_deref() == Some(REVISION_COUNT)
    }

    /// Returns the number of the revision that is asked for.
    pub(crate) fn revision(&self) -> Option<u64> {
        let info = self.info.as_deref().filter(|_| self.name.as_deref() == Some("onion"))?;
        info.trim().parse().ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn driver(name: &str, info: &str) -> Option<String> {
        VfdChoice { name: Some(name.to_owned()), info: Some(info.to_owned()) }.driver().unwrap()
    }

    #[test]
    fn a_configuration_of_the_onion_driver_is_a_revision() {
        assert_eq!(driver("onion", "1").as_deref(), Some("onion{revision=1}"));
        assert_eq!(driver("onion", "{revision_num: 2}").as_deref(), Some("onion{revision=2}"));
        assert_eq!(driver("onion", "revision_count").as_deref(), Some("onion"));
        assert_eq!(driver("family", "member_bytes=5").as_deref(), Some("family{member_bytes=5}"));
        assert_eq!(VfdChoice::default().driver().unwrap(), None);
    }
}
