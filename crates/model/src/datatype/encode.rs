//! Datatype messages: values to bytes (format spec IV.A.2.d).

use super::*;
use crate::bytes::{Put, uint_width};
use crate::{Limits, text};

/// Bytes of a number's message, or a few more.
const NUMBER_BYTES: usize = 24;

impl Datatype {
    /// Returns the lowest message version that can hold this type.
    pub fn version_required(&self) -> u8 {
        let own = match self {
            Datatype::Array(_) => 2,
            Datatype::Float(f) if f.bits.order == ByteOrder::Vax => 3,
            Datatype::Reference(r)
                if !matches!(r.kind, ReferenceKind::Object1 | ReferenceKind::DatasetRegion1) =>
            {
                4
            }
            Datatype::Complex(_) => 5,
            _ => 1,
        };
        self.children().into_iter().map(Datatype::version_required).fold(own, u8::max)
    }

    /// Returns the message body. Compounds, enums and arrays use version `floor` or what their content needs;
    /// the others stay at the lowest version that holds them, as libhdf5 writes them.
    pub fn encode(&self, floor: u8) -> Result<Vec<u8>> {
        self.validate(&Limits::default())?;
        let mut out = Vec::with_capacity(NUMBER_BYTES);
        put(&mut out, self, floor)?;
        Ok(out)
    }
}

fn head(out: &mut Vec<u8>, version: u8, t: &Datatype, flags: u32) {
    out.push(version << 4 | t.class());
    out.put_uint(u64::from(flags), 3);
    out.put_uint(u64::from(t.size()), 4);
}

fn put(out: &mut Vec<u8>, t: &Datatype, floor: u8) -> Result<()> {
    let needed = t.version_required();
    let version = floor.max(needed);
    match t {
        Datatype::Integer(i) => {
            head(out, 1, t, bits_flags(&i.bits) | u32::from(i.signed) << 3);
            put_bits(out, &i.bits);
        }
        Datatype::Float(f) => put_float(out, t, f, needed),
        Datatype::Time(x) => {
            head(out, 1, t, order_flag(x.order));
            out.put_uint(u64::from(x.precision), 2);
        }
        Datatype::String(s) => head(out, 1, t, padding_code(s.padding) | charset_code(s.charset) << 4),
        Datatype::Bitfield(b) => {
            head(out, 1, t, bits_flags(b));
            put_bits(out, b);
        }
        Datatype::Opaque(o) => put_opaque(out, t, o)?,
        Datatype::Compound(x) => put_compound(out, t, x, version)?,
        Datatype::Reference(r) => put_reference(out, t, r),
        Datatype::Enum(e) => put_enum(out, t, e, version)?,
        Datatype::VarLen(v) => put_varlen(out, t, v, floor)?,
        Datatype::Array(a) => put_array(out, t, a, version)?,
        Datatype::Complex(x) => {
            head(out, 5, t, 1);
            put(out, &x.base, floor)?;
        }
    }
    Ok(())
}

fn order_flag(order: ByteOrder) -> u32 {
    match order {
        ByteOrder::Little => 0,
        ByteOrder::Big => 1,
        ByteOrder::Vax => 0x41,
    }
}

fn bits_flags(b: &Bits) -> u32 {
    order_flag(b.order) | (b.low_pad as u32) << 1 | (b.high_pad as u32) << 2
}

fn put_bits(out: &mut Vec<u8>, b: &Bits) {
    out.put_uint(u64::from(b.offset), 2);
    out.put_uint(u64::from(b.precision), 2);
}

fn put_float(out: &mut Vec<u8>, t: &Datatype, f: &Float, version: u8) {
    let flags = bits_flags(&f.bits)
        | (f.internal_pad as u32) << 3
        | (f.normalization as u32) << 4
        | u32::from(f.sign_position) << 8;
    head(out, version, t, flags);
    put_bits(out, &f.bits);
    out.extend([f.exponent_position, f.exponent_bits, f.mantissa_position, f.mantissa_bits]);
    out.put_uint(u64::from(f.exponent_bias), 4);
}

fn padding_code(p: StringPad) -> u32 {
    p as u32
}

fn charset_code(c: CharacterSet) -> u32 {
    c as u32
}

fn put_opaque(out: &mut Vec<u8>, t: &Datatype, o: &Opaque) -> Result<()> {
    let tag = text::to_bytes(&o.tag);
    let len = tag.len().next_multiple_of(8);
    if len > 248 {
        return Err(Error::invalid("encode opaque type").with("tag bytes", tag.len()));
    }
    head(out, 1, t, len as u32);
    out.extend(&tag);
    out.resize(out.len() + len - tag.len(), 0);
    Ok(())
}

fn put_name(out: &mut Vec<u8>, name: &str, version: u8) {
    let start = out.len();
    out.extend(text::to_bytes(name));
    out.push(0);
    if version < 3 {
        out.pad_to(start, 8);
    }
}

fn count_flag(n: usize, what: &str) -> Result<u32> {
    u16::try_from(n).map(u32::from).map_err(|_| Error::invalid(format!("encode {what}")).with("members", n))
}

fn put_compound(out: &mut Vec<u8>, t: &Datatype, x: &Compound, version: u8) -> Result<()> {
    head(out, version, t, count_flag(x.members.len(), "compound")?);
    for m in &x.members {
        put_name(out, &m.name, version);
        match version {
            1 => {
                out.put_uint(u64::from(m.offset), 4);
                out.resize(out.len() + 28, 0);
            }
            2 => out.put_uint(u64::from(m.offset), 4),
            _ => out.put_uint(u64::from(m.offset), uint_width(u64::from(x.size))),
        }
        put(out, &m.datatype, version)?;
    }
    Ok(())
}

fn put_reference(out: &mut Vec<u8>, t: &Datatype, r: &ReferenceType) {
    match r.kind {
        ReferenceKind::Object1 => head(out, 1, t, 0),
        ReferenceKind::DatasetRegion1 => head(out, 1, t, 1),
        ReferenceKind::Object => head(out, 4, t, 0x12),
        ReferenceKind::Region => head(out, 4, t, 0x13),
        ReferenceKind::Attribute => head(out, 4, t, 0x14),
    }
}

fn put_enum(out: &mut Vec<u8>, t: &Datatype, e: &Enum, version: u8) -> Result<()> {
    head(out, version, t, count_flag(e.members.len(), "enum")?);
    put(out, &e.base, version)?;
    for (name, _) in &e.members {
        put_name(out, name, version);
    }
    for (name, value) in &e.members {
        if value.len() != e.base.size() as usize {
            return Err(Error::invalid("encode enum").with("member", name).with("bytes", value.len()));
        }
        out.extend(value);
    }
    Ok(())
}

fn put_varlen(out: &mut Vec<u8>, t: &Datatype, v: &VarLen, floor: u8) -> Result<()> {
    match &v.kind {
        VarLenKind::Sequence(base) => {
            let container = matches!(**base, Datatype::Compound(_) | Datatype::Enum(_) | Datatype::Array(_));
            let version =
                if container { floor.max(base.version_required()) } else { base.version_required() };
            head(out, version, t, 0);
            put(out, base, floor)
        }
        VarLenKind::String { padding, charset } => {
            head(out, 1, t, 1 | padding_code(*padding) << 4 | charset_code(*charset) << 8);
            put(out, &Datatype::integer(1, false, ByteOrder::Little), floor)
        }
    }
}

fn put_array(out: &mut Vec<u8>, t: &Datatype, a: &Array, version: u8) -> Result<()> {
    head(out, version, t, 0);
    out.push(a.dims.len() as u8);
    if version == 2 {
        out.extend([0; 3]);
    }
    for &d in &a.dims {
        out.put_uint(u64::from(d), 4);
    }
    if version == 2 {
        for i in 0..a.dims.len() {
            out.put_uint(i as u64, 4);
        }
    }
    put(out, &a.base, version)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hex(text: &str) -> Vec<u8> {
        let digits: Vec<u8> = text.bytes().filter(u8::is_ascii_hexdigit).collect();
        let byte = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap();
        digits.chunks(2).map(byte).collect()
    }

    fn both_ways(t: &Datatype, floor: u8, bytes: &str) {
        assert_eq!(t.encode(floor).unwrap(), hex(bytes), "encode {t:?}");
        assert_eq!(&Datatype::decode(&hex(bytes), &Limits::default()).unwrap(), t, "decode {bytes}");
    }

    #[test]
    fn numbers_match_the_reference_bytes() {
        both_ways(&Datatype::integer(4, true, ByteOrder::Little), 1, "10080000 04000000 00002000");
        both_ways(&Datatype::integer(2, true, ByteOrder::Big), 3, "10090000 02000000 00001000");
        both_ways(&Datatype::ieee_f64(ByteOrder::Little), 1, "11203f00 08000000 00004000 340b0034 ff030000");
        let vax = Float { exponent_bias: 129, ..Float::ieee(4, ByteOrder::Vax, 8, 23) };
        both_ways(&Datatype::Float(vax), 1, "31611f00 04000000 00002000 17080017 81000000");
    }

    #[test]
    fn strings_and_tags_match_the_reference_bytes() {
        let s = Datatype::fixed_string(5, StringPad::SpacePadded, CharacterSet::Utf8);
        both_ways(&s, 1, "13120000 05000000");
        let v = Datatype::var_string(CharacterSet::Utf8);
        both_ways(&v, 3, "19010100 10000000 10000000 01000000 00000800");
        let o = Datatype::Opaque(Opaque { size: 7, tag: "abcdefghi".into() });
        both_ways(&o, 1, "15100000 07000000 6162636465666768 6900000000000000");
    }

    #[test]
    fn containers_match_the_reference_bytes_in_each_version() {
        let i8 = Datatype::integer(1, true, ByteOrder::Little);
        let e = Enum {
            base: Box::new(i8.clone()),
            members: vec![("RED".into(), vec![5]), ("GREENISH".into(), vec![6])],
        };
        both_ways(
            &Datatype::Enum(e),
            1,
            "18020000 01000000 1008000001000000 00000800 5245440000000000 475245454e495348 0000000000000000 0506",
        );
        let f = Datatype::ieee_f64(ByteOrder::Little);
        let c = Compound::packed([("x".to_owned(), i8), ("yy".to_owned(), Datatype::array(&[2, 3], f))]);
        let c = Datatype::Compound(c);
        let tail = "11203f00 08000000 00004000 340b0034 ff030000";
        both_ways(
            &c,
            1,
            &format!(
                "26020000 31000000 7800000000000000 00000000 10080000 01000000 00000800 7979000000000000 01000000 2a000000 30000000 02000000 02000000 03000000 00000000 01000000 {tail}"
            ),
        );
        both_ways(
            &c,
            3,
            &format!(
                "36020000 31000000 7800 00 10080000 01000000 00000800 797900 01 3a000000 30000000 02 02000000 03000000 {tail}"
            ),
        );
    }

    #[test]
    fn references_and_complex_match_the_reference_bytes() {
        let size = |t: Datatype| t.with_descriptors(&DescriptorSizes::native(8));
        both_ways(&size(Datatype::reference(ReferenceKind::Object1)), 1, "17000000 08000000");
        both_ways(&size(Datatype::reference(ReferenceKind::DatasetRegion1)), 1, "17010000 0c000000");
        both_ways(&size(Datatype::reference(ReferenceKind::Object)), 1, "47120000 12000000");
        let c = Datatype::Complex(Complex { base: Box::new(Datatype::ieee_f32(ByteOrder::Little)) });
        both_ways(&c, 1, "5b010000 08000000 11201f00 04000000 00002000 17080017 7f000000");
    }

    #[test]
    fn memory_form_moves_members_behind_a_wider_descriptor() {
        let short = DescriptorSizes::native(4);
        let t = Compound::packed([
            ("a".to_owned(), Datatype::native_int(4)),
            ("s".to_owned(), Datatype::var_string(CharacterSet::Utf8).with_descriptors(&short)),
            ("b".to_owned(), Datatype::native_int(4)),
        ]);
        assert_eq!(t.size, 20);
        let Datatype::Compound(m) = Datatype::Compound(t).memory_type() else { panic!() };
        assert_eq!((m.size, m.members[2].offset), (24, 20));
    }
}
