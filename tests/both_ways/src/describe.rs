//! What a container holds, in the lines that `model.py` writes too.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use model::convert::Conversions;
use model::heap::Heap;
use model::properties::{AllocTime, CreationOrder, DatasetCreate, FillTime, FillValue, Layout};
use model::{Dataspace, Datatype, Error, Index, LinkTarget, ObjectKind, Result, Selection, Token, UNLIMITED};
use vol::{Container, OpList, OpRead};

use crate::types;
use crate::values::Unpacker;
use crate::words::{hex, list};

/// All lines about a container.
pub(crate) fn describe(container: &dyn Container) -> Result<Vec<String>> {
    let mut walk = Walk { container, paths: BTreeMap::new(), lines: Vec::new() };
    for (path, token) in walk.objects()? {
        let told = walk.object(&path, token);
        told.map_err(|error| error.with("object", &path))?;
    }
    Ok(walk.lines)
}

struct Walk<'a> {
    container: &'a dyn Container,
    paths: BTreeMap<Token, String>,
    lines: Vec<String>,
}

fn listing(index: Index) -> OpList {
    OpList { index, count_max: u64::MAX, ..OpList::default() }
}

impl Walk<'_> {
    /// Every object with its path, level by level, by the bytes of names.
    fn objects(&mut self) -> Result<Vec<(String, Token)>> {
        let root = self.container.info()?.root;
        self.paths.insert(root, "/".to_owned());
        let mut found = vec![("/".to_owned(), root)];
        let mut at = 0;
        while let Some((base, token)) = found.get(at).cloned() {
            at += 1;
            if self.container.object_info(token)?.kind != ObjectKind::Group {
                continue;
            }
            for link in self.container.link_list(token, &listing(Index::Name))?.entries {
                let LinkTarget::Hard(member) = link.target else { continue };
                let path = model::link::join(&base, &link.name);
                if let Entry::Vacant(entry) = self.paths.entry(member) {
                    entry.insert(path.clone());
                    found.push((path, member));
                }
            }
        }
        Ok(found)
    }

    fn add(&mut self, words: &[String]) {
        self.lines.push(list(words));
    }

    fn path(&self, token: Token) -> String {
        self.paths.get(&token).cloned().unwrap_or_else(|| "?".to_owned())
    }

    fn object(&mut self, path: &str, token: Token) -> Result<()> {
        let info = self.container.object_info(token)?;
        let kind = if info.kind == ObjectKind::Datatype { "type" } else { info.kind.name() };
        let comment = hex(info.comment.unwrap_or_default());
        self.add(&["object".into(), hex(path), kind.into(), info.references.to_string(), comment]);
        self.attributes(path, token, info.create.attribute_order)?;
        match info.kind {
            ObjectKind::Group => self.group(path, token),
            ObjectKind::Dataset => self.dataset(path, token),
            ObjectKind::Datatype => {
                let datatype = types::describe(&self.container.datatype_get(token)?);
                self.add(&["type".into(), hex(path), datatype]);
                Ok(())
            }
            ObjectKind::Map => Err(Error::unsupported("describe map")),
        }
    }

    fn group(&mut self, path: &str, token: Token) -> Result<()> {
        for link in self.container.link_list(token, &listing(Index::Name))?.entries {
            let mut words = vec!["link".to_owned(), hex(path), hex(&link.name)];
            words.extend(match link.target {
                LinkTarget::Hard(member) => vec!["hard".into(), hex(self.path(member))],
                LinkTarget::Soft(target) => vec!["soft".into(), hex(target)],
                LinkTarget::External { file, path } => vec!["external".into(), hex(file), hex(path)],
                LinkTarget::User { .. } => vec!["user".into()],
            });
            self.add(&words);
        }
        let order = self.container.group_info(token)?.create.link_order;
        let mut words = vec!["link-order".to_owned(), hex(path), order_word(order).to_owned()];
        if order != CreationOrder::Untracked {
            let links = self.container.link_list(token, &listing(Index::CreationOrder))?.entries;
            words.extend(links.iter().map(|link| hex(&link.name)));
        }
        self.add(&words);
        Ok(())
    }

    fn attributes(&mut self, path: &str, token: Token, order: CreationOrder) -> Result<()> {
        for info in self.container.attribute_list(token, &listing(Index::Name))?.entries {
            let raw = self.container.attribute_read(token, &[&info.name])?.concat();
            let told = self.elements(&info.datatype, &raw);
            let told = told.map_err(|error| error.with("attribute", &info.name))?;
            let words = [
                "attribute".to_owned(),
                hex(path),
                hex(&info.name),
                types::describe(&info.datatype),
                self.committed(info.committed),
                space(&info.space),
                hex(told),
            ];
            self.add(&words);
        }
        let mut words = vec!["attribute-order".to_owned(), hex(path), order_word(order).to_owned()];
        if order != CreationOrder::Untracked {
            let list = self.container.attribute_list(token, &listing(Index::CreationOrder))?.entries;
            words.extend(list.iter().map(|info| hex(&info.name)));
        }
        self.add(&words);
        Ok(())
    }

    fn committed(&self, token: Option<Token>) -> String {
        let Some(token) = token else { return "none".to_owned() };
        self.paths.get(&token).map_or_else(|| "unlinked".to_owned(), hex)
    }

    /// Elements in the file datatype, in the common form.
    fn elements(&self, file_type: &Datatype, raw: &[u8]) -> Result<Vec<u8>> {
        let (mut heap, memory) = (Heap::new(), file_type.memory_type());
        let conversions = Conversions::default();
        let data = algorithms::transfer::from_file_type(
            self.container,
            file_type,
            raw,
            &memory,
            &conversions,
            &mut heap,
        )?;
        let tell = |token| self.path(token);
        let dims = |token| Ok(self.container.dataset_info(token)?.space.dims().to_vec());
        Unpacker { heap: &heap, tell: &tell, dims: &dims }.elements(&memory, &data)
    }

    fn dataset(&mut self, path: &str, dataset: Token) -> Result<()> {
        let info = self.container.dataset_info(dataset)?;
        let datatype = types::describe(&info.datatype);
        let committed = self.committed(info.committed);
        self.add(&["dataset".into(), hex(path), datatype, committed, space(&info.space)]);
        let count = info.space.element_count()?;
        let mut raw = vec![0; (count * u64::from(info.datatype.size())) as usize];
        if count > 0 {
            let selection = &Selection::All;
            self.container.dataset_read(&mut [OpRead { dataset, selection, into: &mut raw }])?;
        }
        let elements = hex(self.elements(&info.datatype, &raw)?);
        self.add(&["elements".into(), hex(path), elements]);
        self.create(path, &info.datatype, &info.create)
    }

    fn create(&mut self, path: &str, datatype: &Datatype, create: &DatasetCreate) -> Result<()> {
        let mut line = |name: &str, value: Vec<String>| {
            self.lines.push(list(&[vec![name.to_owned(), hex(path)], value].concat()));
        };
        line("layout", layout(&create.layout));
        line("filters", create.filters.iter().map(filter).collect());
        line("fill-time", vec![fill_time(create.fill.time).to_owned()]);
        line("alloc", vec![alloc_time(create.alloc_time).to_owned()]);
        let fill = match &create.fill.value {
            FillValue::Undefined => vec!["undefined".to_owned()],
            FillValue::Default => vec!["default".to_owned()],
            FillValue::Value(raw) => vec!["value".to_owned(), hex(self.elements(datatype, raw)?)],
        };
        self.add(&[vec!["fill".to_owned(), hex(path)], fill].concat());
        Ok(())
    }
}

fn layout(layout: &Layout) -> Vec<String> {
    let word = match layout {
        Layout::Compact => "compact",
        Layout::Contiguous => "contiguous",
        Layout::External(_) => "external",
        Layout::Chunked { shape, .. } => return vec!["chunked".to_owned(), numbers(shape)],
        Layout::Virtual(_) => "virtual",
    };
    vec![word.to_owned()]
}

fn filter(filter: &model::properties::FilterSpec) -> String {
    let name = filters::names::name(filter.id).unwrap_or("unknown");
    match (name, filter.values.first()) {
        ("deflate", Some(level)) => format!("(deflate {level})"),
        (name, _) => format!("({name})"),
    }
}

fn numbers(dims: &[u64]) -> String {
    let words: Vec<String> =
        dims.iter().map(|&dim| if dim == UNLIMITED { "-1".to_owned() } else { dim.to_string() }).collect();
    list(&words)
}

fn space(space: &Dataspace) -> String {
    match space {
        Dataspace::Null => "(null)".to_owned(),
        Dataspace::Scalar => "(scalar)".to_owned(),
        Dataspace::Simple(_) => format!("(simple {} {})", numbers(space.dims()), numbers(space.max_dims())),
    }
}

fn order_word(order: CreationOrder) -> &'static str {
    match order {
        CreationOrder::Untracked => "untracked",
        CreationOrder::Tracked => "tracked",
        CreationOrder::Indexed => "indexed",
    }
}

fn fill_time(time: FillTime) -> &'static str {
    match time {
        FillTime::Alloc => "alloc",
        FillTime::Never => "never",
        FillTime::IfSet => "ifset",
    }
}

fn alloc_time(time: AllocTime) -> &'static str {
    match time {
        AllocTime::Default => "default",
        AllocTime::Early => "early",
        AllocTime::Late => "late",
        AllocTime::Incremental => "incremental",
    }
}
