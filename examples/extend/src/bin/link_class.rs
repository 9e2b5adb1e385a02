//! A class of links of the program's own: a link to the newest member of a group (docs/links.md).

use std::sync::Arc;

use hyperslab::extend::{LinkClass, LinkDestination, LinkTraversal};
use hyperslab::vol::{LinkLocation, OpLinkCreate};
use hyperslab::{Error, File, FileAccess, LinkTarget, registry};

/// Numbers from 65 to 255 are those of user-defined classes.
const LATEST: u8 = 99;

/// The value is the name of a group next to the link; its last member by name is what the link leads to.
struct Latest;

impl LinkClass for Latest {
    fn class(&self) -> u8 {
        LATEST
    }

    fn name(&self) -> &str {
        "latest"
    }

    fn traverse(&self, link: &LinkTraversal<'_>) -> hyperslab::Result<LinkDestination> {
        let empty = || Error::not_found("find latest member");
        let name = String::from_utf8_lossy(link.data);
        let group = link.container.link_get(link.group, &name)?.ok_or_else(empty)?;
        let LinkTarget::Hard(group) = group.target else { return Err(empty()) };
        let links = link
            .container
            .link_list(group, &hyperslab::vol::OpList { count_max: u64::MAX, ..Default::default() })?;
        let latest = links.entries.last().ok_or_else(empty)?;
        Ok(LinkDestination::Path(format!("{name}/{}", latest.name)))
    }
}

fn main() -> hyperslab::Result<()> {
    let path = std::env::temp_dir().join(format!("extend-link-{}.h5", std::process::id()));
    let path = path.to_string_lossy();
    let mut registry = registry();
    registry.register_link_class(Arc::new(Latest))?;

    let file = File::create_in(&registry, &path, &Default::default(), &FileAccess::write(), true)?;
    for day in ["2026-01-01", "2026-01-02"] {
        file.new_dataset_builder().with_data(&[day.len()]).create(format!("runs/{day}/numbers").as_str())?;
    }
    let place = LinkLocation::new(file.token(), "newest");
    let target = LinkTarget::User { class: LATEST, data: b"runs".to_vec() };
    file.container().link_create(&OpLinkCreate { place, target })?;
    assert_eq!(file.group("newest")?.token(), file.group("runs/2026-01-02")?.token());
    assert_eq!(file.dataset("newest/numbers")?.read_raw::<usize>()?, [10]);
    file.close()?;

    // A program without the class gets an error that names it.
    let error = File::open(&*path)?.group("newest").unwrap_err().to_string();
    assert!(error.contains("99") && error.contains("not registered"), "{error}");
    println!("without the class: {error}");
    std::fs::remove_file(&*path).ok();
    Ok(())
}
