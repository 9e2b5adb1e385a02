//! Values as bytes: the trait, and structures and choices by their fields.

use model::Result;

use super::Reader;

/// A value that has a form in bytes.
pub trait Wire: Sized {
    /// Appends the value.
    fn put(&self, out: &mut Vec<u8>) -> Result<()>;

    /// Takes the value from where the reader is.
    fn get(from: &mut Reader<'_>) -> Result<Self>;

    /// Appends many, without their number.
    fn put_all(items: &[Self], out: &mut Vec<u8>) -> Result<()> {
        items.iter().try_for_each(|item| item.put(out))
    }

    /// Takes `count` of them.
    fn get_all(count: usize, from: &mut Reader<'_>) -> Result<Vec<Self>> {
        // An item has at least one byte, but is larger in memory: space grows with the bytes that were really there.
        let capacity = count.min(from.remaining() / size_of::<Self>().max(1));
        let mut items = Vec::with_capacity(capacity);
        for _ in 0..count {
            items.push(Self::get(from)?);
        }
        Ok(items)
    }
}

/// A structure is its fields in order. Fields are named completely, so that a new one does not compile until it is here.
macro_rules! structure {
    ($($name:ident { $($field:ident),+ $(,)? })+) => { $(
        impl $crate::wire::Wire for $name {
            fn put(&self, out: &mut Vec<u8>) -> model::Result<()> {
                let $name { $($field),+ } = self;
                $( $crate::wire::Wire::put($field, out)?; )+
                Ok(())
            }

            fn get(from: &mut $crate::wire::Reader<'_>) -> model::Result<Self> {
                $( let $field = $crate::wire::Wire::get(from)?; )+
                Ok($name { $($field),+ })
            }
        }
    )+ };
}

/// A choice is a byte that says which, and the fields of that one.
macro_rules! choice {
    ($($name:ident { $($tag:literal = $variant:ident $(($($item:ident),+))? $({$($field:ident),+})?),+ $(,)? })+) => { $(
        impl $crate::wire::Wire for $name {
            fn put(&self, out: &mut Vec<u8>) -> model::Result<()> {
                match self {
                    $( $name::$variant $(($($item),+))? $({$($field),+})? => {
                        out.push($tag);
                        $($( $crate::wire::Wire::put($item, out)?; )+)?
                        $($( $crate::wire::Wire::put($field, out)?; )+)?
                    } )+
                }
                Ok(())
            }

            fn get(from: &mut $crate::wire::Reader<'_>) -> model::Result<Self> {
                Ok(match from.u8()? {
                    $( $tag => {
                        $($( let $item = $crate::wire::Wire::get(from)?; )+)?
                        $($( let $field = $crate::wire::Wire::get(from)?; )+)?
                        $name::$variant $(($($item),+))? $({$($field),+})?
                    } )+
                    tag => return Err(from.unknown(stringify!($name), tag)),
                })
            }
        }
    )+ };
}

pub(super) use {choice, structure};
