//! Listing of a folder, before objects are created from it. Links of the file system are not followed.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use dir::{Dir, Entry, EntryKind};
use json_text::files;
use json_text::ids::{digest, uuid};
use json_text::text::{self, Fields, Value, list};
use model::{Context, Error, Limits, ObjectKind, Result, Token};

use crate::homes::{GROUP_FILE, Listing, OWN_FOLDER, StoredMetadata, TYPES_FOLDER, with_ending};
use crate::names::{is_cut, name_of};

/// The files of one stem.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Forms {
    pub(crate) folder: bool,
    pub(crate) metadata: bool,
    pub(crate) data: bool,
    pub(crate) link: bool,
    /// A file without an ending of ours, which is its own stem.
    pub(crate) plain: bool,
}

impl Forms {
    /// Returns whether it is the same thing as before. Elements may come and go.
    pub(crate) fn is_same(&self, other: &Forms) -> bool {
        let essence = |f: &Forms| (f.folder, f.metadata, f.link, f.plain, f.data && !f.metadata);
        essence(self) == essence(other)
    }
}

/// Where an object is linked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Parent {
    /// In a group that is there already.
    Known(Token),
    /// In one that is found too, by its number.
    Found(usize),
}

/// An object that was found.
#[derive(Debug)]
pub(crate) struct ScanItem {
    /// `None` for a type that no link leads to.
    pub(crate) parent: Option<Parent>,
    pub(crate) stem: OsString,
    /// Folder and stem, in the container.
    pub(crate) path: PathBuf,
    pub(crate) name: String,
    pub(crate) kind: ObjectKind,
    pub(crate) is_plain: bool,
    pub(crate) value: Value<'static>,
    pub(crate) seen: Option<StoredMetadata>,
    pub(crate) listing: Option<Listing>,
}

/// A link that is a file.
#[derive(Debug)]
pub(crate) struct LinkItem {
    pub(crate) parent: Parent,
    pub(crate) name: String,
    pub(crate) value: Value<'static>,
}

/// All that was found.
#[derive(Debug)]
pub(crate) struct ScanResult<'a> {
    dir: &'a Dir,
    limits: &'a Limits,
    pub(crate) items: Vec<ScanItem>,
    pub(crate) links: Vec<LinkItem>,
    pub(crate) warnings: Vec<String>,
}

/// Returns the entries of a folder, by stem.
pub(crate) fn level(dir: &Dir, folder: &Path, limits: &Limits) -> Result<Listing> {
    let failed = |e: std::io::Error| Error::io("list folder", &e).with("path", dir.path(folder).display());
    let stamp = files::Stamp::at(dir, folder);
    let mut forms: BTreeMap<OsString, Forms> = BTreeMap::new();
    for entry in dir.entries(folder).map_err(failed)? {
        let Entry { name, kind } = entry.map_err(failed)?;
        match kind {
            _ if name.as_encoded_bytes().starts_with(b".") => {}
            EntryKind::Dir => forms.entry(name).or_default().folder = true,
            EntryKind::File => note_file(name, &mut forms),
            _ => {}
        }
        if forms.len() as u64 > limits.entries_max {
            return Err(Error::limit("list folder").with("limit", limits.entries_max));
        }
    }
    Ok(Listing::new(stamp, forms))
}

fn note_file(name: OsString, forms: &mut BTreeMap<OsString, Forms>) {
    let text = name.to_str().unwrap_or_default();
    let strip = |ending| text.strip_suffix(ending).filter(|stem| !stem.is_empty()).map(OsString::from);
    if let Some(stem) = strip(".json") {
        forms.entry(stem).or_default().metadata = true;
    } else if let Some(stem) = strip(".bin") {
        forms.entry(stem).or_default().data = true;
    } else if let Some(stem) = strip(".link") {
        forms.entry(stem).or_default().link = true;
    } else {
        forms.entry(name).or_default().plain = true;
    }
}

impl<'a> ScanResult<'a> {
    /// Nothing yet, of the container in `dir`.
    pub(crate) fn new(dir: &'a Dir, limits: &'a Limits) -> Self {
        ScanResult { dir, limits, items: Vec::new(), links: Vec::new(), warnings: Vec::new() }
    }

    /// Finds all that is in a container; the entries of its root folder.
    pub(crate) fn all(&mut self, root: Token) -> Result<Listing> {
        let listing = level(self.dir, Path::new(""), self.limits)?;
        let stems: Vec<_> = listing.forms.iter().map(|(stem, forms)| (stem.clone(), *forms)).collect();
        self.stems(Path::new(""), Parent::Known(root), &stems)?;
        self.unlinked_types()?;
        Ok(listing)
    }

    /// Finds what some stems of a folder are, and what is below.
    pub(crate) fn stems(&mut self, folder: &Path, parent: Parent, stems: &[(OsString, Forms)]) -> Result<()> {
        let mut next = self.items.len();
        for (stem, forms) in stems {
            self.stem(folder, parent, stem, forms)?;
        }
        // Groups that are found come to the end: no recursion that folders control.
        while let Some(item) = self.items.get(next) {
            if item.kind == ObjectKind::Group {
                let folder = item.path.clone();
                let listing = level(self.dir, &folder, self.limits)?;
                for (stem, forms) in &listing.forms {
                    self.stem(&folder, Parent::Found(next), stem, forms)?;
                }
                self.items[next].listing = Some(listing);
            }
            next += 1;
            if self.items.len() as u64 > self.limits.entries_max {
                return Err(Error::limit("read folder").with("limit", self.limits.entries_max));
            }
        }
        Ok(())
    }

    fn stem(&mut self, folder: &Path, parent: Parent, stem: &OsString, forms: &Forms) -> Result<()> {
        let path = folder.join(stem);
        if [forms.folder, forms.metadata, forms.link, forms.plain].iter().filter(|is| **is).count() > 1 {
            let problem = "more than one thing has this name; only one is shown";
            self.warnings.push(format!("{}: {problem}", self.dir.path(&path).display()));
        }
        match forms {
            Forms { folder: true, .. } => {
                let file = path.join(GROUP_FILE);
                let known = self
                    .dir
                    .is_file(&file)
                    .then(|| read_metadata(self.dir, &file, self.limits))
                    .transpose()?;
                self.object(parent, stem, path, known, true)
            }
            Forms { metadata: true, .. } => {
                let file = with_ending(&path, ".json");
                let (value, seen) = read_value(self.dir, &file, self.limits)?;
                if is_ours(&value) {
                    return self.object(parent, stem, path, Some((value, seen)), false);
                }
                // A text of another caller's, and elements that it says nothing about.
                let mut name = stem.clone();
                name.push(".json");
                self.bytes(parent, &name, file, true);
                if forms.data {
                    self.bytes(parent, stem, path, false);
                }
                Ok(())
            }
            Forms { link: true, .. } => {
                let (value, _) = read_metadata(self.dir, &with_ending(&path, ".link"), self.limits)?;
                let name = name_in(&value, stem)?;
                self.links.push(LinkItem { parent, name, value });
                Ok(())
            }
            _ => {
                self.bytes(parent, stem, path, forms.plain);
                Ok(())
            }
        }
    }

    fn object(
        &mut self,
        parent: Parent,
        stem: &OsString,
        path: PathBuf,
        known: Option<(Value<'static>, StoredMetadata)>,
        is_group: bool,
    ) -> Result<()> {
        let (value, seen) =
            known.map_or((Value::Object(Vec::new()), None), |(value, seen)| (value, Some(seen)));
        let kind = match value.get("kind").and_then(|kind| kind.text().ok()) {
            _ if is_group => ObjectKind::Group,
            Some("datatype") => ObjectKind::Datatype,
            Some("map") => ObjectKind::Map,
            _ => ObjectKind::Dataset,
        };
        let (name, parent, stem) = (name_in(&value, stem)?, Some(parent), stem.clone());
        let is_plain = false;
        self.items.push(ScanItem { parent, stem, path, name, kind, is_plain, value, seen, listing: None });
        Ok(())
    }

    /// Reads a file without metadata as a dataset of bytes.
    fn bytes(&mut self, parent: Parent, stem: &OsString, path: PathBuf, is_plain: bool) {
        let file = if is_plain { path.clone() } else { with_ending(&path, ".bin") };
        let bytes = self.dir.info(&file).map_or(0, |info| info.bytes);
        let shape = Fields::class("H5S_SIMPLE").with("dims", list([bytes]));
        let value = Fields::new().with("type", "H5T_STD_U8LE").with("shape", shape).into();
        let (name, parent, stem, kind) = (name_of(stem), Some(parent), stem.clone(), ObjectKind::Dataset);
        let (seen, listing) = (None, None);
        self.items.push(ScanItem { parent, stem, path, name, kind, is_plain, value, seen, listing });
    }

    /// Types that are used though no link leads to them.
    fn unlinked_types(&mut self) -> Result<()> {
        let folder = Path::new(OWN_FOLDER).join(TYPES_FOLDER);
        if !self.dir.is_dir(&folder) {
            return Ok(());
        }
        for (stem, _) in
            level(self.dir, &folder, self.limits)?.forms.into_iter().filter(|(_, forms)| forms.metadata)
        {
            let path = folder.join(&stem);
            let (value, _) = read_metadata(self.dir, &with_ending(&path, ".json"), self.limits)?;
            let (parent, kind, name, is_plain) = (None, ObjectKind::Datatype, String::new(), false);
            let (seen, listing) = (None, None);
            self.items.push(ScanItem { parent, stem, path, name, kind, is_plain, value, seen, listing });
        }
        Ok(())
    }

    /// Returns the identity that the metadata says, and one made of the path for what has none, or that of a copy.
    pub(crate) fn ids(&self, item: &ScanItem) -> [Option<String>; 2] {
        let made = uuid(&digest(item.path.as_os_str().as_encoded_bytes()));
        let said = item.value.get("id").and_then(|id| id.text().ok()).map(str::to_owned);
        [said, Some(made)]
    }
}

/// Returns the name of a link: in its stem or, where that was cut, in the metadata.
fn name_in(value: &Value<'_>, stem: &OsString) -> Result<String> {
    match value.get("name") {
        Some(name) if is_cut(stem) => name.text_owned(),
        _ => Ok(name_of(stem)),
    }
}

/// Returns whether a text is metadata of an object.
fn is_ours(value: &Value<'_>) -> bool {
    value.get("kind").is_some() || (value.get("type").is_some() && value.get("shape").is_some())
}

/// Returns the value of a metadata file.
pub(crate) fn read_metadata(
    dir: &Dir,
    path: &Path,
    limits: &Limits,
) -> Result<(Value<'static>, StoredMetadata)> {
    let (value, seen) = read_value(dir, path, limits)?;
    value.members().during(&format!("read {}", dir.path(path).display()))?;
    Ok((value, seen))
}

/// Returns the value of a JSON file.
fn read_value(dir: &Dir, path: &Path, limits: &Limits) -> Result<(Value<'static>, StoredMetadata)> {
    let during = format!("read {}", dir.path(path).display());
    let (content, stamp) = files::read_text(dir, path, limits.metadata_bytes_max).during(&during)?;
    let value = text::read(&content).during(&during)?;
    Ok((value.into_owned(), StoredMetadata::new(&content, stamp)))
}
