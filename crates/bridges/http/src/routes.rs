//! All routes, in one table.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::{Extension, State};
use axum::http::{HeaderMap, Method, StatusCode, Uri, header};
use axum::middleware;
use axum::response::{IntoResponse, Response};
use axum::routing::{any, get};
use axum::{Router, http};
use server::Principal;

use crate::answer::Failure;
use crate::call::Handler;
use crate::config::{Config, Metrics};
use crate::guard::{self, Guard};
use crate::run::{self, Shared};
use crate::{api, grove, hsds, openapi, page};

/// Routes of containers. All of them are read with GET.
const ROUTES: [(&str, Handler); 10] = [
    ("/h5grove/meta", grove::meta::answer),
    ("/h5grove/data", grove::data::answer),
    ("/h5grove/attr", grove::attr::answer),
    ("/h5grove/paths", grove::paths::answer),
    ("/h5grove/stats", grove::stats::answer),
    ("/api/container", api::container::answer),
    ("/api/properties", api::properties::answer),
    ("/api/sample", api::sample::answer),
    ("/api/histogram", api::histogram::answer),
    ("/api/search", api::search::answer),
];

/// Routes that are answered without a container.
const PLAIN_ROUTES: [&str; 3] = ["/h5grove/", "/openapi.json", "/view/"];

/// The folder of the page where `/` is not it.
const PAGE_FOLDER: &str = "/view";

/// Returns the paths of all routes. `/openapi.json` describes each.
pub fn paths() -> impl Iterator<Item = &'static str> {
    ROUTES.iter().map(|(path, _)| *path).chain(PLAIN_ROUTES).chain(hsds::ROUTES)
}

/// Returns the service of a server.
pub(crate) fn router(shared: Arc<Shared>, guard: Arc<Guard>, config: &Config) -> Router {
    let guarded = containers()
        .merge(domains())
        .nest(PAGE_FOLDER, containers())
        .route("/openapi.json", get(|| async { openapi::answer() }))
        .merge(page::routes(""))
        .merge(page::routes(PAGE_FOLDER))
        .route_layer(middleware::from_fn_with_state(guard.clone(), guard::check));
    with_metrics(guarded, config.metrics.clone())
        .fallback(not_found)
        .method_not_allowed_fallback(wrong_method)
        .layer(middleware::from_fn_with_state(guard, guard::add_headers))
        .layer(middleware::from_fn_with_state(config.audit.clone(), guard::write_down))
        .with_state(shared)
}

fn containers() -> Router<Arc<Shared>> {
    let ok = get(|| async { "ok" });
    let plain = Router::new().route("/h5grove/", ok.clone()).route("/h5grove", ok);
    ROUTES.into_iter().fold(plain, |router, (path, handler)| {
        let answer =
            move |State(shared): State<Arc<Shared>>,
                  Extension(who): Extension<Principal>,
                  uri: Uri,
                  headers: HeaderMap| run::answer(shared, who, uri, headers, handler);
        router.route(path, get(answer))
    })
}

/// Paths of HSDS's interface, whose parts it takes apart itself: names of attributes may have slashes.
const DOMAIN_PATHS: [&str; 12] = [
    "/about",
    "/info",
    "/domains",
    "/acls",
    "/acls/{user}",
    "/groups",
    "/groups/{*rest}",
    "/datasets",
    "/datasets/{*rest}",
    "/datatypes",
    "/datatypes/{*rest}",
    "/",
];

/// Returns the routes of HSDS's interface. `/` is the page where the request names no domain.
fn domains() -> Router<Arc<Shared>> {
    let answer = |State(shared): State<Arc<Shared>>,
                  Extension(who): Extension<Principal>,
                  method: Method,
                  uri: Uri,
                  headers: HeaderMap,
                  body: Body| async move {
        match uri.path() {
            "/" if method == Method::GET && !hsds::has_domain(&uri, &headers) => page::index(),
            _ => hsds::answer(shared, who, method, uri, headers, body).await,
        }
    };
    DOMAIN_PATHS.into_iter().fold(Router::new(), |router, path| router.route(path, any(answer)))
}

/// Adds `/healthz` and `/metrics`, which monitors ask for without a token.
fn with_metrics(router: Router<Arc<Shared>>, metrics: Option<Metrics>) -> Router<Arc<Shared>> {
    let Some(metrics) = metrics else { return router };
    let text = |body: String| {
        let headers = [(header::CONTENT_TYPE, "text/plain; version=0.0.4"), (header::CONNECTION, "close")];
        (headers, body)
    };
    router
        .route("/healthz", get(move || async move { text("ok\n".to_owned()) }))
        .route("/metrics", get(move || async move { text(metrics()) }))
}

async fn not_found() -> Response {
    let failure = Failure::missing("There is no such route: see /openapi.json");
    ([(header::CONNECTION, "close")], failure).into_response()
}

async fn wrong_method() -> Response {
    Failure::new(StatusCode::METHOD_NOT_ALLOWED, "This route is read with GET").into_response()
}

/// The address of the page, after a code was exchanged.
pub(crate) fn redirect(to: &'static str) -> Response {
    (http::StatusCode::SEE_OTHER, [(header::LOCATION, to)]).into_response()
}
