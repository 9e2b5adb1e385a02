//! `hyperslab dump`: what h5dump prints, byte for byte, from any container.

mod arguments;
mod attributes;
mod binary;
mod contents;
mod data;
pub(crate) mod datatype;
mod group;
mod json;
mod lenient;
mod options;
mod properties;
mod references;
mod regions;
mod source;
pub(crate) mod streams;
mod tables;
mod usage;
mod wanted;
mod xml;

pub(crate) use usage::USAGE;

use std::cell::Cell;
use std::collections::HashSet;
use std::process::ExitCode;
use std::sync::Arc;

use hyperslab::extend::Onion;
use hyperslab::vol::Container;
use hyperslab::vol::model::text::{to_bytes, to_path};
use hyperslab::{Error, Index, ObjectKind, Order, Result, Token};

use crate::h5::render::line::{Layout, LineState};
use crate::open::{OpenContainer, open_with, shown};
pub(crate) use attributes::space_text;
pub(crate) use datatype::{bitfield_name, float_name, integer_name};
use options::{Options, Parsed};
use streams::{Stream, Streams};
use tables::{Sorting, Tables};

/// A file that is printed, wholly or through an external link.
struct OpenFile {
    opened: OpenContainer,
    tables: Arc<Tables>,
    /// The tables by name, whatever the user sorts by: region references are shown with these paths.
    by_name: Arc<Tables>,
    /// Objects that were printed already.
    shown: HashSet<Token>,
}

/// Prints files.
pub(crate) struct Dumper<'o> {
    options: &'o Options,
    streams: Streams,
    layout: Layout,
    /// The file from the command line, and those that external links led to.
    files: Vec<OpenFile>,
    current: usize,
    /// Groups and external links that are begun.
    open: Vec<group::Open>,
    /// Levels of indentation of the object that is printed.
    indent: usize,
    /// Objects are reached through an external link, so that any may have been printed before.
    through_external: bool,
    /// Datasets that references led to, inside each other.
    following: Vec<Token>,
    /// Numbers given to groups, datasets and attributes: the handles that h5dump would have.
    ids: [u64; 3],
    xml: xml::XmlState,
    /// Whether something could not be printed.
    failed: Cell<bool>,
}

/// Runs the command.
pub(crate) fn run(words: &[String]) -> ExitCode {
    match options::parse(words) {
        Ok(Parsed::Run(options)) => dump_all(&options),
        Ok(Parsed::Help) => {
            print!("{USAGE}");
            ExitCode::SUCCESS
        }
        Ok(Parsed::Version) => {
            println!("hyperslab dump: Version {}", env!("CARGO_PKG_VERSION"));
            ExitCode::SUCCESS
        }
        Err(problem) => {
            eprintln!("hyperslab dump: {problem}; try `hyperslab dump --help`");
            ExitCode::FAILURE
        }
    }
}

fn dump_all(options: &Options) -> ExitCode {
    let streams = match Streams::open(options) {
        Ok(streams) => streams,
        Err(error) => {
            eprintln!("hyperslab dump: {error}");
            return ExitCode::FAILURE;
        }
    };
    let mut dumper = Dumper::new(options, streams);
    for file in &options.files {
        if let Err(error) = dumper.dump_file(file) {
            dumper.fail(&format!("{}: {error}", shown(file)));
            break;
        }
    }
    if let Err(error) = dumper.streams.flush() {
        dumper.fail(&error.to_string());
    }
    if dumper.failed.get() { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}

impl<'o> Dumper<'o> {
    fn new(options: &'o Options, streams: Streams) -> Self {
        Dumper {
            options,
            streams,
            layout: Layout::declarations(options.columns, options.one_per_line),
            files: Vec::new(),
            current: 0,
            open: Vec::new(),
            indent: 0,
            through_external: false,
            following: Vec::new(),
            ids: [0; 3],
            xml: xml::XmlState::default(),
            failed: Cell::new(false),
        }
    }

    fn sorting(&self) -> Sorting {
        Sorting { by: self.options.sort_by, order: self.options.sort_order }
    }

    fn file(&self) -> &OpenFile {
        &self.files[self.current]
    }

    fn container(&self) -> Arc<dyn Container> {
        self.file().opened.container.clone()
    }

    /// Returns the next number of an object; attributes count as [`ObjectKind::Map`].
    fn next_id(&mut self, kind: ObjectKind) -> u64 {
        let place = match kind {
            ObjectKind::Group | ObjectKind::Datatype => 0,
            ObjectKind::Dataset => 1,
            ObjectKind::Map => 2,
        };
        let id = self.ids[place];
        self.ids[place] += 1;
        id
    }

    /// Tells about a problem and goes on; the command ends with a failure.
    fn fail(&mut self, problem: &str) {
        eprintln!("hyperslab dump: {problem}");
        self.failed.set(true);
    }

    /// Reports an error of one object, so that the others are still printed.
    fn tolerate(&mut self, name: &str, result: Result<()>) -> Result<()> {
        match result {
            Err(error) if error.operation() == streams::WRITING => Err(error),
            Err(error) => {
                self.fail(&format!("{name}: {error}"));
                if self.options.error_stack {
                    eprint!("{}", error.stack());
                }
                Ok(())
            }
            Ok(()) => Ok(()),
        }
    }

    fn dump_file(&mut self, name: &str) -> Result<()> {
        if self.options.vfd.asks_for_count() {
            return self.revision_count(name);
        }
        let driver = self
            .options
            .vfd
            .driver()
            .map_err(|problem| Error::invalid("read driver").with("problem", problem))?;
        if let Some(revision) = self.options.vfd.revision() {
            self.put(format!("Using revision {revision}\n").as_bytes())?;
        }
        let opened = open_with(name, driver.as_deref(), self.options.virtual_view)?;
        let file = self.describe(opened)?;
        // h5dump opened every dataset once, and the root group, before it prints.
        self.ids = [1, file.tables.datasets.len() as u64, 0];
        self.files = vec![file];
        self.current = 0;
        if self.options.json {
            return self.json_file();
        }
        if self.options.xml {
            return self.xml_file();
        }
        self.put(&[b"HDF5 \"", &to_bytes(&shown(name))[..], b"\" {"].concat())?;
        if self.options.contents {
            self.contents()?;
            return self.put(b"}\n");
        }
        if self.options.superblock {
            self.superblock()?;
        }
        if self.options.wanted.is_empty() {
            let root = self.container().info()?.root;
            self.nested(|dumper| dumper.group(root, "/"))?;
        } else {
            for wanted in &self.options.wanted {
                self.wanted(wanted)?;
            }
        }
        self.put(b"\n}\n")
    }

    /// Says how many revisions a file has.
    fn revision_count(&mut self, name: &str) -> Result<()> {
        let revisions = Onion::revisions(to_path(name));
        let count = revisions.map_err(|error| Error::io("read revisions", &error).with("path", name))?.len();
        self.put(format!("The number of revisions for the onion file is {count}\n").as_bytes())
    }

    /// Finds all objects of a file.
    fn describe(&self, opened: OpenContainer) -> Result<OpenFile> {
        let tables = Arc::new(Tables::build(&*opened.container, self.sorting())?);
        let plain = Sorting { by: Index::Name, order: Order::Increasing };
        let by_name = match self.sorting() == plain {
            true => tables.clone(),
            false => Arc::new(Tables::build(&*opened.container, plain)?),
        };
        Ok(OpenFile { opened, tables, by_name, shown: HashSet::new() })
    }

    /// Runs `body` one level further in.
    fn nested<T>(&mut self, body: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        self.indent += 1;
        let result = body(self);
        self.indent -= 1;
        result
    }

    /// Writes declarations as they are.
    fn put(&mut self, text: &[u8]) -> Result<()> {
        self.streams.put(Stream::Ddl, text)
    }

    /// Prints a piece of a declaration.
    fn piece(&mut self, state: &mut LineState, text: &[u8]) -> Result<()> {
        match self.streams.get(Stream::Ddl) {
            Some(out) => state.piece(out, &self.layout, text, 0, 0).map(drop).map_err(streams::failed),
            None => Ok(()),
        }
    }

    /// Prints a line of a declaration.
    fn line(&mut self, state: &mut LineState, text: &[u8]) -> Result<()> {
        state.need_prefix = true;
        self.piece(state, text)
    }

    /// Prints `WORD "name" {`.
    fn head(&mut self, state: &mut LineState, word: &str, name: &[u8]) -> Result<()> {
        self.line(state, &[word.as_bytes(), b" \"", name, b"\" {"].concat())
    }
}
