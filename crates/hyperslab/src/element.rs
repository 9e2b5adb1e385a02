//! Rust types as elements of datasets and attributes.

use model::heap::{Heap, VarLenDescriptor};
use model::{ByteOrder, CharacterSet, Datatype, Error, Reference, Result};
use zerocopy::{FromBytes, Immutable, IntoBytes};

/// A Rust type that an element can be read to and written from. Derive it for structs (compound types) and field-less
/// enums.
pub trait H5Type: Sized + Send + Sync {
    /// Returns the type in the memory datatype.
    fn datatype() -> Datatype;

    /// Returns the number of bytes of an element, as [`H5Type::datatype`] says.
    fn element_bytes() -> usize {
        Self::datatype().size() as usize
    }

    /// Returns one value from the bytes of its element.
    ///
    /// # Errors
    /// Returns `Invalid` if the element is too short for the type, or if `heap` lacks its value.
    fn load(element: &[u8], heap: &Heap) -> Result<Self>;

    /// Appends the values of packed elements.
    ///
    /// # Errors
    /// Returns the errors of [`H5Type::load`].
    fn load_more(elements: &[u8], heap: &Heap, values: &mut Vec<Self>) -> Result<()> {
        let bytes = Self::element_bytes();
        values.reserve(elements.len() / bytes);
        for element in elements.chunks_exact(bytes) {
            values.push(Self::load(element, heap)?);
        }
        Ok(())
    }

    /// Stores the value in the bytes of an element.
    ///
    /// # Errors
    /// Returns `Invalid` if the element is too short for the type, and `Conversion` if the value does not fit it.
    fn store(&self, element: &mut [u8], heap: &mut Heap) -> Result<()>;

    /// Returns the bytes of values, if they lie in memory exactly as [`H5Type::datatype`] says, and otherwise `None`.
    fn bytes_mut(_values: &mut [Self]) -> Option<&mut [u8]> {
        None
    }

    /// Returns the bytes of values, as [`H5Type::bytes_mut`] does, for reading.
    fn bytes(_values: &[Self]) -> Option<&[u8]> {
        None
    }

    /// Returns a zeroed buffer for reading, if values lie in memory as elements do.
    fn zeroed(_count: usize) -> Option<Vec<Self>> {
        None
    }
}

fn short(element: &[u8]) -> Error {
    Error::invalid("read element").with("bytes", element.len())
}

#[inline]
fn load_plain<T: FromBytes>(element: &[u8]) -> Result<T> {
    T::read_from_prefix(element).map(|(value, _)| value).map_err(|_| short(element))
}

#[inline]
fn store_plain<T: IntoBytes + Immutable>(value: &T, element: &mut [u8]) -> Result<()> {
    let len = element.len();
    value.write_to_prefix(element).map_err(|_| Error::invalid("write element").with("bytes", len))
}

macro_rules! plain {
    ($($t:ty => $datatype:expr),* $(,)?) => { $(
        impl H5Type for $t {
            fn datatype() -> Datatype { $datatype }
            #[inline]
            fn element_bytes() -> usize { size_of::<$t>() }
            #[inline]
            fn load(element: &[u8], _heap: &Heap) -> Result<Self> { load_plain(element) }
            #[inline]
            fn store(&self, element: &mut [u8], _heap: &mut Heap) -> Result<()> { store_plain(self, element) }
            fn bytes_mut(values: &mut [Self]) -> Option<&mut [u8]> { Some(values.as_mut_bytes()) }
            fn bytes(values: &[Self]) -> Option<&[u8]> { Some(values.as_bytes()) }
            fn zeroed(count: usize) -> Option<Vec<Self>> { Some(vec![Self::default(); count]) }
        }
    )* };
}

plain! {
    i8 => Datatype::native_int(1),
    i16 => Datatype::native_int(2),
    i32 => Datatype::native_int(4),
    i64 => Datatype::native_int(8),
    u8 => Datatype::native_uint(1),
    u16 => Datatype::native_uint(2),
    u32 => Datatype::native_uint(4),
    u64 => Datatype::native_uint(8),
    isize => Datatype::native_int(size_of::<isize>() as u32),
    usize => Datatype::native_uint(size_of::<usize>() as u32),
    f32 => Datatype::ieee_f32(ByteOrder::NATIVE),
    f64 => Datatype::ieee_f64(ByteOrder::NATIVE),
}

impl H5Type for bool {
    fn datatype() -> Datatype {
        Datatype::boolean()
    }
    fn element_bytes() -> usize {
        1
    }
    fn load(element: &[u8], _heap: &Heap) -> Result<Self> {
        load_plain::<u8>(element).map(|b| b != 0)
    }
    fn store(&self, element: &mut [u8], _heap: &mut Heap) -> Result<()> {
        store_plain(&u8::from(*self), element)
    }
}

impl H5Type for String {
    fn datatype() -> Datatype {
        Datatype::var_string(CharacterSet::Utf8)
    }
    fn load(element: &[u8], heap: &Heap) -> Result<Self> {
        let bytes = heap.get(VarLenDescriptor::load(element)?, 1)?;
        // A string ends at its NUL, where a writer stored one.
        Ok(model::text::from_bytes_to_nul(bytes))
    }
    fn load_more(elements: &[u8], heap: &Heap, values: &mut Vec<Self>) -> Result<()> {
        let text = heap.plain_text();
        values.reserve(elements.len() / Self::element_bytes());
        for element in elements.chunks_exact(Self::element_bytes()) {
            let VarLenDescriptor { offset, count } = VarLenDescriptor::load(element)?;
            let end = offset.saturating_add(count) as usize;
            values.push(match text.and_then(|text| text.get(offset as usize..end)) {
                Some(value) => value.to_owned(),
                None => Self::load(element, heap)?,
            });
        }
        Ok(())
    }
    fn store(&self, element: &mut [u8], heap: &mut Heap) -> Result<()> {
        let bytes = model::text::as_bytes(self);
        heap.push(&bytes, bytes.len() as u64).store(element)
    }
}

impl<T: H5Type> H5Type for Vec<T> {
    fn datatype() -> Datatype {
        Datatype::var_sequence(T::datatype())
    }
    fn load(element: &[u8], heap: &Heap) -> Result<Self> {
        let bytes = T::datatype().size();
        let values = heap.get(VarLenDescriptor::load(element)?, u64::from(bytes))?;
        values.chunks_exact(bytes as usize).map(|e| T::load(e, heap)).collect()
    }
    fn store(&self, element: &mut [u8], heap: &mut Heap) -> Result<()> {
        let bytes = T::datatype().size() as usize;
        let mut values = vec![0; bytes * self.len()];
        for (value, buffer) in self.iter().zip(values.chunks_exact_mut(bytes)) {
            value.store(buffer, heap)?;
        }
        heap.push(&values, self.len() as u64).store(element)
    }
}

impl<T: H5Type, const N: usize> H5Type for [T; N] {
    fn datatype() -> Datatype {
        Datatype::array(&[N as u32], T::datatype())
    }
    fn element_bytes() -> usize {
        N * T::element_bytes()
    }
    fn load(element: &[u8], heap: &Heap) -> Result<Self> {
        let bytes = T::element_bytes();
        let values =
            element.chunks_exact(bytes).take(N).map(|e| T::load(e, heap)).collect::<Result<Vec<T>>>()?;
        values.try_into().map_err(|_| short(element))
    }
    fn store(&self, element: &mut [u8], heap: &mut Heap) -> Result<()> {
        let bytes = T::element_bytes();
        self.iter().zip(element.chunks_exact_mut(bytes)).try_for_each(|(v, e)| v.store(e, heap))
    }
}

impl H5Type for Reference {
    fn datatype() -> Datatype {
        Datatype::reference(model::datatype::ReferenceKind::Object)
    }
    fn load(element: &[u8], heap: &Heap) -> Result<Self> {
        heap.load_reference(element)
    }
    fn store(&self, element: &mut [u8], heap: &mut Heap) -> Result<()> {
        heap.store_reference(self.clone(), element)
    }
}

/// Returns the values of packed elements.
pub(crate) fn load_all<T: H5Type>(elements: &[u8], heap: &Heap) -> Result<Vec<T>> {
    let mut values = Vec::new();
    T::load_more(elements, heap, &mut values)?;
    Ok(values)
}

/// Returns values as packed elements.
pub(crate) fn store_all<T: H5Type>(values: &[T], heap: &mut Heap) -> Result<Vec<u8>> {
    let mut elements = Vec::new();
    store_into(values, heap, &mut elements)?;
    Ok(elements)
}

/// Stores values as packed elements in a buffer that may have been used before.
pub(crate) fn store_into<T: H5Type>(values: &[T], heap: &mut Heap, elements: &mut Vec<u8>) -> Result<()> {
    if let Some(bytes) = T::bytes(values) {
        elements.clear();
        elements.extend_from_slice(bytes);
        return Ok(());
    }
    // A size that the compiler knows lets it see that every member lies within its element.
    let bytes = T::element_bytes();
    // Every byte is stored to: those of before need not be zeros.
    elements.resize(bytes * values.len(), 0);
    values.iter().zip(elements.chunks_exact_mut(bytes)).try_for_each(|(v, e)| v.store(e, heap))
}
