//! What a connector can do, so that tests and callers need not try.

/// One flag for each part of the model that some connector may lack.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Capability {
    /// Containers can be created and changed.
    pub write: bool,
    /// Several hard links to one object.
    pub hard_links: bool,
    /// Soft links.
    pub soft_links: bool,
    /// External links.
    pub external_links: bool,
    /// User-defined links.
    pub user_links: bool,
    /// Creation order of links and attributes.
    pub creation_order: bool,
    /// Attributes.
    pub attributes: bool,
    /// Committed datatypes.
    pub committed_datatypes: bool,
    /// Objects without a link.
    pub anonymous_objects: bool,
    /// Maps.
    pub maps: bool,
    /// Variable-length values.
    pub variable_length: bool,
    /// Object references.
    pub object_references: bool,
    /// Region references.
    pub region_references: bool,
    /// Attribute references.
    pub attribute_references: bool,
    /// Datasets change their extent.
    pub resize: bool,
    /// Fill values.
    pub fill_values: bool,
    /// Filters.
    pub filters: bool,
    /// Chunks as they are stored.
    pub raw_chunks: bool,
    /// Data in files beside the container.
    pub external_data: bool,
    /// Virtual datasets.
    pub virtual_datasets: bool,
    /// Copies of objects inside the connector.
    pub object_copy: bool,
    /// Comments on objects.
    pub comments: bool,
    /// Times of objects.
    pub times: bool,
    /// What was committed survives the process.
    pub persistent: bool,
}

impl Capability {
    /// Everything that is in the model.
    pub const ALL: Capability = Capability {
        write: true,
        hard_links: true,
        soft_links: true,
        external_links: true,
        user_links: true,
        creation_order: true,
        attributes: true,
        committed_datatypes: true,
        anonymous_objects: true,
        maps: true,
        variable_length: true,
        object_references: true,
        region_references: true,
        attribute_references: true,
        resize: true,
        fill_values: true,
        filters: true,
        raw_chunks: true,
        external_data: true,
        virtual_datasets: true,
        object_copy: true,
        comments: true,
        times: true,
        persistent: true,
    };

    /// Names and values, in a fixed order: for tables.
    pub fn list(&self) -> [(&'static str, bool); 24] {
        [
            ("write", self.write),
            ("hard links", self.hard_links),
            ("soft links", self.soft_links),
            ("external links", self.external_links),
            ("user links", self.user_links),
            ("creation order", self.creation_order),
            ("attributes", self.attributes),
            ("committed datatypes", self.committed_datatypes),
            ("anonymous objects", self.anonymous_objects),
            ("maps", self.maps),
            ("variable length", self.variable_length),
            ("object references", self.object_references),
            ("region references", self.region_references),
            ("attribute references", self.attribute_references),
            ("resize", self.resize),
            ("fill values", self.fill_values),
            ("filters", self.filters),
            ("raw chunks", self.raw_chunks),
            ("external data", self.external_data),
            ("virtual datasets", self.virtual_datasets),
            ("object copy", self.object_copy),
            ("comments", self.comments),
            ("times", self.times),
            ("persistent", self.persistent),
        ]
    }
}
