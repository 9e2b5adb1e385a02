//! Decomposition maps of E3SM: which elements each process has. From files, or made in the same shape.

use hyperslab::File;

use crate::Outcome;

/// Processes that maps are made for, as many as the files of E3SM-IO have.
const PROCESSES: u64 = 16;

/// One way of dividing an extent among processes.
pub struct Decomposition {
    pub dims: Vec<u64>,
    /// By process: flat offset and elements of each request.
    pub requests: Vec<Vec<(u64, u64)>>,
}

/// The decompositions of a file that `dat2decomp` made.
pub fn read(path: &str) -> Outcome<Vec<Decomposition>> {
    let file = File::open(path)?;
    let list = |name: String| -> Outcome<Vec<u64>> {
        let values = file.dataset(&name)?.read_raw::<i64>()?;
        Ok(values.into_iter().map(|value| value as u64).collect())
    };
    let mut found = Vec::new();
    for n in 1.. {
        let name = format!("D{n}");
        if file.dataset(&format!("{name}.nreqs")).is_err() {
            break;
        }
        let dims = file.attr(&format!("{name}.dims"))?.read_raw::<i64>()?;
        let (counts, offsets, lengths) = (
            list(format!("{name}.nreqs"))?,
            list(format!("{name}.offsets"))?,
            list(format!("{name}.lengths"))?,
        );
        let mut all = offsets.into_iter().zip(lengths);
        let requests = counts.iter().map(|&count| all.by_ref().take(count as usize).collect()).collect();
        found.push(Decomposition { dims: dims.into_iter().map(|dim| dim as u64).collect(), requests });
    }
    Ok(found)
}

/// Returns a number that looks random.
fn spread(n: u64) -> u64 {
    n.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 40
}

/// Each level of an extent in runs of `run` cells, which go to processes as their number in the level says.
fn in_runs(dims: &[u64], columns: u64, run: u64, owner: impl Fn(u64) -> u64) -> Decomposition {
    let levels = dims.iter().product::<u64>() / columns;
    let mut requests = vec![Vec::new(); PROCESSES as usize];
    for level in 0..levels {
        for start in (0..columns).step_by(run as usize) {
            let own = &mut requests[(owner(start / run) % PROCESSES) as usize];
            own.push((level * columns + start, run.min(columns - start)));
        }
    }
    Decomposition { dims: dims.to_vec(), requests }
}

/// The I case, of which there is no file here: the land model deals the cells of a map of 96 by 144 out to processes,
/// one clump of neighbours in a row after another, and cells of the ocean with them. Here a clump has three cells, so
/// that a process has 13,824 / 3 / 16 = 288 requests in a level, on every level the same ones.
pub fn land() -> Vec<Decomposition> {
    let levels = [1, 15, 10, 9, 17];
    let dims = |levels: u64| if levels == 1 { vec![96, 144] } else { vec![levels, 96, 144] };
    levels.iter().map(|&levels| in_runs(&dims(levels), 96 * 144, 3, |clump| clump)).collect()
}

/// Decompositions of the same shape as those of the files, where there are none.
pub fn made(case: &str) -> Vec<Decomposition> {
    match case {
        "f" => vec![
            in_runs(&[866], 866, 18, spread),
            in_runs(&[866], 866, 1, spread),
            in_runs(&[72, 866], 866, 1, spread),
        ],
        "g" => vec![
            in_runs(&[285], 285, 2, spread),
            in_runs(&[879], 879, 1, spread),
            in_runs(&[285, 100], 28_500, 100, spread),
            in_runs(&[879, 100], 87_900, 100, spread),
            in_runs(&[593, 100], 59_300, 100, spread),
            in_runs(&[285, 101], 28_785, 101, spread),
        ],
        _ => land(),
    }
}
