//! The data model as HDF5/JSON text: types, spaces, properties, links and element values, exact in both directions.
//!
//! The published form (HDF5/JSON of the HDF Group) is the base; `docs/json-layout.md` says where it is extended.
//! Text that nobody vouches for gives errors in bounded time and memory.
#![forbid(unsafe_code)]

mod beneath;
mod beside;
mod datatype;
pub mod files;
pub mod ids;
mod load;
mod names;
mod properties;
mod room;
mod save;
mod space;
pub mod text;
mod translated;
mod values;

pub use beneath::Beneath;
pub use beside::Beside;
pub use datatype::{datatype_from_json, datatype_to_json};
pub use load::{Loader, group_properties};
pub use properties::{file_from_json, file_to_json};
pub use save::{Saver, charset_from_json, charset_to_json};
pub use space::{dataspace_from_json, dataspace_to_json, selection_from_json, selection_to_json};
pub use translated::{Shared, Told, Translated};
pub use values::{Codec, Objects, Reading, Strangers, reference_from_json, reference_to_json};
