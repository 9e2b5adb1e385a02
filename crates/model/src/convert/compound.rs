//! Compounds: members matched by name, moved in segments.

use super::soft::Number;
use super::{Conversions, Plan, Step};
use crate::datatype::Compound;
use crate::{Datatype, Error, Heap, Result};
use std::collections::HashMap;

/// Elements are converted in blocks of about this size, so that a block's members are gathered from cache.
const BLOCK_BYTES: usize = 32 << 10;
/// Gathering more elements at once gains nothing.
const BLOCK_ELEMENTS_MAX: usize = 1024;

/// The conversion of each part of a compound.
#[derive(Debug, Clone, Default)]
pub(super) struct Segments {
    copies: Vec<Copy>,
    members: Vec<Converted>,
    constants: Vec<Constant>,
}

/// Bytes that go over as they are.
#[derive(Debug, Clone)]
struct Copy {
    from: usize,
    to: usize,
    len: usize,
}

/// A member that a plan converts.
#[derive(Debug, Clone)]
struct Converted {
    from: usize,
    to: usize,
    plan: Plan,
}

/// Bytes that are the same in every target element.
#[derive(Debug, Clone)]
struct Constant {
    to: usize,
    bytes: Vec<u8>,
}

/// Returns the plan for elements of these sizes.
pub(super) fn plan(from_bytes: usize, to_bytes: usize, segments: Segments) -> Plan {
    let background = segments.leaves_gaps(to_bytes);
    match segments.copies.as_slice() {
        [Copy { from: 0, to: 0, len }] if *len == from_bytes && *len == to_bytes => {
            Plan { from_bytes, to_bytes, background: false, step: Step::Copy }
        }
        _ => Plan { from_bytes, to_bytes, background, step: Step::Compound(segments) },
    }
}

impl Segments {
    /// Matches the members of two compounds by name, nested ones too.
    pub(super) fn new(from: &Compound, to: &Compound, conversions: &Conversions) -> Result<Segments> {
        let mut segments = Segments::default();
        let by_name: HashMap<&str, _> = from.members.iter().map(|m| (m.name.as_str(), m)).collect();
        for target in &to.members {
            let Some(source) = by_name.get(target.name.as_str()) else { continue };
            check_inside(source.offset, &source.datatype, from.size)?;
            check_inside(target.offset, &target.datatype, to.size)?;
            let plan = Plan::compile(&source.datatype, &target.datatype, conversions)
                .map_err(|e| e.during(format!("convert member \"{}\"", target.name)))?;
            segments.add(source.offset as usize, target.offset as usize, plan);
        }
        segments.coalesce();
        Ok(segments)
    }

    /// Returns one member alone.
    pub(super) fn member(from: usize, to: usize, plan: Plan) -> Segments {
        let mut segments = Segments::default();
        segments.add(from, to, plan);
        segments
    }

    /// Returns a number as the first of two, the second zero.
    pub(super) fn with_zero(first: Plan, base: &Datatype) -> Result<Segments> {
        let zero = Constant { to: first.to_bytes, bytes: Number::new(base)?.zero() };
        let mut segments = Segments::member(0, 0, first);
        segments.constants.push(zero);
        Ok(segments)
    }

    /// Nested compounds dissolve into this one, so that their copies join with ours.
    fn add(&mut self, from: usize, to: usize, plan: Plan) {
        match plan.step {
            Step::Copy => self.copies.push(Copy { from, to, len: plan.to_bytes }),
            Step::Compound(inner) => {
                let shift = |s: Copy| Copy { from: s.from + from, to: s.to + to, len: s.len };
                self.copies.extend(inner.copies.into_iter().map(shift));
                let shift = |s: Converted| Converted { from: s.from + from, to: s.to + to, plan: s.plan };
                self.members.extend(inner.members.into_iter().map(shift));
                let shift = |s: Constant| Constant { to: s.to + to, bytes: s.bytes };
                self.constants.extend(inner.constants.into_iter().map(shift));
            }
            _ => self.members.push(Converted { from, to, plan }),
        }
    }

    pub(super) fn is_parallel(&self) -> bool {
        self.members.iter().all(|s| s.plan.is_parallel())
    }

    fn coalesce(&mut self) {
        self.copies.sort_by_key(|s| s.to);
        self.copies.dedup_by(|next, last| {
            let adjacent = last.from + last.len == next.from && last.to + last.len == next.to;
            last.len += if adjacent { next.len } else { 0 };
            adjacent
        });
    }

    fn leaves_gaps(&self, to_bytes: usize) -> bool {
        let copied: usize = self.copies.iter().map(|s| s.len).sum();
        let converted: usize = self.members.iter().map(|s| s.plan.to_bytes).sum();
        let constant: usize = self.constants.iter().map(|s| s.bytes.len()).sum();
        copied + converted + constant < to_bytes || self.members.iter().any(|s| s.plan.background)
    }

    pub(super) fn run(&self, from: &[u8], to: &mut [u8], count: usize, heap: &mut Heap) -> Result<()> {
        let Some(from_stride) = from.len().checked_div(count) else { return Ok(()) };
        let to_stride = to.len() / count;
        let block = (BLOCK_BYTES / from_stride.max(to_stride)).clamp(1, BLOCK_ELEMENTS_MAX).min(count);
        let mut buffers = Buffers::default();
        for (from, to) in from.chunks(block * from_stride).zip(to.chunks_mut(block * to_stride)) {
            let (from, mut to) =
                (Strided { bytes: from, stride: from_stride }, StridedMut { bytes: to, stride: to_stride });
            self.run_block(from, &mut to, &mut buffers, heap)?;
        }
        Ok(())
    }

    fn run_block(
        &self,
        from: Strided<'_>,
        to: &mut StridedMut<'_>,
        buffers: &mut Buffers,
        heap: &mut Heap,
    ) -> Result<()> {
        for s in &self.copies {
            copy_strided(from.from(s.from), &mut to.from(s.to), s.len);
        }
        for s in &self.constants {
            copy_strided(Strided { bytes: &s.bytes, stride: 0 }, &mut to.from(s.to), s.bytes.len());
        }
        for s in &self.members {
            buffers.convert(&s.plan, from.from(s.from), &mut to.from(s.to), heap)?;
        }
        Ok(())
    }
}

fn check_inside(offset: u32, member: &Datatype, size: u32) -> Result<()> {
    match offset.checked_add(member.size()) {
        Some(end) if end <= size => Ok(()),
        _ => {
            Err(Error::invalid("convert compound").with("member offset", offset).with("compound bytes", size))
        }
    }
}

/// Parts of elements, one each `stride` bytes. A stride of zero repeats the same one.
#[derive(Clone, Copy)]
struct Strided<'a> {
    bytes: &'a [u8],
    stride: usize,
}

struct StridedMut<'a> {
    bytes: &'a mut [u8],
    stride: usize,
}

impl<'a> Strided<'a> {
    fn from(self, offset: usize) -> Strided<'a> {
        Strided { bytes: &self.bytes[offset..], stride: self.stride }
    }
}

impl StridedMut<'_> {
    fn from(&mut self, offset: usize) -> StridedMut<'_> {
        StridedMut { bytes: &mut self.bytes[offset..], stride: self.stride }
    }
}

/// Copies `len` bytes of every element that the target has.
fn copy_strided(from: Strided<'_>, to: &mut StridedMut<'_>, len: usize) {
    match len {
        1 => each_pair(from, to, copy_fixed::<1>),
        2 => each_pair(from, to, copy_fixed::<2>),
        4 => each_pair(from, to, copy_fixed::<4>),
        8 => each_pair(from, to, copy_fixed::<8>),
        16 => each_pair(from, to, copy_fixed::<16>),
        3 => each_pair(from, to, |from, to| copy_ends::<2>(from, to, len)),
        5..8 => each_pair(from, to, |from, to| copy_ends::<4>(from, to, len)),
        9..16 => each_pair(from, to, |from, to| copy_ends::<8>(from, to, len)),
        17..=32 => each_pair(from, to, |from, to| copy_ends::<16>(from, to, len)),
        _ => each_pair(from, to, |from, to| to[..len].copy_from_slice(&from[..len])),
    }
}

/// Calls `copy` with every element's part and what follows it, of which all but the last have one length:
/// the loops check it once.
#[inline(always)]
fn each_pair(from: Strided<'_>, to: &mut StridedMut<'_>, copy: impl Fn(&[u8], &mut [u8])) {
    let Some(before_last) = to.bytes.len().checked_sub(1).map(|last| last / to.stride) else { return };
    let (to_whole, to_last) = to.bytes.split_at_mut(before_last * to.stride);
    let (from_whole, from_last) = from.bytes.split_at(before_last * from.stride);
    let targets = to_whole.chunks_exact_mut(to.stride);
    match from.stride {
        0 => targets.for_each(|to| copy(from_last, to)),
        stride => targets.zip(from_whole.chunks_exact(stride)).for_each(|(to, from)| copy(from, to)),
    }
    copy(from_last, to_last);
}

/// Copies a length that the compiler knows: a load and a store.
#[inline(always)]
fn copy_fixed<const N: usize>(from: &[u8], to: &mut [u8]) {
    if let (Some(to), Some(from)) = (to.first_chunk_mut::<N>(), from.first_chunk::<N>()) {
        *to = *from;
    }
}

/// Copies `N` to `2 * N` bytes as two pieces that may overlap.
#[inline(always)]
fn copy_ends<const N: usize>(from: &[u8], to: &mut [u8], len: usize) {
    let (from, to) = (&from[..len], &mut to[..len]);
    copy_fixed::<N>(from, to);
    if let (Some(to), Some(from)) = (to.last_chunk_mut::<N>(), from.last_chunk::<N>()) {
        *to = *from;
    }
}

/// A buffer in which members of a block stand side by side while they are converted.
#[derive(Default)]
struct Buffers {
    from: Vec<u8>,
    to: Vec<u8>,
}

impl Buffers {
    fn convert(
        &mut self,
        plan: &Plan,
        from: Strided<'_>,
        to: &mut StridedMut<'_>,
        heap: &mut Heap,
    ) -> Result<()> {
        let count = to.bytes.len().div_ceil(to.stride);
        if count == 1 {
            return plan.run_exact(&from.bytes[..plan.from_bytes], &mut to.bytes[..plan.to_bytes], 1, heap);
        }
        self.from.resize(count * plan.from_bytes, 0);
        self.to.resize(count * plan.to_bytes, 0);
        copy_strided(
            from,
            &mut StridedMut { bytes: &mut self.from, stride: plan.from_bytes },
            plan.from_bytes,
        );
        if plan.background {
            let old = Strided { bytes: to.bytes, stride: to.stride };
            copy_strided(old, &mut StridedMut { bytes: &mut self.to, stride: plan.to_bytes }, plan.to_bytes);
        }
        plan.run_exact(&self.from, &mut self.to, count, heap)?;
        copy_strided(Strided { bytes: &self.to, stride: plan.to_bytes }, to, plan.to_bytes);
        Ok(())
    }
}
