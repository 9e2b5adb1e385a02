//! Elements where a mask is true: as a selection of its runs, or out of everything around them.

use model::heap::Heap;
use model::properties::Layout;
use model::{Error, Result, Selection, Within};
use ndarray::{Array1, ArrayD};

use crate::{Dataset, H5Type};

/// The cost of a run of a selection, as bytes that could be read in the same time.
const RUN_BYTES: u64 = 2048;
/// Bytes read at a time when the mask is applied after reading.
const STRIP_BYTES: u64 = 8 << 20;
/// Elements filtered at a time.
const BLOCK: usize = 1024;

/// The selected part of a mask, by its rows in the slowest dimension.
struct Extent {
    first: usize,
    end: usize,
    selected: u64,
    runs: u64,
}

impl Extent {
    /// Returns the selected part of a mask, or `None` if nothing is selected.
    fn of(flat: &[bool], row: usize) -> Option<Extent> {
        let first = flat.iter().position(|&b| b)? / row;
        let end = flat.iter().rposition(|&b| b)? / row + 1;
        let inside = flat.get(first * row..end * row)?;
        let selected = inside.chunks(PART).map(|part| count(part.iter().copied())).sum();
        let pairs = inside.chunks(PART).zip(inside.get(1..)?.chunks(PART));
        let starts: u64 =
            pairs.map(|(before, now)| count(before.iter().zip(now).map(|(before, now)| !before & now))).sum();
        Some(Extent { first, end, selected, runs: starts + u64::from(*inside.first()?) })
    }
}

/// Elements counted at a time: as many as a byte can count, so that the loop is vectorised.
const PART: usize = 255;

fn count(part: impl Iterator<Item = bool>) -> u64 {
    u64::from(part.map(u8::from).fold(0, u8::wrapping_add))
}

impl Dataset {
    /// Returns the elements where a mask of the dataset's shape is true, in C order.
    ///
    /// # Errors
    /// Returns `Invalid` if the mask has another shape than the dataset, and the errors of
    /// [`Dataset::read_selection`].
    pub fn read_mask<T: H5Type>(&self, mask: &ArrayD<bool>) -> Result<Array1<T>> {
        if mask.shape() != self.shape() {
            return Err(Error::invalid("read mask").with("mask", format!("{:?}", mask.shape())));
        }
        let ordered = mask.as_standard_layout();
        let flat = ordered.as_slice().unwrap_or(&[]);
        let row: usize = mask.shape().iter().skip(1).product();
        let Some(extent) = Extent::of(flat, row.max(1)) else { return Ok(Array1::from_vec(Vec::new())) };
        let element_bytes =
            u64::from(self.dataset_info().datatype.size()).max(u64::from(T::datatype().size()));
        let box_bytes = ((extent.end - extent.first) * row) as u64 * element_bytes;
        if self.ndim() > 0
            && box_bytes < extent.runs.saturating_mul(RUN_BYTES)
            && let Some(values) = self.buffer(extent.selected)?
        {
            return self.read_around(flat, &extent, values);
        }
        let selection = mask_selection(mask.shape(), flat)?;
        Ok(Array1::from_vec(self.read_selection(&selection)?))
    }

    /// Returns zeroed values, for types that lie in memory as elements do.
    fn buffer<T: H5Type>(&self, count: u64) -> Result<Option<Vec<T>>> {
        let bytes = count.saturating_mul(size_of::<T>() as u64);
        bytes.within(self.session.access.limits.result_bytes_max, "result")?;
        Ok(T::zeroed(count as usize))
    }

    /// Reads whole strips of rows, and returns the elements that the mask selects.
    fn read_around<T: H5Type>(
        &self,
        flat: &[bool],
        extent: &Extent,
        mut values: Vec<T>,
    ) -> Result<Array1<T>> {
        let datatype = T::datatype();
        let info = self.dataset_info();
        let dims = info.space.dims();
        let (mut start, mut shape) = (vec![0; dims.len()], dims.to_vec());
        (start[0], shape[0]) = (extent.first as u64, (extent.end - extent.first) as u64);
        let row: usize = shape[1..].iter().map(|&d| d as usize).product();
        let bytes = T::bytes_mut(&mut values).ok_or_else(|| Error::unsupported("mask these values"))?;
        let each = datatype.size() as usize;
        let strips =
            Selection::block(&start, &shape)?.strips(dims, (STRIP_BYTES / each.max(1) as u64).max(1))?;
        let strips = match &info.create.layout {
            Layout::Chunked { shape, .. } => strips.between_chunks(shape)?,
            _ => strips,
        };
        let mut rest = flat.get(extent.first * row..).unwrap_or(&[]);
        let mut kept = MaskedElements { bytes, each, at: 0 };
        let mut raw = Vec::new();
        for strip in strips {
            // A strip is one run of the extent in C order, as the mask is.
            let count = strip.element_count(dims)? as usize;
            let (mask, later) = rest.split_at_checked(count).unwrap_or((rest, &[]));
            rest = later;
            if mask.contains(&true) {
                raw.resize(count * each, 0);
                self.read_selection_bytes(&strip, &datatype, &mut raw)?;
                kept.keep(mask, &raw);
            }
        }
        Ok(Array1::from_vec(values))
    }

    fn read_selection_bytes(
        &self,
        selection: &Selection,
        datatype: &model::Datatype,
        into: &mut [u8],
    ) -> Result<()> {
        let info = self.dataset_info();
        self.elements(&info, selection).read(datatype, into, &mut Heap::new())
    }
}

/// Elements that a mask selected, one after the other.
struct MaskedElements<'a> {
    bytes: &'a mut [u8],
    each: usize,
    at: usize,
}

impl MaskedElements<'_> {
    fn keep(&mut self, mask: &[bool], raw: &[u8]) {
        match self.each {
            1 => self.keep_fixed::<1>(mask, raw),
            2 => self.keep_fixed::<2>(mask, raw),
            4 => self.keep_fixed::<4>(mask, raw),
            8 => self.keep_fixed::<8>(mask, raw),
            each => {
                for (_, element) in mask.iter().zip(raw.chunks_exact(each)).filter(|(wanted, _)| **wanted) {
                    self.push(element);
                }
            }
        }
    }

    /// Copies every element, but moves the position of the next only after selected ones, so there is no branch to
    /// predict.
    fn keep_fixed<const N: usize>(&mut self, mask: &[bool], raw: &[u8]) {
        let mut block = [[0; N]; BLOCK];
        for (mask, elements) in mask.chunks(BLOCK).zip(raw.as_chunks::<N>().0.chunks(BLOCK)) {
            let mut count = 0;
            for (wanted, element) in mask.iter().zip(elements) {
                block[count % BLOCK] = *element;
                count += usize::from(*wanted);
            }
            self.push(block.get(..count).unwrap_or_default().as_flattened());
        }
    }

    fn push(&mut self, elements: &[u8]) {
        if let Some(buffer) = self.bytes.get_mut(self.at..self.at + elements.len()) {
            buffer.copy_from_slice(elements);
        }
        self.at += elements.len();
    }
}

/// Returns the selection of a mask. Runs of selected elements become blocks, so its cost depends on the runs.
fn mask_selection(shape: &[usize], flat: &[bool]) -> Result<Selection> {
    let shape: Vec<u64> = shape.iter().map(|&d| d as u64).collect();
    let rank = shape.len();
    let row = shape.last().copied().unwrap_or(1).max(1) as usize;
    let mut corners = Vec::new();
    let mut start = vec![0; rank];
    for (n, values) in flat.chunks_exact(row).enumerate() {
        let mut rest = n as u64;
        for d in (0..rank.saturating_sub(1)).rev() {
            start[d] = rest % shape[d];
            rest /= shape[d];
        }
        let mut at = 0;
        for run in values.chunk_by(|a, b| a == b) {
            if run[0] {
                push_run(&mut corners, &mut start, at as u64, run.len() as u64);
            }
            at += run.len();
        }
    }
    match rank {
        // A scalar has one element, which the mask wants, or this would not be asked.
        0 => Ok(Selection::All),
        _ if corners.is_empty() => Ok(Selection::None),
        _ => Selection::union_of_blocks(rank, &corners),
    }
}

/// Appends the first and the last corner of a run in the fastest dimension.
fn push_run(corners: &mut Vec<u64>, start: &mut [u64], at: u64, len: u64) {
    if let Some(fastest) = start.len().checked_sub(1) {
        start[fastest] = at;
        corners.extend_from_slice(start);
        start[fastest] = at + len - 1;
        corners.extend_from_slice(start);
    }
}
