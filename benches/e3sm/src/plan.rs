//! What each rank writes, as a file that both programs read: numbers of 8 bytes.
//!
//! Ranks, decompositions; each: variables, dimensions (two, the first may be 1), then for each rank the number of requests, their rows,
//! columns and lengths.

use std::path::Path;

use crate::Outcome;
use crate::map::Decomposition;

/// What all ranks write to variables of one shape.
pub struct Part {
    pub variables: u64,
    pub dims: [u64; 2],
    /// By rank: row, column, elements.
    pub requests: Vec<Vec<[u64; 3]>>,
}

pub fn of(maps: &[Decomposition], ranks: usize) -> Vec<Part> {
    maps.iter().map(|map| part(map, ranks)).collect()
}

fn part(map: &Decomposition, ranks: usize) -> Part {
    let width = map.dims.last().copied().unwrap_or(1);
    let dims = [map.dims.iter().rev().skip(1).product(), width];
    let mut requests = vec![Vec::new(); ranks];
    for (process, own) in map.requests.iter().enumerate() {
        for &(mut start, mut len) in own {
            // A request that goes on in the next row is two.
            while len > 0 {
                let now = len.min(width - start % width);
                requests[process * ranks / map.requests.len()].push([start / width, start % width, now]);
                (start, len) = (start + now, len - now);
            }
        }
    }
    Part { variables: map.variables, dims, requests }
}

/// Requests of all ranks to all variables.
pub fn count(parts: &[Part]) -> u64 {
    parts.iter().map(|part| part.variables * part.requests.iter().map(|r| r.len() as u64).sum::<u64>()).sum()
}

/// Bytes of all requests of one rank.
pub fn bytes_of(parts: &[Part], rank: usize) -> u64 {
    let elements = |part: &Part| part.requests[rank].iter().map(|request| request[2]).sum::<u64>();
    parts.iter().map(|part| part.variables * elements(part) * 8).sum()
}

/// Bytes of all requests.
pub fn bytes(parts: &[Part]) -> u64 {
    let ranks = parts.first().map_or(0, |part| part.requests.len());
    (0..ranks).map(|rank| bytes_of(parts, rank)).sum()
}

pub fn write(parts: &[Part], path: &Path) -> Outcome<()> {
    let ranks = parts.first().map_or(0, |part| part.requests.len());
    let mut numbers = vec![ranks as u64, parts.len() as u64];
    for part in parts {
        numbers.extend([part.variables, part.dims[0], part.dims[1]]);
        for own in &part.requests {
            numbers.push(own.len() as u64);
            (0..3).for_each(|k| numbers.extend(own.iter().map(|request| request[k])));
        }
    }
    let bytes: Vec<u8> = numbers.iter().flat_map(|n| n.to_le_bytes()).collect();
    Ok(std::fs::write(path, bytes)?)
}

#[cfg(feature = "mpi")]
pub fn read(path: &str) -> Outcome<Vec<Part>> {
    let bytes = std::fs::read(path)?;
    let mut numbers = bytes.as_chunks::<8>().0.iter().map(|bytes| u64::from_le_bytes(*bytes));
    let mut next = || numbers.next().ok_or("the plan ends early");
    let (ranks, parts) = (next()?, next()?);
    let mut found = Vec::new();
    for _ in 0..parts {
        let (variables, dims) = (next()?, [next()?, next()?]);
        let mut requests = Vec::new();
        for _ in 0..ranks {
            let count = next()? as usize;
            let mut own = vec![[0; 3]; count];
            for k in 0..3 {
                for request in &mut own {
                    request[k] = next()?;
                }
            }
            requests.push(own);
        }
        found.push(Part { variables, dims, requests });
    }
    Ok(found)
}
