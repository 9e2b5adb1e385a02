//! Verifying a whole container: every object is opened, every attribute and every stored element is read.

mod overlap;

use std::collections::HashSet;

use algorithms::transfer::Elements;
use model::convert::Conversions;
use model::heap::Heap;
use model::properties::Layout;
use model::{
    Charge, Dataspace, Error, Kind, LinkTarget, ObjectKind, ObjectPath, Result, Selection, Token, Within,
};
use vol::{Container, DatasetInfo, OpList, StorageFinding};

/// Bytes of elements read at a time.
const STRIP_BYTES: u64 = 4 << 20;
/// Bytes of chunks read at a time.
const BATCH_BYTES: u64 = 16 << 20;
/// Chunks read at a time at most.
const BATCH_CHUNKS_MAX: u64 = 256;
/// Bytes that are read of data outside of the container.
const OUTSIDE_BYTES_MAX: u64 = 64 << 20;

/// Bytes of memory for an object in a queue or in a set, without its name.
const OBJECT_BYTES: u64 = 192;

/// A problem and its position.
#[derive(Debug, Clone)]
pub struct Finding {
    /// Path of the object.
    pub path: String,
    /// The part of the object.
    pub part: String,
    /// The error.
    pub error: Error,
}

/// The result of a check.
#[derive(Debug, Clone, Default)]
pub struct Report {
    /// Objects opened.
    pub objects: u64,
    /// Attributes read.
    pub attributes: u64,
    /// Links listed.
    pub links: u64,
    /// Bytes of elements read.
    pub bytes: u64,
    /// The problems.
    pub findings: Vec<Finding>,
}

/// Limits of a check.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Check {
    /// Bytes of elements read at most, over the whole container.
    pub bytes_max: u64,
    /// Findings after which it stops.
    pub findings_max: usize,
}

impl Default for Check {
    fn default() -> Self {
        Check { bytes_max: u64::MAX, findings_max: 1000 }
    }
}

impl Check {
    /// Checks a container; `progress` is called for every object, and for the elements of large ones as they are read.
    pub fn run(&self, container: &dyn Container, progress: &mut dyn FnMut(&Report)) -> Report {
        let mut walk = Walk {
            check: self,
            container,
            progress,
            report: Report::default(),
            seen: HashSet::new(),
            queue: Vec::new(),
            charge: container.budget().empty_charge(),
        };
        match container.info() {
            Ok(info) => {
                walk.queue.push((info.root, ObjectPath::root()));
                walk.copied();
            }
            Err(error) => walk.found(&ObjectPath::root(), "container", error),
        }
        while let Some((token, path)) = walk.queue.pop() {
            if walk.report.findings.len() >= self.findings_max {
                break;
            }
            walk.object(token, &path);
            (walk.progress)(&walk.report);
        }
        walk.storage();
        walk.report
    }
}

struct Walk<'a> {
    check: &'a Check,
    container: &'a dyn Container,
    progress: &'a mut dyn FnMut(&Report),
    report: Report,
    seen: HashSet<Token>,
    queue: Vec<(Token, ObjectPath)>,
    /// The charge for objects that were seen and that wait.
    charge: Charge,
}

/// Repairs problems of the storage of a container, if its connector can. Returns what was repaired, and the findings
/// that were not.
///
/// No other caller may write to the container meanwhile.
///
/// # Errors
/// Returns `Unsupported` if the connector repairs nothing, and otherwise the error of the storage.
pub fn repair(container: &dyn Container) -> Result<(Vec<String>, Vec<Finding>)> {
    let (mut repaired, mut left) = (Vec::new(), Vec::new());
    for found in container.storage_repair()? {
        let is_repaired = found.is_repaired;
        let finding = Finding::from(found);
        match is_repaired {
            true => repaired.push(format!("{}: {}: {}", finding.path, finding.part, finding.error)),
            false => left.push(finding),
        }
    }
    Ok((repaired, left))
}

impl From<StorageFinding> for Finding {
    fn from(found: StorageFinding) -> Self {
        let error = Error::corrupt("check storage").with("problem", found.problem);
        Finding { path: found.path, part: found.part, error }
    }
}

impl Walk<'_> {
    /// Adds a finding if a copy to the container did not finish.
    fn copied(&mut self) {
        if vol::unfinished::is_unfinished(self.container).is_ok_and(|unfinished| unfinished) {
            let error =
                Error::corrupt("check container").with("problem", vol::unfinished::UNFINISHED_WARNING);
            self.found(&ObjectPath::root(), "container", error);
        }
    }

    /// Adds the findings of the connector about its storage.
    fn storage(&mut self) {
        match self.container.storage_check() {
            Ok(found) => self.report.findings.extend(found.into_iter().map(Finding::from)),
            Err(error) if error.kind() == Kind::Unsupported => {}
            Err(error) => self.found(&ObjectPath::root(), "storage", error),
        }
    }

    fn found(&mut self, path: &ObjectPath, part: &str, error: Error) {
        self.report.findings.push(Finding { path: path.shown(), part: part.to_owned(), error });
    }

    fn keep<T>(&mut self, path: &ObjectPath, part: &str, result: Result<T>) -> Option<T> {
        result.map_err(|error| self.found(path, part, error)).ok()
    }

    fn object(&mut self, token: Token, path: &ObjectPath) {
        if !self.seen.insert(token) {
            return;
        }
        self.report.objects += 1;
        let info = self.container.object_info(token);
        let Some(info) = self.keep(path, "header", info) else { return };
        self.attributes(token, path);
        match info.kind {
            ObjectKind::Group => self.group(token, path),
            ObjectKind::Dataset => {
                let result = self.dataset(token);
                self.keep(path, "data", result);
            }
            ObjectKind::Datatype => {
                let result = self.container.datatype_get(token);
                self.keep(path, "datatype", result);
            }
            ObjectKind::Map => {
                let result = self.container.map_info(token);
                self.keep(path, "map", result);
            }
        }
    }

    fn group(&mut self, token: Token, path: &ObjectPath) {
        let mut skip = 0;
        loop {
            let page = self.container.link_list(token, &OpList { skip, ..OpList::default() });
            let Some(page) = self.keep(path, "links", page) else { return };
            skip += page.entries.len() as u64;
            self.report.links += page.entries.len() as u64;
            for link in page.entries.into_iter().rev() {
                if let LinkTarget::Hard(target) = link.target
                    && !self.seen.contains(&target)
                {
                    let charged = self.charge_object(&link.name);
                    let Some(()) = self.keep(path, "links", charged) else { return };
                    self.queue.push((target, path.join(&link.name)));
                }
            }
            if !page.more {
                return;
            }
        }
    }

    /// Charges an object that waits, and that is remembered later as seen.
    fn charge_object(&mut self, name: &str) -> Result<()> {
        let bytes = self.charge.bytes() + OBJECT_BYTES + name.len() as u64;
        self.charge.resize(bytes, "list of objects")
    }

    fn attributes(&mut self, token: Token, path: &ObjectPath) {
        let page = self.container.attribute_list(token, &OpList { count_max: u64::MAX, ..OpList::default() });
        let Some(page) = self.keep(path, "attributes", page) else { return };
        for attribute in page.entries {
            self.report.attributes += 1;
            let container = self.container;
            let read = vol::Pin::of(container, &attribute.datatype).and_then(|_pin| {
                let values = container.attribute_read(token, &[&attribute.name])?;
                let (file, memory) = (&attribute.datatype, attribute.datatype.memory_type());
                let raw = values.first().map_or(&[][..], Vec::as_slice);
                let conversions = Conversions::default();
                algorithms::transfer::from_file_type(
                    container,
                    file,
                    raw,
                    &memory,
                    &conversions,
                    &mut Heap::new(),
                )
            });
            self.keep(path, &format!("attribute \"{}\"", attribute.name), read);
        }
    }

    fn dataset(&mut self, token: Token) -> Result<()> {
        let info = self.container.dataset_info(token)?;
        if matches!(info.space, Dataspace::Null) || info.space.element_count()? == 0 {
            return Ok(());
        }
        let storage = self.container.dataset_storage(token)?;
        match &info.create.layout {
            Layout::Chunked { shape, .. } => match self.chunks(token, &info, shape) {
                // A connector that keeps chunks in a way of its own: its elements are there all the same.
                Err(error) if error.kind() == Kind::Unsupported => self.all_elements(token, &info),
                done => done,
            },
            Layout::External(_) | Layout::Virtual(_) => {
                self.elements(token, &info, &Selection::All, OUTSIDE_BYTES_MAX)
            }
            _ if storage.bytes == 0 => Ok(()),
            _ => self.all_elements(token, &info),
        }
    }

    /// Reads the stored elements if the extent is far larger than these, and otherwise all elements.
    fn all_elements(&mut self, token: Token, info: &DatasetInfo) -> Result<()> {
        let Some(stored) = algorithms::stored::sparse(self.container, token, info)? else {
            return self.elements(token, info, &Selection::All, u64::MAX);
        };
        for block in stored.blocks_of(u64::MAX) {
            self.elements(token, info, &block.selection()?, u64::MAX)?;
        }
        Ok(())
    }

    /// Reads chunks that are stored only, because a sparse dataset may have any extent.
    fn chunks(&mut self, token: Token, info: &DatasetInfo, shape: &[u64]) -> Result<()> {
        overlap::check_overlap(self.container, token)?;
        let chunk_bytes = elements_of(shape).saturating_mul(info.datatype.size().into());
        // Together, so that they are decoded on all cores and fetched at once from far away.
        let batch = (BATCH_BYTES / chunk_bytes.max(1)).clamp(1, BATCH_CHUNKS_MAX) as usize;
        let mut skip = 0;
        loop {
            let page = self.container.chunk_list(token, skip, 4096)?;
            skip += page.entries.len() as u64;
            let parts: Vec<_> =
                page.entries.iter().filter_map(|chunk| inside(&chunk.offset, shape, &info.space)).collect();
            parts.chunks(batch).try_for_each(|parts| self.stored(token, info, parts))?;
            if !page.more {
                return Ok(());
            }
        }
    }

    /// Reads some stored chunks, each with the part that is inside of the extent.
    ///
    /// Filters are undone for a whole chunk, however little of it is asked for. So one element stands for all of them,
    /// unless elements lead to values of their own.
    fn stored(&mut self, token: Token, info: &DatasetInfo, parts: &[(&[u64], Vec<u64>)]) -> Result<()> {
        let rank = info.space.dims().len();
        if info.create.filters.is_empty() || info.datatype.has_descriptors() {
            let corners = parts.iter().flat_map(|(offset, part)| {
                let last = offset.iter().zip(part).map(|(offset, part)| offset + (part - 1));
                offset.iter().copied().chain(last).collect::<Vec<_>>()
            });
            let selection = Selection::union_of_blocks(rank, &corners.collect::<Vec<_>>())?;
            return self.elements(token, info, &selection, u64::MAX);
        }
        let firsts = parts.iter().flat_map(|(offset, _)| offset.iter().copied());
        self.elements(token, info, &Selection::points(rank, firsts.collect())?, u64::MAX)?;
        let rest = parts.iter().fold(0u64, |sum, (_, part)| sum.saturating_add(elements_of(part) - 1));
        let rest = rest.saturating_mul(info.datatype.size().into());
        self.report.bytes = self.report.bytes.saturating_add(rest);
        Ok(())
    }

    fn elements(
        &mut self,
        token: Token,
        info: &DatasetInfo,
        selection: &Selection,
        bytes_max: u64,
    ) -> Result<()> {
        let memory = info.datatype.memory_type();
        let element_bytes = u64::from(memory.size().max(1));
        let conversions = Conversions::default();
        let mut left = bytes_max;
        for strip in selection.strips(info.space.dims(), (STRIP_BYTES / element_bytes).max(1))? {
            if left == 0 || self.report.bytes >= self.check.bytes_max {
                return Ok(());
            }
            let elements = Elements {
                container: self.container,
                dataset: token,
                file_type: &info.datatype,
                space: &info.space,
                selection: &strip,
                conversions: &conversions,
                transfer: vol::Transfer::Independent,
            };
            let bytes = elements.count()?.saturating_mul(element_bytes);
            let mut buffer = vec![0; bytes.within(self.check.bytes_max, "element")?];
            elements.read(&memory, &mut buffer, &mut Heap::new())?;
            self.report.bytes += bytes;
            (self.progress)(&self.report);
            left = left.saturating_sub(bytes);
        }
        Ok(())
    }
}

fn elements_of(dims: &[u64]) -> u64 {
    dims.iter().fold(1, |count, dim| count.saturating_mul(*dim))
}

/// Returns where a chunk begins and how much of it is inside of the extent, if anything is.
fn inside<'c>(offset: &'c [u64], shape: &[u64], space: &Dataspace) -> Option<(&'c [u64], Vec<u64>)> {
    let capacity = offset.iter().zip(space.dims()).map(|(o, d)| d.saturating_sub(*o));
    let part: Vec<u64> = capacity.zip(shape).map(|(capacity, c)| capacity.min(*c)).collect();
    (!part.contains(&0)).then_some((offset, part))
}
