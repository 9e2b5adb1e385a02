//! Revisions of a file.

use std::io;
use std::sync::Arc;

use super::{Created, Driver, DriverInfo, NamedDriver, Target};
use crate::onion::{Onion, OnionFiles, OnionOptions};
use crate::{Handle, Mode};

/// A file with revisions: the original, and an onion file with the pages that changed, as libhdf5's onion driver has it.
#[derive(Debug, Clone, Copy, Default)]
pub struct OnionDriver;

impl OnionDriver {
    fn files(&self, target: &Target<'_>) -> io::Result<OnionFiles> {
        target.parameters.only(&self.info())?;
        let inner = NamedDriver::of_parameter(target, "inner")?;
        Ok(OnionFiles { inner, drivers: target.drivers.clone(), path: target.path.to_owned() })
    }

    fn options(target: &Target<'_>) -> io::Result<OnionOptions> {
        let (parameters, default) = (target.parameters, OnionOptions::default());
        let page_bytes =
            parameters.number("page_bytes")?.map(|bytes| u32::try_from(bytes).unwrap_or(u32::MAX));
        Ok(OnionOptions {
            revision: match parameters.get("revision") {
                None | Some("latest") => None,
                Some(_) => parameters.number("revision")?,
            },
            page_bytes: page_bytes.unwrap_or(default.page_bytes),
            comment: parameters.get("comment").unwrap_or_default().to_owned(),
            is_page_aligned: parameters.flag("page_alignment")?.unwrap_or(false),
        })
    }
}

impl Driver for OnionDriver {
    fn info(&self) -> DriverInfo {
        DriverInfo {
            name: "onion",
            aliases: &[],
            about: "revisions of a file: each writer stores the next one",
            parameters: &[
                ("inner", "the driver of the files (default: posix)"),
                ("revision", "the revision that is opened; 0 is the original (default: latest)"),
                ("page_bytes", "bytes of a page of new onion files, a power of two (default: 4096)"),
                ("comment", "what is said of the next revision (default: nothing)"),
                ("page_alignment", "whether pages of new onion files are aligned (default: false)"),
            ],
        }
    }

    fn check_create(&self, target: &Target<'_>) -> io::Result<()> {
        let files = self.files(target)?;
        Self::options(target)?;
        files.inner.check_create(&files.path, target.drivers)?;
        files.inner.check_create(&files.onion(), target.drivers)
    }

    fn create(&self, target: &Target<'_>, may_exist: bool) -> io::Result<Created> {
        let (file, is_new) = Onion::create(self.files(target)?, may_exist, Self::options(target)?)?;
        Ok(Created { file: Arc::new(file), is_new })
    }

    fn open(&self, target: &Target<'_>, mode: Mode) -> io::Result<Handle> {
        Ok(Arc::new(Onion::open(self.files(target)?, mode, Self::options(target)?)?))
    }

    fn delete(&self, target: &Target<'_>) -> io::Result<()> {
        let files = self.files(target)?;
        files.inner.delete(&files.path, target.drivers)?;
        for path in [files.onion(), files.recovery()] {
            match files.inner.delete(&path, target.drivers) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
        }
        Ok(())
    }
}

/// Returns the parameters that a configuration text of libhdf5's onion driver stands for: the number of a revision, or
/// `{revision_num: 2; page_size: 4;}`. Texts in the syntax of this library stay as they are.
///
/// # Errors
/// Returns `InvalidInput` for keys that the driver does not know.
pub fn onion_parameters(config: &str) -> io::Result<String> {
    let text = config.trim();
    if !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()) {
        return Ok(format!("revision={text}"));
    }
    let Some(inside) = text.strip_prefix('{').and_then(|rest| rest.strip_suffix('}')) else {
        return Ok(text.to_owned());
    };
    let mut parameters = Vec::new();
    for pair in inside.split(';').map(str::trim).filter(|pair| !pair.is_empty()) {
        let (key, value) = pair.split_once(':').unwrap_or((pair, ""));
        match (key.trim(), value.trim()) {
            ("revision_num", "H5FD_ONION_FAPL_INFO_REVISION_ID_LATEST") => {}
            ("revision_num", value) => parameters.push(format!("revision={value}")),
            ("page_size", value) => parameters.push(format!("page_bytes={value}")),
            ("creation_flags", value) => parameters.push(format!("page_alignment={}", value == "1")),
            ("comment", value) => parameters.push(format!("comment={value}")),
            // There is one version, ordinary files are what is underneath, and a writer that died is no hindrance.
            ("version" | "backing_fapl_id" | "force_write_open" | "store_target", _) => {}
            (key, _) => {
                let problem = format!("the onion driver has no property {key}");
                return Err(io::Error::new(io::ErrorKind::InvalidInput, problem));
            }
        }
    }
    Ok(parameters.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn configurations_of_libhdf5_are_understood() {
        for (config, expected) in [
            ("1", "revision=1"),
            ("{revision_num: 2; page_size: 4;}", "revision=2, page_bytes=4"),
            (
                "{revision_num: H5FD_ONION_FAPL_INFO_REVISION_ID_LATEST; creation_flags: 1;}",
                "page_alignment=true",
            ),
            ("{version: H5FD_ONION_FAPL_INFO_VERSION_CURR; comment: a b}", "comment=a b"),
            ("revision=3", "revision=3"),
            ("", ""),
        ] {
            assert_eq!(onion_parameters(config).unwrap(), expected);
        }
        assert!(onion_parameters("{colour: red;}").is_err());
    }
}
