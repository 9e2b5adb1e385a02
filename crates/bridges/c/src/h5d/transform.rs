//! Data transforms (`H5Pset_data_transform`): an expression of `x` that elements pass through.

use hyperslab::vol::model::Heap;
use hyperslab::vol::model::convert::{Conversions, Plan};
use hyperslab::vol::model::datatype::{ByteOrder, Datatype};

use crate::codes::{Major, Minor};
use crate::failure::{Failure, Fallible};

/// An expression. Constants without a decimal point are integers, and divide as those do.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Expression {
    Integer(i64),
    Float(f64),
    Element,
    Negative(Box<Expression>),
    Operation(char, Box<Expression>, Box<Expression>),
}

fn wrong(text: &str) -> Failure {
    Failure::new(Major::ARGS, Minor::BADVALUE, format!("data transform expression: {text}"))
}

struct Parser<'a> {
    rest: &'a str,
    depth: u32,
}

/// Parentheses and signs inside of each other.
const DEPTH_MAX: u32 = 64;

impl Parser<'_> {
    fn peek(&mut self) -> Option<char> {
        self.rest = self.rest.trim_start();
        self.rest.chars().next()
    }

    fn take(&mut self, c: char) -> bool {
        let is_next = self.peek() == Some(c);
        if is_next {
            self.rest = &self.rest[c.len_utf8()..];
        }
        is_next
    }

    /// Reads terms joined by one of two operators of the same rank.
    fn joined(
        &mut self,
        operators: [char; 2],
        part: fn(&mut Self) -> Fallible<Expression>,
    ) -> Fallible<Expression> {
        let mut left = part(self)?;
        while let Some(operator) = operators.into_iter().find(|operator| self.take(*operator)) {
            left = Expression::Operation(operator, Box::new(left), Box::new(part(self)?));
        }
        Ok(left)
    }

    fn sum(&mut self) -> Fallible<Expression> {
        self.joined(['+', '-'], Self::product)
    }

    fn product(&mut self) -> Fallible<Expression> {
        self.joined(['*', '/'], Self::factor)
    }

    fn factor(&mut self) -> Fallible<Expression> {
        self.depth += 1;
        if self.depth > DEPTH_MAX {
            return Err(wrong("too deep"));
        }
        let read = match self.peek() {
            Some('(') => {
                self.take('(');
                let inner = self.sum()?;
                if !self.take(')') {
                    return Err(wrong("a parenthesis is not closed"));
                }
                Ok(inner)
            }
            Some('-') => {
                self.take('-');
                Ok(Expression::Negative(Box::new(self.factor()?)))
            }
            Some('+') => {
                self.take('+');
                self.factor()
            }
            Some(c) if c.is_ascii_alphabetic() => {
                let end = self.rest.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(self.rest.len());
                self.rest = &self.rest[end..];
                Ok(Expression::Element)
            }
            _ => self.number(),
        };
        self.depth -= 1;
        read
    }

    fn number(&mut self) -> Fallible<Expression> {
        let is_part = |at: usize, c: char| {
            let after_exponent = at > 0 && matches!(self.rest.as_bytes()[at - 1], b'e' | b'E');
            c.is_ascii_digit() || matches!(c, '.' | 'e' | 'E') || after_exponent && matches!(c, '+' | '-')
        };
        let end =
            self.rest.char_indices().find(|(at, c)| !is_part(*at, *c)).map_or(self.rest.len(), |(at, _)| at);
        let (text, rest) = self.rest.split_at(end);
        self.rest = rest;
        match text.parse::<i64>() {
            Ok(number) => Ok(Expression::Integer(number)),
            Err(_) => text.parse().map(Expression::Float).map_err(|_| wrong("a number is expected")),
        }
    }
}

/// Reads an expression.
pub(crate) fn parse(text: &str) -> Fallible<Expression> {
    let mut parser = Parser { rest: text, depth: 0 };
    let expression = parser.sum()?;
    match parser.peek() {
        None => Ok(expression),
        Some(_) => Err(wrong("something follows it")),
    }
}

/// A value on the way: constants are computed as C does, and what an element takes part in has the element's type.
#[derive(Debug, Clone, Copy)]
enum Value {
    Integer(i64),
    Float(f64),
    Element(f64),
}

impl Value {
    fn number(self) -> f64 {
        match self {
            Value::Integer(number) => number as f64,
            Value::Float(number) | Value::Element(number) => number,
        }
    }
}

fn compute(operator: char, a: f64, b: f64) -> f64 {
    match operator {
        '+' => a + b,
        '-' => a - b,
        '*' => a * b,
        _ => a / b,
    }
}

fn combine(operator: char, a: Value, b: Value, is_integer: bool) -> Fallible<Value> {
    if let (Value::Integer(a), Value::Integer(b)) = (a, b) {
        let whole = match operator {
            '+' => a.checked_add(b),
            '-' => a.checked_sub(b),
            '*' => a.checked_mul(b),
            _ => a.checked_div(b),
        };
        return whole.map(Value::Integer).ok_or_else(|| wrong("a constant is too large, or divided by zero"));
    }
    let result = compute(operator, a.number(), b.number());
    match (a, b) {
        (Value::Element(_), _) | (_, Value::Element(_)) if is_integer => Ok(Value::Element(result.trunc())),
        (Value::Element(_), _) | (_, Value::Element(_)) => Ok(Value::Element(result)),
        _ => Ok(Value::Float(result)),
    }
}

fn evaluate(expression: &Expression, x: f64, is_integer: bool) -> Fallible<Value> {
    Ok(match expression {
        Expression::Integer(number) => Value::Integer(*number),
        Expression::Float(number) => Value::Float(*number),
        Expression::Element => Value::Element(x),
        Expression::Negative(inner) => match evaluate(inner, x, is_integer)? {
            Value::Integer(number) => Value::Integer(-number),
            Value::Float(number) => Value::Float(-number),
            Value::Element(number) => Value::Element(-number),
        },
        Expression::Operation(operator, a, b) => {
            combine(*operator, evaluate(a, x, is_integer)?, evaluate(b, x, is_integer)?, is_integer)?
        }
    })
}

/// Lets the selected elements of a buffer pass through an expression.
pub(super) fn apply(
    text: &str,
    datatype: &Datatype,
    buffer: &mut [u8],
    runs: &[(usize, usize)],
) -> Fallible<()> {
    if !matches!(datatype, Datatype::Integer(_) | Datatype::Float(_)) {
        return Err(wrong("elements are not numbers"));
    }
    let expression = parse(text)?;
    let is_integer = matches!(datatype, Datatype::Integer(_));
    let double = Datatype::ieee_f64(ByteOrder::NATIVE);
    let to = Plan::compile(datatype, &double, &Conversions::default())?;
    let back = Plan::compile(&double, datatype, &Conversions::default())?;
    let each = datatype.size() as usize;
    for (start, len) in runs {
        let elements = &mut buffer[*start..start + len];
        let count = len / each;
        let mut numbers = vec![0; count * 8];
        to.run(elements, &mut numbers, count, &mut Heap::new())?;
        for number in numbers.chunks_exact_mut(8) {
            let x = f64::from_ne_bytes(number.first_chunk().copied().unwrap_or_default());
            number.copy_from_slice(&evaluate(&expression, x, is_integer)?.number().to_ne_bytes());
        }
        back.run(&numbers, elements, count, &mut Heap::new())?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(text: &str, x: f64, is_integer: bool) -> f64 {
        evaluate(&parse(text).unwrap(), x, is_integer).unwrap().number()
    }

    #[test]
    fn operators_have_their_ranks_and_constants_their_types() {
        assert_eq!(value("(5/9.0)*(x-32)", 212.0, false), 100.0);
        assert_eq!(value("(5/9)*(x-32)", 212.0, false), 0.0);
        assert_eq!(value("-x + 2*3", 1.0, false), 5.0);
        assert_eq!(value("x/2", 7.0, true), 3.0);
        assert_eq!(value("1.5e1 * x", 2.0, false), 30.0);
    }

    #[test]
    fn what_is_no_expression_is_an_error() {
        for text in ["", "x+", "(x", "x)", "2 3", &"(".repeat(500)] {
            assert!(parse(text).is_err(), "{text}");
        }
        assert!(evaluate(&parse("1/0").unwrap(), 0.0, false).is_err());
    }
}
