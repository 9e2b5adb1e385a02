//! Times of objects, for people.

use jiff::Timestamp;
use jiff::tz::TimeZone;

/// Returns the date, time and zone: where the user is or, for other programs, in Greenwich.
pub(crate) fn text(seconds: u32, simple: bool) -> Option<String> {
    let timestamp = Timestamp::from_second(seconds.into()).ok()?;
    if simple {
        return Some(timestamp.strftime("%Y-%m-%d %H:%M:%S GMT").to_string());
    }
    let zone = TimeZone::try_system().unwrap_or(TimeZone::UTC);
    Some(timestamp.to_zoned(zone).strftime("%Y-%m-%d %H:%M:%S %Z").to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn machine_readable_times_do_not_depend_on_the_place() {
        assert_eq!(text(1_000_000_000, true).as_deref(), Some("2001-09-09 01:46:40 GMT"));
    }
}
