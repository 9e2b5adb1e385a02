//! `-p`: layout, filters, fill value and allocation time of a dataset.

use hyperslab::filter_names::id;
use hyperslab::vol::algorithms::transfer::from_file_type;
use hyperslab::vol::model::Heap;
use hyperslab::vol::model::convert::Conversions;
use hyperslab::vol::model::datatype::VarLenKind;
use hyperslab::vol::model::properties::{
    AllocTime, FillTime, FillValue, FilterSpec, Layout as Storage, VirtualMapping,
};
use hyperslab::vol::model::text::to_bytes;
use hyperslab::vol::{DatasetInfo, StorageInfo};
use hyperslab::{Datatype, Result, Selection, Token};

use super::Dumper;
use super::attributes::dim_text;
use crate::h5::render::element::{Printer, Values};
use crate::h5::render::line::LineState;

impl Dumper<'_> {
    /// Prints all properties.
    pub(crate) fn properties(
        &mut self,
        state: &mut LineState,
        token: Token,
        info: &DatasetInfo,
    ) -> Result<()> {
        let storage = self.container().dataset_storage(token).unwrap_or_else(|error| {
            // To h5dump what cannot be measured takes no storage.
            eprintln!("hyperslab dump: {error}");
            StorageInfo::new(0, hyperslab::vol::Allocation::None)
        });
        self.property_block(state, "STORAGE_LAYOUT", |dumper, state| dumper.storage(state, info, &storage))?;
        // A virtual dataset stores nothing that could be filtered or allocated.
        let stored = !matches!(info.create.layout, Storage::Virtual(_));
        if stored {
            self.property_block(state, "FILTERS", |dumper, state| {
                dumper.filters(state, &info.create.filters)
            })?;
        }
        self.property_block(state, "FILLVALUE", |dumper, state| dumper.fill_value(state, info))?;
        if !stored {
            return Ok(());
        }
        let time = allocation_name(info);
        self.property_block(state, "ALLOCATION_TIME", |dumper, state| dumper.line(state, time.as_bytes()))
    }

    fn property_block(
        &mut self,
        state: &mut LineState,
        word: &str,
        body: impl FnOnce(&mut Self, &mut LineState) -> Result<()>,
    ) -> Result<()> {
        self.line(state, format!("{word} {{").as_bytes())?;
        state.indent += 1;
        body(self, state)?;
        state.indent -= 1;
        self.line(state, b"}")
    }

    fn storage(&mut self, state: &mut LineState, info: &DatasetInfo, storage: &StorageInfo) -> Result<()> {
        match &info.create.layout {
            Storage::Chunked { shape, .. } => {
                let shape: Vec<String> = shape.iter().map(u64::to_string).collect();
                self.line(state, format!("CHUNKED ( {} )", shape.join(", ")).as_bytes())?;
                self.line(state, chunked_size(info, storage).as_bytes())
            }
            Storage::Compact => {
                self.line(state, b"COMPACT")?;
                self.line(state, format!("SIZE {}", storage.bytes).as_bytes())
            }
            Storage::Contiguous => {
                self.line(state, b"CONTIGUOUS")?;
                self.line(state, format!("SIZE {}", storage.bytes).as_bytes())?;
                // An address that is not there is all ones before the user block is added to it, as to any other.
                let nowhere = u64::MAX.wrapping_add(self.container().info()?.create.userblock_bytes);
                self.line(state, format!("OFFSET {}", storage.offset.unwrap_or(nowhere)).as_bytes())
            }
            Storage::External(files) => {
                self.line(state, b"CONTIGUOUS")?;
                self.property_block(state, "EXTERNAL", |dumper, state| {
                    files.iter().try_for_each(|file| {
                        let numbers = format!(" SIZE {} OFFSET {}", file.size, file.offset);
                        dumper.line(
                            state,
                            &[b"FILENAME ", &to_bytes(&file.name)[..], numbers.as_bytes()].concat(),
                        )
                    })
                })
            }
            Storage::Virtual(mappings) => self.mappings(state, mappings, info),
        }
    }

    fn mappings(
        &mut self,
        state: &mut LineState,
        mappings: &[VirtualMapping],
        info: &DatasetInfo,
    ) -> Result<()> {
        for (i, mapping) in mappings.iter().enumerate() {
            self.line(state, format!("MAPPING {i} {{ ").as_bytes())?;
            state.indent += 1;
            self.property_block(state, "VIRTUAL", |dumper, state| {
                dumper.virtual_selection(state, &mapping.target, info.space.dims())
            })?;
            self.property_block(state, "SOURCE", |dumper, state| {
                dumper.line(state, &[b"FILE \"", &to_bytes(&mapping.file)[..], b"\""].concat())?;
                dumper.line(state, &[b"DATASET \"", &to_bytes(&mapping.dataset)[..], b"\""].concat())?;
                dumper.virtual_selection(state, &mapping.source, &[])
            })?;
            state.indent -= 1;
            self.line(state, b"}")?;
        }
        Ok(())
    }

    fn virtual_selection(
        &mut self,
        state: &mut LineState,
        selection: &Selection,
        dims: &[u64],
    ) -> Result<()> {
        match selection {
            Selection::None => self.line(state, b"SELECTION NONE"),
            Selection::All => self.line(state, b"SELECTION ALL"),
            Selection::Regular(regular) => {
                let axes = regular.axes();
                let list = |get: &dyn Fn(&hyperslab::vol::model::selection::Axis) -> u64| {
                    axes.iter().map(|axis| dim_text(get(axis))).collect::<Vec<_>>().join(",")
                };
                self.line(state, b"SELECTION REGULAR_HYPERSLAB { ")?;
                state.indent += 1;
                self.line(state, format!("START ({})", list(&|a| a.start())).as_bytes())?;
                self.line(state, format!("STRIDE ({})", list(&|a| a.stride())).as_bytes())?;
                self.line(state, format!("COUNT ({})", list(&|a| a.count())).as_bytes())?;
                self.line(state, format!("BLOCK ({})", list(&|a| a.block())).as_bytes())?;
                state.indent -= 1;
                self.line(state, b"}")
            }
            Selection::Points(points) => {
                let text: Vec<String> = points.iter().map(coordinates).collect();
                self.line(state, format!("SELECTION POINT {{ {} }}", text.join(", ")).as_bytes())
            }
            other => {
                let blocks = other.blocks(dims)?;
                let text: Vec<String> =
                    blocks.map(|(a, b)| format!("{}-{}", coordinates(&a), coordinates(&b))).collect();
                self.line(state, b"SELECTION IRREGULAR_HYPERSLAB { ")?;
                state.indent += 1;
                self.line(state, text.join(", ").as_bytes())?;
                state.indent -= 1;
                self.line(state, b"}")
            }
        }
    }

    fn filters(&mut self, state: &mut LineState, filters: &[FilterSpec]) -> Result<()> {
        if filters.is_empty() {
            return self.line(state, b"NONE");
        }
        for filter in filters {
            let value = |i: usize| filter.values.get(i).copied().unwrap_or(0) as i32;
            match filter.id {
                id::DEFLATE => {
                    self.line(state, format!("COMPRESSION DEFLATE {{ LEVEL {} }}", value(0)).as_bytes())?;
                }
                id::SHUFFLE => self.line(state, b"PREPROCESSING SHUFFLE")?,
                id::FLETCHER32 => self.line(state, b"CHECKSUM FLETCHER32")?,
                id::SZIP => self.szip(state, value(0), value(1))?,
                id::NBIT => self.line(state, b"COMPRESSION NBIT")?,
                id::SCALEOFFSET => {
                    self.line(
                        state,
                        format!("COMPRESSION SCALEOFFSET {{ MIN BITS {} }}", value(0)).as_bytes(),
                    )?;
                }
                _ => self.user_filter(state, filter)?,
            }
        }
        Ok(())
    }

    fn szip(&mut self, state: &mut LineState, mask: i32, pixels: i32) -> Result<()> {
        let first =
            |choices: &[(i32, &'static str)]| choices.iter().find(|(bit, _)| mask & bit != 0).map(|c| c.1);
        let lines = [
            Some(format!("PIXELS_PER_BLOCK {pixels}")),
            first(&[(2, "MODE HARDWARE"), (1, "MODE K13")]).map(str::to_owned),
            first(&[(4, "CODING ENTROPY"), (32, "CODING NEAREST NEIGHBOUR")]).map(str::to_owned),
            first(&[(8, "BYTE_ORDER LSB"), (16, "BYTE_ORDER MSB")]).map(str::to_owned),
            first(&[(128, "HEADER RAW")]).map(str::to_owned),
        ];
        self.property_block(state, "COMPRESSION SZIP", |dumper, state| {
            lines.iter().flatten().try_for_each(|line| dumper.line(state, line.as_bytes()))
        })
    }

    fn user_filter(&mut self, state: &mut LineState, filter: &FilterSpec) -> Result<()> {
        self.property_block(state, "USER_DEFINED_FILTER", |dumper, state| {
            dumper.line(state, format!("FILTER_ID {}", filter.id).as_bytes())?;
            if let Some(name) = filter.name.as_deref().filter(|name| !name.is_empty()) {
                dumper.line(state, &[b"COMMENT ", &to_bytes(name)[..]].concat())?;
            }
            if !filter.values.is_empty() {
                // h5dump has space for twenty parameters.
                let values: String =
                    filter.values.iter().take(20).map(|&v| format!("{} ", v as i32)).collect();
                dumper.line(state, format!("PARAMS {{ {values}}}").as_bytes())?;
            }
            Ok(())
        })
    }

    fn fill_value(&mut self, state: &mut LineState, info: &DatasetInfo) -> Result<()> {
        let time = match info.create.fill.time {
            FillTime::Alloc => "H5D_FILL_TIME_ALLOC",
            FillTime::Never => "H5D_FILL_TIME_NEVER",
            FillTime::IfSet => "H5D_FILL_TIME_IFSET",
        };
        self.line(state, format!("FILL_TIME {time}").as_bytes())?;
        let mut text = b"VALUE  ".to_vec();
        match &info.create.fill.value {
            FillValue::Undefined => text.extend_from_slice(b"H5D_FILL_VALUE_UNDEFINED"),
            FillValue::Default => text.extend_from_slice(b"H5D_FILL_VALUE_DEFAULT"),
            FillValue::Value(bytes) => self.fill_text(state, info, bytes, &mut text)?,
        }
        self.line(state, &text)
    }

    fn fill_text(
        &mut self,
        state: &LineState,
        info: &DatasetInfo,
        bytes: &[u8],
        text: &mut Vec<u8>,
    ) -> Result<()> {
        let container = self.container();
        let memory = info.datatype.memory_type();
        let mut heap = Heap::new();
        let element =
            from_file_type(&*container, &info.datatype, bytes, &memory, &Conversions::default(), &mut heap)?;
        let names = self.names();
        let style = self.style(None);
        let printer = Printer { style: &style, values: Values { heap: &heap, references: &names } };
        let mut state = LineState { indent: state.indent - 1, ..state.clone() };
        printer.print(&memory, &element, &mut state, text)
    }
}

fn coordinates(point: impl AsRef<[u64]>) -> String {
    let list: Vec<String> = point.as_ref().iter().map(u64::to_string).collect();
    format!("({})", list.join(","))
}

/// Returns bytes of an element as libhdf5 counts them: variable-length values are pointers of this machine.
fn library_bytes(datatype: &Datatype) -> i64 {
    match datatype {
        Datatype::VarLen(t) if matches!(t.kind, VarLenKind::Sequence(_)) => 16,
        Datatype::VarLen(_) => 8,
        Datatype::Array(t) => {
            t.dims.iter().fold(library_bytes(&t.base), |n, &d| n.saturating_mul(i64::from(d)))
        }
        Datatype::Compound(t) => {
            let grown = t.members.iter().map(|m| library_bytes(&m.datatype) - i64::from(m.datatype.size()));
            i64::from(t.size) + grown.sum::<i64>()
        }
        other => i64::from(other.size()),
    }
}

fn chunked_size(info: &DatasetInfo, storage: &StorageInfo) -> String {
    let elements = info.space.element_count().unwrap_or(0);
    if info.create.filters.is_empty() || info.space.rank() == 0 {
        return format!("SIZE {}", storage.bytes);
    }
    let whole = elements as f64 * library_bytes(&info.datatype) as f64;
    let ratio = if storage.bytes == 0 { 0.0 } else { whole / storage.bytes as f64 };
    format!("SIZE {} ({ratio:.3}:1 COMPRESSION)", storage.bytes)
}

/// Returns the when storage is allocated, with the default of the layout.
pub(crate) fn allocation_time(info: &DatasetInfo) -> AllocTime {
    match (info.create.alloc_time, &info.create.layout) {
        (AllocTime::Default, Storage::Compact) => AllocTime::Early,
        (AllocTime::Default, Storage::Chunked { .. } | Storage::Virtual(_)) => AllocTime::Incremental,
        (AllocTime::Default, _) => AllocTime::Late,
        (time, _) => time,
    }
}

fn allocation_name(info: &DatasetInfo) -> &'static str {
    match allocation_time(info) {
        AllocTime::Early => "H5D_ALLOC_TIME_EARLY",
        AllocTime::Incremental => "H5D_ALLOC_TIME_INCR",
        _ => "H5D_ALLOC_TIME_LATE",
    }
}
