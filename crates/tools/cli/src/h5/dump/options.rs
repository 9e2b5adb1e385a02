//! The options of `dump`: those of h5dump, and `--json`.

use hyperslab::vol::VirtualView;
use hyperslab::{Index, Order};

use super::arguments::{parse_packed_bits, parse_sort_by, parse_sort_order};
use crate::h5::getopt::{Argument, Scanner, Spec, Takes};
use crate::h5::render::element::PackedBits;
use crate::h5::subset::{Subset, parse_list};
use crate::h5::vfd::VfdChoice;

/// The part of the file that is printed.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum WantedObject {
    /// `-a`
    Attribute(String),
    /// `-d`
    Dataset(String, Option<Subset>),
    /// `-g`
    Group(String),
    /// `-l`
    Link(String),
    /// `-t`
    Datatype(String),
    /// `-N`
    Anything(String),
}

/// Where a stream of text goes.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) enum Sink {
    /// Standard output.
    #[default]
    Stdout,
    /// Nowhere.
    Nowhere,
    /// A file.
    File(String),
}

/// The form of binary output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum BinaryForm {
    /// The machine's types.
    Native,
    /// As stored.
    File,
    /// Little-endian.
    Little,
    /// Big-endian.
    Big,
}

/// The options.
#[derive(Debug, Clone)]
pub(crate) struct Options {
    pub(crate) wanted: Vec<WantedObject>,
    pub(crate) files: Vec<String>,
    pub(crate) contents: bool,
    pub(crate) contents_attributes: bool,
    pub(crate) superblock: bool,
    pub(crate) properties: bool,
    pub(crate) data: bool,
    pub(crate) attribute_data: bool,
    pub(crate) attributes: bool,
    pub(crate) object_ids: bool,
    pub(crate) characters: bool,
    pub(crate) escape: bool,
    pub(crate) indices: bool,
    pub(crate) regions: bool,
    pub(crate) columns: usize,
    pub(crate) one_per_line: bool,
    pub(crate) float_format: Option<String>,
    pub(crate) sort_by: Index,
    pub(crate) virtual_view: VirtualView,
    pub(crate) sort_order: Order,
    pub(crate) packed_bits: Vec<PackedBits>,
    pub(crate) binary: Option<BinaryForm>,
    pub(crate) ddl_to: Sink,
    pub(crate) data_to: Sink,
    pub(crate) attributes_to: Sink,
    pub(crate) output_named: bool,
    pub(crate) vfd: VfdChoice,
    pub(crate) compact_subset: bool,
    pub(crate) xml: bool,
    pub(crate) xml_schema: bool,
    pub(crate) xml_uri: Option<String>,
    pub(crate) xml_namespace: String,
    pub(crate) json: bool,
    pub(crate) error_stack: bool,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            wanted: Vec::new(),
            files: Vec::new(),
            contents: false,
            contents_attributes: false,
            superblock: false,
            properties: false,
            data: true,
            attribute_data: true,
            attributes: true,
            object_ids: false,
            characters: false,
            escape: false,
            indices: true,
            regions: false,
            columns: 80,
            one_per_line: false,
            float_format: None,
            sort_by: Index::Name,
            virtual_view: VirtualView::default(),
            sort_order: Order::Increasing,
            packed_bits: Vec::new(),
            binary: None,
            ddl_to: Sink::Stdout,
            data_to: Sink::Stdout,
            attributes_to: Sink::Stdout,
            output_named: false,
            vfd: VfdChoice::default(),
            compact_subset: true,
            xml: false,
            xml_schema: true,
            xml_uri: None,
            xml_namespace: "hdf5:".to_owned(),
            json: false,
            error_stack: false,
        }
    }
}

/// A parsed command line.
#[derive(Debug)]
pub(crate) enum Parsed {
    /// Dump.
    Run(Box<Options>),
    /// Print the usage and end well.
    Help,
    /// Print the version and end well.
    Version,
}

/// Columns where the user sets no limit.
const COLUMNS_MAX: usize = 65535;

const fn spec(letter: char, takes: Takes, names: &'static [&'static str]) -> Spec {
    Spec { letter, names, takes }
}

const SPECS: &[Spec] = &[
    spec('h', Takes::Nothing, &["help"]),
    spec('V', Takes::Nothing, &["version"]),
    spec('n', Takes::Perhaps, &["contents"]),
    spec('p', Takes::Nothing, &["properties"]),
    spec('B', Takes::Nothing, &["superblock", "boot-block"]),
    spec('H', Takes::Nothing, &["header"]),
    spec('i', Takes::Nothing, &["object-ids"]),
    spec('a', Takes::Argument, &["attribute"]),
    spec('k', Takes::Argument, &["block"]),
    spec('c', Takes::Argument, &["count"]),
    spec('d', Takes::Argument, &["dataset"]),
    spec('t', Takes::Argument, &["datatype"]),
    spec('f', Takes::Argument, &["filedriver"]),
    spec('g', Takes::Argument, &["group"]),
    spec('o', Takes::Perhaps, &["output"]),
    spec('l', Takes::Argument, &["soft-link"]),
    spec('s', Takes::Argument, &["start"]),
    spec('S', Takes::Argument, &["stride"]),
    spec('r', Takes::Nothing, &["string"]),
    spec('u', Takes::Nothing, &["use-dtd"]),
    spec('w', Takes::Argument, &["width"]),
    spec('D', Takes::Argument, &["xml-dtd"]),
    spec('X', Takes::Argument, &["xml-ns"]),
    spec('x', Takes::Nothing, &["xml"]),
    spec('A', Takes::Perhaps, &["onlyattr"]),
    spec('e', Takes::Nothing, &["escape"]),
    spec('y', Takes::Nothing, &["noindex"]),
    spec('b', Takes::Perhaps, &["binary"]),
    spec('q', Takes::Argument, &["sort_by"]),
    spec('z', Takes::Argument, &["sort_order"]),
    spec('m', Takes::Argument, &["format"]),
    spec('R', Takes::Nothing, &["region"]),
    spec('E', Takes::Perhaps, &["enable-error-stack"]),
    spec('M', Takes::Argument, &["packedbits", "packed-bits"]),
    spec('C', Takes::Nothing, &["no-compact-subset"]),
    spec('O', Takes::Perhaps, &["ddl"]),
    spec('N', Takes::Argument, &["any_path"]),
    spec('v', Takes::Nothing, &["vds-view-first-missing"]),
    spec('G', Takes::Argument, &["vds-gap-size"]),
    // Long options of later versions have no letter that a user could type.
    spec('\u{1}', Takes::Argument, &["page-buffer-size"]),
    spec('\u{2}', Takes::Argument, &["vfd-name"]),
    spec('\u{3}', Takes::Argument, &["vfd-info"]),
    spec(
        '\u{4}',
        Takes::Argument,
        &["s3-cred", "hdfs-attrs", "vfd-value", "vol-value", "vol-name", "vol-info"],
    ),
    spec('\u{5}', Takes::Nothing, &["json"]),
];

/// Parses the words after `dump`.
pub(crate) fn parse(words: &[String]) -> Result<Parsed, String> {
    let mut options = Options::default();
    let mut scanner = Scanner::new(words, SPECS);
    // Whether the last option named a dataset, so that a subset may follow.
    let mut after_dataset = false;
    loop {
        match scanner.next()? {
            Argument::Option('h', _) => return Ok(Parsed::Help),
            Argument::Option('V', _) => return Ok(Parsed::Version),
            Argument::Option(letter, value) => options.apply(letter, value, &mut after_dataset)?,
            Argument::Files(files) => {
                options.files = files;
                return options.check().map(|options| Parsed::Run(Box::new(options)));
            }
        }
    }
}

impl Options {
    fn apply(&mut self, letter: char, value: Option<String>, after_dataset: &mut bool) -> Result<(), String> {
        if "BnHAiwNaglto".contains(letter) {
            *after_dataset = false;
        }
        let text = value.clone().unwrap_or_default();
        match letter {
            'a' | 'd' | 'g' | 'l' | 't' | 'N' => self.want(letter, text, after_dataset),
            's' | 'S' | 'c' | 'k' | 'M' => self.narrow(letter, &text, *after_dataset)?,
            'O' | 'o' | 'b' | 'f' | '\u{1}'..='\u{4}' => self.apply_files(letter, value)?,
            'x' | 'u' | 'D' | 'X' => self.apply_xml(letter, text)?,
            _ => self.apply_display(letter, value)?,
        }
        Ok(())
    }

    fn want(&mut self, letter: char, name: String, after_dataset: &mut bool) {
        let wanted = match letter {
            'a' => WantedObject::Attribute(name),
            'g' => WantedObject::Group(name),
            'l' => WantedObject::Link(name),
            't' => WantedObject::Datatype(name),
            'N' => WantedObject::Anything(name),
            _ => {
                *after_dataset = true;
                let (name, subset) = if self.compact_subset { Subset::split(&name) } else { (name, None) };
                WantedObject::Dataset(name, subset)
            }
        };
        self.wanted.push(wanted);
    }

    fn narrow(&mut self, letter: char, text: &str, after_dataset: bool) -> Result<(), String> {
        let last = self.wanted.last_mut();
        let (true, Some(WantedObject::Dataset(_, subset))) = (after_dataset, last) else {
            return Err(format!("option \"-{letter}\" can only be used after the --dataset option"));
        };
        if letter == 'M' {
            self.packed_bits = parse_packed_bits(text)?;
            return Ok(());
        }
        let subset = subset.get_or_insert_with(Subset::default);
        let list = parse_list(text);
        match letter {
            's' => subset.start = list,
            'S' => subset.stride = list,
            'c' => subset.count = list,
            _ => subset.block = list,
        }
        Ok(())
    }

    fn apply_files(&mut self, letter: char, value: Option<String>) -> Result<(), String> {
        let sink = value.clone().map_or(Sink::Nowhere, Sink::File);
        match letter {
            'O' => self.ddl_to = sink,
            'o' => self.set_output(sink),
            'b' => {
                let form = match value.as_deref() {
                    None | Some("NATIVE" | "MEMORY") => BinaryForm::Native,
                    Some("FILE") => BinaryForm::File,
                    Some("LE") => BinaryForm::Little,
                    Some("BE") => BinaryForm::Big,
                    Some(other) => {
                        return Err(format!("unknown binary form \"{other}\": it is NATIVE, FILE, LE or BE"));
                    }
                };
                self.binary = Some(form);
            }
            'f' | '\u{2}' => self.vfd.name = value,
            '\u{3}' => self.vfd.info = value,
            _ => {}
        }
        Ok(())
    }

    fn set_output(&mut self, sink: Sink) {
        self.output_named = true;
        if self.attribute_data && !self.data {
            self.attributes_to = sink.clone();
        }
        self.data_to = sink;
    }

    fn apply_xml(&mut self, letter: char, text: String) -> Result<(), String> {
        match letter {
            'x' => (self.xml, self.xml_schema) = (true, true),
            'u' => {
                (self.xml, self.xml_schema) = (true, false);
                self.xml_namespace.clear();
            }
            'D' => self.xml_uri = Some(text),
            _ if !self.xml_schema => return Err("option \"-X\" needs a schema, not a DTD".to_owned()),
            _ => self.xml_namespace = if text == ":" { String::new() } else { text },
        }
        self.set_columns(0);
        Ok(())
    }

    fn set_columns(&mut self, columns: usize) {
        self.one_per_line = columns == 0;
        self.columns = if columns == 0 { COLUMNS_MAX } else { columns };
    }

    fn apply_display(&mut self, letter: char, value: Option<String>) -> Result<(), String> {
        let number = value.as_deref().map(|v| v.trim().parse::<i64>().unwrap_or(0));
        match letter {
            'R' => self.regions = true,
            'B' => self.superblock = true,
            'n' => (self.contents, self.contents_attributes) = (true, number.is_some_and(|n| n > 0)),
            'p' => self.properties = true,
            'y' => self.indices = false,
            'e' => self.escape = true,
            'H' => (self.data, self.attribute_data) = (false, false),
            'A' if number == Some(0) => self.attributes = false,
            'A' if number.is_none() => (self.data, self.attribute_data) = (false, true),
            'i' => self.object_ids = true,
            'r' => self.characters = true,
            'w' => {
                let columns = number.and_then(|n| usize::try_from(n).ok()).filter(|&n| n > 0);
                (self.columns, self.one_per_line) = (columns.unwrap_or(COLUMNS_MAX), false);
            }
            'q' => self.sort_by = parse_sort_by(&value.unwrap_or_default())?,
            'z' => self.sort_order = parse_sort_order(&value.unwrap_or_default())?,
            'm' => {
                self.float_format = value;
                self.set_columns(0);
            }
            'E' => self.error_stack = true,
            'C' => self.compact_subset = false,
            'v' => self.virtual_view.first_missing = true,
            'G' => {
                let value = value.unwrap_or_default();
                let gap = value.trim().parse().map_err(|_| format!("gap size {value:?} is not a number"))?;
                self.virtual_view.gap = gap;
            }
            '\u{5}' => self.json = true,
            _ => {}
        }
        Ok(())
    }

    /// Refuses what does not go together.
    fn check(self) -> Result<Options, String> {
        if self.files.is_empty() {
            return Err("missing file name".to_owned());
        }
        if self.binary.is_some() && !self.output_named {
            return Err("binary output requires a file name, use -o <filename>".to_owned());
        }
        let conflict = [
            (!self.wanted.is_empty(), "to display selected objects"),
            (self.superblock, "--superblock"),
            (self.object_ids, "--object-ids"),
            (self.characters, "--string"),
            (self.output_named, "--output"),
        ];
        let qualified = self.xml_schema && !self.xml_namespace.is_empty();
        if self.xml && self.xml_uri.is_some() && qualified {
            return Err(
                "a schema for a qualified namespace has no URL of its own; use -X : or -u with -D".to_owned()
            );
        }
        match conflict.iter().find(|(set, _)| self.xml && *set) {
            Some((_, name)) => Err(format!("option \"{name}\" is not available for XML")),
            None => Ok(self),
        }
    }
}
