//! The image of an open file: an extension of the native connector.

use vol::{Access, Extension};

/// Returns the bytes of the file as the last commit left them (`H5Fget_file_image`): the extension `native.file_image`.
#[derive(Debug)]
pub struct FileImage;

impl Extension for FileImage {
    const NAME: &'static str = "native.file_image";
    const ACCESS: Access = Access::Read;
    type Request = ();
    type Answer = Vec<u8>;
}
