//! Positions of objects in the folder, and the state of their files when they were read.

use std::collections::{BTreeMap, HashMap};
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::time::Duration;

use json_text::files::Stamp;
use json_text::ids::digest;
use model::Token;

use crate::scan::Forms;

/// The metadata of a group, inside of its folder.
pub(crate) const GROUP_FILE: &str = ".group.json";
/// The folder in the root folder for what is not for people.
pub(crate) const OWN_FOLDER: &str = ".hyperslab";
/// Types that no link leads to, in the folder that is not for people.
pub(crate) const TYPES_FOLDER: &str = "types";
/// Clocks of file systems tick this slowly: what was written more lately may be written again unseen.
const STABLE_AGE: Duration = Duration::from_millis(100);

/// The one place of an object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ObjectHome {
    pub(crate) parent: Token,
    pub(crate) stem: OsString,
    /// The stem is the whole name of a file that a caller dropped here.
    pub(crate) is_plain: bool,
}

/// The metadata of an object, as it was last read or written.
#[derive(Debug, Clone)]
pub(crate) struct StoredMetadata {
    stamp: Stamp,
    is_stable: bool,
    digest: [u8; 16],
}

impl StoredMetadata {
    pub(crate) fn new(text: &str, stamp: Stamp) -> StoredMetadata {
        StoredMetadata { stamp, is_stable: is_stable(stamp), digest: digest(text.as_bytes()) }
    }

    pub(crate) fn is_text(&self, text: &str) -> bool {
        self.digest == digest(text.as_bytes())
    }

    /// Returns whether the file is certainly what it was.
    pub(crate) fn is_current(&self, now: Option<Stamp>) -> bool {
        self.is_stable && now == Some(self.stamp)
    }
}

/// The entries of a group's folder, as they were last seen.
#[derive(Debug, Clone)]
pub(crate) struct Listing {
    stamp: Option<Stamp>,
    is_stable: bool,
    pub(crate) forms: BTreeMap<OsString, Forms>,
}

impl Listing {
    /// `stamp` was taken before the folder was read.
    pub(crate) fn new(stamp: Option<Stamp>, forms: BTreeMap<OsString, Forms>) -> Listing {
        Listing { stamp, is_stable: stamp.is_some_and(is_stable), forms }
    }

    pub(crate) fn is_current(&self, now: Option<Stamp>) -> bool {
        self.is_stable && now == self.stamp
    }

    /// Returns whether the same things are there.
    pub(crate) fn is_same(&self, other: &Listing) -> bool {
        self.forms.len() == other.forms.len()
            && self.forms.iter().all(|(stem, forms)| other.forms.get(stem).is_some_and(|f| f.is_same(forms)))
    }
}

fn is_stable(stamp: Stamp) -> bool {
    stamp.age().is_some_and(|age| age > STABLE_AGE)
}

/// Where everything is.
#[derive(Debug)]
pub(crate) struct ObjectHomes {
    root: Token,
    homes: HashMap<Token, ObjectHome>,
    pub(crate) seen: HashMap<Token, StoredMetadata>,
    pub(crate) listings: HashMap<Token, Listing>,
}

impl ObjectHomes {
    pub(crate) fn new(root: Token) -> Self {
        let (homes, seen, listings) = (HashMap::new(), HashMap::new(), HashMap::new());
        ObjectHomes { root, homes, seen, listings }
    }

    pub(crate) fn root(&self) -> Token {
        self.root
    }

    pub(crate) fn get(&self, token: Token) -> Option<&ObjectHome> {
        self.homes.get(&token)
    }

    pub(crate) fn set(&mut self, token: Token, home: ObjectHome) {
        self.homes.insert(token, home);
    }

    pub(crate) fn tokens(&self) -> Vec<Token> {
        self.homes.keys().copied().collect()
    }

    /// Forgets an object.
    pub(crate) fn remove(&mut self, token: Token) {
        self.homes.remove(&token);
        self.seen.remove(&token);
        self.listings.remove(&token);
    }

    /// Returns the object whose home has this stem.
    pub(crate) fn at(&self, parent: Token, stem: &OsStr) -> Option<Token> {
        let mut homes = self.homes.iter();
        homes.find(|(_, home)| home.parent == parent && home.stem == stem).map(|(token, _)| *token)
    }

    /// Returns the number of folders above an object.
    pub(crate) fn depth(&self, token: Token) -> usize {
        self.parts(token).map_or(0, |parts| parts.len())
    }

    /// Returns the stems from the root to an object, or `None` if it has no home.
    fn parts(&self, token: Token) -> Option<Vec<&OsStr>> {
        let (mut parts, mut here) = (Vec::new(), token);
        while here != self.root {
            let home = self.homes.get(&here)?;
            parts.push(home.stem.as_os_str());
            // Homes are a tree; were they not, this ends all the same.
            if parts.len() > self.homes.len() {
                return None;
            }
            here = home.parent;
        }
        parts.reverse();
        Some(parts)
    }

    /// Returns the path of an object in the container, without its ending: the folder of a group.
    pub(crate) fn path(&self, token: Token) -> Option<PathBuf> {
        Some(self.parts(token)?.into_iter().collect())
    }

    /// Returns the file with the elements of a dataset.
    pub(crate) fn data_path(&self, token: Token) -> Option<PathBuf> {
        let path = self.path(token)?;
        let is_plain = self.get(token).is_some_and(|home| home.is_plain);
        Some(if is_plain { path } else { with_ending(&path, ".bin") })
    }

    /// Returns the file with the metadata of an object.
    pub(crate) fn metadata_path(&self, token: Token, is_group: bool) -> Option<PathBuf> {
        let path = self.path(token)?;
        Some(if is_group { path.join(GROUP_FILE) } else { with_ending(&path, ".json") })
    }
}

/// Returns a path with an ending: `with_extension` would replace one that is part of the name.
pub(crate) fn with_ending(path: &Path, ending: &str) -> PathBuf {
    let mut path = path.as_os_str().to_owned();
    path.push(ending);
    PathBuf::from(path)
}
