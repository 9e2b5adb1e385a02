//! Writing to datasets, and changing their extent.

use std::sync::Arc;

use model::heap::Heap;
use model::{Datatype, Error, Result, Selection};
use ndarray::{ArrayView, Dimension, Ix1};

use crate::{Dataset, H5Type, Slice};

impl Dataset {
    /// Writes packed elements of a type in the memory datatype to a selection. `heap` holds variable-length values.
    ///
    /// # Errors
    /// Returns `Invalid` if the selection does not fit the extent or `data` has not the length of its elements,
    /// `Conversion` if elements cannot be converted to the stored type, and `Denied` if the file is open for reading.
    pub fn write_bytes(
        &self,
        selection: &Selection,
        memory: &Datatype,
        data: &[u8],
        heap: &mut Heap,
    ) -> Result<()> {
        let info = self.dataset_info();
        self.elements(&info, selection).write(memory, data, heap)
    }

    /// Writes values to a selection, in selection order. Numbers are written without a copy.
    ///
    /// # Errors
    /// Returns `Invalid` if the selection does not fit the extent or has another number of elements, `Conversion` if
    /// values cannot be converted to the stored type, and `Denied` if the file is open for reading.
    pub fn write_selection<T: H5Type>(&self, selection: &Selection, values: &[T]) -> Result<()> {
        match T::bytes(values) {
            Some(bytes) => self.write_bytes(selection, &T::datatype(), bytes, &mut Heap::new()),
            None => self.store(selection, values),
        }
    }

    /// Writes all elements, in C order, from a slice, an array or a vector.
    ///
    /// # Errors
    /// Returns `Invalid` if the number of values differs, and the errors of [`Dataset::write_selection`].
    pub fn write_raw<'v, A, T>(&self, values: A) -> Result<()>
    where
        A: Into<ArrayView<'v, T, Ix1>>,
        T: H5Type + 'v,
    {
        let view = values.into();
        if view.len() != self.size() {
            let error = Error::invalid("write dataset").with("values", view.len());
            return Err(error.with("elements", self.size()));
        }
        self.write_ordered(&Selection::All, &view)
    }

    /// Writes an array of the dataset's shape. Slices and vectors are arrays of one dimension.
    ///
    /// # Errors
    /// Returns `Invalid` if the array has another shape, and the errors of [`Dataset::write_selection`].
    pub fn write<'v, A, T, D>(&self, array: A) -> Result<()>
    where
        A: Into<ArrayView<'v, T, D>>,
        T: H5Type + 'v,
        D: Dimension,
    {
        let view = array.into();
        if view.shape() != self.shape() {
            let shapes = (format!("{:?}", view.shape()), format!("{:?}", self.shape()));
            return Err(Error::invalid("write dataset").with("array", shapes.0).with("dataset", shapes.1));
        }
        self.write_ordered(&Selection::All, &view)
    }

    fn write_ordered<T: H5Type, D: Dimension>(
        &self,
        selection: &Selection,
        view: &ArrayView<'_, T, D>,
    ) -> Result<()> {
        if let Some(values) = view.as_slice() {
            return self.write_selection(selection, values);
        }
        let (bytes, mut heap) = (T::element_bytes(), Heap::new());
        let mut elements = vec![0; view.len().saturating_mul(bytes)];
        let buffers = elements.chunks_exact_mut(bytes.max(1));
        view.iter().zip(buffers).try_for_each(|(value, buffer)| value.store(buffer, &mut heap))?;
        self.write_bytes(selection, &T::datatype(), &elements, &mut heap)
    }

    /// Writes an array to a slice of the same shape: `write_slice(&row, (3, ..))`.
    ///
    /// # Errors
    /// Returns `Invalid` if the slice does not fit the extent or the array has another shape, `Unsupported` for
    /// negative steps, and the errors of [`Dataset::write_selection`].
    pub fn write_slice<'v, A, T, S, D>(&self, array: A, slice: S) -> Result<()>
    where
        A: Into<ArrayView<'v, T, D>>,
        T: H5Type + 'v,
        S: Into<Slice>,
        D: Dimension,
    {
        let view = array.into();
        let selection = self.selection_of_shape(&slice.into(), view.shape())?;
        self.write_ordered(&selection, &view)
    }

    /// Resolves a slice that an array of a shape is written to.
    ///
    /// # Errors
    /// Returns `Invalid` if the slice does not fit the extent or has another shape, and `Unsupported` for negative steps.
    pub(crate) fn selection_of_shape(&self, slice: &Slice, wanted: &[usize]) -> Result<Selection> {
        let (selection, shape) = slice.resolve(self.dataset_info().space.dims())?;
        if shape.iter().map(|&d| d as usize).ne(wanted.iter().copied()) {
            let shapes = (format!("{wanted:?}"), format!("{shape:?}"));
            return Err(Error::invalid("write slice").with("array", shapes.0).with("slice", shapes.1));
        }
        Ok(selection)
    }

    /// Writes the only element.
    ///
    /// # Errors
    /// Returns the errors of [`Dataset::write_selection`].
    pub fn write_scalar<T: H5Type>(&self, value: &T) -> Result<()> {
        self.write_selection(&Selection::All, std::slice::from_ref(value))
    }

    /// Gives this dataset its own cache of decoded chunks, with a capacity of `bytes`, for all handles of the open
    /// file. By default, all datasets of a file share [`FileAccess::chunk_cache_bytes`](crate::FileAccess).
    ///
    /// # Errors
    /// Returns `Invalid` if the dataset is not chunked, and `Unsupported` if the connector has no such cache.
    pub fn set_chunk_cache(&self, bytes: u64) -> Result<()> {
        self.session.container.chunk_cache_set(self.token, bytes)
    }

    /// Sets whether stored elements are overwritten in place, for all handles of the open file.
    ///
    /// Such elements are written once, without a copy that protects the old ones: this is as fast as the storage, and takes no
    /// space. The price: a crash may leave some of the elements old and some new. The structure of the file, and everything in
    /// other datasets, is as safe as without. A flush makes the new elements durable. See `docs/durability.md`.
    ///
    /// The choice is not stored. It holds for contiguous and for chunked datasets without filters.
    ///
    /// # Errors
    ///
    /// Returns an error of kind `Invalid` for other layouts, for filtered datasets and for elements with values of variable
    /// length, and of kind `Unsupported` if the connector has no such choice.
    #[cfg(feature = "native")]
    pub fn overwrite_in_place(&self, is_in_place: bool) -> Result<()> {
        let choice = native::OverwriteInPlace { dataset: self.token, is_in_place };
        vol::call::<native::OverwriteInPlace>(&*self.session.container, &choice)
    }

    /// Commits all changes of the file made so far, including those of this dataset.
    ///
    /// # Errors
    /// Returns the errors of [`File::flush`](crate::File::flush).
    pub fn flush(&self) -> Result<()> {
        self.session.container.commit(self.session.access.durability)
    }

    /// Changes the extent, for all handles of the dataset in this file.
    ///
    /// # Errors
    /// Returns `Invalid` if the rank differs, if a dimension would be larger than its maximum, or if the layout does
    /// not allow it, and `Denied` if the file is open for reading.
    pub fn resize(&self, shape: impl crate::IntoShape) -> Result<()> {
        self.resize_to(&shape.into_shape())
    }

    fn resize_to(&self, shape: &[u64]) -> Result<()> {
        self.change_info(|info| {
            self.session.container.dataset_resize(self.token, shape)?;
            // Asking for it would cost more than appending a row does.
            Arc::make_mut(info).space.resize(shape)
        })
    }

    /// Grows the dataset along `axis` and writes an array at its end.
    ///
    /// ```
    /// # fn main() -> hyperslab::Result<()> {
    /// # let path = std::env::temp_dir().join(format!("append-{}.h5", std::process::id()));
    /// let file = hyperslab::File::create(&path)?;
    /// let log = file.new_dataset::<f64>().shape([0, 3]).max_shape([hyperslab::UNLIMITED_DIM, 3]).create("log")?;
    /// log.append(0, &ndarray::arr2(&[[1.0, 2.0, 3.0]]))?;
    /// log.append(0, &ndarray::arr2(&[[4.0, 5.0, 6.0], [7.0, 8.0, 9.0]]))?;
    /// assert_eq!(log.shape(), [3, 3]);
    /// # file.close()?;
    /// # std::fs::remove_file(&path).ok();
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// Returns `Invalid` if `axis` or the shape of the array does not fit the dataset, and the errors of
    /// [`Dataset::resize`] and [`Dataset::write_selection`].
    pub fn append<'v, A, T, D>(&self, axis: usize, array: A) -> Result<()>
    where
        A: Into<ArrayView<'v, T, D>>,
        T: H5Type + 'v,
        D: Dimension,
    {
        let array = array.into();
        let old = self.dataset_info().space.dims().to_vec();
        let added: Vec<u64> = array.shape().iter().map(|&d| d as u64).collect();
        let fits = added.len() == old.len()
            && axis < old.len()
            && (0..old.len()).all(|d| d == axis || added[d] == old[d]);
        if !fits {
            let shapes = (format!("{added:?}"), format!("{old:?}"));
            return Err(Error::invalid("append to dataset")
                .with("array", shapes.0)
                .with("dataset", shapes.1)
                .with("axis", axis));
        }
        let (mut start, mut shape) = (vec![0; old.len()], old);
        start[axis] = shape[axis];
        let grown = shape[axis].checked_add(added[axis]);
        shape[axis] = grown.ok_or_else(|| Error::limit("append to dataset").with("axis", axis))?;
        self.resize_to(&shape)?;
        if added.contains(&0) {
            return Ok(());
        }
        self.write_ordered(&Selection::block(&start, &added)?, &array)
    }
}
