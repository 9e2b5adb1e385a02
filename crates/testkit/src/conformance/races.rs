//! Values that elements, attributes and maps stand for, while threads read, overwrite, delete and commit.
//!
//! Every value says whose it is and which write it came from, so that another's value, or half of one, cannot pass for it.

use std::thread::{self, ScopedJoinHandle};
use std::time::{Duration, Instant};

use algorithms::transfer::{from_file_type, to_file_type};
use model::convert::Conversions;
use model::datatype::{Compound, ReferenceKind};
use model::heap::Heap;
use model::properties::ObjectCreate;
use model::{CharacterSet, Dataspace, Datatype, Error, Reference, Result, Selection, Token};
use vol::{Capability, Container, Durability, LinkLocation, OpMapCreate, Pin};

use crate::kit::*;
use crate::{Case, Subject};

super::suite! { "races":
    |c| c.variable_length => sixteen_threads_never_see_a_value_that_is_not_theirs, overwritten_values_are_not_lost,
        values_read_before_an_overwrite_are_those_of_the_read;
}

const THREADS: u64 = 16;
const ELEMENTS: u64 = 24;
/// Rounds of each thread, unless `HYPERSLAB_RACE_SECONDS` says how long they go on.
const ROUNDS: u64 = 40;

fn text() -> Datatype {
    Datatype::var_string(CharacterSet::Utf8)
}

fn pair() -> Datatype {
    Datatype::Compound(Compound::packed([("n".to_owned(), int()), ("text".to_owned(), text())]))
}

/// Returns the text of one write.
fn text_of(owner: &str, n: u64) -> String {
    format!("{owner}|{n}|").repeat(1 + (n % 23) as usize)
}

/// Returns an error unless the text is whole and its owner's; the write that it came from.
#[track_caller]
fn check_text(owner: &str, text: &str) -> Result<u64> {
    let n = text.split('|').nth(1).and_then(|n| n.parse().ok());
    let n = some(n).map_err(|error| error.with("owner", owner).with("text", text))?;
    same(text, text_of(owner, n)).map(|()| n)
}

/// What holds values.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Holder {
    Texts,
    Sequences,
    Nested,
    Pairs,
    Regions(Token),
    Attribute,
    Map,
}

#[derive(Debug)]
struct Values {
    owner: String,
    holder: Holder,
    token: Token,
}

impl Values {
    fn memory(&self) -> Datatype {
        match self.holder {
            Holder::Sequences => Datatype::var_sequence(int()),
            Holder::Nested => Datatype::var_sequence(text()),
            Holder::Pairs => pair(),
            Holder::Regions(_) => Datatype::reference(ReferenceKind::DatasetRegion1),
            _ => text(),
        }
    }

    fn make(c: &Case<'_>, owner: &str, holder: Holder) -> Result<Self> {
        let owner = owner.to_owned();
        let mut values = Values { owner, holder, token: c.root()? };
        let (memory, place) = (values.memory(), LinkLocation::new(c.root()?, values.owner.clone()));
        let space = space(&[ELEMENTS]);
        values.token = match holder {
            Holder::Map => {
                let create = ObjectCreate::default();
                c.map_create(&OpMapCreate { place: Some(place), key: int(), value: memory, create })?
            }
            Holder::Attribute => {
                let object = c.group(c.root()?, &values.owner)?;
                c.attribute_create(&attribute_op(object, "a", memory, Dataspace::Scalar))?;
                object
            }
            Holder::Texts => c.dataset_create(&dataset_op(place, memory, space, chunked(&[7])))?,
            _ => c.dataset_create(&dataset_op(place, memory, space, Default::default()))?,
        };
        values.write(&**c, 0, false)?;
        Ok(values)
    }

    fn element(&self, n: u64, heap: &mut Heap) -> Result<Vec<u8>> {
        let text = text_of(&self.owner, n);
        let letters: Vec<i32> = text.chars().map(|letter| letter as i32).collect();
        match self.holder {
            Holder::Sequences => var_descriptors(&[(&to_bytes(&letters), letters.len() as u64)], heap),
            Holder::Nested => {
                let inner = texts_to_descriptors(&[&text, &text_of(&self.owner, n + 1)], heap)?;
                var_descriptors(&[(&inner, 2)], heap)
            }
            Holder::Pairs => {
                Ok([(n as i32).to_ne_bytes().to_vec(), texts_to_descriptors(&[&text], heap)?].concat())
            }
            Holder::Regions(target) => {
                reference_descriptors(&[Reference::region(target, block(&[n % 6, 0], &[1, 8])?)], heap)
            }
            _ => texts_to_descriptors(&[&text], heap),
        }
    }

    fn check_element(&self, element: &[u8], heap: &Heap) -> Result<()> {
        match self.holder {
            Holder::Sequences => {
                let letters = to_ints(&var_values(element, 4, heap)?.concat());
                let text: String = letters.iter().filter_map(|&n| char::from_u32(n as u32)).collect();
                check_text(&self.owner, &text).map(drop)
            }
            Holder::Nested => {
                let inner = descriptors_to_texts(&var_values(element, 16, heap)?.concat(), heap)?;
                let first = check_text(&self.owner, &inner[0])?;
                same(check_text(&self.owner, &inner[1])?, first + 1)
            }
            Holder::Pairs => {
                let text = descriptors_to_texts(&element[4..], heap)?.concat();
                same(to_ints(&element[..4])[0], check_text(&self.owner, &text)? as i32)
            }
            Holder::Regions(target) => {
                let found = descriptors_to_references(element, heap)?;
                let wanted = (0..6).map(|n| Ok(Reference::region(target, block(&[n, 0], &[1, 8])?)));
                let wanted = wanted.collect::<Result<Vec<_>>>()?;
                holds(wanted.contains(&found[0]), "a region that was written")
            }
            _ => check_text(&self.owner, &descriptors_to_texts(element, heap)?.concat()).map(drop),
        }
    }

    /// Returns one value in the file datatype, for an attribute or a map.
    fn stored(&self, c: &dyn Container, n: u64, file_type: &Datatype) -> Result<Vec<u8>> {
        let mut heap = Heap::new();
        let element = self.element(n, &mut heap)?;
        to_file_type(c, &self.memory(), &element, file_type, &Conversions::default(), &mut heap)
    }

    fn check_stored(&self, c: &dyn Container, file_type: &Datatype, raw: &[u8]) -> Result<()> {
        let (mut heap, memory) = (Heap::new(), self.memory());
        let element = from_file_type(c, file_type, raw, &memory, &Conversions::default(), &mut heap)?;
        self.check_element(&element, &heap)
    }

    fn check_stored_all(&self, c: &dyn Container, file_type: &Datatype, raw: &[u8]) -> Result<()> {
        let mut elements = raw.chunks_exact(file_type.size() as usize);
        elements.try_for_each(|element| self.check_stored(c, file_type, element))
    }

    /// Overwrites all values, or some of them.
    fn write(&self, c: &dyn Container, n: u64, in_part: bool) -> Result<()> {
        match self.holder {
            Holder::Attribute => {
                let info = some(c.attribute_info(self.token, "a")?)?;
                c.attribute_write(self.token, "a", &self.stored(c, n, &info.datatype)?)
            }
            Holder::Map => {
                let value = self.stored(c, n, &c.map_info(self.token)?.value)?;
                let key = ((n % 5) as i32).to_ne_bytes();
                c.map_put(self.token, &[(&key, &value)])
            }
            _ => {
                let (start, count) = if in_part { (n % 20, 4) } else { (0, ELEMENTS) };
                let (mut heap, mut elements) = (Heap::new(), Vec::new());
                for i in 0..count {
                    elements.extend(self.element(n + i, &mut heap)?);
                }
                let selection = block(&[start], &[count])?;
                write(c, self.token, &selection, &self.memory(), (&elements, &mut heap))
            }
        }
    }

    /// Reads all values, each of which must be whole and theirs.
    fn check(&self, c: &dyn Container) -> Result<()> {
        match self.holder {
            Holder::Attribute => {
                let info = some(c.attribute_info(self.token, "a")?)?;
                let _pin = Pin::new(c)?;
                let raw = c.attribute_read(self.token, &["a"])?.concat();
                self.check_stored(c, &info.datatype, &raw)
            }
            Holder::Map => {
                let info = c.map_info(self.token)?;
                let keys: Vec<[u8; 4]> = (0..5i32).map(i32::to_ne_bytes).collect();
                let _pin = Pin::new(c)?;
                let found = c.map_get(self.token, &keys.iter().map(|key| &key[..]).collect::<Vec<_>>())?;
                found.iter().flatten().try_for_each(|raw| self.check_stored(c, &info.value, raw))
            }
            _ => {
                let (mut heap, memory) = (Heap::new(), self.memory());
                let data = read(c, self.token, &Selection::All, &memory, &mut heap)?;
                let mut elements = data.chunks_exact(memory.size() as usize);
                elements.try_for_each(|element| self.check_element(element, &heap))
            }
        }
    }

    /// Removes something, and puts it back.
    fn delete(&self, c: &dyn Container, n: u64) -> Result<()> {
        match self.holder {
            Holder::Map => c.map_delete(self.token, &((n % 5) as i32).to_ne_bytes()).map(drop),
            Holder::Attribute => {
                let name = format!("other {}", n % 3);
                c.attribute_create(&attribute_op(self.token, &name, text(), Dataspace::Scalar))?;
                let info = some(c.attribute_info(self.token, &name)?)?;
                c.attribute_write(self.token, &name, &self.stored(c, n, &info.datatype)?)?;
                c.attribute_delete(self.token, &name)
            }
            _ => Ok(()),
        }
    }
}

/// A dataset that one thread makes, fills, reads and deletes.
fn come_and_go(c: &Case<'_>, name: &str) -> Result<()> {
    let values = Values::make(c, name, Holder::Texts)?;
    values.write(&**c, 7, true)?;
    values.check(&**c)?;
    c.link_delete(c.root()?, name)
}

fn all_values(c: &Case<'_>, capability: &Capability) -> Result<Vec<Values>> {
    let mut all = vec![
        Values::make(c, "first", Holder::Texts)?,
        Values::make(c, "second", Holder::Texts)?,
        Values::make(c, "sequences", Holder::Sequences)?,
        Values::make(c, "nested", Holder::Nested)?,
        Values::make(c, "pairs", Holder::Pairs)?,
    ];
    if capability.region_references {
        let target = c.ints(c.root()?, "target", &[6, 8])?;
        all.push(Values::make(c, "regions", Holder::Regions(target))?);
    }
    if capability.attributes {
        all.push(Values::make(c, "attribute", Holder::Attribute)?);
    }
    if capability.maps {
        all.push(Values::make(c, "map", Holder::Map)?);
    }
    Ok(all)
}

/// What one of the threads does in a round: eight read, five write, one makes and deletes, one deletes, one commits.
fn one_round(c: &Case<'_>, all: &[Values], thread: u64, round: u64) -> Result<()> {
    let at = (thread + round) as usize % all.len();
    let n = thread * 1_000_000 + round;
    match thread {
        0..8 => all[at].check(&**c),
        8..13 => all[at].write(&**c, n, round % 2 == 1),
        13 => come_and_go(c, &format!("short {round}")),
        14 => all.iter().try_for_each(|values| values.delete(&**c, n)),
        _ => c.commit(Durability::None),
    }
}

fn rounds(job: impl Fn(u64) -> Result<()>) -> Result<()> {
    let seconds = std::env::var("HYPERSLAB_RACE_SECONDS").ok().and_then(|text| text.parse().ok());
    match seconds.map(|seconds| Instant::now() + Duration::from_secs(seconds)) {
        None => (0..ROUNDS).try_for_each(job),
        Some(end) => (0..).take_while(|_| Instant::now() < end).try_for_each(job),
    }
}

fn sixteen_threads_never_see_a_value_that_is_not_theirs(s: &Subject) -> Result<()> {
    let mut c = s.fresh()?;
    let capability = c.info()?.capability;
    let all = all_values(&c, &capability)?;
    thread::scope(|scope| {
        let (c, all) = (&c, &all);
        let start = |thread| scope.spawn(move || rounds(|round| one_round(c, all, thread, round)));
        let threads: Vec<_> = (0..THREADS).map(start).collect();
        let mut ends = threads.into_iter().map(ScopedJoinHandle::join);
        ends.try_for_each(|end| end.map_err(|_| Error::invalid("thread panicked"))?)
    })?;
    all.iter().try_for_each(|values| values.check(&*c))?;
    c.reopen_read()?;
    for values in all {
        let token = vol::path::token(&*c.container, c.root()?, &values.owner, 16)?;
        let holder = match values.holder {
            Holder::Regions(_) => Holder::Regions(vol::path::token(&*c.container, c.root()?, "target", 16)?),
            holder => holder,
        };
        Values { token, holder, ..values }.check(&*c)?;
    }
    Ok(())
}

/// Two threads overwrite one dataset, and a third writes another, whose values must not be given up for old ones.
fn overwritten_values_are_not_lost(s: &Subject) -> Result<()> {
    let mut c = s.fresh()?;
    let both = [Values::make(&c, "first", Holder::Texts)?, Values::make(&c, "second", Holder::Texts)?];
    thread::scope(|scope| {
        let (c, both) = (&c, &both);
        let start = |thread: u64| {
            let values = &both[usize::from(thread == 2)];
            scope.spawn(move || rounds(|round| values.write(&**c, thread * 1000 + round, round % 3 == 2)))
        };
        let threads: Vec<_> = (0..3).map(start).collect();
        let mut ends = threads.into_iter().map(ScopedJoinHandle::join);
        ends.try_for_each(|end| end.map_err(|_| Error::invalid("thread panicked"))?)
    })?;
    c.reopen()?;
    for values in both {
        let token = vol::path::token(&*c.container, c.root()?, &values.owner, 16)?;
        let values = Values { token, ..values };
        values.check(&*c)?;
        // What was released and stored again is still no other caller's.
        values.write(&*c, 5, false)?;
        values.check(&*c)?;
    }
    Ok(())
}

/// A reader that has an element, and fetches its value after the element was overwritten and other values were stored.
fn values_read_before_an_overwrite_are_those_of_the_read(s: &Subject) -> Result<()> {
    let c = s.fresh()?;
    let (values, others) =
        (Values::make(&c, "first", Holder::Texts)?, Values::make(&c, "second", Holder::Texts)?);
    let info = c.dataset_info(values.token)?;
    let mut raw = vec![0; ELEMENTS as usize * info.datatype.size() as usize];
    let pin = Pin::new(&*c)?;
    c.dataset_read(&mut [vol::OpRead { dataset: values.token, selection: &Selection::All, into: &mut raw }])?;
    values.write(&*c, 100, false)?;
    c.commit(Durability::None)?;
    others.write(&*c, 200, false)?;
    values.check_stored_all(&*c, &info.datatype, &raw)?;
    drop(pin);
    values.write(&*c, 300, false)?;
    c.commit(Durability::None)?;
    values.check(&*c)?;
    others.check(&*c)
}
