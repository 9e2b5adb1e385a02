//! Services of a host for a plugin: other containers and files, and the other connectors.

use std::sync::Arc;

use model::{Error, Result};
use protocol::wire::{self, Client, Wire};
use vol::{Capability, Connector, ConnectorInfo, Container, LayerFactory, RawBytes, Registry, Resolver};

use crate::abi::{raw, registry, resolver};
use crate::call::{Message, Reply};
use crate::connector::{Foreign, answer_connector, answer_layer, lend_container};
use crate::names::interned;
use crate::object::{Callee, Remote, lend};
use crate::serve::arguments;

fn unknown(what: &str, code: u32) -> Error {
    Error::unsupported(format!("ask {what}")).with("code", code)
}

/// Returns a resolver of ours, for the other side.
pub(crate) fn lend_resolver(resolver: Arc<dyn Resolver>) -> Remote {
    lend(LentResolver(resolver))
}

struct LentResolver(Arc<dyn Resolver>);

impl Callee for LentResolver {
    fn answer(&self, message: Message<'_>) -> Result<Reply> {
        let (name, from): (String, String) = arguments(&message)?;
        Ok(Reply::object(match message.code {
            resolver::CONTAINER => lend_container(self.0.container(&name, &from)?),
            resolver::CONTAINER_FOR_WRITING => lend_container(self.0.container_for_writing(&name, &from)?),
            resolver::BYTES => lend(LentBytes(self.0.bytes(&name, &from)?)),
            code => return Err(unknown("resolver", code)),
        }))
    }
}

struct LentBytes(Arc<dyn RawBytes>);

impl Callee for LentBytes {
    fn answer(&self, mut message: Message<'_>) -> Result<Reply> {
        let offset: u64 = arguments(&message)?;
        match (message.code, &mut message.into[..], &message.bulk[..]) {
            (raw::READ_AT, [into], []) => self.0.read_at(offset, into)?,
            (raw::WRITE_AT, [], [data]) => self.0.write_at(offset, data)?,
            (code, ..) => return Err(unknown("file", code)),
        }
        Ok(Reply::default())
    }
}

/// Returns the resolver that came with a message.
pub(crate) fn foreign_resolver(message: &Message<'_>) -> Option<Arc<dyn Resolver>> {
    let remote = message.resolver.as_ref()?.again();
    Some(Arc::new(ForeignResolver(remote)))
}

struct ForeignResolver(Remote);

impl ForeignResolver {
    fn ask(&self, code: u32, name: &str, from: &str) -> Result<Remote> {
        let arguments = wire::to_bytes(&(name.to_owned(), from.to_owned()))?;
        self.0.call(Message { code, arguments: &arguments, ..Message::default() })?.into_object()
    }
}

impl Resolver for ForeignResolver {
    fn container(&self, name: &str, from: &str) -> Result<Arc<dyn Container>> {
        Ok(Arc::new(Client::new(self.ask(resolver::CONTAINER, name, from)?)))
    }

    fn container_for_writing(&self, name: &str, from: &str) -> Result<Arc<dyn Container>> {
        Ok(Arc::new(Client::new(self.ask(resolver::CONTAINER_FOR_WRITING, name, from)?)))
    }

    fn bytes(&self, name: &str, from: &str) -> Result<Arc<dyn RawBytes>> {
        Ok(Arc::new(ForeignBytes(self.ask(resolver::BYTES, name, from)?)))
    }
}

struct ForeignBytes(Remote);

impl RawBytes for ForeignBytes {
    fn read_at(&self, offset: u64, buf: &mut [u8]) -> Result<()> {
        let (arguments, into) = (&offset.to_le_bytes(), vec![buf]);
        self.0.call(Message { code: raw::READ_AT, arguments, into, ..Message::default() }).map(drop)
    }

    fn write_at(&self, offset: u64, data: &[u8]) -> Result<()> {
        let (arguments, bulk) = (&offset.to_le_bytes(), vec![data]);
        self.0.call(Message { code: raw::WRITE_AT, arguments, bulk, ..Message::default() }).map(drop)
    }
}

/// Returns a registry of ours, for the other side; `None` where it knows nothing.
pub(crate) fn lend_registry(registry: &Registry) -> Option<Remote> {
    let is_empty = registry.connectors().next().is_none() && registry.layers().next().is_none();
    (!is_empty).then(|| lend(LentRegistry(registry.clone())))
}

struct LentRegistry(Registry);

impl Callee for LentRegistry {
    fn answer(&self, message: Message<'_>) -> Result<Reply> {
        match message.code {
            registry::CONNECTORS => {
                Reply::of(&self.0.connectors().map(|c| Who::of(&c.info())).collect::<Vec<_>>())
            }
            registry::LAYERS => Reply::of(&self.0.layers().map(|l| Who::of(&l.info())).collect::<Vec<_>>()),
            registry::CONNECTOR => {
                let connector = self.0.by_name(&arguments::<String>(&message)?)?;
                Ok(Reply::object(lend(LentConnector(connector.clone()))))
            }
            registry::LAYER => {
                let layer = self.0.layer(&arguments::<String>(&message)?)?;
                Ok(Reply::object(lend(LentLayer(layer.clone()))))
            }
            code => Err(unknown("registry", code)),
        }
    }
}

struct LentConnector(Arc<dyn Connector>);

impl Callee for LentConnector {
    fn answer(&self, message: Message<'_>) -> Result<Reply> {
        answer_connector(&*self.0, &message)
    }
}

struct LentLayer(Arc<dyn LayerFactory>);

impl Callee for LentLayer {
    fn answer(&self, mut message: Message<'_>) -> Result<Reply> {
        answer_layer(&*self.0, &mut message)
    }
}

/// The info of a connector on the wire: name, value, version, capability, about.
struct Who(ConnectorInfo);

impl Who {
    fn of(info: &ConnectorInfo) -> Self {
        Who(info.clone())
    }
}

impl Wire for Who {
    fn put(&self, out: &mut Vec<u8>) -> Result<()> {
        let ConnectorInfo { name, value, version, capability, about } = &self.0;
        (*name).to_owned().put(out)?;
        value.put(out)?;
        version.put(out)?;
        capability.put(out)?;
        (*about).to_owned().put(out)
    }

    fn get(from: &mut wire::Reader<'_>) -> Result<Self> {
        let name = interned(from.text()?);
        let (value, version, capability) = (u32::get(from)?, u32::get(from)?, Capability::get(from)?);
        Ok(Who(ConnectorInfo { name, value, version, capability, about: interned(from.text()?) }))
    }
}

/// Returns the registry that came with a message: what is in it answers from the other side.
pub(crate) fn foreign_registry(message: &Message<'_>) -> Result<Registry> {
    let mut found = Registry::new();
    let Some(remote) = &message.registry else { return Ok(found) };
    let list = |code| -> Result<Vec<Who>> {
        wire::from_bytes(&remote.call(Message { code, ..Message::default() })?.answer.bytes)
    };
    let source = |code, name: &str| LazySource { registry: remote.again(), code, name: name.to_owned() };
    for Who(info) in list(registry::CONNECTORS)? {
        let source = source(registry::CONNECTOR, info.name);
        found.register(Arc::new(Foreign { info, source }))?;
    }
    for Who(info) in list(registry::LAYERS)? {
        let source = source(registry::LAYER, info.name);
        found.register_layer(Arc::new(Foreign { info, source }))?;
    }
    Ok(found)
}

/// A connector or layer of a registry of the other side, found when it is asked for the first thing.
struct LazySource {
    registry: Remote,
    code: u32,
    name: String,
}

impl crate::connector::Source for LazySource {
    fn ask(&self, message: Message<'_>) -> Result<Reply> {
        let arguments = wire::to_bytes(&self.name)?;
        let found =
            self.registry.call(Message { code: self.code, arguments: &arguments, ..Message::default() })?;
        found.into_object()?.call(message)
    }
}
