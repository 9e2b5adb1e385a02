//! Files that are in use. Windows does not rename or remove a file, or a directory above it, while a program has it
//! open that does not expect that: a virus scanner, a search index, an editor. On file systems other than NTFS, and
//! under wine, no file is replaced that anybody has open. Such uses are short, so that it is tried again.

use std::io::{self, ErrorKind};
use std::thread;
use std::time::{Duration, Instant};

/// The error for a file that another handle has open without `FILE_SHARE_DELETE` (`ERROR_SHARING_VIOLATION`).
const SHARING_VIOLATION: i32 = 32;
const FIRST_WAIT: Duration = Duration::from_millis(1);
const WAIT_MAX: Duration = Duration::from_millis(32);
/// After this time it is no short use. A caller who may not do it at all learns so after this time, too: Windows has
/// one error for both.
const PATIENCE: Duration = Duration::from_secs(2);

/// Returns the result of an attempt, which is made again while something that it names is in use.
pub(super) fn retry<T>(attempt: impl FnMut() -> io::Result<T>) -> io::Result<T> {
    retry_while(is_in_use, PATIENCE, attempt)
}

fn is_in_use(error: &io::Error) -> bool {
    let is_said =
        error.raw_os_error() == Some(SHARING_VIOLATION) || error.kind() == ErrorKind::PermissionDenied;
    cfg!(windows) && is_said
}

fn retry_while<T>(
    is_in_use: impl Fn(&io::Error) -> bool,
    patience: Duration,
    mut attempt: impl FnMut() -> io::Result<T>,
) -> io::Result<T> {
    let (begun, mut wait) = (Instant::now(), FIRST_WAIT);
    loop {
        match attempt() {
            Err(error) if is_in_use(&error) && begun.elapsed() < patience => thread::sleep(wait),
            done => return done,
        }
        wait = (wait * 2).min(WAIT_MAX);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn denied() -> io::Error {
        ErrorKind::PermissionDenied.into()
    }

    #[test]
    fn what_is_in_use_is_tried_again_and_other_errors_are_not() {
        let is_denied = |error: &io::Error| error.kind() == ErrorKind::PermissionDenied;
        let mut attempts = 0;
        let done = retry_while(is_denied, PATIENCE, || {
            attempts += 1;
            if attempts < 4 { Err(denied()) } else { Ok(attempts) }
        });
        assert_eq!(done.unwrap(), 4);
        let missing = retry_while(is_denied, PATIENCE, || Err::<(), _>(ErrorKind::NotFound.into()));
        assert_eq!(missing.unwrap_err().kind(), ErrorKind::NotFound);
    }

    #[test]
    fn patience_ends() {
        let patience = Duration::from_millis(5);
        let error = retry_while(|_| true, patience, || Err::<(), _>(denied())).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::PermissionDenied);
    }
}
