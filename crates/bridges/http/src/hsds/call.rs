//! One request, as the functions that answer it see it.

use std::cell::RefCell;
use std::sync::Arc;

use axum::http::{HeaderMap, Method, StatusCode};
use axum::response::{IntoResponse, Response};
use hyperslab::vol::Access;
use hyperslab::vol::model::{Budget, ObjectKind, Reference, Token};
use hyperslab::{Dataset, Error, Group, Kind, ObjectHandle};
use server::Principal;

use super::ids::{self, DomainIdentifiers};
use super::request::Request;
use crate::answer::Failure;
use crate::call::{Call, Deadline, Outcome};
use crate::containers::OpenContainer;
use crate::query::Query;
use crate::run::{self, Shared};

/// One request.
#[derive(Debug)]
pub(super) struct HsdsCall<'a> {
    pub(super) shared: &'a Shared,
    pub(super) who: &'a Principal,
    pub(super) request: &'a Request,
    headers: &'a HeaderMap,
    /// The account of the answer.
    memory: Budget,
    deadline: &'a Deadline,
    /// The entity tag of the domain that was read.
    etag: RefCell<Option<String>>,
}

/// A domain that is a container.
#[derive(Debug)]
pub(super) struct Domain {
    pub(super) container: OpenContainer,
    pub(super) ids: Arc<DomainIdentifiers>,
    root: Token,
}

impl<'a> HsdsCall<'a> {
    pub(super) fn new(
        shared: &'a Shared,
        who: &'a Principal,
        request: &'a Request,
        headers: &'a HeaderMap,
        deadline: &'a Deadline,
    ) -> Self {
        let memory = shared.account(who);
        HsdsCall { shared, who, memory, request, headers, deadline, etag: RefCell::default() }
    }

    pub(super) fn query(&self) -> &Query {
        &self.request.query
    }

    /// Returns the name of the domain that a request is about.
    pub(super) fn domain_name(&self) -> Result<&str, Failure> {
        let name = self.request.domain.as_deref();
        name.ok_or_else(|| Failure::malformed("The parameter domain is missing"))
    }

    /// Opens the domain that a request is about.
    pub(super) fn open(&self, access: Access) -> Result<Domain, Failure> {
        let containers = &self.shared.containers;
        let name = self.domain_name()?;
        let container = containers.open(self.who, Some(name), access).map_err(refused)?;
        if access == Access::Read && self.request.method == Method::GET {
            *self.etag.borrow_mut() = container.etag();
            self.check_known()?;
        }
        let location = containers.location(self.who, name, access).map_err(refused)?;
        Domain::new(container, self.shared.identifiers.domain(&location))
    }

    /// Returns what the functions that read elements need.
    pub(super) fn reading<'d>(&'d self, domain: &'d Domain) -> Call<'d> {
        Call {
            container: &domain.container,
            query: &self.request.query,
            limits: &self.shared.limits,
            memory: &self.memory,
            deadline: self.deadline,
        }
    }

    /// Ends the work for a client that has this version of the answer.
    fn check_known(&self) -> Result<(), Failure> {
        match run::is_known(self.headers, self.etag.borrow().as_deref()) {
            true => Err(Failure::new(StatusCode::NOT_MODIFIED, "The domain did not change")),
            false => Ok(()),
        }
    }

    /// Returns the response.
    pub(super) fn finish(&self, outcome: Outcome) -> Response {
        let etag = self.etag.borrow().clone();
        match outcome {
            Ok(answer) => answer.into_response_for(self.headers, etag),
            Err(failure) if failure.status == StatusCode::NOT_MODIFIED => {
                run::with_etag(failure.status.into_response(), etag)
            }
            Err(failure) => as_hsds(failure).into_response(),
        }
    }
}

/// HSDS has one status for all arguments that make no sense.
fn as_hsds(failure: Failure) -> Failure {
    match failure.status {
        StatusCode::UNPROCESSABLE_ENTITY => Failure { status: StatusCode::BAD_REQUEST, ..failure },
        _ => failure,
    }
}

/// Returns the failure of a domain that cannot be used.
pub(super) fn refused(error: Error) -> Failure {
    match error.kind() {
        Kind::NotFound => Failure::missing("There is no such domain"),
        Kind::Denied => Failure::new(StatusCode::FORBIDDEN, "Permission denied"),
        Kind::Exists => Failure::new(StatusCode::CONFLICT, "There is a domain of this name"),
        _ => error.into(),
    }
}

impl Domain {
    pub(super) fn new(container: OpenContainer, ids: Arc<DomainIdentifiers>) -> Result<Self, Failure> {
        let root = container.file.container_info()?.root;
        Ok(Domain { container, ids, root })
    }

    /// Returns the identifier of an object.
    pub(super) fn id(&self, kind: ObjectKind, token: Token) -> String {
        if token == self.root { self.ids.root() } else { self.ids.id(kind, token) }
    }

    /// Returns the token that an identifier stands for, if it has the form of one.
    pub(super) fn token(&self, id: &str) -> Result<(ObjectKind, Token), Failure> {
        let (kind, number) =
            ids::parse(id).ok_or_else(|| Failure::malformed(format!("{id:?} is not an identifier")))?;
        Ok((kind, self.ids.token(number).unwrap_or(self.root)))
    }

    /// Returns the object of an identifier.
    ///
    /// # Errors
    /// Returns a failure with the status 400 if it is not an identifier, and 404 if no object has it.
    pub(super) fn object(&self, id: &str) -> Result<ObjectHandle, Failure> {
        let (kind, token) = self.token(id)?;
        let missing = || Failure::missing(format!("There is no object {id}"));
        let handle =
            self.container.file.dereference(&Reference::object(token)).map_err(|error| {
                match error.kind() {
                    Kind::Io | Kind::Busy | Kind::Cancelled => error.into(),
                    _ => missing(),
                }
            })?;
        let info = handle.object().info()?;
        if info.kind == kind && info.token == token { Ok(handle) } else { Err(missing()) }
    }

    /// Returns the object of an identifier that must be in a collection.
    pub(super) fn object_in(&self, collection: &str, id: &str) -> Result<ObjectHandle, Failure> {
        let handle = self.object(id)?;
        match ids::collection(handle.object().info()?.kind) == collection {
            true => Ok(handle),
            false => Err(Failure::malformed(format!("{id} is not one of the {collection}"))),
        }
    }

    pub(super) fn dataset(&self, id: &str) -> Result<Dataset, Failure> {
        match self.object(id)? {
            ObjectHandle::Dataset(dataset) => Ok(dataset),
            _ => Err(Failure::malformed(format!("{id} is not a dataset"))),
        }
    }

    pub(super) fn group(&self, id: &str) -> Result<Group, Failure> {
        match self.object(id)? {
            ObjectHandle::Group(group) => Ok(group),
            _ => Err(Failure::malformed(format!("{id} is not a group"))),
        }
    }

    /// Makes all changes durable.
    pub(super) fn commit(&self) -> Result<(), Failure> {
        Ok(self.container.commit()?)
    }
}
