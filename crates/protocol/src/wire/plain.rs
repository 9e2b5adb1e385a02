//! Numbers, text, lists and optional values.

use std::borrow::Cow;
use std::sync::Arc;

use model::{Error, Result, Token};
use vol::Page;

use super::{Reader, Wire};

macro_rules! integers {
    ($($name:ty),+) => { $(
        impl Wire for $name {
            fn put(&self, out: &mut Vec<u8>) -> Result<()> {
                out.extend_from_slice(&self.to_le_bytes());
                Ok(())
            }

            fn get(from: &mut Reader<'_>) -> Result<Self> {
                Ok(<$name>::from_le_bytes(from.array()?))
            }
        }
    )+ };
}

integers!(u16, u32, u64, i32, i64);

impl Wire for u8 {
    fn put(&self, out: &mut Vec<u8>) -> Result<()> {
        out.push(*self);
        Ok(())
    }

    fn get(from: &mut Reader<'_>) -> Result<Self> {
        from.u8()
    }

    fn put_all(items: &[Self], out: &mut Vec<u8>) -> Result<()> {
        out.extend_from_slice(items);
        Ok(())
    }

    fn get_all(count: usize, from: &mut Reader<'_>) -> Result<Vec<Self>> {
        from.take(count).map(<[u8]>::to_vec)
    }
}

impl Wire for bool {
    fn put(&self, out: &mut Vec<u8>) -> Result<()> {
        u8::from(*self).put(out)
    }

    fn get(from: &mut Reader<'_>) -> Result<Self> {
        match from.u8()? {
            0 => Ok(false),
            1 => Ok(true),
            tag => Err(from.unknown("bool", tag)),
        }
    }
}

impl Wire for () {
    fn put(&self, _: &mut Vec<u8>) -> Result<()> {
        Ok(())
    }

    fn get(_: &mut Reader<'_>) -> Result<Self> {
        Ok(())
    }
}

impl Wire for Token {
    fn put(&self, out: &mut Vec<u8>) -> Result<()> {
        out.extend_from_slice(&self.0);
        Ok(())
    }

    fn get(from: &mut Reader<'_>) -> Result<Self> {
        from.array().map(Token)
    }
}

/// Appends the number of items of a list.
pub(super) fn put_count(count: usize, out: &mut Vec<u8>) -> Result<()> {
    let too_many = |_| Error::limit("encode message").with("items", count);
    u32::try_from(count).map_err(too_many)?.put(out)
}

/// Appends text, wherever it is.
pub(super) fn put_text(text: &str, out: &mut Vec<u8>) -> Result<()> {
    put_count(text.len(), out)?;
    out.extend_from_slice(text.as_bytes());
    Ok(())
}

/// Appends a list, wherever it is.
pub(super) fn put_list<T: Wire>(items: &[T], out: &mut Vec<u8>) -> Result<()> {
    put_count(items.len(), out)?;
    T::put_all(items, out)
}

impl Wire for String {
    fn put(&self, out: &mut Vec<u8>) -> Result<()> {
        put_text(self, out)
    }

    fn get(from: &mut Reader<'_>) -> Result<Self> {
        from.text().map(str::to_owned)
    }
}

impl Wire for Cow<'static, str> {
    fn put(&self, out: &mut Vec<u8>) -> Result<()> {
        put_text(self, out)
    }

    fn get(from: &mut Reader<'_>) -> Result<Self> {
        String::get(from).map(Cow::Owned)
    }
}

impl<T: Wire> Wire for Vec<T> {
    fn put(&self, out: &mut Vec<u8>) -> Result<()> {
        put_list(self, out)
    }

    fn get(from: &mut Reader<'_>) -> Result<Self> {
        let count = from.count(1)?;
        T::get_all(count, from)
    }
}

impl<T: Wire> Wire for Option<T> {
    fn put(&self, out: &mut Vec<u8>) -> Result<()> {
        self.is_some().put(out)?;
        self.iter().try_for_each(|value| value.put(out))
    }

    fn get(from: &mut Reader<'_>) -> Result<Self> {
        if bool::get(from)? { T::get(from).map(Some) } else { Ok(None) }
    }
}

impl<A: Wire, B: Wire> Wire for (A, B) {
    fn put(&self, out: &mut Vec<u8>) -> Result<()> {
        self.0.put(out)?;
        self.1.put(out)
    }

    fn get(from: &mut Reader<'_>) -> Result<Self> {
        Ok((A::get(from)?, B::get(from)?))
    }
}

impl<T: Wire> Wire for Arc<T> {
    fn put(&self, out: &mut Vec<u8>) -> Result<()> {
        T::put(self, out)
    }

    fn get(from: &mut Reader<'_>) -> Result<Self> {
        T::get(from).map(Arc::new)
    }
}

/// Boxes are where a value holds another of its kind.
impl<T: Wire> Wire for Box<T> {
    fn put(&self, out: &mut Vec<u8>) -> Result<()> {
        T::put(self, out)
    }

    fn get(from: &mut Reader<'_>) -> Result<Self> {
        from.nested(T::get).map(Box::new)
    }
}

impl<T: Wire> Wire for Page<T> {
    fn put(&self, out: &mut Vec<u8>) -> Result<()> {
        self.entries.put(out)?;
        self.more.put(out)
    }

    fn get(from: &mut Reader<'_>) -> Result<Self> {
        Ok(Page { entries: Vec::get(from)?, more: bool::get(from)? })
    }
}
