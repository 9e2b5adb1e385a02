//! Many selections of a dataset in one call.

use std::borrow::Cow;

use algorithms::transfer::{from_file_type, to_file_type};
use model::heap::Heap;
use model::{Error, Result, Selection, Within};
use vol::{DatasetInfo, OpRead, OpWrite};

use crate::element::store_into;
use crate::{Dataset, H5Type};

impl Dataset {
    /// Writes values to many selections: first those of the first selection, each in selection order. Where selections
    /// overlap, the later one counts.
    ///
    /// This is one request to the storage. A log ([`log:`](https://github.com/hyperslab/hyperslab/blob/main/docs/log-layout.md))
    /// takes it at the price of one write, however many selections there are.
    ///
    /// ```
    /// # use hyperslab::{File, Result, Selection};
    /// # fn main() -> Result<()> {
    /// # let path = std::env::temp_dir().join(format!("write-n-{}.h5", std::process::id()));
    /// let file = File::create(&path)?;
    /// let data = file.new_dataset::<i32>().shape([3, 4]).create("data")?;
    /// let pieces = [Selection::block(&[0, 1], &[1, 2])?, Selection::block(&[2, 0], &[1, 3])?];
    /// data.write_n(&pieces, &[1, 2, 3, 4, 5])?;
    /// assert_eq!(data.read_raw::<i32>()?, [0, 1, 2, 0, 0, 0, 0, 0, 3, 4, 5, 0]);
    /// assert_eq!(data.read_n::<i32>(&pieces)?, [1, 2, 3, 4, 5]);
    /// # file.close()?;
    /// # std::fs::remove_file(&path).ok();
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// Returns `Invalid` if there are more or fewer values than selected elements, and of kind
    /// `Unsupported` for a collective handle: unite the selections instead.
    pub fn write_n<T: H5Type>(&self, selections: &[Selection], values: &[T]) -> Result<()> {
        let info = self.dataset_info();
        let sizes = self.sizes_of("write selections", &info, selections)?;
        let count: u64 = sizes.iter().sum();
        if count != values.len() as u64 {
            let error = Error::invalid("write selections").with("elements", count);
            return Err(error.with("values", values.len()));
        }
        let stored = self.in_file_type(&info, values)?;
        let mut rest = &stored[..];
        let mut writes = Vec::with_capacity(selections.len());
        for (selection, size) in selections.iter().zip(sizes) {
            let (from, later) = rest.split_at(size as usize * info.datatype.size() as usize);
            writes.push(OpWrite { dataset: self.token, selection, from });
            rest = later;
        }
        self.session.container.dataset_write(&writes)
    }

    /// Returns the values of many selections: first those of the first selection, each in selection order.
    ///
    /// # Errors
    /// Returns an error of kind `Unsupported` for a collective handle.
    pub fn read_n<T: H5Type>(&self, selections: &[Selection]) -> Result<Vec<T>> {
        let info = self.dataset_info();
        let sizes = self.sizes_of("read selections", &info, selections)?;
        let size = u64::from(info.datatype.size());
        let bytes = sizes.iter().try_fold(0u64, |sum, count| sum.checked_add(count.checked_mul(size)?));
        let bytes =
            bytes.unwrap_or(u64::MAX).within(self.session.access.limits.result_bytes_max, "result")?;
        let mut stored = vec![0; bytes];
        let mut rest = &mut stored[..];
        let mut reads = Vec::with_capacity(selections.len());
        for (selection, count) in selections.iter().zip(sizes) {
            let (into, later) = std::mem::take(&mut rest).split_at_mut((count * size) as usize);
            reads.push(OpRead { dataset: self.token, selection, into });
            rest = later;
        }
        self.session.container.dataset_read(&mut reads)?;
        let (container, conversions) = (&*self.session.container, &self.session.registered.conversions);
        let (mut heap, memory) = (Heap::new(), T::datatype());
        let elements = from_file_type(container, &info.datatype, &stored, &memory, conversions, &mut heap)?;
        elements.chunks_exact(memory.size().max(1) as usize).map(|element| T::load(element, &heap)).collect()
    }

    /// Returns the number of elements of each selection.
    fn sizes_of(
        &self,
        operation: &'static str,
        info: &DatasetInfo,
        selections: &[Selection],
    ) -> Result<Vec<u64>> {
        if self.is_collective() {
            let problem = "the transfers of this handle are collective";
            return Err(Error::unsupported(operation).with("problem", problem));
        }
        selections.iter().map(|selection| self.elements(info, selection).count()).collect()
    }

    /// Returns values in the file datatype, without a copy if they have it already.
    pub(crate) fn in_file_type<'v, T: H5Type>(
        &self,
        info: &DatasetInfo,
        values: &'v [T],
    ) -> Result<Cow<'v, [u8]>> {
        let memory = T::datatype();
        if let Some(bytes) = T::bytes(values).filter(|_| memory == info.datatype) {
            return Ok(Cow::Borrowed(bytes));
        }
        let (mut heap, mut elements) = (Heap::new(), Vec::new());
        store_into(values, &mut heap, &mut elements)?;
        let (container, conversions) = (&*self.session.container, &self.session.registered.conversions);
        to_file_type(container, &memory, &elements, &info.datatype, conversions, &mut heap).map(Cow::Owned)
    }
}
