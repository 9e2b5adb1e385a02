//! Which operations pass each other, and which become one call.

use model::{LinkTarget, ObjectKind};

use super::*;
use crate::asynchronous::work::Call;
use crate::asynchronous::{queue_prepared, start_link, start_read};

const SHORT: Duration = Duration::from_millis(20);

impl Rig {
    fn root(&self) -> Token {
        self.container.info().unwrap().root
    }

    fn link(&self, object: Token, name: &str) {
        let place = LinkLocation::new(self.root(), name);
        self.container.link_create(&OpLinkCreate { place, target: LinkTarget::Hard(object) }).unwrap();
    }

    /// A dataset with a link, on which a write waits.
    fn busy(&self, name: &str) -> Token {
        let data = self.dataset();
        self.link(data, name);
        self.write(data, 1).unwrap();
        self.gate.wait_entered(1);
        data
    }

    fn unlink(&self, name: &str) -> Request {
        let (done, mut queued) = requests(|| self.container.link_delete(self.root(), name));
        done.unwrap();
        queued.remove(0)
    }
}

#[test]
fn a_removed_link_passes_what_handles_keep() {
    let rig = Rig::new("threads=2");
    let (kept, other) = (rig.dataset(), rig.dataset());
    rig.link(other, "other");
    rig.container.retain(kept).unwrap();
    rig.write(kept, 1).unwrap();
    rig.gate.wait_entered(1);
    rig.unlink("other").wait(LONG).unwrap().unwrap();
    assert_eq!(rig.container.object_info(other).unwrap_err().kind(), Kind::NotFound);
}

#[test]
fn a_removed_link_waits_for_objects_that_no_handle_keeps() {
    let rig = Rig::new("threads=2");
    let data = rig.busy("data");
    let removal = rig.unlink("data");
    let kind = start(&*rig.container, move |c| Ok(c.object_kinds(&[data])?[0]));
    assert!(removal.wait(SHORT).is_none() && kind.wait(SHORT).is_none());
    rig.gate.open();
    removal.wait(LONG).unwrap().unwrap();
    assert_eq!(kind.wait(LONG).unwrap().unwrap_err().kind(), Kind::NotFound, "it went with its last link");
    rig.container.commit(Durability::None).unwrap();
}

#[test]
fn what_follows_a_removed_link_on_an_object_without_a_handle_comes_after_it() {
    let rig = Rig::new("threads=2");
    let other = rig.dataset();
    rig.link(other, "other");
    // The removal waits for the write on this one.
    rig.busy("data");
    let removal = rig.unlink("other");
    let info = start(&*rig.container, move |c| c.dataset_info(other));
    assert!(removal.wait(SHORT).is_none() && info.wait(SHORT).is_none());
    rig.gate.open();
    assert_eq!(info.wait(LONG).unwrap().unwrap_err().kind(), Kind::NotFound);
}

#[test]
fn links_are_counted_after_a_removal_though_a_handle_keeps_the_object() {
    let rig = Rig::new("threads=2");
    let other = rig.dataset();
    rig.link(other, "other");
    rig.container.retain(other).unwrap();
    rig.busy("data");
    let removal = rig.unlink("other");
    let (info, space) = (
        start(&*rig.container, move |c| c.object_info(other)),
        start(&*rig.container, move |c| c.dataset_info(other)),
    );
    assert!(space.wait(LONG).unwrap().is_ok(), "the elements are there in any case");
    assert!(removal.wait(SHORT).is_none() && info.wait(SHORT).is_none());
    rig.gate.open();
    let info = info.wait(LONG).unwrap().unwrap();
    assert_eq!((info.references, info.kind), (0, ObjectKind::Dataset));
}

#[test]
fn a_removed_attribute_passes_other_objects_and_waits_for_its_own() {
    let rig = Rig::new("threads=2");
    let (other, data) = (rig.dataset(), rig.dataset());
    for object in [other, data] {
        rig.container.attribute_create(&attribute(object, "a")).unwrap();
    }
    rig.write(data, 1).unwrap();
    rig.gate.wait_entered(1);
    let delete = |object| requests(|| rig.container.attribute_delete(object, "a").unwrap()).1.remove(0);
    let (passes, waits) = (delete(other), delete(data));
    passes.wait(LONG).unwrap().unwrap();
    assert!(waits.wait(SHORT).is_none());
    let ((), _) = requests(|| assert!(rig.container.attribute_info(data, "a").unwrap().is_none()));
    rig.gate.open();
    waits.wait(LONG).unwrap().unwrap();
}

#[test]
fn an_attribute_that_was_replaced_is_told_as_it_will_be() {
    let rig = Rig::new("threads=1");
    let data = rig.dataset();
    rig.write(data, 1).unwrap();
    let ((), queued) = requests(|| {
        rig.container.attribute_create(&attribute(data, "a")).unwrap();
        rig.container.attribute_delete(data, "a").unwrap();
        assert!(rig.container.attribute_info(data, "a").unwrap().is_none());
        let wide = OpAttributeCreate { datatype: Datatype::native_int(8), ..attribute(data, "a") };
        rig.container.attribute_create(&wide).unwrap();
        let info = rig.container.attribute_info(data, "a").unwrap().unwrap();
        assert_eq!(info.datatype.size(), 8);
    });
    assert!(queued.iter().all(|request| request.status() == Status::Waiting));
    rig.gate.open();
    assert!(queued.iter().all(|request| request.wait(LONG).unwrap().is_ok()));
}

#[test]
fn a_new_link_does_not_wait_for_a_query_of_another_one() {
    let rig = Rig::new("threads=2");
    let data = rig.dataset();
    rig.link(data, "one");
    rig.gate.hold_links();
    let query = start_link(&*rig.container, rig.root(), "one");
    let create = |name: &str| {
        let place = LinkLocation::new(rig.root(), name);
        let op = OpLinkCreate { place, target: LinkTarget::Hard(data) };
        requests(|| rig.container.link_create(&op).unwrap()).1.remove(0)
    };
    create("two").wait(LONG).unwrap().unwrap();
    let same = create("one");
    assert!(same.wait(SHORT).is_none(), "it waits for the query of its own link");
    rig.gate.open();
    assert!(query.wait(LONG).unwrap().unwrap().is_some());
    assert_eq!(same.wait(LONG).unwrap().unwrap_err().kind(), Kind::Exists);
}

#[test]
fn reads_that_wait_together_are_one_call_and_each_has_its_own_failure() {
    let rig = Rig::new("threads=1");
    let (busy, datasets) = (rig.dataset(), [(); 5].map(|()| rig.dataset()));
    rig.write(busy, 1).unwrap();
    rig.gate.wait_entered(1);
    let read = |data: Token, bytes| start_read(&*rig.container, data, &Selection::All, bytes);
    let good: Vec<_> = datasets.iter().map(|data| read(*data, 8)).collect();
    rig.gate.open();
    assert!(wait_all(good).into_iter().all(|read| read.unwrap() == [0; 8]));
    assert_eq!(rig.gate.reads.load(Ordering::SeqCst), 1);
    let mixed = [8, 7, 8].map(|bytes| start_read(&*rig.container, datasets[0], &Selection::All, bytes));
    let outcomes: Vec<bool> = wait_all(mixed).into_iter().map(|read| read.is_ok()).collect();
    assert_eq!(outcomes, [true, false, true]);
}

/// A write of a value, for which something has to be stored first.
fn prepared(rig: &Rig, data: Token, value: u8) -> Request {
    let make = move |container: &dyn Container| -> Result<Call> {
        container.blob_put(&[b"stored before"])?;
        container.blob_put(&[b"and after that"])?;
        let write = [value; 8];
        let op = move |c: &dyn Container| {
            c.dataset_write(&[OpWrite { dataset: data, selection: &Selection::All, from: &write }])
        };
        match value {
            PANICS => panic!("of the test"),
            FAILS => Err(Error::new(Kind::Conversion, "convert value")),
            _ => Ok(Box::new(op)),
        }
    };
    let queue = || assert!(queue_prepared(&*rig.container, Operation::dataset_write, data, 8, make));
    requests(queue).1.remove(0)
}

#[test]
fn a_change_whose_values_are_stored_first_keeps_its_place() {
    let rig = Rig::new("threads=2");
    let data = rig.dataset();
    rig.write(data, 1).unwrap();
    rig.gate.wait_entered(1);
    let (first, last) = (prepared(&rig, data, 2), prepared(&rig, data, 3));
    let read = start_read(&*rig.container, data, &Selection::All, 8);
    rig.write(data, 4).unwrap();
    assert!(first.wait(SHORT).is_none());
    rig.gate.open();
    first.wait(LONG).unwrap().unwrap();
    last.wait(LONG).unwrap().unwrap();
    assert_eq!(read.wait(LONG).unwrap().unwrap(), [3; 8]);
    assert_eq!(rig.read(data), 4);
}

#[test]
fn changes_that_fill_the_queue_still_get_their_values_stored() {
    let rig = Rig::new("threads=1, memory=1600");
    rig.gate.open();
    let data = rig.dataset();
    let all: Vec<Request> = (1..=20).map(|value| prepared(&rig, data, value)).collect();
    assert!(all.iter().all(|request| request.wait(LONG).unwrap().is_ok()));
    assert_eq!(rig.read(data), 20);
}

#[test]
fn a_change_whose_values_cannot_be_stored_fails_alone_and_one_that_is_cancelled_does_nothing() {
    let rig = Rig::new("threads=1");
    let data = rig.dataset();
    rig.write(data, 1).unwrap();
    rig.gate.wait_entered(1);
    let [failed, panicked, cancelled] = [FAILS, PANICS, 2].map(|value| prepared(&rig, data, value));
    assert!(cancelled.cancel());
    rig.gate.open();
    assert_eq!(failed.wait(LONG).unwrap().unwrap_err().kind(), Kind::Conversion);
    assert!(panicked.wait(LONG).unwrap().unwrap_err().to_string().contains("it panicked"));
    assert_eq!(rig.read(data), 1);
    rig.container.commit(Durability::None).unwrap();
}
