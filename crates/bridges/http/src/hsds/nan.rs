//! Python writes numbers that are not finite as bare words, which are not JSON.

use std::borrow::Cow;

const WORDS: [&str; 3] = ["NaN", "-Infinity", "Infinity"];

/// Returns the text with quotes around `NaN`, `Infinity` and `-Infinity` that are not in a string.
pub(super) fn quoted(text: &str) -> Cow<'_, str> {
    if !WORDS.iter().any(|word| text.contains(word)) {
        return Cow::Borrowed(text);
    }
    let (mut out, mut rest, mut is_string) = (String::with_capacity(text.len() + 16), text, false);
    while let Some(c) = rest.chars().next() {
        let word = WORDS.iter().find(|word| !is_string && rest.starts_with(**word));
        let len = match (word, c) {
            (Some(word), _) => {
                out.extend(["\"", word, "\""]);
                rest = &rest[word.len()..];
                continue;
            }
            // The character after a backslash does not end the string.
            (None, '\\') if is_string => 1 + rest[1..].chars().next().map_or(0, char::len_utf8),
            (None, '"') => {
                is_string = !is_string;
                1
            }
            (None, other) => other.len_utf8(),
        };
        out.push_str(&rest[..len]);
        rest = &rest[len..];
    }
    Cow::Owned(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_outside_of_strings_are_quoted() {
        assert_eq!(quoted("[NaN, -Infinity,Infinity]"), "[\"NaN\", \"-Infinity\",\"Infinity\"]");
        assert_eq!(quoted("{\"NaN\": [1, NaN]}"), "{\"NaN\": [1, \"NaN\"]}");
        assert_eq!(quoted("\"a\\\"NaN\""), "\"a\\\"NaN\"");
        assert_eq!(quoted("\"é\\\\\",NaN,\"\\"), "\"é\\\\\",\"NaN\",\"\\");
    }
}
