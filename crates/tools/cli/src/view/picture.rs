//! Numbers as pictures of characters: a line in Braille dots, a heat map in half blocks.

/// Bits of a Braille character's dots, by row from the top and column.
const DOTS: [[u32; 2]; 4] = [[0x01, 0x08], [0x02, 0x10], [0x04, 0x20], [0x40, 0x80]];
/// The Braille character without dots.
const BRAILLE: u32 = 0x2800;
/// Characters of growing height, for a line that has one row.
const BARS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
/// Characters of growing darkness, where there are no colours.
const SHADES: [char; 5] = [' ', '░', '▒', '▓', '█'];

/// Returns the least and greatest of the numbers that are finite; `None` where none is.
pub(crate) fn range(values: &[f64]) -> Option<(f64, f64)> {
    let finite = values.iter().copied().filter(|value| value.is_finite());
    finite.fold(None, |range, value| match range {
        None => Some((value, value)),
        Some((low, high)) => Some((value.min(low), value.max(high))),
    })
}

/// Returns where a number lies between two others, as one of `steps` steps; `None` if it is not finite.
fn step(value: f64, (low, high): (f64, f64), steps: usize) -> Option<usize> {
    // Halves, because the difference of two large numbers may be infinite.
    let span = high / 2.0 - low / 2.0;
    let part = if span > 0.0 { (value / 2.0 - low / 2.0) / span } else { 0.5 };
    value.is_finite().then(|| ((part * steps as f64) as usize).min(steps - 1))
}

/// Returns a line of one row: a bar for each of `columns` bins, as high as its greatest number.
pub(crate) fn sparkline(values: &[f64], columns: usize) -> String {
    let Some(range) = range(values) else { return String::new() };
    let bins = bins(values.len(), columns);
    let bar = |bin: std::ops::Range<usize>| match self::range(&values[bin]) {
        Some((_, high)) => step(high, range, BARS.len()).map_or(' ', |step| BARS[step]),
        None => ' ',
    };
    bins.map(bar).collect()
}

/// Returns the ranges of at most `count` bins of nearly equal length.
fn bins(len: usize, count: usize) -> impl Iterator<Item = std::ops::Range<usize>> {
    let count = count.min(len).max(1);
    (0..count)
        .map(move |bin| len * bin / count..(len * (bin + 1) / count).max(len.min(len * bin / count + 1)))
}

/// Returns the rows of a line plot in Braille dots: from least to greatest number of each column of dots, joined with the column
/// before.
pub(crate) fn line(values: &[f64], columns: usize, rows: usize) -> Vec<String> {
    let (width, height) = (columns * 2, rows * 4);
    let mut dots = vec![0_u32; columns * rows];
    let Some(range) = range(values) else { return Vec::new() };
    // Few numbers are spread over the width.
    let bin = |x: usize| match values.len() >= width {
        true => values.len() * x / width..values.len() * (x + 1) / width,
        false => x * values.len() / width..x * values.len() / width + 1,
    };
    let mut before: Option<(usize, usize)> = None;
    for x in 0..width {
        let now = self::range(&values[bin(x)])
            .and_then(|(low, high)| Some((step(low, range, height)?, step(high, range, height)?)));
        if let Some((low, high)) = now {
            let (from, to) = match before {
                Some((low_before, high_before)) => (low.min(high_before), high.max(low_before)),
                None => (low, high),
            };
            (from..=to).for_each(|y| mark(&mut dots, columns, (x, height - 1 - y)));
        }
        before = now;
    }
    let text = |row: &[u32]| row.iter().filter_map(|bits| char::from_u32(BRAILLE + bits)).collect();
    dots.chunks(columns).map(text).collect()
}

fn mark(dots: &mut [u32], columns: usize, (x, y): (usize, usize)) {
    dots[y / 4 * columns + x / 2] |= DOTS[y % 4][x % 2];
}

/// Returns the rows of a heat map: two numbers a character with colours, and one without.
pub(crate) fn heat(values: &[f64], columns: usize, has_colours: bool) -> Vec<String> {
    let (Some(range), true) = (range(values), columns > 0) else { return Vec::new() };
    let rows: Vec<&[f64]> = values.chunks(columns).collect();
    match has_colours {
        true => rows.chunks(2).map(|pair| coloured(pair, range)).collect(),
        false => rows.iter().map(|row| shaded(row, range)).collect(),
    }
}

fn shaded(row: &[f64], range: (f64, f64)) -> String {
    row.iter().map(|&value| step(value, range, SHADES.len()).map_or('?', |step| SHADES[step])).collect()
}

/// The upper number colours the upper half of a character, the lower one its background.
fn coloured(pair: &[&[f64]], range: (f64, f64)) -> String {
    let mut text = String::new();
    for (x, &upper) in pair[0].iter().enumerate() {
        text += &format!("\x1b[38;2;{}m", colour(upper, range));
        match pair.get(1).and_then(|row| row.get(x)) {
            Some(&lower) => text += &format!("\x1b[48;2;{}m▀", colour(lower, range)),
            None => text += "\x1b[49m▀",
        }
    }
    text + "\x1b[0m"
}

/// Colours from dark blue over green to yellow, evenly spaced in lightness.
const MAP: [(u8, u8, u8); 9] = [
    (50, 10, 90),
    (62, 50, 128),
    (48, 92, 140),
    (34, 124, 142),
    (30, 152, 138),
    (66, 182, 112),
    (132, 206, 72),
    (202, 222, 40),
    (252, 232, 70),
];

/// Returns the colour of a number in the notation of terminals; what is not finite is grey.
fn colour(value: f64, range: (f64, f64)) -> String {
    const STEPS: usize = 256;
    let Some(step) = step(value, range, STEPS) else { return "110;110;110".to_owned() };
    let place = step as f64 / (STEPS - 1) as f64 * (MAP.len() - 1) as f64;
    let (at, part) =
        ((place as usize).min(MAP.len() - 2), place - (place as usize).min(MAP.len() - 2) as f64);
    let mix = |a: u8, b: u8| (f64::from(a) + (f64::from(b) - f64::from(a)) * part).round() as u8;
    let (from, to) = (MAP[at], MAP[at + 1]);
    format!("{};{};{}", mix(from.0, to.0), mix(from.1, to.1), mix(from.2, to.2))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sparkline_rises_with_its_numbers() {
        let values: Vec<f64> = (0..80).map(f64::from).collect();
        assert_eq!(sparkline(&values, 8), "▁▂▃▄▅▆▇█");
        assert_eq!(sparkline(&[1.0, f64::NAN, 3.0], 10), "▁ █");
        assert_eq!(sparkline(&[f64::NAN], 10), "");
    }

    #[test]
    fn a_line_is_drawn_from_corner_to_corner() {
        let values: Vec<f64> = (0..1000).map(f64::from).collect();
        let rows = line(&values, 4, 2);
        assert_eq!(rows.len(), 2);
        assert!(rows.iter().all(|row| row.chars().count() == 4));
        assert!(rows[0].ends_with('⠉') || rows[0].chars().last() > Some('\u{2800}'));
        assert_eq!(rows[0].chars().next(), Some('\u{2800}'));
    }

    #[test]
    fn extremes_do_not_overflow_and_what_is_not_finite_is_shown() {
        assert_eq!(heat(&[f64::MIN, f64::MAX, f64::NAN], 3, false), [" █?"]);
        assert_eq!(line(&[f64::INFINITY; 4], 4, 2), Vec::<String>::new());
        assert!(heat(&[0.0, 1.0, 2.0, 3.0], 2, true)[0].contains("▀"));
    }
}
