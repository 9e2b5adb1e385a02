//! `storage_show`: what is stored, object by object.

use std::fmt::Write;

use iod_storage::{Id, Kind};
use keyed::show::{BYTES_MAX, decoded, link, plain};
use keyed::{Handle, Identities, StorageReport};
use model::{Limits, Result, encode, text};

use crate::IodMapping;
use crate::error::During;
use crate::identity;
use crate::keys::{self, *};

/// Writes a line to a `String`, which does not fail.
macro_rules! line {
    ($out:expr, $($arg:tt)*) => {
        let _ = writeln!($out, $($arg)*);
    };
}

fn target(value: &[u8]) -> String {
    let object = |token| identity::object(token).map_or_else(|e| e.to_string(), |id| id.to_string());
    link(link_target(value), object)
}

fn key(key: &[u8]) -> String {
    match key.strip_prefix(LINK_PLACE).and_then(|place| place.try_into().ok()) {
        Some(place) => format!("\"{}\" {}", text::from_bytes(LINK_PLACE), u64::from_be_bytes(place)),
        None => plain(key),
    }
}

/// The purpose of a key-value store.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Role {
    Links,
    Metadata,
    Attributes,
    Pairs,
}

/// Returns the whole container as text.
pub(crate) fn show(handle: &Handle<IodMapping>) -> Result<String> {
    let mapping = handle.mapping();
    let ids = mapping.stored_ids()?;
    let mut out = String::new();
    let (metadata, attributes) = auxiliary(mapping, &ids)?;
    for id in ids {
        let is_map = || handle.header(identity::token(id)).is_ok_and(|header| header.map().is_ok());
        let role = match () {
            () if metadata.binary_search(&id).is_ok() => Role::Metadata,
            () if attributes.binary_search(&id).is_ok() => Role::Attributes,
            () if is_map() => Role::Pairs,
            () => Role::Links,
        };
        show_object(mapping, id, role, handle.limits(), &mut out)?;
    }
    Ok(out)
}

/// Returns the key-value stores that scratch pads name: those with headers, and those with attributes.
fn auxiliary(mapping: &IodMapping, ids: &[Id]) -> Result<(Vec<Id>, Vec<Id>)> {
    let (mut metadata, mut attributes) = (Vec::new(), Vec::new());
    for id in ids {
        let pad = mapping.storage.open(*id).during("show storage")?;
        metadata.push(pad.0[0]);
        attributes.push(pad.0[1]);
    }
    metadata.sort_unstable();
    attributes.sort_unstable();
    Ok((metadata, attributes))
}

fn show_object(mapping: &IodMapping, id: Id, role: Role, limits: &Limits, out: &mut String) -> Result<()> {
    let storage = &mapping.storage;
    let pad = storage.open(id).during("show storage")?;
    line!(out, "{id} scratch pad {:?}", pad.0);
    match id.kind() {
        Some(Kind::KeyValue) => mapping.each_pair(id, |name, value| {
            line!(out, "  {} = {}", key(name), shown_value(role, name, value, limits));
            Ok(())
        }),
        Some(Kind::Array) => {
            let array = storage.array(id).during("show storage")?;
            let chunks = array.chunk.map_or(String::new(), |chunk| format!(" in chunks of {chunk:?}"));
            line!(out, "  {:?} cells of {} bytes{chunks}", array.dims, array.cell_bytes);
            Ok(())
        }
        _ => {
            let mut begin = [0; BYTES_MAX + 1];
            let count = storage.read_blob(id, 0, &mut begin).during("show storage")?;
            let bytes = storage.blob_len(id).during("show storage")?;
            let begin = begin.get(..count.min(BYTES_MAX)).unwrap_or_default();
            line!(out, "  {bytes} bytes: {}", plain(begin));
            Ok(())
        }
    }
}

fn shown_value(role: Role, key: &[u8], value: &[u8], limits: &Limits) -> String {
    match role {
        Role::Links | Role::Attributes => target(value),
        Role::Metadata => shown_metadata(key, value, limits),
        Role::Pairs => plain(value),
    }
}

fn shown_metadata(key: &[u8], value: &[u8], limits: &Limits) -> String {
    match key {
        TYPE => match small_of(value, "type").map(|number| (number, kind_of(number))) {
            Ok((_, Some(kind))) => format!("H5I_{}", kind.name().to_uppercase()),
            Ok((H5I_ATTRIBUTE, None)) => "H5I_ATTR".to_owned(),
            other => decoded(other.map(|(number, _)| number)),
        },
        DATATYPE | KEY_TYPE | VALUE_TYPE => decoded(IodMapping::decode_datatype(value, limits)),
        DATASPACE => decoded(encode::decode_space_of(value, limits)),
        LINK_COUNT | SERIALIZED_SIZE | KV_INDEX | ARRAY_INDEX | BLOB_INDEX | LINK_NEXT | ATTRIBUTE_NEXT
        | CREATION_ORDER => decoded(number_of(value, "number")),
        LAYOUT_VERSION => decoded(small_of(value, "version")),
        COMMITTED => decoded(keys::id_of(value, "committed datatype")),
        key if key.starts_with(LINK_INFO) => decoded(LinkInfo::of(value)),
        _ => plain(value),
    }
}
