//! Changes of what other processes change too.

use model::{Error, Result};

/// Attempts before a change fails with `Busy`.
const TRIES_MAX: u32 = 1000;

/// Calls `attempt` until it returns a value. `None` says that another process was faster.
///
/// # Errors
/// Returns `Busy` if other processes are faster all the time.
pub fn retried<T>(operation: &str, mut attempt: impl FnMut() -> Result<Option<T>>) -> Result<T> {
    for _ in 0..TRIES_MAX {
        if let Some(done) = attempt()? {
            return Ok(done);
        }
    }
    Err(Error::busy(operation).with("tries", TRIES_MAX))
}

#[cfg(test)]
mod tests {
    use model::Kind;

    use super::*;

    #[test]
    fn a_change_is_tried_until_no_one_was_faster_and_not_for_ever() {
        let mut tries = 0;
        let third = || {
            tries += 1;
            Ok((tries == 3).then_some(tries))
        };
        assert_eq!(retried("change", third).unwrap(), 3);
        assert_eq!(retried("change", || Ok(None::<()>)).unwrap_err().kind(), Kind::Busy);
    }
}
