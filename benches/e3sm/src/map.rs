//! Decomposition maps of E3SM: which elements each process has. From files, or made up in the same shape.

use hyperslab::File;

use crate::Outcome;

/// One way of dividing an extent among processes.
pub struct Decomposition {
    pub dims: Vec<u64>,
    /// Variables that are divided so, in one step of the model.
    pub variables: u64,
    /// By process: flat offset and elements of each request.
    pub requests: Vec<Vec<(u64, u64)>>,
}

/// Variables of the cases by decomposition. E3SM has F 1, 323, 63; G 6, 2, 25, 2, 2, 4; I 465, 69, 2. F and I are cut, and G has 20 steps of
/// the model, so that all have some hundred thousand requests.
fn variables(case: &str) -> &'static [u64] {
    match case {
        "f" => &[1, 40, 8],
        "g" => &[120, 40, 500, 40, 40, 80],
        _ => &[116, 17, 2],
    }
}

/// The decompositions of a file that `dat2decomp` made.
pub fn read(path: &str, case: &str) -> Outcome<Vec<Decomposition>> {
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
        let variables = variables(case).get(n - 1).copied().unwrap_or(1);
        found.push(Decomposition {
            dims: dims.into_iter().map(|dim| dim as u64).collect(),
            variables,
            requests,
        });
    }
    Ok(found)
}

/// Decompositions of the same shape, for 16 processes.
pub fn made_up(case: &str) -> Vec<Decomposition> {
    let by_column = |columns: u64, levels: u64, run: u64, owned: &dyn Fn(u64) -> u64| {
        let mut requests = vec![Vec::new(); 16];
        for level in 0..levels {
            for start in (0..columns).step_by(run as usize) {
                requests[(owned(start / run) % 16) as usize]
                    .push((level * columns + start, run.min(columns - start)));
            }
        }
        requests
    };
    let spread = |n: u64| n.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 40;
    let make = |number: usize, dims: &[u64], requests| Decomposition {
        dims: dims.to_vec(),
        variables: variables(case)[number],
        requests,
    };
    match case {
        "f" => vec![
            make(0, &[866], by_column(866, 1, 18, &spread)),
            make(1, &[866], by_column(866, 1, 1, &spread)),
            make(2, &[72, 866], by_column(866, 72, 1, &spread)),
        ],
        "g" => [(285, 2), (879, 1), (285, 100), (879, 100), (593, 100), (285, 101)]
            .iter()
            .enumerate()
            .map(|(n, &(cells, run))| match n {
                0 | 1 => make(n, &[cells], by_column(cells, 1, run, &spread)),
                _ => make(n, &[cells, run], by_column(cells * run, 1, run, &spread)),
            })
            .collect(),
        // Land cells: runs of a few, in rows of a map.
        _ => vec![
            make(0, &[96, 144], by_column(144, 96, 3, &spread)),
            make(1, &[15, 13_824], by_column(13_824, 15, 3, &spread)),
            make(2, &[12, 13_824], by_column(13_824, 12, 1, &spread)),
        ],
    }
}
