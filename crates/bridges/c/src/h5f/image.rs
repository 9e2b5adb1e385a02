//! Files in memory that begin with an image of the program's (`H5Pset_file_image`), or lie in memory of its functions.

use std::ffi::c_void;
use std::io;
use std::sync::Arc;

use hyperslab::extend::{
    Created, Driver, DriverFile, DriverHandle, DriverInfo, Lock, Mode, Sync as Barrier, Target,
};
use system::sync::Mutex;

use crate::arguments::{Bytes, Opaque};
use crate::h5p::file_image::{FileImage, ImageCallbacks, image_op};

/// Memory is taken in steps of so many bytes, as the `core` driver of libhdf5 does.
const STEP_BYTES: usize = 64 * 1024;

/// The driver of one file in memory. Nothing of it is stored.
#[derive(Debug)]
pub(super) struct ImageDriver {
    /// The initial content of a file that is opened; `None` for one that is created.
    image: Option<Arc<FileImage>>,
    callbacks: Arc<ImageCallbacks>,
    /// The file, once it was opened: functions of programs expect that their memory becomes a file once.
    opened: Mutex<Option<DriverHandle>>,
}

impl ImageDriver {
    /// Its name in the registry of the file.
    pub(super) const NAME: &str = "image";

    pub(super) fn new(image: Option<Arc<FileImage>>, callbacks: Option<Arc<ImageCallbacks>>) -> Self {
        ImageDriver { image, callbacks: callbacks.unwrap_or_default(), opened: Mutex::default() }
    }

    fn file(&self) -> io::Result<DriverHandle> {
        let mut opened = self.opened.lock();
        if let Some(file) = &*opened {
            return Ok(file.clone());
        }
        let image = self.image.as_ref().map_or(&[][..], |image| image.bytes());
        let file: DriverHandle = Arc::new(ImageFile::new(image, self.callbacks.clone())?);
        *opened = Some(file.clone());
        Ok(file)
    }
}

impl Driver for ImageDriver {
    fn info(&self) -> DriverInfo {
        let about = "a file in memory with initial content";
        DriverInfo { name: ImageDriver::NAME, aliases: &[], about, parameters: &[] }
    }

    fn check_create(&self, _: &Target<'_>) -> io::Result<()> {
        Ok(())
    }

    fn create(&self, _: &Target<'_>, _may_exist: bool) -> io::Result<Created> {
        Ok(Created { file: self.file()?, is_new: true })
    }

    fn open(&self, _: &Target<'_>, _mode: Mode) -> io::Result<DriverHandle> {
        if self.image.is_none() {
            return Err(io::ErrorKind::NotFound.into());
        }
        self.file()
    }

    fn delete(&self, _: &Target<'_>) -> io::Result<()> {
        Ok(())
    }
}

/// A file in memory of the program's functions.
#[derive(Debug)]
struct ImageFile {
    callbacks: Arc<ImageCallbacks>,
    memory: Mutex<ImageMemory>,
}

#[derive(Debug)]
struct ImageMemory {
    /// NULL as long as nothing was written.
    memory: Opaque,
    len: usize,
    capacity: usize,
}

impl ImageMemory {
    fn bytes(&mut self) -> &mut [u8] {
        Bytes(self.memory.0).write(self.len, "image").unwrap_or_default()
    }

    fn resize(&mut self, callbacks: &ImageCallbacks, capacity: usize) -> bool {
        let resized = callbacks.resized(self.memory.0, capacity);
        if let Some(memory) = resized {
            (self.memory, self.capacity) = (Opaque(memory), capacity);
        }
        resized.is_some()
    }

    fn set_len(&mut self, callbacks: &ImageCallbacks, len: usize) -> io::Result<()> {
        // Some programs give all the memory that there may be: less than a step may still fit.
        let is_there = len <= self.capacity
            || self.resize(callbacks, len.next_multiple_of(STEP_BYTES))
            || self.resize(callbacks, len);
        if !is_there {
            return Err(io::ErrorKind::OutOfMemory.into());
        }
        let before = std::mem::replace(&mut self.len, len);
        if let Some(new) = self.bytes().get_mut(before..) {
            new.fill(0);
        }
        Ok(())
    }
}

impl ImageFile {
    fn new(image: &[u8], callbacks: Arc<ImageCallbacks>) -> io::Result<Self> {
        let memory: *mut c_void = match image {
            [] => std::ptr::null_mut(),
            image => callbacks.copied(image, image_op::FILE_OPEN).ok_or(io::ErrorKind::OutOfMemory)?,
        };
        let memory = ImageMemory { memory: Opaque(memory), len: image.len(), capacity: image.len() };
        Ok(ImageFile { callbacks, memory: Mutex::new(memory) })
    }
}

/// Returns where bytes stand in memory.
fn range(offset: u64, len: usize) -> io::Result<std::ops::Range<usize>> {
    let start = usize::try_from(offset).map_err(|_| io::ErrorKind::FileTooLarge)?;
    Ok(start..start.checked_add(len).ok_or(io::ErrorKind::FileTooLarge)?)
}

impl DriverFile for ImageFile {
    fn len(&self) -> io::Result<u64> {
        Ok(self.memory.lock().len as u64)
    }

    fn read_at(&self, offset: u64, buf: &mut [u8]) -> io::Result<()> {
        let mut memory = self.memory.lock();
        let bytes = memory.bytes().get(range(offset, buf.len())?).filter(|_| !buf.is_empty());
        match bytes {
            Some(bytes) => buf.copy_from_slice(bytes),
            None if buf.is_empty() => {}
            None => return Err(io::ErrorKind::UnexpectedEof.into()),
        }
        Ok(())
    }

    fn write_at(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        let (range, mut memory) = (range(offset, data.len())?, self.memory.lock());
        if !data.is_empty() && range.end > memory.len {
            memory.set_len(&self.callbacks, range.end)?;
        }
        if let Some(bytes) = memory.bytes().get_mut(range) {
            bytes.copy_from_slice(data);
        }
        Ok(())
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        let len = usize::try_from(len).map_err(|_| io::ErrorKind::FileTooLarge)?;
        self.memory.lock().set_len(&self.callbacks, len)
    }

    fn sync(&self, _: Barrier) -> io::Result<()> {
        Ok(())
    }

    fn lock(&self, _: Lock) -> io::Result<()> {
        Ok(())
    }

    /// The program's functions run on threads that call the library.
    fn is_serial(&self) -> bool {
        true
    }
}

impl Drop for ImageFile {
    fn drop(&mut self) {
        let mut memory = self.memory.lock();
        let (len, capacity) = (memory.len, memory.capacity);
        if len > 0 && len < capacity {
            // What the program keeps is as long as the file. If it does not want that, it keeps more.
            let _ = memory.resize(&self.callbacks, len);
        }
        if !memory.memory.0.is_null() {
            self.callbacks.free(memory.memory.0, image_op::FILE_CLOSE);
        }
    }
}
