//! A small HTTP client.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};

use serde_json::Value;

/// A response.
#[derive(Debug)]
pub(crate) struct Response {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

impl Response {
    fn parse(bytes: &[u8]) -> Option<Self> {
        let end = bytes.windows(4).position(|window| window == b"\r\n\r\n")?;
        let head = std::str::from_utf8(&bytes[..end]).ok()?;
        let mut lines = head.lines();
        let status = lines.next()?.split(' ').nth(1)?.parse().ok()?;
        let pair = |line: &str| line.split_once(": ").map(|(n, v)| (n.to_lowercase(), v.to_owned()));
        Some(Response { status, headers: lines.filter_map(pair).collect(), body: bytes[end + 4..].to_vec() })
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(n, _)| n == name).map(|(_, value)| value.as_str())
    }

    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|e| panic!("{e}: {} {}", self.status, self.text()))
    }

    pub(crate) fn f64s(&self) -> Vec<f64> {
        self.body.as_chunks::<8>().0.iter().map(|bytes| f64::from_le_bytes(*bytes)).collect()
    }
}

/// Sends bytes, and returns what comes until the server ends the connection.
pub(crate) fn exchange(address: SocketAddr, request: &[u8]) -> Vec<u8> {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.write_all(request).unwrap();
    let mut bytes = Vec::new();
    // A reset after a refusal is an end, too.
    let _ = stream.read_to_end(&mut bytes);
    bytes
}

/// Sends a GET request with headers; `Host` is that of the server unless they have it.
pub(crate) fn get_with(address: SocketAddr, target: &str, headers: &[(&str, &str)]) -> Response {
    let mut request = format!("GET {target} HTTP/1.1\r\nConnection: close\r\n");
    if !headers.iter().any(|(name, _)| *name == "Host") {
        request += &format!("Host: {address}\r\n");
    }
    for (name, value) in headers {
        request += &format!("{name}: {value}\r\n");
    }
    let bytes = exchange(address, (request + "\r\n").as_bytes());
    Response::parse(&bytes).unwrap_or_else(|| panic!("{target}: {:?}", String::from_utf8_lossy(&bytes)))
}

/// Sends a request with a body. A body that is JSON text is sent as such, others as bytes.
pub(crate) fn send(address: SocketAddr, method: &str, target: &str, body: &[u8]) -> Response {
    let kind = if matches!(body.first(), Some(b'{' | b'[')) { "json" } else { "octet-stream" };
    let head = format!(
        "{method} {target} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\nContent-Type: application/{kind}\r\n\
         Content-Length: {}\r\n\r\n",
        body.len()
    );
    let bytes = exchange(address, &[head.as_bytes(), body].concat());
    Response::parse(&bytes).unwrap_or_else(|| panic!("{target}: {:?}", String::from_utf8_lossy(&bytes)))
}

pub(crate) fn get(address: SocketAddr, target: &str) -> Response {
    get_with(address, target, &[])
}

/// Returns text that may stand in a query.
pub(crate) fn encoded(text: &str) -> String {
    let byte = |byte: u8| match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'.' | b'_' | b'-' => char::from(byte).to_string(),
        _ => format!("%{byte:02X}"),
    };
    text.bytes().map(byte).collect()
}
