//! A folder for the files of one test.

use std::path::PathBuf;

/// A folder that goes with its test; what made a test fail is kept to be looked at.
pub(crate) struct Folder(pub(crate) PathBuf);

impl Folder {
    /// Makes an empty folder. No other test of this program has one of that name.
    pub(crate) fn new(name: &str) -> Folder {
        let path = std::env::temp_dir().join(format!("hyperslab-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir_all(&path).unwrap();
        Folder(path)
    }

    pub(crate) fn path(&self, name: &str) -> String {
        self.0.join(name).to_str().unwrap().to_owned()
    }

    pub(crate) fn names(&self) -> Vec<String> {
        let entries = std::fs::read_dir(&self.0).unwrap();
        let mut names: Vec<_> = entries.map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    pub(crate) fn bytes(&self, name: &str) -> u64 {
        std::fs::metadata(self.0.join(name)).unwrap().len()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            let _ = std::fs::remove_dir_all(&self.0);
        }
    }
}
