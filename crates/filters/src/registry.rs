//! Finds filters by number and runs whole pipelines.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, LazyLock};

use crate::error::{Error, ErrorKind, Origin};
use crate::output::Output;
use crate::scratch::{Flow, Scratch};
use crate::{Filter, FilterId, Params, Size, names};

/// One entry of a filter pipeline.
#[derive(Debug, Clone, Copy)]
pub struct Stage<'a> {
    /// Number of the filter.
    pub id: FilterId,
    /// A failure while encoding skips the filter instead of failing the write.
    pub optional: bool,
    /// Client data values.
    pub values: &'a [u32],
}

/// A pipeline has at most 32 filters: the mask of a chunk has that many bits.
const STAGES_MAX: usize = 32;

/// The filters a program can use.
#[derive(Clone)]
pub struct Registry {
    /// Shared until one is added: every open file has a registry.
    filters: Arc<BTreeMap<FilterId, Arc<dyn Filter>>>,
    /// Asked for filters that are not here.
    finder: Option<Finder>,
}

/// Returns a filter that a registry lacks, if the program has it: one that was registered after a file was opened, or a plugin.
pub type Finder = fn(FilterId) -> Option<&'static dyn Filter>;

static COMPILED_IN: LazyLock<Registry> = LazyLock::new(|| {
    let mut registry = Registry::empty();
    compiled_in().into_iter().for_each(|filter| registry.register(filter));
    registry
});

impl Default for Registry {
    /// Returns every filter of this build.
    fn default() -> Self {
        COMPILED_IN.clone()
    }
}

impl fmt::Debug for Registry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.filters.iter().map(|(id, filter)| (id, filter.name()))).finish()
    }
}

impl Registry {
    /// Returns a registry without filters.
    pub fn empty() -> Self {
        Self { filters: Arc::default(), finder: None }
    }

    /// Adds a filter; one with the same number is replaced.
    pub fn register(&mut self, filter: Arc<dyn Filter>) {
        Arc::make_mut(&mut self.filters).insert(filter.id(), filter);
    }

    /// Sets a function that is asked for filters which are not in this registry.
    pub fn set_finder(&mut self, finder: Finder) {
        self.finder = Some(finder);
    }

    /// Returns whether one of these filters only runs on the thread that called the library.
    pub fn is_serial(&self, stages: &[Stage<'_>]) -> bool {
        stages.iter().any(|stage| self.get(stage.id).is_ok_and(Filter::is_serial))
    }

    /// Returns the filter with this number, or an `Unsupported` error that names it.
    pub fn get(&self, id: FilterId) -> Result<&dyn Filter, Error> {
        let found = self.filters.get(&id).map(AsRef::as_ref);
        let found = found.or_else(|| self.finder.and_then(|finder| finder(id)));
        found.ok_or_else(|| Origin(id).unsupported("not available in this build"))
    }

    /// Returns the numbers of all filters in this registry, ascending.
    pub fn ids(&self) -> impl Iterator<Item = FilterId> + '_ {
        self.filters.keys().copied()
    }

    /// Returns the name of a filter that is registered here or with The HDF Group.
    pub fn name_of(&self, id: FilterId) -> Option<&'static str> {
        self.filters.get(&id).map(|filter| filter.name()).or_else(|| names::name(id))
    }

    /// Undoes a pipeline: last stage first, without those whose bit is set in `mask`.
    ///
    /// The result has exactly `chunk_bytes` bytes. A longer one is cut, as libhdf5 reads only that many;
    /// a shorter one is an error. No stage may produce more than `bytes_max`.
    pub fn decode(
        &self,
        stages: &[Stage<'_>],
        mask: u32,
        input: Vec<u8>,
        chunk_bytes: usize,
        bytes_max: usize,
    ) -> Result<Vec<u8>, Error> {
        check_count(stages)?;
        let size = Size { hint: chunk_bytes, max: bytes_max };
        let mut scratch = Scratch::new();
        let mut flow = Flow::new(&input, &mut scratch);
        for stage in performed(stages, mask).rev() {
            self.undo_step(stage, size, &mut flow)?;
        }
        let (bytes, len) = flow.take();
        check_length(stages, len, chunk_bytes)?;
        let mut bytes = bytes.unwrap_or(input);
        bytes.truncate(chunk_bytes);
        Ok(bytes)
    }

    /// Undoes a pipeline as [`Registry::decode`] does, into `out`, which has the length of the chunk. After an error
    /// the content of `out` is unspecified.
    pub fn decode_into(
        &self,
        stages: &[Stage<'_>],
        mask: u32,
        input: &[u8],
        out: &mut [u8],
        bytes_max: usize,
        scratch: &mut Scratch,
    ) -> Result<(), Error> {
        check_count(stages)?;
        let chunk_bytes = out.len();
        let size = Size { hint: chunk_bytes, max: bytes_max };
        let mut flow = Flow::new(input, scratch);
        let mut order = performed(stages, mask);
        let last = order.next();
        for stage in order.rev() {
            self.undo_step(stage, size, &mut flow)?;
        }
        let len = match last {
            Some(stage) => self.undo_last(stage, Output::slice(stage.id, size, out), flow)?,
            None => copy(input, out),
        };
        check_length(stages, len, chunk_bytes)
    }

    fn undo_step(&self, stage: &Stage<'_>, size: Size, flow: &mut Flow<'_>) -> Result<(), Error> {
        let (filter, params) = (self.get(stage.id)?, Params { values: stage.values });
        flow.step(stage.id, size, |input, out, codecs| filter.decode_into(&params, input, out, codecs))
    }

    fn undo_last(&self, stage: &Stage<'_>, out: Output<'_>, flow: Flow<'_>) -> Result<usize, Error> {
        let (filter, params) = (self.get(stage.id)?, Params { values: stage.values });
        flow.last(out, |input, out, codecs| filter.decode_into(&params, input, out, codecs))
    }

    /// Applies a pipeline, first stage first. Returns the bytes and the mask of the skipped stages: optional
    /// ones that cannot apply or are not in this build. Any other failure is an error.
    pub fn encode(&self, stages: &[Stage<'_>], input: Vec<u8>) -> Result<(Vec<u8>, u32), Error> {
        let mut scratch = Scratch::new();
        let mut flow = Flow::new(&input, &mut scratch);
        let mask = self.apply(stages, &mut flow)?;
        let (bytes, len) = flow.take();
        let mut bytes = bytes.unwrap_or(input);
        bytes.truncate(len);
        Ok((bytes, mask))
    }

    /// Applies a pipeline as [`Registry::encode`] does, into a buffer that is used for one chunk after another.
    /// Returns the number of bytes of the encoded chunk, and the mask. The buffer may be swapped with that of
    /// `scratch`.
    pub fn encode_into(
        &self,
        stages: &[Stage<'_>],
        input: &[u8],
        scratch: &mut Scratch,
        out: &mut Vec<u8>,
    ) -> Result<(usize, u32), Error> {
        let mut flow = Flow::new(input, scratch);
        let mask = self.apply(stages, &mut flow)?;
        Ok((flow.swap_into(out), mask))
    }

    fn apply(&self, stages: &[Stage<'_>], flow: &mut Flow<'_>) -> Result<u32, Error> {
        check_count(stages)?;
        let mut mask = 0;
        for (index, stage) in stages.iter().enumerate() {
            match self.apply_step(stage, flow) {
                Ok(()) => {}
                Err(error) if stage.optional && skippable(&error) => mask |= 1 << index,
                Err(error) => return Err(error),
            }
        }
        Ok(mask)
    }

    fn apply_step(&self, stage: &Stage<'_>, flow: &mut Flow<'_>) -> Result<(), Error> {
        let (filter, params) = (self.get(stage.id)?, Params { values: stage.values });
        let size = Size { hint: 0, max: usize::MAX };
        flow.step(stage.id, size, |input, out, codecs| filter.encode_into(&params, input, out, codecs))
    }
}

/// Returns the stages that a chunk went through, in the order of encoding.
pub(crate) fn performed<'a, 's>(
    stages: &'a [Stage<'s>],
    mask: u32,
) -> impl DoubleEndedIterator<Item = &'a Stage<'s>> {
    stages.iter().enumerate().filter(move |(index, _)| mask & (1 << index) == 0).map(|(_, stage)| stage)
}

fn skippable(error: &Error) -> bool {
    matches!(error.kind(), ErrorKind::Incompressible | ErrorKind::Unsupported)
}

pub(crate) fn check_count(stages: &[Stage<'_>]) -> Result<(), Error> {
    match stages.get(STAGES_MAX) {
        None => Ok(()),
        Some(stage) => Err(Origin(stage.id).invalid("more than 32 filters in one pipeline")),
    }
}

/// libhdf5 hands on what it got; we refuse a short result, since the missing elements would be made up.
pub(crate) fn check_length(stages: &[Stage<'_>], len: usize, chunk_bytes: usize) -> Result<(), Error> {
    if len >= chunk_bytes {
        return Ok(());
    }
    let first = stages.first().map_or(0, |stage| stage.id);
    Err(Origin(first).corrupt(format!("pipeline gave {len} bytes for a chunk of {chunk_bytes}")))
}

/// Copies as much as fits, and returns the length of the input.
fn copy(input: &[u8], out: &mut [u8]) -> usize {
    let len = input.len().min(out.len());
    out[..len].copy_from_slice(&input[..len]);
    input.len()
}

fn compiled_in() -> Vec<Arc<dyn Filter>> {
    vec![
        #[cfg(feature = "deflate")]
        Arc::new(crate::deflate::Deflate),
        Arc::new(crate::shuffle::Shuffle),
        Arc::new(crate::fletcher32::Fletcher32),
        Arc::new(crate::szip::Szip),
        Arc::new(crate::nbit::Nbit),
        Arc::new(crate::scaleoffset::ScaleOffset),
        #[cfg(feature = "bzip2")]
        Arc::new(crate::bzip2::Bzip2),
        Arc::new(crate::lzf::Lzf),
        Arc::new(crate::blosc::Blosc),
        #[cfg(feature = "lz4")]
        Arc::new(crate::lz4::Lz4),
        Arc::new(crate::bitshuffle::Bitshuffle),
        #[cfg(any(feature = "zstd", feature = "zstd-pure"))]
        Arc::new(crate::zstd::Zstd),
        Arc::new(crate::blosc2::Blosc2),
    ]
}
