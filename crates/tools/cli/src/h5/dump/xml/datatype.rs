//! Datatypes and dataspaces in XML.

use hyperslab::vol::model::ByteOrder;
use hyperslab::vol::model::datatype::{CharacterSet, Enum, Float, StringPad, VarLenKind};
use hyperslab::vol::model::text::to_bytes;
use hyperslab::{Dataspace, Datatype, Result, Token};

use super::super::Dumper;
use super::super::datatype::{enum_value, padding_name};
use super::super::tables::{Entry, shown};
use super::{escape_name, quoted};

impl Dumper<'_> {
    /// Prints the datatype of a dataset or attribute, one level in.
    pub(super) fn xml_datatype(&mut self, datatype: &Datatype, committed: Option<Token>) -> Result<()> {
        let level = self.indent + 1;
        let Some(token) = committed else {
            self.xml_tag(level, "DataType", b">")?;
            self.xml_type(level + 1, datatype)?;
            return self.xml_end(level, "DataType");
        };
        let tables = self.file().tables.clone();
        let Some(entry) = tables.types.get(token) else {
            return self.xml_line(level, b"<!-- h5dump error: unknown committed type. -->");
        };
        let id = quoted(" OBJ-XID", self.xml_id(Some(entry.at)));
        let rest = match entry.is_named() {
            true => [&id[..], b" ", &quoted("H5Path", escape_name(&to_bytes(&shown(&entry.path)))), b" />"]
                .concat(),
            false => [&id[..], b"/>"].concat(),
        };
        self.xml_tag(level, "NamedDataTypePtr", &rest)
    }

    /// Prints a committed datatype.
    pub(super) fn xml_named_type(&mut self, token: Token, name: &str) -> Result<()> {
        let container = self.container();
        let (datatype, info) = (container.datatype_get(token)?, container.object_info(token)?);
        let level = self.indent;
        let path = self.xml_path(name);
        let unnamed = name.starts_with('#');
        let is_named = self.file().tables.types.get(token).is_some_and(Entry::is_named);
        let id = self.xml_id(is_named.then_some(token));
        let name = quoted("Name", escape_name(&to_bytes(name)));
        let mut attributes = vec![name, quoted("OBJ-XID", id.clone())];
        if !unnamed {
            attributes.push(quoted("H5Path", escape_name(&to_bytes(&shown(&path)))));
        }
        attributes.extend(self.xml_parents());
        self.xml_element(level, "NamedDataType", &attributes, b">")?;
        let before = match unnamed {
            true => None,
            false => self.shown_before(token, info.references, hyperslab::ObjectKind::Datatype),
        };
        if let Some(before) = before {
            let pointer = [quoted("OBJ-XID", id), quoted("H5Path", escape_name(&to_bytes(&before)))];
            self.xml_element(level + 1, "NamedDatatypePtr", &pointer, b"/>")?;
        } else {
            self.xml_tag(level + 1, "DataType", b">")?;
            self.xml_type(level + 2, &datatype)?;
            self.xml_end(level + 1, "DataType")?;
        }
        self.xml_end(level, "NamedDataType")
    }

    fn xml_type(&mut self, level: usize, datatype: &Datatype) -> Result<()> {
        match datatype {
            Datatype::Compound(t) => {
                self.xml_tag(level, "CompoundType", b">")?;
                for member in &t.members {
                    let name = quoted(" FieldName", escape_name(&to_bytes(&member.name)));
                    self.xml_tag(level + 1, "Field", &[&name[..], b">"].concat())?;
                    self.xml_inner_type(level + 2, &member.datatype)?;
                    self.xml_end(level + 1, "Field")?;
                }
                self.xml_end(level, "CompoundType")
            }
            Datatype::Array(t) => {
                self.xml_tag(level, "ArrayType", format!(" Ndims=\"{}\">", t.dims.len()).as_bytes())?;
                for dim in &t.dims {
                    self.xml_tag(level + 1, "ArrayDimension", format!(" DimSize=\"{dim}\"/>").as_bytes())?;
                }
                self.xml_inner_type(level + 1, &t.base)?;
                self.xml_end(level, "ArrayType")
            }
            Datatype::VarLen(hyperslab::vol::model::datatype::VarLen {
                kind: VarLenKind::Sequence(base),
                ..
            }) => {
                self.xml_tag(level, "VLType", b">")?;
                self.xml_inner_type(level + 1, base)?;
                self.xml_end(level, "VLType")
            }
            atomic => {
                self.xml_tag(level, "AtomicType", b">")?;
                self.xml_atomic(level + 1, atomic)?;
                self.xml_end(level, "AtomicType")
            }
        }
    }

    fn xml_inner_type(&mut self, level: usize, datatype: &Datatype) -> Result<()> {
        self.xml_tag(level, "DataType", b">")?;
        self.xml_type(level + 1, datatype)?;
        self.xml_end(level, "DataType")
    }

    fn xml_atomic(&mut self, level: usize, datatype: &Datatype) -> Result<()> {
        match datatype {
            Datatype::Integer(t) => {
                let text = format!(
                    " ByteOrder=\"{}\" Sign=\"{}\" Size=\"{}\" />",
                    order_name(t.bits.order),
                    t.signed,
                    t.bits.size
                );
                self.xml_tag(level, "IntegerType", text.as_bytes())
            }
            Datatype::Float(t) => self.xml_tag(level, "FloatType", float_text(t).as_bytes()),
            Datatype::Time(_) => self.xml_tag(level, "TimeType", b" />"),
            Datatype::String(t) => self.xml_string(level, &t.size.to_string(), t.padding, t.charset),
            Datatype::Bitfield(t) => {
                let text = format!(" ByteOrder=\"{}\" Size=\"{}\"/>", order_name(t.order), t.size);
                self.xml_tag(level, "BitfieldType", text.as_bytes())
            }
            Datatype::Opaque(t) => {
                let size = format!(" Size=\"{}\"/>", t.size);
                self.xml_tag(
                    level,
                    "OpaqueType",
                    &[&quoted(" Tag", to_bytes(&t.tag))[..], size.as_bytes()].concat(),
                )
            }
            Datatype::Reference(_) => {
                self.xml_tag(level, "ReferenceType", b">")?;
                self.xml_tag(level + 1, "ObjectReferenceType", b" />")?;
                self.xml_end(level, "ReferenceType")
            }
            Datatype::Enum(t) => self.xml_enum(level, t),
            Datatype::VarLen(t) => match &t.kind {
                VarLenKind::String { padding, charset } => {
                    self.xml_string(level, "H5T_VARIABLE", *padding, *charset)
                }
                VarLenKind::Sequence(_) => Ok(()),
            },
            Datatype::Compound(_) | Datatype::Array(_) | Datatype::Complex(_) => {
                self.xml_line(level, b"<!-- unknown datatype -->")
            }
        }
    }

    fn xml_string(
        &mut self,
        level: usize,
        size: &str,
        padding: StringPad,
        charset: CharacterSet,
    ) -> Result<()> {
        let charset = if charset == CharacterSet::Ascii { "H5T_CSET_ASCII" } else { "unknown_cset" };
        let padding = padding_name(padding);
        let text = format!(" Cset=\"{charset}\" StrSize=\"{size}\" StrPad=\"{padding}\"/>");
        self.xml_tag(level, "StringType", text.as_bytes())
    }

    fn xml_enum(&mut self, level: usize, t: &Enum) -> Result<()> {
        self.xml_tag(level, "EnumType", format!(" Nelems=\"{}\">", t.members.len()).as_bytes())?;
        self.xml_tag(level, "DataType", b">")?;
        self.xml_type(level, &t.base)?;
        self.xml_end(level, "DataType")?;
        for (name, value) in &t.members {
            self.xml_tag(level + 1, "EnumElement", b">")?;
            self.xml_line(level + 2, &escape_name(&to_bytes(name)))?;
            self.xml_end(level + 1, "EnumElement")?;
            self.xml_tag(level + 1, "EnumValue", b">")?;
            self.xml_line(level + 2, enum_value(t, value).as_bytes())?;
            self.xml_end(level + 1, "EnumValue")?;
        }
        self.xml_end(level, "EnumType")
    }

    /// Prints the dataspace of a dataset or attribute, one level in.
    pub(super) fn xml_dataspace(&mut self, space: &Dataspace) -> Result<()> {
        let level = self.indent + 1;
        self.xml_tag(level, "Dataspace", b">")?;
        match space {
            Dataspace::Scalar => self.xml_tag(level + 1, "ScalarDataspace", b" />")?,
            Dataspace::Null => self.xml_line(level + 1, b"<!-- unknown dataspace -->")?,
            Dataspace::Simple(_) => {
                self.xml_tag(
                    level + 1,
                    "SimpleDataspace",
                    format!(" Ndims=\"{}\">", space.rank()).as_bytes(),
                )?;
                for (&dim, &max) in space.dims().iter().zip(space.max_dims()) {
                    let max = match max {
                        hyperslab::vol::model::UNLIMITED => "UNLIMITED".to_owned(),
                        0 => dim.to_string(),
                        max => max.to_string(),
                    };
                    let text = format!("  DimSize=\"{dim}\" MaxDimSize=\"{max}\"/>");
                    self.xml_tag(level + 2, "Dimension", text.as_bytes())?;
                }
                self.xml_end(level + 1, "SimpleDataspace")?;
            }
        }
        self.xml_end(level, "Dataspace")
    }
}

fn order_name(order: ByteOrder) -> &'static str {
    match order {
        ByteOrder::Little => "LE",
        ByteOrder::Big => "BE",
        ByteOrder::Vax => "VAX",
    }
}

fn float_text(t: &Float) -> String {
    format!(
        " ByteOrder=\"{}\" Size=\"{}\" SignBitLocation=\"{}\" ExponentBits=\"{}\" ExponentLocation=\"{}\" \
         MantissaBits=\"{}\" MantissaLocation=\"{}\" />",
        order_name(t.bits.order),
        t.bits.size,
        t.sign_position,
        t.exponent_bits,
        t.exponent_position,
        t.mantissa_bits,
        t.mantissa_position
    )
}
