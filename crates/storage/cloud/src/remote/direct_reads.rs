//! Large ranges that go from the socket into the caller's buffer.

use std::io;
use std::ops::Range;

use super::{RemoteFile, RemoteState};
use crate::direct::{self, Direct};
use crate::failure::Failure;
use crate::planned::{Part, even_parts};
use crate::segments::Segments;
use crate::source::{Fetched, fetch};

/// Returns whether a range is worth a request whose answer goes into its reader's buffer.
pub(super) fn is_large(range: &Range<u64>) -> bool {
    range.end - range.start >= direct::BYTES_MIN
}

impl RemoteFile {
    /// Reads a large range, or the start of one that was announced, straight into the buffer. Returns how many bytes came;
    /// what is missing is left to the client.
    pub(super) fn read_direct(&self, range: Range<u64>, into: &mut [u8]) -> io::Result<usize> {
        let is_possible = |direct: &&Direct| is_large(&range) || direct.has(range.start);
        let Some(direct) = self.state.direct().filter(is_possible) else { return Ok(0) };
        let parts: Vec<_> = even_parts(range, direct::PART_BYTES).collect();
        let mut came = 0;
        for (n, part) in parts.iter().enumerate() {
            self.request_next(direct, &parts[n..]);
            let Some(answer) = direct.take(part.start) else { break };
            // Others are requested while this one is read.
            self.request_planned()?;
            let wanted = (part.end - part.start) as usize;
            let here = direct.read(answer, part.start, &mut into[came..came + wanted]);
            self.state.meter.note_bytes(here as u64);
            came += here;
            if here < wanted {
                break;
            }
        }
        Ok(came)
    }

    /// Requests parts that one caller reads: the first now, and others as long as few wait.
    fn request_next(&self, direct: &Direct, parts: &[Range<u64>]) {
        let is_missing = |range: &&Range<u64>| !direct.has(range.start);
        for (n, range) in parts.iter().take(direct::ANSWERS_MAX).enumerate().filter(|(_, r)| is_missing(r)) {
            let part = Part { range: range.clone(), is_direct: is_large(range) };
            let is_possible = self.state.direct_for(&part, &self.state.segments.lock()).is_some();
            if !is_possible || (n > 0 && direct.is_full()) {
                break;
            }
            self.state.planned.lock().remove(range);
            self.state.request_direct(direct, range);
        }
    }
}

impl RemoteState {
    /// Returns the connections from which bytes go straight into buffers, where the server is so near that it matters.
    pub(super) fn direct(&self) -> Option<&Direct> {
        if self.cached.is_some() || !self.is_near() {
            return None;
        }
        let open = || Some(Direct::new(self.source.direct()?, self.version.clone(), self.len));
        self.direct.get_or_init(open).as_ref().filter(|direct| direct.is_usable())
    }

    /// Returns the connections for a part that can be fetched so, and of which nothing was fetched before.
    pub(super) fn direct_for(&self, part: &Part, segments: &Segments) -> Option<&Direct> {
        let is_new = || segments.gaps(part.range.clone()) == std::slice::from_ref(&part.range);
        self.direct().filter(|_| part.is_direct && is_new())
    }

    pub(super) fn request_direct(&self, direct: &Direct, range: &Range<u64>) -> bool {
        let is_sent = direct.request(range.clone());
        if is_sent {
            self.meter.note_request();
        }
        is_sent
    }

    /// Returns whether a range will be read from an answer that waits, or will be requested.
    pub(super) fn is_announced(&self, range: &Range<u64>) -> bool {
        let is_waiting = self.direct().is_some_and(|direct| direct.covers(range));
        is_waiting || self.planned.lock().covers(range)
    }

    /// Fetches a range. If that takes long, answers that nobody reads yet may keep the server busy.
    pub(super) async fn fetch_by_client(&self, range: Range<u64>) -> Result<Fetched, Failure> {
        let (source, meter) = (self.source.clone(), self.meter.clone());
        let mut request = Box::pin(fetch(source, meter, range, self.version.clone()));
        match tokio::time::timeout(direct::STALLED, &mut request).await {
            Ok(done) => done,
            Err(_) => {
                self.direct.get().iter().copied().flatten().for_each(Direct::give_up);
                request.await
            }
        }
    }
}
