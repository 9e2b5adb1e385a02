//! Single objects that the user named.

use hyperslab::vol::model::ObjectPath;
use hyperslab::vol::model::link::split_last;
use hyperslab::vol::model::text::to_bytes;
use hyperslab::vol::{Lookup, OpLookup, path};
use hyperslab::{Error, Index, LinkTarget, ObjectKind, Order, Result, Token};

use super::options::WantedObject;
use super::tables::{Sorting, walk};
use super::{Dumper, attributes::list_attributes};
use crate::h5::subset::Subset;
use crate::near::hint;

/// Links that are followed on the way to an object.
const TRAVERSALS_MAX: u32 = 16;

impl Dumper<'_> {
    /// Prints what one option names.
    pub(crate) fn wanted(&mut self, wanted: &WantedObject) -> Result<()> {
        match wanted {
            WantedObject::Attribute(name) => self.wanted_attribute(name),
            WantedObject::Dataset(name, subset) => self.wanted_dataset(name, subset.as_ref()),
            WantedObject::Group(name) => self.wanted_group(name),
            WantedObject::Link(name) => self.wanted_link(name),
            WantedObject::Datatype(name) => self.wanted_datatype(name),
            WantedObject::Anything(name) => self.wanted_anything(name),
        }
    }

    /// Returns the object behind a path.
    fn find(&self, name: &str) -> Result<Token> {
        let container = self.container();
        let from = container.info()?.root;
        let op = OpLookup { from, path: name.to_owned(), traversals_max: TRAVERSALS_MAX };
        match path::lookup(&*container, &op)? {
            Lookup::Object(token) => Ok(token),
            _ => Err(Error::unsupported("look up path")
                .with("path", name)
                .with("problem", "it leaves the file")),
        }
    }

    fn find_kind(&self, name: &str, kind: ObjectKind) -> Option<Token> {
        let token = self.find(name).ok()?;
        let info = self.container().object_info(token).ok()?;
        (info.kind == kind).then_some(token)
    }

    /// Returns where a path leads when it leaves the file through an external link.
    fn find_outside(&mut self, name: &str, kind: ObjectKind) -> Option<(usize, Token)> {
        let container = self.container();
        let from = container.info().ok()?.root;
        let op = OpLookup { from, path: name.to_owned(), traversals_max: TRAVERSALS_MAX };
        let Ok(Lookup::External { file, path }) = path::lookup(&*container, &op) else { return None };
        let (place, token, found) = self.follow_external(&file, &path).ok()?;
        (found == kind).then_some((place, token))
    }

    /// Runs `body` with another file as the current one.
    fn in_file(&mut self, place: usize, body: impl FnOnce(&mut Self) -> Result<()>) -> Result<()> {
        let before = std::mem::replace(&mut self.current, place);
        let result = body(self);
        self.current = before;
        result
    }

    fn wanted_dataset(&mut self, name: &str, subset: Option<&Subset>) -> Result<()> {
        if let Some((place, token)) = self.find_outside(name, ObjectKind::Dataset) {
            return self.in_file(place, |dumper| dumper.found_dataset(token, name, subset));
        }
        match self.find_kind(name, ObjectKind::Dataset) {
            Some(token) => self.found_dataset(token, name, subset),
            None => self.wanted_link(name),
        }
    }

    fn found_dataset(&mut self, token: Token, name: &str, subset: Option<&Subset>) -> Result<()> {
        let container = self.container();
        if let Some(subset) = subset {
            let rank = container.dataset_info(token)?.space.rank();
            if let Err(error) = subset.resolve(rank) {
                self.fail(&format!("{name}: {error}"));
                return Ok(());
            }
        }
        let references = container.object_info(token)?.references;
        match self.shown_before(token, references, ObjectKind::Dataset) {
            Some(found) => self.wanted_hard_link(name, &found),
            None => {
                let result = self.nested(|dumper| dumper.dataset(token, name, subset));
                self.tolerate(name, result)
            }
        }
    }

    /// Prints a dataset that was printed under another name.
    pub(crate) fn wanted_hard_link(&mut self, name: &str, found: &str) -> Result<()> {
        let indent = "   ".repeat(self.indent);
        let head = [b"\n", indent.as_bytes(), b"DATASET \"", &to_bytes(name)[..], b"\" {\n"].concat();
        self.put(&head)?;
        let link = [indent.as_bytes(), b"   HARDLINK \"", &to_bytes(found)[..], b"\"\n"].concat();
        self.put(&link)?;
        self.put(&[indent.as_bytes(), b"}"].concat())
    }

    fn wanted_group(&mut self, name: &str) -> Result<()> {
        if let Some((place, token)) = self.find_outside(name, ObjectKind::Group) {
            return self.in_file(place, |dumper| dumper.nested(|dumper| dumper.group(token, name)));
        }
        match self.find_kind(name, ObjectKind::Group) {
            Some(token) => {
                let result = self.nested(|dumper| dumper.group(token, name));
                self.tolerate(name, result)
            }
            None => self.missing("GROUP", "group", name),
        }
    }

    /// Prints the block of an object that does not exist.
    fn missing(&mut self, word: &str, what: &str, name: &str) -> Result<()> {
        self.fail(&format!("unable to open {what} \"{name}\""));
        hint(&*self.container(), name);
        let brace: &[u8] = if word == "GROUP" { b"\" {" } else { b"\" " };
        self.put(&[b"\n", word.as_bytes(), b" \"", &to_bytes(name)[..], brace, b"\n   "].concat())?;
        self.put(if word == "GROUP" { b"}" } else { b"" })
    }

    fn wanted_datatype(&mut self, name: &str) -> Result<()> {
        let unnamed = || {
            let tables = self.file().tables.clone();
            tables.unnamed_types().find(|token| format!("/#{}", token.to_u64()) == name)
        };
        match self.find_kind(name, ObjectKind::Datatype).or_else(unnamed) {
            Some(token) => {
                let result = self.nested(|dumper| dumper.named_type(token, name));
                self.tolerate(name, result)
            }
            None => self.missing("DATATYPE", "datatype", name),
        }
    }

    fn wanted_link(&mut self, name: &str) -> Result<()> {
        let found = split_last(name).and_then(|(parent, last)| {
            let group = self.find(if parent.is_empty() { "/" } else { parent })?;
            self.container().link_get(group, last)
        });
        let Ok(Some(link)) = found else {
            self.fail(&format!("unable to get link info from \"{name}\""));
            hint(&*self.container(), name);
            return Ok(());
        };
        let (word, lines) = match link.target {
            LinkTarget::Hard(_) => {
                self.fail(&format!("\"{name}\" is a hard link"));
                return Ok(());
            }
            LinkTarget::Soft(path) => ("SOFTLINK", vec![quoted("LINKTARGET", &path)]),
            LinkTarget::External { file, path } => {
                ("EXTERNAL_LINK", vec![quoted("TARGETFILE", &file), quoted("TARGETPATH", &path)])
            }
            LinkTarget::User { class, .. } => {
                ("USERDEFINED_LINK", vec![format!("LINKCLASS {class}").into_bytes()])
            }
        };
        self.put(&[b"\n", word.as_bytes(), b" \"", &to_bytes(name)[..], b"\" {\n"].concat())?;
        for line in lines {
            self.put(&[b"   ", &line[..], b"\n"].concat())?;
        }
        self.put(b"}")
    }

    fn wanted_attribute(&mut self, name: &str) -> Result<()> {
        let (object, attribute) = split_attribute(name);
        let Ok(token) = self.find(object) else {
            self.fail(&format!("unable to open object \"{object}\""));
            hint(&*self.container(), object);
            return self.put(&[b"\nATTRIBUTE \"", &to_bytes(name)[..], b"\" {\n}"].concat());
        };
        match self.container().attribute_info(token, &attribute)? {
            Some(info) => {
                let result = self.nested(|dumper| dumper.attribute(token, &info));
                self.tolerate(name, result)
            }
            None => {
                self.fail(&format!("unable to open attribute \"{attribute}\""));
                self.put(&[b"\nATTRIBUTE \"", &to_bytes(&attribute)[..], b"\" {\n}"].concat())
            }
        }
    }

    /// Prints every attribute, object or link that the name fits.
    fn wanted_anything(&mut self, name: &str) -> Result<()> {
        let mut found = Vec::new();
        let container = self.container();
        let sorting = Sorting { by: Index::Name, order: Order::Increasing };
        let (_, attribute) = split_attribute(name);
        let absolute = if name.starts_with('/') { name.to_owned() } else { format!("/{name}") };
        walk(&*container, self.sorting(), &mut |step| {
            let Some((kind, token)) = step.object else {
                if is_at(step.path, &absolute) {
                    found.push(WantedObject::Link(name.to_owned()));
                }
                return Ok(());
            };
            if !step.again {
                let listed = list_attributes(&*container, token, sorting).unwrap_or_default();
                if listed.iter().any(|a| a.name == attribute) {
                    found.push(WantedObject::Attribute(attribute_path(&step.path.to_string(), name)));
                }
            }
            if is_at(step.path, name) {
                found.push(match kind {
                    ObjectKind::Group => WantedObject::Group(step.path.to_string()),
                    ObjectKind::Datatype => WantedObject::Datatype(step.path.to_string()),
                    _ => WantedObject::Dataset(step.path.to_string(), None),
                });
            }
            Ok(())
        })?;
        found.iter().try_for_each(|wanted| self.wanted(wanted))
    }
}

/// Returns whether a path has this text.
fn is_at(path: &ObjectPath, text: &str) -> bool {
    path.len() == text.len() && path.to_string() == text
}

fn quoted(word: &str, text: &str) -> Vec<u8> {
    [word.as_bytes(), b" \"", &to_bytes(text)[..], b"\""].concat()
}

fn attribute_path(object: &str, name: &str) -> String {
    match name.starts_with('/') {
        true => name.to_owned(),
        false if object.ends_with('/') => format!("{object}{name}"),
        false => format!("{object}/{name}"),
    }
}

/// Returns the object and the attribute of a path; a slash in the attribute's name stands behind a backslash.
fn split_attribute(path: &str) -> (&str, String) {
    let bytes = path.as_bytes();
    let slash = (0..bytes.len()).rev().find(|&i| bytes[i] == b'/' && (i == 0 || bytes[i - 1] != b'\\'));
    let (object, attribute) = match slash {
        Some(at) => (&path[..=at], &path[at + 1..]),
        None => ("/", path),
    };
    (object, attribute.replace("\\/", "/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escaped_slashes_belong_to_the_attribute() {
        assert_eq!(split_attribute("/g/a"), ("/g/", "a".to_owned()));
        assert_eq!(split_attribute("/g/a\\/b"), ("/g/", "a/b".to_owned()));
        assert_eq!(split_attribute("a"), ("/", "a".to_owned()));
        assert_eq!(split_attribute("/\\/attr1"), ("/", "/attr1".to_owned()));
    }
}
