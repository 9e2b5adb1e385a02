//! A file made by hand from the document, byte by byte, with the native connector: its tables are of version 1.

mod common;

use common::*;
use model::properties::{DatasetCreate, FileCreate, Fill, FillValue};
use model::{CharacterSet, Dataspace, Datatype, Selection, Token};
use native::NativeConnector;
use vol::{
    Connector, Container, ContainerCreate, FileAccess, LinkLocation, OpAttributeCreate, OpDatasetCreate,
    OpGroupCreate, OpWrite,
};

fn number(c: &dyn Container, object: Token, name: &str, values: &[i64]) {
    let space = if values.len() == 1 {
        Dataspace::Scalar
    } else {
        Dataspace::simple(&[values.len() as u64]).unwrap()
    };
    let (name, datatype) = (name.to_owned(), Datatype::native_int(8));
    let op = OpAttributeCreate {
        object,
        name: name.clone(),
        charset: CharacterSet::Ascii,
        datatype,
        committed: None,
        space,
    };
    c.attribute_create(&op).unwrap();
    let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
    c.attribute_write(object, &name, &bytes).unwrap();
}

fn list(c: &dyn Container, group: Token, name: &str, bytes: &[u8]) -> Token {
    let op = OpDatasetCreate {
        place: Some(LinkLocation::new(group, name)),
        datatype: Datatype::native_uint(1),
        committed: None,
        space: Dataspace::simple(&[bytes.len() as u64]).unwrap(),
        create: DatasetCreate::default(),
    };
    let dataset = c.dataset_create(&op).unwrap();
    c.dataset_write(&[OpWrite { dataset, selection: &Selection::All, from: bytes }]).unwrap();
    dataset
}

fn anchor(c: &dyn Container, name: &str, id: i64, dims: &[i64]) {
    let fill = Fill { value: FillValue::Value(to_bytes(&[-1])), ..Fill::default() };
    let create = DatasetCreate { fill, ..DatasetCreate::default() };
    let dataset = c.dataset_create(&op(c, name, Dataspace::Scalar, create)).unwrap();
    number(c, dataset, "__LOG_ID", &[id]);
    number(c, dataset, "__LOG_DIMS", dims);
}

fn put_i64(out: &mut Vec<u8>, numbers: &[i64], is_big: bool) {
    for number in numbers {
        out.extend(if is_big { number.to_be_bytes() } else { number.to_le_bytes() });
    }
}

fn put_i32(out: &mut Vec<u8>, number: i32, is_big: bool) {
    out.extend(if is_big { number.to_be_bytes() } else { number.to_le_bytes() });
}

/// Two datasets `a` (10 elements) and `b` (3 by 4), whose log begins at `at`: `a[2..5]` and `a[7..=7]` = 1, 2, 3, 4; then points 3
/// and 9 of `a` = 5, 6; then the block (1, 1) to (2, 2) of `b` = 7, 8, 9, 10, which is a zlib stream.
fn table(at: i64, is_big: bool) -> Vec<u8> {
    let mut out = b"LOG\x01".to_vec();
    out.extend(if is_big { [0, 0, 0, 1] } else { [0, 0, 0, 0] });
    put_i64(&mut out, &[2, 1], is_big);
    out.push(b'a');
    put_i64(&mut out, &[1], is_big);
    out.push(b'b');
    put_i64(&mut out, &[3], is_big);
    // Records of 32 bytes before their selections.
    let first = out.len() as i64 + 3 * 16;
    let lengths = [32 + 2 * 16, 32 + 2 * 8, 32 + 2 * 16];
    put_i64(&mut out, &[first, first + lengths[0], first + lengths[0] + lengths[1]], is_big);
    put_i64(&mut out, &lengths, is_big);
    let mut record = |dataset, filter, place, kind, selection: &[i64]| {
        put_i64(&mut out, &[dataset], is_big);
        put_i32(&mut out, filter, is_big);
        put_i64(&mut out, &[place], is_big);
        put_i32(&mut out, kind, is_big);
        put_i64(&mut out, selection, is_big);
    };
    record(0, 0, at, 0, &[2, 2, 7, 4, 7]);
    record(0, 0, at + 16, 1, &[2, 3, 9]);
    record(1, 1, at + 24, 0, &[2, 5, 9, 6, 10]);
    out
}

/// The numbers as a zlib stream of one stored block.
fn stream(values: &[i32]) -> Vec<u8> {
    let data = to_bytes(values);
    let len = data.len() as u16;
    let mut out = vec![0x78, 0x01, 0x01];
    out.extend(len.to_le_bytes());
    out.extend((!len).to_le_bytes());
    out.extend(&data);
    let (mut a, mut b) = (1u32, 0u32);
    for byte in data {
        a = (a + u32::from(byte)) % 65521;
        b = (b + a) % 65521;
    }
    out.extend((b << 16 | a).to_be_bytes());
    out
}

fn by_hand(path: &str, is_big: bool) {
    let (create, access) = (FileCreate::default(), FileAccess::write());
    let c = NativeConnector.create(&ContainerCreate::new(path, &create, &access)).unwrap();
    anchor(&*c, "a", 0, &[10]);
    anchor(&*c, "b", 1, &[3, 4]);
    let place = Some(LinkLocation::new(c.info().unwrap().root, "__LOG"));
    let group = c.group_create(&OpGroupCreate { place, ..OpGroupCreate::default() }).unwrap();
    number(&*c, group, "datasets", &[2]);
    number(&*c, group, "log_datasets", &[1]);
    // Behind the stream there is more: it says itself where it ends.
    let log = [to_bytes(&[1, 2, 3, 4, 5, 6]), stream(&[7, 8, 9, 10]), vec![0xee; 100]].concat();
    let log = list(&*c, group, "log_00000000", &log);
    let at = c.dataset_storage(log).unwrap().offset.unwrap() as i64;
    list(&*c, group, "metadata", &table(at, is_big));
    c.close().unwrap();
}

#[test]
fn a_file_of_version_1_made_by_hand_reads_as_the_document_says() {
    let folder = Folder::new("log");
    for is_big in [false, true] {
        let path = folder.at(if is_big { "big.h5" } else { "little.h5" });
        by_hand(&path, is_big);
        let c = open(&path, &FileAccess::read()).unwrap();
        let (a, b) = (find(&*c, "a"), find(&*c, "b"));
        assert_eq!(c.dataset_info(b).unwrap().space.dims(), [3, 4]);
        assert_eq!(get(&*c, a, &Selection::All).unwrap(), [-1, -1, 1, 5, 3, -1, -1, 4, -1, 6]);
        assert_eq!(get(&*c, b, &Selection::All).unwrap(), [-1, -1, -1, -1, -1, 7, 8, -1, -1, 9, 10, -1]);
        c.close().unwrap();
    }
}

#[test]
fn a_file_of_version_1_is_written_on_and_read_again() {
    let folder = Folder::new("log");
    let path = folder.at("on.h5");
    by_hand(&path, false);
    let c = open(&path, &FileAccess::write()).unwrap();
    let a = find(&*c, "a");
    put(&*c, a, &Selection::block(&[0], &[3]).unwrap(), &[20, 21, 22]).unwrap();
    c.close().unwrap();
    let c = open(&path, &FileAccess::read()).unwrap();
    assert_eq!(get(&*c, find(&*c, "a"), &Selection::All).unwrap(), [20, 21, 22, 5, 3, -1, -1, 4, -1, 6]);
    assert_eq!(get(&*c, find(&*c, "b"), &Selection::All).unwrap()[5..7], [7, 8]);
    c.close().unwrap();
}
