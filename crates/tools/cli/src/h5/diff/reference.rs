//! Differences of what references point to.

use hyperslab::vol::model::Heap;
use hyperslab::{Kind, ObjectKind, Reference, ReferenceTarget, Result, Selection, Token};

use super::datum::Values;
use super::{attribute, dataset};
use crate::h5::ls::source::ObjectAt;

impl Values<'_, '_, '_> {
    /// Compares what two references point to.
    pub(super) fn reference(&mut self, bytes: [&[u8]; 2], heaps: [&Heap; 2]) -> Result<u64> {
        let targets = [heaps[0].load_reference(bytes[0])?, heaps[1].load_reference(bytes[1])?];
        if targets[0].is_null() || targets[1].is_null() {
            return Ok(u64::from(targets[0].is_null() != targets[1].is_null()));
        }
        let [a, b] = &targets;
        match (&a.target, &b.target) {
            (ReferenceTarget::Object(_), ReferenceTarget::Object(_)) => self.objects([a, b]),
            (
                ReferenceTarget::Region { selection: first, .. },
                ReferenceTarget::Region { selection: second, .. },
            ) => self.regions([a, b], [first, second]),
            (
                ReferenceTarget::Attribute { name: first, .. },
                ReferenceTarget::Attribute { name: second, .. },
            ) => self.attributes([a, b], [first, second]),
            _ => Ok(1),
        }
    }

    /// Returns the object that a reference of the first or second side leads to.
    fn target(&self, side: usize, reference: &Reference) -> Result<ObjectAt> {
        let place = self.places[side];
        let token = reference.token().unwrap_or(Token([0; 16]));
        match &reference.file {
            Some(file) => Ok(ObjectAt { token, ..place.next_to(file)? }),
            None => Ok(ObjectAt { token, ..place.clone() }),
        }
    }

    fn objects(&mut self, references: [&Reference; 2]) -> Result<u64> {
        let places = [self.target(0, references[0])?, self.target(1, references[1])?];
        let kind = |place: &ObjectAt| place.container().object_info(place.token).map(|info| info.kind);
        let kinds = match (kind(&places[0]), kind(&places[1])) {
            (Ok(a), Ok(b)) => [a, b],
            (Err(error), _) | (_, Err(error)) => {
                self.report.fail(&error);
                return Ok(0);
            }
        };
        if kinds[0] != kinds[1] {
            let [first, second] = self.table.names;
            self.report.say(&format!("Different object types referenced: <{first}> and <{second}>"));
            (self.report.incomparable, self.report.failed) = (true, true);
            return Ok(0);
        }
        if kinds[0] != ObjectKind::Dataset {
            // Without names, as h5diff 1.10 has it.
            self.report.remark(
                "Warning: Comparison not possible of object types referenced: <(null)> and <(null)>\n",
            );
            self.report.incomparable = true;
            return Ok(0);
        }
        let depth = self.deeper()?;
        let datasets = dataset::Pair { places: [&places[0], &places[1]], names: self.table.names, depth };
        datasets.compare(self.report, [None, None])
    }

    fn attributes(&mut self, references: [&Reference; 2], names: [&str; 2]) -> Result<u64> {
        let mut found = Vec::new();
        for side in 0..2 {
            let place = self.target(side, references[side])?;
            match place.container().attribute_info(place.token, names[side]) {
                Ok(Some(info)) => found.push((place, info)),
                Ok(None) => {
                    let number = side + 1;
                    self.report.say(&format!("Warning: Cannot open referenced attribute{number}\n"));
                    return Ok(0);
                }
                Err(error) if error.kind() != Kind::Corrupt => {
                    let number = side + 1;
                    self.report.say(&format!("Warning: Cannot open referenced attribute{number}\n"));
                    return Ok(0);
                }
                Err(error) => return Err(error),
            }
        }
        let depth = self.deeper()?;
        let [(first, a), (second, b)] = &found[..] else { return Ok(0) };
        let pair = attribute::Pair { places: [first, second], paths: self.table.names, depth };
        pair.compare(self.report, [a, b])
    }

    fn regions(&mut self, references: [&Reference; 2], selections: [&Selection; 2]) -> Result<u64> {
        let places = [self.target(0, references[0])?, self.target(1, references[1])?];
        let dims = |place: &ObjectAt| -> Result<Vec<u64>> {
            Ok(place.container().dataset_info(place.token)?.space.dims().to_vec())
        };
        let dims = [dims(&places[0])?, dims(&places[1])?];
        let lists = [Region::of(selections[0], &dims[0])?, Region::of(selections[1], &dims[1])?];
        let [first, second] = &lists;
        let comparable = first.is_points == second.is_points
            && first.corners.len() == second.corners.len()
            && dims[0].len() == dims[1].len();
        if !comparable {
            self.report.incomparable = true;
            return Ok(0);
        }
        let found = first.differences(second);
        if found > 0 && self.report.options.verbose {
            if !first.is_points {
                let [a, b] = [&places[0], &places[1]].map(|place| place.token.to_u64());
                let line = format!("Referenced dataset      {a}            {b}\n{}\n", "-".repeat(60));
                self.report.say(&line);
            }
            self.report.say(&first.lines(second));
        }
        Ok(found / dims[0].len().max(1) as u64)
    }
}

/// The blocks or points of a region, as first and last corner.
struct Region {
    is_points: bool,
    corners: Vec<(Vec<u64>, Vec<u64>)>,
}

/// Blocks of a region that are compared at most.
const BLOCKS_MAX: u64 = 1 << 24;

impl Region {
    fn of(selection: &Selection, dims: &[u64]) -> Result<Region> {
        if let Selection::Points(points) = selection {
            let corners = points.iter().map(|point| (point.to_vec(), point.to_vec())).collect();
            return Ok(Region { is_points: true, corners });
        }
        let count = selection.block_count(dims)?;
        if count > BLOCKS_MAX {
            return Err(hyperslab::Error::limit("compare regions").with("blocks", count));
        }
        let corners = selection.blocks(dims)?.map(|(first, last)| (first.to_vec(), last.to_vec())).collect();
        Ok(Region { is_points: false, corners })
    }

    /// Returns the coordinates that differ; a start and an end that both do count once.
    fn differences(&self, other: &Region) -> u64 {
        let coordinates = |region: &Region| -> Vec<(u64, u64)> {
            let each = region.corners.iter();
            each.flat_map(|(a, b)| a.iter().copied().zip(b.iter().copied()).collect::<Vec<_>>()).collect()
        };
        let (a, b) = (coordinates(self), coordinates(other));
        a.iter().zip(&b).filter(|(a, b)| a != b).count() as u64
    }

    /// Returns all blocks; of points, those that differ.
    fn lines(&self, other: &Region) -> String {
        let mut text = if self.is_points { "Region points\n" } else { "Region blocks\n" }.to_owned();
        for (i, (a, b)) in self.corners.iter().zip(&other.corners).enumerate() {
            if self.is_points && a != b {
                let (a, b) = (corner(&a.0), corner(&b.0));
                text += &format!("point #{i}{:14}{a}{:14}{b}\n", "", "");
            } else if !self.is_points {
                let block = |(first, last): &(Vec<u64>, Vec<u64>)| {
                    format!("{:11}{}-{}", "", corner(first), corner(last))
                };
                text += &format!("block #{i}{}{}\n", block(a), block(b));
            }
        }
        text
    }
}

fn corner(at: &[u64]) -> String {
    let at: Vec<String> = at.iter().map(u64::to_string).collect();
    format!("({})", at.join(","))
}
