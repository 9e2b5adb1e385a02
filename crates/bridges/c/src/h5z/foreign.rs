//! Filters in C.

use std::collections::BTreeSet;
use std::ffi::{CStr, c_char, c_int, c_uint, c_void};
use std::sync::LazyLock;

use hyperslab::extend::{Codecs, Done, Filter, FilterError, FilterErrorKind, FilterId, Output, Params};

use crate::codes::{Major, Minor};
use crate::failure::{Failure, Fallible};
use crate::ffi::{allocate, free, herr_t, hid_t, htri_t};

/// Numbers of filters whose functions several threads may call at once, separated by commas.
const PARALLEL_VARIABLE: &str = "HYPERSLAB_PARALLEL_FILTERS";

static PARALLEL: LazyLock<BTreeSet<FilterId>> =
    LazyLock::new(|| numbers(std::env::var(PARALLEL_VARIABLE).ok().as_deref()));

fn numbers(text: Option<&str>) -> BTreeSet<FilterId> {
    text.unwrap_or_default().split(',').filter_map(|number| number.trim().parse().ok()).collect()
}

type CanApply = Option<unsafe extern "C" fn(hid_t, hid_t, hid_t) -> htri_t>;
type SetLocal = Option<unsafe extern "C" fn(hid_t, hid_t, hid_t) -> herr_t>;
type Function =
    unsafe extern "C" fn(c_uint, usize, *const c_uint, usize, *mut usize, *mut *mut c_void) -> usize;

/// `H5Z_FLAG_REVERSE`
const REVERSE: c_uint = 0x100;
/// `H5Z_FLAG_SKIP_EDC`
const SKIP_EDC: c_uint = 0x200;
/// `H5Z_CLASS_T_VERS`; in its place old classes have the number of the filter.
const VERSION: c_int = 1;

/// `H5Z_class2_t`
#[repr(C)]
#[derive(Clone, Copy)]
struct Class2 {
    version: c_int,
    id: c_int,
    encoder_present: c_uint,
    decoder_present: c_uint,
    name: *const c_char,
    can_apply: CanApply,
    set_local: SetLocal,
    filter: Option<Function>,
}

/// `H5Z_class1_t`
#[repr(C)]
#[derive(Clone, Copy)]
struct Class1 {
    id: c_int,
    name: *const c_char,
    can_apply: CanApply,
    set_local: SetLocal,
    filter: Option<Function>,
}

/// A filter that a program registered, or that a plugin has.
#[derive(Debug)]
pub struct ForeignFilter {
    id: FilterId,
    name: &'static str,
    can_encode: bool,
    can_decode: bool,
    can_apply: CanApply,
    set_local: SetLocal,
    function: Function,
}

fn read_class(class: *const c_void) -> Class2 {
    // SAFETY: the caller says that this is a class, which begins with a version or with a number.
    let version = unsafe { class.cast::<c_int>().read_unaligned() };
    if version == VERSION {
        // SAFETY: classes with this version have this layout.
        return unsafe { class.cast::<Class2>().read_unaligned() };
    }
    // SAFETY: others have the layout of version 1.6.
    let old = unsafe { class.cast::<Class1>().read_unaligned() };
    Class2 {
        version,
        id: old.id,
        encoder_present: 1,
        decoder_present: 1,
        name: old.name,
        can_apply: old.can_apply,
        set_local: old.set_local,
        filter: old.filter,
    }
}

impl ForeignFilter {
    /// Takes a class that a program or a plugin passes.
    pub fn read(class: *const c_void) -> Fallible<Self> {
        if class.is_null() {
            return Err(Failure::argument("invalid filter class"));
        }
        let class = read_class(class);
        let id =
            u16::try_from(class.id).map_err(|_| Failure::argument("invalid filter identification number"))?;
        let function = class.filter.ok_or_else(|| Failure::argument("no filter function specified"))?;
        let name = match class.name.is_null() {
            true => "",
            // SAFETY: a name ends with NUL. A filter and its name stay until the process ends.
            false => unsafe { CStr::from_ptr(class.name) }.to_string_lossy().into_owned().leak(),
        };
        Ok(ForeignFilter {
            id,
            name,
            can_encode: class.encoder_present != 0,
            can_decode: class.decoder_present != 0,
            can_apply: class.can_apply,
            set_local: class.set_local,
            function,
        })
    }

    /// Returns whether it encodes and decodes (`H5Z_FILTER_CONFIG_…`).
    pub fn config(&self) -> c_uint {
        c_uint::from(self.can_encode) | c_uint::from(self.can_decode) << 1
    }

    /// Asks the filter whether it can be applied to a new dataset, and lets it set its values in the list.
    pub fn prepare(&self, is_optional: bool, [dcpl, datatype, space]: [hid_t; 3]) -> Fallible<()> {
        if !self.can_encode {
            let text = format!("filter {} has no encoder", self.id);
            return if is_optional {
                Ok(())
            } else {
                Err(Failure::new(Major::PLINE, Minor::NOENCODER, text))
            };
        }
        if let Some(can_apply) = self.can_apply {
            // SAFETY: the filter's own function, with identifiers that are open meanwhile.
            match unsafe { can_apply(dcpl, datatype, space) } {
                0 if is_optional => return Ok(()),
                0 => {
                    return Err(Failure::new(
                        Major::PLINE,
                        Minor::CANAPPLY,
                        "filter parameters not appropriate",
                    ));
                }
                answer if answer < 0 => {
                    return Err(Failure::new(Major::PLINE, Minor::CANAPPLY, "error during user callback"));
                }
                _ => {}
            }
        }
        let Some(set_local) = self.set_local else { return Ok(()) };
        // SAFETY: as above.
        match unsafe { set_local(dcpl, datatype, space) } {
            answer if answer < 0 => {
                Err(Failure::new(Major::PLINE, Minor::SETLOCAL, "error during user callback"))
            }
            _ => Ok(()),
        }
    }

    /// Runs the filter on a copy of `input` in memory from `malloc`, which filters replace and free.
    fn run(&self, flags: c_uint, params: &Params<'_>, input: &[u8]) -> Option<Vec<u8>> {
        let mut size = input.len().max(1);
        let mut buffer = allocate(size);
        if buffer.is_null() {
            return None;
        }
        // SAFETY: the memory has the size of the input. The filter gets what H5Z_func_t says, and leaves a buffer that has at
        // least as many bytes as it returns.
        unsafe {
            std::ptr::copy_nonoverlapping(input.as_ptr(), buffer.cast(), input.len());
            let (count, values) = (params.values.len(), params.values.as_ptr());
            let len = (self.function)(flags, count, values, input.len(), &raw mut size, &raw mut buffer);
            let out = (len > 0 && len <= size && !buffer.is_null())
                .then(|| std::slice::from_raw_parts(buffer.cast::<u8>(), len).to_vec());
            free(buffer);
            out
        }
    }

    fn done(
        &self,
        flags: c_uint,
        params: &Params<'_>,
        input: &[u8],
        out: &mut Output<'_>,
    ) -> Result<Done, FilterError> {
        let Some(bytes) = self.run(flags, params, input) else {
            let problem = format!("filter \"{}\" of the program failed", self.name);
            // An optional filter that cannot encode a chunk is left out.
            let is_reverse = flags & REVERSE != 0;
            let kind = if is_reverse { FilterErrorKind::Corrupt } else { FilterErrorKind::Incompressible };
            return Err(FilterError::new(kind, self.id, problem));
        };
        out.put(bytes)
    }
}

impl Filter for ForeignFilter {
    fn id(&self) -> FilterId {
        self.id
    }

    fn name(&self) -> &'static str {
        self.name
    }

    fn decode_into(
        &self,
        params: &Params<'_>,
        input: &[u8],
        out: &mut Output<'_>,
        _codecs: &mut Codecs,
    ) -> Result<Done, FilterError> {
        self.done(REVERSE, params, input, out)
    }

    fn decode_unverified_into(
        &self,
        params: &Params<'_>,
        input: &[u8],
        out: &mut Output<'_>,
        _codecs: &mut Codecs,
    ) -> Result<Done, FilterError> {
        self.done(REVERSE | SKIP_EDC, params, input, out)
    }

    fn encode_into(
        &self,
        params: &Params<'_>,
        input: &[u8],
        out: &mut Output<'_>,
        _codecs: &mut Codecs,
    ) -> Result<Done, FilterError> {
        self.done(0, params, input, out)
    }

    fn is_serial(&self) -> bool {
        !PARALLEL.contains(&self.id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_one_by_one_and_what_is_none_is_left_out() {
        assert_eq!(numbers(Some("32001, 32015,x,-1,70000,,307")), BTreeSet::from([307, 32001, 32015]));
        assert!(numbers(Some("all")).is_empty() && numbers(None).is_empty());
    }
}
