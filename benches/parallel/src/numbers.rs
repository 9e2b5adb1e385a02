//! Numbers that both programs make alike; `rival.c` has the same.

/// Runs of elements that each rank writes by itself.
pub const RUNS: u64 = 200_000;
/// Elements from one run to the next one of all ranks, at most 4 of which are a run.
pub const RUN_STEP: u64 = 8;
/// Calls that each rank makes where every run is one.
pub const CALLS: u64 = 2_000;

/// A generator of numbers that look random and are the same in every run.
pub struct Numbers(u64);

impl Numbers {
    pub fn new(seed: u64) -> Numbers {
        Numbers((seed + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    pub fn below(&mut self, end: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 11) % end
    }
}

/// Returns the runs of a rank, first element and length: those of all ranks take turns, with gaps between them.
pub fn runs(rank: u64, ranks: u64) -> Vec<(u64, u64)> {
    let mut numbers = Numbers::new(rank);
    let run = |n| ((n * ranks + rank) * RUN_STEP + numbers.below(4), 1 + numbers.below(4));
    (0..RUNS).map(run).collect()
}

/// Returns something like measurements: a smooth curve with noise in its last digits.
pub fn measurements(rank: u64, count: usize) -> Vec<f32> {
    let mut noise = Numbers::new(rank);
    let value = |n: usize| {
        let smooth = 280.0 + 20.0 * (n as f64 * 1e-4).sin() + 3.0 * (n as f64 * 7e-3).cos();
        ((smooth + (noise.below(100) as f64) * 1e-3) * 1e3).round() / 1e3
    };
    (0..count).map(value).map(|v| v as f32).collect()
}
