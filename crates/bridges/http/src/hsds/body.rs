//! The body of a request, within limits of bytes and time.

use std::future::poll_fn;
use std::pin::Pin;
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::http::StatusCode;
use http_body::Body as _;
use hyperslab::vol::model::{Budget, Charge};

use crate::answer::Failure;
use crate::call::busy;
use crate::run::Shared;

/// A body comes at this rate at least, in bytes a second, after the time that every client has.
const RATE_MIN: u64 = 64 << 10;

/// Returns the body, and the memory that it takes. Memory is taken as bytes arrive: a client that sends nothing holds none.
///
/// # Errors
/// Returns a failure with the status 408 if the client is too slow, 413 if there are too many bytes, and 503 if others
/// use the memory.
pub(super) async fn read(shared: &Shared, memory: &Budget, body: Body) -> Result<(Bytes, Charge), Failure> {
    let bytes_max = shared.limits.write_bytes_max;
    let expected = body.size_hint().upper().unwrap_or(bytes_max).min(bytes_max);
    let time_max = shared.limits.stall_time_max + Duration::from_secs(expected / RATE_MIN);
    let late = |_| Failure::new(StatusCode::REQUEST_TIMEOUT, "The body of the request came too slowly");
    tokio::time::timeout(time_max, collect(memory, body, bytes_max)).await.map_err(late)?
}

async fn collect(memory: &Budget, mut body: Body, bytes_max: u64) -> Result<(Bytes, Charge), Failure> {
    let mut charge = memory.empty_charge();
    let mut bytes = Vec::new();
    while let Some(frame) = poll_fn(|context| Pin::new(&mut body).poll_frame(context)).await {
        let frame = frame.map_err(|_| Failure::malformed("The body of the request ended too early"))?;
        let Ok(data) = frame.into_data() else { continue };
        let len = (bytes.len() + data.len()) as u64;
        if len > bytes_max {
            return Err(Failure::new(StatusCode::PAYLOAD_TOO_LARGE, "The body of the request is too large"));
        }
        if charge.bytes() < len {
            charge.resize(len.next_multiple_of(CHARGE_BYTES), "request").map_err(|_| busy())?;
        }
        bytes.extend_from_slice(&data);
    }
    Ok((bytes.into(), charge))
}

/// Memory is taken in steps of this.
const CHARGE_BYTES: u64 = 1 << 20;
