//! The C library's allocator, in a process that runs for long.

/// Lets large blocks go back to the system when they are freed.
///
/// By default glibc learns from the first large block that is freed to keep such blocks, in one of many arenas: a server under
/// attack had twice the memory that its accounts counted.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
#[expect(unsafe_code, reason = "there is no safe interface to it")]
pub(crate) fn give_back_large_blocks() {
    use std::ffi::c_int;

    unsafe extern "C" {
        fn mallopt(parameter: c_int, value: c_int) -> c_int;
    }
    const M_MMAP_THRESHOLD: c_int = -3;
    /// Blocks of this many bytes: transfers come in such pieces, and connections keep theirs.
    const LARGE_BYTES: c_int = 1 << 20;
    // SAFETY: it takes two numbers, may be called at any time, and an answer of 0 changes nothing.
    unsafe { mallopt(M_MMAP_THRESHOLD, LARGE_BYTES) };
}

#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
pub(crate) fn give_back_large_blocks() {}
