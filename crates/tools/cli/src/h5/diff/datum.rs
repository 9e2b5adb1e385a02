//! Differences of single values of any type.

use hyperslab::vol::model::datatype::{Array, Compound, Enum, Float, Integer, StringPad, VarLenKind};
use hyperslab::vol::model::heap::VarLenDescriptor;
use hyperslab::vol::model::{Datatype, Heap};
use hyperslab::{Error, Result};

use super::number::{self, Number, Reals, Verdict, magnitude, real_line};
use super::report::{Report, column};
use super::table::Table;
use super::wide;
use crate::h5::ls::source::ObjectAt;
use crate::h5::render::number as stored;
use crate::h5::render::real::Real;
use crate::h5::render::text::{Escape, push_char};

/// How deep references to datasets of references are followed.
const DEPTH_MAX: u32 = 64;

/// Values of two datasets or attributes that are compared.
pub(crate) struct Values<'r, 'o, 't> {
    pub(crate) report: &'r mut Report<'o>,
    pub(crate) table: Table<'t>,
    /// Where references lead from.
    pub(crate) places: [&'t ObjectAt; 2],
    /// References that were followed to come here.
    pub(crate) depth: u32,
}

/// Elements in the memory datatype, and what they point into.
#[derive(Clone, Copy)]
pub(crate) struct Buffer<'a> {
    pub(crate) bytes: &'a [u8],
    pub(crate) heap: &'a Heap,
}

impl Values<'_, '_, '_> {
    /// Compares two buffers of elements; returns how many differences there are.
    pub(crate) fn compare(&mut self, datatype: &Datatype, a: Buffer<'_>, b: Buffer<'_>) -> Result<u64> {
        if a.bytes == b.bytes && !datatype.has_descriptors() {
            return Ok(0);
        }
        match plain(datatype) {
            Some(compare) => Ok(compare(self.report, &mut self.table, a.bytes, b.bytes)),
            None => self.elements(datatype, a, b),
        }
    }

    fn elements(&mut self, datatype: &Datatype, a: Buffer<'_>, b: Buffer<'_>) -> Result<u64> {
        let limit = self.report.options.count_max.unwrap_or(u64::MAX);
        let (descriptors, mut found) = (datatype.has_descriptors(), 0);
        let size = (datatype.size() as usize).max(1);
        let pairs = a.bytes.chunks_exact(size).zip(b.bytes.chunks_exact(size));
        for (element, (x, y)) in pairs.enumerate() {
            if descriptors || x != y {
                let heaps = [a.heap, b.heap];
                found += self.datum(element as u64, datatype, [x, y], heaps)?;
            }
            if found >= limit {
                break;
            }
        }
        Ok(found)
    }

    fn datum(
        &mut self,
        element: u64,
        datatype: &Datatype,
        bytes: [&[u8]; 2],
        heaps: [&Heap; 2],
    ) -> Result<u64> {
        match datatype {
            Datatype::Compound(t) => self.compound(element, t, bytes, heaps),
            Datatype::Array(t) => self.array(element, t, bytes, heaps),
            Datatype::Reference(_) => self.reference(bytes, heaps),
            Datatype::VarLen(t) => match &t.kind {
                VarLenKind::Sequence(base) => self.sequence(element, base, bytes, heaps),
                VarLenKind::String { .. } => self.var_string(element, bytes, heaps),
            },
            Datatype::String(t) => {
                let text = bytes.map(|b| if t.padding == StringPad::NullTerminated { text_of(b) } else { b });
                Ok(self.text(element, text, bytes))
            }
            _ if bytes[0] == bytes[1] => Ok(0),
            Datatype::Integer(t) => Ok(self.integer(element, t, bytes)),
            Datatype::Float(t) => Ok(self.float(element, t, bytes)),
            Datatype::Complex(t) => {
                let half = t.base.size() as usize;
                let pair = Array { dims: vec![2], base: t.base.clone() };
                self.array(element, &pair, bytes.map(|b| &b[..b.len().min(2 * half)]), heaps)
            }
            Datatype::Enum(t) => Ok(self.enumeration(element, t, bytes)),
            Datatype::Bitfield(_) | Datatype::Opaque(_) => Ok(self.octets(element, bytes)),
            Datatype::Time(_) => Ok(0),
        }
    }

    fn compound(&mut self, element: u64, t: &Compound, bytes: [&[u8]; 2], heaps: [&Heap; 2]) -> Result<u64> {
        let mut found = 0;
        for member in &t.members {
            let range = member.offset as usize..(member.offset + member.datatype.size()) as usize;
            let [Some(a), Some(b)] = bytes.map(|b| b.get(range.clone())) else { continue };
            found += self.datum(element, &member.datatype, [a, b], heaps)?;
        }
        Ok(found)
    }

    fn array(&mut self, element: u64, t: &Array, bytes: [&[u8]; 2], heaps: [&Heap; 2]) -> Result<u64> {
        let size = (t.base.size() as usize).max(1);
        let pairs = bytes[0].chunks_exact(size).zip(bytes[1].chunks_exact(size));
        pairs.map(|(a, b)| self.datum(element, &t.base, [a, b], heaps)).sum()
    }

    /// A sequence that is longer than the other differs from it, though no line shows that.
    fn sequence(
        &mut self,
        element: u64,
        base: &Datatype,
        bytes: [&[u8]; 2],
        heaps: [&Heap; 2],
    ) -> Result<u64> {
        let size = u64::from(base.size());
        let values = [
            heaps[0].get(VarLenDescriptor::load(bytes[0])?, size)?,
            heaps[1].get(VarLenDescriptor::load(bytes[1])?, size)?,
        ];
        let whole = Array { dims: Vec::new(), base: Box::new(base.clone()) };
        let longer = u64::from(values[0].len() != values[1].len());
        Ok(self.array(element, &whole, values, heaps)? + longer)
    }

    fn var_string(&mut self, element: u64, bytes: [&[u8]; 2], heaps: [&Heap; 2]) -> Result<u64> {
        let whole = [
            heaps[0].get(VarLenDescriptor::load(bytes[0])?, 1)?,
            heaps[1].get(VarLenDescriptor::load(bytes[1])?, 1)?,
        ];
        Ok(self.text(element, whole.map(text_of), whole))
    }

    /// Texts are compared character by character, the shorter one first; `whole` is what lies behind their ends.
    fn text(&mut self, element: u64, text: [&[u8]; 2], whole: [&[u8]; 2]) -> u64 {
        if text[0] == text[1] {
            return 0;
        }
        let lengths = text.map(<[u8]>::len);
        let (short, long) = if lengths[0] < lengths[1] { (0, 1) } else { (1, 0) };
        let common = lengths[short];
        let at = |side: usize, i: usize| whole[side].get(i).copied().unwrap_or(0);
        if lengths[0] == lengths[1] || text[short] != &text[long][..common] {
            let differ = (0..common).filter(|&i| at(short, i) != at(long, i));
            let differ: Vec<usize> = differ.collect();
            differ.iter().for_each(|&i| self.character(element, i, [at(short, i), at(long, i)]));
            return differ.len() as u64 + u64::from(lengths[0] != lengths[1]);
        }
        for i in (common..lengths[long]).filter(|&i| at(short, i) != at(long, i)) {
            self.character(element, i, [at(short, i), at(long, i)]);
        }
        1
    }

    fn character(&mut self, element: u64, at: usize, characters: [u8; 2]) {
        if !self.report.options.shows_data() {
            return;
        }
        self.table.place(self.report, element, Some(at), false);
        let mut line = b"  ".to_vec();
        push_char(&mut line, characters[0], Escape::C);
        line.extend_from_slice(&[b' '; 12]);
        push_char(&mut line, characters[1], Escape::C);
        line.push(b'\n');
        self.report.put(&line);
    }

    fn octets(&mut self, element: u64, bytes: [&[u8]; 2]) -> u64 {
        let options = self.report.options;
        // Of octets that are zero h5diff has no relative difference to tell.
        let differ = |a: u8, b: u8| a != b && a.verdict(b, options) != Verdict::NoPart;
        let pairs = bytes[0].iter().zip(bytes[1]).filter(|&(&a, &b)| differ(a, b));
        pairs.map(|(&a, &b)| number::compare_one(self.report, &mut self.table, element, a, b)).sum()
    }

    fn enumeration(&mut self, element: u64, t: &Enum, bytes: [&[u8]; 2]) -> u64 {
        let names = bytes.map(|b| {
            let member = t.members.iter().find(|(_, value)| value == b);
            member.map_or("**INVALID VALUE**", |(name, _)| name)
        });
        if self.report.options.shows_data() {
            self.table.place(self.report, element, None, false);
            let mut line = column(names[0], 16);
            line.push(b' ');
            line.extend(column(names[1], 17));
            line.push(b'\n');
            self.report.put(&line);
        }
        1
    }

    fn integer(&mut self, element: u64, t: &Integer, [a, b]: [&[u8]; 2]) -> u64 {
        let (report, table) = (&mut *self.report, &mut self.table);
        macro_rules! one {
            ($type:ty) => {
                number::compare_one(report, table, element, load::<$type>(a), load::<$type>(b))
            };
        }
        match (t.bits.size, t.signed) {
            (1, true) => one!(i8),
            (1, false) => one!(u8),
            (2, true) => one!(i16),
            (2, false) => one!(u16),
            (4, true) => one!(i32),
            (4, false) => one!(u32),
            (8, true) => one!(i64),
            (8, false) => one!(u64),
            // No machine type is as wide, and h5diff has no words for it.
            _ => 1,
        }
    }

    fn float(&mut self, element: u64, t: &Float, [a, b]: [&[u8]; 2]) -> u64 {
        let (report, table) = (&mut *self.report, &mut self.table);
        match t.bits.size {
            4 => number::compare_one(report, table, element, load::<f32>(a), load::<f32>(b)),
            8 => number::compare_one(report, table, element, load::<f64>(a), load::<f64>(b)),
            _ => self.wide_float(element, t, [a, b]),
        }
    }

    fn wide_float(&mut self, element: u64, t: &Float, bytes: [&[u8]; 2]) -> u64 {
        let [Some(a), Some(b)] = bytes.map(|b| stored::float(t, b)) else { return 1 };
        let difference = wide::difference(a, b);
        let values = [wide::double(a), wide::double(b)];
        let distance = wide::double(difference);
        let reals = Reals { values, distance: distance.abs(), step: -distance, epsilon: wide::EPSILON };
        let verdict = reals.verdict(self.report.options);
        if verdict == Verdict::Same {
            return 0;
        }
        if self.report.options.shows_data() {
            let relative = matches!(verdict, Verdict::Relative(_) | Verdict::NoPart);
            self.table.place(self.report, element, None, relative);
            let part = Real::Double(magnitude(1.0 - values[1] / values[0]));
            self.report.put(real_line([a, b, wide::magnitude(difference)], verdict, part).as_bytes());
        }
        1
    }

    /// Refuses to follow references without end.
    pub(super) fn deeper(&self) -> Result<u32> {
        if self.depth >= DEPTH_MAX {
            return Err(Error::limit("follow references").with("limit", DEPTH_MAX));
        }
        Ok(self.depth + 1)
    }
}

fn load<T: Number>(bytes: &[u8]) -> T {
    T::load(bytes)
}

/// Returns text up to its first NUL.
fn text_of(bytes: &[u8]) -> &[u8] {
    let end = bytes.iter().position(|&b| b == 0).unwrap_or(bytes.len());
    &bytes[..end]
}

type CompareAll = fn(&mut Report<'_>, &mut Table<'_>, &[u8], &[u8]) -> u64;

/// Returns the loop for a type of plain numbers.
fn plain(datatype: &Datatype) -> Option<CompareAll> {
    Some(match datatype {
        Datatype::Integer(t) => match (t.bits.size, t.signed) {
            (1, true) => number::compare::<i8>,
            (1, false) => number::compare::<u8>,
            (2, true) => number::compare::<i16>,
            (2, false) => number::compare::<u16>,
            // h5diff takes datasets of unsigned 32-bit numbers for signed ones; members of compounds it does not.
            (4, _) => number::compare::<i32>,
            (8, true) => number::compare::<i64>,
            (8, false) => number::compare::<u64>,
            _ => return None,
        },
        Datatype::Float(t) => match t.bits.size {
            4 => number::compare::<f32>,
            8 => number::compare::<f64>,
            _ => return None,
        },
        _ => return None,
    })
}
