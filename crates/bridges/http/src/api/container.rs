//! `/api/container`: the container itself.

use serde_json::json;

use crate::answer::Answer;
use crate::call::{Call, Outcome};

/// Answers a request.
pub(crate) fn answer(call: &Call<'_>) -> Outcome {
    let container = call.container;
    let info = container.file.container_info()?;
    Ok(Answer::json(&json!({
        "name": container.name,
        "location": container.location,
        "connector": info.connector,
        "writable": info.writable,
        "size": container.bytes().or(info.storage_bytes),
    })))
}
