//! Values that do not lie in memory as elements do: strings, sequences, structs. They are converted from
//! and to elements a strip at a time, so that buffers stay small, and by several threads if there are many.

use algorithms::workers;
use model::properties::Layout;
use model::{Datatype, Error, Heap, Result, Selection, Within};
use vol::DatasetInfo;

use crate::element::store_into;
use crate::{Dataset, H5Type};

/// Bytes of elements in a strip, which fit the cache of a core.
const STRIP_BYTES: u64 = 128 << 10;
/// Bytes of a strip of elements in chunks. It usually covers whole chunks, because decoding a part of one costs as
/// much as all.
const CHUNKED_STRIP_BYTES: u64 = 16 << 20;
/// Fewest elements for which a second thread is started.
const SHARED_MIN: u64 = 1 << 16;
/// Most threads: memory is allocated for each string, so more threads gain nothing.
const THREADS_MAX: usize = 4;

/// A strip and the number of its elements.
type Strip = (Selection, usize);

/// Elements of a strip, and the values of their descriptors.
#[derive(Default)]
struct LoadedStrip {
    elements: Vec<u8>,
    heap: Heap,
}

impl Dataset {
    /// Returns the values of a selection.
    pub(crate) fn load<T: H5Type>(&self, selection: &Selection, count: u64) -> Result<Vec<T>> {
        let mut shares = self.shares(selection, &T::datatype(), count)?.into_iter();
        let Some(first) = shares.next() else { return Ok(Vec::new()) };
        let (mut values, others) = both(
            || {
                let mut values = Vec::new();
                let capacity = values.try_reserve_exact(count as usize);
                capacity.map_err(|_| Error::limit("size of result").with("elements", count))?;
                self.load_share(&T::datatype(), &first, |buffer, heap| {
                    T::load_more(buffer, heap, &mut values)
                })?;
                Ok(values)
            },
            shares.collect(),
            |share: Vec<Strip>| {
                let mut values = Vec::with_capacity(share.iter().map(|strip| strip.1).sum());
                self.load_share(&T::datatype(), &share, |buffer, heap| {
                    T::load_more(buffer, heap, &mut values)
                })?;
                Ok(values)
            },
        )?;
        others.into_iter().for_each(|mut more| values.append(&mut more));
        Ok(values)
    }

    /// Reads a selection into existing values.
    pub(crate) fn load_into<T: H5Type>(&self, selection: &Selection, values: &mut [T]) -> Result<()> {
        let mut rest = values;
        let mut shares = Vec::new();
        for share in self.shares(selection, &T::datatype(), rest.len() as u64)? {
            let count = share.iter().map(|strip| strip.1).sum();
            let (now, later) = std::mem::take(&mut rest).split_at_mut(count);
            shares.push((share, now));
            rest = later;
        }
        // Few values are not worth a thread, not even one.
        let mut shares = shares.into_iter();
        let first = shares.next();
        let load = |(share, values): (Vec<Strip>, &mut [T])| {
            let (mut places, bytes) = (values.iter_mut(), T::element_bytes().max(1));
            self.load_share(&T::datatype(), &share, |buffer, heap| {
                for (element, place) in buffer.chunks_exact(bytes).zip(&mut places) {
                    *place = T::load(element, heap)?;
                }
                Ok(())
            })
        };
        both(|| first.map_or(Ok(()), load), shares.collect(), load).map(drop)
    }

    /// Converts values to elements and writes them to a selection.
    pub(crate) fn store<T: H5Type>(&self, selection: &Selection, values: &[T]) -> Result<()> {
        let info = self.dataset_info();
        let datatype = T::datatype();
        let count = self.elements(&info, selection).count()?;
        if count != values.len() as u64 {
            return Err(Error::invalid("write dataset").with("elements", count).with("values", values.len()));
        }
        if self.is_collective() {
            let mut made = LoadedStrip::default();
            store_into(values, &mut made.heap, &mut made.elements)?;
            return self.elements(&info, selection).write(&datatype, &made.elements, &mut made.heap);
        }
        #[cfg(feature = "async")]
        if self.queue_selection(selection, values)? {
            return Ok(());
        }
        let (dims, mut rest) = (info.space.dims(), values);
        let strips = selection.strips(dims, strip_elements(&info, &datatype))?.map(|strip| {
            let count = strip.element_count(dims)? as usize;
            let (now, later) = rest.split_at(count.min(rest.len()));
            rest = later;
            Ok((strip, now))
        });
        // While some are written, the next ones are converted.
        let make = |(_, values): &(Selection, &[T]), made: &mut LoadedStrip| {
            made.heap.clear();
            store_into(values, &mut made.heap, &mut made.elements)
        };
        let write = |(strip, _): &(Selection, &[T]), made: &mut LoadedStrip| {
            self.elements(&info, strip).write(&datatype, &made.elements, &mut made.heap)
        };
        workers::in_order(strips, workers::threads(count, SHARED_MIN), make, write)
    }

    /// Reads strips one after the other.
    fn load_share(
        &self,
        datatype: &Datatype,
        strips: &[Strip],
        mut load: impl FnMut(&[u8], &Heap) -> Result<()>,
    ) -> Result<()> {
        let info = self.dataset_info();
        let (mut buffer, mut heap) = (Vec::new(), Heap::new());
        for (strip, count) in strips {
            let bytes = (*count as u64).saturating_mul(u64::from(datatype.size()));
            buffer.resize(bytes.within(self.session.access.limits.result_bytes_max, "result")?, 0);
            heap.clear();
            self.elements(&info, strip).read(datatype, &mut buffer, &mut heap)?;
            load(&buffer, &heap)?;
        }
        Ok(())
    }

    /// Splits a selection into strips, in order, for each of the threads that are used.
    fn shares(&self, selection: &Selection, datatype: &Datatype, count: u64) -> Result<Vec<Vec<Strip>>> {
        if self.is_collective() {
            // All processes make one call, also those without elements.
            return Ok(vec![vec![(selection.clone(), count as usize)]]);
        }
        if count == 0 {
            return Ok(Vec::new());
        }
        let info = self.dataset_info();
        let dims = info.space.dims();
        let counted = |strip: Selection| Ok((strip.element_count(dims)? as usize, strip));
        let strips = selection.strips(dims, strip_elements(&info, datatype))?.map(counted);
        let strips =
            strips.map(|strip| strip.map(|(count, strip)| (strip, count))).collect::<Result<Vec<Strip>>>()?;
        let threads = workers::threads(count, SHARED_MIN).min(THREADS_MAX);
        let is_serial = || self.session.container.is_serial(self.token);
        let threads =
            if threads > 1 && is_serial() { 1 } else { threads.min((count / SHARED_MIN).max(1) as usize) };
        let each = strips.len().div_ceil(threads).max(1);
        Ok(strips.chunks(each).map(<[Strip]>::to_vec).collect())
    }
}

fn strip_elements(info: &DatasetInfo, datatype: &Datatype) -> u64 {
    let bytes = match info.create.layout {
        Layout::Contiguous | Layout::Compact => STRIP_BYTES,
        _ => CHUNKED_STRIP_BYTES,
    };
    (bytes / u64::from(datatype.size()).max(1)).max(1)
}

/// Runs `mine`, and `theirs` for each item on a thread of its own, and returns all results. The threads may wait for
/// locks of a file, so they are not those of the thread pool.
fn both<T: Send, R: Send, M>(
    mine: impl FnOnce() -> Result<M>,
    items: Vec<T>,
    theirs: impl Fn(T) -> Result<R> + Sync,
) -> Result<(M, Vec<R>)> {
    let theirs = &theirs;
    system::thread::scope(|scope| {
        let threads: Vec<_> = items.into_iter().map(|item| scope.spawn(move || theirs(item))).collect();
        let mine = mine();
        let joined = threads.into_iter().map(|thread| match thread.join() {
            Ok(done) => done,
            Err(panic) => std::panic::resume_unwind(panic),
        });
        let others = joined.collect::<Result<Vec<R>>>();
        Ok((mine?, others?))
    })
}
