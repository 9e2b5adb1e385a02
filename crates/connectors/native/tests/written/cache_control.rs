//! The metadata cache as its callers see it: hit rate, size, eviction, and its log.

use std::sync::Arc;

use hyperslab_native::{
    EvictObject, LogMetadataCache, MetadataCache, NativeConnector, ResetMetadataCacheCounts,
    SetMetadataCacheBytes,
};
use model::properties::FileCreate;
use model::{Kind, Token};
use vol::{Connector, Container, ContainerOpen, Durability, FileAccess, MetadataCacheLog, call};

use crate::life::group;
use crate::others::{Folder, create, has_h5py, python};

const GROUPS: usize = 200;

/// Creates a file of groups, and returns their tokens.
fn make(path: &str) -> Vec<Token> {
    let c = create(path, &FileCreate::default());
    let root = c.info().unwrap().root;
    let tokens = (0..GROUPS).map(|n| group(&*c, root, &format!("group {n}")).unwrap()).collect();
    c.close().unwrap();
    tokens
}

fn open(path: &str, access: &FileAccess) -> Arc<dyn Container> {
    NativeConnector.open(&ContainerOpen::new(path, access)).unwrap()
}

fn cache(c: &dyn Container) -> MetadataCache {
    call::<MetadataCache>(c, &()).unwrap()
}

/// Looks at all objects, and returns how many look-ups that took and how many of them found something.
fn look_at(c: &dyn Container, tokens: &[Token]) -> (u64, u64) {
    call::<ResetMetadataCacheCounts>(c, &()).unwrap();
    assert_eq!((cache(c).accesses, cache(c).hits), (0, 0));
    tokens.iter().for_each(|token| drop(c.object_info(*token).unwrap()));
    (cache(c).accesses, cache(c).hits)
}

#[test]
fn hit_rate_is_what_was_looked_up_and_found() {
    let folder = Folder::new("hit_rate");
    let path = folder.at("groups.h5");
    let tokens = make(&path);
    for access in [FileAccess::read(), FileAccess::write()] {
        let c = open(&path, &access);
        let (accesses, hits) = look_at(&*c, &tokens);
        assert!(accesses >= GROUPS as u64 && accesses - hits == GROUPS as u64, "{hits} of {accesses}");
        let (again, hits) = look_at(&*c, &tokens);
        assert_eq!((again, hits), (accesses, accesses));
        call::<EvictObject>(&*c, &tokens[7]).unwrap();
        let (again, hits) = look_at(&*c, &tokens);
        assert_eq!(again - hits, 1, "the object that was removed from the cache is read again");
    }
}

#[test]
fn a_smaller_cache_holds_less_and_finds_less() {
    let folder = Folder::new("cache_size");
    let path = folder.at("groups.h5");
    let tokens = make(&path);
    let c = open(&path, &FileAccess::read());
    look_at(&*c, &tokens);
    let before = cache(&*c);
    assert!(before.entries >= GROUPS as u64 && before.bytes <= before.bytes_max, "{before:?}");
    call::<SetMetadataCacheBytes>(&*c, &(before.bytes / 4)).unwrap();
    let (accesses, hits) = look_at(&*c, &tokens);
    let after = cache(&*c);
    assert!(after.bytes <= after.bytes_max && after.bytes_max < before.bytes, "{before:?} {after:?}");
    assert!(hits < accesses, "{hits} of {accesses}");
}

fn with_log(path: &str, starts_on_open: bool) -> FileAccess {
    let log = MetadataCacheLog { path: path.to_owned(), starts_on_open };
    FileAccess { metadata_cache_log: Some(log), ..FileAccess::write() }
}

fn lines(path: &str) -> Vec<String> {
    std::fs::read_to_string(path).unwrap().lines().map(str::to_owned).collect()
}

#[test]
fn the_log_says_what_is_looked_up_changed_and_flushed_while_it_runs() {
    let folder = Folder::new("cache_log");
    let (path, log) = (folder.at("groups.h5"), folder.at("log.json"));
    let tokens = make(&path);
    let c = open(&path, &with_log(&log, false));
    c.object_info(tokens[3]).unwrap();
    assert_eq!((cache(&*c).has_log, cache(&*c).is_logging), (1, 0));
    let head = ["{", "\"HDF5 metadata cache log messages\" : ["];
    assert_eq!(lines(&log), head);
    call::<LogMetadataCache>(&*c, &1).unwrap();
    assert_eq!(call::<LogMetadataCache>(&*c, &1).unwrap_err().kind(), Kind::Invalid);
    c.object_info(tokens[4]).unwrap();
    group(&*c, tokens[5], "new").unwrap();
    c.commit(Durability::None).unwrap();
    call::<LogMetadataCache>(&*c, &0).unwrap();
    assert_eq!(call::<LogMetadataCache>(&*c, &0).unwrap_err().kind(), Kind::Invalid);
    c.object_info(tokens[6]).unwrap();
    c.close().unwrap();
    drop(c);
    let text = lines(&log).join("\n");
    let of = |n: usize| format!("\"address\":{:#x},", tokens[n].to_u64());
    assert!(!text.contains(&of(3)) && !text.contains(&of(6)), "{text}");
    for part in ["\"logging start\"", "\"protect\"", &of(4), "\"dirty\"", "\"flush\"", "\"logging stop\""] {
        assert!(text.contains(part), "{part}: {text}");
    }
    assert!(text.starts_with(&head.join("\n")) && text.ends_with("]}"), "{text}");
}

#[test]
fn without_a_log_none_can_be_started() {
    let folder = Folder::new("cache_no_log");
    let path = folder.at("groups.h5");
    make(&path);
    let c = open(&path, &FileAccess::write());
    assert_eq!(call::<LogMetadataCache>(&*c, &1).unwrap_err().kind(), Kind::Invalid);
    assert_eq!((cache(&*c).has_log, cache(&*c).is_logging), (0, 0));
}

/// Returns the names of a line's fields, and its action.
fn fields(line: &str) -> Option<(String, Vec<String>)> {
    let inner = line.trim_end_matches(',').strip_prefix('{')?.strip_suffix('}')?;
    let pairs: Vec<(&str, &str)> = inner.split(',').filter_map(|pair| pair.split_once(':')).collect();
    let action = pairs.iter().find(|(name, _)| *name == "\"action\"")?.1.to_owned();
    Some((action, pairs.into_iter().map(|(name, _)| name.to_owned()).collect()))
}

#[test]
fn lines_of_the_log_have_the_fields_that_libhdf5_writes() {
    if !has_h5py() {
        return;
    }
    let folder = Folder::new("cache_logs");
    let (path, ours, theirs) = (folder.at("groups.h5"), folder.at("ours.json"), folder.at("theirs.json"));
    let tokens = make(&path);
    let c = open(&path, &with_log(&ours, true));
    look_at(&*c, &tokens);
    group(&*c, tokens[5], "new").unwrap();
    c.commit(Durability::None).unwrap();
    c.close().unwrap();
    drop(c);
    python("cache_log.py", &[&path, &theirs]);
    let theirs: Vec<_> = lines(&theirs).iter().filter_map(|line| fields(line)).collect();
    let mut known = Vec::new();
    for (action, names) in lines(&ours).iter().filter_map(|line| fields(line)) {
        let mut same = theirs.iter().filter(|(other, _)| *other == action).peekable();
        known.extend(same.peek().map(|_| action.clone()));
        assert!(same.all(|(_, other)| *other == names), "{action}: {names:?} {theirs:?}");
    }
    for action in ["\"protect\"", "\"flush\""] {
        assert!(known.iter().any(|known| known == action), "{action} of {known:?}");
    }
}
