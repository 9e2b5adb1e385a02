//! Tokens in locations, which are left out wherever a location is shown.

use std::borrow::Cow;

const KEY: &str = "token=";
const HIDDEN: &str = "***";

/// `text` with `***` for the value of every `token=` that follows `?` or `&`, as in `h5s://host/name?token=…`.
pub fn without_tokens(text: &str) -> Cow<'_, str> {
    let Some(found) = next_token(text) else { return Cow::Borrowed(text) };
    let (mut shown, mut rest, mut at) = (String::with_capacity(text.len()), text, Some(found));
    while let Some(start) = at {
        let (before, value) = rest.split_at(start);
        let end = value.find(|c: char| "&,}\"'()|".contains(c) || c.is_whitespace()).unwrap_or(value.len());
        shown.push_str(before);
        shown.push_str(HIDDEN);
        rest = &value[end..];
        at = next_token(rest);
    }
    shown.push_str(rest);
    Cow::Owned(shown)
}

/// Returns where the value of the next token begins.
fn next_token(text: &str) -> Option<usize> {
    let mut from = 0;
    while let Some(at) = text[from..].find(KEY) {
        let start = from + at;
        if text[..start].ends_with(['?', '&']) {
            return Some(start + KEY.len());
        }
        from = start + KEY.len();
    }
    None
}

#[cfg(test)]
mod tests {
    use super::without_tokens;
    use crate::Error;

    #[test]
    fn tokens_are_left_out_and_nothing_else_is() {
        let shown = |text: &str| without_tokens(text).into_owned();
        assert_eq!(shown("h5s://h/x?token=abc&pipeline"), "h5s://h/x?token=***&pipeline");
        assert_eq!(
            shown("mirror{to=h5s://h/x?a&token=abc} | stats"),
            "mirror{to=h5s://h/x?a&token=***} | stats"
        );
        assert_eq!(shown("?token=a ?token=b"), "?token=*** ?token=***");
        assert_eq!(shown("broken?token="), "broken?token=***");
        assert_eq!(shown("mytoken=5, a token=6"), "mytoken=5, a token=6");
    }

    #[test]
    fn errors_never_show_tokens() {
        let cause = Error::not_found("open h5s://h/x?token=abc").with("location", "h5s://h/y?token=def");
        let error = Error::invalid("copy ?token=ghi").because(cause);
        let all = format!("{error} {error:?} {}", error.stack());
        assert!(!["abc", "def", "ghi"].iter().any(|secret| all.contains(secret)), "{all}");
    }
}
