//! Work on all cores, for connectors and for what stands over them.
//!
//! The threads are the library's own. They take nothing but pieces of work that wait for no one, so that a caller that hands
//! them out may hold a lock meanwhile. And a caller that works for a caller's `rayon` already does its own pieces: waiting there
//! could mean to begin something else, which may want that same lock.

use rayon::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};
use system::sync::RwLock;

/// The pool, and the process whose threads it has: a child that was forked has none of them.
static POOL: RwLock<Option<(u32, Option<&'static ThreadPool>)>> = RwLock::new(None);

/// Returns the thread pool, or `None` if the system provides no threads.
fn thread_pool() -> Option<&'static ThreadPool> {
    let process = system::process::id();
    let started = POOL.read().filter(|(of, _)| *of == process);
    let (_, pool) = started.unwrap_or_else(|| start(process));
    pool.filter(|pool| pool.current_num_threads() > 1)
}

/// Starts the threads of this process. A pool is never dropped: that of a parent would wait for threads that are not there.
fn start(process: u32) -> (u32, Option<&'static ThreadPool>) {
    let mut pool = POOL.write();
    let build = || ThreadPoolBuilder::new().thread_name(|n| format!("hyperslab-{n}")).build().ok();
    match *pool {
        Some(started) if started.0 == process => started,
        _ => *pool.insert((process, build().map(|built| &*Box::leak(Box::new(built))))),
    }
}

/// Returns the thread pool, if work can be shared from this thread.
fn helpers(items: usize) -> Option<&'static ThreadPool> {
    if items < 2 || rayon::current_thread_index().is_some() { None } else { thread_pool() }
}

/// Returns how many items are worked on at the same time.
pub fn threads() -> usize {
    thread_pool().map_or(1, ThreadPool::current_num_threads)
}

/// Calls `f` with every item, on all cores. After an error some are left out.
pub fn each<T: Send, E: Send>(items: Vec<T>, f: impl Fn(T) -> Result<(), E> + Sync) -> Result<(), E> {
    match helpers(items.len()) {
        Some(thread_pool) => thread_pool.install(|| items.into_par_iter().with_max_len(1).try_for_each(&f)),
        None => items.into_iter().try_for_each(f),
    }
}

/// Returns what `f` makes of every item, in their order.
pub fn map<T: Send, R: Send, E: Send>(
    items: Vec<T>,
    f: impl Fn(T) -> Result<R, E> + Sync,
) -> Result<Vec<R>, E> {
    match helpers(items.len()) {
        Some(thread_pool) => thread_pool.install(|| items.into_par_iter().with_max_len(1).map(&f).collect()),
        None => items.into_iter().map(f).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn order_is_kept_and_the_first_error_ends_it() {
        let doubled = map((0..1000).collect(), |n: i32| Ok::<i32, ()>(n * 2)).unwrap();
        assert_eq!(doubled, (0..1000).map(|n| n * 2).collect::<Vec<_>>());
        assert_eq!(each(vec![1, 2, 3], |n| if n == 2 { Err("two") } else { Ok(()) }), Err("two"));
    }

    #[test]
    fn one_who_holds_a_lock_inside_of_rayon_does_not_wait_for_itself() {
        let lock = system::sync::Mutex::new(0);
        (0..64).into_par_iter().for_each(|_| {
            let mut sum = lock.lock();
            each((0..64).collect(), |_: i32| Ok::<(), ()>(())).unwrap();
            *sum += 1;
        });
        assert_eq!(*lock.lock(), 64);
    }
}
