//! Who may ask: the host that a client thinks it talks to, the site that a browser asks for, and who one is.

mod audit;
mod credentials;
mod headers;
mod site;

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, Uri, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use hyperslab::{Error, Result};
use server::{Principal, Rights};

use crate::answer::Failure;
use crate::config::{Auth, Config};
use crate::connection::Connection;
use crate::query::Query;
use crate::{hsds, page, routes};

pub use audit::Audit;
pub(crate) use audit::write_down;
pub(crate) use headers::add_headers;

/// Bytes of a code or a cookie, before they are hexadecimal digits.
const SECRET_BYTES: usize = 32;

/// A code, and the cookie that one browser gets for it.
#[derive(Debug)]
struct Exchange {
    code: String,
    is_used: AtomicBool,
    cookie_name: String,
    cookie: String,
}

/// The authentication, ready to be checked.
#[derive(Debug)]
enum Lock {
    Code(Exchange),
    Tokens(Rights),
    Off,
}

/// Checks every request for a known route.
#[derive(Debug)]
pub(crate) struct Guard {
    lock: Lock,
    /// Hosts that requests may name. `None` is any: clients from other machines know names that the server does not,
    /// and they have tokens, which no other site has.
    hosts: Option<Vec<String>>,
    origins: Vec<String>,
    body_bytes_max: u64,
    write_bytes_max: u64,
}

/// A request that passed.
enum Admission {
    /// A caller with these rights.
    Caller(Principal),
    /// A browser that is to get this cookie.
    Browser(String),
}

impl Guard {
    pub(crate) fn new(config: &Config, address: SocketAddr) -> Result<Self> {
        let lock = match &config.auth {
            Auth::Code => Lock::Code(Exchange::new(address.port())?),
            Auth::Tokens(rights) => Lock::Tokens(rights.clone()),
            Auth::Off => Lock::Off,
        };
        let hosts = address.ip().is_loopback().then(|| site::loopback_hosts(address));
        let origins = config.origins.clone();
        let (body_bytes_max, write_bytes_max) = (config.limits.body_bytes_max, config.limits.write_bytes_max);
        Ok(Guard { lock, hosts, origins, body_bytes_max, write_bytes_max })
    }

    /// Returns the code for a browser, where one is needed.
    pub(crate) fn code(&self) -> Option<&str> {
        match &self.lock {
            Lock::Code(exchange) => Some(&exchange.code),
            _ => None,
        }
    }

    fn admit(
        &self,
        method: &Method,
        uri: &Uri,
        headers: &HeaderMap,
    ) -> std::result::Result<Admission, Failure> {
        site::check_host(self.hosts.as_deref(), uri, headers)?;
        // Pages of other origins may read: what they would change, a user did not ask for.
        let origins: &[String] = if *method == Method::GET { &self.origins } else { &[] };
        site::check_origin(origins, uri.path(), headers)?;
        self.check_body(method, uri.path(), headers)?;
        match &self.lock {
            Lock::Off => Ok(Admission::Caller(Principal::trusted("anybody"))),
            Lock::Tokens(rights) => {
                let token = credentials::token(headers);
                rights.principal(token.as_deref()).map(Admission::Caller).ok_or_else(|| unknown("a token"))
            }
            Lock::Code(exchange) => exchange.admit(uri, headers),
        }
    }

    /// Refuses bodies that are too large, or that no route takes: they would have to be read before the next request.
    fn check_body(
        &self,
        method: &Method,
        path: &str,
        headers: &HeaderMap,
    ) -> std::result::Result<(), Failure> {
        let length = headers.get(header::CONTENT_LENGTH).and_then(|value| value.to_str().ok());
        let bytes = length.map_or(0, |length| length.parse().unwrap_or(u64::MAX));
        let takes_body = hsds::takes_body(method, path);
        let bytes_max = if takes_body { self.write_bytes_max } else { self.body_bytes_max };
        if bytes > bytes_max || headers.contains_key(header::TRANSFER_ENCODING) {
            return Err(Failure::new(StatusCode::PAYLOAD_TOO_LARGE, "The body of the request is too large"));
        }
        Ok(())
    }
}

impl Exchange {
    fn new(port: u16) -> Result<Self> {
        Ok(Exchange {
            code: secret()?,
            is_used: AtomicBool::new(false),
            // Browsers send the cookies of a host to all of its ports.
            cookie_name: format!("hyperslab-{port}"),
            cookie: secret()?,
        })
    }

    fn admit(&self, uri: &Uri, headers: &HeaderMap) -> std::result::Result<Admission, Failure> {
        let has_cookie = credentials::cookies(headers, &self.cookie_name)
            .any(|value| credentials::is_equal(value, &self.cookie));
        let code = Query::parse(uri.query().unwrap_or_default())?;
        let code = code.get("code").filter(|_| uri.path() == "/");
        match code {
            Some(_) if has_cookie => Ok(Admission::Browser(self.set_cookie())),
            Some(code) if credentials::is_equal(code, &self.code) => {
                match self.is_used.swap(true, Ordering::AcqRel) {
                    false => Ok(Admission::Browser(self.set_cookie())),
                    true => Err(Failure::new(
                        StatusCode::FORBIDDEN,
                        "This address was opened in another browser: run `hyperslab view` again",
                    )),
                }
            }
            Some(_) => Err(Failure::new(StatusCode::FORBIDDEN, "The code is wrong")),
            // The page itself has no secrets. A browser that came from another site sends its cookie only from the page on.
            None if has_cookie || page::is_file(uri.path()) => {
                Ok(Admission::Caller(Principal::trusted("viewer")))
            }
            None => Err(unknown("the address that `hyperslab view` printed")),
        }
    }

    fn set_cookie(&self) -> String {
        format!("{}={}; HttpOnly; SameSite=Strict; Path=/", self.cookie_name, self.cookie)
    }
}

fn unknown(needed: &str) -> Failure {
    Failure::new(StatusCode::UNAUTHORIZED, format!("Permission denied: a client needs {needed}"))
}

fn secret() -> Result<String> {
    let mut bytes = [0; SECRET_BYTES];
    system::random::fill(&mut bytes).map_err(|e| Error::io("create code", &e))?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// Lets a request through that may be answered, with the rights of its caller.
pub(crate) async fn check(State(guard): State<Arc<Guard>>, mut request: Request, next: Next) -> Response {
    match guard.admit(request.method(), request.uri(), request.headers()) {
        Ok(Admission::Caller(who)) => {
            if let Err(busy) = known(&request, &who) {
                return guard.refuse(busy);
            }
            let caller = audit::Caller(who.name.clone());
            request.extensions_mut().insert(who);
            let mut response = next.run(request).await;
            response.extensions_mut().insert(caller);
            response
        }
        Ok(Admission::Browser(cookie)) => with_cookie(routes::redirect("/"), &cookie),
        Err(failure) => guard.refuse(failure),
    }
}

/// Counts the connection of a request for its caller.
fn known(request: &Request, who: &Principal) -> std::result::Result<(), Failure> {
    let connection = request.extensions().get::<Arc<Connection>>();
    Ok(connection.map_or(Ok(()), |connection| connection.know(&who.name))?)
}

fn with_cookie(mut response: Response, cookie: &str) -> Response {
    if let Ok(cookie) = HeaderValue::try_from(cookie) {
        response.headers_mut().insert(header::SET_COOKIE, cookie);
    }
    response
}

impl Guard {
    /// Refuses a request. Browsers ask their user for a token, and what follows in the connection is not looked at.
    fn refuse(&self, failure: Failure) -> Response {
        let status = failure.status;
        let asks = status == StatusCode::UNAUTHORIZED && matches!(self.lock, Lock::Tokens(_));
        let mut response = failure.into_response();
        let headers = response.headers_mut();
        headers.insert(header::CONNECTION, HeaderValue::from_static("close"));
        if status == StatusCode::SERVICE_UNAVAILABLE {
            headers.insert(header::RETRY_AFTER, HeaderValue::from_static("1"));
        }
        if asks {
            let basic = HeaderValue::from_static("Basic realm=\"hyperslab\", charset=\"UTF-8\"");
            headers.insert(header::WWW_AUTHENTICATE, basic);
        }
        response
    }
}
