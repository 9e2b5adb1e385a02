//! Folders that strangers prepared: whatever stands where the container has a file, nothing outside changes.
#![cfg(unix)]

mod place;

use std::fs;

use model::{Link, LinkTarget};
use place::*;
use testkit::strangers::{Outside, Trap};
use vol::*;

/// A container with a file of every kind.
fn fill(place: &Folder) {
    let access = FileAccess { durability: Durability::None, ..FileAccess::write() };
    let c = place.registry.create(&place.location(), &Default::default(), &access, true).unwrap();
    let root = c.info().unwrap().root;
    let g = group(&*c, root, "g");
    let d = ints(&*c, root, "d", &[2, 2]);
    put(&*c, d, &[1, 2, 3, 4]);
    put(&*c, ints(&*c, g, "e", &[1]), &[5]);
    group(&*c, g, "inner");
    texts(&*c, root, "s", &["a", "value"]);
    link(&*c, root, "l", LinkTarget::Soft("d".into()));
    c.close().unwrap();
}

/// Changes everything, and makes something new of every kind. Errors are what a trap may cause.
fn change(place: &Folder, durability: Durability) -> Result<()> {
    let c = place.open(&FileAccess { durability, ..FileAccess::write() })?;
    let root = c.info()?.root;
    let result = change_all(&*c, root);
    let committed = c.commit(durability);
    let closed = c.close();
    result.and(committed).and(closed)
}

fn change_all(c: &dyn Container, root: model::Token) -> Result<()> {
    let selection = &model::Selection::All;
    if let Some(Link { target: LinkTarget::Hard(dataset), .. }) = c.link_get(root, "d")? {
        let _ = c.dataset_write(&[OpWrite { dataset, selection, from: &[9; 16] }]);
        // The file is written anew.
        let _ = c.dataset_resize(dataset, &[2, 1]);
    }
    let make = |name: &str| {
        let place = Some(LinkLocation::new(root, name));
        c.group_create(&OpGroupCreate { place, create: Default::default() })
    };
    let _ = make("new").and_then(|new| fill_new(c, new));
    let _ = make("h");
    let _ = c.blob_put(&[b"another value"]);
    let _ = c.object_set_comment(root, Some("changed"));
    // One moves, one goes.
    let to = LinkLocation::new(root, "moved");
    let _ = c.link_move(&OpLinkMove { from: root, name: "g".into(), to, copy: false });
    let _ = c.link_delete(root, "s");
    let _ = c.link_delete(root, "l");
    let _ = ["moved", "new"].map(|name| c.link_delete(root, name).and_then(|()| c.commit(Durability::None)));
    let _ = make("g").and_then(|group| fill_new(c, group));
    Ok(())
}

fn fill_new(c: &dyn Container, new: model::Token) -> Result<()> {
    let selection = &model::Selection::All;
    let place = Some(LinkLocation::new(new, "n"));
    let space = model::Dataspace::simple(&[1])?;
    let datatype = model::Datatype::native_int(4);
    let op = OpDatasetCreate { place, datatype, committed: None, space, create: Default::default() };
    let dataset = c.dataset_create(&op)?;
    let _ = c.dataset_write(&[OpWrite { dataset, selection, from: &[9; 4] }]);
    Ok(())
}

/// Every place where the container creates, replaces or removes something.
const PLACES: [&str; 21] = [
    ".group.json",
    ".hyperslab",
    ".hyperslab/lock",
    ".hyperslab/heap",
    ".hyperslab/new",
    ".hyperslab/moving",
    ".hyperslab/moves.json",
    ".hyperslab/types",
    ".hyperslab/types/x.json",
    "d.bin",
    "d.json",
    "s.json",
    "l.link",
    "g",
    "g/.group.json",
    "g/e.bin",
    "g/inner",
    "new",
    "new.link",
    "h",
    "h/.group.json",
];

/// A name that a program takes for elements that wait, before it knows where they belong.
fn waiting(place: &Folder) -> Vec<String> {
    let c = place.open(&FileAccess::write()).unwrap();
    let root = c.info().unwrap().root;
    put(&*c, ints(&*c, root, "w", &[1]), &[1]);
    let names = place.names(".hyperslab/new");
    drop(c);
    fs::remove_dir_all(&place.path).unwrap();
    fill(place);
    names.into_iter().map(|name| format!(".hyperslab/new/{name}")).collect()
}

#[test]
fn links_and_fifos_in_the_place_of_any_file_change_nothing_outside() {
    let (place, outside) = (Folder::new(), Outside::new());
    fill(&place);
    let waiting = waiting(&place);
    assert!(!waiting.is_empty());
    let places: Vec<&str> = PLACES.into_iter().chain(waiting.iter().map(String::as_str)).collect();
    for at in places {
        for trap in Trap::ALL {
            let what = format!("{trap:?} at {at}");
            fs::remove_dir_all(&place.path).unwrap();
            fill(&place);
            outside.set(trap, &place.path.join(at));
            let _ = place.open(&FileAccess::read()).map(|c| c.close());
            let _ = change(&place, Durability::None);
            outside.assert_unchanged(&what);
            // Once more, with what is left of it.
            let _ = change(&place, Durability::Full);
            let _ = place.registry.delete(&place.location(), &FileAccess::write());
            outside.assert_unchanged(&what);
            let (create, access) = (Default::default(), FileAccess::write());
            let _ = place.registry.create(&place.location(), &create, &access, true).map(|c| c.close());
            outside.assert_unchanged(&what);
        }
    }
}

#[test]
fn a_lock_that_is_a_link_is_an_error_that_says_so() {
    let (place, outside) = (Folder::new(), Outside::new());
    fill(&place);
    outside.set(Trap::LinkToFile, &place.path.join(".hyperslab/lock"));
    let error = place.open(&FileAccess::write()).err().unwrap();
    assert_eq!(error.kind(), Kind::Denied);
    assert!(error.to_string().contains("symbolic link"), "{error}");
    place.open(&FileAccess::read()).unwrap();
}

#[test]
fn a_path_that_is_a_link_is_followed_since_the_user_gave_it() {
    let place = Folder::new();
    fill(&place);
    let link = Folder::at(&place.path.with_extension("link"));
    std::os::unix::fs::symlink(&place.path, &link.path).unwrap();
    change(&link, Durability::None).unwrap();
    assert!(place.path.join("g/n.bin").is_file());
    fs::remove_file(&link.path).unwrap();
}

#[test]
fn folders_swapped_for_links_all_the_time_change_nothing_outside() {
    let (outside, mut changed) = (Outside::new(), 0);
    for at in [".hyperslab", "g", "new", ".hyperslab/new", ".hyperslab/moving"] {
        let place = Folder::new();
        fill(&place);
        fs::create_dir_all(place.path.join(at)).unwrap();
        let (root, elements) = (place.text(".group.json"), place.text("d.json"));
        outside.while_swapping(&place.path.join(at), || {
            for n in 0..60 {
                changed += u32::from(change(&place, Durability::None).is_ok());
                if n % 4 == 3 {
                    let _ = place.registry.delete(&place.location(), &FileAccess::write());
                    fs::write(place.path.join(".group.json"), &root).unwrap();
                    fs::write(place.path.join("d.json"), &elements).unwrap();
                }
            }
        });
        outside.assert_unchanged(at);
    }
    assert!(changed > 0, "no change got through at all: the test shows nothing");
}

#[test]
fn what_is_not_the_containers_stays_and_is_named() {
    let place = Folder::new();
    fill(&place);
    fs::create_dir(place.path.join("g/.notes")).unwrap();
    fs::write(place.path.join("g/.notes/mine"), "mine").unwrap();
    let (create, access) = (Default::default(), FileAccess::write());
    let error = place.registry.create(&place.location(), &create, &access, true).err().unwrap();
    assert!(error.to_string().contains(".notes"), "{error}");
    assert!(place.path.join("d.bin").is_file(), "nothing is removed before it is known that all may be");
    let error = place.registry.delete(&place.location(), &FileAccess::write()).unwrap_err();
    assert!(error.to_string().contains(".notes"), "{error}");
    assert_eq!(place.text("g/.notes/mine"), "mine");
    assert_eq!((place.names(""), place.names("g")), (vec!["g".to_owned()], vec![".notes".to_owned()]));
}

#[test]
fn what_others_put_into_a_group_is_kept_aside_when_the_group_goes() {
    let place = Folder::new();
    fill(&place);
    fs::write(place.path.join("g/.mine"), "mine").unwrap();
    let c = place.open(&FileAccess::write()).unwrap();
    let root = c.info().unwrap().root;
    c.link_delete(root, "g").unwrap();
    c.commit(Durability::None).unwrap();
    assert!(c.info().unwrap().warnings.iter().any(|warning| warning.contains(".mine")));
    c.close().unwrap();
    drop(c);
    assert!(!place.path.join("g").exists());
    let aside = place.names(".hyperslab/left");
    assert_eq!(place.text(&format!(".hyperslab/left/{}/.mine", aside[0])), "mine");
    assert_eq!(names(&*place.open(&FileAccess::read()).unwrap(), root), ["d", "l", "s"]);
}
