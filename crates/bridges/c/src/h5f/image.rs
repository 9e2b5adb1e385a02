//! Files whose initial content a program gives (`H5Pset_file_image`).

use std::io;
use std::sync::Arc;

use hyperslab::extend::{Created, Driver, DriverHandle, DriverInfo, Memory, Mode, Target};

/// A file in memory that begins with an image. Nothing of it is stored.
#[derive(Debug)]
pub(super) struct ImageDriver(pub(super) Arc<Vec<u8>>);

impl ImageDriver {
    /// Its name in the registry of the file.
    pub(super) const NAME: &str = "image";

    fn file(&self) -> DriverHandle {
        Arc::new(Memory::from_image(self.0.to_vec()))
    }
}

impl Driver for ImageDriver {
    fn info(&self) -> DriverInfo {
        let about = "a file in memory with initial content";
        DriverInfo { name: ImageDriver::NAME, aliases: &[], about, parameters: &[] }
    }

    fn create(&self, _: &Target<'_>, _may_exist: bool) -> io::Result<Created> {
        Ok(Created { file: self.file(), is_new: false })
    }

    fn open(&self, _: &Target<'_>, _mode: Mode) -> io::Result<DriverHandle> {
        Ok(self.file())
    }

    fn delete(&self, _: &Target<'_>) -> io::Result<()> {
        Ok(())
    }
}
