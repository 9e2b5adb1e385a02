//! Elements of datasets that are read and written while their caller awaits it.

use std::sync::Arc;

use layers::asynchronous::{start, start_read};
use model::convert::Plan;
use model::properties::Layout;
use model::{Error, Heap, Result, Selection, Within};
use ndarray::{Array, ArrayView, Dimension};
use vol::{DatasetInfo, OpWrite};

use super::descriptors::Pinned;
use super::{HERE_BYTES_MAX, loaded, stored};
use crate::dataset::{to_array, with_rank};
use crate::element::store_all;
use crate::{Dataset, H5Type, Slice};

impl Dataset {
    /// Reads all elements, in C order, as [`Dataset::read_raw`] does.
    ///
    /// # Errors
    /// Returns the error of the storage, and `Conversion` if values do not fit.
    pub async fn read_async<T: H5Type + 'static>(&self) -> Result<Vec<T>> {
        self.read_selection_async(&Selection::All).await
    }

    /// Reads a selection, in selection order, as [`Dataset::read_selection`] does. Only the chunks that are needed
    /// are read.
    ///
    /// # Errors
    /// Returns the error of the storage, and `Conversion` if values do not fit.
    pub async fn read_selection_async<T: H5Type + 'static>(&self, selection: &Selection) -> Result<Vec<T>> {
        let info = self.dataset_info();
        if self.is_of_caller(&info) {
            return self.read_selection(selection);
        }
        let count = self.elements(&info, selection).count()?;
        let size = u64::from(info.datatype.size());
        let bytes = count.saturating_mul(size.max(size_of::<T>() as u64));
        bytes.within(self.session.access.limits.result_bytes_max, "result")?;
        if !self.is_startable(&info, count.saturating_mul(size)) {
            let (dataset, selection) = (self.clone(), selection.clone());
            return self.session.aside(move || dataset.read_selection(&selection)).await;
        }
        if count == 0 {
            return Ok(Vec::new());
        }
        let container = &*self.session.container;
        let _pinned = Pinned::of(container, &info.datatype).await?;
        let raw = start_read(container, self.token, selection, (count * size) as usize).await?;
        loaded(&self.session, &info.datatype, raw).await
    }

    /// Reads a slice, as an array whose indexed dimensions are dropped, as [`Dataset::read_slice`] does.
    ///
    /// # Errors
    /// Returns `Invalid` if the slice does not lie in the extent or has another rank than the array, the error of the
    /// storage, and `Conversion` if values do not fit.
    pub async fn read_slice_async<T, S, D>(&self, slice: S) -> Result<Array<T, D>>
    where
        T: H5Type + 'static,
        S: Into<Slice>,
        D: Dimension,
    {
        let (selection, shape) = slice.into().resolve(self.dataset_info().space.dims())?;
        let shape: Vec<usize> = shape.into_iter().map(|d| d as usize).collect();
        with_rank(to_array(&shape, self.read_selection_async(&selection).await?)?)
    }

    /// Writes all elements, in C order, as [`Dataset::write_raw`] does, and ends when the storage has them.
    ///
    /// # Errors
    /// Returns `Invalid` if there are more or fewer values than elements, the error of the storage, and `Conversion`
    /// if values do not fit.
    pub async fn write_async<T: H5Type + 'static>(&self, values: &[T]) -> Result<()> {
        self.write_selection_async(&Selection::All, values).await
    }

    /// Writes values to a selection, in selection order, as [`Dataset::write_selection`] does, and ends when the
    /// storage has them.
    ///
    /// # Errors
    /// Returns `Invalid` if there are more or fewer values than elements, the error of the storage, and `Conversion`
    /// if values do not fit.
    pub async fn write_selection_async<T: H5Type + 'static>(
        &self,
        selection: &Selection,
        values: &[T],
    ) -> Result<()> {
        let info = self.dataset_info();
        if self.is_of_caller(&info) {
            return self.write_selection(selection, values);
        }
        let count = self.elements(&info, selection).count()?;
        if count != values.len() as u64 {
            return Err(Error::invalid("write dataset").with("elements", count).with("values", values.len()));
        }
        if values.is_empty() {
            return Ok(());
        }
        let bytes = count.saturating_mul(info.datatype.size().into());
        if !self.is_startable(&info, bytes) || self.keeps_members::<T>(&info)? {
            return self.write_aside(selection, values).await;
        }
        let (dataset, selection) = (self.token, selection.clone());
        let from = stored(&self.session, &info.datatype, values).await?;
        let write = start(&*self.session.container, move |container| {
            container.dataset_write(&[OpWrite { dataset, selection: &selection, from: &from }])
        });
        write.await
    }

    /// Writes an array to a slice of the same shape, as [`Dataset::write_slice`] does, and ends when the storage has
    /// it.
    ///
    /// # Errors
    /// Returns `Invalid` if the slice does not lie in the extent or the array has another shape, the error of the
    /// storage, and `Conversion` if values do not fit.
    pub async fn write_slice_async<'v, A, T, S, D>(&self, array: A, slice: S) -> Result<()>
    where
        A: Into<ArrayView<'v, T, D>>,
        T: H5Type + Clone + 'static,
        S: Into<Slice>,
        D: Dimension,
    {
        let view = array.into();
        let selection = self.selection_of_shape(&slice.into(), view.shape())?;
        match view.as_slice() {
            Some(values) => self.write_selection_async(&selection, values).await,
            None => {
                let values: Vec<T> = view.iter().cloned().collect();
                self.write_selection_async(&selection, &values).await
            }
        }
    }

    /// Writes values on a thread that may wait.
    async fn write_aside<T: H5Type + 'static>(&self, selection: &Selection, values: &[T]) -> Result<()> {
        let (dataset, selection, mut heap) = (self.clone(), selection.clone(), Heap::new());
        let elements = store_all(values, &mut heap)?;
        let write = move || dataset.write_bytes(&selection, &T::datatype(), &elements, &mut heap);
        self.session.aside(write).await
    }

    /// Returns whether only the calling thread may move elements of this dataset, or all processes do it together.
    pub(crate) fn is_of_caller(&self, info: &DatasetInfo) -> bool {
        let container = &self.session.container;
        self.session.belongs_to_caller() || !info.create.filters.is_empty() && container.is_serial(self.token)
    }

    /// Returns whether elements of so many bytes are moved by started operations: they lie in this dataset, and what
    /// their descriptors stand for is little.
    pub(crate) fn is_startable(&self, info: &Arc<DatasetInfo>, bytes: u64) -> bool {
        let is_elsewhere = matches!(info.create.layout, Layout::Virtual(_) | Layout::External(_));
        let is_large = bytes > HERE_BYTES_MAX as u64;
        self.session.is_started() && !is_elsewhere && !(is_large && info.datatype.has_descriptors())
    }

    /// Returns whether members of the stored elements that `T` lacks keep their values, so that a write reads them
    /// first.
    pub(crate) fn keeps_members<T: H5Type>(&self, info: &DatasetInfo) -> Result<bool> {
        let (memory, file) = (T::datatype(), info.datatype.memory_type());
        let plan = Plan::compile(&memory, &file, &self.session.registered.conversions)?;
        Ok(plan.needs_background())
    }
}
