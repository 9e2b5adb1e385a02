//! The workloads, and what is promised of each.

/// A workload: one run of each program.
pub struct Case {
    pub name: &'static str,
    /// What the program times, in its order.
    pub rows: &'static [Row],
}

/// Something that is timed.
pub struct Row {
    pub name: &'static str,
    /// The ratio to libhdf5 that the project promises.
    pub at_least: Option<f64>,
}

const fn row(name: &'static str, at_least: Option<f64>) -> Row {
    Row { name, at_least }
}

pub const CASES: &[Case] = &[
    Case {
        name: "contiguous",
        rows: &[
            row("contiguous 1 GiB, collective write", Some(1.2)),
            row("contiguous 1 GiB, collective read", Some(1.5)),
            row("the same with pwrite alone", None),
            row("the same with pread alone", None),
        ],
    },
    Case { name: "blocks", rows: &[row("200,000 scattered runs a rank, one collective write", Some(4.0))] },
    Case { name: "points", rows: &[row("200,000 scattered points a rank, one collective write", Some(4.0))] },
    Case {
        name: "calls",
        rows: &[
            row("2,000 scattered runs a rank, a collective write each", None),
            row("2,000 scattered runs a rank, an independent write each", None),
        ],
    },
    Case {
        name: "deflate",
        rows: &[
            row("chunks, shuffle + deflate-4, 256 MiB, collective write", Some(1.8)),
            row("chunks, shuffle + deflate-4, 256 MiB, collective read", Some(1.8)),
        ],
    },
    Case { name: "datasets", rows: &[row("1,000 datasets created and written collectively", Some(2.0))] },
];

impl Case {
    pub fn is_chosen(&self, words: &[String]) -> bool {
        words.is_empty() || words.iter().any(|word| self.name.contains(word.as_str()))
    }
}
