//! Hostile content of a folder: links that lead out of it, FIFOs, and names that are swapped all the time.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use model::Result;
use model::properties::FileCreate;
use vol::{Durability, FileAccess, Registry};

/// Something that stands where a program wants a file or folder of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Trap {
    /// A link to a file outside.
    LinkToFile,
    /// A link to a folder outside.
    LinkToFolder,
    /// A link to a name outside that is free.
    LinkToNothing,
    /// A FIFO, whose other end no one opens.
    Fifo,
}

impl Trap {
    /// All of them.
    pub const ALL: [Trap; 4] = [Trap::LinkToFile, Trap::LinkToFolder, Trap::LinkToNothing, Trap::Fifo];
}

/// Names that containers use for their files and folders: outside, too, there is something of each name.
const NAMES: [&str; 20] = [
    ".group.json",
    ".hyperslab/lock",
    ".hyperslab/heap",
    ".hyperslab/moves.json",
    ".hyperslab/new/a.bin",
    ".hyperslab/moving/a.json",
    ".hyperslab/types/a.json",
    "lock",
    "heap",
    "moves.json",
    "new/a.bin",
    "moving/a.bin",
    "types/a.json",
    "a.bin",
    "d.bin",
    "d.json",
    "d.link",
    "index.redb",
    "data",
    "reserve",
];

/// Files and folders that nothing may change.
#[derive(Debug)]
pub struct Outside {
    base: PathBuf,
    before: BTreeMap<PathBuf, (u32, Vec<u8>)>,
}

/// Everything in a folder: permissions, and bytes of files.
fn state_of(base: &Path) -> BTreeMap<PathBuf, (u32, Vec<u8>)> {
    let (mut state, mut pending) = (BTreeMap::new(), vec![base.to_owned()]);
    while let Some(folder) = pending.pop() {
        for entry in fs::read_dir(&folder).expect("list folder") {
            let path = entry.expect("entry").path();
            let found = fs::symlink_metadata(&path).expect("metadata");
            let bytes = if found.is_file() { fs::read(&path).expect("read file") } else { Vec::new() };
            if found.is_dir() {
                pending.push(path.clone());
            }
            state.insert(path, (found.permissions().mode(), bytes));
        }
    }
    state
}

impl Outside {
    /// Makes them, in a folder of their own.
    pub fn new() -> Outside {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let base = std::env::temp_dir().join(format!("hyperslab-outside-{}-{number}", std::process::id()));
        for name in NAMES {
            let path = base.join("folder").join(name);
            fs::create_dir_all(path.parent().unwrap_or(&base)).expect("create folder");
            fs::write(path, format!("precious {name}")).expect("write file");
        }
        fs::write(base.join("file"), "precious").expect("write file");
        let before = state_of(&base);
        Outside { base, before }
    }

    /// Puts a trap in the place of whatever is at a path.
    pub fn set(&self, trap: Trap, path: &Path) {
        match fs::symlink_metadata(path) {
            Ok(found) if found.is_dir() => fs::remove_dir_all(path).expect("remove folder"),
            Ok(_) => fs::remove_file(path).expect("remove file"),
            Err(_) => fs::create_dir_all(path.parent().unwrap_or(path)).expect("create folder"),
        }
        let target = match trap {
            Trap::LinkToFile => "file",
            Trap::LinkToFolder => "folder",
            Trap::LinkToNothing => "nothing",
            Trap::Fifo => {
                let made = Command::new("mkfifo").arg(path).status().expect("run mkfifo");
                assert!(made.success(), "mkfifo {}", path.display());
                return;
            }
        };
        symlink(self.base.join(target), path).expect("create link");
    }

    /// Does some work while a folder and a link to one outside change places all the time. Both are always there.
    pub fn while_swapping(&self, path: &Path, work: impl FnOnce()) {
        use rustix::fs::{CWD, RenameFlags, renameat_with};
        let other = path.with_file_name(".swapped");
        symlink(self.base.join("folder"), &other).expect("create link");
        let is_done = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !is_done.load(Ordering::Relaxed) {
                    // The work may move the folder itself.
                    let _ = renameat_with(CWD, path, CWD, &other, RenameFlags::EXCHANGE);
                }
            });
            let _done = SetOnDrop(&is_done);
            work();
        });
    }

    /// Panics if anything is not as it was.
    #[track_caller]
    pub fn assert_unchanged(&self, what: &str) {
        let now = state_of(&self.base);
        let changed = self.before.iter().find(|(path, state)| now.get(*path) != Some(state));
        assert!(
            changed.is_none(),
            "{what}: {} changed or is gone",
            changed.map_or(Path::new(""), |(path, _)| path).display()
        );
        let new = now.keys().find(|path| !self.before.contains_key(*path));
        assert!(new.is_none(), "{what}: {} is new", new.map_or(Path::new(""), |path| path).display());
    }
}

impl Default for Outside {
    fn default() -> Self {
        Outside::new()
    }
}

impl Drop for Outside {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.base);
    }
}

/// A container at a path, which strangers may change.
#[derive(Debug)]
pub struct HostileFolder<'a> {
    /// Knows the connector.
    pub registry: &'a Registry,
    /// How the connector is called.
    pub connector: &'a str,
    /// Where the container is.
    pub path: &'a Path,
}

impl HostileFolder<'_> {
    fn location(&self) -> String {
        format!("{}:{}", self.connector, self.path.display())
    }

    /// A new container with one object of every kind.
    fn fill(&self) {
        let access = FileAccess { durability: Durability::None, ..FileAccess::write() };
        let made = self.registry.create(&self.location(), &FileCreate::default(), &access, true);
        let container = made.expect("create container");
        crate::damage::sample(&*container).expect("fill container");
        container.close().expect("close container");
    }

    /// Reads and changes the container. Errors are what a trap may cause.
    fn change(&self) -> Result<()> {
        if let Ok(container) = self.registry.open(&self.location(), &FileAccess::read()) {
            crate::damage::look(&*container)?;
        }
        let container = self.registry.open(&self.location(), &FileAccess::write())?;
        let root = container.info()?.root;
        let place = vol::LinkLocation::new(root, "stranger");
        if let Ok(dataset) = crate::ints::dataset(&*container, place, &[70_000], &[70_000]) {
            let _ = crate::ints::write(&*container, dataset, &vec![7; 70_000]);
        }
        let committed = container.commit(Durability::None);
        let _ = container.link_delete(root, "stranger");
        committed.and(container.close())
    }

    fn delete(&self) {
        let _ = self.registry.delete(&self.location(), &FileAccess::write());
    }

    fn replace(&self) {
        let made = self.registry.create(&self.location(), &FileCreate::default(), &FileAccess::write(), true);
        let _ = made.map(|container| container.close());
    }

    /// Takes everything away.
    fn clear(&self) {
        match fs::symlink_metadata(self.path) {
            Ok(found) if found.is_dir() => fs::remove_dir_all(self.path).expect("remove folder"),
            Ok(_) => fs::remove_file(self.path).expect("remove file"),
            Err(_) => {}
        }
    }

    /// Files and folders of the container, in it.
    fn parts(&self) -> Vec<PathBuf> {
        let parts = state_of(self.path).into_keys();
        parts.filter_map(|path| Some(path.strip_prefix(self.path).ok()?.to_owned())).collect()
    }

    /// Uses the container in every way while each trap stands in the place of each of its files and folders, and at `more`
    /// names in it.
    ///
    /// # Panics
    /// If anything outside changes.
    pub fn assert_traps_are_harmless(&self, more: &[&str]) {
        let outside = Outside::new();
        self.clear();
        self.fill();
        let parts = || self.parts().into_iter().chain(more.iter().map(PathBuf::from));
        for n in 0..parts().count() {
            for trap in Trap::ALL {
                self.clear();
                self.fill();
                // Names may be others every time; their order is the same.
                let part = parts().nth(n).expect("the same files every time");
                let what = format!("{trap:?} at {}", part.display());
                outside.set(trap, &self.path.join(part));
                let _ = self.change();
                outside.assert_unchanged(&what);
                let _ = self.change();
                self.delete();
                self.replace();
                outside.assert_unchanged(&what);
            }
        }
        self.clear();
    }

    /// Uses the container in every way while one of its folders and a link to a folder outside change places.
    ///
    /// # Panics
    /// If anything outside changes, or nothing could be done with the container all the time.
    pub fn assert_swaps_are_harmless(&self, rounds: u32) {
        let (outside, mut changed) = (Outside::new(), 0);
        for _ in 0..rounds {
            self.clear();
            self.fill();
            let parts = self.parts();
            let folder = parts.iter().find(|part| self.path.join(part).is_dir()).expect("a folder");
            outside.while_swapping(&self.path.join(folder), || {
                for _ in 0..10 {
                    changed += u32::from(self.change().is_ok());
                }
                self.delete();
                self.replace();
            });
            outside.assert_unchanged("swapped");
        }
        self.clear();
        assert!(changed > 0, "no change got through at all: the test shows nothing");
    }
}

/// A thread that waits for this must end also when the work panics.
struct SetOnDrop<'a>(&'a AtomicBool);

impl Drop for SetOnDrop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}
