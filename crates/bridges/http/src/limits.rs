//! Limits of what clients may use.

use std::time::Duration;

/// The limits of what clients may use, next to those of connections and of memory ([`Config`](crate::Config)).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HttpLimits {
    /// Bytes of a request's body.
    pub body_bytes_max: u64,
    /// Bytes of the body of a request that writes.
    pub write_bytes_max: u64,
    /// Bytes of an answer's body. A selection that would take more is refused before it is read.
    pub response_bytes_max: u64,
    /// Bytes of chunks, decoded, and of pages that a request may read elements of. A request that would take more is refused.
    pub decoded_bytes_max: u64,
    /// Of these, bytes of a sample or a histogram. Of more, some chunks are read.
    pub overview_bytes_max: u64,
    /// Elements that are looked at for one sample or histogram. Of more, those in some chunks are.
    pub elements_max: u64,
    /// A request that reads elements ends after this time.
    pub request_time_max: Duration,
    /// Objects that a search visits.
    pub search_objects_max: u64,
    /// A search ends after this time.
    pub search_time_max: Duration,
    /// Requests that run at once. Others wait.
    pub running_max: usize,
    /// A request waits for its turn for this long at most.
    pub turn_time_max: Duration,
    /// The headers of a request must be there within this time. Connections without a request end after it, too.
    pub header_time_max: Duration,
    /// A client must take some hundred kilobytes of an answer within this time, or its rest.
    pub stall_time_max: Duration,
    /// Containers that are kept open between requests.
    pub containers_max: usize,
    /// A container that no request uses is closed after this time: its file is locked against writers while it is open.
    pub container_idle_max: Duration,
    /// A container that a request changed is closed after this time: no one else can open its file while it is open.
    pub changed_idle_max: Duration,
}

impl Default for HttpLimits {
    fn default() -> Self {
        HttpLimits {
            body_bytes_max: 1 << 20,
            write_bytes_max: 256 << 20,
            response_bytes_max: 256 << 20,
            decoded_bytes_max: 4 << 30,
            overview_bytes_max: 512 << 20,
            elements_max: 1 << 28,
            request_time_max: Duration::from_secs(60),
            search_objects_max: 200_000,
            search_time_max: Duration::from_secs(5),
            running_max: running_max(),
            turn_time_max: Duration::from_secs(30),
            header_time_max: Duration::from_secs(15),
            stall_time_max: Duration::from_secs(30),
            containers_max: 16,
            container_idle_max: Duration::from_secs(5),
            changed_idle_max: Duration::from_secs(1),
        }
    }
}

/// Two for each processor: one computes while the other waits for a disk.
fn running_max() -> usize {
    2 * system::thread::available_parallelism().map_or(1, std::num::NonZero::get)
}
