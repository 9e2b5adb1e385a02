//! Statistics of numbers that come in strips.

/// Statistics of the finite numbers, and how many others there are.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Moments {
    /// Finite numbers.
    pub(crate) count: u64,
    pub(crate) nan: u64,
    pub(crate) infinite: u64,
    pub(crate) zero: u64,
    pub(crate) min: f64,
    pub(crate) max: f64,
    /// The smallest number that is not negative.
    pub(crate) positive_min: f64,
    /// The smallest number greater than zero.
    pub(crate) strict_positive_min: f64,
    mean: f64,
    /// The sum of squares of distances from the mean.
    squares: f64,
}

impl Moments {
    /// Returns the statistics of nothing.
    pub(crate) fn new() -> Self {
        Moments {
            count: 0,
            nan: 0,
            infinite: 0,
            zero: 0,
            min: f64::INFINITY,
            max: f64::NEG_INFINITY,
            positive_min: f64::INFINITY,
            strict_positive_min: f64::INFINITY,
            mean: 0.0,
            squares: 0.0,
        }
    }

    /// Adds a strip of numbers, which is gone through twice.
    pub(crate) fn add(&mut self, numbers: impl Iterator<Item = f64> + Clone) {
        let (mut sum, mut count) = (0.0, 0u64);
        for number in numbers.clone() {
            if number.is_finite() {
                sum += number;
                count += 1;
                self.see(number);
            } else {
                self.nan += u64::from(number.is_nan());
                self.infinite += u64::from(number.is_infinite());
            }
        }
        if count > 0 {
            let mean = sum / count as f64;
            let finite = numbers.filter(|number| number.is_finite());
            self.merge(count, mean, finite.map(|number| (number - mean) * (number - mean)).sum());
        }
    }

    fn see(&mut self, number: f64) {
        self.min = self.min.min(number);
        self.max = self.max.max(number);
        self.zero += u64::from(number == 0.0);
        if number >= 0.0 {
            self.positive_min = self.positive_min.min(number);
        }
        if number > 0.0 {
            self.strict_positive_min = self.strict_positive_min.min(number);
        }
    }

    /// Adds the moments of other numbers. Sums of squares are merged, because one large sum would lose digits.
    fn merge(&mut self, count: u64, mean: f64, squares: f64) {
        let (mine, theirs) = (self.count as f64, count as f64);
        let distance = mean - self.mean;
        self.count += count;
        self.mean += distance * theirs / (mine + theirs);
        self.squares += squares + distance * distance * mine * theirs / (mine + theirs);
    }

    /// Returns the mean; `None` without finite numbers.
    pub(crate) fn mean(&self) -> Option<f64> {
        (self.count > 0).then_some(self.mean)
    }

    /// Returns the standard deviation of all numbers, as numpy's.
    pub(crate) fn deviation(&self) -> Option<f64> {
        (self.count > 0).then(|| (self.squares / self.count as f64).sqrt())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strips_give_what_the_whole_gives() {
        let numbers: Vec<f64> = (0..1000).map(|n| 1e9 + f64::from(n)).collect();
        let (mut whole, mut strips) = (Moments::new(), Moments::new());
        whole.add(numbers.iter().copied());
        numbers.chunks(7).for_each(|strip| strips.add(strip.iter().copied()));
        assert_eq!(strips.mean().unwrap().round(), whole.mean().unwrap().round());
        let (a, b) = (strips.deviation().unwrap(), whole.deviation().unwrap());
        assert!((a - b).abs() < 1e-6 && (a - 288.674_990).abs() < 1e-3, "{a} {b}");
    }

    #[test]
    fn what_is_not_finite_is_counted_apart() {
        let mut moments = Moments::new();
        moments.add([f64::NAN, f64::INFINITY, -1.0, 0.0, 3.0].into_iter());
        assert_eq!((moments.count, moments.nan, moments.infinite, moments.zero), (3, 1, 1, 1));
        assert_eq!((moments.min, moments.max), (-1.0, 3.0));
        assert_eq!((moments.positive_min, moments.strict_positive_min), (0.0, 3.0));
    }
}
