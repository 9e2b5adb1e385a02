//! Drivers that stand on others, or have structs of their own: direct, log, splitter, onion, subfiling, mirror.

use std::ffi::c_int;
use std::sync::Arc;

use super::class::Kind;
use super::driver_structs::{
    H5FD_ioc_config_t, H5FD_mirror_fapl_t, H5FD_onion_fapl_info_t, H5FD_splitter_vfd_config_t,
    H5FD_subfiling_config_t, H5FD_subfiling_params_t, IOC_MAGIC, MIRROR_MAGIC, SPLITTER_MAGIC,
    SUBFILING_MAGIC, passed_on, put_text, text_of,
};
use super::drivers::{choose, info};
use super::list;
use super::values::FileAccessValues;
use crate::api;
use crate::arguments::{Out, Text, Values};
use crate::codes::{Major, Minor};
use crate::failure::{Failure, Fallible};
use crate::ffi::{H5P_DEFAULT, herr_t, hid_t};
use crate::h5fd::{BuiltIn, DriverInfo};

/// A file access list that a driver's properties name; `None` is the default one.
pub type InnerList = Option<Arc<FileAccessValues>>;

/// Properties of the splitter driver.
#[derive(Debug, Clone, Default)]
pub struct SplitterInfo {
    read_write: InnerList,
    write_only: InnerList,
    copy_path: String,
    log: String,
    are_ignored: bool,
}

/// Properties of the onion driver.
#[derive(Debug, Clone)]
pub struct OnionInfo {
    backing: InnerList,
    page_bytes: u32,
    revision: u64,
    force_write_open: u8,
    creation_flags: u8,
    comment: String,
}

/// The revision number that means the latest.
const LATEST: u64 = u64::MAX;
/// The flag that asks for aligned pages.
const PAGE_ALIGNMENT: u8 = 1;
/// The default flags of a log: where is read and written, and what is allocated.
pub(super) const LOG_DEFAULT: &str = "log{flags=0x4000e}";

fn invalid(text: &'static str) -> Failure {
    Failure::new(Major::ARGS, Minor::BADVALUE, text)
}

/// Returns the list that a struct names.
fn inner(id: hid_t) -> Fallible<InnerList> {
    match id {
        H5P_DEFAULT => Ok(None),
        id => Ok(Some(Arc::new(list::get(id, Kind::FileAccess, |values| values.access_ref().cloned())?))),
    }
}

/// Returns the driver of a list, as the registry finds it.
fn inner_text(list: &InnerList) -> Fallible<String> {
    let Some(choice) = list.as_ref().and_then(|list| list.driver.as_ref()) else {
        return Ok("posix".to_owned());
    };
    choice.text.clone().ok_or_else(|| {
        let text = format!(
            "files with the driver \"{}\" under another driver are not supported",
            choice.driver.name()
        );
        Failure::new(Major::PLIST, Minor::UNSUPPORTED, text)
    })
}

/// Returns an identifier of a list, which the program closes.
fn registered(list: &InnerList) -> hid_t {
    super::register_file_access(list.as_deref().cloned().unwrap_or_default())
}

impl SplitterInfo {
    fn read(config: &H5FD_splitter_vfd_config_t) -> Fallible<Self> {
        if config.magic != SPLITTER_MAGIC {
            return Err(invalid("invalid configuration (magic number mismatch)"));
        }
        if config.version != 1 {
            return Err(invalid("invalid config (version number mismatch)"));
        }
        Ok(SplitterInfo {
            read_write: inner(config.rw_fapl_id)?,
            write_only: inner(config.wo_fapl_id)?,
            copy_path: text_of(&config.wo_path),
            log: text_of(&config.log_file_path),
            are_ignored: config.ignore_wo_errs != 0,
        })
    }

    fn parameters(&self) -> Fallible<String> {
        let mut text = format!(
            "inner={}, wo={}, ignore_wo_errors={}",
            inner_text(&self.read_write)?,
            inner_text(&self.write_only)?,
            self.are_ignored
        );
        for (key, path) in [("wo_path", &self.copy_path), ("log", &self.log)] {
            if !path.is_empty() {
                text.push_str(&format!(", {key}={}", passed_on(path, "a path")?));
            }
        }
        Ok(text)
    }
}

impl Default for OnionInfo {
    fn default() -> Self {
        OnionInfo {
            backing: None,
            page_bytes: 4096,
            revision: LATEST,
            force_write_open: 0,
            creation_flags: 0,
            comment: String::new(),
        }
    }
}

impl OnionInfo {
    fn read(config: &H5FD_onion_fapl_info_t) -> Fallible<Self> {
        match config {
            config if config.version != 1 => return Err(invalid("invalid info version")),
            config if !config.page_size.is_power_of_two() => return Err(invalid("invalid info page size")),
            config if config.store_target != 0 => return Err(invalid("invalid store target")),
            _ => {}
        }
        Ok(OnionInfo {
            backing: inner(config.backing_fapl_id)?,
            page_bytes: config.page_size,
            revision: config.revision_num,
            force_write_open: config.force_write_open,
            creation_flags: config.creation_flags,
            comment: text_of(&config.comment).chars().take(255).collect(),
        })
    }

    fn parameters(&self) -> Fallible<String> {
        let mut text = format!("inner={}, page_bytes={}", inner_text(&self.backing)?, self.page_bytes);
        if self.revision != LATEST {
            text.push_str(&format!(", revision={}", self.revision));
        }
        if self.creation_flags & PAGE_ALIGNMENT != 0 {
            text.push_str(", page_alignment=true");
        }
        if !self.comment.is_empty() {
            text.push_str(&format!(", comment={}", passed_on(&self.comment, "the comment of a revision")?));
        }
        Ok(text)
    }
}

/// Returns the parameters of a configuration text as libhdf5's drivers take it (`H5Pset_driver_by_name`). That of the onion
/// driver is a revision, or `{revision_num: 2; page_size: 4;}`; others are in the syntax of the registry.
pub(super) fn of_config(driver: BuiltIn, config: &str) -> Fallible<String> {
    if driver != BuiltIn::Onion {
        return Ok(config.to_owned());
    }
    hyperslab::extend::onion_parameters(config)
        .map_err(|error| Failure::new(Major::VFL, Minor::BADVALUE, error.to_string()))
}

/// Returns a number of the environment, which libhdf5's subfiling driver looks at too.
fn of_environment(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.trim().parse().ok().filter(|number| *number > 0)
}

/// Returns the parameters of files in stripes; the environment takes precedence, as in libhdf5.
pub(super) fn subfiling_parameters(
    params: Option<H5FD_subfiling_params_t>,
    threads: Option<i32>,
) -> Fallible<String> {
    let given = |value: i64| u64::try_from(value).ok().filter(|value| *value > 0);
    let stripe = params.and_then(|params| given(params.stripe_size));
    let count = params.and_then(|params| given(params.stripe_count.into()));
    let threads = threads.and_then(|threads| given(threads.into()));
    let numbers = [
        ("stripe_bytes", of_environment("H5FD_SUBFILING_STRIPE_SIZE").or(stripe)),
        ("subfiles", of_environment("H5FD_SUBFILING_IOC_PER_NODE").or(count)),
        ("threads", of_environment("H5FD_IOC_THREAD_POOL_SIZE").or(threads)),
    ];
    let mut parts: Vec<String> =
        numbers.iter().filter_map(|(key, number)| Some(format!("{key}={}", (*number)?))).collect();
    for (key, name) in [
        ("subfile_folder", "H5FD_SUBFILING_SUBFILE_PREFIX"),
        ("config_folder", "H5FD_SUBFILING_CONFIG_FILE_PREFIX"),
    ] {
        if let Some(path) = std::env::var(name).ok().filter(|path| !path.is_empty()) {
            parts.push(format!("{key}={}", passed_on(&path, name)?));
        }
    }
    Ok(parts.join(", "))
}

/// The properties that the subfiling driver has when none were set.
const SUBFILING_DEFAULT: H5FD_subfiling_params_t =
    H5FD_subfiling_params_t { ioc_selection: 0, stripe_size: 32 << 20, stripe_count: -1 };
/// The threads of concentrators when none were set.
const IOC_THREADS_DEFAULT: i32 = 4;

/// Returns the threads of concentrators that a list has.
fn ioc_threads(list: &InnerList) -> i32 {
    let info = list.as_ref().and_then(|list| list.driver.as_ref()).and_then(|choice| choice.info.as_deref());
    match info {
        Some(DriverInfo::Ioc { threads }) => *threads,
        _ => IOC_THREADS_DEFAULT,
    }
}

api! { PLIST:
    /// Sets the driver of files that bypass the system's cache.
    fn H5Pset_fapl_direct(fapl_id: hid_t, alignment: usize, block_size: usize, cbuf_size: usize) -> herr_t {
        let (alignment, block) = (if alignment == 0 { 4096 } else { alignment }, if block_size == 0 { 4096 } else { block_size });
        let copy = if cbuf_size == 0 { 16 << 20 } else { cbuf_size };
        if !copy.is_multiple_of(block) {
            return Err(invalid("copy buffer size must be a multiple of block size"));
        }
        let parameters = format!("alignment={alignment}, block_bytes={block}, copy_buffer_bytes={copy}");
        choose(fapl_id, BuiltIn::Direct, &parameters, Some(DriverInfo::Direct { alignment, block, copy }))
    }

    /// Returns the properties of files that bypass the system's cache.
    fn H5Pget_fapl_direct(fapl_id: hid_t, boundary: Out<usize>, block_size: Out<usize>, cbuf_size: Out<usize>) -> herr_t {
        let (alignment, block, copy) = match info(fapl_id, BuiltIn::Direct)?.as_deref() {
            Some(DriverInfo::Direct { alignment, block, copy }) => (*alignment, *block, *copy),
            _ => (4096, 4096, 16 << 20),
        };
        boundary.put(alignment);
        block_size.put(block);
        cbuf_size.put(copy);
        Ok(())
    }

    /// Sets the driver of ordinary files whose accesses are logged.
    fn H5Pset_fapl_log(fapl_id: hid_t, logfile: Text, flags: u64, buf_size: usize) -> herr_t {
        let file = logfile.optional();
        let mut parameters = format!("flags={flags}, tracked_bytes={buf_size}");
        if let Some(path) = &file {
            parameters.push_str(&format!(", to={}", passed_on(path, "the path of a log")?));
        }
        choose(fapl_id, BuiltIn::Log, &parameters, Some(DriverInfo::Log { file, flags, buffer_bytes: buf_size }))
    }

    /// Sets the driver of files with a second copy that is written only.
    fn H5Pset_fapl_splitter(fapl_id: hid_t, vfd_config: Values<H5FD_splitter_vfd_config_t>) -> herr_t {
        let info = SplitterInfo::read(vfd_config.one("configuration of the splitter driver")?)?;
        choose(fapl_id, BuiltIn::Splitter, &info.parameters()?, Some(DriverInfo::Splitter(Box::new(info))))
    }

    /// Returns the properties of files with a second copy. The program closes the lists.
    fn H5Pget_fapl_splitter(fapl_id: hid_t, config_ptr: Out<H5FD_splitter_vfd_config_t>) -> herr_t {
        config_ptr.check("config pointer")?;
        let splitter = match info(fapl_id, BuiltIn::Splitter)?.as_deref() {
            Some(DriverInfo::Splitter(info)) => (**info).clone(),
            _ => SplitterInfo::default(),
        };
        config_ptr.put(H5FD_splitter_vfd_config_t {
            magic: SPLITTER_MAGIC,
            version: 1,
            rw_fapl_id: registered(&splitter.read_write),
            wo_fapl_id: registered(&splitter.write_only),
            wo_path: put_text(&splitter.copy_path),
            log_file_path: put_text(&splitter.log),
            ignore_wo_errs: splitter.are_ignored.into(),
        });
        Ok(())
    }

    /// Sets the driver of files with revisions.
    fn H5Pset_fapl_onion(fapl_id: hid_t, fa: Values<H5FD_onion_fapl_info_t>) -> herr_t {
        let info = OnionInfo::read(fa.one("info pointer")?)?;
        choose(fapl_id, BuiltIn::Onion, &info.parameters()?, Some(DriverInfo::Onion(Box::new(info))))
    }

    /// Returns the properties of files with revisions. The program closes the list.
    fn H5Pget_fapl_onion(fapl_id: hid_t, fa_out: Out<H5FD_onion_fapl_info_t>) -> herr_t {
        fa_out.check("info-out pointer")?;
        let onion = match info(fapl_id, BuiltIn::Onion)?.as_deref() {
            Some(DriverInfo::Onion(info)) => (**info).clone(),
            _ => return Err(Failure::new(Major::ARGS, Minor::BADVALUE, "bad VFL driver info")),
        };
        fa_out.put(H5FD_onion_fapl_info_t {
            version: 1,
            backing_fapl_id: if onion.backing.is_some() { registered(&onion.backing) } else { H5P_DEFAULT },
            page_size: onion.page_bytes,
            store_target: 0,
            revision_num: onion.revision,
            force_write_open: onion.force_write_open,
            creation_flags: onion.creation_flags,
            comment: put_text(&onion.comment),
        });
        Ok(())
    }

    /// Sets the driver of files in stripes over subfiles. NULL sets the default properties.
    fn H5Pset_fapl_subfiling(fapl_id: hid_t, vfd_config: Values<H5FD_subfiling_config_t>) -> herr_t {
        let (params, threads) = match vfd_config.optional(1) {
            None => (SUBFILING_DEFAULT, IOC_THREADS_DEFAULT),
            Some(config) if config[0].magic != SUBFILING_MAGIC || config[0].version != 1 => {
                return Err(invalid("invalid subfiling VFD configuration: incorrect magic number or version"));
            }
            Some(config) => (config[0].shared_cfg, ioc_threads(&inner(config[0].ioc_fapl_id)?)),
        };
        let parameters = subfiling_parameters(Some(params), Some(threads))?;
        choose(fapl_id, BuiltIn::Subfiling, &parameters, Some(DriverInfo::Subfiling { params, threads }))
    }

    /// Returns the properties of files in stripes, or the default ones. The program closes the list.
    fn H5Pget_fapl_subfiling(fapl_id: hid_t, config_out: Out<H5FD_subfiling_config_t>) -> herr_t {
        config_out.check("configuration")?;
        let (params, threads) = match info(fapl_id, BuiltIn::Subfiling).ok().flatten().as_deref() {
            Some(DriverInfo::Subfiling { params, threads }) => (*params, *threads),
            _ => (SUBFILING_DEFAULT, IOC_THREADS_DEFAULT),
        };
        let list = registered(&None);
        choose(list, BuiltIn::Ioc, "", Some(DriverInfo::Ioc { threads }))?;
        config_out.put(H5FD_subfiling_config_t {
            magic: SUBFILING_MAGIC,
            version: 1,
            ioc_fapl_id: list,
            require_ioc: 1,
            shared_cfg: params,
        });
        Ok(())
    }

    /// Sets the driver of concentrators, which here are threads. NULL sets the default properties.
    fn H5Pset_fapl_ioc(fapl_id: hid_t, vfd_config: Values<H5FD_ioc_config_t>) -> herr_t {
        let threads = match vfd_config.optional(1) {
            None => IOC_THREADS_DEFAULT,
            Some(config) if config[0].magic != IOC_MAGIC || config[0].version != 1 || config[0].thread_pool_size <= 0 => {
                return Err(invalid("invalid IOC VFD configuration"));
            }
            Some(config) => config[0].thread_pool_size,
        };
        choose(fapl_id, BuiltIn::Ioc, &subfiling_parameters(None, Some(threads))?, Some(DriverInfo::Ioc { threads }))
    }

    /// Returns the properties of concentrators, or the default ones.
    fn H5Pget_fapl_ioc(fapl_id: hid_t, config_out: Out<H5FD_ioc_config_t>) -> herr_t {
        config_out.check("configuration")?;
        let threads = match info(fapl_id, BuiltIn::Ioc).ok().flatten().as_deref() {
            Some(DriverInfo::Ioc { threads }) => *threads,
            _ => IOC_THREADS_DEFAULT,
        };
        config_out.put(H5FD_ioc_config_t { magic: IOC_MAGIC, version: 1, thread_pool_size: threads });
        Ok(())
    }

    /// Sets the driver of files that are written on a server.
    fn H5Pset_fapl_mirror(fapl_id: hid_t, fa: Values<H5FD_mirror_fapl_t>) -> herr_t {
        let config = fa.one("null fapl_t pointer")?;
        if config.magic != MIRROR_MAGIC || config.version != 1 {
            return Err(invalid("invalid fapl_t magic or version"));
        }
        let host = passed_on(&text_of(&config.remote_ip), "the address of a server")?;
        let parameters = format!("host={host}, port={}", config.handshake_port);
        let info = DriverInfo::Mirror { host, port: config.handshake_port };
        choose(fapl_id, BuiltIn::Mirror, &parameters, Some(info))
    }

    /// Returns the properties of files that are written on a server.
    fn H5Pget_fapl_mirror(fapl_id: hid_t, fa_dst: Out<H5FD_mirror_fapl_t>) -> herr_t {
        fa_dst.check("fa_dst pointer")?;
        let (host, port): (String, c_int) = match info(fapl_id, BuiltIn::Mirror)?.as_deref() {
            Some(DriverInfo::Mirror { host, port }) => (host.clone(), *port),
            _ => return Err(Failure::new(Major::PLIST, Minor::BADVALUE, "unable to get driver info")),
        };
        fa_dst.put(H5FD_mirror_fapl_t { magic: MIRROR_MAGIC, version: 1, handshake_port: port, remote_ip: put_text(&host) });
        Ok(())
    }
}
