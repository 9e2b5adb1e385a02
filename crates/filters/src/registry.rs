//! Finds filters by number and runs whole pipelines.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, LazyLock};

use crate::error::{Error, ErrorKind, Origin};
use crate::output::Output;
use crate::scratch::{Flow, Scratch};
use crate::{Filter, FilterId, Params, Size};

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
}

static COMPILED_IN: LazyLock<Registry> = LazyLock::new(|| {
    let mut registry = Registry::empty();
    compiled_in().into_iter().for_each(|filter| registry.register(filter));
    registry
});

impl Default for Registry {
    /// Every filter of this build.
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
    /// A registry without filters.
    pub fn empty() -> Self {
        Self { filters: Arc::default() }
    }

    /// Adds a filter; one with the same number is replaced.
    pub fn register(&mut self, filter: Arc<dyn Filter>) {
        Arc::make_mut(&mut self.filters).insert(filter.id(), filter);
    }

    /// The filter with this number, or an `Unsupported` error that names it.
    pub fn get(&self, id: FilterId) -> Result<&dyn Filter, Error> {
        let found = self.filters.get(&id).map(AsRef::as_ref);
        found.ok_or_else(|| Origin(id).unsupported("not available in this build"))
    }

    /// The numbers of all filters in this registry, ascending.
    pub fn ids(&self) -> impl Iterator<Item = FilterId> + '_ {
        self.filters.keys().copied()
    }

    /// Name of a filter: of one registered here, or else of one registered with The HDF Group.
    pub fn name_of(&self, id: FilterId) -> Option<&'static str> {
        self.filters.get(&id).map(|filter| filter.name()).or_else(|| name_of(id))
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

    /// As [`Registry::decode`], straight into `out`, which is as long as the chunk. After an error `out` holds
    /// anything.
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

    /// As [`Registry::encode`], into a buffer that serves chunk after chunk: how many of its bytes are the chunk, and the mask.
    /// The buffer's room may be exchanged with that of `scratch`.
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

/// The stages that a chunk went through, in the order of encoding.
fn performed<'a, 's>(stages: &'a [Stage<'s>], mask: u32) -> impl DoubleEndedIterator<Item = &'a Stage<'s>> {
    stages.iter().enumerate().filter(move |(index, _)| mask & (1 << index) == 0).map(|(_, stage)| stage)
}

fn skippable(error: &Error) -> bool {
    matches!(error.kind(), ErrorKind::Incompressible | ErrorKind::Unsupported)
}

fn check_count(stages: &[Stage<'_>]) -> Result<(), Error> {
    match stages.get(STAGES_MAX) {
        None => Ok(()),
        Some(stage) => Err(Origin(stage.id).invalid("more than 32 filters in one pipeline")),
    }
}

/// libhdf5 hands on what it got; we refuse a short result, since the missing elements would be made up.
fn check_length(stages: &[Stage<'_>], len: usize, chunk_bytes: usize) -> Result<(), Error> {
    if len >= chunk_bytes {
        return Ok(());
    }
    let first = stages.first().map_or(0, |stage| stage.id);
    Err(Origin(first).corrupt(format!("pipeline gave {len} bytes for a chunk of {chunk_bytes}")))
}

/// As much as fits; the length of the input.
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

/// Names of registered filters, whether or not this build has them.
pub(crate) fn name_of(id: FilterId) -> Option<&'static str> {
    let name = match id {
        1 => "deflate",
        2 => "shuffle",
        3 => "fletcher32",
        4 => "szip",
        5 => "nbit",
        6 => "scaleoffset",
        305 => "lzo",
        307 => "bzip2",
        32000 => "lzf",
        32001 => "blosc",
        32002 => "mafisc",
        32003 => "snappy",
        32004 => "lz4",
        32005 => "apax",
        32006 => "cbf",
        32007 => "jpeg-xr",
        32008 => "bitshuffle",
        32009 => "spdp",
        32010 => "lpc-rice",
        32011 => "ccsds-123",
        32012 => "jpeg-ls",
        32013 => "zfp",
        32014 => "fpzip",
        32015 => "zstd",
        32016 => "b3d",
        32017 => "sz",
        32018 => "fcidecomp",
        32019 => "jpeg",
        32020 => "vbz",
        32021 => "fapec",
        32022 => "bitgroom",
        32023 => "granular bitround",
        32024 => "sz3",
        32025 => "delta-rice",
        32026 => "blosc2",
        32027 => "flac",
        32028 => "sperr",
        32029 => "trpx",
        32030 => "ffmpeg",
        _ => return None,
    };
    Some(name)
}
