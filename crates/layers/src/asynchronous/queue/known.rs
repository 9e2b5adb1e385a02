//! What is known of objects without asking the container.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use model::Token;
use vol::{AttributeInfo, DatasetInfo, Operation};

use super::{Queue, REMEMBERED_MAX};
use crate::asynchronous::graph::{Foreseen, Reach};

/// Objects that a handle is open of. Who changes them in the background need not ask for them first.
#[derive(Default)]
pub(super) struct Known {
    /// All attributes of objects that were created here.
    attributes: HashMap<Token, BTreeMap<String, AttributeInfo>>,
    /// Datasets as they were created, or as the container described them. Others may have changed the extent since.
    datasets: HashMap<Token, Arc<DatasetInfo>>,
}

impl Known {
    /// Notes an object that is new.
    pub(super) fn created(&mut self, object: Token, dataset: Option<Arc<DatasetInfo>>) {
        if self.attributes.len() < REMEMBERED_MAX {
            self.attributes.insert(object, BTreeMap::new());
        }
        dataset.into_iter().for_each(|info| self.described(object, info));
    }

    fn described(&mut self, dataset: Token, info: Arc<DatasetInfo>) {
        if self.datasets.len() < REMEMBERED_MAX {
            self.datasets.insert(dataset, info);
        }
    }

    /// Forgets an object: an operation on it failed, or its last handle is gone.
    pub(super) fn forget(&mut self, object: Token) {
        self.attributes.remove(&object);
        self.datasets.remove(&object);
    }

    /// Notes what an operation will do.
    pub(super) fn note(&mut self, operation: Operation, reach: &Reach, foreseen: &Foreseen) {
        if reach.is_wide && reach.changes && operation != Operation::commit {
            self.attributes.clear();
        }
        if let Foreseen::Dataset(dataset, info) = foreseen
            && let Some(known) = self.datasets.get_mut(dataset)
        {
            known.clone_from(info);
        }
        if reach.is_attributes {
            reach.objects.iter().for_each(|object| self.note_attribute(*object, foreseen));
        }
    }

    fn note_attribute(&mut self, object: Token, foreseen: &Foreseen) {
        let Some(known) = self.attributes.get_mut(&object) else { return };
        match foreseen {
            Foreseen::Attribute(info) if !known.contains_key(&info.name) => {
                known.insert(info.name.clone(), (**info).clone());
            }
            Foreseen::NoAttribute(name) => drop(known.remove(name)),
            _ => drop(self.attributes.remove(&object)),
        }
    }
}

impl Queue {
    /// Returns the attribute of an object whose attributes are all known, or that it has none of this name.
    pub(crate) fn known_attribute(&self, object: Token, name: &str) -> Option<Option<AttributeInfo>> {
        self.state().known.attributes.get(&object).map(|known| known.get(name).cloned())
    }

    /// Returns a dataset as it is known; others may have changed its extent.
    pub(crate) fn known_dataset(&self, dataset: Token) -> Option<Arc<DatasetInfo>> {
        self.state().known.datasets.get(&dataset).cloned()
    }

    /// Notes what the container said of a dataset, as long as a handle is open of it.
    pub(crate) fn know_dataset(&self, dataset: Token, info: &Arc<DatasetInfo>) {
        let mut state = self.state();
        if state.handles.has(dataset) {
            state.known.described(dataset, info.clone());
        }
    }

    /// Forgets the attributes of an object, or of all.
    pub(crate) fn forget_attributes(&self, object: Option<Token>) {
        let known = &mut self.state().known.attributes;
        match object {
            Some(object) => drop(known.remove(&object)),
            None => known.clear(),
        }
    }
}
