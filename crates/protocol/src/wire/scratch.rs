//! Buffers that a thread uses again: a call allocates nothing for its arguments once the thread has made one.

use std::cell::RefCell;

/// Buffers that a thread has for later calls: calls nest as deep as layers do.
const SPARE_MAX: usize = 8;

/// Larger ones are given back to the system.
const SPARE_BYTES_MAX: usize = 1 << 16;

thread_local! {
    static SPARE: RefCell<Vec<Vec<u8>>> = const { RefCell::new(Vec::new()) };
}

/// Returns an empty buffer.
pub(super) fn take() -> Vec<u8> {
    SPARE.try_with(|spare| spare.borrow_mut().pop()).ok().flatten().unwrap_or_default()
}

/// Gives back a buffer that is not needed any more.
pub(super) fn give(mut buffer: Vec<u8>) {
    if buffer.capacity() == 0 || buffer.capacity() > SPARE_BYTES_MAX {
        return;
    }
    buffer.clear();
    // A thread that ends has no buffers any more, and needs none.
    let _ = SPARE.try_with(|spare| {
        let mut spare = spare.borrow_mut();
        if spare.len() < SPARE_MAX {
            spare.push(buffer);
        }
    });
}
