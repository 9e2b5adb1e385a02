//! How groups store their links, which only HDF5 files can tell.

use std::sync::Arc;

use files::Memory;
use hyperslab_native::{LinkStorage, create_handle};
use model::LinkTarget;
use model::properties::FileCreate;
use vol::{Container, Durability, FileAccess, LibVersion, LinkLocation, OpGroupCreate, OpLinkCreate, call};

fn file(version_low: LibVersion) -> Arc<dyn Container> {
    let access = FileAccess { version_low, ..FileAccess::write() };
    create_handle(Arc::new(Memory::new()), "(memory)", &FileCreate::default(), &access).unwrap()
}

#[test]
fn a_group_tells_how_it_stores_its_links_before_and_after_a_commit() {
    for (version_low, links, expected) in [
        (LibVersion::Earliest, 3, LinkStorage::SymbolTable),
        (LibVersion::V18, 3, LinkStorage::Compact),
        (LibVersion::V18, 20, LinkStorage::Dense),
        (LibVersion::LATEST, 20, LinkStorage::Dense),
    ] {
        let container = file(version_low);
        let place = Some(LinkLocation::new(container.info().unwrap().root, "group"));
        let group = container.group_create(&OpGroupCreate { place, ..OpGroupCreate::default() }).unwrap();
        for n in 0..links {
            let place = LinkLocation::new(group, format!("link {n}"));
            container.link_create(&OpLinkCreate { place, target: LinkTarget::Soft("/".into()) }).unwrap();
        }
        assert_eq!(call::<LinkStorage>(&*container, &group).unwrap(), expected);
        container.commit(Durability::None).unwrap();
        assert_eq!(call::<LinkStorage>(&*container, &group).unwrap(), expected);
    }
}
