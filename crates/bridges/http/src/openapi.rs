//! The description of all routes for programs.

use axum::http::header;
use axum::response::IntoResponse;

/// The description, as OpenAPI 3.1.
const DOCUMENT: &str = include_str!("openapi.json");

pub(crate) fn answer() -> impl IntoResponse {
    ([(header::CONTENT_TYPE, "application/json")], DOCUMENT)
}
