//! A script of changes, applied to a container. `model.py` says what each operation means.

use std::collections::BTreeMap;
use std::sync::Arc;

use algorithms::transfer::Elements;
use model::convert::Conversions;
use model::properties::{CreationOrder, FileCreate, GroupCreate, ObjectCreate};
use model::{Dataspace, Datatype, Error, LinkTarget, Result, Selection, Token, UNLIMITED};
use vol::{
    Container, FileAccess, LinkLocation, OpAttributeCreate, OpDatasetCreate, OpDatatypeCommit, OpGroupCreate,
    OpLinkCreate, OpLinkMove, OpObjectCopy, Registry,
};

use crate::create;
use crate::types;
use crate::values::Packer;
use crate::words::{Node, argument};

/// A container that is changed line by line.
pub(crate) struct Script {
    registry: Registry,
    location: String,
    access: FileAccess,
    container: Option<Arc<dyn Container>>,
}

impl Script {
    pub(crate) fn new(location: &str) -> Self {
        let registry = hyperslab::registry();
        Script { registry, location: location.to_owned(), access: FileAccess::write(), container: None }
    }

    /// Applies one line.
    pub(crate) fn line(&mut self, line: &str) -> Result<()> {
        let node = Node::parse(line)?;
        let (name, args) = node.call()?;
        match name {
            "create" => self.create(args),
            "open" | "reopen" => {
                self.close()?;
                self.bound(&properties(args)?)?;
                self.container = Some(self.registry.open(&self.location, &self.access)?);
                Ok(())
            }
            _ => Change { container: self.container()? }.apply(name, args),
        }
    }

    fn container(&self) -> Result<&dyn Container> {
        self.container.as_deref().ok_or_else(|| Error::invalid("apply script").with("problem", "not open"))
    }

    fn create(&mut self, args: &[Node]) -> Result<()> {
        let options = properties(args)?;
        let order = |name| options.get(name).and_then(|v| v.first()).map_or(Ok(None), |n| order(n).map(Some));
        let root = GroupCreate {
            link_order: order("link-order")?.unwrap_or_default(),
            object: object(order("attribute-order")?.unwrap_or_default()),
            ..GroupCreate::default()
        };
        let mut create = FileCreate { root, ..FileCreate::default() };
        if let Some(bytes) = options.get("userblock").and_then(|v| v.first()) {
            create.userblock_bytes = bytes.number()?;
        }
        self.bound(&options)?;
        self.container = Some(self.registry.create(&self.location, &create, &self.access, true)?);
        Ok(())
    }

    /// The version bound, where one is given.
    fn bound(&mut self, options: &BTreeMap<&str, &[Node]>) -> Result<()> {
        if let Some(low) = options.get("low").and_then(|v| v.first()) {
            self.access.version_low = create::version(low.word()?)?;
        }
        Ok(())
    }

    /// Commits and closes the file.
    pub(crate) fn close(&mut self) -> Result<()> {
        self.container.take().map_or(Ok(()), |container| container.close())
    }
}

/// Lists by their first word.
pub(crate) fn properties(nodes: &[Node]) -> Result<BTreeMap<&str, &[Node]>> {
    nodes.iter().map(Node::call).collect()
}

pub(crate) fn order(node: &Node) -> Result<CreationOrder> {
    Ok(match node.word()? {
        "tracked" => CreationOrder::Tracked,
        "indexed" => CreationOrder::Indexed,
        _ => CreationOrder::Untracked,
    })
}

pub(crate) fn object(attribute_order: CreationOrder) -> ObjectCreate {
    // h5py keeps no times either, and old headers cannot.
    ObjectCreate { attribute_order, ..ObjectCreate::default() }
}

fn space(node: &Node) -> Result<Dataspace> {
    let (kind, args) = node.call()?;
    match kind {
        "null" => Ok(Dataspace::Null),
        "scalar" => Ok(Dataspace::Scalar),
        _ => {
            let maxima = argument(args, 1)?.numbers::<i64>()?;
            let maxima: Vec<u64> =
                maxima.into_iter().map(|max| u64::try_from(max).unwrap_or(UNLIMITED)).collect();
            Dataspace::resizable(&argument(args, 0)?.numbers::<u64>()?, &maxima)
        }
    }
}

fn selection(node: &Node) -> Result<Selection> {
    let (kind, args) = node.call()?;
    let numbers = |at| argument(args, at)?.numbers::<u64>();
    match kind {
        "all" => Ok(Selection::All),
        "slab" => Selection::hyperslab(&numbers(0)?, &numbers(1)?, &numbers(2)?, &numbers(3)?),
        _ => {
            let points: Vec<Vec<u64>> =
                argument(args, 0)?.list()?.iter().map(Node::numbers).collect::<Result<_>>()?;
            Selection::points(points.first().map_or(0, Vec::len), points.concat())
        }
    }
}

/// Operations on an open container.
struct Change<'a> {
    container: &'a dyn Container,
}

impl Change<'_> {
    fn apply(&self, name: &str, args: &[Node]) -> Result<()> {
        match name {
            "flush" => self.container.commit(vol::Durability::None),
            "group" => self.group(args),
            "type" => self.datatype(args),
            "dataset" => self.dataset(args),
            "write" => self.write(args),
            "resize" => {
                self.container.dataset_resize(self.object(args, 0)?, &argument(args, 1)?.numbers::<u64>()?)
            }
            "attribute" => self.attribute(args),
            "write-attribute" => self.write_attribute(args),
            "delete-attribute" => self.container.attribute_delete(self.object(args, 0)?, &text(args, 1)?),
            "rename-attribute" => {
                self.container.attribute_rename(self.object(args, 0)?, &text(args, 1)?, &text(args, 2)?)
            }
            "comment" => self.comment(args),
            "hard" => self.link(args, LinkTarget::Hard(self.object(args, 1)?)),
            "soft" => self.link(args, LinkTarget::Soft(text(args, 1)?)),
            "external" => {
                self.link(args, LinkTarget::External { file: text(args, 1)?, path: text(args, 2)? })
            }
            "unlink" => {
                let place = self.place(args, 0)?;
                self.container.link_delete(place.group, &place.name)
            }
            "move" => {
                let (from, to) = (self.place(args, 0)?, self.place(args, 1)?);
                self.container.link_move(&OpLinkMove { from: from.group, name: from.name, to, copy: false })
            }
            "copy" => {
                let op = OpObjectCopy::new(self.object(args, 0)?, self.place(args, 1)?);
                self.container.object_copy(&op).map(drop)
            }
            other => Err(Error::unsupported("apply script").with("operation", other)),
        }
    }

    fn find(&self, path: &str) -> Result<Token> {
        vol::path::token(self.container, self.container.info()?.root, path, 0)
    }

    fn object(&self, args: &[Node], at: usize) -> Result<Token> {
        self.find(&text(args, at)?)
    }

    fn place(&self, args: &[Node], at: usize) -> Result<LinkLocation> {
        let path = text(args, at)?;
        let (parent, name) = model::link::split_last(&path)?;
        Ok(LinkLocation::new(self.find(parent)?, name))
    }

    fn group(&self, args: &[Node]) -> Result<()> {
        let create = GroupCreate {
            link_order: order(argument(args, 1)?)?,
            object: object(order(argument(args, 2)?)?),
            ..GroupCreate::default()
        };
        self.container.group_create(&OpGroupCreate { place: Some(self.place(args, 0)?), create }).map(drop)
    }

    fn datatype(&self, args: &[Node]) -> Result<()> {
        let datatype = types::parse(argument(args, 1)?)?;
        let create = object(order(argument(args, 2)?)?);
        let op = OpDatatypeCommit { place: Some(self.place(args, 0)?), datatype, create };
        self.container.datatype_commit(&op).map(drop)
    }

    /// The committed datatype that an argument names, and its type or the one given before it.
    fn typed(&self, args: &[Node], at: usize) -> Result<(Datatype, Option<Token>)> {
        let given = types::parse(argument(args, at)?)?;
        if argument(args, at + 1)?.word()? == "none" {
            return Ok((given, None));
        }
        let token = self.object(args, at + 1)?;
        Ok((self.container.datatype_get(token)?, Some(token)))
    }

    fn dataset(&self, args: &[Node]) -> Result<()> {
        let (datatype, committed) = self.typed(args, 1)?;
        let (space, place) = (space(argument(args, 3)?)?, Some(self.place(args, 0)?));
        let options = properties(args.get(4..).unwrap_or_default())?;
        let create = create::dataset(&options, self.container, &datatype)?;
        let op = OpDatasetCreate { place, datatype, committed, space, create };
        self.container.dataset_create(&op).map(drop)
    }

    fn write(&self, args: &[Node]) -> Result<()> {
        let dataset = self.object(args, 0)?;
        let selection = &selection(argument(args, 1)?)?;
        let (data, info) = (argument(args, 2)?.bytes()?, self.container.dataset_info(dataset)?);
        let memory = info.datatype.memory_type();
        let find = |path: &str| self.find(path);
        let mut packer = Packer::new(&data, &find);
        let elements = packer.elements(&memory)?;
        let (file_type, space, conversions) = (&info.datatype, &info.space, &Conversions::default());
        let (container, transfer) = (self.container, hyperslab::Transfer::Independent);
        Elements { container, dataset, file_type, space, selection, conversions, transfer }.write(
            &memory,
            &elements,
            &mut packer.heap,
        )
    }

    fn attribute(&self, args: &[Node]) -> Result<()> {
        let name = text(args, 1)?;
        let (datatype, committed) = self.typed(args, 2)?;
        let charset = if name.is_ascii() { model::CharacterSet::Ascii } else { model::CharacterSet::Utf8 };
        let (object, space) = (self.object(args, 0)?, space(argument(args, 4)?)?);
        let op = OpAttributeCreate { object, name: name.clone(), charset, datatype, committed, space };
        self.container.attribute_create(&op)?;
        self.put_attribute(object, &name, &argument(args, 5)?.bytes()?)
    }

    fn write_attribute(&self, args: &[Node]) -> Result<()> {
        self.put_attribute(self.object(args, 0)?, &text(args, 1)?, &argument(args, 2)?.bytes()?)
    }

    fn put_attribute(&self, object: Token, name: &str, data: &[u8]) -> Result<()> {
        if data.is_empty() {
            return Ok(());
        }
        let info = self.container.attribute_info(object, name)?;
        let file_type = info.ok_or_else(|| Error::not_found("write attribute"))?.datatype;
        let raw = create::to_file_datatype(self.container, &file_type, data)?;
        self.container.attribute_write(object, name, &raw)
    }

    fn comment(&self, args: &[Node]) -> Result<()> {
        let comment = text(args, 1)?;
        let comment = Some(comment.as_str()).filter(|comment| !comment.is_empty());
        self.container.object_set_comment(self.object(args, 0)?, comment)
    }

    fn link(&self, args: &[Node], target: LinkTarget) -> Result<()> {
        self.container.link_create(&OpLinkCreate { place: self.place(args, 0)?, target })
    }
}

fn text(args: &[Node], at: usize) -> Result<String> {
    argument(args, at)?.text()
}
