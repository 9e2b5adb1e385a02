//! The predefined datatypes as global values.
//!
//! Their identifiers are constants, so that programs can read them before they call any function.

use std::sync::{Arc, LazyLock};

use hyperslab::vol::model::datatype::{
    Bits, ByteOrder, CharacterSet, Complex, Datatype, FixedString, Float, Normalization, Opaque,
    ReferenceKind, ReferenceType, StringPad, Time,
};

use crate::ffi::{GlobalId, hid_t, id_type};
use crate::handles::TypeHandle;
use crate::ids;

use ByteOrder::{Big, Little};
const NATIVE: ByteOrder = ByteOrder::NATIVE;

fn signed(size: u32, order: ByteOrder) -> Datatype {
    Datatype::integer(size, true, order)
}

fn unsigned(size: u32, order: ByteOrder) -> Datatype {
    Datatype::integer(size, false, order)
}

fn bits(size: u32, order: ByteOrder) -> Datatype {
    Datatype::Bitfield(Bits::full(size, order))
}

fn ieee(size: u32, order: ByteOrder) -> Datatype {
    match size {
        2 => Datatype::ieee_f16(order),
        4 => Datatype::ieee_f32(order),
        _ => Datatype::ieee_f64(order),
    }
}

fn small_float(size: u32, order: ByteOrder, exponent_bits: u8, mantissa_bits: u8) -> Datatype {
    let mut float = Float::ieee(size, order, exponent_bits, mantissa_bits);
    float.bits.precision = u16::from(exponent_bits) + u16::from(mantissa_bits) + 1;
    Datatype::Float(float)
}

fn vax(size: u32, exponent_bits: u8, mantissa_bits: u8, exponent_bias: u32) -> Datatype {
    let float = Float::ieee(size, ByteOrder::Vax, exponent_bits, mantissa_bits);
    Datatype::Float(Float { exponent_bias, ..float })
}

/// Returns `long double` of this machine: x86's extended precision, or the binary128 of other 64-bit machines.
pub(super) fn long_double() -> Datatype {
    if cfg!(not(any(target_arch = "x86_64", target_arch = "x86"))) {
        return Datatype::Float(Float::ieee(16, NATIVE, 15, 112));
    }
    let mut float = Float::ieee(16, NATIVE, 15, 64);
    float.bits.precision = 80;
    float.normalization = Normalization::None;
    Datatype::Float(float)
}

fn complex(base: Datatype) -> Datatype {
    Datatype::Complex(Complex { base: Box::new(base) })
}

fn time(size: u32, order: ByteOrder) -> Datatype {
    Datatype::Time(Time { size, order, precision: (size * 8) as u16 })
}

fn reference(kind: ReferenceKind) -> Datatype {
    crate::memory::c_form(&Datatype::Reference(ReferenceType { size: 0, kind }))
}

fn string(padding: StringPad) -> Datatype {
    Datatype::String(FixedString { size: 1, padding, charset: CharacterSet::Ascii })
}

fn opaque() -> Datatype {
    Datatype::Opaque(Opaque { size: 1, tag: String::new() })
}

macro_rules! predefined {
    ($($name:ident = $serial:literal => $datatype:expr;)+) => {
        $(
            #[doc = concat!("The identifier that `", stringify!($name), "` of the headers stands for.")]
            #[unsafe(no_mangle)]
            pub static $name: GlobalId = GlobalId::new(ids::predefined(id_type::DATATYPE, $serial));
        )+

        /// The exported global values, with the identifiers that they hold.
        pub(crate) static GLOBALS: &[(&GlobalId, hid_t)] =
            &[$((&$name, ids::predefined(id_type::DATATYPE, $serial))),+];

        fn all() -> Vec<Arc<TypeHandle>> {
            vec![$(Arc::new(TypeHandle::immutable($datatype))),+]
        }
    };
}

static TYPES: LazyLock<Vec<Arc<TypeHandle>>> = LazyLock::new(all);

/// Returns the predefined datatype with a serial number.
pub(crate) fn predefined(serial: u64) -> Option<Arc<TypeHandle>> {
    let at = usize::try_from(serial).ok()?.checked_sub(1)?;
    TYPES.get(at).cloned()
}

/// Returns the predefined datatype with a serial number, in C's form.
pub(crate) fn predefined_type(serial: u64) -> Option<&'static Datatype> {
    let at = usize::try_from(serial).ok()?.checked_sub(1)?;
    TYPES.get(at)?.predefined()
}

predefined! {
    H5T_IEEE_F16BE_g = 1 => ieee(2, Big);
    H5T_IEEE_F16LE_g = 2 => ieee(2, Little);
    H5T_IEEE_F32BE_g = 3 => ieee(4, Big);
    H5T_IEEE_F32LE_g = 4 => ieee(4, Little);
    H5T_IEEE_F64BE_g = 5 => ieee(8, Big);
    H5T_IEEE_F64LE_g = 6 => ieee(8, Little);
    H5T_FLOAT_BFLOAT16BE_g = 7 => small_float(2, Big, 8, 7);
    H5T_FLOAT_BFLOAT16LE_g = 8 => small_float(2, Little, 8, 7);
    H5T_FLOAT_F8E4M3_g = 9 => small_float(1, Little, 4, 3);
    H5T_FLOAT_F8E5M2_g = 10 => small_float(1, Little, 5, 2);
    H5T_FLOAT_F6E2M3_g = 11 => small_float(1, Little, 2, 3);
    H5T_FLOAT_F6E3M2_g = 12 => small_float(1, Little, 3, 2);
    H5T_FLOAT_F4E2M1_g = 13 => small_float(1, Little, 2, 1);
    H5T_COMPLEX_IEEE_F16BE_g = 14 => complex(ieee(2, Big));
    H5T_COMPLEX_IEEE_F16LE_g = 15 => complex(ieee(2, Little));
    H5T_COMPLEX_IEEE_F32BE_g = 16 => complex(ieee(4, Big));
    H5T_COMPLEX_IEEE_F32LE_g = 17 => complex(ieee(4, Little));
    H5T_COMPLEX_IEEE_F64BE_g = 18 => complex(ieee(8, Big));
    H5T_COMPLEX_IEEE_F64LE_g = 19 => complex(ieee(8, Little));
    H5T_STD_I8BE_g = 20 => signed(1, Big);
    H5T_STD_I8LE_g = 21 => signed(1, Little);
    H5T_STD_I16BE_g = 22 => signed(2, Big);
    H5T_STD_I16LE_g = 23 => signed(2, Little);
    H5T_STD_I32BE_g = 24 => signed(4, Big);
    H5T_STD_I32LE_g = 25 => signed(4, Little);
    H5T_STD_I64BE_g = 26 => signed(8, Big);
    H5T_STD_I64LE_g = 27 => signed(8, Little);
    H5T_STD_U8BE_g = 28 => unsigned(1, Big);
    H5T_STD_U8LE_g = 29 => unsigned(1, Little);
    H5T_STD_U16BE_g = 30 => unsigned(2, Big);
    H5T_STD_U16LE_g = 31 => unsigned(2, Little);
    H5T_STD_U32BE_g = 32 => unsigned(4, Big);
    H5T_STD_U32LE_g = 33 => unsigned(4, Little);
    H5T_STD_U64BE_g = 34 => unsigned(8, Big);
    H5T_STD_U64LE_g = 35 => unsigned(8, Little);
    H5T_STD_B8BE_g = 36 => bits(1, Big);
    H5T_STD_B8LE_g = 37 => bits(1, Little);
    H5T_STD_B16BE_g = 38 => bits(2, Big);
    H5T_STD_B16LE_g = 39 => bits(2, Little);
    H5T_STD_B32BE_g = 40 => bits(4, Big);
    H5T_STD_B32LE_g = 41 => bits(4, Little);
    H5T_STD_B64BE_g = 42 => bits(8, Big);
    H5T_STD_B64LE_g = 43 => bits(8, Little);
    H5T_STD_REF_OBJ_g = 44 => reference(ReferenceKind::Object1);
    H5T_STD_REF_DSETREG_g = 45 => reference(ReferenceKind::DatasetRegion1);
    H5T_STD_REF_g = 46 => reference(ReferenceKind::Object);
    H5T_UNIX_D32BE_g = 47 => time(4, Big);
    H5T_UNIX_D32LE_g = 48 => time(4, Little);
    H5T_UNIX_D64BE_g = 49 => time(8, Big);
    H5T_UNIX_D64LE_g = 50 => time(8, Little);
    H5T_C_S1_g = 51 => string(StringPad::NullTerminated);
    H5T_FORTRAN_S1_g = 52 => string(StringPad::SpacePadded);
    H5T_VAX_F32_g = 53 => vax(4, 8, 23, 129);
    H5T_VAX_F64_g = 54 => vax(8, 11, 52, 1025);
    H5T_NATIVE_SCHAR_g = 55 => signed(1, NATIVE);
    H5T_NATIVE_UCHAR_g = 56 => unsigned(1, NATIVE);
    H5T_NATIVE_SHORT_g = 57 => signed(2, NATIVE);
    H5T_NATIVE_USHORT_g = 58 => unsigned(2, NATIVE);
    H5T_NATIVE_INT_g = 59 => signed(4, NATIVE);
    H5T_NATIVE_UINT_g = 60 => unsigned(4, NATIVE);
    H5T_NATIVE_LONG_g = 61 => signed(8, NATIVE);
    H5T_NATIVE_ULONG_g = 62 => unsigned(8, NATIVE);
    H5T_NATIVE_LLONG_g = 63 => signed(8, NATIVE);
    H5T_NATIVE_ULLONG_g = 64 => unsigned(8, NATIVE);
    H5T_NATIVE_FLOAT16_g = 65 => ieee(2, NATIVE);
    H5T_NATIVE_FLOAT_g = 66 => ieee(4, NATIVE);
    H5T_NATIVE_DOUBLE_g = 67 => ieee(8, NATIVE);
    H5T_NATIVE_LDOUBLE_g = 68 => long_double();
    H5T_NATIVE_FLOAT_COMPLEX_g = 69 => complex(ieee(4, NATIVE));
    H5T_NATIVE_DOUBLE_COMPLEX_g = 70 => complex(ieee(8, NATIVE));
    H5T_NATIVE_LDOUBLE_COMPLEX_g = 71 => complex(long_double());
    H5T_NATIVE_B8_g = 72 => bits(1, NATIVE);
    H5T_NATIVE_B16_g = 73 => bits(2, NATIVE);
    H5T_NATIVE_B32_g = 74 => bits(4, NATIVE);
    H5T_NATIVE_B64_g = 75 => bits(8, NATIVE);
    H5T_NATIVE_OPAQUE_g = 76 => opaque();
    H5T_NATIVE_HADDR_g = 77 => unsigned(8, NATIVE);
    H5T_NATIVE_HSIZE_g = 78 => unsigned(8, NATIVE);
    H5T_NATIVE_HSSIZE_g = 79 => signed(8, NATIVE);
    H5T_NATIVE_HERR_g = 80 => signed(4, NATIVE);
    H5T_NATIVE_HBOOL_g = 81 => unsigned(1, NATIVE);
    H5T_NATIVE_INT8_g = 82 => signed(1, NATIVE);
    H5T_NATIVE_UINT8_g = 83 => unsigned(1, NATIVE);
    H5T_NATIVE_INT_LEAST8_g = 84 => signed(1, NATIVE);
    H5T_NATIVE_UINT_LEAST8_g = 85 => unsigned(1, NATIVE);
    H5T_NATIVE_INT_FAST8_g = 86 => signed(1, NATIVE);
    H5T_NATIVE_UINT_FAST8_g = 87 => unsigned(1, NATIVE);
    H5T_NATIVE_INT16_g = 88 => signed(2, NATIVE);
    H5T_NATIVE_UINT16_g = 89 => unsigned(2, NATIVE);
    H5T_NATIVE_INT_LEAST16_g = 90 => signed(2, NATIVE);
    H5T_NATIVE_UINT_LEAST16_g = 91 => unsigned(2, NATIVE);
    H5T_NATIVE_INT_FAST16_g = 92 => signed(8, NATIVE);
    H5T_NATIVE_UINT_FAST16_g = 93 => unsigned(8, NATIVE);
    H5T_NATIVE_INT32_g = 94 => signed(4, NATIVE);
    H5T_NATIVE_UINT32_g = 95 => unsigned(4, NATIVE);
    H5T_NATIVE_INT_LEAST32_g = 96 => signed(4, NATIVE);
    H5T_NATIVE_UINT_LEAST32_g = 97 => unsigned(4, NATIVE);
    H5T_NATIVE_INT_FAST32_g = 98 => signed(8, NATIVE);
    H5T_NATIVE_UINT_FAST32_g = 99 => unsigned(8, NATIVE);
    H5T_NATIVE_INT64_g = 100 => signed(8, NATIVE);
    H5T_NATIVE_UINT64_g = 101 => unsigned(8, NATIVE);
    H5T_NATIVE_INT_LEAST64_g = 102 => signed(8, NATIVE);
    H5T_NATIVE_UINT_LEAST64_g = 103 => unsigned(8, NATIVE);
    H5T_NATIVE_INT_FAST64_g = 104 => signed(8, NATIVE);
    H5T_NATIVE_UINT_FAST64_g = 105 => unsigned(8, NATIVE);
}
