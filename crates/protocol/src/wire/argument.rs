//! Each type that operations have as an argument: how it goes, and what holds it over there.

use model::datatype::ReferenceKind;
use model::{Reference, Result, Token};
use vol::{Blobs, Durability, OpRead, OpWrite};

use super::answer::{get_blobs, put_blobs};
use super::plain::{put_count, put_list, put_text};
use super::{Answer, Incoming, Outgoing, Received, Wire};

/// The type of an argument of some operation.
pub(crate) trait Argument {
    /// The type that holds the argument on the other side while the operation runs.
    type Held<'a>: Lend;

    /// Puts it into a request.
    fn put<'a>(&'a mut self, out: &mut Outgoing<'a>) -> Result<()>;

    /// Takes it from a request.
    fn hold<'a>(from: &mut Incoming<'a>) -> Result<Self::Held<'a>>;

    /// Takes what the operation put into it from the answer.
    fn receive(&mut self, answer: &mut Received<'_>) -> Result<()> {
        let _ = answer;
        Ok(())
    }
}

/// A value that holds an argument and lends it to the operation.
pub(crate) trait Lend {
    /// As the operation takes it.
    type As<'b>
    where
        Self: 'b;

    /// Returns the argument.
    fn lend(&mut self) -> Self::As<'_>;

    /// Puts what the operation left in it into the answer.
    fn answer(self, answer: &mut Answer) -> Result<()>
    where
        Self: Sized,
    {
        let _ = answer;
        Ok(())
    }
}

/// Values that operations take as they are.
macro_rules! by_value {
    ($($name:ty),+ $(,)?) => { $(
        impl Argument for $name {
            type Held<'a> = $name;

            fn put<'a>(&'a mut self, out: &mut Outgoing<'a>) -> Result<()> {
                Wire::put(self, &mut out.bytes)
            }

            fn hold<'a>(from: &mut Incoming<'a>) -> Result<$name> {
                Wire::get(&mut from.reader)
            }
        }

        impl Lend for $name {
            type As<'b> = $name;

            fn lend(&mut self) -> $name {
                *self
            }
        }
    )+ };
}

by_value!(u32, i32, u64, Token, Durability, ReferenceKind);

/// A value that operations take by reference.
#[derive(Debug)]
pub(crate) struct ByReference<T>(T);

impl<T> Lend for ByReference<T> {
    type As<'b>
        = &'b T
    where
        Self: 'b;

    fn lend(&mut self) -> &T {
        &self.0
    }
}

impl<T: Wire> Argument for &T {
    type Held<'a> = ByReference<T>;

    fn put<'a>(&'a mut self, out: &mut Outgoing<'a>) -> Result<()> {
        T::put(self, &mut out.bytes)
    }

    fn hold<'a>(from: &mut Incoming<'a>) -> Result<ByReference<T>> {
        T::get(&mut from.reader).map(ByReference)
    }
}

impl<T> Lend for Vec<T> {
    type As<'b>
        = &'b [T]
    where
        Self: 'b;

    fn lend(&mut self) -> &[T] {
        self
    }
}

/// Lists whose items are values.
macro_rules! lists {
    ($($name:ty),+) => { $(
        impl Argument for &[$name] {
            type Held<'a> = Vec<$name>;

            fn put<'a>(&'a mut self, out: &mut Outgoing<'a>) -> Result<()> {
                put_list(self, &mut out.bytes)
            }

            fn hold<'a>(from: &mut Incoming<'a>) -> Result<Vec<$name>> {
                Wire::get(&mut from.reader)
            }
        }
    )+ };
}

lists!(u64, Token, Reference);

/// Text and byte strings stay where they are.
macro_rules! borrowed {
    ($($held:ty),+ $(,)?) => { $(
        impl<'x> Lend for $held {
            type As<'b> = $held where Self: 'b;

            fn lend(&mut self) -> $held {
                *self
            }
        }
    )+ };
}

borrowed!(&'x str, Option<&'x str>, &'x [u8], Option<&'x [u8]>);

impl Argument for &str {
    type Held<'a> = &'a str;

    fn put<'a>(&'a mut self, out: &mut Outgoing<'a>) -> Result<()> {
        put_text(self, &mut out.bytes)
    }

    fn hold<'a>(from: &mut Incoming<'a>) -> Result<&'a str> {
        from.reader.text()
    }
}

impl Argument for Option<&str> {
    type Held<'a> = Option<&'a str>;

    fn put<'a>(&'a mut self, out: &mut Outgoing<'a>) -> Result<()> {
        self.is_some().put(&mut out.bytes)?;
        self.iter().try_for_each(|text| put_text(text, &mut out.bytes))
    }

    fn hold<'a>(from: &mut Incoming<'a>) -> Result<Option<&'a str>> {
        if bool::get(&mut from.reader)? { from.reader.text().map(Some) } else { Ok(None) }
    }
}

impl Argument for &[&str] {
    type Held<'a> = Vec<&'a str>;

    fn put<'a>(&'a mut self, out: &mut Outgoing<'a>) -> Result<()> {
        put_count(self.len(), &mut out.bytes)?;
        self.iter().try_for_each(|text| put_text(text, &mut out.bytes))
    }

    fn hold<'a>(from: &mut Incoming<'a>) -> Result<Vec<&'a str>> {
        let count = from.reader.count(4)?;
        (0..count).map(|_| from.reader.text()).collect()
    }
}

impl Argument for &[u8] {
    type Held<'a> = &'a [u8];

    fn put<'a>(&'a mut self, out: &mut Outgoing<'a>) -> Result<()> {
        out.bulk.push(self);
        Ok(())
    }

    fn hold<'a>(from: &mut Incoming<'a>) -> Result<&'a [u8]> {
        from.bulk()
    }
}

impl Argument for Option<&[u8]> {
    type Held<'a> = Option<&'a [u8]>;

    fn put<'a>(&'a mut self, out: &mut Outgoing<'a>) -> Result<()> {
        self.is_some().put(&mut out.bytes)?;
        out.bulk.extend(*self);
        Ok(())
    }

    fn hold<'a>(from: &mut Incoming<'a>) -> Result<Option<&'a [u8]>> {
        if bool::get(&mut from.reader)? { from.bulk().map(Some) } else { Ok(None) }
    }
}

impl Argument for &[&[u8]] {
    type Held<'a> = Vec<&'a [u8]>;

    fn put<'a>(&'a mut self, out: &mut Outgoing<'a>) -> Result<()> {
        put_count(self.len(), &mut out.bytes)?;
        out.bulk.extend_from_slice(self);
        Ok(())
    }

    fn hold<'a>(from: &mut Incoming<'a>) -> Result<Vec<&'a [u8]>> {
        let count = u32::get(&mut from.reader)? as usize;
        from.bulks(count)
    }
}

/// First all keys, then all values.
impl Argument for &[(&[u8], &[u8])] {
    type Held<'a> = Vec<(&'a [u8], &'a [u8])>;

    fn put<'a>(&'a mut self, out: &mut Outgoing<'a>) -> Result<()> {
        put_count(self.len(), &mut out.bytes)?;
        out.bulk.extend(self.iter().map(|(key, _)| *key));
        out.bulk.extend(self.iter().map(|(_, value)| *value));
        Ok(())
    }

    fn hold<'a>(from: &mut Incoming<'a>) -> Result<Vec<(&'a [u8], &'a [u8])>> {
        let count = u32::get(&mut from.reader)? as usize;
        let (keys, values) = (from.bulks(count)?, from.bulks(count)?);
        Ok(keys.into_iter().zip(values).collect())
    }
}

impl Argument for &[OpWrite<'_>] {
    type Held<'a> = Vec<OpWrite<'a>>;

    fn put<'a>(&'a mut self, out: &mut Outgoing<'a>) -> Result<()> {
        put_count(self.len(), &mut out.bytes)?;
        for write in *self {
            write.dataset.put(&mut out.bytes)?;
            write.selection.put(&mut out.bytes)?;
            out.bulk.push(write.from);
        }
        Ok(())
    }

    fn hold<'a>(from: &mut Incoming<'a>) -> Result<Vec<OpWrite<'a>>> {
        let transfers = from.transfers()?;
        let write = |(dataset, selection)| Ok(OpWrite { dataset, selection, from: from.bulk()? });
        transfers.map(write).collect()
    }
}

/// Reads, with the space that the caller gave.
#[derive(Debug)]
pub(crate) struct Reads<'a>(Vec<OpRead<'a>>);

impl<'a> Lend for Reads<'a> {
    type As<'b>
        = &'b mut [OpRead<'a>]
    where
        Self: 'b;

    fn lend(&mut self) -> &mut [OpRead<'a>] {
        &mut self.0
    }
}

impl Argument for &mut [OpRead<'_>] {
    type Held<'a> = Reads<'a>;

    fn put<'a>(&'a mut self, out: &mut Outgoing<'a>) -> Result<()> {
        put_count(self.len(), &mut out.bytes)?;
        for read in self.iter_mut() {
            read.dataset.put(&mut out.bytes)?;
            read.selection.put(&mut out.bytes)?;
            out.into.push(read.into);
        }
        Ok(())
    }

    fn hold<'a>(from: &mut Incoming<'a>) -> Result<Reads<'a>> {
        let transfers = from.transfers()?;
        let read = |(dataset, selection)| Ok(OpRead { dataset, selection, into: from.into()? });
        transfers.map(read).collect::<Result<_>>().map(Reads)
    }
}

impl Lend for Blobs {
    type As<'b> = &'b mut Blobs;

    fn lend(&mut self) -> &mut Blobs {
        self
    }

    fn answer(self, answer: &mut Answer) -> Result<()> {
        put_blobs(self, answer)
    }
}

impl Argument for &mut Blobs {
    type Held<'a> = Blobs;

    fn put<'a>(&'a mut self, _: &mut Outgoing<'a>) -> Result<()> {
        Ok(())
    }

    fn hold<'a>(from: &mut Incoming<'a>) -> Result<Blobs> {
        Ok(Blobs::new(&from.budget()))
    }

    fn receive(&mut self, answer: &mut Received<'_>) -> Result<()> {
        get_blobs(answer, self)
    }
}
