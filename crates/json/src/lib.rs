//! The data model as HDF5/JSON text: types, spaces, properties, links and element values, exact in both directions.
//!
//! The published form (HDF5/JSON of the HDF Group) is the base; `docs/json-layout.md` says where it is extended.
//! Text that no one vouches for gives errors in bounded time and memory.
#![forbid(unsafe_code)]

mod datatype;
pub mod files;
pub mod ids;
mod inner;
mod load;
mod names;
mod properties;
mod save;
mod siblings;
mod space;
pub mod text;
mod translated;
mod value_budget;
mod values;

pub use datatype::{datatype_from_json, datatype_to_json};
pub use inner::InnerContainer;
pub use load::{Loader, group_properties};
pub use properties::{dataset_from_json, file_from_json, file_to_json};
pub use save::{Saver, charset_from_json, charset_to_json};
pub use siblings::SiblingResolver;
pub use space::{dataspace_from_json, dataspace_to_json, selection_from_json, selection_to_json};
pub use translated::{Shared, Translated, TranslatedInfo};
pub use values::{Codec, Objects, Reading, Strangers, reference_from_json, reference_to_json};
