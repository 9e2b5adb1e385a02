//! Random crash states, each made from a seed and a number alone.

use super::log::{CrashState, Log, SurvivingEvent, SurvivingPart};

impl Log {
    /// Returns random states without end, for logs too long to enumerate. The same seed returns the same states.
    pub fn sample(&self, seed: u64) -> impl Iterator<Item = CrashState> + '_ {
        (0..).map(move |number| self.draw(seed, number))
    }

    /// Returns one of the states of [`Log::sample`].
    pub fn draw(&self, seed: u64, number: u64) -> CrashState {
        let mut random = Random(seed ^ number.wrapping_mul(0xD6E8_FEB8_6659_FD93));
        let at = random.below(self.events().len() + 1);
        // Some crashes lose nearly all, some nearly nothing; one fixed rate would rarely meet either.
        let keep_of_8 = [1, 4, 7, 8][random.below(4)];
        let shuffles = random.below(2) == 0;
        let mut kept = Vec::new();
        for event in self.pending(at) {
            if random.below(8) < keep_of_8 {
                kept.push(SurvivingEvent { event, part: self.draw_part(event, &mut random) });
            }
        }
        if shuffles {
            random.shuffle(&mut kept);
        }
        CrashState { at, kept, drawn: Some((seed, number)) }
    }

    fn draw_part(&self, event: usize, random: &mut Random) -> SurvivingPart {
        let sectors = self.events()[event].sectors().len();
        match random.below(8) {
            0 if sectors > 0 => SurvivingPart::Length,
            1 if sectors > 1 => SurvivingPart::Sectors((0..sectors).map(|_| random.below(2) == 0).collect()),
            2 if sectors > 0 => SurvivingPart::Noise((0..sectors).map(|_| random.below(2) == 0).collect()),
            _ => SurvivingPart::Whole,
        }
    }
}

/// SplitMix64: small, and the same on every machine.
pub(super) struct Random(pub(super) u64);

impl Random {
    pub(super) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// Returns a number below `bound`, 0 when that is 0.
    fn below(&mut self, bound: usize) -> usize {
        ((u128::from(self.next()) * bound as u128) >> 64) as usize
    }

    fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            let other = self.below(last + 1);
            items.swap(last, other);
        }
    }
}
