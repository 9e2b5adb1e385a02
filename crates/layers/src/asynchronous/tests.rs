//! Tests of the layer, most of them over a storage with a gate: what is queued stays queued until a test opens it.

mod gate;
mod order;
mod random;
mod serial;

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use memory::MemoryConnector;
use model::properties::{DatasetCreate, FileCreate};
use model::{Dataspace, Datatype, Error, Kind, Result, Selection, Token};
use vol::*;

use gate::{FAILS, PANICS, Rig};

use crate::asynchronous::{AsyncLayer, EventSet, Request, Status, queued, requests, start, wait, wait_all};

/// Longer than any test: a wait that ends by this one has failed.
const LONG: Duration = Duration::from_secs(600);

#[test]
fn a_write_returns_before_it_is_done_and_a_read_waits_for_it() {
    let rig = Rig::new("");
    let (data, events) = (rig.dataset(), EventSet::new());
    events.scope(|| (1..=20).try_for_each(|value| rig.write(data, value))).unwrap();
    assert_eq!(events.test().done, 0);
    assert!(!events.wait(Duration::ZERO).is_final());
    rig.gate.open();
    assert_eq!(rig.read(data), 20);
    let progress = events.wait(LONG);
    assert_eq!((progress.done, progress.is_final()), (20, true));
    assert!(events.errors().is_empty());
}

#[test]
fn objects_do_not_wait_for_each_other() {
    let rig = Rig::new("threads=2");
    let (one, two) = (rig.dataset(), rig.dataset());
    rig.write(one, 1).unwrap();
    rig.write(two, 2).unwrap();
    rig.gate.wait_entered(2);
    rig.gate.open();
    assert_eq!((rig.read(one), rig.read(two)), (1, 2));
}

#[test]
fn what_has_not_begun_can_be_cancelled() {
    let rig = Rig::new("threads=1");
    let (data, events) = (rig.dataset(), EventSet::new());
    let ((), first) = requests(|| rig.write(data, 1).unwrap());
    rig.gate.wait_entered(1);
    events.scope(|| [2, 3].map(|value| rig.write(data, value).unwrap()));
    assert!(!first[0].cancel());
    assert_eq!((events.cancel(), events.cancel()), (2, 0));
    rig.gate.open();
    assert_eq!(rig.read(data), 1);
    assert_eq!((first[0].status(), events.test().cancelled), (Status::Done, 2));
    rig.container.commit(Durability::None).unwrap();
}

#[test]
fn a_cancelled_request_says_so() {
    let rig = Rig::new("threads=1");
    let data = rig.dataset();
    rig.write(data, 1).unwrap();
    rig.gate.wait_entered(1);
    let ((), second) = requests(|| rig.write(data, 2).unwrap());
    assert!(second[0].wait(Duration::ZERO).is_none());
    assert!(second[0].cancel());
    assert_eq!(second[0].wait(LONG).unwrap().unwrap_err().kind(), Kind::Cancelled);
    rig.gate.open();
}

#[test]
fn failures_of_an_event_set_are_told_there_and_only_there() {
    let rig = Rig::new("");
    let (data, events) = (rig.dataset(), EventSet::new());
    events.scope(|| [1, FAILS, 2, PANICS].map(|value| rig.write(data, value).unwrap()));
    rig.gate.open();
    assert_eq!(events.wait(LONG).failed, 2);
    let errors = events.errors();
    assert_eq!(errors.iter().map(Error::kind).collect::<Vec<_>>(), [Kind::Io, Kind::Invalid]);
    assert!(
        errors[0].to_string().contains("dataset_write of") && errors[0].to_string().contains("disk is full")
    );
    assert!(events.errors().is_empty());
    rig.container.commit(Durability::None).unwrap();
    assert_eq!(rig.read(data), 2);
}

#[test]
fn failures_that_nobody_looked_at_are_told_once_by_commit_or_close() {
    let rig = Rig::new("");
    rig.gate.open();
    let data = rig.dataset();
    [FAILS, 7, FAILS].into_iter().for_each(|value| rig.write(data, value).unwrap());
    let error = rig.container.commit(Durability::None).unwrap_err();
    assert_eq!(error.kind(), Kind::Io);
    assert!(error.to_string().contains("failures: 2"), "{error}");
    rig.container.commit(Durability::None).unwrap();
    let events = EventSet::new();
    events.scope(|| rig.write(data, FAILS).unwrap());
    drop(events);
    assert_eq!(rig.container.close().unwrap_err().kind(), Kind::Io);
    // It is closed nevertheless.
    assert_eq!(rig.container.commit(Durability::None).unwrap_err().kind(), Kind::Invalid);
}

#[test]
fn no_more_bytes_wait_than_may() {
    let rig = Rig::new("memory=16");
    let data = rig.dataset();
    rig.gate.open();
    for accepted in 1..=50 {
        rig.write(data, accepted as u8).unwrap();
        let left = rig.gate.left.load(Ordering::SeqCst);
        // Two writes of eight bytes wait, and one more may just have left without being counted.
        assert!(accepted <= left + 2, "{accepted} were accepted when {left} had ended");
    }
    assert_eq!(rig.read(data), 50);
}

#[test]
fn a_write_that_is_too_large_for_the_queue_is_made_at_once() {
    let rig = Rig::new("memory=4");
    rig.gate.open();
    let data = rig.dataset();
    let ((), queued) = requests(|| rig.write(data, 9).unwrap());
    assert!(queued.is_empty());
    assert_eq!(rig.write(data, FAILS).unwrap_err().kind(), Kind::Io);
    assert_eq!(rig.read(data), 9);
}

#[test]
fn an_extent_is_told_as_it_will_be() {
    let rig = Rig::new("threads=1");
    let data = rig.dataset();
    rig.write(data, 1).unwrap();
    rig.container.dataset_resize(data, &[16]).unwrap();
    assert_eq!(rig.container.dataset_info(data).unwrap().space.dims(), [16]);
    let end = Selection::block(&[8], &[8]).unwrap();
    rig.container.dataset_write(&[OpWrite { dataset: data, selection: &end, from: &[1; 8] }]).unwrap();
    rig.gate.open();
    let mut bytes = [0; 16];
    let read = OpRead { dataset: data, selection: &Selection::All, into: &mut bytes };
    rig.container.dataset_read(&mut [read]).unwrap();
    assert_eq!(bytes, [1; 16]);
    assert_eq!(rig.container.dataset_info(data).unwrap().space.dims(), [16]);
}

#[test]
fn the_last_handle_may_go_before_the_write_is_done() {
    let rig = Rig::new("");
    let data = rig.dataset();
    rig.container.retain(data).unwrap();
    rig.write(data, 1).unwrap();
    rig.container.release(data).unwrap();
    rig.gate.open();
    rig.container.release(data).unwrap_err();
    assert_eq!(rig.container.object_info(data).unwrap_err().kind(), Kind::NotFound);
    rig.container.commit(Durability::None).unwrap();
}

#[test]
fn wrong_arguments_fail_at_once() {
    let rig = Rig::new("");
    rig.gate.open();
    let dataset = rig.dataset();
    let write = OpWrite { dataset, selection: &Selection::All, from: &[0; 7] };
    assert_eq!(rig.container.dataset_write(&[write]).unwrap_err().kind(), Kind::Invalid);
    assert_eq!(rig.container.dataset_resize(dataset, &[65]).unwrap_err().kind(), Kind::Invalid);
    assert!(rig.container.attribute_write(dataset, "none", &[]).is_err());
}

#[test]
fn dropping_a_container_finishes_what_is_queued() {
    let mut rig = Rig::new("threads=1");
    let data = rig.dataset();
    rig.container.retain(data).unwrap();
    [1, 2, 3].into_iter().for_each(|value| rig.write(data, value).unwrap());
    rig.gate.open();
    // The gate stands in for the container: the queue goes with its last holder.
    rig.container = rig.gate.clone();
    assert_eq!((rig.read(data), rig.gate.left.load(Ordering::SeqCst)), (3, 3));
}

#[test]
fn values_of_attributes_are_queued_in_order_with_elements() {
    let rig = Rig::new("threads=4");
    let data = rig.dataset();
    let (name, charset, datatype) = ("a".to_owned(), model::CharacterSet::Ascii, Datatype::native_int(1));
    let space = Dataspace::Scalar;
    let op = OpAttributeCreate { object: data, name, charset, datatype, committed: None, space };
    rig.container.attribute_create(&op).unwrap();
    rig.write(data, 1).unwrap();
    let ((), queued) = requests(|| rig.container.attribute_write(data, "a", &[9]).unwrap());
    rig.gate.wait_entered(1);
    assert_eq!((queued[0].operation(), queued[0].status()), (Operation::attribute_write, Status::Waiting));
    assert!(rig.container.attribute_info(data, "a").unwrap().is_some());
    rig.gate.open();
    assert_eq!(rig.container.attribute_read(data, &["a"]).unwrap(), [[9]]);
}

fn attribute(object: Token, name: &str) -> OpAttributeCreate {
    let (name, charset, datatype) = (name.to_owned(), model::CharacterSet::Ascii, Datatype::native_int(1));
    OpAttributeCreate { object, name, charset, datatype, committed: None, space: Dataspace::Scalar }
}

#[test]
fn writes_that_follow_each_other_are_one_call() {
    let rig = Rig::new("threads=1");
    let data = rig.dataset();
    rig.write(data, 1).unwrap();
    rig.gate.wait_entered(1);
    (2..=10).for_each(|value| rig.write(data, value).unwrap());
    rig.gate.open();
    assert_eq!(rig.read(data), 10);
    assert_eq!(rig.gate.entered.load(Ordering::SeqCst), 2);
}

#[test]
fn in_a_scope_attributes_and_links_are_queued_and_told_as_they_will_be() {
    let rig = Rig::new("threads=1");
    let (data, events) = (rig.dataset(), EventSet::new());
    let root = rig.container.info().unwrap().root;
    rig.write(data, 1).unwrap();
    events.scope(|| {
        rig.container.attribute_create(&attribute(data, "a")).unwrap();
        assert_eq!(rig.container.attribute_info(data, "a").unwrap().unwrap().name, "a");
        rig.container.attribute_write(data, "a", &[7]).unwrap();
        let place = LinkLocation::new(root, "data");
        let op = OpLinkCreate { place, target: model::LinkTarget::Hard(data) };
        rig.container.link_create(&op).unwrap();
        rig.container.link_create(&op).unwrap();
        rig.container.commit(Durability::None).unwrap();
    });
    assert_eq!(events.test().done, 0);
    rig.gate.open();
    let progress = events.wait(LONG);
    assert_eq!((progress.done, progress.failed, progress.bytes_done), (4, 1, 1));
    let errors = events.errors();
    assert!(errors[0].kind() == Kind::Exists && errors[0].to_string().contains("link_create of /data"));
    assert_eq!(rig.container.attribute_read(data, &["a"]).unwrap(), [[7]]);
    assert_eq!(rig.container.object_info(data).unwrap().references, 1);
}

#[test]
fn requests_are_taken_as_they_end() {
    let rig = Rig::new("threads=1");
    let (data, events) = (rig.dataset(), EventSet::new());
    events.scope(|| [1, FAILS].map(|value| rig.write(data, value).unwrap()));
    assert!(events.wait_some(Duration::ZERO).is_empty());
    rig.gate.open();
    let mut ended = Vec::new();
    while ended.len() < 2 {
        ended.extend(events.wait_some(LONG));
    }
    assert!(events.wait_some(LONG).is_empty());
    assert_eq!(ended[1].wait(Duration::ZERO).unwrap().unwrap_err().kind(), Kind::Io);
}

#[test]
fn an_answer_is_a_future_that_waits_for_what_is_before_it() {
    let rig = Rig::new("threads=2");
    let data = rig.dataset();
    let read = |value: u8| {
        rig.write(data, value).unwrap();
        let mut bytes = [0; 8];
        start(&*rig.container, move |container| {
            container.dataset_read(&mut [OpRead {
                dataset: data,
                selection: &Selection::All,
                into: &mut bytes,
            }])?;
            Ok(bytes)
        })
    };
    let reads: Vec<_> = (1..=5).map(read).collect();
    assert!(reads[0].wait(Duration::ZERO).is_none());
    rig.gate.open();
    let values: Vec<[u8; 8]> = wait_all(reads).into_iter().map(Result::unwrap).collect();
    assert_eq!(values, [[1; 8], [2; 8], [3; 8], [4; 8], [5; 8]]);
    assert_eq!(wait(queued(|| rig.write(data, FAILS))).unwrap_err().kind(), Kind::Io);
}

#[test]
fn what_follows_a_cancelled_write_still_waits_for_those_before() {
    let rig = Rig::new("threads=2");
    let data = rig.dataset();
    rig.write(data, 1).unwrap();
    rig.gate.wait_entered(1);
    let ((), second) = requests(|| rig.write(data, 2).unwrap());
    let info = start(&*rig.container, move |container| container.object_info(data));
    assert!(second[0].cancel());
    assert!(info.wait(Duration::from_millis(20)).is_none());
    rig.gate.open();
    assert!(info.wait(LONG).unwrap().is_ok());
    assert_eq!(rig.read(data), 1);
}
