//! Data transforms: expressions of one variable, as `H5Pset_data_transform` takes them.
//!
//! The grammar is libhdf5's: numbers, one name for the data, `+ - * /`, signs and parentheses.

use crate::failure::{Failure, Fallible};

fn bad() -> Failure {
    Failure::argument("Error parsing data transform expression")
}

struct Parser<'a> {
    rest: &'a [u8],
    depth: usize,
}

/// Parentheses within parentheses that an expression may have.
const DEPTH_MAX: usize = 128;

/// Returns an error if a text is no transform.
pub fn check(text: &str) -> Fallible<()> {
    let mut parser = Parser { rest: text.as_bytes(), depth: 0 };
    parser.sum()?;
    if parser.peek().is_some() { Err(bad()) } else { Ok(()) }
}

impl Parser<'_> {
    fn peek(&mut self) -> Option<u8> {
        while self.rest.first().is_some_and(u8::is_ascii_whitespace) {
            self.rest = &self.rest[1..];
        }
        self.rest.first().copied()
    }

    fn next(&mut self) {
        self.rest = &self.rest[1..];
    }

    fn sum(&mut self) -> Fallible<()> {
        self.product()?;
        while let Some(b'+' | b'-') = self.peek() {
            self.next();
            self.product()?;
        }
        Ok(())
    }

    fn product(&mut self) -> Fallible<()> {
        self.factor()?;
        while let Some(b'*' | b'/') = self.peek() {
            self.next();
            self.factor()?;
        }
        Ok(())
    }

    fn factor(&mut self) -> Fallible<()> {
        match self.peek() {
            Some(b'+' | b'-') => {
                self.next();
                self.deeper(Self::factor)
            }
            Some(b'(') => {
                self.next();
                self.deeper(Self::sum)?;
                match self.peek() {
                    Some(b')') => {
                        self.next();
                        Ok(())
                    }
                    _ => Err(bad()),
                }
            }
            Some(first) if first.is_ascii_digit() || first == b'.' => self.number(),
            Some(first) if first.is_ascii_alphabetic() => {
                self.skip(|c| c.is_ascii_alphanumeric());
                Ok(())
            }
            _ => Err(bad()),
        }
    }

    fn deeper(&mut self, parse: fn(&mut Self) -> Fallible<()>) -> Fallible<()> {
        self.depth += 1;
        if self.depth > DEPTH_MAX {
            return Err(bad());
        }
        let done = parse(self);
        self.depth -= 1;
        done
    }

    fn number(&mut self) -> Fallible<()> {
        self.skip(|c| c.is_ascii_digit() || c == b'.');
        if let Some(b'e' | b'E') = self.rest.first() {
            self.next();
            if let Some(b'+' | b'-') = self.rest.first() {
                self.next();
            }
            if !self.rest.first().is_some_and(u8::is_ascii_digit) {
                return Err(bad());
            }
            self.skip(|c| c.is_ascii_digit());
        }
        Ok(())
    }

    fn skip(&mut self, accept: impl Fn(u8) -> bool) {
        while self.rest.first().is_some_and(|c| accept(*c)) {
            self.next();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::check;

    #[test]
    fn expressions_of_one_variable_are_accepted() {
        for text in ["x", "2*x+1", "(5/9.0)*(x-32)", "-x*1.5e-3", " 3 + x "] {
            assert!(check(text).is_ok(), "{text}");
        }
        for text in ["", "x+", "(x", "x)", "2x y", "x ^ 2", &"(".repeat(100_000)] {
            assert!(check(text).is_err(), "{text}");
        }
    }
}
