//! Byte strings taken from files that libhdf5 wrote, with 8-byte addresses and lengths.

use model::properties::{AllocTime, Fill, FillTime, FillValue, FilterSpec};
use model::selection::SelectionVersion;
use model::{CharacterSet, Dataspace, Datatype, Limits, Link, LinkTarget, Selection, Token, dataspace};

use super::super as encode;
use super::super::super::attribute::{AttributePart, RawAttribute};
use super::super::super::external_files::Slot;
use super::super::super::global_heap::HeapId;
use super::super::super::group::LinkInfo;
use super::super::super::layout::{Chunked, Index, Layout};
use super::super::super::shared::SharedAt;
use super::super::super::{Address, attribute, filters, link};
use super::{EIGHT, hex};

const UNDEFINED: &str = "ffffffffffffffff";
const F64: &str = "11203f00 08000000 00004000 340b0034 ff030000";

#[test]
fn datatypes() {
    let compound_2 = format!(
        "26020000 31000000 7800000000000000 00000000 10080000 01000000 00000800 7979000000000000 01000000 \
         2a000000 30000000 02000000 02000000 03000000 00000000 01000000 {F64}"
    );
    let compound_3 = format!(
        "36020000 31000000 7800 00 10080000 01000000 00000800 797900 01 3a000000 30000000 02 02000000 03000000 {F64}"
    );
    let compound_1 =
        format!("16010000 2c010000 6100000000000000 04010000 {} 10080000 01000000 00000800", "00".repeat(28));
    let types: [(&str, u8); 15] = [
        ("10080000 04000000 00002000", 1),
        ("10090000 02000000 00001000", 3),
        (F64, 1),
        ("31611f00 04000000 00002000 17080017 81000000", 1),
        ("13120000 05000000", 1),
        ("19010100 10000000 10000000 01000000 00000800", 1),
        ("15100000 07000000 6162636465666768 6900000000000000", 1),
        (
            "18020000 01000000 1008000001000000 00000800 5245440000000000 475245454e495348 0000000000000000 0506",
            1,
        ),
        (&compound_1, 1),
        (&compound_2, 1),
        (&compound_3, 3),
        ("17000000 08000000", 1),
        ("17010000 0c000000", 1),
        ("47120000 12000000", 1),
        ("5b010000 08000000 11201f00 04000000 00002000 17080017 7f000000", 1),
    ];
    for (text, floor) in types {
        let datatype = Datatype::decode(&hex(text), &Limits::default()).expect(text);
        assert_eq!(datatype.encode(floor).expect(text), hex(text), "{datatype:?}");
    }
}

#[test]
fn dataspaces_and_selections() {
    let (format, v1, v2) = (dataspace::Format::default(), dataspace::Version::V1, dataspace::Version::V2);
    let array = Dataspace::simple(&[4]).unwrap();
    let expected = hex("0101010000000000 0400000000000000 0400000000000000");
    assert_eq!(array.encode(v1, &format).unwrap(), expected);
    assert_eq!(Dataspace::Scalar.encode(v2, &format).unwrap(), hex("02000000"));
    assert_eq!(Dataspace::Null.encode(v2, &format).unwrap(), hex("02000002"));

    let block = Selection::block(&[0], &[1]).unwrap();
    let expected = hex("02000000 01000000 00000000 10000000 01000000 01000000 00000000 00000000");
    assert_eq!(block.encode(SelectionVersion::V18).unwrap(), expected);
    let regular = Selection::hyperslab(&[1, 2], &[4, 5], &[2, 3], &[2, 2]).unwrap();
    let expected = hex("02000000 03000000 01 02 02000000 0100 0400 0200 0200 0200 0500 0300 0200");
    assert_eq!(regular.encode(SelectionVersion::V112).unwrap(), expected);
    let points = Selection::points(2, vec![1, 2, 3, 4]).unwrap();
    let expected = hex("01000000 02000000 02 02000000 0200 0100 0200 0300 0400");
    assert_eq!(points.encode(SelectionVersion::V112).unwrap(), expected);
}

#[test]
fn fill_values() {
    let value = FillValue::Value(1.5f32.to_le_bytes().to_vec());
    let fill = Fill { value, time: FillTime::IfSet };
    let encoded = |version| encode::fill::encode(&fill, AllocTime::Incremental, version).unwrap();
    assert_eq!(encoded(2), hex("02 03 02 01 04000000 0000c03f"));
    assert_eq!(encoded(3), hex("03 2b 04000000 0000c03f"));
    let default = Fill { value: FillValue::Default, time: FillTime::IfSet };
    assert_eq!(encode::fill::encode(&default, AllocTime::Late, 3).unwrap(), hex("03 0a"));
}

fn filter(id: u16, name: Option<&str>, optional: bool, values: &[u32]) -> FilterSpec {
    FilterSpec { id, name: name.map(str::to_owned), optional, values: values.to_vec() }
}

#[test]
fn filter_pipelines() {
    let deflate = filter(1, None, true, &[4]);
    let expected = hex("01 01 000000000000 0100 0800 0100 0100 6465666c61746500 04000000 00000000");
    assert_eq!(encode::filters::encode(std::slice::from_ref(&deflate), 1).unwrap(), expected);
    let three = [filter(2, None, true, &[4]), deflate, filter(3, None, false, &[])];
    let expected = hex("02 03 0200 0100 0100 04000000 0100 0100 0100 04000000 0300 0000 0000");
    assert_eq!(encode::filters::encode(&three, 2).unwrap(), expected);
    let lzf = [filter(32000, Some("lzf"), true, &[4, 0x105, 400])];
    let expected = hex("02 01 007d 0400 0100 0300 6c7a6600 04000000 05010000 90010000");
    assert_eq!(encode::filters::encode(&lzf, 2).unwrap(), expected);
    assert_eq!(filters::decode(&expected).unwrap(), lzf);
}

fn chunked(version: u8, shape: &[u64], index: Index, address: Option<Address>) -> Layout {
    let (shape, parameters) = (shape.to_vec(), index.default_parameters());
    let edge_chunks_unfiltered = false;
    let element_bytes = 4;
    Layout::Chunked(Chunked {
        version,
        shape,
        element_bytes,
        edge_chunks_unfiltered,
        index,
        parameters,
        address,
    })
}

#[test]
fn layouts() {
    let map = Some(HeapId { collection: Address(0x1000), index: 6 });
    let single = Index::Single { filtered: Some((35, 0)) };
    let layouts: [(Layout, &str); 7] = [
        (chunked(3, &[4], Index::BTree1, None), "03 02 02 ffffffffffffffff 04000000 04000000"),
        (chunked(4, &[4], Index::FixedArray, None), "04 02 00 02 01 04 04 03 0a ffffffffffffffff"),
        (
            chunked(4, &[4], Index::ExtensibleArray, None),
            // libhdf5 has pages of 2^10 elements.
            "04 02 00 02 01 04 04 04 20 04 04 10 07 ffffffffffffffff",
        ),
        (
            chunked(4, &[4, 4], Index::BTree2, None),
            "04 02 00 03 01 04 04 04 05 00080000 64 28 ffffffffffffffff",
        ),
        (
            chunked(4, &[10], single, Some(Address(0x800))),
            "04 02 02 02 01 0a 04 01 2300000000000000 00000000 0008000000000000",
        ),
        (Layout::Compact { data: vec![7; 8] }, "03 00 0800 0707070707070707"),
        (Layout::Virtual { map }, "04 03 0010000000000000 06000000"),
    ];
    for (layout, text) in layouts {
        assert_eq!(layout.encode(layout.version(), EIGHT).unwrap(), hex(text), "{layout:?}");
    }
}

#[test]
fn external_file_lists() {
    let slots = [Slot { name_offset: 8, offset: 16, size: 80 }];
    let expected = "01 000000 0100 0100 0001000000000000 0800000000000000 1000000000000000 5000000000000000";
    assert_eq!(encode::external_files::encode(Address(0x100), &slots, EIGHT).unwrap(), hex(expected));
}

#[test]
fn attributes() {
    let part = |shared, text| AttributePart { shared, bytes: hex(text) };
    let mut raw = RawAttribute {
        name: "a".to_owned(),
        charset: CharacterSet::Ascii,
        datatype: part(false, "10080000 01000000 00000800"),
        dataspace: part(false, "0100000000000000"),
        data: vec![3],
    };
    let expected =
        "01 00 0200 0c00 0800 6100000000000000 1008000001000000 0000080000000000 0100000000000000 03";
    assert_eq!(encode::attribute::encode(&raw, 1).unwrap(), hex(expected));
    raw.dataspace = part(false, "02000000");
    let expected = "03 00 0200 0c00 0400 00 6100 100800000100000000000800 02000000 03";
    assert_eq!(encode::attribute::encode(&raw, 3).unwrap(), hex(expected));

    let committed = SharedAt::Object(Address(0x1234)).encode(EIGHT).unwrap();
    assert_eq!(committed, hex("02 02 3412000000000000"));
    let raw = RawAttribute {
        name: "named".to_owned(),
        datatype: AttributePart { shared: true, bytes: committed },
        dataspace: part(false, "0100000000000000"),
        data: hex("03000000"),
        ..raw
    };
    assert_eq!(encode::attribute::version(&raw, 1), 2);
    let expected = "02 01 0600 0a00 0800 6e616d656400 0202 3412000000000000 0100000000000000 03000000";
    assert_eq!(encode::attribute::encode(&raw, 2).unwrap(), hex(expected));
    assert_eq!(attribute::decode(&hex(expected)).unwrap(), raw);
}

#[test]
fn links_and_link_info() {
    let links = [
        ("b", LinkTarget::Hard(Token::from_u64(0x320)), 0, "01 04 0000000000000000 01 62 2003000000000000"),
        ("s", LinkTarget::Soft("/vl".to_owned()), 2, "01 0c 01 0200000000000000 01 73 0300 2f766c"),
        (
            "x",
            LinkTarget::External { file: "o.h5".to_owned(), path: "/q".to_owned() },
            3,
            "01 0c 40 0300000000000000 01 78 0900 00 6f2e683500 2f7100",
        ),
    ];
    for (name, target, order, expected) in links {
        let (name, charset) = (name.to_owned(), CharacterSet::Ascii);
        let link = Link { name, target, charset, creation_order: Some(order) };
        assert_eq!(encode::link::encode(&link, EIGHT).unwrap(), hex(expected));
        assert_eq!(link::decode(&hex(expected), EIGHT).unwrap(), link);
    }
    let info = LinkInfo {
        order_tracked: true,
        order_indexed: true,
        order_next: 4,
        heap: None,
        name_tree: None,
        order_tree: None,
    };
    let expected = format!("00 03 0400000000000000 {}", UNDEFINED.repeat(3));
    assert_eq!(encode::group::link_info(&info, EIGHT).unwrap(), hex(&expected));
}
