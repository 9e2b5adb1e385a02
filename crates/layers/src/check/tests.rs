//! Callers and containers that break rules.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use memory::MemoryConnector;
use model::properties::{DatasetCreate, FileCreate};
use model::{Dataspace, Datatype, Error, Kind, Link, Result, Selection, Token};
use vol::*;

use crate::check::CheckLayer;

/// A container that breaks rules once it is told to.
struct Liar {
    inner: Arc<dyn Container>,
    is_lying: AtomicBool,
}

impl Liar {
    fn lies(&self) -> bool {
        self.is_lying.load(Ordering::SeqCst)
    }
}

impl Layer for Liar {
    fn inner(&self) -> &dyn Container {
        &*self.inner
    }

    fn info(&self) -> Result<Arc<ContainerInfo>> {
        let info = self.inner.info()?;
        match self.lies() {
            true => Ok(Arc::new(ContainerInfo { writable: false, ..(*info).clone() })),
            false => Ok(info),
        }
    }

    fn close(&self) -> Result<()> {
        if self.lies() { Ok(()) } else { self.inner.close() }
    }

    fn link_list(&self, group: Token, op: &OpList) -> Result<Page<Link>> {
        let mut page = self.inner.link_list(group, &OpList { count_max: op.count_max + 1, ..*op })?;
        if op.count_max > 1 {
            page.entries.reverse();
        }
        Ok(page)
    }

    fn attribute_read(&self, object: Token, names: &[&str]) -> Result<Vec<Vec<u8>>> {
        self.inner.attribute_read(object, names).map(|mut values| values.split_off(1))
    }

    fn blob_put(&self, values: &[&[u8]]) -> Result<Vec<u8>> {
        self.inner.blob_put(values).map(|ids| [ids, vec![0]].concat())
    }
}

fn checked(parameters: &str, liar: bool) -> (Arc<dyn Container>, Arc<Liar>) {
    let (create, access) = (FileCreate::default(), FileAccess::write());
    let inner = MemoryConnector::new().create(&ContainerCreate::new("x", &create, &access)).unwrap();
    let lying = Arc::new(Liar { inner: inner.clone(), is_lying: AtomicBool::new(false) });
    let inner: Arc<dyn Container> = if liar { lying.clone() } else { inner };
    let entry = Stack::parse(&format!("check{{{parameters}}}")).unwrap().0.remove(0);
    let parameters = &entry.parameters;
    let op =
        Wrap { inner, location: "x", parameters, made: None, access: &access, registry: Registry::none() };
    (CheckLayer.wrap(&op).unwrap(), lying)
}

fn dataset(c: &dyn Container) -> Token {
    let op = OpDatasetCreate {
        place: Some(LinkLocation::new(c.info().unwrap().root, "d")),
        datatype: Datatype::native_int(4),
        committed: None,
        space: Dataspace::simple(&[4]).unwrap(),
        create: DatasetCreate::default(),
    };
    c.dataset_create(&op).unwrap()
}

fn breaks<T>(result: Result<T>, kind: Kind, words: &[&str]) {
    let error: Error = result.map(|_| ()).unwrap_err();
    assert_eq!(error.kind(), kind, "{error}");
    let text = error.to_string();
    assert!(words.iter().all(|word| text.contains(word)), "{text}");
}

#[test]
fn a_buffer_that_does_not_fit_is_named_with_operation_rule_and_value() {
    let (c, _) = checked("", false);
    let dataset = dataset(&*c);
    let from = &[0; 15];
    let write = OpWrite { dataset, selection: &Selection::All, from };
    breaks(
        c.dataset_write(&[write]),
        Kind::Invalid,
        &["check dataset_write", "exactly", "15 bytes instead of 16"],
    );
    let beyond = &Selection::block(&[3], &[2]).unwrap();
    let read = OpRead { dataset, selection: beyond, into: &mut [0; 8] };
    breaks(c.dataset_read(&mut [read]), Kind::Invalid, &["check dataset_read", "in the extent", "[4]"]);
}

#[test]
fn tokens_that_the_container_never_gave_are_refused_wherever_they_stand() {
    let (c, _) = checked("", false);
    let (other, _) = checked("", false);
    let (mine, strange) = (dataset(&*c), dataset(&*other));
    breaks(c.dataset_info(strange), Kind::NotFound, &["check dataset_info", "token"]);
    let root = c.info().unwrap().root;
    let op = OpLinkMove { from: root, name: "d".into(), to: LinkLocation::new(strange, "x"), copy: true };
    breaks(c.link_move(&op), Kind::NotFound, &["check link_move"]);
    let write = |dataset| OpWrite { dataset, selection: &Selection::All, from: &[0; 16] };
    breaks(c.dataset_write(&[write(mine), write(strange)]), Kind::NotFound, &["check dataset_write"]);
}

#[test]
fn names_that_are_none_are_refused() {
    let (c, _) = checked("", false);
    let root = c.info().unwrap().root;
    for name in ["", ".", "a/b", "a\0b"] {
        let op = OpGroupCreate { place: Some(LinkLocation::new(root, name)), ..Default::default() };
        breaks(c.group_create(&op), Kind::Invalid, &["check group_create", "name", &format!("{name:?}")]);
    }
}

#[test]
fn strict_handles_are_released_before_closing() {
    let (c, _) = checked("handles=strict", false);
    let dataset = dataset(&*c);
    c.retain(dataset).unwrap();
    breaks(c.close(), Kind::Invalid, &["check close", "released", &dataset.to_string()]);
    c.release(dataset).unwrap();
    breaks(c.release(dataset), Kind::Invalid, &["check release", "retained"]);
    c.close().unwrap();
}

#[test]
fn a_container_that_answers_wrongly_is_found_out() {
    let (c, liar) = checked("", true);
    let root = c.info().unwrap().root;
    for name in ["a", "b"] {
        c.group_create(&OpGroupCreate { place: Some(LinkLocation::new(root, name)), ..Default::default() })
            .unwrap();
    }
    breaks(c.link_list(root, &OpList::default()), Kind::Corrupt, &["order", "\"b\" before \"a\""]);
    let one = OpList { count_max: 1, ..OpList::default() };
    breaks(c.link_list(root, &one), Kind::Corrupt, &["at most what was asked for", "2"]);
    breaks(c.blob_put(&[b"x"]), Kind::Corrupt, &["check blob_put", "info() promises", "9"]);
    attribute(&*c, root);
    breaks(c.attribute_read(root, &["a"]), Kind::Corrupt, &["0 answers to 1 questions"]);
    liar.is_lying.store(true, Ordering::SeqCst);
    breaks(c.info(), Kind::Corrupt, &["does not change", "writable"]);
    c.close().unwrap();
    breaks(c.commit(Durability::None), Kind::Corrupt, &["check commit", "after closing"]);
}

fn attribute(c: &dyn Container, object: Token) {
    let op = OpAttributeCreate {
        object,
        name: "a".into(),
        charset: model::CharacterSet::Ascii,
        datatype: Datatype::native_int(4),
        committed: None,
        space: Dataspace::Scalar,
    };
    c.attribute_create(&op).unwrap();
    breaks(
        c.attribute_write(object, "a", &[1]),
        Kind::Invalid,
        &["check attribute_write", "1 bytes instead of 4"],
    );
    c.attribute_write(object, "a", &[1; 4]).unwrap();
}
