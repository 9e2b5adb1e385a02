//! The outputs for declarations, data and attribute values.

use std::fs::File;
use std::io::{self, BufWriter, Write};

use hyperslab::{Error, Result};

use super::options::{Options, Sink};
use crate::colours::{Coloured, Lines};
use crate::out::Printable;

/// The kind of output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stream {
    /// Declarations.
    Ddl,
    /// Elements of datasets.
    Data,
    /// Values of attributes.
    Attributes,
}

/// The open outputs. Streams that go to standard output share it.
pub(crate) struct Streams {
    outputs: Vec<Box<dyn Write>>,
    ddl: Option<usize>,
    data: Option<usize>,
    attributes: Option<usize>,
}

/// Returns an output of text, or of elements as they are.
fn text(out: impl Write + 'static, options: &Options) -> Box<dyn Write> {
    match options.binary {
        Some(_) => Box::new(out),
        None => Box::new(Printable::new(out)),
    }
}

impl Streams {
    /// Opens what the options name.
    pub(crate) fn open(options: &Options) -> Result<Self> {
        let stdout: Box<dyn Write> = match options.binary {
            Some(_) => Box::new(io::stdout()),
            None => Box::new(Coloured::new(io::stdout(), Lines::Dump)),
        };
        let mut outputs: Vec<Box<dyn Write>> = vec![text(BufWriter::with_capacity(1 << 16, stdout), options)];
        let mut place = |sink: &Sink| -> Result<Option<usize>> {
            match sink {
                Sink::Stdout => Ok(Some(0)),
                Sink::Nowhere => Ok(None),
                Sink::File(path) => {
                    let file = File::create(path).map_err(|e| Error::io(format!("create {path}"), &e))?;
                    outputs.push(text(BufWriter::new(file), options));
                    Ok(Some(outputs.len() - 1))
                }
            }
        };
        let ddl = place(&options.ddl_to)?;
        let data = place(&options.data_to)?;
        let attributes =
            if options.attributes_to == options.data_to { data } else { place(&options.attributes_to)? };
        Ok(Streams { outputs, ddl, data, attributes })
    }

    /// Returns the output of a stream; `None` where it goes nowhere.
    pub(crate) fn get(&mut self, stream: Stream) -> Option<&mut dyn Write> {
        let index = match stream {
            Stream::Ddl => self.ddl,
            Stream::Data => self.data,
            Stream::Attributes => self.attributes,
        }?;
        match self.outputs.get_mut(index) {
            Some(output) => Some(&mut **output),
            None => None,
        }
    }

    /// Writes text as it is.
    pub(crate) fn put(&mut self, stream: Stream, text: &[u8]) -> Result<()> {
        match self.get(stream) {
            Some(output) => output.write_all(text).map_err(failed),
            None => Ok(()),
        }
    }

    /// Hands everything to the operating system.
    pub(crate) fn flush(&mut self) -> Result<()> {
        self.outputs.iter_mut().try_for_each(std::io::Write::flush).map_err(failed)
    }
}

/// The operation of errors that nothing can be printed after.
pub(crate) const WRITING: &str = "write output";

/// The exit code when the reader has gone: what a shell shows for SIGPIPE.
const READER_GONE: i32 = 141;

/// Returns an error of writing. A reader that has gone (`| head`) ends the command without a word, as it ends h5dump.
#[expect(clippy::needless_pass_by_value, reason = "map_err hands it over")]
pub(crate) fn failed(error: io::Error) -> Error {
    if error.kind() == io::ErrorKind::BrokenPipe {
        std::process::exit(READER_GONE);
    }
    Error::io(WRITING, &error)
}
