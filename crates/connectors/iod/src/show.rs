//! What is stored, object by object: for people who want to see the mapping.

use std::fmt::Write;

use iod_storage::{Id, Kind};
use model::{LinkTarget, Result, encode, text};

use crate::blobs::decode_type;
use crate::error::During;
use crate::identity;
use crate::keys::{self, *};
use crate::opening::Opening;

/// Bytes of a value that are shown where nobody knows what they mean.
const BYTES_MAX: usize = 24;

/// Writing to a text does not fail.
macro_rules! line {
    ($out:expr, $($arg:tt)*) => {
        let _ = writeln!($out, $($arg)*);
    };
}

fn hex(bytes: &[u8]) -> String {
    let shown: String = bytes.iter().take(BYTES_MAX).map(|byte| format!("{byte:02x}")).collect();
    if bytes.len() > BYTES_MAX { format!("{shown}… ({} bytes)", bytes.len()) } else { shown }
}

fn plain(bytes: &[u8]) -> String {
    match !bytes.is_empty() && bytes.iter().all(|byte| byte.is_ascii_graphic() || *byte == b' ') {
        true => format!("\"{}\"", text::from_bytes(bytes)),
        false => hex(bytes),
    }
}

fn shown<T: std::fmt::Debug>(decoded: Result<T>) -> String {
    match decoded {
        Ok(value) => format!("{value:?}"),
        Err(error) => format!("broken: {error}"),
    }
}

fn target(value: &[u8]) -> String {
    match link_target(value) {
        Ok(LinkTarget::Hard(token)) => {
            identity::object(token).map_or_else(|e| e.to_string(), |id| id.to_string())
        }
        Ok(LinkTarget::Soft(path)) => format!("soft link to \"{path}\""),
        Ok(LinkTarget::External { file, path }) => format!("external link to \"{path}\" in \"{file}\""),
        Ok(LinkTarget::User { class, data }) => format!("link of class {class}: {}", hex(&data)),
        Err(error) => format!("broken: {error}"),
    }
}

fn key(key: &[u8]) -> String {
    match key.strip_prefix(LINK_PLACE).and_then(|place| place.try_into().ok()) {
        Some(place) => format!("\"{}\" {}", text::from_bytes(LINK_PLACE), u64::from_be_bytes(place)),
        None => plain(key),
    }
}

/// What a key-value store is for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Role {
    Links,
    Metadata,
    Attributes,
    Pairs,
}

impl Opening {
    /// Returns the whole container as text.
    pub(crate) fn show_storage(&self) -> Result<String> {
        let ids = self.all_ids()?;
        let mut out = String::new();
        let (metadata, attributes) = self.auxiliary(&ids)?;
        for id in ids {
            let role = match () {
                () if metadata.binary_search(&id).is_ok() => Role::Metadata,
                () if attributes.binary_search(&id).is_ok() => Role::Attributes,
                () if self.described(identity::token(id)).is_ok_and(|found| found.map().is_ok()) => {
                    Role::Pairs
                }
                () => Role::Links,
            };
            self.show_object(id, role, &mut out)?;
        }
        Ok(out)
    }

    /// The key-value stores that scratch pads name: metadata, and attributes.
    fn auxiliary(&self, ids: &[Id]) -> Result<(Vec<Id>, Vec<Id>)> {
        let (mut metadata, mut attributes) = (Vec::new(), Vec::new());
        for id in ids {
            let pad = self.storage().open(*id).during("show storage")?;
            metadata.push(pad.0[0]);
            attributes.push(pad.0[1]);
        }
        metadata.sort_unstable();
        attributes.sort_unstable();
        Ok((metadata, attributes))
    }

    fn show_object(&self, id: Id, role: Role, out: &mut String) -> Result<()> {
        let pad = self.storage().open(id).during("show storage")?;
        line!(out, "{id} scratch pad {:?}", pad.0);
        match id.kind() {
            Some(Kind::KeyValue) => self.each_pair(id, |name, value| {
                line!(out, "  {} = {}", key(name), self.shown_value(role, name, value));
                Ok(())
            }),
            Some(Kind::Array) => {
                let array = self.storage().array(id).during("show storage")?;
                let chunks = array.chunk.map_or(String::new(), |chunk| format!(" in chunks of {chunk:?}"));
                line!(out, "  {:?} cells of {} bytes{chunks}", array.dims, array.cell_bytes);
                Ok(())
            }
            _ => {
                let mut begin = [0; BYTES_MAX + 1];
                let count = self.storage().read_blob(id, 0, &mut begin).during("show storage")?;
                let bytes = self.storage().blob_len(id).during("show storage")?;
                let begin = begin.get(..count.min(BYTES_MAX)).unwrap_or_default();
                line!(out, "  {bytes} bytes: {}", plain(begin));
                Ok(())
            }
        }
    }

    fn shown_value(&self, role: Role, key: &[u8], value: &[u8]) -> String {
        match role {
            Role::Links | Role::Attributes => target(value),
            Role::Metadata => self.shown_metadata(key, value),
            Role::Pairs => plain(value),
        }
    }

    fn shown_metadata(&self, key: &[u8], value: &[u8]) -> String {
        let limits = self.limits();
        match key {
            TYPE => match small_of(value, "type").map(|number| (number, kind_of(number))) {
                Ok((_, Some(kind))) => format!("H5I_{}", kind.name().to_uppercase()),
                Ok((H5I_ATTRIBUTE, None)) => "H5I_ATTR".to_owned(),
                other => shown(other.map(|(number, _)| number)),
            },
            DATATYPE | KEY_TYPE | VALUE_TYPE => shown(decode_type(value, limits)),
            DATASPACE => shown(encode::decode_space_of(value, limits)),
            LINK_COUNT | SERIALIZED_SIZE | KV_INDEX | ARRAY_INDEX | BLOB_INDEX | LINK_NEXT
            | ATTRIBUTE_NEXT | CREATION_ORDER => shown(number_of(value, "number")),
            LAYOUT_VERSION => shown(small_of(value, "version")),
            COMMITTED => shown(keys::id_of(value, "committed datatype")),
            key if key.starts_with(LINK_INFO) => shown(LinkInfo::of(value)),
            _ => plain(value),
        }
    }
}
