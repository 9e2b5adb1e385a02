//! The metadata cache as its callers see it: what it holds, how often it helped, a log of what was looked up.

use std::fs::File;
use std::io::Write;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use model::{Error, Result, Token, text};
use system::clock;
use system::sync::Mutex;
use vol::MetadataCacheLog;

use crate::format::Address;

vol::extension! {
    /// Counts look-ups of the metadata cache from zero on (`H5Freset_mdc_hit_rate_stats`): the extension
    /// `native.reset_metadata_cache_counts`.
    pub struct ResetMetadataCacheCounts = "native.reset_metadata_cache_counts": Write, () => ();
    /// Bounds the metadata that is cached to so many bytes (`H5Fset_mdc_config`): the extension
    /// `native.set_metadata_cache_bytes`.
    pub struct SetMetadataCacheBytes = "native.set_metadata_cache_bytes": Write, u64 => ();
    /// Removes what was decoded of an object from the metadata cache (`H5Pset_evict_on_close`): the extension
    /// `native.evict_object`.
    pub struct EvictObject = "native.evict_object": Write, Token => ();
    /// Starts (1) or stops (0) the log of the metadata cache (`H5Fstart_mdc_logging`): the extension
    /// `native.log_metadata_cache`.
    pub struct LogMetadataCache = "native.log_metadata_cache": Write, u64 => ();
}

/// Counters that threads which look up different objects rarely share.
const COUNTERS: usize = 16;

/// A pair of counters in a cache line of its own.
#[derive(Debug, Default)]
#[repr(align(64))]
struct Counter {
    accesses: AtomicU64,
    hits: AtomicU64,
}

/// Counts look-ups.
#[derive(Debug, Default)]
pub(crate) struct LookUps([Counter; COUNTERS]);

impl LookUps {
    pub(crate) fn note(&self, at: Address, is_hit: bool) {
        let spread = at.0.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32;
        let counter = &self.0[spread as usize % COUNTERS];
        counter.accesses.fetch_add(1, Ordering::Relaxed);
        if is_hit {
            counter.hits.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Returns look-ups, and those that found something.
    pub(crate) fn counts(&self) -> (u64, u64) {
        let sum = |of: fn(&Counter) -> &AtomicU64| self.0.iter().map(|c| of(c).load(Ordering::Relaxed)).sum();
        (sum(|counter| &counter.accesses), sum(|counter| &counter.hits))
    }

    pub(crate) fn reset(&self) {
        for counter in &self.0 {
            counter.accesses.store(0, Ordering::Relaxed);
            counter.hits.store(0, Ordering::Relaxed);
        }
    }
}

/// Something that happened in the cache.
#[derive(Debug, Clone, Copy)]
pub(crate) enum CacheEvent {
    /// An object's header was looked up, and this many bytes were in memory.
    Protect(Address, u64),
    /// An object changed.
    Dirty(Address),
    /// What was decoded of an object was removed.
    Evict(Address),
    /// Everything that waited was committed.
    Flush,
}

/// `H5AC_OHDR_ID`
const OBJECT_HEADER: u8 = 5;

/// A log of what happens in the cache: lines of JSON as libhdf5 writes them.
#[derive(Debug, Default)]
pub(crate) struct CacheLog {
    is_logging: AtomicBool,
    file: Option<Mutex<File>>,
}

impl CacheLog {
    /// Creates the log, if one is asked for.
    pub(crate) fn create(options: Option<&MetadataCacheLog>) -> Result<CacheLog> {
        let Some(options) = options else { return Ok(CacheLog::default()) };
        let failed =
            |e: std::io::Error| Error::io("create log of metadata cache", &e).with("path", &options.path);
        let mut file = File::create(text::to_path(&options.path)).map_err(failed)?;
        file.write_all(b"{\n\"HDF5 metadata cache log messages\" : [\n").map_err(failed)?;
        let log = CacheLog { is_logging: AtomicBool::new(false), file: Some(Mutex::new(file)) };
        if options.starts_on_open {
            log.start()?;
        }
        Ok(log)
    }

    /// Returns whether there is a log, and whether it is written.
    pub(crate) fn state(&self) -> (bool, bool) {
        (self.file.is_some(), self.is_logging.load(Ordering::Relaxed))
    }

    pub(crate) fn start(&self) -> Result<()> {
        let refused = |problem| Err(Error::invalid("start log of metadata cache").with("problem", problem));
        match self.state() {
            (false, _) => refused("logging not enabled"),
            (true, true) => refused("logging already in progress"),
            (true, false) => {
                self.is_logging.store(true, Ordering::Relaxed);
                self.line("\"logging start\"}");
                Ok(())
            }
        }
    }

    pub(crate) fn stop(&self) -> Result<()> {
        if !self.is_logging.swap(false, Ordering::Relaxed) {
            return Err(
                Error::invalid("stop log of metadata cache").with("problem", "logging not in progress")
            );
        }
        self.line("\"logging stop\"}");
        Ok(())
    }

    pub(crate) fn note(&self, event: CacheEvent) {
        if self.is_logging.load(Ordering::Relaxed) {
            self.line(&text_of(event));
        }
    }

    /// Writes a line. What cannot be written is lost: the log is not the data.
    fn line(&self, action: &str) {
        let Some(file) = &self.file else { return };
        let now = clock::seconds();
        let _ = file.lock().write_all(format!("{{\"timestamp\":{now},\"action\":{action},\n").as_bytes());
    }
}

fn text_of(event: CacheEvent) -> String {
    match event {
        CacheEvent::Protect(at, bytes) => format!(
            "\"protect\",\"address\":{:#x},\"type_id\":{OBJECT_HEADER},\"readwrite\":\"READ\",\"size\":{bytes},\"returned\":0}}",
            at.0
        ),
        CacheEvent::Dirty(at) => format!("\"dirty\",\"address\":{:#x},\"returned\":0}}", at.0),
        CacheEvent::Evict(at) => format!("\"evict\",\"address\":{:#x},\"returned\":0}}", at.0),
        CacheEvent::Flush => "\"flush\",\"returned\":0}".to_owned(),
    }
}

impl Drop for CacheLog {
    fn drop(&mut self) {
        self.is_logging.store(false, Ordering::Relaxed);
        if let Some(file) = &self.file {
            let end = format!("{{\"timestamp\":{},\"action\":\"destroy\"}}\n]}}\n", clock::seconds());
            let _ = file.lock().write_all(end.as_bytes());
        }
    }
}
