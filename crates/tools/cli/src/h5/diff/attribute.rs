//! Differences of attributes.

use std::cmp::Ordering;

use hyperslab::vol::algorithms::transfer::from_file_type;
use hyperslab::vol::model::Heap;
use hyperslab::vol::model::convert::Conversions;
use hyperslab::vol::{AttributeInfo, OpList, Pin};
use hyperslab::{Datatype, Result};

use super::comparable::{self, Shape};
use super::datum::{Buffer, Values};
use super::native;
use super::report::{Report, column};
use super::table::Table;
use crate::h5::ls::source::ObjectAt;

/// Two objects whose attributes are compared.
pub(crate) struct Pair<'a> {
    pub(crate) places: [&'a ObjectAt; 2],
    pub(crate) paths: [&'a str; 2],
    /// References that were followed to come here.
    pub(crate) depth: u32,
}

impl Pair<'_> {
    /// Compares all attributes; returns how many differences there are.
    pub(crate) fn compare_all(&self, report: &mut Report<'_>) -> Result<u64> {
        let lists = [all(self.places[0])?, all(self.places[1])?];
        let matched = matches(&lists);
        self.status(report, &matched);
        let mut found = 0;
        for pair in matched {
            match pair {
                (Some(first), Some(second)) => found += self.compare(report, [first, second])?,
                _ => report.contents_differ = true,
            }
        }
        Ok(found)
    }

    fn status(&self, report: &mut Report<'_>, matched: &[Matched<'_>]) {
        if report.options.level == 2 {
            report.say("   obj1   obj2\n --------------------------------------\n");
            for (first, second) in matched {
                let mark = |side: &Option<&AttributeInfo>| if side.is_some() { 'x' } else { ' ' };
                let name = first.or(*second).map_or("", |attribute| &attribute.name);
                report.say(&format!("{:>5} {:>6}    ", mark(first), mark(second)));
                report.put(&column(name, 15));
                report.put(b"\n");
            }
        }
        if report.options.level >= 1 {
            let only_first = matched.iter().filter(|(_, second)| second.is_none()).count();
            let only_second = matched.iter().filter(|(first, _)| first.is_none()).count();
            let common = matched.len() - only_first - only_second;
            report.say(&format!(
                "Attributes status:  {common} common, {only_first} only in obj1, {only_second} only in obj2\n"
            ));
        }
    }

    /// Compares two attributes.
    pub(crate) fn compare(&self, report: &mut Report<'_>, infos: [&AttributeInfo; 2]) -> Result<u64> {
        let shapes =
            infos.map(|info| Shape { name: &info.name, datatype: &info.datatype, space: &info.space });
        if !comparable::check(report, shapes) {
            return Ok(0);
        }
        let names = [0, 1].map(|side: usize| format!("{} of <{}>", infos[side].name, self.paths[side]));
        let names = [&*names[0], &*names[1]];
        if report.options.shows_data() {
            report.say(&format!("attribute: <{}> and <{}>\n", names[0], names[1]));
            let found = self.values(report, infos, names)?;
            report.found(found);
            return Ok(found);
        }
        let found = self.values(report, infos, names)?;
        if found > 0 && !report.options.quiet {
            report.say(&format!("attribute: <{}> and <{}>\n", names[0], names[1]));
            report.found(found);
        }
        Ok(found)
    }

    fn values(&self, report: &mut Report<'_>, infos: [&AttributeInfo; 2], names: [&str; 2]) -> Result<u64> {
        let memory = native::common(&infos[0].datatype, &infos[1].datatype);
        let sides = [self.read(0, infos[0], &memory[0])?, self.read(1, infos[1], &memory[1])?];
        let [a, b] = [0, 1].map(|i: usize| Buffer { bytes: &sides[i].0, heap: &sides[i].1 });
        let dims = infos[0].space.dims();
        let table = Table { names, dims, part: None, first: 0, headed: false };
        Values { report, table, places: self.places, depth: self.depth }.compare(&memory[0], a, b)
    }

    fn read(&self, side: usize, info: &AttributeInfo, memory: &Datatype) -> Result<(Vec<u8>, Heap)> {
        let place = self.places[side];
        let _pin = Pin::of(place.container(), &info.datatype)?;
        let raw = place.container().attribute_read(place.token, &[&info.name])?;
        let raw = raw.first().map_or(&[][..], Vec::as_slice);
        let mut heap = Heap::new();
        let conversions = Conversions::default();
        let bytes = from_file_type(place.container(), &info.datatype, raw, memory, &conversions, &mut heap)?;
        Ok((bytes, heap))
    }
}

type Matched<'a> = (Option<&'a AttributeInfo>, Option<&'a AttributeInfo>);

fn all(place: &ObjectAt) -> Result<Vec<AttributeInfo>> {
    let op = OpList { count_max: u64::MAX, ..OpList::default() };
    Ok(place.container().attribute_list(place.token, &op)?.entries)
}

/// Returns the attributes of the same name side by side; both lists are sorted.
fn matches([first, second]: &[Vec<AttributeInfo>; 2]) -> Vec<Matched<'_>> {
    let (mut a, mut b) = (first.iter().peekable(), second.iter().peekable());
    let mut found = Vec::new();
    loop {
        let order = match (a.peek(), b.peek()) {
            (None, None) => return found,
            (Some(_), None) => Ordering::Less,
            (None, Some(_)) => Ordering::Greater,
            (Some(x), Some(y)) => x.name.cmp(&y.name),
        };
        let left = if order == Ordering::Greater { None } else { a.next() };
        let right = if order == Ordering::Less { None } else { b.next() };
        found.push((left, right));
    }
}
