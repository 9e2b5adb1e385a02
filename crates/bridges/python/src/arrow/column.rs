//! Arrow columns of elements: the memory datatype that is read, and the type of the column.

use std::sync::Arc;

use arrow_schema::{DataType, Field, FieldRef, Fields};
use hyperslab::vol::model::datatype::{Array, ByteOrder, Compound, Enum, StringPad, VarLenKind};
use hyperslab::{Datatype, Error, Result};

/// Compounds and sequences in one another, at most.
const DEPTH_MAX: usize = 32;

/// Elements of one type: how they are read, and what becomes of them.
#[derive(Debug, Clone)]
pub(crate) struct Column {
    /// The datatype of elements in memory: numbers in native byte order, members one after another.
    pub(crate) memory: Datatype,
    pub(crate) kind: ColumnKind,
}

/// What elements become.
#[derive(Debug, Clone)]
pub(crate) enum ColumnKind {
    /// Numbers, as they are.
    Number(DataType),
    /// Booleans of one byte.
    Boolean,
    /// Integers with names: their values, as bytes, and their names.
    Named(Vec<(String, Vec<u8>)>),
    /// Strings of fixed size.
    Fixed(StringPad),
    /// Strings of variable length.
    Text,
    /// Bytes of which nothing is known.
    Opaque,
    /// Sequences of variable length.
    List(Box<Column>),
    /// Arrays of a fixed number of elements.
    Array(usize, Box<Column>),
    /// Members, with their names.
    Struct(Vec<(String, Column)>),
}

impl Column {
    /// Returns the column of elements of a datatype.
    ///
    /// # Errors
    /// Returns `Unsupported` if Arrow has no such type, and `Limit` if types are nested too deep.
    pub(crate) fn of(datatype: &Datatype) -> Result<Column> {
        Column::at_depth(datatype, DEPTH_MAX)
    }

    /// Returns the column of arrays of `dims` elements of this one.
    pub(crate) fn in_array(self, dims: &[u64]) -> Result<Column> {
        dims.iter().rev().try_fold(self, |inner, &len| {
            let too_long = || Error::limit("create Arrow array").with("elements", len);
            let count = i32::try_from(len).map_err(|_| too_long())?;
            let memory = Datatype::array(&[count as u32], inner.memory.clone());
            Ok(Column { memory, kind: ColumnKind::Array(count as usize, Box::new(inner)) })
        })
    }

    fn at_depth(datatype: &Datatype, depth: usize) -> Result<Column> {
        let depth =
            depth.checked_sub(1).ok_or_else(|| Error::limit("create Arrow type").with("depth", DEPTH_MAX))?;
        match datatype {
            Datatype::Integer(t) => integer(t.bits.size, t.signed),
            Datatype::Bitfield(t) => integer(t.size, false),
            Datatype::Float(t) => Ok(float(t.bits.size, t.is_ieee())),
            Datatype::Enum(t) => named(t),
            Datatype::String(t) => Ok(plain(datatype, ColumnKind::Fixed(t.padding))),
            Datatype::Opaque(_) => Ok(plain(datatype, ColumnKind::Opaque)),
            Datatype::VarLen(t) => match &t.kind {
                VarLenKind::String { .. } => Ok(plain(&datatype.memory_type(), ColumnKind::Text)),
                VarLenKind::Sequence(base) => Ok(list(Column::at_depth(base, depth)?)),
            },
            Datatype::Array(t) => array(t, depth),
            Datatype::Compound(t) => compound(t, depth),
            Datatype::Complex(t) => {
                let part = Column::at_depth(&t.base, depth)?;
                let memory = Datatype::Complex(hyperslab::vol::model::datatype::Complex {
                    base: Box::new(part.memory.clone()),
                });
                let parts = ["r", "i"].map(|name| (name.to_owned(), part.clone()));
                Ok(Column { memory, kind: ColumnKind::Struct(parts.to_vec()) })
            }
            Datatype::Time(_) | Datatype::Reference(_) => {
                Err(Error::unsupported("create Arrow type").with("class", datatype.class_name()))
            }
        }
    }

    /// Returns the type of the column. With `binary`, strings are bytes.
    pub(crate) fn data_type(&self, binary: bool) -> DataType {
        match &self.kind {
            ColumnKind::Number(data_type) => data_type.clone(),
            ColumnKind::Boolean => DataType::Boolean,
            ColumnKind::Named(_) => {
                DataType::Dictionary(Box::new(DataType::Int32), Box::new(DataType::LargeUtf8))
            }
            ColumnKind::Fixed(_) | ColumnKind::Text if binary => DataType::LargeBinary,
            ColumnKind::Fixed(_) | ColumnKind::Text => DataType::LargeUtf8,
            ColumnKind::Opaque => DataType::FixedSizeBinary(self.memory.size() as i32),
            ColumnKind::List(inner) => DataType::LargeList(inner.item(binary)),
            ColumnKind::Array(count, inner) => DataType::FixedSizeList(inner.item(binary), *count as i32),
            ColumnKind::Struct(members) => DataType::Struct(fields(members, binary)),
        }
    }

    /// Returns the field of elements of lists.
    pub(crate) fn item(&self, binary: bool) -> FieldRef {
        Arc::new(Field::new("item", self.data_type(binary), true))
    }
}

/// Returns the fields of members.
pub(crate) fn fields(members: &[(String, Column)], binary: bool) -> Fields {
    members.iter().map(|(name, column)| Field::new(name, column.data_type(binary), true)).collect()
}

fn plain(memory: &Datatype, kind: ColumnKind) -> Column {
    Column { memory: memory.clone(), kind }
}

fn native() -> ByteOrder {
    if cfg!(target_endian = "big") { ByteOrder::Big } else { ByteOrder::Little }
}

fn integer(size: u32, signed: bool) -> Result<Column> {
    let (size, kind) = match (size, signed) {
        (1, true) => (1, DataType::Int8),
        (1, false) => (1, DataType::UInt8),
        (2, true) => (2, DataType::Int16),
        (2, false) => (2, DataType::UInt16),
        (3..=4, true) => (4, DataType::Int32),
        (3..=4, false) => (4, DataType::UInt32),
        (5..=8, true) => (8, DataType::Int64),
        (5..=8, false) => (8, DataType::UInt64),
        _ => return Err(Error::unsupported("create Arrow type").with("bytes of an integer", size)),
    };
    Ok(Column { memory: Datatype::integer(size, signed, native()), kind: ColumnKind::Number(kind) })
}

/// Returns the column of a float: the narrowest that holds what is not IEEE is one of 8 bytes.
fn float(size: u32, is_ieee: bool) -> Column {
    let (memory, kind) = match size {
        2 if is_ieee => (Datatype::ieee_f16(native()), DataType::Float16),
        4 if is_ieee => (Datatype::ieee_f32(native()), DataType::Float32),
        _ => (Datatype::ieee_f64(native()), DataType::Float64),
    };
    Column { memory, kind: ColumnKind::Number(kind) }
}

fn named(datatype: &Enum) -> Result<Column> {
    let is_boolean = datatype.base.size() == 1 && {
        let mut names: Vec<_> =
            datatype.members.iter().map(|(name, value)| (name.as_str(), &value[..])).collect();
        names.sort_unstable();
        names == [("FALSE", &[0][..]), ("TRUE", &[1][..])]
    };
    let memory = Datatype::Enum(datatype.clone());
    if is_boolean {
        return Ok(Column { memory, kind: ColumnKind::Boolean });
    }
    Ok(Column { memory, kind: ColumnKind::Named(datatype.members.clone()) })
}

fn list(inner: Column) -> Column {
    let memory = Datatype::var_sequence(inner.memory.clone()).memory_type();
    Column { memory, kind: ColumnKind::List(Box::new(inner)) }
}

fn array(datatype: &Array, depth: usize) -> Result<Column> {
    let dims: Vec<u64> = datatype.dims.iter().map(|&len| u64::from(len)).collect();
    Column::at_depth(&datatype.base, depth)?.in_array(&dims)
}

fn compound(datatype: &Compound, depth: usize) -> Result<Column> {
    let members = datatype.members.iter().map(|member| {
        let column = Column::at_depth(&member.datatype, depth)?;
        Ok((member.name.clone(), column))
    });
    Ok(structure(members.collect::<Result<Vec<_>>>()?))
}

/// Returns the column of compounds of these members.
pub(crate) fn structure(members: Vec<(String, Column)>) -> Column {
    let packed = members.iter().map(|(name, column)| (name.clone(), column.memory.clone()));
    let memory = Datatype::Compound(Compound::packed(packed));
    Column { memory, kind: ColumnKind::Struct(members) }
}
