//! Elements of types from other crates, and tuples.

use model::datatype::{Compound, Float};
use model::heap::Heap;
use model::{ByteOrder, Datatype, Error, Result};
use num_complex::Complex;

use crate::H5Type;

macro_rules! halves {
    ($($t:ty => $datatype:expr),* $(,)?) => { $(
        impl H5Type for $t {
            fn datatype() -> Datatype {
                $datatype
            }
            fn element_bytes() -> usize {
                size_of::<u16>()
            }
            fn load(element: &[u8], heap: &Heap) -> Result<Self> {
                u16::load(element, heap).map(Self::from_bits)
            }
            fn store(&self, element: &mut [u8], heap: &mut Heap) -> Result<()> {
                self.to_bits().store(element, heap)
            }
        }
    )* };
}

halves! {
    half::f16 => Datatype::ieee_f16(ByteOrder::NATIVE),
    half::bf16 => Datatype::Float(Float::ieee(2, ByteOrder::NATIVE, 8, 7)),
}

/// Returns the part of an element at an offset.
fn part(element: &[u8], at: usize, bytes: usize) -> Result<&[u8]> {
    let missing = || Error::invalid("read element").with("bytes", element.len());
    element.get(at..at + bytes).ok_or_else(missing)
}

fn part_mut(element: &mut [u8], at: usize, bytes: usize) -> Result<&mut [u8]> {
    let len = element.len();
    element.get_mut(at..at + bytes).ok_or_else(|| Error::invalid("write element").with("bytes", len))
}

/// A compound of `r` and `i`, which h5py reads as a complex number.
impl<T: H5Type> H5Type for Complex<T> {
    fn datatype() -> Datatype {
        let members = [("r".to_owned(), T::datatype()), ("i".to_owned(), T::datatype())];
        Datatype::Compound(Compound::packed(members))
    }
    fn element_bytes() -> usize {
        2 * T::element_bytes()
    }
    fn load(element: &[u8], heap: &Heap) -> Result<Self> {
        let bytes = T::element_bytes();
        let re = T::load(part(element, 0, bytes)?, heap)?;
        Ok(Complex { re, im: T::load(part(element, bytes, bytes)?, heap)? })
    }
    fn store(&self, element: &mut [u8], heap: &mut Heap) -> Result<()> {
        let bytes = T::element_bytes();
        self.re.store(part_mut(element, 0, bytes)?, heap)?;
        self.im.store(part_mut(element, bytes, bytes)?, heap)
    }
}

/// A tuple is a compound of members `0`, `1`, ….
macro_rules! tuples {
    ($($name:ident $index:tt)*) => {
        impl<$($name: H5Type),*> H5Type for ($($name,)*) {
            fn datatype() -> Datatype {
                Datatype::Compound(Compound::packed([$((stringify!($index).to_owned(), $name::datatype())),*]))
            }
            fn element_bytes() -> usize {
                0 $(+ $name::element_bytes())*
            }
            #[allow(unused_assignments)]
            fn load(element: &[u8], heap: &Heap) -> Result<Self> {
                let mut at = 0;
                Ok(($({
                    let bytes = $name::element_bytes();
                    at += bytes;
                    $name::load(part(element, at - bytes, bytes)?, heap)?
                },)*))
            }
            #[allow(unused_assignments)]
            fn store(&self, element: &mut [u8], heap: &mut Heap) -> Result<()> {
                let mut at = 0;
                $({
                    let bytes = $name::element_bytes();
                    self.$index.store(part_mut(element, at, bytes)?, heap)?;
                    at += bytes;
                })*
                Ok(())
            }
        }
    };
}
tuples!(A 0);
tuples!(A 0 B 1);
tuples!(A 0 B 1 C 2);
tuples!(A 0 B 1 C 2 D 3);
tuples!(A 0 B 1 C 2 D 3 E 4);
tuples!(A 0 B 1 C 2 D 3 E 4 F 5);
tuples!(A 0 B 1 C 2 D 3 E 4 F 5 G 6);
tuples!(A 0 B 1 C 2 D 3 E 4 F 5 G 6 H 7);
