//! Capabilities of a connector, so that tests and callers need not try.

/// One table gives the flags, their names and their bits. A bit never changes its meaning; a new flag gets a new one.
macro_rules! capabilities {
    ($($(#[$doc:meta])* $field:ident = $bit:literal,)+) => {
        /// One flag for each part of the model that some connector may lack.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
        pub struct Capability {
            $($(#[$doc])* pub $field: bool,)+
        }

        impl Capability {
            /// All capabilities.
            pub const ALL: Capability = Capability { $($field: true),+ };

            /// Returns names and values, in a fixed order: for tables.
            pub fn list(&self) -> Vec<(String, bool)> {
                vec![$((stringify!($field).replace('_', " "), self.$field)),+]
            }

            /// Returns the flags as bits, the first of [`Capability::list`] lowest.
            pub fn to_bits(&self) -> u64 {
                0 $( | u64::from(self.$field) << $bit )+
            }

            /// Returns the flags of these bits. Bits without a flag are ignored.
            pub const fn from_bits(bits: u64) -> Self {
                Capability { $($field: bits >> $bit & 1 == 1),+ }
            }
        }
    };
}

capabilities! {
    /// Containers can be created and changed.
    write = 0,
    /// Several hard links to one object.
    hard_links = 1,
    /// Soft links.
    soft_links = 2,
    /// External links.
    external_links = 3,
    /// User-defined links.
    user_links = 4,
    /// Creation order of links and attributes.
    creation_order = 5,
    /// Attributes.
    attributes = 6,
    /// Committed datatypes.
    committed_datatypes = 7,
    /// Objects without a link.
    anonymous_objects = 8,
    /// Maps.
    maps = 9,
    /// Variable-length values.
    variable_length = 10,
    /// Object references.
    object_references = 11,
    /// Region references.
    region_references = 12,
    /// Attribute references.
    attribute_references = 13,
    /// Datasets change their extent.
    resize = 14,
    /// Fill values.
    fill_values = 15,
    /// Filters.
    filters = 16,
    /// Chunks as they are stored.
    raw_chunks = 17,
    /// Data in files next to the container.
    external_data = 18,
    /// Virtual datasets.
    virtual_datasets = 19,
    /// Copies of objects inside the connector.
    object_copy = 20,
    /// Comments on objects.
    comments = 21,
    /// Times of objects.
    times = 22,
    /// Committed changes survive the process.
    persistent = 23,
    /// Objects are read again as others left them (`H5Orefresh`).
    refresh = 24,
}
