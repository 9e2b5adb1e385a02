//! Changes by hand: what people edited, added or took away while the container was open.
//!
//! A file or folder that looks as it was is not read. Where an object was changed both by hand and through the
//! container since the last commit, the container wins.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use json_text::Loader;
use json_text::files::{self, Stamp};
use json_text::text::{self, Value};
use model::{Context, Error, ObjectKind, Result, Token};
use vol::{Container, DatasetInfo, OpList};

use crate::container::RawContainer;
use crate::folder::Folder;
use crate::homes::{Listing, StoredMetadata};
use crate::load::{KnownObjects, load};
use crate::names;
use crate::scan::{Forms, Parent, ScanResult, level};

/// The differences in the folder of a group.
struct Changes {
    path: PathBuf,
    listing: Listing,
    gone: Vec<OsString>,
    come: Vec<(OsString, Forms)>,
}

/// Keys of a map taken at a time.
const KEYS_PER_PAGE: u64 = 1024;

impl Folder {
    /// Picks up what changed by hand of one object: its metadata, and the folder of a group.
    pub(crate) fn refresh(self: &Arc<Self>, object: Token) -> Result<()> {
        let is_group = self.homes().listings.contains_key(&object);
        if !self.is_metadata_current(object, is_group) {
            self.refresh_metadata(object, is_group)?;
        }
        if is_group && !self.is_listing_current(object) {
            self.refresh_listing(object)?;
        }
        Ok(())
    }

    /// Picks up what changed by hand anywhere. What cannot be read stays as it is, and is no reason not to commit
    /// the rest.
    pub(crate) fn refresh_all(self: &Arc<Self>) {
        let root = self.homes().root();
        let tokens = self.homes().tokens();
        for token in tokens.into_iter().chain([root]) {
            if let Err(error) = self.refresh(token) {
                self.warn(format!("a change by hand was left out: {error}"));
            }
        }
    }

    fn is_metadata_current(&self, object: Token, is_group: bool) -> bool {
        let homes = self.homes();
        let (Some(seen), Some(path)) = (homes.seen.get(&object), homes.metadata_path(object, is_group))
        else {
            return true;
        };
        seen.is_current(Stamp::at(self.dir(), &path))
    }

    fn is_listing_current(&self, group: Token) -> bool {
        let homes = self.homes();
        let (Some(listing), Some(path)) = (homes.listings.get(&group), homes.path(group)) else {
            return true;
        };
        listing.is_current(Stamp::at(self.dir(), &path))
    }

    fn refresh_metadata(self: &Arc<Self>, object: Token, is_group: bool) -> Result<()> {
        // An error may come of a commit that moves things right now: then it is looked at again, in peace.
        if matches!(self.changed_metadata(object, is_group), Ok(None)) {
            return Ok(());
        }
        // A caller changed it: no other caller may meanwhile. It may have been picked up before it was our turn.
        let _paused = self.keeper().shared().pause();
        let Some((path, content, stamp)) = self.changed_metadata(object, is_group)? else { return Ok(()) };
        if self.is_dirty(object) {
            return Ok(());
        }
        let during = format!("read {}", self.dir().path(&path).display());
        let value = text::read(&content).during(&during)?;
        let keeper = RawContainer::keeper(self);
        let kind = Container::object_info(self.keeper(), object)?.kind;
        let applied = self.apply_metadata(&keeper, object, kind, &value).during(&during);
        self.untouch(object);
        applied?;
        self.homes_mut().seen.insert(object, StoredMetadata::new(&content, stamp));
        Ok(())
    }

    /// Returns the metadata of an object, if it is another than was seen.
    fn changed_metadata(&self, object: Token, is_group: bool) -> Result<Option<(PathBuf, String, Stamp)>> {
        let path = self.homes().metadata_path(object, is_group);
        // A caller that takes the file away changes the folder as well, where that is seen.
        let Some(path) = path.filter(|path| self.dir().is_file(path)) else { return Ok(None) };
        let (content, stamp) = files::read_text(self.dir(), &path, self.limits().metadata_bytes_max)?;
        let is_known = self.homes().seen.get(&object).is_none_or(|seen| seen.is_text(&content));
        if is_known {
            let mut homes = self.homes_mut();
            // It may have been written anew meanwhile, and then it is another text.
            if let Some(seen) = homes.seen.get_mut(&object).filter(|seen| seen.is_text(&content)) {
                *seen = StoredMetadata::new(&content, stamp);
            }
            return Ok(None);
        }
        Ok(Some((path, content, stamp)))
    }

    /// Creates an object what its metadata says.
    pub(crate) fn apply_metadata(
        &self,
        keeper: &RawContainer,
        object: Token,
        kind: ObjectKind,
        value: &Value<'_>,
    ) -> Result<()> {
        let objects = KnownObjects(self);
        let loader = Loader::new(keeper, &objects, self.limits());
        let op = OpList { count_max: u64::MAX, ..OpList::default() };
        for info in keeper.attribute_list(object, &op)?.entries {
            keeper.attribute_delete(object, &info.name)?;
        }
        keeper.object_set_comment(object, None)?;
        loader.common(object, value)?;
        match kind {
            ObjectKind::Dataset => self.apply_dataset(keeper, &loader, object, value),
            ObjectKind::Map => {
                clear_map(keeper, object)?;
                loader.pairs(object, value)
            }
            _ => Ok(()),
        }
    }

    fn apply_dataset(
        &self,
        keeper: &RawContainer,
        loader: &Loader<'_>,
        dataset: Token,
        value: &Value<'_>,
    ) -> Result<()> {
        let op = loader.dataset_op(value)?;
        let old = keeper.dataset_info(dataset)?;
        let datatype = op.datatype.with_descriptors(&keeper.info()?.descriptors);
        let new = DatasetInfo { datatype, committed: op.committed, space: op.space, create: op.create };
        let is_same = |a: &DatasetInfo, b: &DatasetInfo| a.datatype == b.datatype && a.space == b.space;
        if is_same(&old, &new) {
            return Ok(());
        }
        crate::data::extent_bytes(&new).map_err(|e| Error::corrupt("read dataset").because(e))?;
        if crate::data::is_external(&new) || crate::data::is_external(&old) {
            self.warn("a virtual or external dataset was changed by hand: open the container again".into());
            return Ok(());
        }
        // Its properties stay those it was made with, except the fill value.
        let mut create = old.create.clone();
        create.fill = new.create.fill.clone();
        self.data(dataset).set_edited(DatasetInfo { create, ..new });
        Ok(())
    }

    fn refresh_listing(self: &Arc<Self>, group: Token) -> Result<()> {
        let changes = self.changed_listing(group);
        if matches!(changes, Ok(None)) {
            return Ok(());
        }
        if let Ok(Some(changes)) = changes
            && changes.gone.is_empty()
            && changes.come.is_empty()
        {
            let mut homes = self.homes_mut();
            // A commit may have changed the folder since: then this is old.
            if homes.listings.get(&group).is_some_and(|known| known.is_same(&changes.listing)) {
                homes.listings.insert(group, changes.listing);
            }
            return Ok(());
        }
        // A caller changed it: no other caller may meanwhile. It may have been picked up before it was our turn.
        let _paused = self.keeper().shared().pause();
        let Some(changes) = self.changed_listing(group)? else { return Ok(()) };
        let keeper = RawContainer::keeper(self);
        self.unlink(&keeper, group, &changes.gone)?;
        self.add(&keeper, group, &changes.path, &changes.come)?;
        self.homes_mut().listings.insert(group, changes.listing);
        Ok(())
    }

    /// Returns what is in the folder of a group, and what differs from what was seen.
    fn changed_listing(&self, group: Token) -> Result<Option<Changes>> {
        let (path, old) = {
            let homes = self.homes();
            (homes.path(group), homes.listings.get(&group).cloned())
        };
        let (Some(path), Some(old)) = (path.filter(|path| self.dir().is_dir(path)), old) else {
            return Ok(None);
        };
        let listing = level(self.dir(), &path, self.limits())?;
        let differs = |stem: &OsString, forms: &Forms, other: &BTreeMap<OsString, Forms>| {
            !other.get(stem).is_some_and(|other| other.is_same(forms))
        };
        let gone = old.forms.iter().filter(|(stem, forms)| differs(stem, forms, &listing.forms));
        let gone = gone.map(|(stem, _)| stem.clone()).collect();
        let come = listing.forms.iter().filter(|(stem, forms)| differs(stem, forms, &old.forms));
        let come = come.map(|(stem, forms)| (stem.clone(), *forms)).collect();
        Ok(Some(Changes { path, listing, gone, come }))
    }

    /// Takes links away whose files are gone.
    fn unlink(&self, keeper: &RawContainer, group: Token, gone: &[OsString]) -> Result<()> {
        if gone.is_empty() {
            return Ok(());
        }
        let op = OpList { count_max: u64::MAX, ..OpList::default() };
        let links = keeper.link_list(group, &op)?.entries;
        let stems = names::stems(links.iter().map(|link| link.name.as_str()));
        let was_dirty = self.is_dirty(group);
        for (name, _) in stems.iter().filter(|(_, stem)| gone.contains(stem)) {
            keeper.link_delete(group, name)?;
        }
        for stem in gone {
            let object = self.homes().at(group, stem);
            if let Some(object) = object {
                self.homes_mut().remove(object);
            }
        }
        if !was_dirty {
            self.untouch(group);
        }
        Ok(())
    }

    /// Takes in what was added.
    fn add(
        &self,
        keeper: &RawContainer,
        group: Token,
        path: &Path,
        come: &[(OsString, Forms)],
    ) -> Result<()> {
        if come.is_empty() {
            return Ok(());
        }
        let mut found = ScanResult::new(self.dir(), self.limits());
        found.stems(path, Parent::Known(group), come)?;
        let was_dirty = self.is_dirty(group);
        load(self, keeper, &found, None)?;
        if !was_dirty {
            self.untouch(group);
        }
        Ok(())
    }
}

fn clear_map(container: &RawContainer, map: Token) -> Result<()> {
    loop {
        let keys = container.map_keys(map, None, KEYS_PER_PAGE)?.entries;
        if keys.is_empty() {
            return Ok(());
        }
        for key in keys {
            container.map_delete(map, &key)?;
        }
    }
}
