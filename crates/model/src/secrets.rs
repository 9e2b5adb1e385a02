//! Tokens and other credentials in locations, which are left out wherever a location is shown.

use std::borrow::Cow;

const KEY: &str = "token=";
const HIDDEN: &str = "***";

/// Characters that end an address within a text.
const AFTER_ADDRESS: &str = ",}\"'()|";

/// Returns `text` with `***` for the value of every `token=` that follows `?` or `&`, as in `h5s://host/name?token=…`, for the
/// user in `https://user:password@host/name`, and for all that follows `?` in an address of HTTP, which may be signed.
pub fn without_tokens(text: &str) -> Cow<'_, str> {
    match without_credentials(text) {
        Cow::Borrowed(text) => without_token_values(text),
        Cow::Owned(text) => Cow::Owned(without_token_values(&text).into_owned()),
    }
}

/// Returns `text` with `***` for users in addresses, and for the queries of addresses of HTTP.
fn without_credentials(text: &str) -> Cow<'_, str> {
    let mut shown = String::new();
    let mut rest = text;
    while let Some(at) = rest.find("://") {
        let (before, address) = rest.split_at(at + "://".len());
        let is_end = |c: char| AFTER_ADDRESS.contains(c) || c.is_whitespace();
        let (address, after) = address.split_at(address.find(is_end).unwrap_or(address.len()));
        let (path, query) = address.split_once('?').map_or((address, None), |(p, q)| (p, Some(q)));
        let host_end = path.find('/').unwrap_or(path.len());
        let user_end = path[..host_end].rfind('@');
        shown.push_str(before);
        shown.push_str(if user_end.is_some() { HIDDEN } else { "" });
        shown.push_str(&path[user_end.unwrap_or(0)..]);
        let is_http = before.ends_with("http://") || before.ends_with("https://");
        match query {
            Some(_) if is_http => shown.extend(["?", HIDDEN]),
            Some(query) => shown.extend(["?", query]),
            None => {}
        }
        rest = after;
    }
    if shown.is_empty() {
        return Cow::Borrowed(text);
    }
    shown.push_str(rest);
    Cow::Owned(shown)
}

fn without_token_values(text: &str) -> Cow<'_, str> {
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
        assert_eq!(shown("open https://me:pw@h/x.h5?sig=abc, twice"), "open https://***@h/x.h5?***, twice");
        assert_eq!(shown("s3://bucket/a@b?endpoint=http://h"), "s3://bucket/a@b?endpoint=http://h");
    }

    #[test]
    fn errors_never_show_tokens() {
        let cause = Error::not_found("open h5s://h/x?token=abc").with("location", "h5s://h/y?token=def");
        let error = Error::invalid("copy ?token=ghi").because(cause);
        let all = format!("{error} {error:?} {}", error.stack());
        assert!(!["abc", "def", "ghi"].iter().any(|secret| all.contains(secret)), "{all}");
    }
}
