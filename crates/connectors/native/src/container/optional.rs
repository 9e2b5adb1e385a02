//! Operations that only this connector has.

use model::{Error, Result, Token};

use super::{NativeContainer, address};
use crate::gate::Scope;
use crate::statistics;

/// `chunk index address`: a dataset's token; answers the address (8 bytes, little-endian) or nothing.
/// `object storage`: an object's token, and `file storage`: nothing; answer numbers of 8 bytes, little-endian, which
/// `statistics.rs` names.
/// `refresh`: an object's token; what another program wrote of it is seen from now on.
/// `place elements`: the token of a contiguous dataset without room; answers the offset in the file (8 bytes,
/// little-endian) of room that the caller fills itself, through the file, before the next commit.
/// `start swmr`: nothing; from now on readers of other programs may look on.
/// `overwrite in place`: a dataset's token, then 1 or 0; whether committed elements are overwritten where they are.
pub(super) fn run(c: &NativeContainer, operation: &str, arguments: &[u8]) -> Result<Vec<u8>> {
    let unknown = || Error::unsupported("optional operation").with("name", operation);
    let token = || arguments.try_into().map(Token).map_err(|_| unknown());
    match operation {
        "refresh" => c.refresh(token()?).map(|()| Vec::new()),
        "overwrite in place" => set_in_place(c, arguments).ok_or_else(unknown)?.map(|()| Vec::new()),
        "start swmr" => c.start_swmr().map(|()| Vec::new()),
        "place elements" => {
            let at = address(token()?);
            let offset = c.change_objects(&[at], |writer| writer.place_for_others(at))?;
            Ok(offset.to_le_bytes().to_vec())
        }
        "chunk index address" => {
            let address = c.chunked(token()?)?.2.address;
            Ok(address.map_or_else(Vec::new, |at| at.0.to_le_bytes().to_vec()))
        }
        "chunk cache" => {
            let numbers = c.open_file()?.chunks.statistics();
            Ok(numbers.iter().flat_map(|n| n.to_le_bytes()).collect())
        }
        "set chunk cache" => set_chunk_cache(c, arguments).ok_or_else(unknown)?.map(|()| Vec::new()),
        "object storage" => {
            let view = c.view(token()?)?;
            statistics::object(view.file, &*view.header(token()?)?)
        }
        // What a writer has not committed yet is nowhere.
        "file storage" if c.file.writer.is_none() => statistics::file(c.open_file()?),
        _ => Err(unknown()),
    }
}

/// A budget of its own for one dataset: its token, then bytes.
fn set_chunk_cache(c: &NativeContainer, arguments: &[u8]) -> Option<Result<()>> {
    let (token, bytes) = arguments.split_at_checked(size_of::<Token>())?;
    let (token, bytes) = (Token(token.try_into().ok()?), u64::from_le_bytes(bytes.try_into().ok()?));
    Some(c.chunked(token).map(|(view, _, _)| view.file.chunks.set_budget(address(token), bytes)))
}

fn set_in_place(c: &NativeContainer, arguments: &[u8]) -> Option<Result<()>> {
    let (token, choice) = arguments.split_at_checked(size_of::<Token>())?;
    let (at, is_in_place) = (address(Token(token.try_into().ok()?)), matches!(choice, [1]));
    Some(c.change(Scope::Objects(&[at]), |writer| writer.set_in_place(at, is_in_place)))
}
