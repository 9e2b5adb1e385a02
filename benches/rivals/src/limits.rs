//! What the hardware gives: the same bytes by two threads and nothing else, the codec alone.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use filters::{Registry, Scratch, Stage};

use crate::Outcome;
use crate::harness::{cores, timed};

/// Bytes that one thread takes at a time.
const PIECE: usize = 1 << 20;

/// Seconds for `work` on every number below `count`, by as many threads as there are cores.
fn shared(count: usize, work: impl Fn(usize) -> std::io::Result<()> + Sync) -> Outcome<f64> {
    let next = AtomicUsize::new(0);
    let failure = Mutex::new(None);
    let run = || loop {
        let n = next.fetch_add(1, Ordering::Relaxed);
        if n >= count {
            return;
        }
        if let Err(error) = work(n) {
            failure.lock().expect("nobody panics").replace(error);
        }
    };
    let seconds = timed(|| {
        std::thread::scope(|scope| (0..cores()).for_each(|_| drop(scope.spawn(run))));
        Ok(())
    })?;
    failure.into_inner()?.map_or(Ok(seconds), |error| Err(error.into()))
}

/// A new file of so many bytes, by all cores.
pub(crate) fn pwrite(path: &str, bytes: usize) -> Outcome<f64> {
    std::fs::remove_file(path).ok();
    let (file, piece) = (File::create(path)?, vec![7u8; PIECE]);
    shared(bytes / PIECE, |n| file.write_all_at(&piece, (n * PIECE) as u64))
}

/// All bytes of a file, by all cores, each into a buffer that stays in its cache.
pub(crate) fn pread(path: &str) -> Outcome<f64> {
    let file = File::open(path)?;
    let pieces = file.metadata()?.len() as usize / PIECE;
    shared(pieces, |n| file.read_exact_at(&mut vec![0; PIECE], (n * PIECE) as u64))
}

/// So many bytes at each of these places of a file, by all cores.
pub(crate) fn pread_at(path: &str, places: &[u64], bytes: usize) -> Outcome<f64> {
    let file = File::open(path)?;
    let places: Vec<&[u64]> = places.chunks(64).collect();
    shared(places.len(), |n| {
        let mut buffer = vec![0; bytes];
        places[n].iter().try_for_each(|&at| file.read_exact_at(&mut buffer, at))
    })
}

/// Chunks of a dataset before and after their filters.
pub(crate) struct Codec {
    stages: Vec<(u16, Vec<u32>)>,
    plain: Vec<Vec<u8>>,
    encoded: Vec<Vec<u8>>,
}

impl Codec {
    pub(crate) fn new(stages: &[(u16, &[u32])], values: &[f32]) -> Outcome<Codec> {
        let stages = stages.iter().map(|(id, values)| (*id, values.to_vec())).collect();
        let bytes = |piece: &[f32]| piece.iter().flat_map(|value| value.to_ne_bytes()).collect();
        let mut codec =
            Codec { stages, plain: values.chunks(PIECE / 4).map(bytes).collect(), encoded: Vec::new() };
        let registry = Registry::default();
        let encode = |plain: &Vec<u8>| Ok(registry.encode(&codec.stages(), plain.clone())?.0);
        codec.encoded = codec.plain.iter().map(encode).collect::<Outcome<_>>()?;
        Ok(codec)
    }

    fn stages(&self) -> Vec<Stage<'_>> {
        self.stages.iter().map(|(id, values)| Stage { id: *id, optional: false, values }).collect()
    }

    pub(crate) fn encode(&self) -> Outcome<f64> {
        let registry = Registry::default();
        shared(self.plain.len(), |n| {
            let done = registry
                .encode_into(&self.stages(), &self.plain[n], &mut Scratch::new(), &mut Vec::new())
                .map(drop);
            done.map_err(std::io::Error::other)
        })
    }

    pub(crate) fn decode(&self) -> Outcome<f64> {
        let registry = Registry::default();
        shared(self.encoded.len(), |n| {
            let mut plain = vec![0; PIECE];
            let encoded = &self.encoded[n];
            let done =
                registry.decode_into(&self.stages(), 0, encoded, &mut plain, 2 * PIECE, &mut Scratch::new());
            done.map_err(std::io::Error::other)
        })
    }
}
