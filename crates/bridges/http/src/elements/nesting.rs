//! Brackets of nested lists, for elements that come one after another.

use crate::answer::Failure;
use crate::elements::json_text::JsonText;

/// The lists that elements of a shape are in.
#[derive(Debug)]
pub(crate) struct Nesting {
    /// Elements of one list of each level, outermost first.
    lengths: Vec<u64>,
    next: u64,
}

impl Nesting {
    /// Returns the lists of a shape. No dimensions are no lists: a bare value.
    pub(crate) fn new(shape: &[u64]) -> Self {
        let mut lengths = vec![1u64; shape.len()];
        let mut elements = 1u64;
        for (length, dim) in lengths.iter_mut().zip(shape).rev() {
            elements = elements.saturating_mul(*dim);
            *length = elements;
        }
        Nesting { lengths, next: 0 }
    }

    /// Writes what stands before the next element.
    pub(crate) fn before(&self, out: &mut JsonText) -> Result<(), Failure> {
        let begun = self.lengths.iter().filter(|length| self.next.is_multiple_of(**length)).count();
        if self.next > 0 {
            out.push(b",")?;
        }
        (0..begun).try_for_each(|_| out.push(b"["))
    }

    /// Writes what stands after an element.
    pub(crate) fn after(&mut self, out: &mut JsonText) -> Result<(), Failure> {
        self.next += 1;
        let ended = self.lengths.iter().filter(|length| self.next.is_multiple_of(**length)).count();
        (0..ended).try_for_each(|_| out.push(b"]"))
    }
}

/// Writes the lists of a shape without elements.
pub(crate) fn write_empty(shape: &[u64], out: &mut JsonText) -> Result<(), Failure> {
    out.push(b"[")?;
    if let Some((&dim, rest)) = shape.split_first().filter(|(_, rest)| !rest.is_empty()) {
        for at in 0..dim {
            out.push(if at > 0 { b"," } else { b"" })?;
            write_empty(rest, out)?;
        }
    }
    out.push(b"]")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lists(shape: &[u64]) -> String {
        let mut out = JsonText::unbounded();
        let count: u64 = shape.iter().product();
        if count == 0 {
            write_empty(shape, &mut out).ok().unwrap();
            return String::from_utf8(out.into_bytes()).unwrap();
        }
        let mut nesting = Nesting::new(shape);
        for n in 0..count {
            nesting.before(&mut out).ok().unwrap();
            out.push(n.to_string().as_bytes()).ok().unwrap();
            nesting.after(&mut out).ok().unwrap();
        }
        String::from_utf8(out.into_bytes()).unwrap()
    }

    #[test]
    fn brackets_follow_the_shape() {
        assert_eq!(lists(&[]), "0");
        assert_eq!(lists(&[3]), "[0,1,2]");
        assert_eq!(lists(&[2, 1, 2]), "[[[0,1]],[[2,3]]]");
        assert_eq!(lists(&[0, 3]), "[]");
        assert_eq!(lists(&[2, 0]), "[[],[]]");
    }
}
