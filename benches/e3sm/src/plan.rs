//! A case for some ranks, as a text that both programs read: words with blanks between.
//!
//! Ranks, maps, variables, records. Each map: for each rank the number of requests, then offset and length of each.
//! Each variable: name, type (`f`, `d`, `i`, `c`), 1 for records, the number of its map or -1, 1 for a fill value,
//! units, the number of its dimensions, they.

use std::fmt::Write as _;
use std::path::Path;

use crate::Outcome;
use crate::cases::Case;
#[cfg(feature = "mpi")]
use crate::cases::{Kind, Variable};
use crate::map::Decomposition;

/// What the ranks of a run do.
#[cfg(feature = "mpi")]
pub struct Plan {
    pub records: u64,
    /// By map and rank: flat offset and elements of each request.
    pub requests: Vec<Vec<Vec<(u64, u64)>>>,
    pub variables: Vec<Variable>,
}

/// Returns the requests of ranks, each of which stands for several processes. One that goes on in the next row is two.
fn of_ranks(map: &Decomposition, ranks: usize) -> Vec<Vec<(u64, u64)>> {
    let width = map.dims.last().copied().unwrap_or(1);
    let mut requests = vec![Vec::new(); ranks];
    for (process, own) in map.requests.iter().enumerate() {
        for &(mut start, mut len) in own {
            while len > 0 {
                let now = len.min(width - start % width);
                requests[process * ranks / map.requests.len()].push((start, now));
                (start, len) = (start + now, len - now);
            }
        }
    }
    requests
}

/// Requests and bytes of all ranks to all variables that are divided.
pub fn totals(case: &Case, ranks: usize) -> (u64, u64) {
    let (mut requests, mut bytes) = (0, 0);
    let maps: Vec<_> = case.maps.iter().map(|map| of_ranks(map, ranks)).collect();
    for variable in &case.variables {
        let records = if variable.is_record { case.records } else { 1 };
        for own in variable.map.map_or(&[][..], |map| &maps[map]) {
            requests += records * own.len() as u64;
            bytes += records * own.iter().map(|(_, len)| len).sum::<u64>() * variable.kind.bytes();
        }
    }
    (requests, bytes)
}

/// Writes what `ranks` ranks do.
pub fn write(case: &Case, ranks: usize, path: &Path) -> Outcome<()> {
    let mut text = format!("{ranks} {} {} {}\n", case.maps.len(), case.variables.len(), case.records);
    for map in &case.maps {
        for own in of_ranks(map, ranks) {
            write!(text, "{}", own.len())?;
            own.iter().try_for_each(|(start, len)| write!(text, " {start} {len}"))?;
            text.push('\n');
        }
    }
    for variable in &case.variables {
        let map = variable.map.map_or(-1, |map| map as i64);
        let (is_record, has_fill) = (u8::from(variable.is_record), u8::from(variable.has_fill));
        let units = variable.units.replace(' ', "_");
        write!(text, "{} {} {is_record} {map} {has_fill} {units}", variable.name, variable.kind.letter())?;
        write!(text, " {}", variable.dims.len())?;
        variable.dims.iter().try_for_each(|dim| write!(text, " {dim}"))?;
        text.push('\n');
    }
    Ok(std::fs::write(path, text)?)
}

/// Reads what [`write`] wrote.
#[cfg(feature = "mpi")]
pub fn read(path: &str) -> Outcome<Plan> {
    let text = std::fs::read_to_string(path)?;
    let mut words = text.split_whitespace();
    let mut word = || words.next().ok_or("the plan ends early");
    let (ranks, maps): (usize, usize) = (word()?.parse()?, word()?.parse()?);
    let (count, records): (usize, u64) = (word()?.parse()?, word()?.parse()?);
    let mut requests = Vec::new();
    for _ in 0..maps {
        let mut by_rank = Vec::new();
        for _ in 0..ranks {
            let own: usize = word()?.parse()?;
            let request = |_| -> Outcome<(u64, u64)> { Ok((word()?.parse()?, word()?.parse()?)) };
            by_rank.push((0..own).map(request).collect::<Outcome<Vec<_>>>()?);
        }
        requests.push(by_rank);
    }
    let mut variables = Vec::new();
    for _ in 0..count {
        let (name, kind) = (word()?.to_owned(), Kind::of(word()?).ok_or("no type")?);
        let (is_record, map) = (word()? == "1", word()?.parse::<i64>()?);
        let (has_fill, _, rank) = (word()? == "1", word()?, word()?.parse::<usize>()?);
        let dims = (0..rank).map(|_| Ok(word()?.parse()?)).collect::<Outcome<Vec<u64>>>()?;
        let map = usize::try_from(map).ok();
        variables.push(Variable { name, kind, is_record, dims, map, units: "m s-1", has_fill });
    }
    Ok(Plan { records, requests, variables })
}
