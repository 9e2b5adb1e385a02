//! H5E: error classes, messages and stacks.

use std::ffi::{CStr, CString, c_char, c_int, c_uint, c_void};
use std::sync::Arc;

use system::sync::Mutex;

use crate::arguments::{Out, Text, TextOut};
use crate::codes::{Major, Minor};
use crate::failure::{Failure, Fallible};
use crate::ffi::{H5E_DEFAULT, herr_t, hid_t, id_type};
use crate::handles::Object;
use crate::stack::{self, Auto1, Auto2, Automatic, Record, SharedStack, Stack, c_text};
use crate::{api_on_stacks, h5, ids};

/// The library's own error class.
pub const H5E_ERR_CLS: hid_t = ids::predefined(id_type::ERROR_CLASS, 1);

/// The library's own error class, as programs read it.
#[unsafe(no_mangle)]
pub static H5E_ERR_CLS_g: crate::ffi::GlobalId = crate::ffi::GlobalId::new(H5E_ERR_CLS);

const MAJOR: c_int = 0;
const MINOR: c_int = 1;

const WALK_UPWARD: c_int = 0;

/// A class of errors.
#[derive(Debug)]
pub struct ErrorClass {
    name: CString,
    library: CString,
    version: CString,
}

/// A major or minor error number.
#[derive(Debug)]
pub struct ErrorMessage {
    class: hid_t,
    kind: c_int,
    text: CString,
}

/// `H5E_error2_t`
#[repr(C)]
#[derive(Debug)]
pub struct H5E_error2_t {
    cls_id: hid_t,
    maj_num: hid_t,
    min_num: hid_t,
    line: c_uint,
    func_name: *const c_char,
    file_name: *const c_char,
    desc: *const c_char,
}

/// `H5E_error1_t`
#[repr(C)]
#[derive(Debug)]
pub struct H5E_error1_t {
    maj_num: hid_t,
    min_num: hid_t,
    func_name: *const c_char,
    file_name: *const c_char,
    line: c_uint,
    desc: *const c_char,
}

type Walk2 = Option<unsafe extern "C" fn(c_uint, *const H5E_error2_t, *mut c_void) -> herr_t>;
type Walk1 = Option<unsafe extern "C" fn(c_int, *mut H5E_error1_t, *mut c_void) -> herr_t>;

/// Returns the library's own class.
pub(crate) fn predefined_class(serial: u64) -> Option<Arc<ErrorClass>> {
    (serial == 1).then(|| {
        Arc::new(ErrorClass {
            name: c_text("HDF5"),
            library: c_text("HDF5"),
            version: c_text(&h5::version_text()),
        })
    })
}

/// Returns one of the library's own messages.
pub(crate) fn predefined_message(serial: u64) -> Option<Arc<ErrorMessage>> {
    let at = usize::try_from(serial).ok()?.checked_sub(1)?;
    let message = |kind, text| Arc::new(ErrorMessage { class: H5E_ERR_CLS, kind, text: c_text(text) });
    let minor = || at.checked_sub(Major::ALL.len()).and_then(|at| Minor::ALL.get(at));
    let major = Major::ALL.get(at).map(|major| message(MAJOR, major.text()));
    major.or_else(|| minor().map(|minor| message(MINOR, minor.text())))
}

fn class(id: hid_t) -> Fallible<Arc<ErrorClass>> {
    ids::get(id, "an error class", |object| match object {
        Object::ErrorClass(class) => Some(class.clone()),
        _ => None,
    })
}

fn message(id: hid_t) -> Fallible<Arc<ErrorMessage>> {
    ids::get(id, "an error message", |object| match object {
        Object::ErrorMessage(message) => Some(message.clone()),
        _ => None,
    })
}

fn saved(id: hid_t) -> Fallible<SharedStack> {
    ids::get(id, "an error stack", |object| match object {
        Object::ErrorStack(stack) => Some(stack.clone()),
        _ => None,
    })
}

/// Runs `work` on the stack of an identifier; that of this thread is the default.
fn with<T>(id: hid_t, work: impl FnOnce(&mut Stack) -> T) -> Fallible<T> {
    match id {
        H5E_DEFAULT => Ok(stack::with(work)),
        id => {
            let stack = saved(id)?;
            let mut stack = stack.lock();
            Ok(work(&mut stack))
        }
    }
}

fn message_text(id: hid_t) -> String {
    message(id).map_or_else(|_| "(null)".to_owned(), |message| message.text.to_string_lossy().into_owned())
}

/// Returns records in libhdf5's layout: the function that the program called first.
pub(crate) fn format(records: &[Arc<Record>]) -> String {
    let mut text = String::new();
    let mut last_class = None;
    for (number, record) in records.iter().rev().enumerate() {
        if last_class != Some(record.class) {
            last_class = Some(record.class);
            let class = class(record.class).ok();
            let part = |of: fn(&ErrorClass) -> &CString| {
                class.as_ref().map_or_else(|| "unknown".into(), |class| of(class).to_string_lossy())
            };
            text.push_str(&format!(
                "{}-DIAG: Error detected in {} ({}):\n",
                part(|class| &class.name),
                part(|class| &class.library),
                part(|class| &class.version)
            ));
        }
        text.push_str(&format!(
            "  #{number:03}: {} line {} in {}(): {}\n    major: {}\n    minor: {}\n",
            record.file.to_string_lossy(),
            record.line,
            record.function.to_string_lossy(),
            record.text.to_string_lossy(),
            message_text(record.major),
            message_text(record.minor)
        ));
    }
    text
}

unsafe extern "C" {
    static stderr: *mut libc::FILE;
}

/// Writes text to a stream of C; NULL is standard error.
pub(crate) fn write(stream: *mut libc::FILE, text: &str) {
    let text = c_text(text);
    // SAFETY: the program passes an open stream; the format has one string.
    unsafe {
        let stream = if stream.is_null() { stderr } else { stream };
        libc::fputs(text.as_ptr(), stream);
    }
}

fn register_stack(stack: Stack) -> hid_t {
    ids::register(Object::ErrorStack(Arc::new(Mutex::new(stack))))
}

/// Adds a record to a stack: what the variable arguments made of the format is `text`.
fn push(
    id: hid_t,
    (file, function, line): (Text, Text, c_uint),
    (class, major, minor): (hid_t, hid_t, hid_t),
    text: CString,
) -> Fallible<()> {
    if ![class, major, minor].into_iter().all(ids::is_valid) {
        return Err(Failure::new(Major::ERROR, Minor::CANTINC, "can't increment error ID"));
    }
    let name = |text: Text| c_text(&text.optional().unwrap_or_default());
    let record = Record { class, major, minor, line, function: name(function), file: name(file), text };
    with(id, |stack| stack.push(record))
}

/// Calls `each` for every record, in the direction that is asked for, until it returns something else than zero.
fn walk(id: hid_t, direction: c_int, each: impl Fn(usize, &Record) -> herr_t) -> Fallible<herr_t> {
    // The program's function may change the stack.
    let records = with(id, |stack| stack.records.clone())?;
    let upward = direction == WALK_UPWARD;
    for number in 0..records.len() {
        let at = if upward { number } else { records.len() - 1 - number };
        match each(number, &records[at]) {
            0 => {}
            stopped if stopped > 0 => return Ok(stopped),
            _ => return Err(Failure::callback("error stack walk callback failed")),
        }
    }
    Ok(0)
}

api_on_stacks! { ERROR:
    /// Registers an error class.
    fn H5Eregister_class(name: Text, library: Text, version: Text) -> hid_t {
        let text = |text: Text, what| text.required(what).map(|text| c_text(&text));
        let class = ErrorClass {
            name: text(name, "name of the class")?,
            library: text(library, "name of the library")?,
            version: text(version, "version")?,
        };
        Ok(ids::register(Object::ErrorClass(Arc::new(class))))
    }

    /// Removes an error class and its messages.
    fn H5Eunregister_class(class_id: hid_t) -> herr_t {
        class(class_id)?;
        for id in ids::find(|object| matches!(object, Object::ErrorMessage(message) if message.class == class_id)) {
            let _ = ids::remove(id);
        }
        ids::remove_reference(class_id).map(drop)
    }

    /// Returns the name of an error class.
    fn H5Eget_class_name(class_id: hid_t, name: TextOut, size: usize) -> isize {
        Ok(name.put(size, class(class_id)?.name.as_bytes()))
    }

    /// Adds a message to an error class.
    fn H5Ecreate_msg(class_id: hid_t, kind: c_int, text: Text) -> hid_t {
        class(class_id)?;
        if kind != MAJOR && kind != MINOR {
            return Err(Failure::argument("not a valid message type"));
        }
        let text = c_text(&text.required("message")?);
        Ok(ids::register(Object::ErrorMessage(Arc::new(ErrorMessage { class: class_id, kind, text }))))
    }

    /// Removes a message.
    fn H5Eclose_msg(id: hid_t) -> herr_t {
        ids::close(id, "an error message", |object| matches!(object, Object::ErrorMessage(_)))
    }

    /// Returns the text of a message.
    fn H5Eget_msg(id: hid_t, kind: Out<c_int>, text: TextOut, size: usize) -> isize {
        let message = message(id)?;
        kind.put(message.kind);
        Ok(text.put(size, message.text.as_bytes()))
    }

    /// Creates an empty error stack.
    fn H5Ecreate_stack() -> hid_t {
        Ok(register_stack(Stack::default()))
    }

    /// Takes the records of this thread's stack into a new one.
    fn H5Eget_current_stack() -> hid_t {
        Ok(register_stack(stack::with(|current| {
            let records = std::mem::take(&mut current.records);
            Stack { records, automatic: current.automatic, paused: 0 }
        })))
    }

    /// Replaces this thread's stack with one that was saved, which is closed.
    fn H5Eset_current_stack(id: hid_t) -> herr_t {
        if id == H5E_DEFAULT {
            return Ok(());
        }
        let records = saved(id)?.lock().records.clone();
        stack::with(|current| current.records = records);
        ids::remove_reference(id).map(drop)
    }

    /// Adds the records of one stack to another.
    fn H5Eappend_stack(to: hid_t, from: hid_t, close_source: bool) -> herr_t {
        let records = saved(from)?.lock().records.clone();
        let target = saved(to)?;
        records.into_iter().for_each(|record| target.lock().push(record));
        if close_source { ids::remove_reference(from).map(drop) } else { Ok(()) }
    }

    /// Says whether a stack takes records at the moment.
    fn H5Eis_paused(id: hid_t, is_paused: Out<bool>) -> herr_t {
        is_paused.check("is_paused")?;
        is_paused.put(with(id, |stack| stack.paused > 0)?);
        Ok(())
    }

    /// Lets a stack take no records until it is resumed as often.
    fn H5Epause_stack(id: hid_t) -> herr_t {
        with(id, |stack| stack.paused += 1)
    }

    /// Undoes one `H5Epause_stack`.
    fn H5Eresume_stack(id: hid_t) -> herr_t {
        let resumed = with(id, |stack| stack.paused.checked_sub(1).map(|paused| stack.paused = paused))?;
        resumed.ok_or_else(|| Failure::argument("stack isn't paused"))
    }

    /// Closes a saved stack.
    fn H5Eclose_stack(id: hid_t) -> herr_t {
        match id {
            H5E_DEFAULT => Ok(()),
            id => ids::close(id, "an error stack", |object| matches!(object, Object::ErrorStack(_))),
        }
    }

    /// Removes the newest records.
    fn H5Epop(id: hid_t, count: usize) -> herr_t {
        with(id, |stack| {
            let left = stack.records.len().saturating_sub(count);
            stack.records.truncate(left);
        })
    }

    /// Prints a stack.
    fn H5Eprint2(id: hid_t, stream: *mut libc::FILE) -> herr_t {
        let records = with(id, |stack| stack.records.clone())?;
        write(stream, &format(&records));
        Ok(())
    }

    /// Prints this thread's stack.
    fn H5Eprint1(stream: *mut libc::FILE) -> herr_t {
        let records = stack::with(|stack| stack.records.clone());
        write(stream, &format(&records));
        Ok(())
    }

    /// Calls a function for each record.
    fn H5Ewalk2(id: hid_t, direction: c_int, function: Walk2, data: *mut c_void) -> herr_t {
        let function = function.ok_or_else(|| Failure::argument("no function"))?;
        walk(id, direction, |number, record| {
            let error = H5E_error2_t {
                cls_id: record.class,
                maj_num: record.major,
                min_num: record.minor,
                line: record.line,
                func_name: record.function.as_ptr(),
                file_name: record.file.as_ptr(),
                desc: record.text.as_ptr(),
            };
            // SAFETY: the record lives until the function returns.
            unsafe { function(number as c_uint, &raw const error, data) }
        })
    }

    /// Calls a function in its old form for each record.
    fn H5Ewalk1(direction: c_int, function: Walk1, data: *mut c_void) -> herr_t {
        let function = function.ok_or_else(|| Failure::argument("no function"))?;
        walk(H5E_DEFAULT, direction, |number, record| {
            let mut error = H5E_error1_t {
                maj_num: record.major,
                min_num: record.minor,
                func_name: record.function.as_ptr(),
                file_name: record.file.as_ptr(),
                line: record.line,
                desc: record.text.as_ptr(),
            };
            // SAFETY: the record lives until the function returns.
            unsafe { function(number as c_int, &raw mut error, data) }
        })
    }

    /// Returns how a stack is printed when a function fails.
    fn H5Eget_auto2(id: hid_t, function: Out<Auto2>, data: Out<*mut c_void>) -> herr_t {
        match with(id, |stack| stack.automatic)? {
            Automatic::Default => {
                function.put(Some(print_default));
                data.put(std::ptr::null_mut());
            }
            Automatic::Two(chosen, chosen_data) => {
                function.put(chosen);
                data.put(chosen_data);
            }
            Automatic::One(..) => return Err(Failure::argument("wrong API function, H5Eset_auto1 has been called")),
        }
        Ok(())
    }

    /// Says how a stack is printed when a function fails.
    fn H5Eset_auto2(id: hid_t, function: Auto2, data: *mut c_void) -> herr_t {
        let is_default = function.is_some_and(|function| function as usize == print_default as *const () as usize);
        let automatic = if is_default { Automatic::Default } else { Automatic::Two(function, data) };
        match id {
            // h5py calls this around each of its own calls.
            H5E_DEFAULT => {
                stack::with_settings(|stack| stack.automatic = automatic);
                Ok(())
            }
            id => with(id, |stack| stack.automatic = automatic),
        }
    }

    /// Returns how this thread's stack is printed, in the old form.
    fn H5Eget_auto1(function: Out<Auto1>, data: Out<*mut c_void>) -> herr_t {
        match stack::with(|stack| stack.automatic) {
            Automatic::One(chosen, chosen_data) => {
                function.put(chosen);
                data.put(chosen_data);
            }
            _ => return Err(Failure::argument("wrong API function, H5Eset_auto2 has been called")),
        }
        Ok(())
    }

    /// Says how this thread's stack is printed, in the old form.
    fn H5Eset_auto1(function: Auto1, data: *mut c_void) -> herr_t {
        stack::with(|stack| stack.automatic = Automatic::One(function, data));
        Ok(())
    }

    /// Says which form of function is set.
    fn H5Eauto_is_v2(id: hid_t, is_new: Out<c_uint>) -> herr_t {
        let new = with(id, |stack| !matches!(stack.automatic, Automatic::One(..)))?;
        is_new.put(c_uint::from(new));
        Ok(())
    }

    /// Empties a stack.
    fn H5Eclear2(id: hid_t) -> herr_t {
        with(id, |stack| stack.records.clear())
    }

    /// Empties this thread's stack.
    fn H5Eclear1() -> herr_t {
        stack::with(|stack| stack.records.clear());
        Ok(())
    }

    /// Returns the number of records.
    fn H5Eget_num(id: hid_t) -> isize {
        with(id, |stack| stack.records.len() as isize)
    }

    /// Adds a record to this thread's stack.
    fn H5Epush1(file: Text, function: Text, line: c_uint, major: hid_t, minor: hid_t, text: Text) -> herr_t {
        let text = c_text(&text.optional().unwrap_or_default());
        push(H5E_DEFAULT, (file, function, line), (H5E_ERR_CLS, major, minor), text)
    }

    /// Returns the text of a major error number, which the program frees.
    fn H5Eget_major(id: hid_t) -> *mut c_char {
        Ok(crate::ffi::allocate_text(message(id)?.text.as_bytes()))
    }

    /// Returns the text of a minor error number, which the program frees.
    fn H5Eget_minor(id: hid_t) -> *mut c_char {
        Ok(crate::ffi::allocate_text(message(id)?.text.as_bytes()))
    }
}

/// Prints a stack in the usual layout: what programs get that ask which function does it.
unsafe extern "C" fn print_default(id: hid_t, stream: *mut c_void) -> herr_t {
    let records = with(id, |stack| stack.records.clone()).unwrap_or_default();
    write(stream.cast(), &format(&records));
    0
}

unsafe extern "C" {
    fn vsnprintf(buffer: *mut c_char, size: usize, format: *const c_char, arguments: *mut c_void) -> c_int;
}

/// The arguments of `H5Epush2` that have a fixed place.
#[repr(C)]
#[derive(Debug)]
struct PushArguments {
    stack: hid_t,
    file: Text,
    function: Text,
    line: usize,
    class: hid_t,
    major: hid_t,
}

/// The rest of `H5Epush2`, whose variable arguments are a `va_list`.
unsafe extern "C" fn push2(
    fixed: *const PushArguments,
    minor: hid_t,
    format: *const c_char,
    arguments: *mut c_void,
) -> herr_t {
    crate::entry::enter("H5Epush2", Major::ERROR, crate::entry::Clearing::Keep, -1, || {
        let mut buffer = [0u8; 1024];
        if !format.is_null() {
            // SAFETY: the program's arguments are those that its format asks for; the text is cut to the buffer.
            unsafe { vsnprintf(buffer.as_mut_ptr().cast(), buffer.len(), format, arguments) };
        }
        let text = CStr::from_bytes_until_nul(&buffer).unwrap_or_default().to_owned();
        // SAFETY: the trampoline stored the registers there.
        let fixed = unsafe { &*fixed };
        let place = (fixed.file, fixed.function, fixed.line as c_uint);
        push(fixed.stack, place, (fixed.class, fixed.major, minor), text)
    })
}

/// Adds a record to a stack, with a format and its arguments.
///
/// It takes variable arguments, which Rust cannot define yet. This stores the registers that arguments come in, makes a
/// `va_list` of what follows on the stack, and calls `push2`. The first six arguments come in registers, the seventh (minor
/// error number) and eighth (format) on the stack, and the variable ones follow them there; floats come in xmm registers.
#[cfg(target_arch = "x86_64")]
#[unsafe(naked)]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn H5Epush2() {
    std::arch::naked_asm!(
        "push rbp",
        "mov rbp, rsp",
        "sub rsp, 208",
        // The six registers are both `PushArguments` and the start of the register save area.
        "mov [rsp], rdi",
        "mov [rsp + 8], rsi",
        "mov [rsp + 16], rdx",
        "mov ecx, ecx",
        "mov [rsp + 24], rcx",
        "mov [rsp + 32], r8",
        "mov [rsp + 40], r9",
        "movaps [rsp + 48], xmm0",
        "movaps [rsp + 64], xmm1",
        "movaps [rsp + 80], xmm2",
        "movaps [rsp + 96], xmm3",
        "movaps [rsp + 112], xmm4",
        "movaps [rsp + 128], xmm5",
        "movaps [rsp + 144], xmm6",
        "movaps [rsp + 160], xmm7",
        // va_list: all integer registers are used up, no float register is.
        "mov dword ptr [rsp + 176], 48",
        "mov dword ptr [rsp + 180], 48",
        "lea rax, [rbp + 32]",
        "mov [rsp + 184], rax",
        "mov [rsp + 192], rsp",
        "mov rdi, rsp",
        "mov rsi, [rbp + 16]",
        "mov rdx, [rbp + 24]",
        "lea rcx, [rsp + 176]",
        "call {push2}",
        "leave",
        "ret",
        push2 = sym push2,
    )
}
