//! Lines of output: indentation, prefixes and wrapping, in the way of the HDF5 tools.
//!
//! Text arrives in pieces. A piece that does not fit on its line, or that must start one, makes the writer end
//! the line and print a new prefix. Columns are counted as the tools count them, odd corners included, because
//! scripts compare their output byte by byte.

use std::io;

/// Between parts of a piece at which a line may be broken.
pub(crate) const BREAK: u8 = 1;

/// One level of indentation.
pub(crate) const INDENT: &str = "   ";

/// Levels that are shown as indentation: output would grow with the square of the depth.
pub(crate) const LEVELS_MAX: usize = 512;

/// The start of a line of data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Prefix {
    /// Nothing.
    None,
    /// The index of the first element: `(0,1): `.
    Index,
    /// A quotation mark, on the first line of an element only or on all.
    Quote { every_line: bool },
}

/// How lines are laid out.
#[derive(Debug, Clone)]
pub(crate) struct Layout {
    /// Columns of a line.
    pub(crate) columns: usize,
    /// Every element on its own line.
    pub(crate) one_per_line: bool,
    /// Indentation stands one level back, to leave space for the prefix.
    pub(crate) outdent: bool,
    /// Start of lines.
    pub(crate) prefix: Prefix,
    /// After each element but the last.
    pub(crate) separator: &'static str,
    /// Between elements on one line.
    pub(crate) space: &'static str,
    /// At the end of a line that is followed by another one.
    pub(crate) line_end: &'static str,
    /// Break after each row of the last dimension.
    pub(crate) break_rows: bool,
    /// Start an element that needs more than one line on a new one.
    pub(crate) whole_elements: bool,
}

impl Layout {
    /// Returns the layout of declarations.
    pub(crate) fn declarations(columns: usize, one_per_line: bool) -> Self {
        Layout {
            columns,
            one_per_line,
            outdent: true,
            prefix: Prefix::None,
            separator: ",",
            space: " ",
            line_end: "",
            break_rows: true,
            whole_elements: true,
        }
    }
}

/// The position of the writer in its line.
#[derive(Debug, Clone, Default)]
pub(crate) struct LineState {
    /// Levels of indentation.
    pub(crate) indent: usize,
    /// Columns used on this line.
    pub(crate) column: usize,
    /// Elements since the last prefix.
    pub(crate) on_line: u64,
    /// A line must be started before the next piece.
    pub(crate) need_prefix: bool,
    /// The last element took more than one line.
    pub(crate) was_multiline: bool,
    /// Columns of the last prefix.
    pub(crate) prefix_columns: usize,
    /// Size of the last dimension; 0 for scalars.
    pub(crate) row: u64,
    /// Data was printed before the current run of elements.
    pub(crate) continued: bool,
    /// Number of the first element of the current run.
    pub(crate) base: u64,
    /// Elements by which each index steps.
    pub(crate) strides: Vec<u64>,
    /// An array was closed last: the next one starts on a line of its own.
    pub(crate) after_array: bool,
}

impl LineState {
    /// At `indent` levels, on a line that is begun already unless it is the outermost level.
    pub(crate) fn at(indent: usize) -> Self {
        LineState { indent, column: indent * INDENT.len(), ..LineState::default() }
    }

    /// Sets the extent of the data that is printed.
    pub(crate) fn set_extent(&mut self, dims: &[u64]) {
        self.row = dims.last().copied().unwrap_or(0);
        let mut strides = vec![1u64; dims.len()];
        for i in (1..dims.len()).rev() {
            strides[i - 1] = strides[i].saturating_mul(dims[i]).max(1);
        }
        self.strides = strides;
    }

    fn index_text(&self, position: u64) -> String {
        if self.strides.is_empty() {
            return "(0): ".to_owned();
        }
        let mut rest = position;
        let indices = self.strides.iter().map(|&stride| {
            let index = rest / stride;
            rest -= index * stride;
            index.to_string()
        });
        format!("({}): ", indices.collect::<Vec<_>>().join(","))
    }

    /// Ends the line, where there is one, and starts the next.
    pub(crate) fn start_line(
        &mut self,
        out: &mut dyn io::Write,
        layout: &Layout,
        position: u64,
        section: usize,
    ) -> io::Result<()> {
        if !self.need_prefix {
            return Ok(());
        }
        if self.column > 0 {
            out.write_all(layout.line_end.as_bytes())?;
            out.write_all(b"\n")?;
        }
        let prefix = match layout.prefix {
            Prefix::None => String::new(),
            Prefix::Index => self.index_text(position),
            Prefix::Quote { every_line } if every_line || section > 0 || position == 0 => "\"".to_owned(),
            Prefix::Quote { .. } => String::new(),
        };
        let levels = if layout.outdent { self.indent.saturating_sub(1) } else { self.indent };
        let indentation =
            INDENT.repeat(if crate::common::expand() { levels } else { levels.min(LEVELS_MAX) });
        if layout.outdent {
            write!(out, "{indentation}{prefix}")?;
        } else {
            write!(out, "{prefix}{indentation}")?;
        }
        // A single outdented level counts for nothing, deeper ones with the level that was left out.
        let levels = if layout.outdent && self.indent < 2 { 0 } else { self.indent };
        self.column = prefix.len() + levels * INDENT.len();
        self.prefix_columns = self.column;
        self.on_line = 0;
        self.need_prefix = false;
        Ok(())
    }

    /// Prints one piece. `number` is its place in the current run of elements, `in_row` its place in the row.
    /// Answers whether it ended a row.
    pub(crate) fn piece(
        &mut self,
        out: &mut dyn io::Write,
        layout: &Layout,
        text: &[u8],
        number: u64,
        in_row: u64,
    ) -> io::Result<bool> {
        let row_ended = self.decide_break(layout, text, in_row);
        let extra = layout.space.len() + layout.line_end.len();
        let mut multiline = false;
        for (section, part) in text.split(|&b| b == BREAK).filter(|part| !part.is_empty()).enumerate() {
            if self.column + part.len() + extra > layout.columns {
                self.need_prefix = true;
            }
            if self.need_prefix {
                multiline |= section > 0;
                self.start_line(out, layout, self.base.saturating_add(number), section)?;
            } else if (number > 0 || self.continued) && section == 0 {
                out.write_all(layout.space.as_bytes())?;
                self.column += layout.space.len();
            }
            out.write_all(part)?;
            self.column += part.len();
        }
        self.was_multiline = multiline;
        Ok(row_ended)
    }

    fn decide_break(&mut self, layout: &Layout, text: &[u8], in_row: u64) -> bool {
        let extra = layout.space.len() + layout.line_end.len();
        let width = visible_columns(text) + extra;
        let too_wide = layout.whole_elements && self.column + width > layout.columns;
        if too_wide && (self.was_multiline || self.prefix_columns + width <= layout.columns) {
            self.need_prefix = true;
        }
        let mut row_ended = false;
        if layout.break_rows && self.on_line > 0 {
            if self.row > 0 && self.on_line.is_multiple_of(self.row) {
                self.need_prefix = true;
            }
            if in_row == self.row {
                self.need_prefix = true;
                row_ended = true;
            }
        }
        if layout.one_per_line && self.on_line >= 1 {
            self.need_prefix = true;
        }
        row_ended
    }
}

/// Returns the printable ASCII characters: what the tools count as columns of an element.
fn visible_columns(text: &[u8]) -> usize {
    text.iter().filter(|b| (b' '..=b'~').contains(*b)).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn data_layout(columns: usize) -> Layout {
        Layout { prefix: Prefix::Index, ..Layout::declarations(columns, false) }
    }

    fn print(dims: &[u64], columns: usize) -> String {
        let count: u64 = dims.iter().product();
        let mut state = LineState::at(1);
        state.set_extent(dims);
        state.need_prefix = true;
        let mut out = Vec::new();
        let mut in_row = 0;
        for i in 0..count {
            let comma = if i + 1 < count { "," } else { "" };
            let text = format!("{i}{comma}");
            if state.piece(&mut out, &data_layout(columns), text.as_bytes(), i, in_row).unwrap() {
                in_row = 0;
            }
            (in_row, state.on_line) = (in_row + 1, state.on_line + 1);
        }
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn rows_start_with_their_index() {
        assert_eq!(print(&[2, 3], 80), "\n(0,0): 0, 1, 2,\n(1,0): 3, 4, 5");
    }

    #[test]
    fn long_rows_wrap_with_the_index_of_the_next_element() {
        assert_eq!(print(&[4], 12), "\n(0): 0, 1,\n(2): 2, 3");
    }
}
