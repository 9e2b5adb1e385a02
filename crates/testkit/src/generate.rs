//! Deterministic generators: the same seed gives the same values, on every machine.

use model::datatype::{
    BitPad, Bits, Complex, Compound, Enum, Integer, Opaque, ReferenceKind, StringPad, Time,
};
use model::properties::{DatasetCreate, FileCreate, GroupCreate, Layout};
use model::{ByteOrder, CharacterSet, Dataspace, Datatype, LinkTarget, Result, Selection, Token, UNLIMITED};
use vol::{
    Container, LinkLocation, OpAttributeCreate, OpDatasetCreate, OpGroupCreate, OpLinkCreate, OpWrite,
};

/// A source of random values from a seed, by SplitMix64.
#[derive(Debug, Clone)]
pub struct Generator {
    seed: u64,
    state: u64,
}

/// Returns a seed for a random test, printed so that a failure can be repeated; `HYPERSLAB_SEED` sets it.
pub fn announced_seed(test: &str) -> u64 {
    let given = std::env::var("HYPERSLAB_SEED").ok().and_then(|seed| seed.parse().ok());
    let seed = given.unwrap_or_else(|| {
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        now.map_or(0, |now| now.as_nanos() as u64)
    });
    println!("{test}: seed {seed}");
    seed
}

impl Generator {
    /// From a seed.
    pub fn new(seed: u64) -> Self {
        Generator { seed, state: seed }
    }

    /// Returns the seed it was made from.
    pub fn seed(&self) -> u64 {
        self.seed
    }

    /// Any number.
    pub fn number(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.state;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// Returns a number below `bound`, or zero.
    pub fn below(&mut self, bound: u64) -> u64 {
        self.number() % bound.max(1)
    }

    /// Returns a number from `low` to `high`, both included.
    pub fn between(&mut self, low: u64, high: u64) -> u64 {
        low + self.below(high.saturating_sub(low) + 1)
    }

    /// True once in `n` times.
    pub fn one_in(&mut self, n: u64) -> bool {
        self.below(n) == 0
    }

    /// Returns one of some values.
    pub fn one_of<T: Clone>(&mut self, values: &[T]) -> T {
        values[self.below(values.len() as u64) as usize].clone()
    }

    /// Any bytes.
    pub fn bytes(&mut self, len: usize) -> Vec<u8> {
        (0..len).map(|_| self.number() as u8).collect()
    }

    /// Returns a short name, sometimes beyond ASCII.
    pub fn name(&mut self) -> String {
        let letters: Vec<char> = "abcdefgXYZ0189_- .éß数".chars().collect();
        let len = self.between(2, 9);
        (0..len).map(|_| self.one_of(&letters)).collect()
    }

    fn charset(&mut self) -> CharacterSet {
        self.one_of(&[CharacterSet::Ascii, CharacterSet::Utf8])
    }

    fn padding(&mut self) -> StringPad {
        self.one_of(&[StringPad::NullTerminated, StringPad::NullPadded, StringPad::SpacePadded])
    }

    fn order(&mut self) -> ByteOrder {
        self.one_of(&[ByteOrder::Little, ByteOrder::Big])
    }

    fn bits(&mut self) -> Bits {
        let size = self.one_of(&[1, 2, 4, 8]);
        let order = self.order();
        if !self.one_in(4) {
            return Bits::full(size, order);
        }
        let precision = self.between(1, u64::from(size) * 8) as u16;
        let offset = self.between(0, u64::from(size) * 8 - u64::from(precision)) as u16;
        let pad = |one| if one { BitPad::One } else { BitPad::Zero };
        Bits { size, order, offset, precision, low_pad: pad(self.one_in(2)), high_pad: pad(self.one_in(2)) }
    }

    fn float(&mut self) -> Datatype {
        let order = self.order();
        match self.below(3) {
            0 => Datatype::ieee_f16(order),
            1 => Datatype::ieee_f32(order),
            _ => Datatype::ieee_f64(order),
        }
    }

    fn integer(&mut self) -> Datatype {
        Datatype::Integer(Integer { bits: self.bits(), signed: self.one_in(2) })
    }

    fn enumeration(&mut self) -> Datatype {
        let base = Datatype::integer(self.one_of(&[1, 2, 4]), self.one_in(2), self.order());
        let count = self.between(1, 5) as u8;
        let value = |n: u8| vec![n; base.size() as usize];
        let members = (0..count).map(|n| (format!("value {n}"), value(n))).collect();
        Datatype::Enum(Enum { base: Box::new(base), members })
    }

    fn leaf(&mut self) -> Datatype {
        match self.below(8) {
            0 | 1 => self.integer(),
            2 => self.float(),
            3 => Datatype::fixed_string(self.between(1, 12) as u32, self.padding(), self.charset()),
            4 => Datatype::Bitfield(self.bits()),
            5 => Datatype::Opaque(Opaque { size: self.between(1, 9) as u32, tag: "bytes of a test".into() }),
            6 => self.enumeration(),
            _ => match self.one_in(3) {
                true => Datatype::Time(Time { size: 4, order: self.order(), precision: 32 }),
                false => Datatype::Complex(Complex { base: Box::new(self.float()) }),
            },
        }
    }

    /// Returns a type of any class that has no descriptors, nested at most `depth_max` deep.
    pub fn plain_datatype(&mut self, depth_max: u32) -> Datatype {
        self.nested_datatype(depth_max, false)
    }

    /// Returns a type of any class in the memory datatype, nested at most `depth_max` deep.
    pub fn datatype(&mut self, depth_max: u32) -> Datatype {
        self.nested_datatype(depth_max, true)
    }

    fn nested_datatype(&mut self, depth_max: u32, descriptors: bool) -> Datatype {
        if depth_max <= 1 || self.one_in(2) {
            return if descriptors && self.one_in(4) { self.descriptor() } else { self.leaf() };
        }
        match self.below(if descriptors { 3 } else { 2 }) {
            0 => {
                let count = self.between(1, 4);
                let members = (0..count)
                    .map(|n| (format!("member {n}"), self.nested_datatype(depth_max - 1, descriptors)));
                Datatype::Compound(Compound::packed(members.collect::<Vec<_>>()))
            }
            1 => {
                let dims: Vec<u32> = (0..self.between(1, 3)).map(|_| self.between(1, 3) as u32).collect();
                Datatype::array(&dims, self.nested_datatype(depth_max - 1, descriptors))
            }
            _ => Datatype::var_sequence(self.nested_datatype(depth_max - 1, descriptors)),
        }
    }

    fn descriptor(&mut self) -> Datatype {
        let kinds = [ReferenceKind::Object1, ReferenceKind::DatasetRegion1, ReferenceKind::Object];
        match self.one_in(2) {
            true => Datatype::var_string(self.charset()),
            false => Datatype::reference(self.one_of(&kinds)),
        }
    }

    /// Dimensions of some rank with at most `elements_max` elements; seldom an empty one.
    pub fn dims(&mut self, rank: usize, elements_max: u64) -> Vec<u64> {
        let mut left = elements_max.max(1);
        let mut dims = Vec::with_capacity(rank);
        for _ in 0..rank {
            let dim = self.between(1, left.min(9));
            left = (left / dim).max(1);
            dims.push(dim);
        }
        if rank > 0 && self.one_in(20) {
            dims[0] = 0;
        }
        dims
    }

    /// Returns a dataspace of any kind, with at most `elements_max` elements.
    pub fn dataspace(&mut self, elements_max: u64) -> Dataspace {
        let rank = self.below(5) as usize;
        if rank == 0 {
            return self.one_of(&[Dataspace::Null, Dataspace::Scalar]);
        }
        let dims = self.dims(rank, elements_max);
        // A dimension that stays at zero allows no chunks, which the others may need.
        let max = dims.iter().map(|&dim| match dim {
            0 => self.one_of(&[5, UNLIMITED]),
            _ => self.one_of(&[dim, dim + 5, UNLIMITED]),
        });
        let max: Vec<u64> = max.collect();
        Dataspace::resizable(&dims, &max).unwrap_or(Dataspace::Scalar)
    }

    /// Returns a selection of any kind inside an extent.
    pub fn selection(&mut self, dims: &[u64]) -> Selection {
        if dims.is_empty() || dims.contains(&0) {
            return self.one_of(&[Selection::All, Selection::None]);
        }
        let made = match self.below(10) {
            0 => Ok(Selection::All),
            1 => Ok(Selection::None),
            2 | 3 => self.points(dims),
            4..=6 => self.hyperslab(dims),
            _ => self.blocks(dims),
        };
        made.unwrap_or(Selection::All)
    }

    fn points(&mut self, dims: &[u64]) -> Result<Selection> {
        let count = self.between(1, 12);
        let coords = (0..count).flat_map(|_| dims.iter().map(|&dim| self.below(dim)).collect::<Vec<_>>());
        Selection::points(dims.len(), coords.collect())
    }

    fn hyperslab(&mut self, dims: &[u64]) -> Result<Selection> {
        let (mut start, mut stride, mut count, mut block) = (vec![], vec![], vec![], vec![]);
        for &dim in dims {
            let from = self.below(dim);
            let len = self.between(1, dim - from);
            let step = self.between(len, dim);
            start.push(from);
            block.push(len);
            stride.push(step);
            count.push(self.between(1, (dim - from - len) / step + 1));
        }
        Selection::hyperslab(&start, &stride, &count, &block)
    }

    fn blocks(&mut self, dims: &[u64]) -> Result<Selection> {
        let mut corners = Vec::new();
        for _ in 0..self.between(1, 4) {
            let low: Vec<u64> = dims.iter().map(|&dim| self.below(dim)).collect();
            let high: Vec<u64> =
                low.iter().zip(dims).map(|(&low, &dim)| self.between(low, dim - 1)).collect();
            corners.extend(low);
            corners.extend(high);
        }
        Selection::union_of_blocks(dims.len(), &corners)
    }

    /// Returns a layout that the extent allows.
    pub fn layout(&mut self, space: &Dataspace) -> Layout {
        let chunk = |generator: &mut Self| {
            let shape: Vec<u64> =
                space.max_dims().iter().map(|&max| generator.between(1, max.clamp(1, 6))).collect();
            Layout::chunked(&shape)
        };
        match (space.rank() > 0 && !space.max_dims().contains(&0), space.is_resizable()) {
            (true, true) => chunk(self),
            (true, false) if self.one_in(2) => chunk(self),
            _ => self.one_of(&[Layout::Contiguous, Layout::Compact]),
        }
    }

    /// Fills a group with groups, datasets, attributes and links; returns the objects it made.
    pub fn fill(&mut self, container: &dyn Container, group: Token, objects_max: u64) -> Result<Vec<Token>> {
        let (mut groups, mut made) = (vec![group], Vec::new());
        for n in 0..objects_max {
            let place =
                LinkLocation::new(self.one_of(&groups), format!("{} {n}", self.name().trim_matches('.')));
            match self.below(5) {
                0 => {
                    let create = GroupCreate::default();
                    groups.push(container.group_create(&OpGroupCreate { place: Some(place), create })?);
                    made.extend(groups.last());
                }
                1 => self.link(container, place, &made)?,
                _ => made.push(self.dataset(container, place)?),
            }
            if self.one_in(2) && container.info()?.capability.attributes {
                let object = made.last().copied().unwrap_or(group);
                self.attribute(container, object, n)?;
            }
        }
        Ok(made)
    }

    fn link(&mut self, container: &dyn Container, place: LinkLocation, made: &[Token]) -> Result<()> {
        let capability = container.info()?.capability;
        let target = match made.is_empty() || self.one_in(2) {
            false if capability.hard_links => LinkTarget::Hard(self.one_of(made)),
            _ if capability.soft_links => LinkTarget::Soft(format!("/{}", self.name())),
            _ => return Ok(()),
        };
        container.link_create(&OpLinkCreate { place, target })
    }

    fn dataset(&mut self, container: &dyn Container, place: LinkLocation) -> Result<Token> {
        let (datatype, space) = (self.plain_datatype(3), self.dataspace(200));
        let create = DatasetCreate { layout: self.layout(&space), ..DatasetCreate::default() };
        let bytes = space.element_count()? as usize * datatype.size() as usize;
        let op = OpDatasetCreate { place: Some(place), datatype, committed: None, space, create };
        let dataset = container.dataset_create(&op)?;
        let from = &self.bytes(bytes);
        container.dataset_write(&[OpWrite { dataset, selection: &Selection::All, from }])?;
        Ok(dataset)
    }

    fn attribute(&mut self, container: &dyn Container, object: Token, n: u64) -> Result<()> {
        let (name, datatype, space) =
            (format!("{} {n}", self.name()), self.plain_datatype(2), self.dataspace(20));
        let charset = if name.is_ascii() { CharacterSet::Ascii } else { CharacterSet::Utf8 };
        let bytes = space.element_count()? as usize * datatype.size() as usize;
        let op = OpAttributeCreate { object, name: name.clone(), charset, datatype, committed: None, space };
        container.attribute_create(&op)?;
        container.attribute_write(object, &name, &self.bytes(bytes))
    }

    /// Creation properties of a container.
    pub fn file_create(&mut self) -> FileCreate {
        let userblock_bytes = self.one_of(&[0, 512, 2048]);
        FileCreate { userblock_bytes, ..FileCreate::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_seed_gives_the_same_values() {
        let values = |seed| {
            let mut g = Generator::new(seed);
            (g.datatype(4), g.dataspace(100), g.selection(&[5, 6]), g.name())
        };
        assert_eq!(values(7), values(7));
        assert_ne!(values(7), values(8));
    }

    #[test]
    fn generated_values_are_valid() {
        let mut g = Generator::new(1);
        for _ in 0..2000 {
            g.datatype(4).validate(&model::Limits::default()).unwrap();
            let rank = g.between(1, 4) as usize;
            let dims = g.dims(rank, 100);
            g.selection(&dims).validate(&dims).unwrap();
            g.dataspace(100).element_count().unwrap();
        }
    }
}
