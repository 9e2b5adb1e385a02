//! Creation properties of a dataset, from a script.

use std::collections::BTreeMap;

use filters::names;
use model::convert::Conversions;
use model::properties::{AllocTime, DatasetCreate, Fill, FillTime, FillValue, FilterSpec, Layout};
use model::{Datatype, Error, Result};
use vol::{Container, LibVersion};

use crate::apply::{object, order};
use crate::values::Packer;
use crate::words::{Node, argument};

fn unknown(what: &'static str, found: &str) -> Error {
    Error::unsupported("read script").with(what, found)
}

/// A version bound by name.
pub(crate) fn version(name: &str) -> Result<LibVersion> {
    Ok(match name {
        "earliest" => LibVersion::Earliest,
        "v18" => LibVersion::V18,
        "v110" => LibVersion::V110,
        "v112" => LibVersion::V112,
        "v114" => LibVersion::V114,
        "v200" => LibVersion::V200,
        other => return Err(unknown("version", other)),
    })
}

/// Elements without references from the common form to a container's own.
pub(crate) fn to_file_datatype(
    container: &dyn Container,
    file_type: &Datatype,
    data: &[u8],
) -> Result<Vec<u8>> {
    let find = |path: &str| vol::path::token(container, container.info()?.root, path, 0);
    let memory = file_type.memory_type();
    let mut packer = Packer::new(data, &find);
    let elements = packer.elements(&memory)?;
    let conversions = Conversions::default();
    algorithms::transfer::to_file_type(
        container,
        &memory,
        &elements,
        file_type,
        &conversions,
        &mut packer.heap,
    )
}

/// The properties that a script gives.
pub(crate) fn dataset(
    options: &BTreeMap<&str, &[Node]>,
    container: &dyn Container,
    datatype: &Datatype,
) -> Result<DatasetCreate> {
    let option = |name: &str| {
        let value = options.get(name).and_then(|values| values.first());
        value.ok_or_else(|| unknown("missing property", name))
    };
    let layout = layout(option("layout")?)?;
    let fill = fill(option("fill")?, container, datatype)?;
    let filters = option("filters")?.list()?.iter().map(filter).collect::<Result<_>>()?;
    let time = match argument(option("fill-time")?.list()?, 0)?.word()? {
        "alloc" => FillTime::Alloc,
        "never" => FillTime::Never,
        _ => FillTime::IfSet,
    };
    let alloc_time = match argument(option("alloc")?.list()?, 0)?.word()? {
        "early" => AllocTime::Early,
        "late" => AllocTime::Late,
        _ => AllocTime::Incremental,
    };
    let object = object(order(option("attribute-order")?)?);
    Ok(DatasetCreate { object, layout, filters, fill: Fill { value: fill, time }, alloc_time })
}

fn layout(node: &Node) -> Result<Layout> {
    let (kind, args) = node.call()?;
    match kind {
        "compact" => Ok(Layout::Compact),
        "contiguous" => Ok(Layout::Contiguous),
        "chunked" => Ok(Layout::chunked(&argument(args, 0)?.numbers::<u64>()?)),
        other => Err(unknown("layout", other)),
    }
}

fn fill(node: &Node, container: &dyn Container, datatype: &Datatype) -> Result<FillValue> {
    let (kind, args) = node.call()?;
    Ok(match kind {
        "undefined" => FillValue::Undefined,
        "default" => FillValue::Default,
        _ => {
            let file_type = datatype.with_descriptors(&container.info()?.descriptors);
            FillValue::Value(to_file_datatype(container, &file_type, &argument(args, 0)?.bytes()?)?)
        }
    })
}

fn filter(node: &Node) -> Result<FilterSpec> {
    let (name, args) = node.call()?;
    let values = args.iter().map(Node::number).collect::<Result<_>>()?;
    let id = names::by_name(name).ok_or_else(|| unknown("filter", name))?.id;
    Ok(FilterSpec { id, name: None, optional: id != names::id::FLETCHER32, values })
}
