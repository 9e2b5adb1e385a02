//! Elements between the common form of both sides (see `values.py`) and Hyperslab's memory.

use std::collections::BTreeSet;

use model::datatype::{MEMORY_SLOT_BYTES, VarLen, VarLenKind};
use model::heap::{Heap, VarLenDescriptor};
use model::{Datatype, Error, Reference, ReferenceTarget, Result, Selection, Token};

fn wrong(problem: &str) -> Error {
    Error::invalid("convert elements").with("problem", problem)
}

/// From the common form to memory.
pub(crate) struct Packer<'a> {
    pub(crate) heap: Heap,
    rest: &'a [u8],
    find: &'a dyn Fn(&str) -> Result<Token>,
}

impl<'a> Packer<'a> {
    pub(crate) fn new(data: &'a [u8], find: &'a dyn Fn(&str) -> Result<Token>) -> Self {
        Packer { heap: Heap::new(), rest: data, find }
    }

    /// All that is there, as elements of a type in the memory datatype.
    pub(crate) fn elements(&mut self, datatype: &Datatype) -> Result<Vec<u8>> {
        let mut out = Vec::new();
        while !self.rest.is_empty() {
            let at = out.len();
            out.resize(at + datatype.size() as usize, 0);
            self.put(datatype, &mut out[at..])?;
        }
        Ok(out)
    }

    fn take(&mut self, len: usize) -> Result<&'a [u8]> {
        let (now, later) = self.rest.split_at_checked(len).ok_or_else(|| wrong("too few bytes"))?;
        self.rest = later;
        Ok(now)
    }

    fn count(&mut self) -> Result<usize> {
        let raw = self.take(4)?;
        raw.first_chunk().map(|raw| u32::from_le_bytes(*raw) as usize).ok_or_else(|| wrong("no count"))
    }

    fn put(&mut self, datatype: &Datatype, into: &mut [u8]) -> Result<()> {
        match datatype {
            Datatype::Compound(t) => t.members.iter().try_for_each(|member| {
                let at = member.offset as usize;
                self.put(&member.datatype, &mut into[at..at + member.datatype.size() as usize])
            }),
            Datatype::Array(t) => {
                let step = t.base.size() as usize;
                into.chunks_exact_mut(step).try_for_each(|element| self.put(&t.base, element))
            }
            Datatype::VarLen(VarLen { kind: VarLenKind::Sequence(base), .. }) => self.sequence(base, into),
            Datatype::VarLen(_) => {
                let len = self.count()?;
                let text = self.take(len)?;
                self.heap.push(text, len as u64).store(into)
            }
            Datatype::Reference(_) => {
                let len = self.count()?;
                let reference = self.reference(self.rest.get(..len).unwrap_or_default())?;
                self.take(len)?;
                self.heap.store_reference(reference, into)
            }
            _ => {
                let len = into.len();
                into.copy_from_slice(self.take(len)?);
                Ok(())
            }
        }
    }

    fn sequence(&mut self, base: &Datatype, into: &mut [u8]) -> Result<()> {
        let (count, step) = (self.count()?, base.size() as usize);
        if count == 0 {
            return Ok(());
        }
        let mut value = vec![0; count * step];
        value.chunks_exact_mut(step).try_for_each(|element| self.put(base, element))?;
        self.heap.push(&value, count as u64).store(into)
    }

    fn reference(&self, text: &[u8]) -> Result<Reference> {
        let text = std::str::from_utf8(text).map_err(|_| wrong("a path is not text"))?;
        if text.is_empty() {
            return Ok(Reference::null());
        }
        let (kind, rest) = text.split_once('|').ok_or_else(|| wrong("reference"))?;
        if kind == "o" {
            return Ok(Reference::object((self.find)(rest)?));
        }
        let (points, path) = rest.split_once('|').ok_or_else(|| wrong("region"))?;
        if kind == "a" {
            return Ok(Reference::attribute((self.find)(path)?, points));
        }
        if let "w" | "n" = kind {
            let selection = if kind == "w" { Selection::All } else { Selection::None };
            return Ok(Reference::region((self.find)(path)?, selection));
        }
        let points: Vec<Vec<u64>> = points
            .split(';')
            .map(|point| point.split(',').map(|n| n.parse().map_err(|_| wrong("point"))).collect())
            .collect::<Result<_>>()?;
        let rank = points.first().map_or(0, Vec::len);
        let selection = match kind {
            "p" => Selection::points(rank, points.concat())?,
            _ => Selection::union_of_blocks(rank, &doubled(&points))?,
        };
        Ok(Reference::region((self.find)(path)?, selection))
    }
}

/// Points as blocks of one element.
fn doubled(points: &[Vec<u64>]) -> Vec<u64> {
    points.iter().flat_map(|point| [point.clone(), point.clone()].concat()).collect()
}

/// From memory to the common form.
pub(crate) struct Unpacker<'a> {
    pub(crate) heap: &'a Heap,
    pub(crate) tell: &'a dyn Fn(Token) -> String,
    pub(crate) dims: &'a dyn Fn(Token) -> Result<Vec<u64>>,
}

impl Unpacker<'_> {
    pub(crate) fn elements(&self, datatype: &Datatype, data: &[u8]) -> Result<Vec<u8>> {
        let mut out = Vec::new();
        for element in data.chunks_exact(datatype.size() as usize) {
            self.take(datatype, element, &mut out)?;
        }
        Ok(out)
    }

    fn take(&self, datatype: &Datatype, from: &[u8], out: &mut Vec<u8>) -> Result<()> {
        match datatype {
            Datatype::Compound(t) => t.members.iter().try_for_each(|member| {
                let at = member.offset as usize;
                self.take(&member.datatype, &from[at..at + member.datatype.size() as usize], out)
            }),
            Datatype::Array(t) => {
                from.chunks_exact(t.base.size() as usize).try_for_each(|part| self.take(&t.base, part, out))
            }
            Datatype::VarLen(t) => {
                let descriptor = VarLenDescriptor::load(from)?;
                out.extend((descriptor.count as u32).to_le_bytes());
                match &t.kind {
                    VarLenKind::Sequence(base) => {
                        out.extend(self.elements(base, self.heap.get(descriptor, base.size().into())?)?);
                    }
                    VarLenKind::String { .. } => out.extend(self.heap.get(descriptor, 1)?),
                }
                Ok(())
            }
            Datatype::Reference(_) => {
                let text = self.reference(&self.heap.load_reference(&from[..MEMORY_SLOT_BYTES as usize])?)?;
                out.extend((text.len() as u32).to_le_bytes());
                out.extend(text.as_bytes());
                Ok(())
            }
            _ => {
                out.extend(from);
                Ok(())
            }
        }
    }

    fn reference(&self, reference: &Reference) -> Result<String> {
        Ok(match &reference.target {
            ReferenceTarget::Null => String::new(),
            ReferenceTarget::Object(token) => format!("o|{}", (self.tell)(*token)),
            ReferenceTarget::Region { dataset, selection: Selection::All } => {
                format!("w||{}", (self.tell)(*dataset))
            }
            ReferenceTarget::Region { dataset, selection: Selection::None } => {
                format!("n||{}", (self.tell)(*dataset))
            }
            ReferenceTarget::Region { dataset, selection } => {
                let (kind, points) = points(selection, &(self.dims)(*dataset)?)?;
                let text = |point: &Vec<u64>| point.iter().map(u64::to_string).collect::<Vec<_>>().join(",");
                let points: Vec<String> = points.iter().map(text).collect();
                format!("{kind}|{}|{}", points.join(";"), (self.tell)(*dataset))
            }
            ReferenceTarget::Attribute { object, name } => format!("a|{name}|{}", (self.tell)(*object)),
        })
    }
}

/// The elements of a selection: in its order for points, else in C order.
fn points(selection: &Selection, dims: &[u64]) -> Result<(&'static str, Vec<Vec<u64>>)> {
    if let Selection::Points(points) = selection {
        return Ok(("p", points.iter().map(<[u64]>::to_vec).collect()));
    }
    let mut all = BTreeSet::new();
    for run in selection.runs(dims)? {
        all.extend((run.offset..run.offset + run.len).map(|at| coordinates(at, dims)));
    }
    Ok(("h", all.into_iter().collect()))
}

fn coordinates(mut at: u64, dims: &[u64]) -> Vec<u64> {
    let mut point = vec![0; dims.len()];
    for (coordinate, &dim) in point.iter_mut().zip(dims).rev() {
        *coordinate = at % dim.max(1);
        at /= dim.max(1);
    }
    point
}
