//! Values as bytes and back, and bytes that no one meant.

use std::sync::Arc;

use hyperslab_protocol::wire;
use hyperslab_protocol::wire::{Answer, Client, Request, Transport, Wire, dispatch, from_bytes, to_bytes};
use memory::MemoryConnector;
use model::datatype::*;
use model::properties::*;
use model::selection::SetOp;
use model::*;
use testkit::generate::{Generator, announced_seed};
use vol::Operation;
use vol::*;

/// What any bytes may be read as.
fn read_as_everything(bytes: &[u8]) {
    macro_rules! read {
        ($($name:ty),+ $(,)?) => { $( let _ = from_bytes::<$name>(bytes); )+ };
    }
    read!(
        Datatype,
        Dataspace,
        Selection,
        DatasetCreate,
        FileCreate,
        GroupCreate,
        Link,
        Reference,
        Vec<Reference>,
        Error,
        Limits,
        FileAccess,
        Capability,
        ContainerInfo,
        ObjectInfo,
        DatasetInfo,
        AttributeInfo,
        MapInfo,
        GroupInfo,
        StorageInfo,
        Lookup,
        Page<Link>,
        Page<AttributeInfo>,
        Page<ChunkInfo>,
        Option<Link>,
        OpGroupCreate,
        OpDatasetCreate,
        OpDatatypeCommit,
        OpMapCreate,
        OpLinkCreate,
        OpLinkMove,
        OpList,
        OpLookup,
        OpAttributeCreate,
        OpObjectCopy,
        wire::OpenRequest,
        wire::Wrapping,
    );
}

fn survives<T: Wire + PartialEq + std::fmt::Debug>(value: &T) -> Vec<u8> {
    let bytes = to_bytes(value).unwrap();
    assert_eq!(from_bytes::<T>(&bytes).unwrap(), *value);
    bytes
}

fn random_dataset_create(random: &mut Generator) -> OpDatasetCreate {
    let space = random.dataspace(1000);
    let mapping = VirtualMapping {
        file: random.name(),
        dataset: random.name(),
        source: random.selection(&[9, 9]),
        target: random.selection(&[9, 9]),
    };
    let layout = match random.below(4) {
        0 => Layout::Virtual(vec![mapping; 2]),
        1 => Layout::External(vec![ExternalFile {
            name: random.name(),
            offset: random.number(),
            size: u64::MAX,
        }]),
        _ => random.layout(&space),
    };
    let filters = vec![FilterSpec { id: 1, name: Some(random.name()), optional: true, values: vec![1, 2] }];
    let fill = Fill { value: FillValue::Value(random.bytes(5)), time: FillTime::Never };
    let create = DatasetCreate { layout, filters, fill, ..DatasetCreate::default() };
    let place =
        (!random.one_in(3)).then(|| LinkLocation::new(Token::from_u64(random.number()), random.name()));
    OpDatasetCreate { place, datatype: random.datatype(4), committed: None, space, create }
}

#[test]
fn random_values_come_back_equal() {
    let mut random = Generator::new(announced_seed("random_values_come_back_equal"));
    for _ in 0..300 {
        survives(&random.datatype(6));
        survives(&random.dataspace(1 << 40));
        let dims = random.dims(3, 1000);
        survives(&random.selection(&dims));
        survives(&random_dataset_create(&mut random));
        survives(&random.file_create());
        let reference = Reference::region(Token::from_u64(random.number()), random.selection(&dims));
        survives(&vec![reference, Reference::null(), Reference::attribute(Token::default(), random.name())]);
    }
}

#[test]
fn selections_of_every_kind_come_back_equal() {
    let dims = [20, 20];
    let unlimited = Selection::hyperslab(&[1, 2], &[3, 4], &[UNLIMITED, 2], &[2, 1]).unwrap();
    survives(&unlimited);
    let (a, b) = (Selection::block(&[0, 0], &[5, 5]).unwrap(), Selection::block(&[3, 3], &[9, 2]).unwrap());
    let c = Selection::block(&[12, 0], &[1, 20]).unwrap();
    let union = a.combine(SetOp::Or, &b, &dims).unwrap().combine(SetOp::Or, &c, &dims).unwrap();
    assert!(matches!(union, Selection::Irregular(_)));
    survives(&union);
    survives(&Selection::points(2, vec![5, 5, 0, 1, 5, 5]).unwrap());
    survives(&Selection::All);
    survives(&Selection::None);
}

#[test]
fn types_that_no_container_accepts_travel_all_the_same() {
    let member = |offset| Member { name: "same".into(), offset, datatype: Datatype::native_int(4) };
    survives(&Datatype::Compound(Compound { size: 5, members: vec![member(0), member(2)] }));
    survives(&Datatype::array(&[1 << 31, 1 << 31], Datatype::native_int(8)));
}

#[test]
fn an_error_keeps_its_kind_facts_and_causes() {
    let inner = Error::corrupt("decode node").at(0x40).with("records", 9).with("level", 2);
    let error = inner.during("open group").with("name", "žluť").during("list");
    let back: Error = from_bytes(&to_bytes(&error).unwrap()).unwrap();
    assert_eq!(back.stack(), error.stack());
    assert_eq!(back.kind(), Kind::Corrupt);
    let deep = (0..1000).fold(Error::busy("x"), |error, _| error.during("y"));
    let back: Error = from_bytes(&to_bytes(&deep).unwrap()).unwrap();
    assert_eq!(back.kind(), Kind::Busy);
}

#[test]
fn access_keeps_all_but_the_resolver() {
    let mut access = FileAccess::write().with_stack("a | b").with_swmr().with_limits(Limits::strict());
    access.driver = Some("family".into());
    access.chunk_cache_bytes = Some(7);
    access.virtual_view.gap = 3;
    let back: FileAccess = from_bytes(&to_bytes(&access).unwrap()).unwrap();
    assert_eq!(back.limits, access.limits);
    assert_eq!((back.stack, back.driver, back.swmr), (access.stack, access.driver, true));
    assert_eq!((back.chunk_cache_bytes, back.virtual_view), (Some(7), access.virtual_view));
}

#[test]
fn capabilities_are_bits_in_the_order_of_their_list() {
    assert_eq!(Capability::ALL.to_bits(), (1 << 25) - 1);
    for (bit, (name, _)) in Capability::ALL.list().into_iter().enumerate() {
        let one = Capability::from_bits(1 << bit);
        assert_eq!(one.list().into_iter().find(|(_, set)| *set), Some((name, true)));
    }
}

#[test]
fn a_type_nested_without_end_is_over_the_limit() {
    // Array with no dimensions, again and again.
    let bytes = [10u8, 0, 0, 0, 0].repeat(1 << 20);
    assert_eq!(from_bytes::<Datatype>(&bytes).unwrap_err().kind(), Kind::Limit);
}

#[test]
fn a_list_longer_than_its_bytes_is_refused_before_space_is_made() {
    let mut bytes = vec![0xff; 4];
    bytes.extend([0; 64]);
    assert_eq!(from_bytes::<Vec<u64>>(&bytes).unwrap_err().kind(), Kind::Corrupt);
    assert_eq!(from_bytes::<Vec<Reference>>(&bytes).unwrap_err().kind(), Kind::Corrupt);
}

#[test]
fn blocks_in_any_order_are_a_selection() {
    // Rows of a chessboard, last one first.
    let corners: Vec<u64> = (0..50u64).rev().flat_map(|n| [n, n % 2, n, n % 2]).collect();
    let mut bytes = vec![4];
    2u32.put(&mut bytes).unwrap();
    corners.put(&mut bytes).unwrap();
    let selection: Selection = from_bytes(&bytes).unwrap();
    assert_eq!(selection, Selection::union_of_blocks(2, &corners).unwrap());
    assert_eq!(selection.element_count(&[50, 2]).unwrap(), 50);
}

#[test]
fn blocks_that_would_multiply_are_over_the_limit() {
    // Boxes that cross each other in many dimensions: their union has far more spans than they are.
    let (rank, count) = (6u64, 400u64);
    let mut corners = Vec::new();
    for n in 0..count {
        for _ in 0..rank {
            corners.push(n);
        }
        corners.extend((0..rank).map(|d| n + 500 + n * (d + 7) % 97));
    }
    let mut bytes = vec![4];
    (rank as u32).put(&mut bytes).unwrap();
    corners.put(&mut bytes).unwrap();
    assert_eq!(from_bytes::<Selection>(&bytes).unwrap_err().kind(), Kind::Limit);
}

#[test]
fn random_bytes_never_panic() {
    let mut random = Generator::new(announced_seed("random_bytes_never_panic"));
    for _ in 0..3000 {
        let len = random.below(200) as usize;
        let mut bytes = random.bytes(len);
        // Small numbers reach further than large ones.
        if random.one_in(2) {
            bytes.iter_mut().for_each(|byte| *byte %= 4);
        }
        read_as_everything(&bytes);
    }
}

#[test]
fn good_bytes_with_changes_never_panic() {
    let mut random = Generator::new(announced_seed("good_bytes_with_changes_never_panic"));
    for _ in 0..300 {
        let good = survives(&random_dataset_create(&mut random));
        for _ in 0..20 {
            let mut bytes = good.clone();
            let at = random.below(bytes.len() as u64) as usize;
            bytes[at] = random.number() as u8;
            let _ = from_bytes::<OpDatasetCreate>(&bytes);
            let _ = from_bytes::<OpDatasetCreate>(&bytes[..at]);
        }
    }
}

fn container() -> Arc<dyn Container> {
    let (create, access) = (FileCreate::default(), FileAccess::write());
    MemoryConnector::new().create(&ContainerCreate::new("x", &create, &access)).unwrap()
}

#[test]
fn random_requests_never_panic() {
    let mut random = Generator::new(announced_seed("random_requests_never_panic"));
    let container = container();
    let root = container.info().unwrap().root;
    for round in 0..200 {
        for &code in Operation::ALL.iter().filter(|code| **code != Operation::close) {
            let mut arguments = if round % 2 == 0 { root.0.to_vec() } else { Vec::new() };
            let len = random.below(80) as usize;
            arguments.extend(random.bytes(len).iter().map(|byte| byte % 4));
            let (one, mut buffer) = (random.bytes(9), [0; 16]);
            let bulk: Vec<&[u8]> = (0..random.below(4)).map(|_| &one[..]).collect();
            let into = if random.one_in(2) { vec![&mut buffer[..]] } else { Vec::new() };
            let _ = dispatch(
                &*container,
                Request { code, arguments: &arguments, bulk, into },
                &mut Answer::default(),
            );
        }
    }
}

/// Answers with bytes that no one meant.
struct Liar(std::sync::Mutex<Generator>);

impl Transport for Liar {
    fn call(&self, _: Request<'_>, answer: &mut Answer) -> Result<()> {
        let mut random = self.0.lock().unwrap();
        let len = random.below(60) as usize;
        answer.bytes = random.bytes(len).iter().map(|byte| byte % 5).collect();
        answer.bulk = (0..random.below(4)).map(|_| vec![7; 5]).collect();
        answer.failed = random.one_in(8);
        Ok(())
    }
}

#[test]
fn random_answers_never_panic() {
    let random = Generator::new(announced_seed("random_answers_never_panic"));
    let client = Client::new(Liar(random.into()));
    let token = Token::default();
    for _ in 0..3000 {
        let _ = client.info();
        let _ = client.commit(Durability::Full);
        let _ = client.optional("x", &[]);
        let _ = client.object_info(token);
        let _ = client.object_adjust_references(token, 1);
        let _ = client.group_info(token);
        let _ = client.link_get(token, "x");
        let _ = client.link_list(token, &OpList::default());
        let _ = client.lookup(&OpLookup { from: token, path: "x".into(), traversals_max: 1 });
        let _ = client.attribute_info(token, "x");
        let _ = client.attribute_list(token, &OpList::default());
        let _ = client.attribute_read(token, &["x"]);
        let _ = client.dataset_info(token);
        let _ = client.dataset_storage(token);
        let _ = client.chunk_list(token, 0, 1);
        let _ = client.chunk_read(token, &[0]);
        let _ = client.elements_find(&OpPlacement { dataset: token, selection: model::Selection::All });
        let _ = client.datatype_get(token);
        let _ = client.map_info(token);
        let _ = client.map_get(token, &[b"x"]);
        let _ = client.map_keys(token, Some(b"x"), 1);
        let _ = client.map_delete(token, b"x");
        let _ = client.blob_put(&[b"x"]);
        let _ = client.blob_get(&[b"x"], &mut Blobs::default());
        let _ = client.reference_get(ReferenceKind::Object, &[b"x"]);
        let _ = client.reference_put(ReferenceKind::Object, &[Reference::null()]);
    }
}

#[test]
fn a_request_with_something_left_is_refused() {
    let container = container();
    let request = |arguments, bulk| Request { code: Operation::info, arguments, bulk, into: Vec::new() };
    dispatch(&*container, request(&[], Vec::new()), &mut Answer::default()).unwrap();
    for wrong in [request(&[1], Vec::new()), request(&[], vec![&[]])] {
        assert_eq!(dispatch(&*container, wrong, &mut Answer::default()).unwrap_err().kind(), Kind::Corrupt);
    }
}

#[test]
fn numbers_of_operations_are_their_own() {
    for &code in Operation::ALL {
        assert_eq!(Operation::of(code.number()), Some(code));
    }
    assert_eq!(Operation::of(0), None);
    assert_eq!(Operation::of(9999), None);
}
