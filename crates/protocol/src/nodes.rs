//! Clients of several nodes: which of their changes they keep until they are stored.

use vol::Operation;

/// Returns whether a client of several nodes keeps a change until it is stored, and makes it again at another node.
///
/// Such a change says what a value is, so that making it again leaves the same. Every other change is stored before it is
/// answered.
pub fn is_kept(code: Operation) -> bool {
    use Operation as O;
    matches!(
        code,
        O::dataset_write | O::chunk_write | O::attribute_write | O::map_put | O::object_set_comment
    )
}

/// Returns whether everything that a client of several nodes changed before is stored when this was answered.
pub fn stores(code: Operation) -> bool {
    code == Operation::commit || code == Operation::close || code.changes() && !is_kept(code)
}
