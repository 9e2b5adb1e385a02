//! Requests that a browser sends for another site are refused.

use std::net::SocketAddr;

use axum::http::{HeaderMap, StatusCode, Uri, header};

use crate::answer::Failure;
use crate::page;

/// Returns the hosts that clients of a loopback address may name. Any other name was made to lead to this machine by
/// someone else (DNS rebinding).
pub(crate) fn loopback_hosts(address: SocketAddr) -> Vec<String> {
    let names = ["127.0.0.1".to_owned(), "localhost".to_owned(), "[::1]".to_owned()];
    let port = address.port();
    let mut hosts: Vec<String> = names.iter().map(|name| format!("{name}:{port}")).collect();
    hosts.push(address.to_string());
    if port == 80 {
        hosts.extend(names);
    }
    hosts
}

fn refused(message: &str) -> Failure {
    Failure::new(StatusCode::FORBIDDEN, message)
}

fn text<'h>(headers: &'h HeaderMap, name: &str) -> Option<&'h str> {
    headers.get(name).map(|value| value.to_str().unwrap_or("(not text)"))
}

/// Checks the host that a client thinks it talks to.
pub(crate) fn check_host(hosts: Option<&[String]>, uri: &Uri, headers: &HeaderMap) -> Result<(), Failure> {
    let Some(hosts) = hosts else { return Ok(()) };
    let is_known = |host: &str| hosts.iter().any(|known| known.eq_ignore_ascii_case(host));
    let is_single = headers.get_all(header::HOST).iter().count() == 1;
    let is_said = uri.authority().is_none_or(|authority| is_known(authority.as_str()));
    match text(headers, "host") {
        Some(host) if is_single && is_said && is_known(host) => Ok(()),
        _ => Err(refused("Permission denied: the request names another host")),
    }
}

/// Checks the site that a browser asks for. Other clients say nothing about it.
pub(crate) fn check_origin(origins: &[String], path: &str, headers: &HeaderMap) -> Result<(), Failure> {
    let origin = text(headers, "origin");
    if origin.is_some_and(|origin| origins.iter().any(|allowed| allowed == origin)) {
        return Ok(());
    }
    let is_own = match (text(headers, "sec-fetch-site"), origin) {
        (Some("same-origin" | "none"), _) | (None, None) => true,
        (Some(_), _) => is_navigation(headers) && page::is_file(path),
        (None, Some(origin)) => {
            let host = text(headers, "host").unwrap_or_default();
            origin.strip_prefix("http://").is_some_and(|name| name.eq_ignore_ascii_case(host))
        }
    };
    if is_own { Ok(()) } else { Err(refused("Permission denied: the request comes from another site")) }
}

/// Returns whether the user followed a link.
fn is_navigation(headers: &HeaderMap) -> bool {
    text(headers, "sec-fetch-mode") == Some("navigate") && text(headers, "sec-fetch-dest") == Some("document")
}
