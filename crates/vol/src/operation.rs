//! The operations of a container as values. A number never changes its meaning; a new operation gets a new one.
//! The table in `container.rs` names each of them in what is generated from it, so none can be left out here.

macro_rules! codes {
    ($($name:ident = $number:literal),+ $(,)?) => {
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

            /// The operation of this number.
            pub fn of(number: u32) -> Option<Operation> {
                match number {
                    $( $number => Some(Operation::$name), )+
                    _ => None,
                }
            }

            /// Its name.
            pub fn name(self) -> &'static str {
                match self {
                    $( Operation::$name => stringify!($name), )+
                }
            }
        }
    };
}

codes! {
    info = 1,
    commit = 2,
    close = 3,
    optional = 4,
    retain = 16,
    release = 17,
    object_info = 18,
    object_copy = 19,
    object_set_comment = 20,
    object_adjust_references = 21,
    object_kinds = 22,
    group_create = 32,
    group_info = 33,
    link_create = 34,
    link_get = 35,
    link_list = 36,
    link_delete = 37,
    link_move = 38,
    lookup = 39,
    attribute_create = 48,
    attribute_info = 49,
    attribute_list = 50,
    attribute_read = 51,
    attribute_write = 52,
    attribute_delete = 53,
    attribute_rename = 54,
    dataset_create = 64,
    dataset_info = 65,
    dataset_storage = 66,
    dataset_read = 67,
    dataset_write = 68,
    dataset_resize = 69,
    chunk_list = 70,
    chunk_read = 71,
    chunk_write = 72,
    elements_find = 73,
    elements_place = 74,
    elements_changed = 75,
    datatype_commit = 80,
    datatype_get = 81,
    map_create = 96,
    map_info = 97,
    map_put = 98,
    map_get = 99,
    map_keys = 100,
    map_delete = 101,
    blob_put = 112,
    blob_get = 113,
    blob_delete = 114,
    reference_get = 115,
    reference_put = 116,
    blob_pin = 117,
    blob_unpin = 118,
}

impl Operation {
    /// Numbers are below this.
    pub const NUMBER_END: usize = 128;

    /// Its number.
    pub fn number(self) -> u32 {
        self as u32
    }

    /// Whether it changes what is stored. `optional` does not say, and counts as not.
    #[inline]
    pub const fn changes(self) -> bool {
        use Operation as O;
        // What is not listed changes something: a new operation is refused rather than let through by mistake.
        !matches!(
            self,
            O::info
                | O::commit
                | O::close
                | O::optional
                | O::retain
                | O::release
                | O::object_info
                | O::group_info
                | O::link_get
                | O::link_list
                | O::lookup
                | O::attribute_info
                | O::attribute_list
                | O::attribute_read
                | O::dataset_info
                | O::dataset_storage
                | O::dataset_read
                | O::chunk_list
                | O::chunk_read
                | O::elements_find
                | O::datatype_get
                | O::map_info
                | O::object_kinds
                | O::map_get
                | O::map_keys
                | O::blob_get
                | O::blob_pin
                | O::blob_unpin
                | O::reference_get
        )
    }
}
