//! Batches: how many operations are sent before an answer is received.

use std::collections::VecDeque;

use super::Started;
use super::encode::Encoded;

/// Operations of a batch; the server keeps the answers of four times as many.
const OPERATIONS_MAX: usize = 1024;
/// Bytes of the requests of a batch.
const REQUEST_BYTES_MAX: u64 = 4 << 20;
/// A server whose answers are not received stops to receive requests, and both sides wait for ever. So the requests of a
/// batch or its answers are so few that the buffers of the sockets hold them: 64 KiB are there on every system.
const BUFFERED_BYTES: u64 = 32 << 10;

/// The bytes of a batch in both directions.
#[derive(Debug, Clone, Copy, Default)]
struct Size {
    requests: u64,
    answers: u64,
}

impl Size {
    fn with(self, encoded: &Encoded) -> Option<Size> {
        let Encoded::Frame { bytes, answer_bytes } = encoded else { return None };
        let requests = self.requests + bytes.len() as u64;
        Some(Size { requests, answers: self.answers.saturating_add(*answer_bytes) })
    }

    fn is_safe(self) -> bool {
        self.requests <= REQUEST_BYTES_MAX && self.requests.min(self.answers) <= BUFFERED_BYTES
    }
}

/// Takes the operations that are sent next. One that is not sent as a frame is a batch of its own, and so is one that is
/// too large for any other.
pub(super) fn take(waiting: &mut VecDeque<Started>) -> VecDeque<Started> {
    let (mut size, mut count) = (Size::default(), 0);
    for Started { encoded, .. } in waiting.iter().take(OPERATIONS_MAX) {
        match size.with(encoded) {
            Some(larger) if count == 0 || larger.is_safe() => size = larger,
            _ => break,
        }
        count += 1;
    }
    waiting.drain(..count.max(1).min(waiting.len())).collect()
}

#[cfg(test)]
mod tests {
    use model::Result;
    use vol::{Container, Operation, Task};

    use super::*;

    struct Nothing;

    impl Task for Nothing {
        fn run(&mut self, _container: &dyn Container) -> Result<()> {
            Ok(())
        }

        fn end(self: Box<Self>, _outcome: Result<()>) {}
    }

    fn frame(bytes: usize, answer_bytes: u64) -> Encoded {
        Encoded::Frame { bytes: vec![0; bytes], answer_bytes }
    }

    fn batches(all: impl IntoIterator<Item = Encoded>) -> Vec<usize> {
        let started =
            |encoded| Started { task: Box::new(Nothing), number: 1, code: Operation::info, encoded };
        let mut waiting: VecDeque<Started> = all.into_iter().map(started).collect();
        let mut counts = Vec::new();
        while !waiting.is_empty() {
            counts.push(take(&mut waiting).len());
        }
        counts
    }

    #[test]
    fn requests_or_answers_of_a_batch_are_few() {
        // Small requests with any answers, and any requests with small answers.
        assert_eq!(batches((0..100).map(|_| frame(100, 1 << 20))), [100]);
        assert_eq!(batches((0..100).map(|_| frame(10_000, 100))), [100]);
        // Of both, as many as the buffers hold of one kind.
        assert_eq!(batches((0..100).map(|_| frame(8 << 10, 8 << 10))), [4; 25]);
    }

    #[test]
    fn what_is_large_or_not_a_frame_is_alone() {
        assert_eq!(
            batches([frame(9 << 20, 1 << 20), frame(9, 9), Encoded::Whole, frame(9, 9)]),
            [1, 1, 1, 1]
        );
        assert_eq!(batches((0..3000).map(|_| frame(1, 1))), [1024, 1024, 952]);
        assert!(batches([]).is_empty());
    }
}
