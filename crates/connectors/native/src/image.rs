//! The image of an open file: an extension of the native connector.

vol::extension! {
    /// Returns the bytes of the file as the last commit left them (`H5Fget_file_image`): the extension `native.file_image`.
    pub struct FileImage = "native.file_image": Read, () => Vec<u8>;
}
