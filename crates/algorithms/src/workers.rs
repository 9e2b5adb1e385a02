//! Pieces of one transfer on several threads.
//!
//! Threads of their own, not of the [thread pool](crate::thread_pool): what they do may wait for a container, or for one another.

use std::collections::BTreeMap;
use std::num::NonZero;
use std::sync::mpsc::{Receiver, Sender, channel};

use model::{Error, Result};
use system::sync::{Mutex, MutexGuard};

/// Returns how many threads share a transfer of so many bytes, or elements, where fewer than `least` are not worth a second one.
pub fn threads(amount: u64, least: u64) -> usize {
    if amount < least { 1 } else { system::thread::available_parallelism().map_or(1, NonZero::get) }
}

/// Locks a mutex, even if a thread panicked while it held the lock: the panic goes on when the threads are joined.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock()
}

/// Does the same with every item, each thread with a buffer of its own. After an error no item is begun; of several
/// errors, that of the first item counts.
pub fn each<T: Send>(
    items: impl Iterator<Item = Result<T>> + Send,
    threads: usize,
    work: impl Fn(T, &mut Vec<u8>) -> Result<()> + Sync,
) -> Result<()> {
    let mut items = items;
    if threads <= 1 {
        let mut buffer = Vec::new();
        return items.try_for_each(|item| work(item?, &mut buffer));
    }
    let items = Mutex::new(Some(items.enumerate()));
    let failure = Mutex::new(None);
    let worker = || {
        let mut buffer = Vec::new();
        loop {
            let Some((number, item)) = lock(&items).as_mut().and_then(Iterator::next) else { return };
            if let Err(error) = item.and_then(|item| work(item, &mut buffer)) {
                lock(&items).take();
                let mut failure = lock(&failure);
                if failure.as_ref().is_none_or(|(first, _)| number < *first) {
                    *failure = Some((number, error));
                }
            }
        }
    };
    system::thread::scope(|scope| {
        (1..threads).for_each(|_| drop(scope.spawn(worker)));
        worker();
    });
    let failure = failure.into_inner();
    failure.map_or(Ok(()), |(_, error)| Err(error))
}

/// Makes a buffer of every item, on several threads and ahead of time, and puts them in the order of the items.
///
/// The caller's thread puts, and makes while there is nothing to put: no more threads run than are asked for.
pub fn in_order<T: Send, B: Default + Send, E: From<Error>>(
    mut items: impl Iterator<Item = Result<T>> + Send,
    threads: usize,
    make: impl Fn(&T, &mut B) -> Result<()> + Sync,
    mut put: impl FnMut(&T, &mut B) -> std::result::Result<(), E>,
) -> std::result::Result<(), E> {
    if threads <= 1 {
        let mut buffer = B::default();
        return items.try_for_each(|item| {
            let item = item?;
            make(&item, &mut buffer)?;
            put(&item, &mut buffer)
        });
    }
    let (give, empty) = channel();
    // Twice as many buffers as threads: no one waits while the caller makes one and others are ready.
    (0..2 * threads).for_each(|_| drop(give.send(B::default())));
    let line = Line { items: Mutex::new(items.enumerate()), empty: Mutex::new(empty), make: &make };
    system::thread::scope(|scope| {
        let (line, (send, made)) = (&line, channel());
        for _ in 1..threads {
            let send = send.clone();
            scope.spawn(move || while line.next(true).is_some_and(|one| send.send(one).is_ok()) {});
        }
        drop(send);
        let outcome = put_all(line, &made, &give, &mut put);
        // Threads that wait for a buffer, or have one to send, end.
        drop((made, give));
        outcome
    })
}

type Made<T, B> = (usize, Result<(T, B)>);

/// Items in order, and buffers for them.
struct Line<'m, I, B, M> {
    items: Mutex<I>,
    empty: Mutex<Receiver<B>>,
    make: &'m M,
}

impl<T, B, I: Iterator<Item = (usize, Result<T>)>, M: Fn(&T, &mut B) -> Result<()>> Line<'_, I, B, M> {
    /// Makes the next item; `None` where none is left, or no buffer and the caller does not wait for one. A buffer is
    /// taken before an item is, so that the item which is next in order always has one.
    fn next(&self, waits: bool) -> Option<Made<T, B>> {
        let mut buffer = match waits {
            true => lock(&self.empty).recv().ok()?,
            // A caller that holds the lock waits for a buffer: there is none.
            false => self.empty.try_lock()?.try_recv().ok()?,
        };
        let (number, item) = lock(&self.items).next()?;
        Some((number, item.and_then(|item| (self.make)(&item, &mut buffer).map(|()| (item, buffer)))))
    }
}

fn put_all<T, B, I: Iterator<Item = (usize, Result<T>)>, M: Fn(&T, &mut B) -> Result<()>, E: From<Error>>(
    line: &Line<'_, I, B, M>,
    made: &Receiver<Made<T, B>>,
    give: &Sender<B>,
    put: &mut impl FnMut(&T, &mut B) -> std::result::Result<(), E>,
) -> std::result::Result<(), E> {
    let (mut early, mut next) = (BTreeMap::new(), 0);
    loop {
        // What others made; else one of its own; else what others make. Nothing comes once all threads have ended.
        let one = made.try_recv().ok().or_else(|| line.next(false)).or_else(|| made.recv().ok());
        let Some((number, result)) = one else { return Ok(()) };
        early.insert(number, result);
        while let Some(result) = early.remove(&next) {
            let (item, mut buffer) = result?;
            put(&item, &mut buffer)?;
            // No thread is left to take it once all items are made.
            drop(give.send(buffer));
            next += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{each, in_order};
    use model::Error;
    use system::sync::Mutex;

    fn numbers(count: usize) -> impl Iterator<Item = model::Result<usize>> + Send {
        (0..count).map(Ok)
    }

    #[test]
    fn every_item_is_worked_on_once() {
        for (count, threads) in [(0, 1), (0, 3), (1, 1), (1, 4), (100, 1), (100, 3)] {
            let seen = Mutex::new(Vec::new());
            each(numbers(count), threads, |n, _| {
                seen.lock().push(n);
                Ok(())
            })
            .unwrap();
            let mut seen = seen.into_inner();
            seen.sort_unstable();
            assert_eq!(seen, (0..count).collect::<Vec<_>>());
        }
    }

    #[test]
    fn an_error_ends_the_work() {
        for threads in [1, 3] {
            let outcome = each(numbers(1000), threads, |n, _| match n {
                40.. => Err(Error::invalid("work")),
                _ => Ok(()),
            });
            assert!(outcome.is_err());
        }
    }

    #[test]
    fn buffers_are_put_in_order() {
        for (count, threads) in [(0, 2), (1, 2), (2, 1), (300, 1), (300, 2), (300, 5)] {
            let mut found = Vec::new();
            let make = |n: &usize, buffer: &mut Vec<u8>| {
                buffer.clear();
                buffer.extend_from_slice(&n.to_le_bytes());
                Ok(())
            };
            let put = |n: &usize, buffer: &mut Vec<u8>| {
                assert_eq!(*buffer, n.to_le_bytes());
                found.push(*n);
                Ok::<(), Error>(())
            };
            in_order(numbers(count), threads, make, put).unwrap();
            assert_eq!(found, (0..count).collect::<Vec<_>>());
        }
    }

    #[test]
    fn nothing_is_put_after_an_item_that_fails() {
        for threads in [1, 2, 4] {
            let mut found = 0;
            let make = |n: &usize, _: &mut Vec<u8>| match n {
                20 => Err(Error::invalid("make")),
                _ => Ok(()),
            };
            let outcome = in_order(numbers(100), threads, make, |_, _| {
                found += 1;
                Ok::<(), Error>(())
            });
            assert!(outcome.is_err());
            assert_eq!(found, 20);
            let refused =
                in_order(numbers(100), threads, |_, _: &mut ()| Ok(()), |_, _| Err(Error::invalid("put")));
            assert!(refused.is_err());
        }
    }
}
