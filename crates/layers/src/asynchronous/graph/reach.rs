//! What operations read or change, as far as that is known beforehand.

use std::sync::Arc;

use model::Token;
use vol::{AttributeInfo, DatasetInfo, Operation};

/// What an operation reads or changes.
#[derive(Debug, Clone, Default)]
pub(crate) struct Reach {
    pub(crate) objects: Vec<Token>,
    /// It may reach any object besides.
    pub(crate) is_wide: bool,
    pub(crate) changes: bool,
    /// It creates, links or removes objects.
    pub(crate) is_structure: bool,
    pub(crate) is_retain: bool,
    pub(crate) is_release: bool,
    /// It creates, renames or removes attributes.
    pub(crate) is_attributes: bool,
    /// It changes how many links lead to an object that is not known. One without links and handles goes.
    pub(crate) is_unlinking: bool,
    /// It asks how many links lead to its object.
    pub(crate) counts_links: bool,
    /// The only link of the first object that it reads or changes.
    pub(crate) link: Option<Arc<str>>,
}

impl Reach {
    pub(crate) fn change(object: Token) -> Self {
        Reach { objects: vec![object], changes: true, ..Reach::default() }
    }

    pub(crate) fn structure(object: Token) -> Self {
        Reach { is_structure: true, ..Reach::change(object) }
    }

    pub(crate) fn attributes(object: Token) -> Self {
        Reach { is_attributes: true, ..Reach::change(object) }
    }

    pub(crate) fn unlinking(group: Token) -> Self {
        Reach { is_unlinking: true, ..Reach::structure(group) }
    }

    pub(crate) fn change_all() -> Self {
        Reach { changes: true, is_structure: true, ..Reach::read_all() }
    }

    pub(crate) fn read(object: Token) -> Self {
        Reach { objects: vec![object], ..Reach::default() }
    }

    /// Reads or changes one link of a group only.
    pub(crate) fn of_link(self, name: &str) -> Self {
        Reach { link: Some(name.into()), ..self }
    }

    /// Returns whether this change of an object leaves alone what `read` reads of it: another link.
    pub(crate) fn leaves_alone(&self, object: Token, read: &Reach) -> bool {
        let link = |reach: &Reach| reach.link.clone().filter(|_| reach.objects.first() == Some(&object));
        link(self).is_some_and(|changed| link(read).is_some_and(|read| read != changed))
    }

    pub(crate) fn read_all() -> Self {
        Reach { is_wide: true, ..Reach::default() }
    }
}

/// What is known beforehand of what an operation makes.
#[derive(Debug, Clone, Default)]
pub(crate) enum Foreseen {
    #[default]
    Nothing,
    /// The dataset as it leaves it.
    Dataset(Token, Arc<DatasetInfo>),
    /// The attribute that it creates.
    Attribute(Box<AttributeInfo>),
    /// The name of the attribute that it removes.
    NoAttribute(String),
}

/// Returns what an operation reads or changes, where only its first object is known.
pub(crate) fn reach_of(operation: Operation, object: Option<Token>) -> Reach {
    use Operation as O;
    let Some(object) = object else { return reach_without_object(operation) };
    match operation {
        O::object_info => Reach { counts_links: true, ..Reach::read(object) },
        O::group_info | O::link_get | O::link_list | O::attribute_info | O::attribute_list => {
            Reach::read(object)
        }
        O::attribute_read | O::dataset_info | O::dataset_storage | O::dataset_read | O::chunk_list => {
            Reach::read(object)
        }
        O::chunk_read | O::stored_blocks | O::datatype_get | O::map_info | O::map_get | O::map_keys => {
            Reach::read(object)
        }
        O::lookup => Reach::read_all(),
        O::attribute_create | O::attribute_rename | O::attribute_delete => Reach::attributes(object),
        O::attribute_write | O::object_set_comment => Reach::change(object),
        O::dataset_write | O::dataset_resize | O::chunk_write | O::map_put | O::map_delete => {
            Reach::change(object)
        }
        O::retain => Reach { is_retain: true, ..Reach::change(object) },
        O::group_create | O::dataset_create | O::datatype_commit | O::map_create => Reach::structure(object),
        O::link_delete => Reach::unlinking(object),
        _ => Reach::change_all(),
    }
}

/// Values that descriptors stand for are there as long as who asks for them has them pinned, and new ones belong to
/// no object yet.
fn reach_without_object(operation: Operation) -> Reach {
    use Operation as O;
    match operation {
        O::info | O::blob_get | O::blob_put | O::blob_pin | O::blob_unpin => Reach::default(),
        O::reference_get | O::reference_put => Reach::default(),
        _ => Reach::change_all(),
    }
}
