//! Alignments of C's types as global values, which libhdf5 exports besides its datatypes.

use crate::ffi::hvl_t;

macro_rules! alignments {
    ($($name:ident = $ty:ty;)+) => {
        $(
            #[doc = concat!("The alignment of the C type that `", stringify!($name), "` names.")]
            #[unsafe(no_mangle)]
            pub static $name: usize = align_of::<$ty>();
        )+
    };
}

alignments! {
    H5T_HDSETREGREF_ALIGN_g = u8;
    H5T_HOBJREF_ALIGN_g = u64;
    H5T_HVL_ALIGN_g = hvl_t;
    H5T_NATIVE_DOUBLE_ALIGN_g = f64;
    H5T_NATIVE_DOUBLE_COMPLEX_ALIGN_g = f64;
    H5T_NATIVE_FLOAT16_ALIGN_g = u16;
    H5T_NATIVE_FLOAT_ALIGN_g = f32;
    H5T_NATIVE_FLOAT_COMPLEX_ALIGN_g = f32;
    H5T_NATIVE_INT16_ALIGN_g = i16;
    H5T_NATIVE_INT32_ALIGN_g = i32;
    H5T_NATIVE_INT64_ALIGN_g = i64;
    H5T_NATIVE_INT8_ALIGN_g = i8;
    H5T_NATIVE_INT_ALIGN_g = i32;
    H5T_NATIVE_INT_FAST16_ALIGN_g = i64;
    H5T_NATIVE_INT_FAST32_ALIGN_g = i64;
    H5T_NATIVE_INT_FAST64_ALIGN_g = i64;
    H5T_NATIVE_INT_FAST8_ALIGN_g = i8;
    H5T_NATIVE_INT_LEAST16_ALIGN_g = i16;
    H5T_NATIVE_INT_LEAST32_ALIGN_g = i32;
    H5T_NATIVE_INT_LEAST64_ALIGN_g = i64;
    H5T_NATIVE_INT_LEAST8_ALIGN_g = i8;
    H5T_NATIVE_LDOUBLE_ALIGN_g = u128;
    H5T_NATIVE_LDOUBLE_COMPLEX_ALIGN_g = u128;
    H5T_NATIVE_LLONG_ALIGN_g = i64;
    H5T_NATIVE_LONG_ALIGN_g = i64;
    H5T_NATIVE_SCHAR_ALIGN_g = i8;
    H5T_NATIVE_SHORT_ALIGN_g = i16;
    H5T_NATIVE_UCHAR_ALIGN_g = u8;
    H5T_NATIVE_UINT16_ALIGN_g = u16;
    H5T_NATIVE_UINT32_ALIGN_g = u32;
    H5T_NATIVE_UINT64_ALIGN_g = u64;
    H5T_NATIVE_UINT8_ALIGN_g = u8;
    H5T_NATIVE_UINT_ALIGN_g = u32;
    H5T_NATIVE_UINT_FAST16_ALIGN_g = u64;
    H5T_NATIVE_UINT_FAST32_ALIGN_g = u64;
    H5T_NATIVE_UINT_FAST64_ALIGN_g = u64;
    H5T_NATIVE_UINT_FAST8_ALIGN_g = u8;
    H5T_NATIVE_UINT_LEAST16_ALIGN_g = u16;
    H5T_NATIVE_UINT_LEAST32_ALIGN_g = u32;
    H5T_NATIVE_UINT_LEAST64_ALIGN_g = u64;
    H5T_NATIVE_UINT_LEAST8_ALIGN_g = u8;
    H5T_NATIVE_ULLONG_ALIGN_g = u64;
    H5T_NATIVE_ULONG_ALIGN_g = u64;
    H5T_NATIVE_USHORT_ALIGN_g = u16;
    H5T_POINTER_ALIGN_g = *const u8;
    H5T_REF_ALIGN_g = u64;
}
