//! `stat --json`: what is counted, as one document for other programs.

use std::collections::BTreeMap;
use std::io::{self, Write};

use serde_json::{Map, Value, json};

use super::collect::{Counts, Datasets, FILTERS, FileSpace, Headers, Indexed, Statistics};
use crate::h5::ls::types::describe;

/// Writes the document.
pub(crate) fn print(out: &mut dyn Write, file: &str, found: &Statistics) -> io::Result<()> {
    let value = json!({
        "file": file,
        "bytes": found.file_bytes,
        "metadata_bytes": found.metadata_bytes(),
        "raw_bytes": found.datasets.raw_bytes,
        "groups": { "count": found.groups.each.values().sum::<u64>(), "links": counts(&found.groups),
                    "headers": headers(found.group_headers), "storage": indexed(found.links) },
        "datasets": datasets(&found.datasets),
        "datatypes": { "count": found.datatypes, "headers": headers(found.datatype_headers) },
        "attributes": { "objects": counts(&found.attributes), "storage": indexed(found.attribute_storage) },
        "soft_links": found.soft_links,
        "other_links": found.others,
        "references_max": found.references_max,
        "space": space(&found.space),
    });
    writeln!(out, "{value:#}")
}

/// Returns how often each number occurs.
fn counts(counts: &Counts) -> Value {
    numbered(&counts.each)
}

fn numbered<N: ToString>(counts: &BTreeMap<N, u64>) -> Value {
    counts.iter().map(|(number, count)| (number.to_string(), json!(count))).collect::<Map<_, _>>().into()
}

fn headers(headers: Headers) -> Value {
    json!({ "bytes": headers.total, "unused_bytes": headers.unused })
}

fn indexed(storage: Indexed) -> Value {
    json!({ "index_bytes": storage.index, "heap_bytes": storage.heap })
}

fn datasets(found: &Datasets) -> Value {
    let [compact, contiguous, chunked, virtual_layout] = found.layouts;
    let types = found.types.iter().map(|one| {
        json!({ "type": describe(&one.datatype, 0, true), "count": one.count, "committed": one.committed })
    });
    json!({
        "count": found.count,
        "raw_bytes": found.raw_bytes,
        "external_bytes": found.external_bytes,
        "external_files": found.external_files,
        "headers": headers(found.headers),
        "storage": indexed(found.storage),
        "ranks": numbered(&found.ranks),
        "one_dimension": counts(&found.dims),
        "layouts": { "compact": compact, "contiguous": contiguous, "chunked": chunked, "virtual": virtual_layout },
        "filters": filters(&found.filters),
        "types": types.collect::<Vec<Value>>(),
    })
}

/// Returns how many datasets have each filter. A dataset with several counts for each.
fn filters(found: &[u64; FILTERS]) -> Value {
    let names = ["none", "deflate", "shuffle", "fletcher32", "szip", "nbit", "scaleoffset", "others"];
    names
        .iter()
        .zip(found)
        .map(|(name, count)| ((*name).to_owned(), json!(count)))
        .collect::<Map<_, _>>()
        .into()
}

fn space(space: &FileSpace) -> Value {
    json!({
        "superblock_bytes": space.superblock,
        "extension_bytes": space.extension,
        "shared_table_bytes": space.shared_table,
        "shared": indexed(space.shared),
        "managers_bytes": space.managers,
        "free_bytes": space.free,
        "free_sections": counts(&space.sections),
    })
}
