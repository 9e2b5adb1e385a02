//! Output of the counts, in h5stat's words.

use std::io::{self, Write};

use hyperslab::filter_names;
use hyperslab::vol::model::properties::SpaceStrategy;

use super::collect::{Counts, Statistics};
use super::options::{Options, Section};
use crate::h5::ls::types::in_memory;

/// Free sections below this many bytes are small.
const SECTION_BYTES_SMALL: u64 = 10;

/// Prints the parts that the user asked for.
pub(crate) fn print(out: &mut dyn Write, found: &Statistics, options: &Options) -> io::Result<()> {
    type Printer = fn(&mut dyn Write, &Statistics, &Options) -> io::Result<()>;
    let parts: [(Section, Printer); 10] = [
        (Section::File, file),
        (Section::FileMetadata, file_metadata),
        (Section::Groups, groups),
        (Section::GroupMetadata, group_metadata),
        (Section::Datasets, datasets),
        (Section::Datatypes, datatypes),
        (Section::DatasetMetadata, dataset_metadata),
        (Section::Attributes, attributes),
        (Section::FreeSpace, free_space),
        (Section::Summary, summary),
    ];
    let wanted = parts.into_iter().filter(|(part, _)| options.shows(*part));
    wanted.into_iter().try_for_each(|(_, printer)| printer(out, found, options))
}

fn file(out: &mut dyn Write, found: &Statistics, _: &Options) -> io::Result<()> {
    writeln!(out, "File information")?;
    writeln!(out, "\t# of unique groups: {}", total(&found.groups))?;
    writeln!(out, "\t# of unique datasets: {}", found.datasets.count)?;
    writeln!(out, "\t# of unique named datatypes: {}", found.datatypes)?;
    writeln!(out, "\t# of unique links: {}", found.soft_links)?;
    writeln!(out, "\t# of unique other: {}", found.others)?;
    writeln!(out, "\tMax. # of links to object: {}", found.references_max)?;
    writeln!(out, "\tMax. # of objects in group: {}", found.groups.max())
}

fn file_metadata(out: &mut dyn Write, found: &Statistics, _: &Options) -> io::Result<()> {
    let (space, datasets) = (&found.space, &found.datasets);
    writeln!(out, "File space information for file metadata (in bytes):")?;
    writeln!(out, "\tSuperblock: {}", space.superblock)?;
    writeln!(out, "\tSuperblock extension: {}", space.extension)?;
    writeln!(out, "\tUser block: {}", found.create.userblock_bytes)?;
    writeln!(out, "\tObject headers: (total/unused)")?;
    let headers = [
        ("Groups", found.group_headers),
        ("Datasets(exclude compact data)", datasets.headers),
        ("Datatypes", found.datatype_headers),
    ];
    for (name, header) in headers {
        writeln!(out, "\t\t{name}: {}/{}", header.total, header.unused)?;
    }
    for (name, storage) in [("Groups", found.links), ("Attributes", found.attribute_storage)] {
        writeln!(out, "\t{name}:\n\t\tB-tree/List: {}\n\t\tHeap: {}", storage.index, storage.heap)?;
    }
    writeln!(out, "\tChunked datasets:\n\t\tIndex: {}", datasets.storage.index)?;
    writeln!(out, "\tDatasets:\n\t\tHeap: {}", datasets.storage.heap)?;
    writeln!(out, "\tShared Messages:\n\t\tHeader: {}", space.shared_table)?;
    writeln!(out, "\t\tB-tree/List: {}\n\t\tHeap: {}", space.shared.index, space.shared.heap)?;
    writeln!(out, "\tFree-space managers:\n\t\tHeader: {}", space.managers)?;
    writeln!(out, "\t\tAmount of free space: {}", space.free)
}

fn groups(out: &mut dyn Write, found: &Statistics, options: &Options) -> io::Result<()> {
    writeln!(out, "Small groups (with 0 to {} links):", options.links_small - 1)?;
    let line = |n: u64, count: u64| format!("\t# of groups with {n} link(s): {count}\n");
    let small = each(out, &found.groups, 0..options.links_small, line)?;
    writeln!(out, "\tTotal # of small groups: {small}")?;
    writeln!(out, "Group bins:")?;
    let bins = bins(&found.groups, "\t# of groups with ", |from, to| match to {
        0 => "0 link".to_owned(),
        _ => format!("{from} - {to} links"),
    });
    writeln!(out, "{bins}\tTotal # of groups: {}", total(&found.groups))
}

fn group_metadata(out: &mut dyn Write, found: &Statistics, _: &Options) -> io::Result<()> {
    let (headers, links) = (found.group_headers, found.links);
    writeln!(out, "File space information for groups' metadata (in bytes):")?;
    writeln!(out, "\tObject headers (total/unused): {}/{}", headers.total, headers.unused)?;
    writeln!(out, "\tB-tree/List: {}\n\tHeap: {}", links.index, links.heap)
}

fn datasets(out: &mut dyn Write, found: &Statistics, options: &Options) -> io::Result<()> {
    let datasets = &found.datasets;
    if datasets.count == 0 {
        return Ok(());
    }
    writeln!(out, "Dataset dimension information:")?;
    writeln!(out, "\tMax. rank of datasets: {}", datasets.ranks.keys().next_back().unwrap_or(&0))?;
    writeln!(out, "\tDataset ranks:")?;
    for (rank, count) in &datasets.ranks {
        writeln!(out, "\t\t# of dataset with rank {rank}: {count}")?;
    }
    dataset_dims(out, &datasets.dims, options.dims_small)?;
    writeln!(out, "Dataset storage information:")?;
    writeln!(out, "\tTotal raw data size: {}", datasets.raw_bytes)?;
    writeln!(out, "\tTotal external raw data size: {}", datasets.external_bytes)?;
    writeln!(out, "Dataset layout information:")?;
    for (name, count) in ["COMPACT", "CONTIG", "CHUNKED", "VIRTUAL"].iter().zip(datasets.layouts) {
        writeln!(out, "\tDataset layout counts[{name}]: {count}")?;
    }
    writeln!(out, "\tNumber of external files : {}", datasets.external_files)?;
    writeln!(out, "Dataset filters information:\n\tNumber of datasets with:")?;
    for (column, count) in datasets.filters.iter().enumerate() {
        writeln!(out, "\t\t{} filter: {count}", filter_column(column as u16))?;
    }
    Ok(())
}

/// Returns h5stat's name for a column of the filter counts: that of a filter of libhdf5, or of those without and with others.
fn filter_column(column: u16) -> String {
    match (column, filter_names::standard_name(column)) {
        (0, _) => "NO".to_owned(),
        (filter_names::id::DEFLATE, _) => "GZIP".to_owned(),
        (_, Some(name)) => name.to_uppercase(),
        (_, None) => "USER-DEFINED".to_owned(),
    }
}

fn dataset_dims(out: &mut dyn Write, dims: &Counts, small: u64) -> io::Result<()> {
    writeln!(out, "1-D Dataset information:")?;
    writeln!(out, "\tMax. dimension size of 1-D datasets: {}", dims.max())?;
    writeln!(out, "\tSmall 1-D datasets (with dimension sizes 0 to {}):", small - 1)?;
    let line = |n: u64, count: u64| format!("\t\t# of datasets with dimension sizes {n}: {count}\n");
    let count = each(out, dims, 0..small, line)?;
    writeln!(out, "\t\tTotal # of small datasets: {count}")?;
    if dims.each.is_empty() {
        return Ok(());
    }
    let bins = bins(dims, "\t\t# of datasets with dimension size ", |from, to| match to {
        0 => "0".to_owned(),
        _ => format!("{from} - {to}"),
    });
    writeln!(out, "\t1-D Dataset dimension bins:\n{bins}\t\tTotal # of datasets: {}", total(dims))
}

fn datatypes(out: &mut dyn Write, found: &Statistics, _: &Options) -> io::Result<()> {
    let types = &found.datasets.types;
    if types.is_empty() {
        return Ok(());
    }
    writeln!(out, "Dataset datatype information:")?;
    writeln!(out, "\t# of unique datatypes used by datasets: {}", types.len())?;
    for (number, one) in types.iter().enumerate() {
        let element_bytes = in_memory(&one.datatype).size();
        writeln!(out, "\tDataset datatype #{number}:")?;
        writeln!(out, "\t\tCount (total/named) = ({}/{})", one.count, one.committed)?;
        writeln!(out, "\t\tSize (desc./elmt) = ({}/{element_bytes})", one.encoded_bytes)?;
    }
    let count: u64 = types.iter().map(|one| one.count).sum();
    writeln!(out, "\tTotal dataset datatype count: {count}")
}

fn dataset_metadata(out: &mut dyn Write, found: &Statistics, _: &Options) -> io::Result<()> {
    let (headers, storage) = (found.datasets.headers, found.datasets.storage);
    writeln!(out, "File space information for datasets' metadata (in bytes):")?;
    writeln!(out, "\tObject headers (total/unused): {}/{}", headers.total, headers.unused)?;
    writeln!(out, "\tIndex for Chunked datasets: {}\n\tHeap: {}", storage.index, storage.heap)
}

fn attributes(out: &mut dyn Write, found: &Statistics, options: &Options) -> io::Result<()> {
    let small = options.attributes_small;
    writeln!(out, "Small # of attributes (objects with 1 to {small} attributes):")?;
    let line = |n: u64, count: u64| format!("\t# of objects with {n} attributes: {count}\n");
    let count = each(out, &found.attributes, 1..small.saturating_add(1), line)?;
    writeln!(out, "\tTotal # of objects with small # of attributes: {count}")?;
    let mut with_any = found.attributes.clone();
    with_any.each.remove(&0);
    with_any.digits.remove(&0);
    let bins = bins(&with_any, "\t# of objects with ", |from, to| format!("{from} - {to} attributes"));
    writeln!(out, "Attribute bins:\n{bins}\tTotal # of objects with attributes: {}", total(&with_any))?;
    writeln!(out, "\tMax. # of attributes to objects: {}", found.attributes.max())
}

fn free_space(out: &mut dyn Write, found: &Statistics, _: &Options) -> io::Result<()> {
    let sections = &found.space.sections;
    let persist = if found.create.space_persist { "TRUE" } else { "FALSE" };
    writeln!(out, "Free-space persist: {persist}")?;
    writeln!(out, "Free-space section threshold: {} bytes", found.create.space_threshold)?;
    writeln!(out, "Small size free-space sections (< {SECTION_BYTES_SMALL} bytes):")?;
    let line = |n: u64, count: u64| format!("\t# of sections of size {n}: {count}\n");
    let small = each(out, sections, 0..SECTION_BYTES_SMALL, line)?;
    writeln!(out, "\tTotal # of small size sections: {small}")?;
    let bins = bins(sections, "\t# of sections of size ", |from, to| format!("{from} - {to}"));
    writeln!(out, "Free-space section bins:\n{bins}\tTotal # of sections: {}", total(sections))
}

fn summary(out: &mut dyn Write, found: &Statistics, _: &Options) -> io::Result<()> {
    let (metadata, raw, free) = (found.metadata_bytes(), found.datasets.raw_bytes, found.space.free);
    let strategy = match found.create.space_strategy {
        SpaceStrategy::FsmAggregate => "FSM_AGGR",
        SpaceStrategy::Page => "PAGE",
        SpaceStrategy::Aggregate => "AGGR",
        SpaceStrategy::None => "NONE",
    };
    writeln!(out, "File space management strategy: H5F_FSPACE_STRATEGY_{strategy}")?;
    writeln!(out, "File space page size: {} bytes", found.create.page_bytes)?;
    writeln!(out, "Summary of file space information:")?;
    writeln!(out, "  File metadata: {metadata} bytes\n  Raw data: {raw} bytes")?;
    let percent = free as f64 / found.file_bytes as f64 * 100.0;
    writeln!(out, "  Amount/Percent of tracked free space: {free} bytes/{percent:3.1}%")?;
    let known = metadata.wrapping_add(raw).wrapping_add(free);
    let rest = match found.file_bytes.checked_sub(known) {
        Some(rest) => {
            writeln!(out, "  Unaccounted space: {rest} bytes")?;
            rest
        }
        None => {
            let more = known - found.file_bytes;
            writeln!(out, "  ??? File has {more} more bytes accounted for than its size! ???")?;
            more
        }
    };
    writeln!(out, "Total space: {} bytes", known.wrapping_add(rest))?;
    if found.datasets.external_files > 0 {
        writeln!(out, "External raw data: {} bytes", found.datasets.external_bytes)?;
    }
    Ok(())
}

fn total(counts: &Counts) -> u64 {
    counts.each.values().sum()
}

/// Returns a line for each number in a range that occurs; returns how often they do.
fn each(
    out: &mut dyn Write,
    counts: &Counts,
    range: std::ops::Range<u64>,
    line: impl Fn(u64, u64) -> String,
) -> io::Result<u64> {
    let mut total = 0;
    for (&number, &count) in counts.each.range(range) {
        out.write_all(line(number, count).as_bytes())?;
        total += count;
    }
    Ok(total)
}

/// Returns a line for each power of ten that occurs.
fn bins(counts: &Counts, head: &str, range: impl Fn(u128, u128) -> String) -> String {
    let line = |(&digits, count): (&u32, &u64)| {
        let end = 10u128.pow(digits);
        format!("{head}{}: {count}\n", range(end / 10, end - 1))
    };
    counts.digits.iter().map(line).collect()
}
