//! Threads that read and write subfiles at the same time.

use std::io;

use system::thread;

/// Requests of fewer bytes are served by the caller's thread: starting threads would take longer.
const PARALLEL_BYTES_MIN: usize = 1 << 20;

/// Calls `work` for the parts of each subfile, with one thread for each if there is much to do.
pub(super) fn each_subfile<T: Send>(
    mut groups: Vec<Vec<T>>,
    bytes: usize,
    threads: usize,
    work: impl Fn(T) -> io::Result<()> + std::marker::Sync,
) -> io::Result<()> {
    groups.retain(|group| !group.is_empty());
    if bytes < PARALLEL_BYTES_MIN || groups.len() < 2 || threads < 2 {
        return groups.into_iter().flatten().try_for_each(work);
    }
    // Groups are dealt to as many threads as there may be.
    let mut hands: Vec<Vec<T>> = Vec::new();
    hands.resize_with(threads.min(groups.len()), Vec::new);
    let count = hands.len();
    groups.into_iter().enumerate().for_each(|(n, group)| hands[n % count].extend(group));
    let work = &work;
    thread::scope(|scope| {
        let started: Vec<_> =
            hands.into_iter().map(|hand| scope.spawn(move || hand.into_iter().try_for_each(work))).collect();
        // All are waited for, whichever fails.
        let mut done = Ok(());
        for thread in started {
            let this = thread.join().unwrap_or_else(|_| Err(io::Error::other("a thread panicked")));
            done = done.and(this);
        }
        done
    })
}
