//! Property lists, under the names of `hdf5-metno`.

pub use crate::map::MapAccess;
pub use crate::options::{FileAccessBuilder, FileCreateBuilder};
pub use crate::vol::FileAccess;
pub use model::properties::{
    AllocTime, CreationOrder, DatasetCreate, FileCreate, FillTime, GroupCreate, Layout, ObjectCreate,
    PhaseChange, SpaceStrategy,
};
