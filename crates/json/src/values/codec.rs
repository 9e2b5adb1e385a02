//! Elements in the memory datatype, to JSON and back.

use model::datatype::{StringPad, VarLenKind};
use model::heap::VarLenDescriptor;
use model::{Datatype, Error, Heap, Limits, Result, text};

use super::floats::Real;
use super::integers::IntegerForm;
use super::{Objects, raw_from_json, references, unfit};
use crate::names::{from_hex, hex};
use crate::text::Value;

/// How elements of one type become JSON.
#[derive(Debug)]
pub struct Codec {
    node: Node,
    bytes: usize,
}

#[derive(Debug)]
enum Node {
    Whole(IntegerForm),
    Real(Box<Real>),
    Text(StringPad),
    Opaque,
    /// Offset and size of each member.
    Compound(Vec<(usize, Codec)>),
    Reference,
    VarText,
    Sequence(Box<Codec>),
    Array(Vec<usize>, Box<Codec>),
    Complex(Box<Codec>),
}

/// The state of reading values: the heap of their parts, the objects that they refer to, and the bytes that are left of the budget.
pub struct Reading<'a> {
    /// Where variable-length values and references go.
    pub heap: &'a mut Heap,
    /// The objects that references refer to.
    pub objects: &'a dyn Objects,
    /// Bytes that may still be taken.
    pub budget: u64,
    /// Bounds of selections.
    pub limits: &'a Limits,
}

impl std::fmt::Debug for Reading<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Reading").field("budget", &self.budget).finish_non_exhaustive()
    }
}

impl Reading<'_> {
    fn take(&mut self, bytes: usize) -> Result<()> {
        let left = self.budget.checked_sub(bytes as u64);
        self.budget =
            left.ok_or_else(|| Error::limit("read JSON elements").with("bytes left", self.budget))?;
        Ok(())
    }
}

impl Codec {
    /// Returns the codec of a type, of which the memory datatype counts.
    pub fn new(datatype: &Datatype) -> Codec {
        Self::of(&datatype.memory_type())
    }

    fn of(datatype: &Datatype) -> Codec {
        let node = match datatype {
            Datatype::Float(float) => Node::Real(Box::new(Real::of(float))),
            Datatype::String(t) => Node::Text(t.padding),
            Datatype::Opaque(_) => Node::Opaque,
            Datatype::Compound(t) => {
                Node::Compound(t.members.iter().map(|m| (m.offset as usize, Self::of(&m.datatype))).collect())
            }
            Datatype::Reference(_) => Node::Reference,
            Datatype::Enum(t) => return Self::of(&t.base),
            Datatype::VarLen(t) => match &t.kind {
                VarLenKind::String { .. } => Node::VarText,
                VarLenKind::Sequence(base) => Node::Sequence(Box::new(Self::of(base))),
            },
            Datatype::Array(t) => {
                Node::Array(t.dims.iter().map(|&d| d as usize).collect(), Box::new(Self::of(&t.base)))
            }
            Datatype::Complex(t) => Node::Complex(Box::new(Self::of(&t.base))),
            other => IntegerForm::of(other).map_or(Node::Opaque, Node::Whole),
        };
        Codec { node, bytes: datatype.size() as usize }
    }

    /// Returns the number of bytes of an element in the memory datatype.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Returns one element as JSON.
    pub fn show(&self, element: &[u8], heap: &Heap, objects: &dyn Objects) -> Result<Value<'static>> {
        Ok(match &self.node {
            Node::Whole(whole) => whole.show(element),
            Node::Real(real) => real.show(element),
            Node::Text(padding) => text::from_bytes(trimmed(element, *padding)).into(),
            Node::Opaque => hex(element).into(),
            Node::Compound(members) => {
                let member = |(at, codec): &(usize, Codec)| {
                    codec.show(part(element, *at, codec.bytes)?, heap, objects)
                };
                members.iter().map(member).collect::<Result<Vec<_>>>()?.into()
            }
            Node::Reference => references::reference_to_json(&heap.load_reference(element)?, objects)?,
            Node::VarText => match VarLenDescriptor::load(element)? {
                descriptor if descriptor.is_null() => Value::Null,
                descriptor => text::from_bytes(heap.get(descriptor, 1)?).into(),
            },
            Node::Sequence(base) => match VarLenDescriptor::load(element)? {
                descriptor if descriptor.is_null() => Value::Null,
                descriptor => base.show_list(heap.get(descriptor, base.bytes as u64)?, heap, objects)?.into(),
            },
            Node::Array(dims, base) => base.show_all(dims, element, heap, objects)?,
            Node::Complex(base) => base.show_list(element, heap, objects)?.into(),
        })
    }

    fn show_list(&self, bytes: &[u8], heap: &Heap, objects: &dyn Objects) -> Result<Vec<Value<'static>>> {
        bytes.chunks_exact(self.bytes.max(1)).map(|element| self.show(element, heap, objects)).collect()
    }

    /// Returns the elements of an extent, in lists of lists; without dimensions, the one element.
    pub fn show_all(
        &self,
        dims: &[usize],
        bytes: &[u8],
        heap: &Heap,
        objects: &dyn Objects,
    ) -> Result<Value<'static>> {
        let Some((&count, inner)) = dims.split_first() else { return self.show(bytes, heap, objects) };
        if inner.is_empty() {
            return Ok(self.show_list(bytes, heap, objects)?.into());
        }
        if count == 0 || bytes.is_empty() {
            return Ok(Value::Array(Vec::new()));
        }
        let rows = bytes.chunks_exact(bytes.len() / count);
        Ok(rows.map(|row| self.show_all(inner, row, heap, objects)).collect::<Result<Vec<_>>>()?.into())
    }

    /// Appends the element that JSON means.
    pub fn parse(&self, value: &Value<'_>, out: &mut Vec<u8>, reading: &mut Reading<'_>) -> Result<()> {
        reading.take(self.bytes)?;
        match &self.node {
            Node::Whole(whole) => out.extend(whole.parse(value)?),
            Node::Real(real) => out.extend(real.parse(value)?),
            Node::Text(padding) => out.extend(self.fixed_text(value, *padding)?),
            Node::Opaque => out.extend(self.opaque(value)?),
            Node::Compound(members) => self.compound(members, value, out, reading)?,
            Node::Reference => {
                let blocks_max = reading.limits.selection_blocks_max;
                let reference = references::reference_from_json(value, reading.objects, blocks_max)?;
                let mut descriptor = [0; 16];
                reading.heap.store_reference(reference, &mut descriptor)?;
                out.extend(descriptor);
            }
            Node::VarText if *value == Value::Null => out.extend([0; 16]),
            Node::VarText => {
                let bytes = text::to_bytes(value.text()?);
                reading.take(bytes.len())?;
                push_descriptor(reading.heap.push(&bytes, bytes.len() as u64), out)?;
            }
            Node::Sequence(_) if *value == Value::Null => out.extend([0; 16]),
            Node::Sequence(base) => {
                let (entries, mut bytes) = (value.array()?, Vec::new());
                entries.iter().try_for_each(|entry| base.parse(entry, &mut bytes, reading))?;
                push_descriptor(reading.heap.push(&bytes, entries.len() as u64), out)?;
            }
            Node::Array(dims, base) => base.parse_all(dims, value, out, reading)?,
            Node::Complex(base) => base.parse_all(&[2], value, out, reading)?,
        }
        Ok(())
    }

    /// Appends the elements of an extent.
    pub fn parse_all(
        &self,
        dims: &[usize],
        value: &Value<'_>,
        out: &mut Vec<u8>,
        reading: &mut Reading<'_>,
    ) -> Result<()> {
        let Some((&count, inner)) = dims.split_first() else { return self.parse(value, out, reading) };
        let entries = value.array()?;
        // An extent without elements may be written as one empty list.
        if entries.is_empty() && dims.contains(&0) {
            return Ok(());
        }
        if entries.len() != count {
            return Err(unfit("list as long as the extent", value).with("extent", count));
        }
        entries.iter().try_for_each(|entry| self.parse_all(inner, entry, out, reading))
    }

    fn fixed_text(&self, value: &Value<'_>, padding: StringPad) -> Result<Vec<u8>> {
        let mut bytes = text::to_bytes(value.text()?);
        if bytes.len() > self.bytes {
            return Err(unfit("shorter string", value).with("bytes", self.bytes));
        }
        bytes.resize(self.bytes, pad_byte(padding));
        Ok(bytes)
    }

    fn opaque(&self, value: &Value<'_>) -> Result<Vec<u8>> {
        let bytes = match raw_from_json(value, self.bytes)? {
            Some(bytes) => bytes,
            None => from_hex(value.text()?)?,
        };
        match bytes.len() == self.bytes {
            true => Ok(bytes),
            false => Err(unfit("as many bytes as an element has", value).with("bytes", self.bytes)),
        }
    }

    fn compound(
        &self,
        members: &[(usize, Codec)],
        value: &Value<'_>,
        out: &mut Vec<u8>,
        reading: &mut Reading<'_>,
    ) -> Result<()> {
        let entries = value.array()?;
        if entries.len() != members.len() {
            return Err(unfit("one value for each member", value).with("members", members.len()));
        }
        let start = out.len();
        out.resize(start + self.bytes, 0);
        for ((at, codec), entry) in members.iter().zip(entries) {
            let mut bytes = Vec::new();
            codec.parse(entry, &mut bytes, reading)?;
            let place = out.get_mut(start + at..start + at + codec.bytes);
            let place = place.ok_or_else(|| unfit("member inside of its compound", entry))?;
            place.copy_from_slice(&bytes);
        }
        Ok(())
    }
}

fn part(element: &[u8], at: usize, len: usize) -> Result<&[u8]> {
    element.get(at..at + len).ok_or_else(|| Error::invalid("write JSON element").with("bytes", element.len()))
}

fn push_descriptor(descriptor: VarLenDescriptor, out: &mut Vec<u8>) -> Result<()> {
    let mut bytes = [0; 16];
    descriptor.store(&mut bytes)?;
    out.extend(bytes);
    Ok(())
}

fn pad_byte(padding: StringPad) -> u8 {
    if padding == StringPad::SpacePadded { b' ' } else { 0 }
}

/// Returns text without its padding, which comes back as it was: what else is in the field stays.
fn trimmed(element: &[u8], padding: StringPad) -> &[u8] {
    let end = element.iter().rposition(|&b| b != pad_byte(padding)).map_or(0, |last| last + 1);
    &element[..end]
}

#[cfg(test)]
mod tests {
    use model::datatype::{Compound, Member, Opaque};
    use model::{ByteOrder, CharacterSet};

    use super::super::Strangers;
    use super::*;
    use crate::text::{read, write};

    fn again(datatype: &Datatype, element: &[u8], heap: &Heap) -> String {
        let codec = Codec::new(datatype);
        let value = codec.show(element, heap, &Strangers).unwrap();
        let (mut out, mut new_heap) = (Vec::new(), Heap::new());
        let limits = Limits::default();
        let mut reading =
            Reading { heap: &mut new_heap, objects: &Strangers, budget: 1 << 20, limits: &limits };
        let text = write(&value).unwrap();
        codec.parse(&read(&text).unwrap(), &mut out, &mut reading).unwrap();
        assert_eq!(codec.show(&out, &new_heap, &Strangers).unwrap(), value);
        if !datatype.has_descriptors() {
            assert_eq!(out, element, "{text}");
        }
        text.trim_end().to_owned()
    }

    #[test]
    fn strings_keep_every_byte() {
        for padding in [StringPad::NullTerminated, StringPad::NullPadded, StringPad::SpacePadded] {
            let datatype = Datatype::fixed_string(6, padding, CharacterSet::Ascii);
            for bytes in [b"abc\0\0\0", b"abc   ", b"a\0b\0\0x", b"caf\xe9\0\0", b"      ", b"\0\0\0\0\0\0"] {
                again(&datatype, bytes, &Heap::new());
            }
        }
    }

    #[test]
    fn nested_values_read_back() {
        let mut heap = Heap::new();
        let text = heap.push(b"hello", 5);
        let mut inner = vec![0; 48];
        text.store(&mut inner).unwrap();
        let empty = heap.push(b"", 0);
        empty.store(&mut inner[16..]).unwrap();
        let outer = heap.push(&inner, 3);
        let members = vec![
            Member { name: "a".into(), offset: 4, datatype: Datatype::integer(2, true, ByteOrder::Big) },
            Member {
                name: "b".into(),
                offset: 8,
                datatype: Datatype::var_sequence(Datatype::var_string(CharacterSet::Utf8)),
            },
            Member {
                name: "c".into(),
                offset: 24,
                datatype: Datatype::array(&[2, 2], Datatype::native_uint(1)),
            },
        ];
        let datatype = Datatype::Compound(Compound { size: 30, members });
        let mut element = vec![0; 30];
        element[4..6].copy_from_slice(&(-5i16).to_be_bytes());
        outer.store(&mut element[8..]).unwrap();
        element[24..28].copy_from_slice(&[1, 2, 3, 4]);
        let text = again(&datatype, &element, &heap);
        let flat: String = text.split_whitespace().collect();
        assert_eq!(flat, "[-5,[\"hello\",\"\",null],[[1,2],[3,4]]]");
    }

    #[test]
    fn opaque_bytes_are_digits() {
        let datatype = Datatype::Opaque(Opaque { size: 3, tag: String::new() });
        assert_eq!(again(&datatype, &[0, 0xAB, 1], &Heap::new()), "\"00ab01\"");
    }

    #[test]
    fn a_small_text_cannot_take_much_memory() {
        let wide = Datatype::fixed_string(1 << 20, StringPad::NullPadded, CharacterSet::Ascii);
        let codec = Codec::new(&Datatype::var_sequence(wide));
        let text = format!("[{}\"\"]", "\"\",".repeat(10_000));
        let (mut heap, limits) = (Heap::new(), Limits::default());
        let mut reading = Reading { heap: &mut heap, objects: &Strangers, budget: 1 << 24, limits: &limits };
        let error = codec.parse(&read(&text).unwrap(), &mut Vec::new(), &mut reading).unwrap_err();
        assert_eq!(error.kind(), model::Kind::Limit);
    }
}
