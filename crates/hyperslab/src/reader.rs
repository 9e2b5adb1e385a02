//! Readers and writers that limit conversions, with the functions that users of `hdf5-metno` know.

use model::{Datatype, Error, Result};
use ndarray::{Array, Array1, Array2, ArrayD, ArrayView, Dimension, Ix1};

use crate::{Attribute, Dataset, H5Type, Slice};

/// The conversions between memory and storage that a reader or writer allows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum Conversion {
    /// No conversion: elements are stored as they are in memory.
    NoOp,
    /// Conversions between types of one class.
    Hard,
    /// All conversions.
    #[default]
    Soft,
}

impl Conversion {
    /// Returns an error if elements of two types need a conversion that is not allowed.
    fn check(self, memory: &Datatype, stored: &Datatype) -> Result<()> {
        let stored = stored.memory_type();
        let allowed = match self {
            Conversion::NoOp => *memory == stored,
            Conversion::Hard => memory.class() == stored.class(),
            Conversion::Soft => true,
        };
        let refused =
            || Error::conversion("transfer elements").with("problem", format!("more than {self:?}"));
        if allowed {
            Ok(())
        } else {
            Err(refused().with("memory", memory.class()).with("stored", stored.class()))
        }
    }
}

/// Functions that choose the allowed conversions.
macro_rules! conversions {
    ($name:ident) => {
        impl $name<'_> {
            /// Sets which conversions of elements are allowed.
            #[must_use]
            pub fn conversion(mut self, conversion: Conversion) -> Self {
                self.conversion = conversion;
                self
            }

            /// Allows no conversion.
            #[must_use]
            pub fn no_convert(self) -> Self {
                self.conversion(Conversion::NoOp)
            }

            fn check<T: H5Type>(&self) -> Result<()> {
                self.conversion.check(&T::datatype(), &self.of.dtype()?)
            }
        }
    };
}

macro_rules! reader_and_writer {
    ($reader:ident, $writer:ident, $of:ident, $what:literal) => {
        #[doc = concat!("Reads ", $what, ".")]
        #[derive(Debug, Clone, Copy)]
        pub struct $reader<'a> {
            of: &'a $of,
            conversion: Conversion,
        }

        #[doc = concat!("Writes ", $what, ".")]
        #[derive(Debug, Clone, Copy)]
        pub struct $writer<'a> {
            of: &'a $of,
            conversion: Conversion,
        }

        impl $of {
            /// Returns a reader, whose conversions can be limited.
            pub fn as_reader(&self) -> $reader<'_> {
                $reader { of: self, conversion: Conversion::Soft }
            }

            /// Returns a writer, whose conversions can be limited.
            pub fn as_writer(&self) -> $writer<'_> {
                $writer { of: self, conversion: Conversion::Soft }
            }
        }

        conversions!($reader);
        conversions!($writer);

        impl $reader<'_> {
            /// Returns all elements, in C order.
            ///
            /// # Errors
            /// Returns `Conversion` if elements need a conversion that is not allowed, and otherwise the error of
            /// reading them.
            pub fn read_raw<T: H5Type>(&self) -> Result<Vec<T>> {
                self.check::<T>()?;
                self.of.read_raw()
            }

            /// Returns all elements as an array of a static dimension.
            ///
            /// # Errors
            /// Returns `Conversion` if elements need a conversion that is not allowed, and otherwise the error of
            /// reading them.
            pub fn read<T: H5Type, D: Dimension>(&self) -> Result<Array<T, D>> {
                self.check::<T>()?;
                self.of.read()
            }

            /// Returns all elements of one dimension.
            ///
            /// # Errors
            /// Returns `Conversion` if elements need a conversion that is not allowed, and otherwise the error of
            /// reading them.
            pub fn read_1d<T: H5Type>(&self) -> Result<Array1<T>> {
                self.read()
            }

            /// Returns all elements of two dimensions.
            ///
            /// # Errors
            /// Returns `Conversion` if elements need a conversion that is not allowed, and otherwise the error of
            /// reading them.
            pub fn read_2d<T: H5Type>(&self) -> Result<Array2<T>> {
                self.read()
            }

            /// Returns all elements as an array.
            ///
            /// # Errors
            /// Returns `Conversion` if elements need a conversion that is not allowed, and otherwise the error of
            /// reading them.
            pub fn read_dyn<T: H5Type>(&self) -> Result<ArrayD<T>> {
                self.read()
            }

            /// Returns the only element.
            ///
            /// # Errors
            /// Returns `Conversion` if elements need a conversion that is not allowed, and otherwise the error of
            /// reading them.
            pub fn read_scalar<T: H5Type>(&self) -> Result<T> {
                self.check::<T>()?;
                self.of.read_scalar()
            }
        }

        impl $writer<'_> {
            /// Writes an array of the same shape.
            ///
            /// # Errors
            /// Returns `Conversion` if elements need a conversion that is not allowed, and otherwise the error of
            /// writing them.
            pub fn write<'v, A, T, D>(&self, array: A) -> Result<()>
            where
                A: Into<ArrayView<'v, T, D>>,
                T: H5Type + 'v,
                D: Dimension,
            {
                self.check::<T>()?;
                self.of.write(array)
            }

            /// Writes all elements, in C order.
            ///
            /// # Errors
            /// Returns `Conversion` if elements need a conversion that is not allowed, and otherwise the error of
            /// writing them.
            pub fn write_raw<'v, A, T>(&self, values: A) -> Result<()>
            where
                A: Into<ArrayView<'v, T, Ix1>>,
                T: H5Type + 'v,
            {
                self.check::<T>()?;
                self.of.write_raw(values)
            }

            /// Writes the only element.
            ///
            /// # Errors
            /// Returns `Conversion` if elements need a conversion that is not allowed, and otherwise the error of
            /// writing them.
            pub fn write_scalar<T: H5Type>(&self, value: &T) -> Result<()> {
                self.check::<T>()?;
                self.of.write_scalar(value)
            }
        }
    };
}

reader_and_writer!(Reader, Writer, Dataset, "a dataset");
reader_and_writer!(AttributeReader, AttributeWriter, Attribute, "an attribute");

impl Reader<'_> {
    /// Returns a slice, as an array whose indexed dimensions are dropped.
    ///
    /// # Errors
    /// Returns `Conversion` if elements need a conversion that is not allowed, and the errors of
    /// [`Dataset::read_slice`].
    pub fn read_slice<T: H5Type, S: Into<Slice>, D: Dimension>(&self, slice: S) -> Result<Array<T, D>> {
        self.check::<T>()?;
        self.of.read_slice(slice)
    }

    /// Returns a slice of one dimension.
    ///
    /// # Errors
    /// Returns the errors of [`Reader::read_slice`].
    pub fn read_slice_1d<T: H5Type, S: Into<Slice>>(&self, slice: S) -> Result<Array1<T>> {
        self.read_slice(slice)
    }

    /// Returns a slice of two dimensions.
    ///
    /// # Errors
    /// Returns the errors of [`Reader::read_slice`].
    pub fn read_slice_2d<T: H5Type, S: Into<Slice>>(&self, slice: S) -> Result<Array2<T>> {
        self.read_slice(slice)
    }
}

impl Writer<'_> {
    /// Writes an array to a slice of the same shape.
    ///
    /// # Errors
    /// Returns `Conversion` if elements need a conversion that is not allowed, and the errors of
    /// [`Dataset::write_slice`].
    pub fn write_slice<'v, A, T, S, D>(&self, array: A, slice: S) -> Result<()>
    where
        A: Into<ArrayView<'v, T, D>>,
        T: H5Type + 'v,
        S: Into<Slice>,
        D: Dimension,
    {
        self.check::<T>()?;
        self.of.write_slice(array, slice)
    }
}
