//! The operations of a container as values. A number never changes its meaning; a new operation gets a new one.
//! The code that is generated from the table in `container.rs` names each of them, so none can be missing here.

use crate::Access;

macro_rules! codes {
    ($($name:ident = $number:literal, $access:ident;)+) => {
        /// An operation of [`Container`](crate::Container), by the name it has there.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[allow(non_camel_case_types, reason = "the names are those of the operations")]
        #[repr(u32)]
        #[expect(missing_docs, reason = "the operations say what they do")]
        pub enum Operation {
            $($name = $number),+
        }

        impl Operation {
            /// All operations.
            pub const ALL: &[Operation] = &[$(Operation::$name),+];

            /// Returns the operation of this number.
            pub fn of(number: u32) -> Option<Operation> {
                match number {
                    $( $number => Some(Operation::$name), )+
                    _ => None,
                }
            }

            /// Returns the access that the operation needs; a server asks for it before it runs the operation.
            /// That of `optional` depends on its name: [`Registry::extension_access`](crate::Registry::extension_access).
            #[inline]
            pub const fn access(self) -> Access {
                match self {
                    $( Operation::$name => Access::$access, )+
                }
            }

            /// Returns its name.
            pub fn name(self) -> &'static str {
                match self {
                    $( Operation::$name => stringify!($name), )+
                }
            }
        }
    };
}

codes! {
    info = 1, Read;
    commit = 2, Write;
    close = 3, Read;
    optional = 4, Read;
    start_swmr = 5, Write;
    storage_check = 6, Read;
    storage_repair = 7, Write;
    storage_show = 8, Read;
    retain = 16, Read;
    release = 17, Read;
    object_info = 18, Read;
    object_copy = 19, Write;
    object_set_comment = 20, Write;
    object_adjust_references = 21, Write;
    object_kinds = 22, Read;
    object_refresh = 23, Read;
    group_create = 32, Write;
    group_info = 33, Read;
    link_create = 34, Write;
    link_get = 35, Read;
    link_list = 36, Read;
    link_delete = 37, Write;
    link_move = 38, Write;
    lookup = 39, Read;
    attribute_create = 48, Write;
    attribute_info = 49, Read;
    attribute_list = 50, Read;
    attribute_read = 51, Read;
    attribute_write = 52, Write;
    attribute_delete = 53, Write;
    attribute_rename = 54, Write;
    dataset_create = 64, Write;
    dataset_info = 65, Read;
    dataset_storage = 66, Read;
    dataset_read = 67, Read;
    dataset_write = 68, Write;
    dataset_resize = 69, Write;
    chunk_list = 70, Read;
    chunk_read = 71, Read;
    chunk_write = 72, Write;
    elements_find = 73, Read;
    elements_place = 74, Write;
    elements_changed = 75, Write;
    stored_blocks = 76, Read;
    chunk_cache_info = 77, Read;
    chunk_cache_set = 78, Write;
    datatype_commit = 80, Write;
    datatype_get = 81, Read;
    map_create = 96, Write;
    map_info = 97, Read;
    map_put = 98, Write;
    map_get = 99, Read;
    map_keys = 100, Read;
    map_delete = 101, Write;
    blob_put = 112, Write;
    blob_get = 113, Read;
    blob_delete = 114, Write;
    reference_get = 115, Read;
    reference_put = 116, Write;
    blob_pin = 117, Read;
    blob_unpin = 118, Read;
}

impl Operation {
    /// Numbers are below this.
    pub const NUMBER_END: usize = 128;

    /// Returns its number.
    pub fn number(self) -> u32 {
        self as u32
    }

    /// Returns whether the operation changes what is stored. `optional` counts as one that does not, because its name
    /// decides. The size of a cache is not stored.
    #[inline]
    pub const fn changes(self) -> bool {
        matches!(self.access(), Access::Write)
            && !matches!(self, Operation::commit | Operation::chunk_cache_set)
    }
}
