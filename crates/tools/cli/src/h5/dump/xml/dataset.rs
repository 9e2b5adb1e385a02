//! Datasets in XML.

use hyperslab::filter_names::id;
use hyperslab::vol::DatasetInfo;
use hyperslab::vol::model::properties::{AllocTime, FillTime, FillValue, FilterSpec, Layout as Storage};
use hyperslab::vol::model::text::to_bytes;
use hyperslab::{Datatype, Result, Token};

use super::super::Dumper;
use super::super::properties::allocation_time;
use super::super::source::Source;
use super::super::tables::shown;
use super::data::note_of;
use super::{escape_name, quoted};

impl Dumper<'_> {
    /// Prints a dataset that was printed under another name.
    pub(super) fn xml_dataset_again(&mut self, token: Token, name: &str, before: &str) -> Result<()> {
        let level = self.indent;
        let path = self.xml_path(name);
        let id = self.xml_id(Some(token));
        let numbered = format!("{id}-{}", self.xml.again);
        self.xml.again += 1;
        let mut attributes = vec![
            quoted("Name", escape_name(&to_bytes(name))),
            quoted("OBJ-XID", numbered),
            quoted("H5Path", escape_name(&to_bytes(&shown(&path)))),
        ];
        attributes.extend(self.xml_parents());
        self.xml_element(level, "Dataset", &attributes, b">")?;
        let pointer = [quoted("OBJ-XID", id), quoted("H5Path", escape_name(&to_bytes(before)))];
        self.xml_element(level + 1, "DatasetPtr", &pointer, b"/>")?;
        self.xml_end(level, "Dataset")
    }

    /// Prints a dataset.
    pub(super) fn xml_dataset(&mut self, token: Token, name: &str) -> Result<()> {
        let container = self.container();
        let (info, object) = (container.dataset_info(token)?, container.object_info(token)?);
        let level = self.indent;
        let path = self.xml_path(name);
        // h5dump has a space behind this one equals sign.
        let spaced = [b"H5Path= \"", &escape_name(&to_bytes(&shown(&path)))[..], b"\""].concat();
        let id = self.xml_id(Some(token));
        let mut attributes =
            vec![quoted("Name", escape_name(&to_bytes(name))), quoted("OBJ-XID", id), spaced];
        attributes.extend(self.xml_parents());
        self.xml_element(level, "Dataset", &attributes, b">")?;
        self.xml_layout(level + 1, &info)?;
        self.xml_fill(level + 1, &info)?;
        self.xml_dataspace(&info.space)?;
        self.xml_datatype(&info.datatype, info.committed)?;
        self.nested(|dumper| dumper.xml_attributes(token, object.create.attribute_order))?;
        let stored = container.dataset_storage(token).map_or(0, |storage| storage.bytes);
        if self.options.data && stored > 0 {
            self.xml_dataset_data(level, &Source::Dataset { token, info: &info })?;
        } else {
            self.xml_no_data(level + 1, 1, None)?;
        }
        self.xml_end(level, "Dataset")
    }

    fn xml_dataset_data(&mut self, level: usize, source: &Source<'_>) -> Result<()> {
        match source.datatype() {
            Datatype::Reference(t) => self.xml_references(level, level + 1, source, t.kind),
            Datatype::Time(_) => {
                self.xml_tag(level + 1, "Data", b">")?;
                self.xml_line(level + 1, b"<!-- Time data not yet implemented. -->")?;
                self.xml_tag(level + 1, "NoData", b" />")?;
                self.xml_tag(level + 1, "Data", b">")
            }
            datatype => {
                if let Some(note) = note_of(datatype) {
                    let back = usize::from(!matches!(datatype, Datatype::Compound(_)));
                    self.xml_line(level.saturating_sub(back), note.as_bytes())?;
                }
                self.xml_data(level + 1, source)
            }
        }
    }

    fn xml_layout(&mut self, level: usize, info: &DatasetInfo) -> Result<()> {
        let simple: &str = match &info.create.layout {
            Storage::Chunked { shape, .. } => return self.xml_chunked(level, shape, &info.create.filters),
            Storage::Contiguous | Storage::External(_) => "ContiguousLayout",
            Storage::Compact => "CompactLayout",
            Storage::Virtual(_) => return Ok(()),
        };
        self.xml_tag(level, "StorageLayout", b">")?;
        self.xml_tag(level + 1, simple, b"/>")?;
        self.xml_end(level, "StorageLayout")
    }

    fn xml_chunked(&mut self, level: usize, shape: &[u64], filters: &[FilterSpec]) -> Result<()> {
        self.xml_tag(level, "StorageLayout", b">")?;
        self.xml_tag(level + 1, "ChunkedLayout", format!(" Ndims=\"{}\">", shape.len()).as_bytes())?;
        for dim in shape {
            self.xml_tag(level + 2, "ChunkDimension", format!(" DimSize=\"{dim}\" />").as_bytes())?;
        }
        self.xml_tag(level + 2, "RequiredFilter", b">")?;
        // h5dump has space for as many values as the filter before had.
        let mut capacity = 20;
        for filter in filters {
            self.xml_filter(level + 4, filter, capacity)?;
            capacity = filter.values.len();
        }
        self.xml_end(level + 2, "RequiredFilter")?;
        self.xml_end(level + 1, "ChunkedLayout")?;
        self.xml_end(level, "StorageLayout")
    }

    fn xml_filter(&mut self, level: usize, filter: &FilterSpec, capacity: usize) -> Result<()> {
        let value = |i: usize| filter.values.iter().take(capacity).nth(i).copied().unwrap_or(0) as i32;
        match filter.id {
            id::DEFLATE => self.xml_tag(level, "Deflate", format!(" Level=\"{}\"/>", value(0)).as_bytes()),
            id::SHUFFLE => self.xml_tag(level, "Shuffle", b" />"),
            id::FLETCHER32 => self.xml_tag(level, "Fletcher32", b" />"),
            id::SZIP => self.xml_tag(level, "SZIP", szip_text(value(0), value(1)).as_bytes()),
            _ => Ok(()),
        }
    }

    fn xml_fill(&mut self, level: usize, info: &DatasetInfo) -> Result<()> {
        let time = match info.create.fill.time {
            FillTime::Alloc => "FillOnAlloc",
            FillTime::Never => "FillNever",
            FillTime::IfSet => "FillIfSet",
        };
        let allocation = match allocation_time(info) {
            AllocTime::Early => "Early",
            AllocTime::Incremental => "Incremental",
            _ => "Late",
        };
        let text = format!(" FillTime=\"{time}\" AllocationTime=\"{allocation}\">");
        self.xml_tag(level, "FillValueInfo", text.as_bytes())?;
        self.xml_tag(level + 1, "FillValue", b">")?;
        let zeros = vec![0; info.datatype.size() as usize];
        match &info.create.fill.value {
            FillValue::Value(bytes) => self.xml_fill_value(level + 2, &info.datatype, bytes)?,
            FillValue::Default if info.create.fill.time != FillTime::IfSet => {
                self.xml_fill_value(level + 2, &info.datatype, &zeros)?;
            }
            _ => self.xml_tag(level + 2, "NoFill", b"/>")?,
        }
        self.xml_end(level + 1, "FillValue")?;
        self.xml_end(level, "FillValueInfo")
    }

    fn xml_fill_value(&mut self, level: usize, datatype: &Datatype, bytes: &[u8]) -> Result<()> {
        let mut word = [0; 4];
        for (to, from) in word.iter_mut().zip(bytes) {
            *to = *from;
        }
        // h5dump looks at the stored bytes as if they were its own numbers.
        let value = match datatype {
            Datatype::Integer(_) => Ok(i32::from_ne_bytes(word).to_string()),
            Datatype::Float(_) => Ok(format!("{:.6}", f32::from_ne_bytes(word))),
            Datatype::Enum(t) => {
                let place = u32::from_ne_bytes(word) as usize;
                Ok(t.members.get(place).map_or("(null)".to_owned(), |(name, _)| name.clone()))
            }
            Datatype::Bitfield(_) | Datatype::Opaque(_) => {
                Ok(bytes.iter().map(|b| format!("{b:x} ")).collect())
            }
            Datatype::Reference(_) => Ok("NULL".to_owned()),
            Datatype::Array(_) => Err("Array fill values not yet implemented."),
            Datatype::Time(_) => Err("Time fill not yet implemented."),
            Datatype::Compound(_) => Err("Compound fill not yet implemented."),
            datatype if datatype.is_string() => Err("String fill values not yet implemented."),
            _ => Err("VL fill not yet implemented."),
        };
        match value {
            Ok(text) => {
                self.xml_tag(level, "Data", b">")?;
                self.xml_tag(level + 1, "DataFromFile", b">")?;
                self.xml_line(level + 1, format!("\"{text}\"").as_bytes())?;
                self.xml_end(level + 1, "DataFromFile")?;
                self.xml_end(level, "Data")
            }
            Err(note) => self.xml_no_data(level, 1, Some(note)),
        }
    }
}

fn szip_text(mask: i32, pixels: i32) -> String {
    let first =
        |choices: &[(i32, &'static str)]| choices.iter().find(|(bit, _)| mask & bit != 0).map_or("", |c| c.1);
    let mode = first(&[(2, "Mode =\"Hardware\" "), (1, "Mode =\"K13\" ")]);
    let coding = first(&[(4, "Entropy"), (32, "NN")]);
    let order = first(&[(8, "LSB"), (16, "MSB")]);
    let header = first(&[(128, "Header=\"Raw\"")]);
    format!(" Pixels_per_block=\"{pixels}\" {mode}Coding=\"{coding}\" ByteOrder=\"{order}\" {header}/>")
}
