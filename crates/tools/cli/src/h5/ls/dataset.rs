//! The info of a dataset: extent, layout, storage, filters, type.

use std::fmt::Write;

use hyperslab::filter_names::standard_name;
use hyperslab::vol::DatasetInfo;
use hyperslab::vol::model::dataspace::UNLIMITED;
use hyperslab::vol::model::datatype::{VarLen, VarLenKind};
use hyperslab::vol::model::properties::{ExternalFile, FilterSpec, Layout, VirtualMapping};
use hyperslab::vol::model::text::to_bytes;
use hyperslab::{Dataspace, Datatype, Result, Token};

use super::escape::escape;
use super::source::ObjectAt;
use super::types;

/// The longest name of an external file that h5ls asks for, with its end.
const EXTERNAL_NAME_BYTES: usize = 256;

/// Returns the extent, as it stands behind the name.
pub(crate) fn extent(space: &Dataspace, verbose: bool) -> String {
    match space {
        Dataspace::Null => " {NULL}".to_owned(),
        Dataspace::Scalar => " {SCALAR}".to_owned(),
        Dataspace::Simple(_) => {
            let dims = space.dims().iter().zip(space.max_dims());
            let dims: Vec<String> = dims.map(|(&dim, &max)| dimension(dim, max, verbose)).collect();
            format!(" {{{}}}", dims.join(", "))
        }
    }
}

fn dimension(dim: u64, max: u64, verbose: bool) -> String {
    match max {
        UNLIMITED => format!("{dim}/Inf"),
        max if max != dim || verbose => format!("{dim}/{max}"),
        _ => dim.to_string(),
    }
}

/// Returns the lines about layout, storage, filters and type.
pub(crate) fn details(place: &ObjectAt, info: &DatasetInfo, simple: bool) -> Result<Vec<u8>> {
    let datatype = types::in_memory(&info.datatype);
    let mut out = layout(info, &datatype);
    out.extend_from_slice(storage(place, info, &datatype)?.as_bytes());
    for (number, filter) in info.create.filters.iter().enumerate() {
        out.extend_from_slice(&filter_line(number, filter));
    }
    out.extend_from_slice(type_line(place, &datatype, info.committed.map(Token::to_u64), simple).as_bytes());
    Ok(out)
}

/// Returns the type of a dataset or of a committed datatype.
pub(crate) fn type_line(
    place: &ObjectAt,
    datatype: &Datatype,
    committed: Option<u64>,
    simple: bool,
) -> String {
    format!("    Type:      {}\n", shared_type(place, datatype, committed, simple))
}

/// Returns a type, and where it is shared from.
pub(crate) fn shared_type(
    place: &ObjectAt,
    datatype: &Datatype,
    committed: Option<u64>,
    simple: bool,
) -> String {
    let shared = committed.map_or_else(String::new, |at| format!("shared-{}:{at} ", place.source.number));
    shared + &types::describe(datatype, 15, simple)
}

fn layout(info: &DatasetInfo, datatype: &Datatype) -> Vec<u8> {
    match &info.create.layout {
        Layout::Chunked { shape, .. } => {
            let bytes = shape.iter().fold(u64::from(datatype.size()), |n, &d| n.wrapping_mul(d));
            let shape: Vec<String> = shape.iter().map(u64::to_string).collect();
            format!("    Chunks:    {{{}}} {bytes} bytes\n", shape.join(", ")).into_bytes()
        }
        Layout::External(files) if !files.is_empty() => external(files).into_bytes(),
        Layout::Virtual(mappings) if !mappings.is_empty() => virtual_maps(mappings).into_bytes(),
        _ => Vec::new(),
    }
}

fn external(files: &[ExternalFile]) -> String {
    let names: Vec<String> = files.iter().map(|f| external_name(&f.name)).collect();
    let width = names.iter().map(String::len).max().unwrap_or(0);
    let rule = format!("        ---- ---------- ---------- ---------- {}\n", "-".repeat(width));
    let plural = if files.len() == 1 { "" } else { "s" };
    let mut out = format!("    Extern:    {} external file{plural}\n", files.len());
    out.push_str("          ID  DSet-Addr  File-Addr      Bytes File\n");
    out.push_str(&rule);
    let mut at = 0u64;
    for (i, (file, name)) in files.iter().zip(names).enumerate() {
        let bytes = if file.size == u64::MAX { "INF".to_owned() } else { file.size.to_string() };
        // Writing to a string cannot fail.
        _ = writeln!(out, "        #{i:03} {at:10} {:10} {bytes:>10} {name}", file.offset);
        at = at.wrapping_add(file.size);
    }
    out + &rule
}

fn external_name(name: &str) -> String {
    let end = name.char_indices().nth(EXTERNAL_NAME_BYTES - 1).map_or(name.len(), |(at, _)| at);
    escape(&name[..end], true)
}

fn virtual_maps(mappings: &[VirtualMapping]) -> String {
    let mut out = format!("    Maps:      {{{}}} Source {{\n", mappings.len());
    for mapping in mappings {
        let (file, dataset) = (escape(&mapping.file, true), escape(&mapping.dataset, true));
        _ = writeln!(out, "{:22}{file}   {dataset}", "");
    }
    out + "               }\n"
}

fn storage(place: &ObjectAt, info: &DatasetInfo, datatype: &Datatype) -> Result<String> {
    // h5ls counts nothing where the index cannot be read.
    let used = place.container().dataset_storage(place.token).map_or(0, |storage| storage.bytes);
    let text = match datatype {
        Datatype::VarLen(VarLen { kind: VarLenKind::Sequence(_), .. }) => {
            "information not available".to_owned()
        }
        Datatype::Reference(_) => "information not available".to_owned(),
        _ => bytes_line(info.space.element_count()?.wrapping_mul(datatype.size().into()), used),
    };
    Ok(format!("    Storage:   {text}\n"))
}

fn bytes_line(logical: u64, used: u64) -> String {
    let s = |n: u64| if n == 1 { "" } else { "s" };
    let mut text = format!("{logical} logical byte{}, {used} allocated byte{}", s(logical), s(used));
    if used > 0 {
        _ = write!(text, ", {:.2}% utilization", logical as f64 * 100.0 / used as f64);
    }
    text
}

fn filter_line(number: usize, filter: &FilterSpec) -> Vec<u8> {
    let label = format!("Filter-{number}:");
    let stored = filter.name.as_deref().filter(|name| !name.is_empty());
    let name = stored.or_else(|| standard_name(filter.id)).unwrap_or("method");
    let values: Vec<String> = filter.values.iter().map(u32::to_string).collect();
    let optional = if filter.optional { "OPT" } else { "" };
    let mut line = format!("    {label:<10} ").into_bytes();
    line.extend_from_slice(&to_bytes(name));
    line.extend_from_slice(format!("-{} {optional} {{{}}}\n", filter.id, values.join(", ")).as_bytes());
    line
}

/// Returns where the raw data is: of each chunk, or of the whole.
pub(crate) fn addresses(place: &ObjectAt, info: &DatasetInfo) -> Result<String> {
    match &info.create.layout {
        Layout::Contiguous | Layout::External(_) => {
            let offset = place.container().dataset_storage(place.token)?.offset;
            let address = offset.map_or(u64::MAX, |at| at.saturating_sub(place.source.userblock_bytes));
            Ok(format!("    Address:   {address}\n"))
        }
        Layout::Chunked { .. } => chunk_addresses(place),
        _ => Ok(String::new()),
    }
}

fn chunk_addresses(place: &ObjectAt) -> Result<String> {
    let index = place.container().dataset_storage(place.token)?.index_address;
    let index = index.map_or(u64::MAX, |at| at.saturating_sub(place.source.userblock_bytes));
    let mut out = format!("    Address: {index}\n");
    out.push_str("           Flags    Bytes     Address          Logical Offset\n");
    out.push_str("        ========== ======== ========== ==============================\n");
    let mut skip = 0;
    loop {
        let page = place.container().chunk_list(place.token, skip, 4096)?;
        skip += page.entries.len() as u64;
        for chunk in &page.entries {
            let offset: String = chunk.offset.iter().map(|n| format!("{n}, ")).collect();
            let address =
                chunk.address.map_or(u64::MAX, |at| at.saturating_sub(place.source.userblock_bytes));
            // The last number is the offset inside the element, which is always zero.
            _ = writeln!(
                out,
                "        {:#010x} {:8} {address:10} [{offset}0]",
                chunk.filter_mask, chunk.bytes
            );
        }
        if !page.more || page.entries.is_empty() {
            return Ok(out);
        }
    }
}
