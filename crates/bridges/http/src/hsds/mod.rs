//! HSDS's REST interface (`docs/http.md`), so that h5pyd and H5Web's `HsdsProvider` work with containers under the root.
//!
//! A *domain* is a container or a folder under the root; `/run.h5` is `run.h5` there. Objects have identifiers that the
//! server makes of their tokens (`ids`); clients may also bring identifiers of their own for objects that they create. Each
//! request that changes a domain is one durable commit, which is done when the answer is sent.

mod acls;
mod attributes;
mod body;
mod call;
mod creation;
mod datasets;
mod domain;
mod form;
mod ids;
mod links;
mod nan;
mod objects;
mod properties;
mod request;
mod select;
mod service;
mod types;
mod values;
mod writes;

pub(crate) use ids::IdentifierTable;
pub(crate) use request::{DOMAIN, has_domain, takes_body};
pub(crate) use service::answer;

/// Routes of the interface, as `/openapi.json` writes them.
pub(crate) const ROUTES: [&str; 23] = [
    "/",
    "/about",
    "/info",
    "/domains",
    "/acls",
    "/acls/{user}",
    "/groups",
    "/groups/{id}",
    "/groups/{id}/links",
    "/groups/{id}/links/{title}",
    "/groups/{id}/attributes",
    "/groups/{id}/attributes/{name}",
    "/datasets",
    "/datasets/{id}",
    "/datasets/{id}/shape",
    "/datasets/{id}/type",
    "/datasets/{id}/value",
    "/datasets/{id}/attributes",
    "/datasets/{id}/attributes/{name}",
    "/datatypes",
    "/datatypes/{id}",
    "/datatypes/{id}/attributes",
    "/datatypes/{id}/attributes/{name}",
];
