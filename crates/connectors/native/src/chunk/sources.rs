//! The sources of virtual datasets: other files, and this one.

use std::sync::Arc;

use algorithms::virtual_dataset::{SourceContainer, Sources, VirtualDataset};
use model::convert::Conversions;
use model::properties::{Layout as LayoutProperty, VirtualMapping};
use model::{Error, Result};

use crate::container::NativeContainer;
use crate::file::File;
use crate::object::dataset::Dataset;

/// Returns a dataset as a virtual one, or `None` if it is not virtual.
pub(crate) fn virtual_dataset<'a>(file: &File, dataset: &'a Dataset) -> Option<VirtualDataset<'a>> {
    match &dataset.info.create.layout {
        LayoutProperty::Virtual(mappings) => Some(of(file, dataset, mappings)),
        _ => None,
    }
}

pub(crate) fn of<'a>(
    file: &File,
    dataset: &'a Dataset,
    mappings: &'a [VirtualMapping],
) -> VirtualDataset<'a> {
    let view = file.virtual_views.of(dataset.address);
    VirtualDataset { datatype: &dataset.info.datatype, space: &dataset.info.space, mappings, view }
}

impl Sources for File {
    fn container(&self, name: &str) -> Result<SourceContainer<'_>> {
        if name == "." {
            return Ok(SourceContainer::OwnHandle(NativeContainer::within(self.again()?)?));
        }
        if let Some(container) = self.changed_source(name) {
            return Ok(SourceContainer::Other(container));
        }
        let refused = || {
            let error = Error::denied("open virtual source").with("file", name);
            error.with("problem", "no resolver was given")
        };
        let resolver = self.resolver.as_ref().ok_or_else(refused)?;
        resolver.container(name, &self.path).map(SourceContainer::Other)
    }

    fn container_for_writing(&self, name: &str) -> Result<SourceContainer<'_>> {
        match name {
            "." => Ok(SourceContainer::OwnHandle(another_handle(self)?)),
            name => self.source_to_change(name).map(SourceContainer::Other),
        }
    }

    fn link_traversals_max(&self) -> u32 {
        self.store.limits.link_traversals_max
    }

    fn conversions(&self) -> &Conversions {
        &self.conversions
    }
}

/// Opens one more handle of this file; it counts until it is dropped.
fn another_handle(file: &File) -> Result<Arc<NativeContainer>> {
    let again = file.again()?;
    if !file.join() {
        return Err(Error::invalid("write virtual dataset").with("problem", "the file is closed"));
    }
    let made = NativeContainer::new(again);
    if made.is_err() {
        file.leave();
    }
    made
}
