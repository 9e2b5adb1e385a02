//! `--json`: a file, or what the user named of it, as the text that `json:` opens (docs/json-layout.md).

use std::path::Path;

use hyperslab::vol::algorithms::copy::{CopyContext, between, contents};
use hyperslab::vol::model::properties::FileCreate;
use hyperslab::vol::{Container, CopyOptions, Durability, FileAccess, path};
use hyperslab::{Error, Limits, Result};

use super::Dumper;
use super::options::WantedObject;
use crate::copy::place_of;
use crate::scratch::Scratch;
use crate::settings::registry;

impl Dumper<'_> {
    /// Everything, or what the user named.
    pub(crate) fn json_file(&mut self) -> Result<()> {
        let folder = Scratch::new("dump")?;
        let text = self.json_text(&folder.path().join("dump.json"))?;
        self.put(&text)
    }

    /// Returns the text of a document that takes a copy of what is wanted.
    fn json_text(&mut self, document: &Path) -> Result<Vec<u8>> {
        // The text is as long as it has to be.
        let mut limits = Limits::default();
        limits.metadata_bytes_max = u64::MAX;
        let access =
            FileAccess { limits: limits.clone(), durability: Durability::None, ..FileAccess::write() };
        let location = format!("json:{}", hyperslab::vol::model::text::from_path(document));
        let target = registry().create(&location, &self.json_create()?, &access, true)?;
        self.json_copy(&*target, &limits)?;
        target.close()?;
        std::fs::read(document).map_err(|error| Error::io("read document", &error))
    }

    /// Returns the creation properties of the document: a whole file keeps its own.
    fn json_create(&self) -> Result<FileCreate> {
        match self.options.wanted.is_empty() {
            true => Ok(self.container().info()?.create.clone()),
            false => Ok(FileCreate::default()),
        }
    }

    fn json_copy(&mut self, target: &dyn Container, limits: &Limits) -> Result<()> {
        let source = self.container();
        let lost = |path: &str, what: &str, error: &Error| {
            eprintln!("hyperslab dump: {path}: {what}: {error}");
        };
        let context = CopyContext {
            options: CopyOptions { without_attributes: !self.options.attributes, ..CopyOptions::default() },
            without_elements: !self.options.data,
            lost: Some(&lost),
            ..CopyContext::new(limits)
        };
        if self.options.wanted.is_empty() {
            return contents(&*source, target, context);
        }
        for name in self.options.wanted.iter().map(object_name) {
            let name = name?;
            let token = path::token(&*source, source.info()?.root, name, limits.link_traversals_max)?;
            let full = format!("/{}", name.trim_matches('/'));
            if full == "/" {
                contents(&*source, target, context)?;
            } else {
                between((&*source, token), (target, &place_of(target, &full, true, limits)?), context)?;
            }
        }
        Ok(())
    }
}

/// Returns the object that an option names. Parts of objects are no document.
fn object_name(wanted: &WantedObject) -> Result<&str> {
    let refused = |name: &str, problem: &str| {
        Error::unsupported("dump as JSON").with("name", name).with("problem", problem)
    };
    match wanted {
        WantedObject::Dataset(name, None)
        | WantedObject::Group(name)
        | WantedObject::Datatype(name)
        | WantedObject::Anything(name) => Ok(name),
        WantedObject::Dataset(name, Some(_)) => {
            Err(refused(name, "only a whole dataset, without a selection"))
        }
        WantedObject::Attribute(name) => Err(refused(name, "an attribute goes with its object: name that")),
        WantedObject::Link(name) => Err(refused(name, "a link goes with its group: name that")),
    }
}
