//! Connectors and layers across the boundary: calling one of the other side, and answering for one of ours.

use std::sync::Arc;

use model::{Error, Result};
use protocol::wire::{self, Client, OpenRequest, Wrapping};
use vol::Operation;
use vol::{
    Connector, ConnectorInfo, Container, ContainerCreate, ContainerOpen, FileAccess, LayerFactory, Registry,
    Wrap,
};

use crate::abi::connector as code;
use crate::call::{Message, Reply};
use crate::object::{Callee, Remote, lend};
use crate::serve::arguments;
use crate::services::{foreign_registry, foreign_resolver, lend_registry, lend_resolver};

/// The side that answers for a connector or layer.
pub(crate) trait Source: Send + Sync {
    /// Asks it; the code says what.
    fn ask(&self, message: Message<'_>) -> Result<Reply>;
}

impl Source for Remote {
    fn ask(&self, message: Message<'_>) -> Result<Reply> {
        self.call(message)
    }
}

/// A connector or layer of the other side.
pub(crate) struct Foreign<S> {
    pub(crate) info: ConnectorInfo,
    pub(crate) source: S,
}

impl<S: Source> Foreign<S> {
    fn container(&self, message: Message<'_>) -> Result<Arc<dyn Container>> {
        Ok(Arc::new(Client::new(self.source.ask(message)?.into_object()?)))
    }
}

/// Returns what comes with every way to a container.
fn with_services<'a>(
    code: u32,
    arguments: &'a [u8],
    access: &FileAccess,
    registry: &Registry,
) -> Message<'a> {
    let resolver = access.resolver.clone().map(lend_resolver);
    Message { code, arguments, resolver, registry: lend_registry(registry), ..Message::default() }
}

impl<S: Source> Connector for Foreign<S> {
    fn info(&self) -> ConnectorInfo {
        self.info.clone()
    }

    fn create(&self, op: &ContainerCreate<'_>) -> Result<Arc<dyn Container>> {
        let arguments = wire::to_bytes(&OpenRequest::create(op))?;
        self.container(with_services(code::CREATE, &arguments, op.access, op.registry))
    }

    fn open(&self, op: &ContainerOpen<'_>) -> Result<Arc<dyn Container>> {
        let arguments = wire::to_bytes(&OpenRequest::open(op))?;
        self.container(with_services(code::OPEN, &arguments, op.access, op.registry))
    }

    fn delete(&self, op: &ContainerOpen<'_>) -> Result<()> {
        let path = op.path;
        let arguments = wire::to_bytes(&path.to_owned())?;
        self.source.ask(Message { code: code::REMOVE, arguments: &arguments, ..Message::default() })?;
        Ok(())
    }

    fn is_accessible(&self, op: &ContainerOpen<'_>) -> Result<bool> {
        let (path, access) = (op.path, op.access);
        let arguments = wire::to_bytes(&(path.to_owned(), access.clone()))?;
        let message = with_services(code::IS_ACCESSIBLE, &arguments, access, op.registry);
        wire::from_bytes(&self.source.ask(message)?.answer.bytes)
    }
}

impl<S: Source> LayerFactory for Foreign<S> {
    fn info(&self) -> ConnectorInfo {
        self.info.clone()
    }

    fn wrap(&self, op: &Wrap<'_>) -> Result<Arc<dyn Container>> {
        let arguments = wire::to_bytes(&Wrapping::of(op))?;
        let message = with_services(code::WRAP, &arguments, op.access, op.registry);
        self.container(Message { inner: Some(lend_container(op.inner.clone())), ..message })
    }
}

/// Answers for a connector of ours.
pub(crate) fn answer_connector(connector: &dyn Connector, message: &Message<'_>) -> Result<Reply> {
    match message.code {
        code::CREATE | code::OPEN => open(connector, message),
        code::REMOVE => {
            let (path, access): (String, _) = (arguments(message)?, FileAccess::read());
            Reply::of(&connector.delete(&ContainerOpen::new(&path, &access))?)
        }
        code::IS_ACCESSIBLE => {
            let (path, access): (String, FileAccess) = arguments(message)?;
            let access = with_resolver(access, message);
            Reply::of(&connector.is_accessible(&ContainerOpen::new(&path, &access))?)
        }
        code => Err(Error::unsupported("ask connector").with("code", code)),
    }
}

fn with_resolver(access: FileAccess, message: &Message<'_>) -> FileAccess {
    FileAccess { resolver: foreign_resolver(message), ..access }
}

fn open(connector: &dyn Connector, message: &Message<'_>) -> Result<Reply> {
    let request: OpenRequest = arguments(message)?;
    let (path, engine, truncate) = (&*request.path, request.engine.as_deref(), request.truncate);
    let access = &with_resolver(request.access, message);
    let registry = &foreign_registry(message)?;
    let container = match &request.create {
        Some(create) => {
            connector.create(&ContainerCreate { path, engine, create, access, truncate, registry })
        }
        None => connector.open(&ContainerOpen { path, engine, access, registry }),
    };
    Ok(Reply::object(lend_container(container?)))
}

/// Answers for a layer of ours.
pub(crate) fn answer_layer(layer: &dyn LayerFactory, message: &mut Message<'_>) -> Result<Reply> {
    if message.code != code::WRAP {
        return Err(Error::unsupported("ask layer").with("code", message.code));
    }
    let wrapping: Wrapping = arguments(message)?;
    let inner =
        message.inner.take().ok_or_else(|| Error::invalid("wrap").with("problem", "no inner container"))?;
    let op = Wrap {
        inner: Arc::new(Client::new(inner)),
        location: &wrapping.location,
        parameters: &wrapping.parameters,
        made: wrapping.made(),
        access: &with_resolver(wrapping.access.clone(), message),
        registry: &foreign_registry(message)?,
    };
    Ok(Reply::object(lend_container(layer.wrap(&op)?)))
}

/// Returns a container of ours, for the other side.
pub(crate) fn lend_container(container: Arc<dyn Container>) -> Remote {
    lend(Lent(container))
}

struct Lent(Arc<dyn Container>);

impl Callee for Lent {
    fn answer(&self, message: Message<'_>) -> Result<Reply> {
        let Message { code, arguments, bulk, into, .. } = message;
        let code =
            Operation::of(code).ok_or_else(|| Error::unsupported("run operation").with("code", code))?;
        let mut answer = wire::Answer::new();
        wire::dispatch(&*self.0, wire::Request { code, arguments, bulk, into }, &mut answer)?;
        Ok(Reply { answer, object: None })
    }
}
