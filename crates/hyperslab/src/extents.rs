//! Extents of new datasets and attributes: `10`, `(10, 20)`, `(0.., 5)`, `[3]`, `Extent::resizable(0)`.

use std::ops::{RangeFrom, RangeInclusive};

use model::{Dataspace, Result, UNLIMITED};

use crate::create::dimension;

/// The length of a dimension, and its maximum.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Extent {
    /// The number of elements.
    pub dim: usize,
    /// The largest number of elements, or `None` if the dimension is unlimited.
    pub max: Option<usize>,
}

impl Extent {
    /// Returns a dimension of `dim` elements and at most `max`.
    pub fn new(dim: usize, max: Option<usize>) -> Self {
        Extent { dim, max }
    }

    /// Returns a dimension of fixed length.
    pub fn fixed(dim: usize) -> Self {
        Extent { dim, max: Some(dim) }
    }

    /// Returns an unlimited dimension.
    pub fn resizable(dim: usize) -> Self {
        Extent { dim, max: None }
    }

    /// Returns whether the length is fixed.
    pub fn is_fixed(&self) -> bool {
        self.max.is_some_and(|max| self.dim >= max)
    }

    /// Returns whether the dimension is unlimited.
    pub fn is_resizable(&self) -> bool {
        self.max.is_none()
    }

    /// Returns whether the dimension is unlimited.
    pub fn is_unlimited(&self) -> bool {
        self.is_resizable()
    }

    /// Returns whether the length is not larger than its maximum.
    pub fn is_valid(&self) -> bool {
        self.max.is_none_or(|max| self.dim <= max)
    }
}

impl From<usize> for Extent {
    fn from(dim: usize) -> Self {
        Extent::fixed(dim)
    }
}

/// `5..` has 5 elements now, and is unlimited.
impl From<RangeFrom<usize>> for Extent {
    fn from(range: RangeFrom<usize>) -> Self {
        Extent::resizable(range.start)
    }
}

/// `5..=8` has 5 elements now, and at most 8.
impl From<RangeInclusive<usize>> for Extent {
    fn from(range: RangeInclusive<usize>) -> Self {
        Extent::new(*range.start(), Some(*range.end()))
    }
}

impl From<(usize, Option<usize>)> for Extent {
    fn from((dim, max): (usize, Option<usize>)) -> Self {
        Extent::new(dim, max)
    }
}

/// Dimensions, slowest first. A scalar has none.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct SimpleExtents(Vec<Extent>);

impl SimpleExtents {
    /// Returns the dimensions that a value stands for.
    pub fn new<T: Into<Self>>(extents: T) -> Self {
        extents.into()
    }

    /// Returns unlimited dimensions of the same lengths.
    pub fn resizable<T: Into<Self>>(extents: T) -> Self {
        SimpleExtents(extents.into().0.iter().map(|extent| Extent::resizable(extent.dim)).collect())
    }
}

impl std::ops::Deref for SimpleExtents {
    type Target = [Extent];
    fn deref(&self) -> &[Extent] {
        &self.0
    }
}

/// The extents of a dataset or attribute: no element, one element, or an array of them.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Extents {
    /// No elements.
    Null,
    /// One element without a dimension.
    Scalar,
    /// An array of elements.
    Simple(SimpleExtents),
}

impl Extents {
    /// Returns the extents that a value stands for.
    pub fn new<T: Into<Self>>(extents: T) -> Self {
        extents.into()
    }

    /// Returns extents without elements.
    pub fn null() -> Self {
        Extents::Null
    }

    /// Returns the extents of one element without dimensions.
    pub fn scalar() -> Self {
        Extents::Scalar
    }

    /// Returns the extents of an array.
    pub fn simple<T: Into<SimpleExtents>>(extents: T) -> Self {
        Extents::from(extents)
    }

    fn simple_dims(&self) -> &[Extent] {
        match self {
            Extents::Simple(simple) => simple,
            _ => &[],
        }
    }

    /// Returns the number of dimensions.
    pub fn ndim(&self) -> usize {
        self.simple_dims().len()
    }

    /// Returns the length of each dimension.
    pub fn dims(&self) -> Vec<usize> {
        self.simple_dims().iter().map(|extent| extent.dim).collect()
    }

    /// Returns the maximum of each dimension, which is `None` if it is unlimited.
    pub fn maxdims(&self) -> Vec<Option<usize>> {
        self.simple_dims().iter().map(|extent| extent.max).collect()
    }

    /// Returns the number of elements.
    pub fn size(&self) -> usize {
        match self {
            Extents::Null => 0,
            _ => self.simple_dims().iter().map(|extent| extent.dim).product(),
        }
    }

    /// Returns whether there are no elements and never will be.
    pub fn is_null(&self) -> bool {
        *self == Extents::Null
    }

    /// Returns whether there is one element without dimensions.
    pub fn is_scalar(&self) -> bool {
        *self == Extents::Scalar
    }

    /// Returns whether a dimension can grow.
    pub fn is_resizable(&self) -> bool {
        self.simple_dims().iter().any(|extent| !extent.is_fixed())
    }

    /// Returns extents of the same lengths whose dimensions are unlimited.
    #[must_use]
    pub fn resizable(self) -> Self {
        match self {
            Extents::Simple(simple) => Extents::Simple(SimpleExtents::resizable(simple)),
            other => other,
        }
    }

    /// Returns the dataspace.
    pub(crate) fn to_space(&self) -> Result<Dataspace> {
        let dims: Vec<u64> = self.simple_dims().iter().map(|extent| dimension(extent.dim)).collect();
        let max: Vec<u64> =
            self.simple_dims().iter().map(|extent| extent.max.map_or(UNLIMITED, dimension)).collect();
        match self {
            Extents::Null => Ok(Dataspace::Null),
            Extents::Scalar => Ok(Dataspace::Scalar),
            Extents::Simple(_) if dims == max => Dataspace::simple(&dims),
            Extents::Simple(_) => Dataspace::resizable(&dims, &max),
        }
    }
}

impl<T: Into<SimpleExtents>> From<T> for Extents {
    fn from(extents: T) -> Self {
        let simple: SimpleExtents = extents.into();
        if simple.is_empty() { Extents::Scalar } else { Extents::Simple(simple) }
    }
}

impl From<()> for Extents {
    fn from((): ()) -> Self {
        Extents::Scalar
    }
}

impl From<&Extents> for Extents {
    fn from(extents: &Extents) -> Self {
        extents.clone()
    }
}

macro_rules! one_and_many {
    ($($t:ty),*) => { $(
        impl From<$t> for SimpleExtents {
            fn from(extent: $t) -> Self {
                SimpleExtents(vec![extent.into()])
            }
        }
        impl From<Vec<$t>> for SimpleExtents {
            fn from(extents: Vec<$t>) -> Self {
                SimpleExtents(extents.into_iter().map(Extent::from).collect())
            }
        }
        impl From<&Vec<$t>> for SimpleExtents {
            fn from(extents: &Vec<$t>) -> Self {
                extents.as_slice().into()
            }
        }
        impl From<&[$t]> for SimpleExtents {
            fn from(extents: &[$t]) -> Self {
                SimpleExtents(extents.iter().cloned().map(Extent::from).collect())
            }
        }
        impl<const N: usize> From<[$t; N]> for SimpleExtents {
            fn from(extents: [$t; N]) -> Self {
                SimpleExtents(extents.into_iter().map(Extent::from).collect())
            }
        }
        impl<const N: usize> From<&[$t; N]> for SimpleExtents {
            fn from(extents: &[$t; N]) -> Self {
                extents.as_slice().into()
            }
        }
    )* };
}
one_and_many!(usize, RangeFrom<usize>, RangeInclusive<usize>, Extent, (usize, Option<usize>));

macro_rules! tuples {
    ($($name:ident)*) => {
        impl<$($name: Into<Extent>),*> From<($($name,)*)> for SimpleExtents {
            #[allow(non_snake_case)]
            fn from(($($name,)*): ($($name,)*)) -> Self {
                SimpleExtents(vec![$($name.into()),*])
            }
        }
    };
}
tuples!(A);
tuples!(A B);
tuples!(A B C);
tuples!(A B C D);
tuples!(A B C D E);
tuples!(A B C D E F);
tuples!(A B C D E F G);
tuples!(A B C D E F G H);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_and_numbers_mix_in_one_shape() {
        let extents = Extents::from((1.., 5, 2..=8));
        assert_eq!((extents.dims(), extents.maxdims()), (vec![1, 5, 2], vec![None, Some(5), Some(8)]));
        let space = extents.to_space().unwrap();
        assert_eq!((space.dims(), space.max_dims()), (&[1, 5, 2][..], &[UNLIMITED, 5, 8][..]));
        assert_eq!(Extents::from(7).to_space().unwrap(), Dataspace::simple(&[7]).unwrap());
        assert_eq!(Extents::from(()).to_space().unwrap(), Dataspace::Scalar);
        assert!(Extents::from([2, 3]).resizable().is_resizable());
    }
}
