//! H5PL: folders with plugins, and the filters in them.

use std::ffi::{CString, c_int, c_uint, c_void};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use hyperslab::extend::Filter;
use hyperslab::vol::model::text;
use system::sync::Mutex;

use crate::api;
use crate::arguments::{Out, Text, TextOut};
use crate::codes::{Major, Minor};
use crate::failure::{Failure, Fallible};
use crate::ffi::herr_t;
use crate::h5z::ForeignFilter;

/// Where libhdf5 looks when no variable says more.
const DEFAULT_PATH: &str = "/usr/local/hdf5/lib/plugin";
/// `H5PL_FILTER_PLUGIN`, as a bit of the loading state and as the type that a plugin says.
const FILTERS: c_uint = 1;
const TYPE_FILTER: c_int = 0;
const ALL: c_uint = 0xffff;
/// As many as libhdf5 has.
const PATHS_MAX: usize = 4096;

struct Plugins {
    paths: Vec<String>,
    state: c_uint,
    /// `HDF5_PLUGIN_PRELOAD` is `::`: no plugin is ever loaded.
    is_off: bool,
    /// Libraries that were opened, with the class of the filter that they have. They stay open.
    opened: Vec<(PathBuf, Option<Class>)>,
}

/// The class of a plugin's filter.
#[derive(Clone, Copy)]
struct Class(*const c_void);

// SAFETY: it points to a constant of a library that stays open.
unsafe impl Send for Class {}

static PLUGINS: LazyLock<Mutex<Plugins>> = LazyLock::new(|| {
    let is_off = std::env::var("HDF5_PLUGIN_PRELOAD").is_ok_and(|value| value == "::");
    let given = std::env::var_os("HDF5_PLUGIN_PATH").map(|value| text::from_bytes(value.as_bytes()));
    let given = given.unwrap_or_else(|| DEFAULT_PATH.to_owned());
    let paths = given.split(':').filter(|path| !path.is_empty()).map(str::to_owned).collect();
    Mutex::new(Plugins { paths, state: if is_off { 0 } else { ALL }, is_off, opened: Vec::new() })
});

/// Returns the class that a library has, if it is a plugin with a filter.
fn class_of(path: &Path) -> Option<Class> {
    let name = CString::new(path.as_os_str().as_bytes()).ok()?;
    // SAFETY: the folder was named by the user, for libraries that are meant to be loaded. The two functions have the signatures
    // of H5PLextern.h.
    unsafe {
        let library = libc::dlopen(name.as_ptr(), libc::RTLD_LAZY | libc::RTLD_LOCAL);
        if library.is_null() {
            return None;
        }
        let kind = libc::dlsym(library, c"H5PLget_plugin_type".as_ptr());
        let info = libc::dlsym(library, c"H5PLget_plugin_info".as_ptr());
        if kind.is_null() || info.is_null() {
            return None;
        }
        let kind: unsafe extern "C" fn() -> c_int = std::mem::transmute(kind);
        let info: unsafe extern "C" fn() -> *const c_void = std::mem::transmute(info);
        let class = (kind() == TYPE_FILTER).then(|| info())?;
        (!class.is_null()).then_some(Class(class))
    }
}

/// Returns the shared libraries of a folder, sorted by name.
fn libraries(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    let is_library = |path: &PathBuf| {
        path.file_name().and_then(|name| name.to_str()).is_some_and(|name| name.contains(".so"))
    };
    let mut found: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).filter(is_library).collect();
    found.sort();
    found
}

/// Returns the filter with a number that a plugin has.
pub fn find_filter(id: u16) -> Option<ForeignFilter> {
    let (paths, is_on) = {
        let plugins = PLUGINS.lock();
        (plugins.paths.clone(), plugins.state & FILTERS != 0)
    };
    if !is_on {
        return None;
    }
    let all = paths.iter().flat_map(|folder| libraries(&text::to_path(folder)));
    all.filter_map(|path| filter_in(&path)).find(|filter| filter.id() == id)
}

/// Returns the filter of one library. A library is opened once, without holding the lock: it may call this library.
fn filter_in(path: &Path) -> Option<ForeignFilter> {
    let known = PLUGINS.lock().opened.iter().find(|(opened, _)| opened == path).map(|(_, class)| *class);
    let class = known.unwrap_or_else(|| {
        let class = class_of(path);
        PLUGINS.lock().opened.push((path.to_owned(), class));
        class
    });
    class.and_then(|class| ForeignFilter::read(class.0).ok())
}

fn given(path: Text) -> Fallible<String> {
    let path = path.optional().ok_or_else(|| Failure::argument("plugin_path parameter cannot be NULL"))?;
    match path.is_empty() {
        true => Err(Failure::argument("plugin_path parameter cannot have length zero")),
        false => Ok(path),
    }
}

fn index(plugins: &Plugins, at: c_uint) -> Fallible<usize> {
    let at = at as usize;
    match at < plugins.paths.len() {
        true => Ok(at),
        false => Err(Failure::argument(format!(
            "index path out of bounds for table - can't be more than {}",
            plugins.paths.len().saturating_sub(1)
        ))),
    }
}

fn insert(path: Text, at: impl FnOnce(&Plugins) -> Fallible<usize>) -> Fallible<()> {
    let path = given(path)?;
    let mut plugins = PLUGINS.lock();
    if plugins.paths.len() >= PATHS_MAX {
        return Err(Failure::new(Major::PLUGIN, Minor::NOSPACE, "too many folders with plugins"));
    }
    let at = at(&plugins)?;
    plugins.paths.insert(at, path);
    Ok(())
}

api! { PLUGIN:
    /// Sets which kinds of plugins are loaded. Nothing is loaded where `HDF5_PLUGIN_PRELOAD` says so.
    fn H5PLset_loading_state(plugin_control_mask: c_uint) -> herr_t {
        let mut plugins = PLUGINS.lock();
        if !plugins.is_off {
            plugins.state = plugin_control_mask;
        }
        Ok(())
    }

    /// Returns which kinds of plugins are loaded.
    fn H5PLget_loading_state(plugin_control_mask: Out<c_uint>) -> herr_t {
        let state = PLUGINS.lock().state;
        plugin_control_mask.put_required(state, "plugin_control_mask parameter")
    }

    /// Adds a folder at the end.
    fn H5PLappend(search_path: Text) -> herr_t {
        insert(search_path, |plugins| Ok(plugins.paths.len()))
    }

    /// Adds a folder at the beginning.
    fn H5PLprepend(search_path: Text) -> herr_t {
        insert(search_path, |_| Ok(0))
    }

    /// Adds a folder at a position.
    fn H5PLinsert(search_path: Text, at: c_uint) -> herr_t {
        insert(search_path, |plugins| index(plugins, at))
    }

    /// Replaces a folder.
    fn H5PLreplace(search_path: Text, at: c_uint) -> herr_t {
        let path = given(search_path)?;
        let mut plugins = PLUGINS.lock();
        let at = index(&plugins, at)?;
        plugins.paths[at] = path;
        Ok(())
    }

    /// Removes a folder.
    fn H5PLremove(at: c_uint) -> herr_t {
        let mut plugins = PLUGINS.lock();
        let at = index(&plugins, at)?;
        plugins.paths.remove(at);
        Ok(())
    }

    /// Returns a folder.
    fn H5PLget(at: c_uint, path_buf: TextOut, buf_size: usize) -> isize {
        let plugins = PLUGINS.lock();
        let at = index(&plugins, at)?;
        Ok(path_buf.put_text(buf_size, &plugins.paths[at]))
    }

    /// Returns the number of folders.
    fn H5PLsize(num_paths: Out<c_uint>) -> herr_t {
        let count = PLUGINS.lock().paths.len();
        num_paths.put_required(count as c_uint, "num_paths parameter")
    }
}
