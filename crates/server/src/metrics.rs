//! What the server counts, as Prometheus reads it.

use std::fmt::Write;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use vol::Operation;

/// Upper ends of the buckets of latencies, in microseconds.
const BUCKETS: [u64; 8] = [50, 100, 500, 1_000, 10_000, 100_000, 1_000_000, 10_000_000];

/// Counters of a server.
#[derive(Debug)]
pub(crate) struct Metrics {
    pub(crate) connections_total: AtomicU64,
    pub(crate) refusals_total: AtomicU64,
    pub(crate) bytes_received: AtomicU64,
    pub(crate) bytes_sent: AtomicU64,
    pub(crate) sessions_expired: AtomicU64,
    pub(crate) panics_total: AtomicU64,
    /// Operations that had to wait for their turn.
    pub(crate) turns_waited: AtomicU64,
    /// Nanoseconds of processors that connections took.
    pub(crate) processor_nanos: AtomicU64,
    /// Refusals that were given late.
    pub(crate) delays_total: AtomicU64,
    /// Locks of clients that use elements in the file themselves.
    pub(crate) locks_total: AtomicU64,
    /// Frames whose bytes changed on the way.
    pub(crate) checksums_wrong: AtomicU64,
    operations: [AtomicU64; Operation::NUMBER_END],
    failures: AtomicU64,
    buckets: [AtomicU64; BUCKETS.len()],
    micros: AtomicU64,
}

impl Default for Metrics {
    fn default() -> Self {
        Metrics {
            connections_total: AtomicU64::new(0),
            refusals_total: AtomicU64::new(0),
            bytes_received: AtomicU64::new(0),
            bytes_sent: AtomicU64::new(0),
            sessions_expired: AtomicU64::new(0),
            panics_total: AtomicU64::new(0),
            turns_waited: AtomicU64::new(0),
            processor_nanos: AtomicU64::new(0),
            delays_total: AtomicU64::new(0),
            locks_total: AtomicU64::new(0),
            checksums_wrong: AtomicU64::new(0),
            operations: [const { AtomicU64::new(0) }; Operation::NUMBER_END],
            failures: AtomicU64::new(0),
            buckets: [const { AtomicU64::new(0) }; BUCKETS.len()],
            micros: AtomicU64::new(0),
        }
    }
}

impl Metrics {
    /// An operation that was run.
    pub(crate) fn ran(&self, operation: Operation, failed: bool, took: Duration) {
        if let Some(count) = self.operations.get(operation.number() as usize) {
            count.fetch_add(1, Relaxed);
        }
        self.failures.fetch_add(u64::from(failed), Relaxed);
        let micros = took.as_micros() as u64;
        self.micros.fetch_add(micros, Relaxed);
        if let Some(at) = BUCKETS.iter().position(|end| micros <= *end) {
            self.buckets[at].fetch_add(1, Relaxed);
        }
    }

    /// Everything as text; the numbers of now come from the caller.
    pub(crate) fn text(&self, now: &[(&str, u64)]) -> String {
        let mut text = String::new();
        let counters = [
            ("connections_total", &self.connections_total),
            ("refusals_total", &self.refusals_total),
            ("received_bytes_total", &self.bytes_received),
            ("sent_bytes_total", &self.bytes_sent),
            ("sessions_expired_total", &self.sessions_expired),
            ("panics_total", &self.panics_total),
            ("turns_waited_total", &self.turns_waited),
            ("processor_nanoseconds_total", &self.processor_nanos),
            ("delays_total", &self.delays_total),
            ("locks_total", &self.locks_total),
            ("checksums_wrong_total", &self.checksums_wrong),
            ("operation_failures_total", &self.failures),
        ];
        for (name, value) in now {
            let _ = writeln!(text, "# TYPE hyperslab_{name} gauge\nhyperslab_{name} {value}");
        }
        for (name, value) in counters {
            let value = value.load(Relaxed);
            let _ = writeln!(text, "# TYPE hyperslab_{name} counter\nhyperslab_{name} {value}");
        }
        self.operations_text(&mut text);
        text
    }

    fn operations_text(&self, text: &mut String) {
        let _ = writeln!(text, "# TYPE hyperslab_operations_total counter");
        let mut all = 0;
        for operation in Operation::ALL {
            let count = self.operations.get(operation.number() as usize).map_or(0, |n| n.load(Relaxed));
            all += count;
            if count > 0 {
                let name = operation.name();
                let _ = writeln!(text, "hyperslab_operations_total{{operation=\"{name}\"}} {count}");
            }
        }
        let _ = writeln!(text, "# TYPE hyperslab_operation_seconds histogram");
        let mut so_far = 0;
        for (end, count) in BUCKETS.iter().zip(&self.buckets) {
            so_far += count.load(Relaxed);
            let end = *end as f64 / 1e6;
            let _ = writeln!(text, "hyperslab_operation_seconds_bucket{{le=\"{end}\"}} {so_far}");
        }
        let seconds = self.micros.load(Relaxed) as f64 / 1e6;
        let _ = writeln!(text, "hyperslab_operation_seconds_bucket{{le=\"+Inf\"}} {all}");
        let _ = writeln!(
            text,
            "hyperslab_operation_seconds_sum {seconds}\nhyperslab_operation_seconds_count {all}"
        );
    }
}
