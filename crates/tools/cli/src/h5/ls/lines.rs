//! Elements on lines of a given width.
//!
//! An element is text with places where it may be broken. One that does not fit on the rest of a line starts
//! a new one if it fits there; else it is broken where it may be.

use std::io::{self, Write};

/// Stands in an element's text where a line may end.
pub(crate) const BREAK: u8 = 1;

/// How elements are put on lines.
#[derive(Debug, Clone)]
pub(crate) struct Style {
    /// Starts every line on which an element starts.
    pub(crate) prefix: String,
    /// Starts every line on which an element goes on.
    pub(crate) continuation: String,
    /// Columns that count though nothing stands there: h5ls counts the indentation of attributes twice.
    pub(crate) hidden_columns: usize,
    /// Columns of a line.
    pub(crate) columns: usize,
    /// Each element on a line of its own.
    pub(crate) one_per_line: bool,
    /// An element that fits on one line is not broken.
    pub(crate) keep_whole: bool,
    /// Between two elements, on the first one's line.
    pub(crate) separator: &'static str,
    /// Between two elements on the same line.
    pub(crate) gap: &'static str,
    /// Ends every line but the last.
    pub(crate) line_end: &'static str,
}

/// Where on the page we are.
pub(crate) struct Lines {
    style: Style,
    column: usize,
    prefix_wanted: bool,
    prefix_len: usize,
    was_broken: bool,
    is_first: bool,
}

impl Lines {
    pub(crate) fn new(style: Style) -> Self {
        Lines { style, column: 0, prefix_wanted: true, prefix_len: 0, was_broken: false, is_first: true }
    }

    /// Writes an element; `more` says that others follow.
    pub(crate) fn element(&mut self, out: &mut dyn Write, mut text: Vec<u8>, more: bool) -> io::Result<()> {
        if more {
            text.extend_from_slice(self.style.separator.as_bytes());
        }
        let width = self.width(&text);
        let fits_below = self.prefix_len + width <= self.style.columns;
        if self.style.keep_whole
            && self.column + width > self.style.columns
            && (self.was_broken || fits_below)
        {
            self.prefix_wanted = true;
        }
        self.was_broken = false;
        let sections = text.split(|&byte| byte == BREAK).filter(|section| !section.is_empty());
        for (number, section) in sections.enumerate() {
            self.section(out, section, number)?;
        }
        self.prefix_wanted |= self.style.one_per_line;
        self.is_first = false;
        Ok(())
    }

    fn section(&mut self, out: &mut dyn Write, section: &[u8], number: usize) -> io::Result<()> {
        self.prefix_wanted |= self.column + self.width(section) > self.style.columns;
        if self.prefix_wanted {
            self.was_broken |= number > 0;
            self.start_line(out, number > 0)?;
        } else if number == 0 && !self.is_first {
            out.write_all(self.style.gap.as_bytes())?;
            self.column += self.style.gap.len();
        }
        out.write_all(section)?;
        self.column += section.len();
        Ok(())
    }

    fn start_line(&mut self, out: &mut dyn Write, goes_on: bool) -> io::Result<()> {
        if self.column > 0 {
            writeln!(out, "{}", self.style.line_end)?;
        }
        let prefix = if goes_on { &self.style.continuation } else { &self.style.prefix };
        out.write_all(prefix.as_bytes())?;
        self.column = prefix.len() + self.style.hidden_columns;
        self.prefix_len = self.column;
        self.prefix_wanted = false;
        Ok(())
    }

    /// Columns that a text takes, with what must fit behind it. C counts bytes above 127 as nothing.
    fn width(&self, text: &[u8]) -> usize {
        let shown = text.iter().filter(|&&byte| (b' '..128).contains(&byte)).count();
        shown + self.style.gap.len() + self.style.line_end.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(columns: usize, elements: &[&str]) -> String {
        let style = Style {
            prefix: "> ".to_owned(),
            continuation: "> ".to_owned(),
            hidden_columns: 0,
            columns,
            one_per_line: false,
            keep_whole: true,
            separator: ",",
            gap: " ",
            line_end: "",
        };
        let mut out = Vec::new();
        let mut lines = Lines::new(style);
        for (i, element) in elements.iter().enumerate() {
            lines
                .element(&mut out, element.replace('|', "\u{1}").into_bytes(), i + 1 < elements.len())
                .unwrap();
        }
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn elements_wrap_whole_where_they_can() {
        assert_eq!(lines(9, &["1", "22", "333"]), "> 1, 22,\n> 333");
        assert_eq!(lines(10, &["1", "[2,|3,|4]"]), "> 1,\n> [2,3,4]");
    }

    #[test]
    fn long_elements_break_where_they_may() {
        assert_eq!(lines(9, &["[10,|20,|30]", "4"]), "> [10,\n> 20,\n> 30], 4");
    }
}
