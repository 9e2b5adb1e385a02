//! Spinners for long work.

use std::io::IsTerminal;
use std::time::Duration;

use indicatif::ProgressBar;

/// Turns while work goes on; visible only to a person at a terminal.
pub(crate) fn spinner(name: &str) -> ProgressBar {
    if !std::io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let bar = ProgressBar::new_spinner().with_prefix(name.to_owned());
    bar.enable_steady_tick(Duration::from_millis(100));
    bar
}

/// Returns the same for work that prints as it goes: at a terminal its output shows that it goes on.
pub(crate) fn spinner_beside_output(name: &str) -> ProgressBar {
    if std::io::stdout().is_terminal() { ProgressBar::hidden() } else { spinner(name) }
}
