//! Containers over HTTP (`docs/http.md`): what `hyperslab view` and `hyperslab serve --http` run.
//!
//! Four families of routes share one server: h5grove's endpoints (`grove`), HSDS's interface (`hsds`), one for pages and
//! programs (`api`), and an embedded page. The library blocks, so each request runs on a thread of its own (`run`), behind
//! limits of how many run at once and how much memory they take. Only HSDS's interface changes anything.
#![forbid(unsafe_code)]

mod answer;
mod api;
mod call;
mod config;
mod connection;
mod containers;
mod elements;
mod encoding;
mod grove;
mod guard;
mod hsds;
mod limits;
mod openapi;
mod page;
mod patience;
mod query;
mod routes;
mod run;
mod server;

pub use config::{Accounts, Auth, Config, Metrics, Source};
pub use guard::Audit;
pub use limits::HttpLimits;
pub use routes::paths as route_paths;
pub use server::Server;
