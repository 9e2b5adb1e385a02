//! Operations that a node did in part, and what the next node makes of them.

use std::sync::Arc;

use model::properties::FileCreate;
use model::{LinkTarget, Token};
use protocol::Id;
use vol::*;

use super::{Intent, NodeChange, NodeSession, SharedStore};

/// The number of the operation that was under way.
const NUMBER: u64 = 7;

struct Nodes {
    registry: Registry,
    store: SharedStore,
    container: Arc<dyn Container>,
    root: Token,
}

impl Nodes {
    fn new() -> Self {
        let mut registry = Registry::new();
        registry.register(Arc::new(object::ObjectConnector::new())).unwrap();
        let access = FileAccess::write();
        let container =
            registry.create("object+memory:data", &FileCreate::default(), &access, false).unwrap();
        let (store, root) =
            (SharedStore::new("object+memory:journal".into()), container.info().unwrap().root);
        Nodes { registry, store, container, root }
    }

    fn session(&self, is_resumed: bool) -> NodeSession {
        NodeSession::begin(&self.store, &self.registry, Id([3; 16]), is_resumed).unwrap()
    }

    /// A node notes an operation and does `part` of it. Then the next node runs it again.
    fn died<T>(
        &self,
        intent: &Intent,
        part: impl FnOnce(&dyn Container),
        again: impl FnOnce(&dyn Container) -> Result<T>,
    ) -> T {
        self.session(false).note(NUMBER, 0, intent).unwrap();
        part(&*self.container);
        let session = self.session(true);
        assert!(session.unfinished(NUMBER).is_some());
        let change =
            NodeChange { session: &session, inner: &*self.container, number: NUMBER, acknowledged: 0 };
        let done = again(&change).unwrap();
        assert!(session.unfinished(NUMBER).is_none());
        assert_eq!(self.container.storage_check().unwrap(), [], "{intent:?}");
        done
    }

    fn place(&self, name: &str) -> LinkLocation {
        LinkLocation::new(self.root, name)
    }

    fn group(&self, name: &str) -> Token {
        let place = Some(self.place(name));
        self.container.group_create(&OpGroupCreate { place, ..OpGroupCreate::default() }).unwrap()
    }

    fn target(&self, name: &str) -> Option<Token> {
        match self.container.link_get(self.root, name).unwrap()?.target {
            LinkTarget::Hard(token) => Some(token),
            _ => None,
        }
    }

    fn references(&self, object: Token) -> u32 {
        self.container.object_info(object).map_or(0, |info| info.references)
    }
}

fn create(place: LinkLocation) -> OpGroupCreate {
    OpGroupCreate { place: Some(place), ..OpGroupCreate::default() }
}

#[test]
fn an_object_without_its_link_is_removed_and_created_again() {
    for is_counted in [false, true] {
        let nodes = Nodes::new();
        let object = nodes.container.group_create(&OpGroupCreate::default()).unwrap();
        let (object_noted, place) = (Some(object), Some(nodes.place("new")));
        let intent = Intent::Create { object: object_noted, place, datatype: None };
        let part = |container: &dyn Container| {
            if is_counted {
                container.object_adjust_references(object, 1).unwrap();
            }
        };
        let made = nodes.died(&intent, part, |c| c.group_create(&create(nodes.place("new"))));
        assert_eq!((nodes.target("new"), nodes.references(made)), (Some(made), 1));
        assert_eq!((made == object, nodes.references(object)), (false, 0));
    }
}

#[test]
fn an_object_with_its_link_is_what_was_created() {
    let nodes = Nodes::new();
    let object = nodes.container.group_create(&OpGroupCreate::default()).unwrap();
    let intent = Intent::Create { object: Some(object), place: Some(nodes.place("new")), datatype: None };
    let link = OpLinkCreate { place: nodes.place("new"), target: LinkTarget::Hard(object) };
    let part = |container: &dyn Container| container.link_create(&link).unwrap();
    let made = nodes.died(&intent, part, |c| c.group_create(&create(nodes.place("new"))));
    assert_eq!((made, nodes.references(object)), (object, 1));
}

#[test]
fn the_name_of_another_client_is_left_alone() {
    let nodes = Nodes::new();
    let other = nodes.group("new");
    let object = nodes.container.group_create(&OpGroupCreate::default()).unwrap();
    let intent = Intent::Create { object: Some(object), place: Some(nodes.place("new")), datatype: None };
    let refused =
        nodes.died(&intent, |_| {}, |c| Ok(c.group_create(&create(nodes.place("new"))).unwrap_err().kind()));
    assert_eq!((refused, nodes.target("new")), (model::Kind::Exists, Some(other)));
    assert_eq!(nodes.references(object), 0);
}

#[test]
fn a_link_that_was_counted_only_is_made_once() {
    let nodes = Nodes::new();
    let object = nodes.group("first");
    let target = LinkTarget::Hard(object);
    let link = OpLinkCreate { place: nodes.place("second"), target: target.clone() };
    let intent = Intent::Relink { target, references: 1, added: Some(link.place.clone()), removed: None };
    let count = |container: &dyn Container| {
        container.object_adjust_references(object, 1).unwrap();
    };
    nodes.died(&intent, count, |c| c.link_create(&link));
    assert_eq!((nodes.target("second"), nodes.references(object)), (Some(object), 2));
    nodes.died(&intent, |_| {}, |c| c.link_create(&link));
    assert_eq!(nodes.references(object), 2, "it was there");
}

#[test]
fn a_link_that_was_removed_and_is_still_counted_goes_once() {
    for others in [0, 1] {
        let nodes = Nodes::new();
        let object = nodes.group("gone");
        let target = LinkTarget::Hard(object);
        for _ in 0..others {
            let place = nodes.place("stays");
            nodes.container.link_create(&OpLinkCreate { place, target: target.clone() }).unwrap();
        }
        let removed = Some((nodes.root, "gone".to_owned()));
        let intent = Intent::Relink { target, references: 1 + others, added: None, removed };
        let uncounted = |container: &dyn Container| {
            container.object_adjust_references(object, 1).unwrap();
            container.link_delete(nodes.root, "gone").unwrap();
        };
        nodes.died(&intent, uncounted, |c| c.link_delete(nodes.root, "gone"));
        assert_eq!((nodes.target("gone"), nodes.references(object)), (None, others));
    }
}

#[test]
fn a_link_is_not_lost_between_two_names() {
    // What of the old and the new link is stored, and the count.
    for (has_old, has_new, count) in [(true, false, 2), (true, true, 2), (false, true, 2), (false, false, 2)]
    {
        let nodes = Nodes::new();
        let object = nodes.group("old");
        let target = LinkTarget::Hard(object);
        let intent = Intent::Relink {
            target: target.clone(),
            references: 1,
            added: Some(nodes.place("new")),
            removed: Some((nodes.root, "old".to_owned())),
        };
        let part = |container: &dyn Container| {
            container.object_adjust_references(object, 10).unwrap();
            if has_new {
                container.link_create(&OpLinkCreate { place: nodes.place("new"), target }).unwrap();
            }
            if !has_old {
                container.link_delete(nodes.root, "old").unwrap();
            }
            let by = count - nodes.references(object) as i32;
            container.object_adjust_references(object, by).unwrap();
        };
        let op = OpLinkMove { from: nodes.root, name: "old".into(), to: nodes.place("new"), copy: false };
        nodes.died(&intent, part, |c| c.link_move(&op));
        let found = (nodes.target("old"), nodes.target("new"), nodes.references(object));
        assert_eq!(found, (None, Some(object), 1), "{has_old} {has_new}");
    }
}

#[test]
fn values_without_an_owner_are_removed() {
    let nodes = Nodes::new();
    let ids = nodes.container.blob_put(&[b"one", b"two"]).unwrap();
    let intent = Intent::Blobs { ids: ids.clone(), count: 2 };
    nodes.session(false).note(NUMBER, 0, &intent).unwrap();
    let session = nodes.session(true);
    let change = NodeChange { session: &session, inner: &*nodes.container, number: NUMBER, acknowledged: 0 };
    let again = Container::blob_put(&change, &[b"one", b"two"]).unwrap();
    let mut blobs = Blobs::default();
    assert!(nodes.container.blob_get(&[&ids[..16]], &mut blobs).is_err());
    nodes.container.blob_get(&[&again[..16], &again[16..]], &mut blobs).unwrap();
    assert_eq!(blobs.bytes(), b"onetwo");
}

#[test]
fn a_pair_that_was_there_is_removed_once_and_answered_so() {
    let nodes = Nodes::new();
    let integer = model::Datatype::integer(4, false, model::datatype::ByteOrder::Little);
    let map = OpMapCreate {
        place: Some(nodes.place("map")),
        key: integer.clone(),
        value: integer,
        create: Default::default(),
    };
    let map = nodes.container.map_create(&map).unwrap();
    let was_there = nodes.died(&Intent::Pair { is_there: true }, |_| {}, |c| c.map_delete(map, &[0; 4]));
    assert!(was_there);
}

#[test]
fn intents_go_once_their_answers_arrived() {
    let nodes = Nodes::new();
    let session = nodes.session(false);
    let intent = Intent::Pair { is_there: false };
    for number in 1..=100 {
        session.note(number, number, &intent).unwrap();
    }
    let left = session.journal.load(Id([3; 16])).unwrap();
    assert!(left.len() <= super::FORGOTTEN_AT_ONCE + 1, "{} are left", left.len());
    assert!(left.contains_key(&100));
    session.end();
    assert!(session.journal.load(Id([3; 16])).unwrap().is_empty());
}
