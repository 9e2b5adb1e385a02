//! Containers that make no sense: one to spoil, ways to spoil it, and a look at all that is left.

use model::datatype::ReferenceKind;
use model::properties::{CreationOrder, DatasetCreate, FilterSpec, GroupCreate, Layout, ObjectCreate};
use model::{CharacterSet, Dataspace, Datatype, Error, Index, LinkTarget, ObjectKind, Result, Selection};
use vol::{
    Container, OpAttributeCreate, OpDatasetCreate, OpGroupCreate, OpLinkCreate, OpList, OpMapCreate, OpRead,
    Place,
};

use crate::generate::Generator;
use crate::ints::{dataset, int, write};

fn lost() -> Error {
    Error::not_found("find what was just made")
}

/// One object of every kind.
pub fn sample(c: &dyn Container) -> Result<()> {
    let root = c.info()?.root;
    let object = ObjectCreate { attribute_order: CreationOrder::Tracked, ..ObjectCreate::default() };
    let create = GroupCreate { link_order: CreationOrder::Tracked, object, ..GroupCreate::default() };
    let group = c.group_create(&OpGroupCreate { place: Some(Place::new(root, "g")), create })?;
    let soft = LinkTarget::Soft("/g".into());
    c.link_create(&OpLinkCreate { place: Place::new(group, "soft"), target: soft })?;
    let external = LinkTarget::External { file: "f".into(), path: "/x".into() };
    c.link_create(&OpLinkCreate { place: Place::new(group, "external"), target: external })?;
    for (name, datatype) in [
        ("ints", int()),
        ("texts", Datatype::var_string(CharacterSet::Utf8)),
        ("refs", Datatype::reference(ReferenceKind::Object)),
    ] {
        let space = Dataspace::simple(&[3])?;
        let (name, charset) = (name.to_owned(), CharacterSet::Ascii);
        let op = OpAttributeCreate { object: group, name, charset, datatype, committed: None, space };
        c.attribute_create(&op)?;
        let bytes = c.attribute_info(group, &op.name)?.ok_or_else(lost)?.datatype.size() as usize * 3;
        c.attribute_write(group, &op.name, &vec![1; bytes])?;
    }
    let data = dataset(c, Place::new(group, "d"), &[10, 4], &[4, 4])?;
    write(c, data, &(0..40).collect::<Vec<_>>())?;
    let mut create = DatasetCreate { layout: Layout::chunked(&[8]), ..Default::default() };
    let shuffle = FilterSpec { id: 2, name: None, optional: false, values: vec![] };
    create.filters.push(shuffle);
    let space = Dataspace::simple(&[20])?;
    let place = Some(Place::new(group, "filtered"));
    let op = OpDatasetCreate { place, datatype: int(), committed: None, space, create };
    let filtered = c.dataset_create(&op)?;
    write(c, filtered, &[5; 20])?;
    let place = Some(Place::new(group, "map"));
    let create = ObjectCreate::default();
    let map = c.map_create(&OpMapCreate { place, key: int(), value: int(), create })?;
    c.map_put(map, &[(&[1; 4], &[2; 4])])?;
    Ok(())
}

/// Looks at everything; errors are answers.
pub fn look(c: &dyn Container) -> Result<()> {
    let mut queue = vec![c.info()?.root];
    for _ in 0..100 {
        let Some(token) = queue.pop() else { break };
        let Ok(info) = c.object_info(token) else { continue };
        let all = OpList { count_max: 1000, ..OpList::default() };
        if let Ok(page) = c.attribute_list(token, &all) {
            page.entries.iter().for_each(|info| drop(c.attribute_read(token, &[&info.name])));
        }
        match info.kind {
            ObjectKind::Group => {
                let _ =
                    (c.group_info(token), c.link_list(token, &OpList { index: Index::CreationOrder, ..all }));
                let links = c.link_list(token, &all).map_or_else(|_| Vec::new(), |page| page.entries);
                queue.extend(links.iter().filter_map(|link| match link.target {
                    LinkTarget::Hard(token) => Some(token),
                    _ => None,
                }));
            }
            ObjectKind::Dataset => {
                let Ok(info) = c.dataset_info(token) else { continue };
                let _ = (c.dataset_storage(token), c.chunk_list(token, 0, 100));
                let bytes = info
                    .space
                    .element_count()
                    .unwrap_or(u64::MAX)
                    .saturating_mul(info.datatype.size().into());
                if bytes < 1 << 20 {
                    let mut into = vec![0; bytes as usize];
                    let _ = c.dataset_read(&mut [OpRead {
                        dataset: token,
                        selection: &Selection::All,
                        into: &mut into,
                    }]);
                }
            }
            ObjectKind::Datatype => drop(c.datatype_get(token)),
            ObjectKind::Map => {
                let keys = c.map_keys(token, None, 10).map_or_else(|_| Vec::new(), |page| page.entries);
                keys.iter().for_each(|key| drop(c.map_get(token, &[key])));
                let _ = c.map_info(token);
            }
        }
    }
    let _ = (c.optional("storage.check", b""), c.optional("storage.show", b""));
    Ok(())
}

/// A value that is another one: cut, longer, empty, or with some other bytes.
pub fn mutated(value: &[u8], generator: &mut Generator) -> Vec<u8> {
    let mut value = value.to_vec();
    match generator.below(6) {
        0 => value.truncate(generator.below(value.len() as u64 + 1) as usize),
        1 => value.extend([0xff; 5]),
        2 => value.clear(),
        _ => {
            for _ in 0..=generator.below(3) {
                if !value.is_empty() {
                    let at = generator.below(value.len() as u64) as usize;
                    let choices = [0, 1, 0x7f, 0x80, 0xff, generator.below(256) as u8];
                    value[at] = choices[generator.below(6) as usize];
                }
            }
        }
    }
    value
}
