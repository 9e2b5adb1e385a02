//! Handles of what stores a file, for programs that look at it past the library.

use std::ffi::{c_int, c_void};
use std::os::fd::{AsRawFd, OwnedFd};

use hyperslab::extensions::FileImage;
use hyperslab::vol::call;
use hyperslab::vol::model::text::to_path;

use super::FileHandle;
use crate::failure::{Failure, Fallible};
use crate::h5fd::DriverInfo;
use crate::h5p::values::FileAccessValues;

/// What a handle that was given to a program points to. It lives as long as the file is open.
pub(super) enum VfdHandle {
    /// A descriptor of the file at a path.
    Descriptor { path: String, number: Box<c_int>, _descriptor: OwnedFd },
    /// The address of the bytes of a file that lies in memory, as the core driver has it, and its bytes.
    Image { address: Box<*const u8>, _bytes: Vec<u8> },
}

// SAFETY: the address is of bytes that stay where they are, and that nobody changes.
unsafe impl Send for VfdHandle {}

impl VfdHandle {
    fn descriptor(path: String) -> Fallible<Self> {
        let opened = std::fs::File::open(to_path(&path));
        let opened = opened.map_err(|_| Failure::unsupported("the container is not one file"))?;
        let descriptor = OwnedFd::from(opened);
        let number = Box::new(descriptor.as_raw_fd());
        Ok(VfdHandle::Descriptor { path, number, _descriptor: descriptor })
    }

    fn image(file: &FileHandle) -> Fallible<Self> {
        let bytes = call::<FileImage>(&**file.container(), &())?;
        Ok(VfdHandle::Image { address: Box::new(bytes.as_ptr()), _bytes: bytes })
    }

    fn is_of(&self, wanted: Option<&str>) -> bool {
        match self {
            VfdHandle::Descriptor { path, .. } => wanted == Some(path),
            VfdHandle::Image { .. } => wanted.is_none(),
        }
    }

    fn pointer(&self) -> *mut c_void {
        match self {
            VfdHandle::Descriptor { number, .. } => (&raw const **number).cast_mut().cast(),
            VfdHandle::Image { address, .. } => (&raw const **address).cast_mut().cast(),
        }
    }
}

/// Returns the name of a member of a family: its pattern has the place of a number, as `%05d`.
fn member_path(pattern: &str, member: u64) -> Option<String> {
    let (before, rest) = pattern.split_once('%')?;
    let (digits, after) = rest.split_once('d')?;
    let width = if digits.is_empty() { 0 } else { digits.parse().ok()? };
    let number =
        if digits.starts_with('0') { format!("{member:0width$}") } else { format!("{member:width$}") };
    Some(format!("{before}{number}{after}"))
}

/// Returns the member of a family that has the byte at `offset`.
fn family_member(pattern: &str, member_bytes: u64, offset: u64) -> Fallible<String> {
    let missing = || Failure::argument("offset is not in a member of the family");
    let first = member_path(pattern, 0).ok_or_else(missing)?;
    let each = match member_bytes {
        // The size of the first one is that of all.
        0 => std::fs::metadata(to_path(&first)).map(|found| found.len()).unwrap_or(0),
        bytes => bytes,
    };
    member_path(pattern, offset.checked_div(each).ok_or_else(missing)?).ok_or_else(missing)
}

/// Returns the path of what stores a byte of a file, or `None` if the file lies in memory.
fn path_of(file: &FileHandle, access: &FileAccessValues) -> Fallible<Option<String>> {
    let location = &file.shared.location;
    let driver = file.shared.access.driver.as_deref().unwrap_or("posix");
    if driver.starts_with("core") || driver == "image" {
        return Ok(None);
    }
    let values = file.shared.values.read();
    match values.driver.as_ref().and_then(|choice| choice.info.as_deref()) {
        Some(DriverInfo::Family { member_bytes, .. }) => {
            family_member(location, *member_bytes, access.family_offset).map(Some)
        }
        _ => Ok(Some(location.clone())),
    }
}

/// Returns a handle of a file: a pointer to a file descriptor, or to the address of its bytes in memory. Programs look at
/// the file through it until it is closed; they neither close nor free it.
pub(super) fn of(file: &FileHandle, access: &FileAccessValues) -> Fallible<*mut c_void> {
    let path = path_of(file, access)?;
    let mut known = file.shared.vfd_handles.lock();
    if let Some(handle) = known.iter().find(|handle| handle.is_of(path.as_deref())) {
        return Ok(handle.pointer());
    }
    let new = match path {
        Some(path) => VfdHandle::descriptor(path)?,
        None => VfdHandle::image(file)?,
    };
    let pointer = new.pointer();
    known.push(new);
    Ok(pointer)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_member_has_the_name_that_the_pattern_says() {
        assert_eq!(member_path("run%05d.h5", 12).as_deref(), Some("run00012.h5"));
        assert_eq!(member_path("run%d", 12).as_deref(), Some("run12"));
        assert_eq!(member_path("run%3d", 7).as_deref(), Some("run  7"));
        assert_eq!((member_path("run", 1), member_path("run%xd", 1)), (None, None));
    }
}
