//! Objects go where they belong, in the folder: away from where they do not, then in.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;

use dir::Dir;
use model::{ObjectKind, Result, Token};

use crate::homes::{ObjectHome, ObjectHomes, with_ending};
use crate::plan::Planned;
use crate::recover::{self, Move};
use crate::removal;
use crate::save::{Commit, failed};

/// Removes a file that may not be there.
pub(crate) fn remove_file(dir: &Dir, path: &Path) -> Result<()> {
    match dir.remove_file(path) {
        Err(e) if e.kind() != std::io::ErrorKind::NotFound => Err(failed("remove file", dir, path, &e)),
        _ => Ok(()),
    }
}

/// Renames what may not be there; whether it was.
fn rename(dir: &Dir, from: &Path, to: &Path) -> Result<bool> {
    match dir.rename(from, to) {
        Err(e) if e.kind() == std::io::ErrorKind::NotFound && dir.info(from).is_err() => Ok(false),
        Err(e) => Err(failed("move", dir, from, &e).with("to", dir.path(to).display())),
        Ok(()) => Ok(true),
    }
}

fn make_folder(dir: &Dir, path: &Path) -> Result<()> {
    dir.make_dirs(path).map_err(|e| failed("create folder", dir, path, &e))
}

impl Commit<'_> {
    fn is_alive(&self, token: Token) -> bool {
        self.saver.container.object_info(token).is_ok()
    }

    /// Returns what an object is called while it moves.
    pub(crate) fn moving_name(&self, token: Token) -> Result<String> {
        let waiting = self.folder.waiting_path(token)?;
        Ok(waiting.file_stem().unwrap_or_default().to_string_lossy().into_owned())
    }

    fn moving_path(&self, token: Token) -> Result<PathBuf> {
        Ok(recover::moving_folder().join(self.moving_name(token)?))
    }

    /// Notes what will move, so that another program can finish it.
    fn note_moves(&mut self, homes: &ObjectHomes) -> Result<()> {
        let mut paths: HashMap<Token, PathBuf> = HashMap::from([(homes.root(), PathBuf::new())]);
        let mut moves = Vec::new();
        for Planned { token, kind, home, .. } in &self.plan.objects {
            let to = paths.get(&home.parent).cloned().unwrap_or_default().join(&home.stem);
            paths.insert(*token, to.clone());
            let (name, old) = (self.moving_name(*token)?, homes.get(*token));
            if *kind == ObjectKind::Dataset && self.has_waiting(*token, old.is_none())? {
                let dims = Some(self.saver.container.dataset_info(*token)?.space.dims().to_vec());
                moves.push(Move { name: name.clone(), to: to.clone(), dims });
            }
            if old.is_some_and(|old| old != home) {
                moves.push(Move { name, to, dims: None });
            }
        }
        self.is_noted = !moves.is_empty();
        if self.is_noted { recover::note(self.folder.dir(), &moves, self.durability) } else { Ok(()) }
    }

    /// Returns whether elements wait to take the place of those at home.
    fn has_waiting(&self, dataset: Token, is_new: bool) -> Result<bool> {
        let is_fresh = self.folder.data(dataset).is_fresh.load(Ordering::SeqCst);
        Ok((is_new || is_fresh) && self.folder.dir().is_file(self.folder.waiting_path(dataset)?))
    }

    /// Brings every object to its place.
    pub(crate) fn move_all(&mut self, homes: &mut ObjectHomes) -> Result<()> {
        self.note_moves(homes)?;
        self.move_out(homes)?;
        self.forget_dead_data()?;
        self.move_in(homes)
    }

    /// Brings elements that waited, now that metadata speaks of them; then nothing moves any more.
    pub(crate) fn bring_elements(&self) -> Result<()> {
        for planned in self.plan.objects.iter().filter(|planned| planned.kind == ObjectKind::Dataset) {
            let data = self.folder.data(planned.token);
            if !data.is_fresh.load(Ordering::SeqCst) {
                continue;
            }
            let homes = self.folder.homes_mut();
            if let Some(path) = homes.data_path(planned.token) {
                rename(self.folder.dir(), &self.folder.waiting_path(planned.token)?, &path)?;
                data.is_fresh.store(false, Ordering::SeqCst);
            }
        }
        if self.is_noted { recover::forget(self.folder.dir()) } else { Ok(()) }
    }

    /// Takes everything away from where it does not belong any more: what is deepest first.
    fn move_out(&mut self, homes: &mut ObjectHomes) -> Result<()> {
        let wanted: HashMap<Token, ObjectHome> =
            self.plan.objects.iter().map(|planned| (planned.token, planned.home.clone())).collect();
        let leaving = homes.tokens().into_iter().filter(|token| homes.get(*token) != wanted.get(token));
        let mut leaving: Vec<(usize, Token)> = leaving.map(|token| (homes.depth(token), token)).collect();
        leaving.sort_unstable_by(|a, b| b.cmp(a));
        for (_, token) in leaving {
            let is_wanted = wanted.contains_key(&token);
            self.touched.extend(homes.get(token).map(|home| home.parent));
            if let (Some(path), Some(data)) = (homes.path(token), homes.data_path(token)) {
                match is_wanted {
                    true => self.take(token, &path, &data)?,
                    false => self.drop_or_keep(token, &path, &data)?,
                }
            }
            let seen = homes.seen.get(&token).cloned();
            homes.remove(token);
            if let Some(seen) = seen.filter(|_| is_wanted) {
                homes.seen.insert(token, seen);
            }
        }
        Ok(())
    }

    /// Moves all files of an object to where it waits.
    fn take(&mut self, token: Token, path: &Path, data: &Path) -> Result<()> {
        let (dir, to) = (self.folder.dir(), self.moving_path(token)?);
        make_folder(dir, &recover::moving_folder())?;
        if dir.is_dir(path) {
            rename(dir, path, &to)?;
        } else {
            rename(dir, data, &with_ending(&to, ".bin"))?;
            rename(dir, &with_ending(path, ".json"), &with_ending(&to, ".json"))?;
        }
        self.moving.insert(token, to);
        Ok(())
    }

    /// An object that no link leads to: its elements stay while a caller has it open.
    fn drop_or_keep(&self, token: Token, path: &Path, data: &Path) -> Result<()> {
        let dir = self.folder.dir();
        if dir.is_dir(path) {
            return self.drop_group(token, path);
        }
        // Elements first: without metadata they would be a dataset of bytes.
        let known = self.folder.data(token);
        if self.is_alive(token) && !known.is_fresh.load(Ordering::SeqCst) {
            let waiting = self.folder.waiting_path(token)?;
            make_folder(dir, &recover::waiting_folder())?;
            rename(dir, data, &waiting)?;
        }
        remove_file(dir, data)?;
        remove_file(dir, &with_ending(path, ".json"))
    }

    /// Removes the folder of a group, whose objects left it. What another caller put there is not ours to remove, and must
    /// not come back as a group: it is moved aside.
    fn drop_group(&self, token: Token, path: &Path) -> Result<()> {
        let dir = self.folder.dir();
        let left = dir.remove_known(path, removal::is_of_empty_group);
        let Some(name) = left.map_err(|e| failed("remove folder", dir, path, &e))? else { return Ok(()) };
        let aside = removal::keep_aside(dir, path, &self.moving_name(token)?)?;
        let (name, aside) = (dir.path(path.join(name)), dir.path(aside));
        self.folder.warn(format!(
            "{} is not the container's; it is in {} now",
            name.display(),
            aside.display()
        ));
        Ok(())
    }

    /// Elements of objects that are gone.
    fn forget_dead_data(&self) -> Result<()> {
        let tokens: Vec<Token> = self.folder.all_data().keys().copied().collect();
        for token in tokens.into_iter().filter(|token| !self.is_alive(*token)) {
            remove_file(self.folder.dir(), &self.folder.waiting_path(token)?)?;
            self.folder.all_data().remove(&token);
        }
        Ok(())
    }

    /// Brings everything to where it belongs: groups before what is in them.
    fn move_in(&mut self, homes: &mut ObjectHomes) -> Result<()> {
        for planned in &self.plan.objects {
            let (token, is_group) = (planned.token, planned.kind == ObjectKind::Group);
            let is_new = homes.get(token).is_none();
            if is_new {
                homes.set(token, planned.home.clone());
                self.touched.insert(planned.home.parent);
                self.touched.extend(is_group.then_some(token));
            }
            let Some(path) = homes.path(token) else { continue };
            match self.moving.remove(&token) {
                Some(from) => self.bring(planned.kind, &from, &path)?,
                // Its elements come after its metadata; until then they are where they wait.
                None if is_new && planned.kind == ObjectKind::Dataset => {
                    self.folder.data(token).is_fresh.store(true, Ordering::SeqCst);
                }
                None => {}
            }
            let dir = self.folder.dir();
            if is_group && is_new && !dir.is_dir(&path) {
                dir.make_dir(&path).map_err(|e| failed("create folder", dir, &path, &e))?;
            }
        }
        Ok(())
    }

    fn bring(&self, kind: ObjectKind, from: &Path, path: &Path) -> Result<()> {
        let dir = self.folder.dir();
        if kind == ObjectKind::Group {
            rename(dir, from, path)?;
            return Ok(());
        }
        rename(dir, &with_ending(from, ".bin"), &with_ending(path, ".bin"))?;
        rename(dir, &with_ending(from, ".json"), &with_ending(path, ".json"))?;
        Ok(())
    }
}
