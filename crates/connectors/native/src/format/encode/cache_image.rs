//! Metadata cache image: blocks of metadata that are read at once when the file is opened.

use model::Result;

use super::Encoder;
use crate::format::{Address, Sizes};

/// `H5AC_OHDR_ID`: an object header's first block.
const OBJECT_HEADER: u8 = 5;
/// The entry was in the list of those that were used last.
const IN_LIST: u8 = 2;
/// `H5C_RING_USER`: metadata of objects.
const USER_RING: u8 = 1;

/// Returns the body of the message that says where the image is.
pub(crate) fn message(at: Address, bytes: u64, sizes: Sizes) -> Result<Vec<u8>> {
    Encoder::new("cache image message", sizes).u8(0).defined(at).length(bytes).finish()
}

/// Returns the bytes of an image.
fn image_bytes(headers: &[(Address, Vec<u8>)], sizes: Sizes) -> u64 {
    let entry = |(_, bytes): &(Address, Vec<u8>)| 14 + sizes.offset + sizes.length + bytes.len();
    (6 + sizes.length + 4 + headers.iter().map(entry).sum::<usize>() + 4) as u64
}

/// Returns an image of the first blocks of object headers.
pub(crate) fn image(headers: &[(Address, Vec<u8>)], sizes: Sizes) -> Result<Vec<u8>> {
    let mut e = Encoder::block("cache image", sizes, b"MDCI", 0);
    let bytes = image_bytes(headers, sizes);
    e.reserve(bytes);
    e.u8(0).length(bytes).count(headers.len(), 4);
    for (rank, (at, bytes)) in (1u32..).zip(headers) {
        e.u8(OBJECT_HEADER).u8(IN_LIST).u8(USER_RING).u8(0);
        // No entry waits for others.
        e.u16(0).u16(0).u16(0).u32(rank);
        e.defined(*at).length(bytes.len() as u64).raw(bytes);
    }
    e.checksum().finish()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::cache_image;

    #[test]
    fn what_is_encoded_is_decoded() {
        for sizes in [Sizes { offset: 8, length: 8 }, Sizes { offset: 4, length: 2 }] {
            let headers = vec![(Address(48), vec![1; 100]), (Address(4096), vec![2; 7])];
            let bytes = image(&headers, sizes).unwrap();
            assert_eq!(bytes.len() as u64, image_bytes(&headers, sizes));
            assert_eq!(cache_image::entries(&bytes, sizes).unwrap(), headers);
            let body = message(Address(99), bytes.len() as u64, sizes).unwrap();
            assert_eq!(cache_image::message(&body, sizes).unwrap(), (Some(Address(99)), bytes.len() as u64));
        }
    }
}
