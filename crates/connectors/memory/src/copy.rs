//! Copies of objects: first all that belongs to a copy is found, then it is made.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use model::datatype::{ReferenceKind, VarLenKind};
use model::{Datatype, Error, Limits, Link, LinkTarget, Reference, ReferenceTarget, Result, Token};
use vol::{Container, ContainerInfo, Lookup, OpLookup, OpObjectCopy, Place};

use crate::attributes::Attributes;
use crate::container::describe;
use crate::links::Group;
use crate::objects::{Body, Object, State};

/// What a copy consists of.
#[derive(Default)]
struct Plan {
    /// Objects, each with its distance from the one that is copied.
    depth: BTreeMap<Token, u32>,
    order: Vec<Token>,
    /// Soft links that become hard ones: group, name and object.
    expanded: BTreeMap<(Token, String), Token>,
    /// Objects that are copied only because a reference points to them.
    pointed: Vec<Token>,
    tokens: BTreeMap<Token, Token>,
}

/// Just enough of a container to follow paths while the state is locked.
struct View<'a>(&'a State);

impl Container for View<'_> {
    fn info(&self) -> Result<Arc<ContainerInfo>> {
        Ok(Arc::new(describe(self.0, &Default::default(), false)))
    }

    fn link_get(&self, group: Token, name: &str) -> Result<Option<Link>> {
        self.0.link_get(group, name)
    }
}

impl State {
    pub(crate) fn object_copy(&mut self, op: &OpObjectCopy, limits: &Limits) -> Result<Token> {
        self.object(op.object)?;
        self.check_place(&op.place, limits.entries_max)?;
        let mut plan = self.plan_copy(op, limits)?;
        plan.tokens = plan.order.iter().map(|&old| (old, self.reserve())).collect();
        let copies = plan.order.iter().map(|&old| Ok((plan.tokens[&old], self.copy_of(old, op, &plan)?)));
        let copies = copies.collect::<Result<Vec<(Token, Object)>>>()?;
        self.insert_all(copies)?;
        for old in &plan.pointed {
            self.link_pointed(*old, plan.tokens[old], limits)?;
        }
        let copy = plan.tokens[&op.object];
        self.link(&op.place, LinkTarget::Hard(copy))?;
        Ok(copy)
    }

    /// Objects that only references lead to are linked in the root group, under the name libhdf5 gives them.
    fn link_pointed(&mut self, old: Token, new: Token, limits: &Limits) -> Result<()> {
        if self.object(new)?.references > 0 {
            return Ok(());
        }
        let mut place = Place::new(self.root(), format!("~obj_pointed_by_{}", old.to_u64()));
        while self.group(place.group)?.get(&place.name).is_some() {
            place.name.push('~');
        }
        self.check_place(&place, limits.entries_max)?;
        self.link(&place, LinkTarget::Hard(new))
    }

    fn plan_copy(&self, op: &OpObjectCopy, limits: &Limits) -> Result<Plan> {
        let mut plan = Plan::default();
        let mut pending = VecDeque::from([(op.object, 0)]);
        while let Some((token, depth)) = pending.pop_front() {
            if plan.depth.contains_key(&token) {
                continue;
            }
            plan.depth.insert(token, depth);
            plan.order.push(token);
            let object = self.object(token)?;
            if !op.merge_committed_types {
                pending.extend(committed_of(object, op).into_iter().map(|used| (used, depth)));
            }
            for member in self.members(token, object, depth, op, limits, &mut plan)? {
                pending.push_back((member, depth + 1));
            }
            if op.expand_references {
                let pointed: Vec<Token> = self.pointed_from(object, op)?;
                plan.pointed.extend(pointed.iter().filter(|t| !plan.depth.contains_key(t)));
                pending.extend(pointed.into_iter().map(|target| (target, depth)));
            }
        }
        plan.pointed.sort_unstable();
        plan.pointed.dedup();
        Ok(plan)
    }

    /// The objects a group's copy has links to.
    fn members(
        &self,
        token: Token,
        object: &Object,
        depth: u32,
        op: &OpObjectCopy,
        limits: &Limits,
        plan: &mut Plan,
    ) -> Result<Vec<Token>> {
        let Body::Group(group) = &object.body else { return Ok(Vec::new()) };
        if op.shallow && depth > 0 {
            return Ok(Vec::new());
        }
        let mut members = Vec::new();
        for entry in group.links() {
            match &entry.target {
                LinkTarget::Hard(member) => members.push(*member),
                LinkTarget::Soft(path) if op.expand_soft_links => {
                    if let Some(target) = self.soft_target(token, path, limits)? {
                        plan.expanded.insert((token, entry.name.clone()), target);
                        members.push(target);
                    }
                }
                LinkTarget::External { file, .. } if op.expand_external_links => {
                    return Err(Error::unsupported("copy what external links point to").with("file", file));
                }
                _ => {}
            }
        }
        Ok(members)
    }

    /// What a soft link leads to; `None` where it dangles or leaves the container.
    fn soft_target(&self, from: Token, path: &str, limits: &Limits) -> Result<Option<Token>> {
        let op = OpLookup { from, path: path.to_owned(), traversals_max: limits.link_traversals_max };
        match vol::path::walk(&View(self), &op) {
            Ok(Lookup::Object(token)) => Ok(Some(token)),
            _ => Ok(None),
        }
    }

    fn pointed_from(&self, object: &Object, op: &OpObjectCopy) -> Result<Vec<Token>> {
        let mut object = object.clone();
        if op.without_attributes {
            object.attributes = Attributes::default();
        }
        let mut found = Vec::new();
        each_value(&mut object, &mut |datatype, bytes| self.find_pointed(datatype, bytes, &mut found))?;
        found.retain(|token| self.object(*token).is_ok());
        Ok(found)
    }

    fn find_pointed(&self, datatype: &Datatype, bytes: &mut [u8], found: &mut Vec<Token>) -> Result<()> {
        each_slot(datatype, bytes, &mut |datatype, slot| match datatype {
            Datatype::Reference(t) => {
                let reference = self.reference(t.kind, slot)?;
                found.extend(reference.token().filter(|_| reference.file.is_none()));
                Ok(())
            }
            _ => match nested(datatype, slot) {
                Some((base, id)) if base.has_slots() => {
                    self.find_pointed(base, &mut self.blobs.get(id)?.to_vec(), found)
                }
                _ => Ok(()),
            },
        })
    }

    fn copy_of(&mut self, old: Token, op: &OpObjectCopy, plan: &Plan) -> Result<Object> {
        let mut copy = self.object(old)?.clone();
        (copy.references, copy.handles) = (0, 0);
        if op.without_attributes {
            copy.attributes = Attributes::default();
        }
        let mapped = |token: Token| plan.tokens.get(&token).copied().unwrap_or(token);
        for attribute in copy.attributes.values_mut() {
            attribute.info.committed = attribute.info.committed.map(mapped);
        }
        match &mut copy.body {
            Body::Group(group) => *group = group_copy(old, group, op, plan),
            Body::Dataset(dataset) => {
                let info = Arc::make_mut(&mut dataset.info);
                info.committed = info.committed.map(mapped);
            }
            Body::Datatype(_) | Body::Map(_) => {}
        }
        each_value(&mut copy, &mut |datatype, bytes| self.own_slots(datatype, bytes, op, plan))?;
        Ok(copy)
    }

    /// Gives copied elements blobs of their own and, where asked, references to copies.
    fn own_slots(
        &mut self,
        datatype: &Datatype,
        bytes: &mut [u8],
        op: &OpObjectCopy,
        plan: &Plan,
    ) -> Result<()> {
        each_slot(datatype, bytes, &mut |datatype, slot| match datatype {
            Datatype::Reference(t) if op.expand_references => self.own_reference(t.kind, slot, plan),
            Datatype::Reference(_) => Ok(()),
            _ => {
                let id = &slot[4..];
                if id.iter().all(|&b| b == 0) {
                    return Ok(());
                }
                let mut value = self.blobs.get(id)?.to_vec();
                if let Some((base, _)) = nested(datatype, slot).filter(|(base, _)| base.has_slots()) {
                    self.own_slots(base, &mut value, op, plan)?;
                }
                let id = self.blobs.put(&value);
                slot[4..].copy_from_slice(&id);
                Ok(())
            }
        })
    }

    fn own_reference(&mut self, kind: ReferenceKind, slot: &mut [u8], plan: &Plan) -> Result<()> {
        let reference = self.reference(kind, slot)?;
        let copy = reference.token().and_then(|token| plan.tokens.get(&token));
        if let Some(&copy) = copy.filter(|_| reference.file.is_none()) {
            let target = retargeted(reference.target, copy);
            let bytes = self.reference_slot(kind, &Reference { target, file: None });
            slot.copy_from_slice(&bytes);
        }
        Ok(())
    }
}

fn retargeted(target: ReferenceTarget, to: Token) -> ReferenceTarget {
    match target {
        ReferenceTarget::Null => ReferenceTarget::Null,
        ReferenceTarget::Object(_) => ReferenceTarget::Object(to),
        ReferenceTarget::Region { selection, .. } => ReferenceTarget::Region { dataset: to, selection },
        ReferenceTarget::Attribute { name, .. } => ReferenceTarget::Attribute { object: to, name },
    }
}

fn committed_of(object: &Object, op: &OpObjectCopy) -> Vec<Token> {
    let mut used: Vec<Token> = match op.without_attributes {
        true => Vec::new(),
        false => object.attributes.committed().collect(),
    };
    if let Body::Dataset(dataset) = &object.body {
        used.extend(dataset.info.committed);
    }
    used
}

fn group_copy(old: Token, group: &Group, op: &OpObjectCopy, plan: &Plan) -> Group {
    let mut copy = Group::new(group.create.clone());
    if op.shallow && plan.depth.get(&old).is_some_and(|&depth| depth > 0) {
        return copy;
    }
    for entry in group.in_creation_order() {
        let object = match &entry.target {
            LinkTarget::Hard(token) => Some(token),
            _ => plan.expanded.get(&(old, entry.name.clone())),
        };
        let target =
            object.map_or_else(|| entry.target.clone(), |token| LinkTarget::Hard(plan.tokens[token]));
        copy.add(&entry.name, entry.charset, target);
    }
    copy
}

/// All element bytes of an object that hold slots, each with its type.
fn each_value(object: &mut Object, visit: &mut dyn FnMut(&Datatype, &mut [u8]) -> Result<()>) -> Result<()> {
    for attribute in object.attributes.values_mut().filter(|attribute| attribute.info.datatype.has_slots()) {
        visit(&attribute.info.datatype, &mut attribute.data)?;
    }
    match &mut object.body {
        Body::Dataset(dataset) if dataset.info.datatype.has_slots() => {
            dataset.blocks.values_mut().try_for_each(|block| visit(&dataset.info.datatype, block))
        }
        Body::Map(map) if map.value.has_slots() => {
            map.pairs.values_mut().try_for_each(|value| visit(&map.value, value))
        }
        _ => Ok(()),
    }
}

/// Every slot of packed elements.
fn each_slot(
    datatype: &Datatype,
    bytes: &mut [u8],
    visit: &mut dyn FnMut(&Datatype, &mut [u8]) -> Result<()>,
) -> Result<()> {
    if !datatype.has_slots() {
        return Ok(());
    }
    for element in bytes.chunks_exact_mut(datatype.size() as usize) {
        match datatype {
            Datatype::Array(array) => each_slot(&array.base, element, visit)?,
            Datatype::Compound(compound) => {
                for member in &compound.members {
                    let end = member.offset as usize + member.datatype.size() as usize;
                    each_slot(&member.datatype, &mut element[member.offset as usize..end], visit)?;
                }
            }
            _ => visit(datatype, element)?,
        }
    }
    Ok(())
}

/// The elements of a variable-length sequence: their type, and the identity of their blob.
fn nested<'a>(datatype: &'a Datatype, slot: &'a [u8]) -> Option<(&'a Datatype, &'a [u8])> {
    let Datatype::VarLen(t) = datatype else { return None };
    let VarLenKind::Sequence(base) = &t.kind else { return None };
    let id = &slot[4..];
    id.iter().any(|&b| b != 0).then_some((base, id))
}
