//! What a client says about who it is.

use axum::http::{HeaderMap, header};
use base64::Engine;
use base64::prelude::BASE64_STANDARD;

/// Returns the token of a request: a bearer token, or the password of basic authentication, whose user does not matter.
pub(crate) fn token(headers: &HeaderMap) -> Option<String> {
    let value = headers.get(header::AUTHORIZATION)?.to_str().ok()?;
    let (scheme, rest) = value.split_once(' ')?;
    match scheme {
        _ if scheme.eq_ignore_ascii_case("bearer") => Some(rest.trim().to_owned()),
        _ if scheme.eq_ignore_ascii_case("basic") => password(rest.trim()),
        _ => None,
    }
}

fn password(encoded: &str) -> Option<String> {
    let pair = String::from_utf8(BASE64_STANDARD.decode(encoded).ok()?).ok()?;
    pair.split_once(':').map(|(_, password)| password.to_owned())
}

/// Returns the values of all cookies of a name.
pub(crate) fn cookies<'h>(headers: &'h HeaderMap, name: &'h str) -> impl Iterator<Item = &'h str> {
    let values = headers.get_all(header::COOKIE).iter().filter_map(|value| value.to_str().ok());
    let pairs = values.flat_map(|value| value.split(';')).filter_map(|pair| pair.trim().split_once('='));
    pairs.filter(move |(n, _)| *n == name).map(|(_, value)| value)
}

/// Takes as long whichever characters differ.
pub(crate) fn is_equal(a: &str, b: &str) -> bool {
    a.len() == b.len() && a.bytes().zip(b.bytes()).fold(0, |differ, (a, b)| differ | (a ^ b)) == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(name: header::HeaderName, value: &str) -> HeaderMap {
        HeaderMap::from_iter([(name, value.parse().unwrap())])
    }

    #[test]
    fn tokens_are_bearers_or_passwords() {
        let token_of = |value: &str| token(&with(header::AUTHORIZATION, value));
        assert_eq!(token_of("Bearer 0123456789abcdef").as_deref(), Some("0123456789abcdef"));
        assert_eq!(token_of("basic YW5uOmE6Yg==").as_deref(), Some("a:b"));
        for wrong in ["", "Bearer", "Basic !!", "Basic YW5u", "Digest x"] {
            assert_eq!(token_of(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn a_cookie_is_found_among_others() {
        let headers = with(header::COOKIE, "a=1; hyperslab-80=x=y;b=2");
        assert_eq!(cookies(&headers, "hyperslab-80").collect::<Vec<_>>(), ["x=y"]);
    }
}
