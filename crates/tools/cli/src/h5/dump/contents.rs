//! `-n`: the names of all objects; `-B`: the file's own properties.

use hyperslab::vol::model::properties::SpaceStrategy;
use hyperslab::vol::model::text::to_bytes;
use hyperslab::{LinkTarget, ObjectKind, Result, Token};

use super::Dumper;
use super::attributes::list_attributes;
use super::streams::Stream;
use super::tables::{Sorting, shown, walk};

impl Dumper<'_> {
    /// Prints `FILE_CONTENTS`.
    pub(crate) fn contents(&mut self) -> Result<()> {
        self.put(b"\nFILE_CONTENTS {\n")?;
        let tables = self.file().tables.clone();
        for token in tables.unnamed_types() {
            self.put(format!(" {:<10} /#{}\n", "datatype", token.to_u64()).as_bytes())?;
        }
        let container = self.container();
        let with_attributes = self.options.contents_attributes;
        let sorting = self.sorting();
        walk(&*container, self.sorting(), &mut |step| {
            let path = shown(step.path);
            let (path, mut lines) = (to_bytes(&path), Vec::new());
            match (step.target, step.object) {
                (_, Some((kind, token))) => {
                    let first = if step.again { tables.path(token) } else { None };
                    push_line(&mut lines, kind_word(kind), &path, first.as_deref().map(to_bytes).as_deref());
                    if with_attributes && !step.again {
                        push_attributes(&*container, token, &shown(step.path), sorting, &mut lines)?;
                    }
                }
                (LinkTarget::Soft(to), _) => push_line(&mut lines, "link", &path, Some(&to_bytes(to))),
                (LinkTarget::External { file, path: to }, _) => {
                    let to = [&to_bytes(file)[..], b" ", &to_bytes(to)].concat();
                    push_line(&mut lines, "ext link", &path, Some(&to));
                }
                _ => {
                    lines
                        .extend_from_slice(&[b" unknown type of UD link ", &path[..], b" -> ???\n"].concat());
                }
            }
            self.streams.put(Stream::Ddl, &lines)
        })?;
        self.put(b" }\n")
    }

    /// Prints `SUPER_BLOCK`.
    pub(crate) fn superblock(&mut self) -> Result<()> {
        let info = self.container().info()?;
        let create = &info.create;
        let version = |name: &str| info.versions.iter().find(|(n, _)| *n == name).map_or(0, |(_, v)| *v);
        let strategy = match create.space_strategy {
            SpaceStrategy::FsmAggregate => "H5F_FSPACE_STRATEGY_FSM_AGGR",
            SpaceStrategy::Page => "H5F_FSPACE_STRATEGY_PAGE",
            SpaceStrategy::Aggregate => "H5F_FSPACE_STRATEGY_AGGR",
            SpaceStrategy::None => "H5F_FSPACE_STRATEGY_NONE",
        };
        let lines = [
            format!("SUPERBLOCK_VERSION {}", version("superblock")),
            format!("FREELIST_VERSION {}", version("free list")),
            format!("SYMBOLTABLE_VERSION {}", version("symbol table")),
            format!("OBJECTHEADER_VERSION {}", version("object header")),
            format!("OFFSET_SIZE {}", create.offset_bytes),
            format!("LENGTH_SIZE {}", create.length_bytes),
            format!("BTREE_RANK {}", create.group_internal_k),
            format!("BTREE_LEAF {}", create.group_leaf_k),
            format!("ISTORE_K {}", create.chunk_k),
            format!("FILE_SPACE_STRATEGY {strategy}"),
            format!("FREE_SPACE_PERSIST {}", if create.space_persist { "TRUE" } else { "FALSE" }),
            format!("FREE_SPACE_SECTION_THRESHOLD {}", create.space_threshold),
            format!("FILE_SPACE_PAGE_SIZE {}", create.page_bytes),
            format!("USER_BLOCK {{\n      USERBLOCK_SIZE {}\n   }}", create.userblock_bytes),
        ];
        let body: String = lines.iter().map(|line| format!("   {line}\n")).collect();
        self.put(format!("\nSUPER_BLOCK {{\n{body}}}").as_bytes())
    }
}

fn kind_word(kind: ObjectKind) -> &'static str {
    kind.name()
}

fn push_line(lines: &mut Vec<u8>, word: &str, path: &[u8], target: Option<&[u8]>) {
    lines.extend_from_slice(format!(" {word:<10} ").as_bytes());
    lines.extend_from_slice(path);
    if let Some(target) = target {
        lines.extend_from_slice(b" -> ");
        lines.extend_from_slice(target);
    }
    lines.push(b'\n');
}

fn push_attributes(
    container: &dyn hyperslab::vol::Container,
    object: Token,
    path: &str,
    sorting: Sorting,
    lines: &mut Vec<u8>,
) -> Result<()> {
    // Attributes that cannot be read are left out, as h5dump does it.
    for attribute in list_attributes(container, object, sorting).unwrap_or_default() {
        let path = hyperslab::vol::model::link::join(path, &attribute.name);
        push_line(lines, "attribute", &to_bytes(&path), None);
    }
    Ok(())
}
