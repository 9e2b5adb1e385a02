//! The layer: which operations change something, and what of theirs a target needs in its own terms.

use std::sync::Arc;

use model::{Error, Kind, Link, LinkTarget, Result, Token};
use vol::*;

use crate::mirror::extensions::{MirrorResync, MirrorState};
use crate::mirror::mark::MARK;
use crate::mirror::read::without_descriptors;
use crate::mirror::targets::{Mirror, Policy};

/// Stores containers in several places.
#[derive(Debug, Clone, Copy, Default)]
pub struct MirrorLayer;

impl LayerFactory for MirrorLayer {
    fn info(&self) -> ConnectorInfo {
        ConnectorInfo {
            name: "mirror",
            value: 524,
            version: 1,
            capability: Capability::default(),
            about: "one container in several places",
        }
    }

    fn check(&self, op: &WrapCheck<'_>) -> Result<()> {
        let (policy, locations) = settings(op.location, op.parameters, op.access)?;
        let Some(made) = op.made else { return Ok(()) };
        let access = FileAccess { access: Access::Write, ..target_access(op.access) };
        locations.iter().try_for_each(|location| {
            match op.registry.check_create(location, made.create, &access, made.truncate) {
                Err(error) if policy == Policy::Stop || error.kind() == Kind::Exists => {
                    Err(error.during(format!("mirror to {location}")))
                }
                _ => Ok(()),
            }
        })
    }

    fn wrap(&self, op: &Wrap<'_>) -> Result<Arc<dyn Container>> {
        let (policy, locations) = settings(op.location, op.parameters, op.access)?;
        Ok(Arc::new(Mirror::new(op, policy, locations)?))
    }

    fn extensions(&self) -> &'static [ExtensionInfo] {
        &[MirrorState::INFO, MirrorResync::INFO]
    }
}

/// Returns what the parameters say: the policy, and where the targets are.
fn settings(location: &str, parameters: &Parameters, access: &FileAccess) -> Result<(Policy, Vec<String>)> {
    parameters.only(&["to", "on_failure"])?;
    let policy = match parameters.get("on_failure").unwrap_or("stop") {
        "stop" => Policy::Stop,
        "continue" => Policy::Continue,
        other => return Err(Error::invalid("read parameter").with("on_failure", other)),
    };
    if access.swmr {
        // Its writer may not make the attribute that tells which targets are stale.
        return Err(Error::unsupported("mirror a container that others read while it is written"));
    }
    let path = Location::parse(location).path;
    let locations: Vec<String> = parameters.all("to").map(|to| to.replace("{}", &path)).collect();
    check_locations(location, &locations)?;
    Ok((policy, locations))
}

/// Layers and drivers were chosen for the primary.
pub(crate) fn target_access(access: &FileAccess) -> FileAccess {
    FileAccess { stack: None, driver: None, ..access.clone() }
}

fn check_locations(primary: &str, locations: &[String]) -> Result<()> {
    let wrong = |problem| Error::invalid("read parameter").with("parameter", "to").with("problem", problem);
    if locations.is_empty() {
        return Err(wrong("mirror to what?"));
    }
    for (n, location) in locations.iter().enumerate() {
        let is_twice = location == primary || locations.iter().skip(n + 1).any(|other| other == location);
        if location.is_empty() || location.contains('\n') || is_twice {
            return Err(wrong("each target is a place of its own").with("value", format!("{location:?}")));
        }
    }
    Ok(())
}

impl Mirror {
    /// Returns an object without the mirror's own attribute.
    pub(crate) fn info_of(&self, object: Token) -> Result<ObjectInfo> {
        let info = self.primary.object_info(object).and_then(|mut info| {
            info.attributes = info.attributes.saturating_sub(u64::from(self.is_marked(object)?));
            Ok(info)
        });
        self.or_from_target(info, |pair| {
            Ok(ObjectInfo { token: object, ..pair.target.object_info(pair.token(object)?)? })
        })
    }

    /// Returns a change of one object that takes nothing from other objects.
    fn change_object<R>(
        &self,
        operation: Operation,
        object: Token,
        call: impl Fn(&dyn Container, Token) -> Result<R>,
    ) -> Result<R> {
        let primary = |primary: &dyn Container| call(primary, object);
        self.change(operation, primary, |pair, _| call(&*pair.target, pair.token(object)?).map(|_| ()))
    }
}

impl Layer for Mirror {
    fn inner(&self) -> &dyn Container {
        &*self.primary
    }

    fn info(&self) -> Result<Arc<ContainerInfo>> {
        let info = self.primary.info()?;
        let stale = self.targets.iter().filter_map(|target| Some((&target.location, target.problem()?)));
        let warnings: Vec<String> =
            stale.map(|(location, problem)| format!("mirror {location} is stale: {problem}")).collect();
        if warnings.is_empty() {
            return Ok(info);
        }
        let warnings = info.warnings.iter().cloned().chain(warnings).collect();
        Ok(Arc::new(ContainerInfo { warnings, ..(*info).clone() }))
    }

    fn commit(&self, durability: Durability) -> Result<()> {
        self.commit_all(durability)
    }

    fn close(&self) -> Result<()> {
        self.close_all()
    }

    fn optional(&self, name: &str, request: &[u8]) -> Result<Vec<u8>> {
        Optional::new(name, request)
            .on::<MirrorState>(|()| Ok(self.state_json()))
            .on::<MirrorResync>(|()| self.resync().map(|()| self.state_json()))
            .or_ask(&*self.primary)
    }

    fn retain(&self, object: Token) -> Result<()> {
        self.primary.retain(object)?;
        for (target, pair) in self.healthy() {
            match pair.token(object).and_then(|same| pair.target.retain(same)) {
                Ok(()) => *pair.tokens.retained().entry(object).or_insert(0) += 1,
                // There objects live by their links alone.
                Err(error) if error.kind() == Kind::Unsupported => {}
                // Looking at an object changes nothing: the next change says that a target lacks it.
                Err(error) => drop(self.failed(target, Operation::retain, error)),
            }
        }
        Ok(())
    }

    fn release(&self, object: Token) -> Result<()> {
        let _progress = self.progress();
        self.primary.release(object)?;
        self.each_target(Operation::release, |pair| {
            match pair.tokens.retained().get_mut(&object) {
                Some(times) if *times > 0 => *times -= 1,
                _ => return Ok(()),
            }
            pair.target.release(pair.token(object)?)
        })
    }

    fn object_info(&self, object: Token) -> Result<ObjectInfo> {
        self.info_of(object)
    }

    fn object_copy(&self, op: &OpObjectCopy) -> Result<Token> {
        self.copy_object(op)
    }

    fn object_set_comment(&self, object: Token, comment: Option<&str>) -> Result<()> {
        self.change_object(Operation::object_set_comment, object, |c, object| {
            c.object_set_comment(object, comment)
        })
    }

    fn object_adjust_references(&self, object: Token, by: i32) -> Result<u32> {
        let adjust = |c: &dyn Container, object| c.object_adjust_references(object, by);
        self.change_object(Operation::object_adjust_references, object, adjust)
    }

    fn group_create(&self, op: &OpGroupCreate) -> Result<Token> {
        self.make(
            Operation::group_create,
            |c| c.group_create(op),
            |pair| {
                let place = pair.place_or_none(op.place.as_ref())?;
                pair.target.group_create(&OpGroupCreate { place, create: op.create.clone() })
            },
        )
    }

    fn group_info(&self, group: Token) -> Result<GroupInfo> {
        self.or_from_target(self.primary.group_info(group), |pair| pair.target.group_info(pair.token(group)?))
    }

    fn link_create(&self, op: &OpLinkCreate) -> Result<()> {
        self.change(
            Operation::link_create,
            |c| c.link_create(op),
            |pair, ()| {
                let place = pair.place(&op.place)?;
                let target = match &op.target {
                    LinkTarget::Hard(token) => LinkTarget::Hard(pair.token(*token)?),
                    other => other.clone(),
                };
                pair.target.link_create(&OpLinkCreate { place, target })
            },
        )
    }

    fn link_get(&self, group: Token, name: &str) -> Result<Option<Link>> {
        let epoch = self.found.epoch();
        let link = self.primary.link_get(group, name)?;
        if let Some(Link { target: LinkTarget::Hard(object), .. }) = &link {
            self.note_found(epoch, *object, group, name);
        }
        Ok(link)
    }

    fn link_delete(&self, group: Token, name: &str) -> Result<()> {
        self.change_links(
            Operation::link_delete,
            |c| c.link_delete(group, name),
            |pair| pair.target.link_delete(pair.token(group)?, name),
        )
    }

    fn link_move(&self, op: &OpLinkMove) -> Result<()> {
        self.change_links(
            Operation::link_move,
            |c| c.link_move(op),
            |pair| {
                let (from, to) = (pair.token(op.from)?, pair.place(&op.to)?);
                pair.target.link_move(&OpLinkMove { from, to, ..op.clone() })
            },
        )
    }

    fn lookup(&self, op: &OpLookup) -> Result<Lookup> {
        let epoch = self.found.epoch();
        let found = self.primary.lookup(op)?;
        if let Lookup::Object(object) = found {
            self.note_found(epoch, object, op.from, &op.path);
        }
        Ok(found)
    }

    fn attribute_create(&self, op: &OpAttributeCreate) -> Result<()> {
        self.check_name(op.object, &[&op.name])?;
        self.change(
            Operation::attribute_create,
            |c| c.attribute_create(op),
            |pair, ()| {
                let (object, committed) = (pair.token(op.object)?, pair.token_or_none(op.committed)?);
                pair.target.attribute_create(&OpAttributeCreate { object, committed, ..op.clone() })
            },
        )
    }

    fn attribute_info(&self, object: Token, name: &str) -> Result<Option<AttributeInfo>> {
        let info = self.primary.attribute_info(object, name)?;
        Ok(info.filter(|info| object != self.root || info.name != MARK))
    }

    fn attribute_list(&self, object: Token, op: &OpList) -> Result<Page<AttributeInfo>> {
        self.list_attributes(object, op)
    }

    fn attribute_read(&self, object: Token, names: &[&str]) -> Result<Vec<Vec<u8>>> {
        self.read_attributes(object, names)
    }

    fn attribute_write(&self, object: Token, name: &str, data: &[u8]) -> Result<()> {
        self.check_name(object, &[name])?;
        self.change(
            Operation::attribute_write,
            |c| c.attribute_write(object, name, data),
            |pair, ()| {
                let info = self.primary.attribute_info(object, name)?;
                let info = info.ok_or_else(|| Error::not_found("find attribute").with("name", name))?;
                pair.target.attribute_write(pair.token(object)?, name, &pair.value(&info.datatype, data)?)
            },
        )
    }

    fn attribute_delete(&self, object: Token, name: &str) -> Result<()> {
        self.check_name(object, &[name])?;
        self.change_object(Operation::attribute_delete, object, |c, object| c.attribute_delete(object, name))
    }

    fn attribute_rename(&self, object: Token, from: &str, to: &str) -> Result<()> {
        self.check_name(object, &[from, to])?;
        self.change_object(Operation::attribute_rename, object, |c, object| {
            c.attribute_rename(object, from, to)
        })
    }

    fn dataset_create(&self, op: &OpDatasetCreate) -> Result<Token> {
        let target = |pair: &crate::mirror::pair::Pair<'_>| pair.target.dataset_create(&pair.dataset(op)?);
        self.make(Operation::dataset_create, |c| c.dataset_create(op), target)
    }

    fn dataset_info(&self, dataset: Token) -> Result<Arc<DatasetInfo>> {
        self.read_info(dataset)
    }

    fn dataset_read(&self, reads: &mut [OpRead<'_>]) -> Result<()> {
        self.read(reads)
    }

    fn dataset_write(&self, writes: &[OpWrite<'_>]) -> Result<()> {
        let target = |pair: &crate::mirror::pair::Pair<'_>, (): &()| {
            writes.iter().try_for_each(|write| pair.write(write))
        };
        self.change(Operation::dataset_write, |c| c.dataset_write(writes), target)
    }

    fn dataset_resize(&self, dataset: Token, dims: &[u64]) -> Result<()> {
        self.change_object(Operation::dataset_resize, dataset, |c, dataset| c.dataset_resize(dataset, dims))
    }

    fn chunk_read(&self, dataset: Token, offset: &[u64]) -> Result<(u32, Vec<u8>)> {
        self.or_from_target(self.primary.chunk_read(dataset, offset), |pair| {
            pair.target.chunk_read(pair.token(dataset)?, offset)
        })
    }

    fn chunk_write(&self, dataset: Token, offset: &[u64], filter_mask: u32, data: &[u8]) -> Result<()> {
        self.write_chunk(dataset, offset, filter_mask, data)
    }

    /// Fails, because elements that are written past the layer do not reach the targets.
    fn elements_place(&self, _op: &OpPlacement) -> Result<Placement> {
        Err(Error::unsupported("place elements of a mirrored container"))
    }

    fn datatype_commit(&self, op: &OpDatatypeCommit) -> Result<Token> {
        self.make(
            Operation::datatype_commit,
            |c| c.datatype_commit(op),
            |pair| {
                let place = pair.place_or_none(op.place.as_ref())?;
                pair.target.datatype_commit(&OpDatatypeCommit { place, ..op.clone() })
            },
        )
    }

    fn map_create(&self, op: &OpMapCreate) -> Result<Token> {
        self.make(
            Operation::map_create,
            |c| c.map_create(op),
            |pair| {
                let place = pair.place_or_none(op.place.as_ref())?;
                pair.target.map_create(&OpMapCreate { place, ..op.clone() })
            },
        )
    }

    fn map_info(&self, map: Token) -> Result<MapInfo> {
        self.or_from_target(self.primary.map_info(map), |pair| {
            let info = pair.target.map_info(pair.token(map)?)?;
            without_descriptors(&info.value).map(|()| info)
        })
    }

    fn map_put(&self, map: Token, pairs: &[(&[u8], &[u8])]) -> Result<()> {
        self.change(
            Operation::map_put,
            |c| c.map_put(map, pairs),
            |pair, ()| {
                let datatype = self.primary.map_info(map)?.value;
                let values: Vec<Vec<u8>> =
                    pairs.iter().map(|(_, value)| pair.value(&datatype, value)).collect::<Result<_>>()?;
                let own: Vec<(&[u8], &[u8])> =
                    pairs.iter().zip(&values).map(|((key, _), value)| (*key, value.as_slice())).collect();
                pair.target.map_put(pair.token(map)?, &own)
            },
        )
    }

    fn map_get(&self, map: Token, keys: &[&[u8]]) -> Result<Vec<Option<Vec<u8>>>> {
        self.read_map(map, keys)
    }

    fn map_delete(&self, map: Token, key: &[u8]) -> Result<bool> {
        self.change_object(Operation::map_delete, map, |c, map| c.map_delete(map, key))
    }
}
