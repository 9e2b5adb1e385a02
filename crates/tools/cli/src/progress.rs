//! Progress of long work, for a person at a terminal: a bar where it is known how much there is, else a spinner.

use std::cell::Cell;
use std::io::IsTerminal;
use std::time::Duration;

use indicatif::{HumanBytes, ProgressBar, ProgressStyle};

use crate::total::Total;

/// With bytes, total, rate and remaining time.
const OF_BYTES: &str =
    "{prefix} [{bar:30}] {bytes} of {total_bytes}, {bytes_per_sec}, {eta} left, {msg} {spinner}";
/// Where there are no elements, objects are all there is to count.
const OF_OBJECTS: &str = "{prefix} [{bar:30}] {msg}, {per_sec}, {eta} left {spinner}";

/// What a person sees of work that goes on. Without a terminal there is nothing to see.
pub(crate) struct Progress {
    bar: ProgressBar,
    total: Cell<Option<Total>>,
    done: Cell<Total>,
}

impl Progress {
    /// Starts with a spinner, which is visible where standard error is a terminal.
    pub(crate) fn start(name: &str) -> Progress {
        if !std::io::stderr().is_terminal() {
            return Self::hidden();
        }
        let bar = ProgressBar::new_spinner().with_prefix(name.to_owned());
        bar.enable_steady_tick(Duration::from_millis(100));
        Progress { bar, total: Cell::default(), done: Cell::default() }
    }

    /// Starts the same for work that prints as it goes: at a terminal its output shows that it goes on.
    pub(crate) fn start_beside_output(name: &str) -> Progress {
        if std::io::stdout().is_terminal() { Self::hidden() } else { Self::start(name) }
    }

    /// Returns what no one sees.
    pub(crate) fn hidden() -> Progress {
        Progress { bar: ProgressBar::hidden(), total: Cell::default(), done: Cell::default() }
    }

    /// Makes a bar of the spinner, as long as `count` says. It is called only if someone watches.
    pub(crate) fn expect(&self, count: impl FnOnce() -> Option<Total>) {
        if self.bar.is_hidden() {
            return;
        }
        let Some(total) = count() else { return };
        let (template, len) = match total.bytes {
            0 => (OF_OBJECTS, total.objects),
            bytes => (OF_BYTES, bytes),
        };
        if let Ok(style) = ProgressStyle::with_template(template) {
            self.bar.set_style(style);
            self.bar.set_length(len);
            self.bar.reset_eta();
            self.total.set(Some(total));
        }
    }

    /// Shows what is done.
    pub(crate) fn show(&self, done: Total) {
        self.done.set(done);
        match self.total.get() {
            Some(total) => {
                self.bar.set_message(format!("{} of {} objects", done.objects, total.objects));
                let (done, all) = match total.bytes {
                    0 => (done.objects, total.objects),
                    all => (done.bytes, all),
                };
                // A total is not always what the work counts.
                self.bar.set_position(done.min(all));
            }
            None => {
                self.bar.set_message(format!("{} objects, {}", done.objects, HumanBytes(done.bytes)));
            }
        }
    }

    /// Shows that more is done.
    pub(crate) fn advance(&self, more: Total) {
        self.show(self.done.get().plus(more));
    }

    /// Prints while the line of the progress is out of the way.
    pub(crate) fn suspend(&self, print: impl FnOnce()) {
        self.bar.suspend(print);
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_counted_where_no_one_watches() {
        let progress = Progress::hidden();
        progress.expect(|| panic!("no one asked"));
        progress.advance(Total { objects: 1, bytes: 8 });
        progress.advance(Total { objects: 1, bytes: 2 });
        assert_eq!(progress.done.get(), Total { objects: 2, bytes: 10 });
    }
}
