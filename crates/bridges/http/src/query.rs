//! The query of a request: names and values.

use crate::answer::Failure;

/// The parameters of a request, in their order. A name may come more than once.
#[derive(Debug, Default)]
pub(crate) struct Query(Vec<(String, String)>);

impl Query {
    /// Decodes `a=1&b=%2F`.
    ///
    /// # Errors
    /// Returns a failure with the status 400 if a percent sign has no two digits after it, or if the bytes are not
    /// UTF-8.
    pub(crate) fn parse(text: &str) -> Result<Self, Failure> {
        let pairs = text.split('&').filter(|pair| !pair.is_empty()).map(|pair| {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            Ok((decode(name)?, decode(value)?))
        });
        pairs.collect::<Result<_, Failure>>().map(Query)
    }

    /// Returns the first value of a name.
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(n, _)| n == name).map(|(_, value)| value.as_str())
    }

    /// Returns all values of a name.
    pub(crate) fn all<'q>(&'q self, name: &'q str) -> impl Iterator<Item = &'q str> {
        self.0.iter().filter(move |(n, _)| n == name).map(|(_, value)| value.as_str())
    }

    /// Returns whether a parameter is set to a true value.
    pub(crate) fn is_true(&self, name: &str) -> bool {
        self.get(name).is_some_and(|value| matches!(value, "1" | "true" | "True" | "yes" | "on"))
    }

    /// Returns a parameter as a number, or `default` without it.
    ///
    /// # Errors
    /// Returns a failure with the status 422 if it is not a number from 1 to `max`.
    pub(crate) fn number(&self, name: &str, default: u64, max: u64) -> Result<u64, Failure> {
        let Some(text) = self.get(name) else { return Ok(default) };
        let number = text.parse().ok().filter(|n| (1..=max).contains(n));
        number.ok_or_else(|| Failure::argument(format!("{name} is a number from 1 to {max}")))
    }
}

/// Decodes a part of a path, where a plus sign is itself.
pub(crate) fn decode_path(text: &str) -> Result<String, Failure> {
    decode(&text.replace('+', "%2B"))
}

fn decode(text: &str) -> Result<String, Failure> {
    let wrong = || Failure::malformed("the address is not percent-encoded UTF-8");
    let (mut bytes, mut left) = (Vec::with_capacity(text.len()), text.as_bytes());
    while let Some((&byte, rest)) = left.split_first() {
        left = rest;
        bytes.push(match byte {
            b'+' => b' ',
            b'%' => {
                let (digits, rest) = left.split_first_chunk::<2>().ok_or_else(wrong)?;
                left = rest;
                hexadecimal(digits).ok_or_else(wrong)?
            }
            other => other,
        });
    }
    String::from_utf8(bytes).map_err(|_| wrong())
}

fn hexadecimal(digits: &[u8; 2]) -> Option<u8> {
    let digit = |byte: u8| char::from(byte).to_digit(16);
    Some((digit(digits[0])? * 16 + digit(digits[1])?) as u8)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_are_decoded_and_repeat() {
        let query = Query::parse("path=%2Fa+b%C3%A9&k=1&k=2&flag").unwrap();
        assert_eq!(query.get("path"), Some("/a bé"));
        assert_eq!(query.all("k").collect::<Vec<_>>(), ["1", "2"]);
        assert_eq!(query.get("flag"), Some(""));
    }

    #[test]
    fn malformed_encodings_are_refused() {
        for text in ["a=%", "a=%2", "a=%zz", "a=%ff", "%80=1", "a=%+1"] {
            assert!(Query::parse(text).is_err(), "{text}");
        }
    }
}
