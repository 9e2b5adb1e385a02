//! What a stranger can put into a folder: links that lead out of it, FIFOs, and names that change places all the time.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Something that stands where a program wants a file or folder of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Trap {
    /// A link to a file outside.
    LinkToFile,
    /// A link to a folder outside.
    LinkToFolder,
    /// A link to a name outside that is free.
    LinkToNothing,
    /// A FIFO, whose other end nobody opens.
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
            fs::create_dir_all(path.parent().unwrap_or(&base)).expect("make folder");
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
            Err(_) => fs::create_dir_all(path.parent().unwrap_or(path)).expect("make folder"),
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
        symlink(self.base.join(target), path).expect("make link");
    }

    /// Does some work while a folder and a link to one outside change places all the time. Both are always there.
    pub fn while_swapping(&self, path: &Path, work: impl FnOnce()) {
        use rustix::fs::{CWD, RenameFlags, renameat_with};
        let other = path.with_file_name(".swapped");
        symlink(self.base.join("folder"), &other).expect("make link");
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

/// A thread that waits for this must end also when the work panics.
struct SetOnDrop<'a>(&'a AtomicBool);

impl Drop for SetOnDrop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}
