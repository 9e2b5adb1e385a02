//! A virtual file driver of the program's own: files are kept in a table of this process (docs/drivers.md).

use std::collections::HashMap;
use std::io;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use hyperslab::extend::{Created, Driver, DriverHandle, DriverInfo, Memory, Mode, Target};
use hyperslab::{File, FileAccess, registry};

#[derive(Default)]
struct Table {
    files: Mutex<HashMap<PathBuf, DriverHandle>>,
}

impl Table {
    fn find(&self, target: &Target<'_>) -> Option<DriverHandle> {
        self.files.lock().unwrap_or_else(PoisonError::into_inner).get(target.path).cloned()
    }
}

impl Driver for Table {
    fn info(&self) -> DriverInfo {
        DriverInfo { name: "table", aliases: &[], about: "files in a table of this process", parameters: &[] }
    }

    fn create(&self, target: &Target<'_>, may_exist: bool) -> io::Result<Created> {
        target.parameters.only(&self.info())?;
        match self.find(target) {
            Some(_) if !may_exist => Err(io::ErrorKind::AlreadyExists.into()),
            Some(file) => Ok(Created { file, is_new: false }),
            None => {
                let file: DriverHandle = Arc::new(Memory::new());
                let mut files = self.files.lock().unwrap_or_else(PoisonError::into_inner);
                files.insert(target.path.to_owned(), file.clone());
                Ok(Created { file, is_new: true })
            }
        }
    }

    fn open(&self, target: &Target<'_>, _mode: Mode) -> io::Result<DriverHandle> {
        target.parameters.only(&self.info())?;
        self.find(target).ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    fn delete(&self, target: &Target<'_>) -> io::Result<()> {
        let removed = self.files.lock().unwrap_or_else(PoisonError::into_inner).remove(target.path);
        removed.map(drop).ok_or_else(|| io::ErrorKind::NotFound.into())
    }
}

fn main() -> hyperslab::Result<()> {
    let mut registry = registry();
    registry.register_driver(Arc::new(Table::default()))?;
    let access = FileAccess::write().with_driver("table");

    let file = File::create_in(&registry, "run.h5", &Default::default(), &access, true)?;
    file.new_dataset_builder().with_data(&[1, 2, 3]).create("numbers")?;
    file.close()?;

    let file = File::open_in(&registry, "run.h5", &access)?;
    assert_eq!(file.dataset("numbers")?.read_raw::<i32>()?, [1, 2, 3]);
    file.close()?;
    registry.delete("run.h5", &access)?;
    assert!(File::open_in(&registry, "run.h5", &access).is_err());
    println!("a driver of our own stored and returned a file");
    Ok(())
}
