//! An estimate of the work, from one quick walk over objects that reads headers and indexes only.

use std::collections::HashSet;

use hyperslab::vol::model::properties::Layout;
use hyperslab::vol::{Allocation, Container, DatasetInfo, OpList};
use hyperslab::{LinkTarget, ObjectKind, Result, Token};

use crate::common::is_stopped;
use crate::settings::registry;

/// Objects after which a walk is no longer quick.
const OBJECTS_MAX: u64 = 20_000;
/// Chunks of one dataset that are looked at for the same reason.
const CHUNKS_MAX: u64 = 100_000;
/// Chunks that are listed at a time.
const CHUNKS_PER_PAGE: u64 = 4096;

/// Objects, and bytes of their elements.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Total {
    pub(crate) objects: u64,
    pub(crate) bytes: u64,
}

impl Total {
    pub(crate) fn plus(self, more: Total) -> Total {
        Total {
            objects: self.objects.saturating_add(more.objects),
            bytes: self.bytes.saturating_add(more.bytes),
        }
    }
}

/// The form in which elements are counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Measure {
    /// As chunks are stored, where they are copied as they are.
    Stored,
    /// Without their filters.
    Decoded,
}

/// Returns whether a walk over the container at a location costs little: not far away, but at a path of this machine.
pub(crate) fn is_near(location: &str) -> bool {
    matches!(registry().path_of(location), Ok(Some(_)))
}

/// Returns how much an object holds, with all that is below it; `None` where that is too much to count, cannot be read, or the
/// command shall end.
pub(crate) fn count(container: &dyn Container, from: Token, measure: Measure) -> Option<Total> {
    let mut walk = Walk {
        container,
        measure,
        seen: HashSet::from([from]),
        waiting: vec![from],
        total: Total::default(),
    };
    while let Some(token) = walk.waiting.pop() {
        if is_stopped() || walk.seen.len() as u64 > OBJECTS_MAX {
            return None;
        }
        walk.object(token).ok()?;
    }
    Some(walk.total)
}

struct Walk<'a> {
    container: &'a dyn Container,
    measure: Measure,
    seen: HashSet<Token>,
    waiting: Vec<Token>,
    total: Total,
}

impl Walk<'_> {
    fn object(&mut self, token: Token) -> Result<()> {
        let bytes = match self.container.object_info(token)?.kind {
            ObjectKind::Dataset => dataset_bytes(self.container, token, self.measure)?,
            ObjectKind::Group => self.group(token).map(|()| 0)?,
            ObjectKind::Datatype | ObjectKind::Map => 0,
        };
        self.total = self.total.plus(Total { objects: 1, bytes });
        Ok(())
    }

    fn group(&mut self, token: Token) -> Result<()> {
        let (mut skip, mut more) = (0, true);
        while more && self.seen.len() as u64 <= OBJECTS_MAX {
            let page = self.container.link_list(token, &OpList { skip, ..OpList::default() })?;
            skip += page.entries.len() as u64;
            more = page.more && !page.entries.is_empty();
            let hard = page.entries.into_iter().filter_map(|link| match link.target {
                LinkTarget::Hard(target) => Some(target),
                _ => None,
            });
            self.waiting.extend(hard.filter(|target| self.seen.insert(*target)));
        }
        Ok(())
    }
}

/// Returns the bytes of a dataset's elements that are stored in the container itself.
///
/// # Errors
/// Returns the error of reading its header or the index of its chunks.
pub(crate) fn dataset_bytes(container: &dyn Container, dataset: Token, measure: Measure) -> Result<u64> {
    let info = container.dataset_info(dataset)?;
    let storage = container.dataset_storage(dataset)?;
    let all = info.space.element_count()?.saturating_mul(u64::from(info.datatype.size()));
    Ok(match &info.create.layout {
        Layout::External(_) | Layout::Virtual(_) => 0,
        _ if storage.allocation == Allocation::None => 0,
        Layout::Chunked { .. } if measure == Measure::Stored && has_plain_elements(&info) => storage.bytes,
        Layout::Chunked { shape, .. } if storage.allocation == Allocation::Part => {
            chunks_bytes(container, dataset, &info, shape)?.min(all)
        }
        _ => all,
    })
}

fn has_plain_elements(info: &DatasetInfo) -> bool {
    !info.datatype.has_descriptors()
}

/// Returns the bytes of the chunks that are stored, without their filters and without what is outside of the extent.
fn chunks_bytes(container: &dyn Container, dataset: Token, info: &DatasetInfo, shape: &[u64]) -> Result<u64> {
    let (mut elements, mut listed, mut more) = (0u64, 0, true);
    while more && listed < CHUNKS_MAX {
        let page = container.chunk_list(dataset, listed, CHUNKS_PER_PAGE)?;
        listed += page.entries.len() as u64;
        more = page.more && !page.entries.is_empty();
        for chunk in &page.entries {
            let within = chunk.offset.iter().zip(info.space.dims()).zip(shape);
            let within = within.map(|((start, dim), len)| dim.saturating_sub(*start).min(*len));
            elements = elements.saturating_add(within.fold(1, u64::saturating_mul));
        }
    }
    Ok(elements.saturating_mul(u64::from(info.datatype.size())))
}

#[cfg(test)]
mod tests {
    use hyperslab::check::Check;
    use hyperslab::vol::algorithms::copy::{CopyContext, contents};
    use hyperslab::vol::{FileAccess, Registry};
    use hyperslab::{File, Limits, s};

    use super::*;

    /// Layouts of every kind, with a dataset that has two names, one of which half is stored, and one of which nothing is.
    fn sample() -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        let file = File::create(folder.path().join("a.h5")).unwrap();
        let numbers: Vec<i32> = (0..6000).collect();
        let plain = file.new_dataset::<i32>().shape([60, 100]).create("g/plain").unwrap();
        plain.write_raw(&numbers).unwrap();
        file.link_hard("g/plain", "again").unwrap();
        let packed = file.new_dataset::<i32>().shape([60, 100]).chunk([7, 100]).shuffle().deflate(6);
        packed.create("g/packed").unwrap().write_raw(&numbers).unwrap();
        let half =
            file.new_dataset::<f64>().shape([64, 10]).chunk([8, 10]).deflate(1).create("half").unwrap();
        half.write_slice(&ndarray::Array2::<f64>::ones((32, 10)), s![0..32, ..]).unwrap();
        file.new_dataset::<f64>().shape([1000]).create("nothing").unwrap();
        file.close().unwrap();
        folder
    }

    fn open(path: &std::path::Path, access: &FileAccess) -> std::sync::Arc<dyn Container> {
        let registry: Registry = hyperslab::registry();
        registry.open(&path.to_string_lossy(), access).unwrap()
    }

    #[test]
    fn the_total_is_what_a_check_reads() {
        let folder = sample();
        let container = open(&folder.path().join("a.h5"), &FileAccess::read());
        let root = container.info().unwrap().root;
        let report = Check::default().run(&*container, &mut |_| {});
        let read = Total { objects: report.objects, bytes: report.bytes };
        assert_eq!(count(&*container, root, Measure::Decoded), Some(read));
        assert_eq!(read, Total { objects: 6, bytes: 24_000 + 24_000 + 32 * 10 * 8 });
    }

    #[test]
    fn the_total_is_what_a_copy_copies() {
        let folder = sample();
        let container = open(&folder.path().join("a.h5"), &FileAccess::read());
        let registry = hyperslab::registry();
        let target = folder.path().join("b.h5").to_string_lossy().into_owned();
        let target = registry.create(&target, &Default::default(), &FileAccess::write(), true).unwrap();
        let (limits, last) = (Limits::default(), std::cell::Cell::new(Total::default()));
        let tell = |now: hyperslab::vol::algorithms::copy::Progress| {
            last.set(Total { objects: now.objects, bytes: now.bytes });
            Ok(())
        };
        contents(&*container, &*target, CopyContext { tell: Some(&tell), ..CopyContext::new(&limits) })
            .unwrap();
        let counted = count(&*container, container.info().unwrap().root, Measure::Stored).unwrap();
        // The root group is there before the copy.
        assert_eq!(last.get(), Total { objects: counted.objects - 1, ..counted });
        assert!(counted.bytes < 24_000 + 24_000 + 32 * 10 * 8, "chunks are counted as they are stored");
    }

    #[test]
    fn many_objects_are_not_counted() {
        let folder = tempfile::tempdir().unwrap();
        let file = File::create(folder.path().join("a.h5")).unwrap();
        for number in 0..OBJECTS_MAX + 2 {
            file.create_group(&format!("{number}")).unwrap();
        }
        file.close().unwrap();
        let container = open(&folder.path().join("a.h5"), &FileAccess::read());
        assert_eq!(count(&*container, container.info().unwrap().root, Measure::Decoded), None);
    }

    #[test]
    fn only_what_is_on_this_machine_is_walked() {
        assert!(is_near("run.h5") && is_near("object:store/"));
        assert!(!is_near("h5s://host/run") && !is_near("https://host/run.h5"));
    }
}
