//! Maps.

use model::datatype::ReferenceKind;
use model::properties::ObjectCreate;
use model::{CharacterSet, Datatype, Kind, ObjectKind, Result, Token};
use vol::{LinkLocation, OpMapCreate};

use crate::kit::*;
use crate::{Case, Subject};

super::suite! { "maps":
    |c| c.maps => map_is_an_object_of_its_own_kind, set_values_are_got, missing_key_is_none, set_value_replaces,
        deleted_key_is_gone, map_counts_its_pairs, keys_are_listed_in_pages, map_survives_reopening,
        key_of_a_wrong_size_is_refused, value_of_a_wrong_size_is_refused, keys_of_text_have_any_length,
        keys_of_sequences_have_any_length,
        keys_with_references_are_refused, map_info_tells_its_types, map_under_a_used_name_is_refused,
        a_thousand_pairs_are_kept, keys_are_listed_after_a_key_that_is_gone, new_keys_are_listed_where_they_belong,
        a_key_that_comes_twice_has_its_last_value_and_leaves_nothing;
    |c| c.maps && c.attributes => map_has_attributes;
}

fn map(c: &Case<'_>) -> Result<Token> {
    made(c, int(), int())
}

fn made(c: &Case<'_>, key: Datatype, value: Datatype) -> Result<Token> {
    let place = Some(LinkLocation::new(c.root()?, "map"));
    c.map_create(&OpMapCreate { place, key, value, create: ObjectCreate::default() })
}

fn put(c: &Case<'_>, map: Token, key: i32, value: i32) -> Result<()> {
    c.map_put(map, &[(&key.to_ne_bytes(), &value.to_ne_bytes())])
}

fn get(c: &Case<'_>, map: Token, key: i32) -> Result<Option<i32>> {
    let value = c.map_get(map, &[&key.to_ne_bytes()])?.remove(0);
    Ok(value.map(|bytes| to_ints(&bytes)[0]))
}

fn map_is_an_object_of_its_own_kind(s: &Subject) -> Result<()> {
    let c = s.fresh()?;
    let map = map(&c)?;
    same(c.object_info(map)?.kind, ObjectKind::Map)?;
    same(vol::path::token(&*c.container, c.root()?, "map", 16)?, map)?;
    fails(c.map_info(c.root()?), Kind::Invalid)
}

fn set_values_are_got(s: &Subject) -> Result<()> {
    let c = s.fresh()?;
    let map = map(&c)?;
    let (k, v) = (to_bytes(&[1, 2, 3]), to_bytes(&[10, 20, 30]));
    c.map_put(map, &[(&k[..4], &v[..4]), (&k[4..8], &v[4..8]), (&k[8..], &v[8..])])?;
    let found = c.map_get(map, &[&k[8..], &k[..4], &k[8..]])?;
    same(found, [Some(to_bytes(&[30])), Some(to_bytes(&[10])), Some(to_bytes(&[30]))])
}

fn missing_key_is_none(s: &Subject) -> Result<()> {
    let c = s.fresh()?;
    let map = map(&c)?;
    same(get(&c, map, 1)?, None)
}

fn set_value_replaces(s: &Subject) -> Result<()> {
    let c = s.fresh()?;
    let map = map(&c)?;
    put(&c, map, 1, 5)?;
    put(&c, map, 1, 6)?;
    same((get(&c, map, 1)?, c.map_info(map)?.count), (Some(6), 1))
}

fn deleted_key_is_gone(s: &Subject) -> Result<()> {
    let c = s.fresh()?;
    let map = map(&c)?;
    put(&c, map, 1, 5)?;
    same(c.map_delete(map, &1i32.to_ne_bytes())?, true)?;
    same(c.map_delete(map, &1i32.to_ne_bytes())?, false)?;
    same(get(&c, map, 1)?, None)
}

fn map_counts_its_pairs(s: &Subject) -> Result<()> {
    let c = s.fresh()?;
    let map = map(&c)?;
    for n in 0..10 {
        same(c.map_info(map)?.count, n as u64)?;
        put(&c, map, n, n)?;
    }
    Ok(())
}

fn keys_are_listed_in_pages(s: &Subject) -> Result<()> {
    let c = s.fresh()?;
    let map = map(&c)?;
    for n in 0..7 {
        put(&c, map, n, n)?;
    }
    let mut keys: Vec<Vec<u8>> = Vec::new();
    for seen in [0, 3, 6] {
        let page = c.map_keys(map, keys.last().map(Vec::as_slice), 3)?;
        same(page.more, seen < 6)?;
        keys.extend(page.entries);
    }
    holds(keys.is_sorted(), "keys come in the order of their bytes")?;
    let last = keys.last().cloned();
    let mut keys: Vec<i32> = keys.iter().flat_map(|key| to_ints(key)).collect();
    keys.sort_unstable();
    same(keys, counting(7))?;
    let page = c.map_keys(map, last.as_deref(), 3)?;
    same((page.entries.len(), page.more), (0, false))?;
    let page = c.map_keys(map, None, 0)?;
    same((page.entries.len(), page.more), (0, true))
}

fn keys_are_listed_after_a_key_that_is_gone(s: &Subject) -> Result<()> {
    let c = s.fresh()?;
    let map = map(&c)?;
    for n in 0..50 {
        put(&c, map, n, n)?;
    }
    let (mut after, mut seen): (Option<Vec<u8>>, Vec<i32>) = (None, Vec::new());
    loop {
        let mut page = c.map_keys(map, after.as_deref(), 4)?;
        for key in &page.entries {
            seen.extend(to_ints(key));
            same(c.map_delete(map, key)?, true)?;
        }
        let more = page.more;
        after = page.entries.pop();
        if !more {
            break;
        }
    }
    seen.sort_unstable();
    same(seen, counting(50))?;
    same(c.map_info(map)?.count, 0)
}

fn new_keys_are_listed_where_they_belong(s: &Subject) -> Result<()> {
    let c = s.fresh()?;
    let map = made(&c, Datatype::var_string(CharacterSet::Utf8), int())?;
    let one = to_bytes(&[1]);
    for key in ["b", "d", "f"] {
        c.map_put(map, &[(key.as_bytes(), &one)])?;
    }
    same(c.map_keys(map, None, 2)?.entries, [b"b", b"d"])?;
    for key in ["a", "e", "da"] {
        c.map_put(map, &[(key.as_bytes(), &one)])?;
    }
    same(c.map_keys(map, Some(b"d"), 9)?.entries, [&b"da"[..], b"e", b"f"])
}

fn a_key_that_comes_twice_has_its_last_value_and_leaves_nothing(s: &Subject) -> Result<()> {
    let c = s.fresh()?;
    let map = map(&c)?;
    let (k, v) = (to_bytes(&[1, 2]), to_bytes(&[10, 20, 30]));
    c.map_put(map, &[(&k[..4], &v[..4]), (&k[4..], &v[4..8]), (&k[..4], &v[8..])])?;
    same((get(&c, map, 1)?, get(&c, map, 2)?, c.map_info(map)?.count), (Some(30), Some(20), 2))?;
    let place = Some(LinkLocation::new(c.root()?, "texts"));
    let text = Datatype::var_string(CharacterSet::Utf8);
    let texts =
        c.map_create(&OpMapCreate { place, key: int(), value: text, create: ObjectCreate::default() })?;
    let value = c.map_info(texts)?.value;
    let stored = |text: &[u8]| {
        let (memory, mut heap) = (value.memory_type(), model::Heap::new());
        let mut descriptor = [0; 16];
        heap.push(text, text.len() as u64).store(&mut descriptor)?;
        algorithms::transfer::to_file_type(
            &*c.container,
            &memory,
            &descriptor,
            &value,
            &Default::default(),
            &mut heap,
        )
    };
    let (first, last) = (stored(b"the first value of the key")?, stored(b"the last value of the key")?);
    c.map_put(texts, &[(&k[..4], &first), (&k[..4], &last)])?;
    same(c.map_get(texts, &[&k[..4]])?, [Some(last)])?;
    c.commit(vol::Durability::Full)?;
    match c.storage_check() {
        Ok(findings) => same(findings, Vec::new()),
        Err(error) => same(error.kind(), Kind::Unsupported),
    }
}

fn map_survives_reopening(s: &Subject) -> Result<()> {
    let mut c = s.fresh()?;
    let made = map(&c)?;
    put(&c, made, 7, 8)?;
    c.reopen()?;
    let map = vol::path::token(&*c.container, c.root()?, "map", 16)?;
    same(get(&c, map, 7)?, Some(8))
}

fn key_of_a_wrong_size_is_refused(s: &Subject) -> Result<()> {
    let c = s.fresh()?;
    let map = map(&c)?;
    fails(c.map_put(map, &[(&[1, 2, 3], &[0; 4])]), Kind::Invalid)?;
    fails(c.map_get(map, &[&[1, 2, 3, 4, 5]]), Kind::Invalid)?;
    fails(c.map_delete(map, &[]), Kind::Invalid)
}

fn value_of_a_wrong_size_is_refused(s: &Subject) -> Result<()> {
    let c = s.fresh()?;
    let map = map(&c)?;
    fails(c.map_put(map, &[(&[1; 4], &[0; 4]), (&[2; 4], &[0; 3])]), Kind::Invalid)?;
    same(c.map_info(map)?.count, 0)
}

fn keys_of_text_have_any_length(s: &Subject) -> Result<()> {
    let c = s.fresh()?;
    let map = made(&c, Datatype::var_string(CharacterSet::Utf8), int())?;
    let one = to_bytes(&[1]);
    let long = "k".repeat(500);
    for key in ["a", "alpha", "", &long] {
        c.map_put(map, &[(key.as_bytes(), &one)])?;
        same(c.map_get(map, &[key.as_bytes()])?, [Some(one.clone())])?;
    }
    same(c.map_info(map)?.count, 4)
}

fn keys_of_sequences_have_any_length(s: &Subject) -> Result<()> {
    let c = s.fresh()?;
    let map = made(&c, Datatype::var_sequence(int()), int())?;
    let keys = [&[7][..], &[7, 8], &[], &[0; 100]].map(to_bytes);
    for (key, value) in keys.iter().zip(0..) {
        c.map_put(map, &[(key, &to_bytes(&[value]))])?;
    }
    let asked: Vec<&[u8]> = keys.iter().map(Vec::as_slice).collect();
    same(c.map_get(map, &asked)?, (0..4).map(|value| Some(to_bytes(&[value]))).collect::<Vec<_>>())?;
    let mut sorted = keys.to_vec();
    sorted.sort_unstable();
    same(c.map_keys(map, None, 10)?.entries, sorted)?;
    same(c.map_delete(map, &keys[1])?, true)?;
    same((c.map_info(map)?.count, c.map_get(map, &[&keys[1]])?), (3, vec![None]))
}

fn keys_with_references_are_refused(s: &Subject) -> Result<()> {
    let c = s.fresh()?;
    fails(made(&c, Datatype::reference(ReferenceKind::Object), int()), Kind::Invalid)?;
    let nested = Datatype::var_sequence(Datatype::var_string(CharacterSet::Utf8));
    fails(made(&c, nested, int()), Kind::Invalid)
}

fn map_info_tells_its_types(s: &Subject) -> Result<()> {
    let c = s.fresh()?;
    let map = made(&c, Datatype::native_uint(2), Datatype::ieee_f64(model::ByteOrder::Big))?;
    let info = c.map_info(map)?;
    same((info.key, info.value), (Datatype::native_uint(2), Datatype::ieee_f64(model::ByteOrder::Big)))
}

fn map_under_a_used_name_is_refused(s: &Subject) -> Result<()> {
    let c = s.fresh()?;
    map(&c)?;
    fails(map(&c), Kind::Exists)
}

fn a_thousand_pairs_are_kept(s: &Subject) -> Result<()> {
    let mut c = s.fresh()?;
    let made = map(&c)?;
    for n in 0..1000 {
        put(&c, made, n, -n)?;
    }
    c.reopen()?;
    let map = vol::path::token(&*c.container, c.root()?, "map", 16)?;
    same(c.map_info(map)?.count, 1000)?;
    same(get(&c, map, 999)?, Some(-999))
}

fn map_has_attributes(s: &Subject) -> Result<()> {
    let c = s.fresh()?;
    let map = map(&c)?;
    c.attribute(map, "a", 4)?;
    same(c.attribute_value(map, "a")?, [4])
}
