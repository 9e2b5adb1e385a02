//! The page, embedded in the program.

use std::sync::Arc;

use axum::Router;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use axum::routing::get;

use crate::run::Shared;

/// A file of the page.
struct PageFile {
    name: &'static str,
    content_type: &'static str,
    content: &'static [u8],
}

macro_rules! files {
    ($($name:literal),* $(,)?) => {
        [$(PageFile { name: $name, content_type: content_type($name), content: include_bytes!(concat!("../page/", $name)) }),*]
    };
}

/// All files of the page. One that is not named here is not served.
const FILES: &[PageFile] = &files![
    "index.html",
    "style.css",
    "app.js",
    "api.js",
    "axes.js",
    "blocks.js",
    "colormap.js",
    "colourbar.js",
    "dataset.js",
    "details.js",
    "dom.js",
    "export.js",
    "format.js",
    "grid.js",
    "group.js",
    "heat.js",
    "histogram.js",
    "image.js",
    "keys.js",
    "line.js",
    "loader.js",
    "object.js",
    "plot.js",
    "range.js",
    "route.js",
    "search.js",
    "sidebar.js",
    "slice.js",
    "table.js",
    "theme.js",
    "toolbar.js",
    "tree.js",
    "types.js",
    "values.js",
    "virtual.js",
];

/// Returns the content type for the ending of a name.
const fn content_type(name: &str) -> &'static str {
    match name.as_bytes() {
        [.., b'.', b'h', b't', b'm', b'l'] => "text/html; charset=utf-8",
        [.., b'.', b'c', b's', b's'] => "text/css; charset=utf-8",
        [.., b'.', b's', b'v', b'g'] => "image/svg+xml",
        _ => "text/javascript; charset=utf-8",
    }
}

/// Returns whether a path is that of the page or of one of its files.
pub(crate) fn is_file(path: &str) -> bool {
    let path = path.strip_prefix("/view").unwrap_or(path);
    path.strip_prefix('/').is_some_and(|name| name.is_empty() || FILES.iter().any(|file| file.name == name))
}

/// Returns the routes of the page in a folder.
pub(crate) fn routes(folder: &str) -> Router<Arc<Shared>> {
    // `/` has more than one meaning.
    let router = match folder {
        "" => Router::new(),
        folder => Router::new().route(&format!("{folder}/"), get(|| async { index() })),
    };
    FILES.iter().fold(router, |router, file| {
        router.route(&format!("{folder}/{}", file.name), get(move || async move { answer(file) }))
    })
}

/// Returns the page.
pub(crate) fn index() -> Response {
    answer(&FILES[0]).into_response()
}

fn answer(file: &'static PageFile) -> impl IntoResponse {
    ([(header::CONTENT_TYPE, file.content_type)], file.content)
}
