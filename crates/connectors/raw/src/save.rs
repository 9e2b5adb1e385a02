//! A commit: objects go where they belong, metadata that changed is replaced, what is gone goes.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use dir::{Dir, Entry, EntryKind, Open};
use json_text::files::{self, replace};
use json_text::text::{Fields, Value, list, write};
use json_text::{Saver, charset_to_json, file_to_json};
use model::properties::CreationOrder;
use model::{Context, Error, Kind, ObjectKind, Result, Token};
use vol::Durability;

use crate::check::STORED_BYTES;
use crate::container::RawContainer;
use crate::folder::Folder;
use crate::homes::{OWN_FOLDER, ObjectHomes, StoredMetadata, TYPES_FOLDER, with_ending};
use crate::load::{FORMAT, KnownObjects};
use crate::moves::remove_file;
use crate::names::is_cut;
use crate::plan::{Plan, Planned};
use crate::scan;

/// The state of the files.
#[derive(Debug)]
pub(crate) struct Saved {
    pub(crate) changes: u64,
    /// The durability of the last commit.
    durability: Durability,
}

impl Saved {
    /// Nothing is owed for what others wrote.
    pub(crate) fn at_open(changes: u64) -> Saved {
        Saved { changes, durability: Durability::Full }
    }
}

/// Returns how much a commit promises.
fn rank(durability: Durability) -> u8 {
    match durability {
        Durability::None => 0,
        Durability::Ordered => 1,
        Durability::Full => 2,
    }
}

pub(crate) fn failed(operation: &str, dir: &Dir, path: &Path, e: &std::io::Error) -> Error {
    Error::io(operation, e).with("path", dir.path(path).display())
}

/// Makes everything in a container survive.
fn sync_all(dir: &Dir) -> Result<()> {
    let mut pending = vec![PathBuf::new()];
    while let Some(folder) = pending.pop() {
        let listing = |e: std::io::Error| failed("list folder", dir, &folder, &e);
        for entry in dir.entries(&folder).map_err(listing)? {
            let Entry { name, kind } = entry.map_err(listing)?;
            let path = folder.join(name);
            match kind {
                EntryKind::Dir => pending.push(path),
                EntryKind::File => {
                    let synced = dir.file(&path, Open::TO_SYNC).and_then(|file| file.sync_all());
                    synced.map_err(|e| failed("sync file", dir, &path, &e))?;
                }
                _ => {}
            }
        }
        files::sync_folder(dir, &folder)?;
    }
    Ok(())
}

/// One commit.
pub(crate) struct Commit<'a> {
    pub(crate) folder: &'a Folder,
    pub(crate) saver: &'a Saver<'a>,
    pub(crate) plan: Plan,
    pub(crate) durability: Durability,
    /// Objects on their way to another place, and where they are meanwhile.
    pub(crate) moving: HashMap<Token, PathBuf>,
    /// Groups whose folders changed.
    pub(crate) touched: HashSet<Token>,
    /// Whether the moves were noted.
    pub(crate) is_noted: bool,
}

impl Folder {
    /// Writes what changed since the last commit.
    pub(crate) fn save(self: &Arc<Self>, durability: Durability) -> Result<()> {
        let mut saved = self.saved.lock();
        self.refresh_all();
        let shared = self.keeper().shared();
        let _still = self.resizing.write();
        let paused = shared.pause();
        let changes = shared.changes();
        let is_owed = rank(durability) > rank(saved.durability);
        if saved.changes == changes && !is_owed {
            return Ok(());
        }
        // Elements before the metadata that speaks of them.
        self.sync(durability)?;
        let keeper = RawContainer::keeper(self);
        let objects = KnownObjects(self);
        let saver = Saver::new(&keeper, &objects, self.limits())?;
        let plan = Plan::new(&saver, &self.homes(), &self.birthplaces())?;
        let (moving, touched) = (HashMap::new(), HashSet::new());
        let mut commit =
            Commit { folder: self, saver: &saver, plan, durability, moving, touched, is_noted: false };
        commit.run().during("write folder")?;
        self.birthplaces().clear();
        self.clean();
        drop(paused);
        if is_owed {
            // What earlier commits left to the system.
            sync_all(self.dir())?;
        }
        *saved = Saved { changes, durability };
        Ok(())
    }

    /// Syncs elements and values that were written.
    fn sync(&self, durability: Durability) -> Result<()> {
        if durability == Durability::None {
            return Ok(());
        }
        self.blobs.sync()?;
        let dirty: Vec<_> = {
            let all = self.all_data();
            let dirty = all.iter().filter(|(_, data)| data.is_dirty.swap(false, Ordering::SeqCst));
            dirty.map(|(token, data)| (*token, data.clone())).collect()
        };
        for (token, data) in dirty {
            self.sync_elements(token, &data)?;
        }
        Ok(())
    }
}

impl Commit<'_> {
    fn run(&mut self) -> Result<()> {
        {
            // A caller that opens a file of elements looks here first: while things move, no one does.
            let mut homes = self.folder.homes_mut();
            self.move_all(&mut homes)?;
        }
        self.write_metadata()?;
        self.bring_elements()?;
        self.write_links()?;
        self.write_types()?;
        self.look_again()
    }

    /// Returns what each file promises: folders are synced once, at the end.
    fn of_files(&self) -> Durability {
        if self.durability == Durability::None { Durability::None } else { Durability::Ordered }
    }

    fn write_metadata(&mut self) -> Result<()> {
        let root = self.folder.homes().root();
        let text = write(&self.root(root)?)?;
        self.put(root, true, &text)?;
        let plan = std::mem::take(&mut self.plan.objects);
        for planned in &plan {
            let is_seen = self.folder.homes().seen.contains_key(&planned.token);
            let is_moved = is_cut(&planned.home.stem) && self.touched.contains(&planned.home.parent);
            if is_seen && !is_moved && !self.folder.is_dirty(planned.token) {
                continue;
            }
            let text = write(&self.object(planned)?)?;
            self.put(planned.token, planned.kind == ObjectKind::Group, &text)?;
        }
        self.plan.objects = plan;
        Ok(())
    }

    /// Replaces the metadata of an object, if it is another text.
    fn put(&mut self, token: Token, is_group: bool, text: &str) -> Result<()> {
        let path = self.folder.homes().metadata_path(token, is_group);
        let Some(path) = path else { return Ok(()) };
        let is_same = self.folder.homes().seen.get(&token).is_some_and(|seen| seen.is_text(text));
        if is_same && self.folder.dir().is_file(&path) {
            return Ok(());
        }
        let stamp = replace(self.folder.dir(), &path, text.as_bytes(), self.of_files())?;
        let mut homes = self.folder.homes_mut();
        let parent = homes.get(token).map(|home| home.parent);
        self.touched.extend(if is_group { Some(token) } else { parent });
        homes.seen.insert(token, StoredMetadata::new(text, stamp));
        Ok(())
    }

    fn root(&self, root: Token) -> Result<Value<'static>> {
        let number_next = self.folder.ids().number_next();
        let fields = Fields::new()
            .with("format", FORMAT)
            .with("version", 1u8)
            .with("id", self.folder.ids().id(root)?.to_owned())
            .with("numberNext", number_next)
            .some("fileCreationProperties", file_to_json(self.folder.file_create()));
        Ok(fields.append(self.group(root)?).into())
    }

    fn group(&self, group: Token) -> Result<Fields<'static>> {
        let links = self.plan.groups.get(&group).map(|links| links.all.as_slice()).unwrap_or_default();
        let tracked = self.saver.container.group_info(group)?.create.link_order != CreationOrder::Untracked;
        let order = tracked.then(|| list(links.iter().map(|link| link.name.clone())));
        let charsets =
            links.iter().filter_map(|link| Some((link, charset_to_json(&link.name, link.charset)?)));
        let charsets =
            charsets.fold(Fields::new(), |fields, (link, word)| fields.with(link.name.clone(), word));
        let order = order.filter(|_| !links.is_empty());
        Ok(self.saver.group(group)?.some("order", order).some("charSets", charsets.filled()))
    }

    fn object(&self, planned: &Planned) -> Result<Value<'static>> {
        let token = planned.token;
        let name = is_cut(&planned.home.stem).then(|| planned.name.clone());
        let fields = Fields::new()
            .with("kind", planned.kind.name())
            .with("id", self.folder.ids().id(token)?.to_owned())
            .some("name", name);
        Ok(fields
            .append(match planned.kind {
                ObjectKind::Group => self.group(token)?,
                ObjectKind::Dataset => {
                    self.saver.dataset(token)?.some(STORED_BYTES, self.folder.stored_bytes(token)?)
                }
                ObjectKind::Datatype => self.saver.committed(token)?,
                ObjectKind::Map => self.saver.map(token)?,
            })
            .into())
    }

    /// Links that are no homes, as files; link files that are no links any more go.
    fn write_links(&mut self) -> Result<()> {
        let groups: Vec<Token> = self.plan.groups.keys().copied().collect();
        for group in groups {
            if self.touched.contains(&group) || self.folder.is_dirty(group) {
                self.links_of(group)?;
                self.touched.insert(group);
            }
        }
        Ok(())
    }

    fn links_of(&self, group: Token) -> Result<()> {
        let Some(folder) = self.folder.homes().path(group) else { return Ok(()) };
        let wanted = self.wanted_links(&self.folder.homes(), group)?;
        let there = scan::level(self.folder.dir(), &folder, self.folder.limits())?.forms;
        for (stem, _) in there.iter().filter(|(stem, forms)| forms.link && !wanted.contains_key(*stem)) {
            remove_file(self.folder.dir(), &with_ending(&folder.join(stem), ".link"))?;
        }
        for (stem, text) in wanted {
            let path = with_ending(&folder.join(&stem), ".link");
            let is_there = there.get(&stem).is_some_and(|forms| forms.link);
            let old = is_there
                .then(|| files::read_text(self.folder.dir(), &path, self.folder.limits().metadata_bytes_max));
            if !old.is_some_and(|old| old.is_ok_and(|(old, _)| old == text)) {
                replace(self.folder.dir(), &path, text.as_bytes(), self.of_files())?;
            }
        }
        Ok(())
    }

    fn wanted_links(&self, homes: &ObjectHomes, group: Token) -> Result<BTreeMap<OsString, String>> {
        let Some(links) = self.plan.groups.get(&group) else { return Ok(BTreeMap::new()) };
        let mut wanted = BTreeMap::new();
        for link in links.all.iter().filter(|link| !self.plan.is_home(homes, group, link)) {
            let Some(stem) = links.stems.get(&link.name) else { continue };
            let name = is_cut(stem).then(|| link.name.clone());
            let value = Fields::new().some("name", name).append(self.saver.link(link)?);
            wanted.insert(stem.clone(), write(&value.into())?);
        }
        Ok(wanted)
    }

    /// Writes types that are used though no link leads to them.
    fn write_types(&self) -> Result<()> {
        let (dir, folder) = (self.folder.dir(), Path::new(OWN_FOLDER).join(TYPES_FOLDER));
        let mut wanted = BTreeMap::new();
        for &token in &self.plan.unlinked_types {
            let id = self.folder.ids().id(token)?.to_owned();
            let fields = Fields::new().with("kind", "datatype").with("id", id);
            let text = write(&fields.append(self.saver.committed(token)?).into())?;
            let name = OsString::from(self.moving_name(token)?);
            wanted.insert(name, text);
        }
        if wanted.is_empty() && !dir.is_dir(&folder) {
            return Ok(());
        }
        dir.make_dirs(&folder).map_err(|e| failed("create folder", dir, &folder, &e))?;
        for stem in scan::level(self.folder.dir(), &folder, self.folder.limits())?
            .forms
            .keys()
            .filter(|s| !wanted.contains_key(*s))
        {
            remove_file(self.folder.dir(), &with_ending(&folder.join(stem), ".json"))?;
        }
        for (stem, text) in wanted {
            replace(dir, &with_ending(&folder.join(stem), ".json"), text.as_bytes(), self.of_files())?;
        }
        if self.durability == Durability::Full { files::sync_folder(dir, &folder) } else { Ok(()) }
    }

    /// Notes what is in the folders now, so that it is no change by hand.
    fn look_again(&self) -> Result<()> {
        for &group in &self.touched {
            let Some(folder) = self.folder.homes().path(group) else { continue };
            match scan::level(self.folder.dir(), &folder, self.folder.limits()) {
                Ok(listing) => {
                    self.folder.homes_mut().listings.insert(group, listing);
                }
                Err(error) if error.kind() == Kind::NotFound => {}
                Err(error) => return Err(error),
            }
            if self.durability == Durability::Full {
                files::sync_folder(self.folder.dir(), &folder)?;
            }
        }
        Ok(())
    }
}
