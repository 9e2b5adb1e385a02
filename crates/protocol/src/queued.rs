//! Operations that a client sends without waiting for their answers, and the tokens of what they create.

use model::Token;
use vol::Operation;

/// The first bytes of tokens of queued operations.
const MARK: [u8; 8] = *b"\xffqueued\xff";

/// Returns the token of what the queued operation of this number creates.
pub fn queued_token(sequence: u64) -> Token {
    let mut token = [0; 16];
    token[..8].copy_from_slice(&MARK);
    token[8..].copy_from_slice(&sequence.to_le_bytes());
    Token(token)
}

/// Returns the number that a token of [`queued_token`] stands for.
pub fn queued_sequence(token: Token) -> Option<u64> {
    let sequence = token.0.strip_prefix(&MARK)?;
    sequence.try_into().ok().map(u64::from_le_bytes)
}

/// Returns whether the token is one of [`queued_token`].
pub fn is_queued_token(token: Token) -> bool {
    queued_sequence(token).is_some()
}

/// Returns whether an operation answers with the token of what it created.
pub fn makes_object(code: Operation) -> bool {
    use Operation as O;
    matches!(code, O::group_create | O::dataset_create | O::datatype_commit | O::map_create | O::object_copy)
}

/// Returns whether an operation may be queued: its answer is nothing, or a new token.
pub fn may_be_queued(code: Operation) -> bool {
    use Operation as O;
    makes_object(code)
        || matches!(
            code,
            O::retain
                | O::release
                | O::object_set_comment
                | O::link_create
                | O::link_delete
                | O::link_move
                | O::attribute_create
                | O::attribute_write
                | O::attribute_delete
                | O::attribute_rename
                | O::dataset_write
                | O::dataset_resize
                | O::chunk_write
                | O::map_put
                | O::blob_delete
                | O::blob_pin
                | O::blob_unpin
        )
}
