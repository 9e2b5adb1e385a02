//! The driver of objects of S3 (`ros3`), with its credentials.

use std::fmt;
#[cfg(feature = "cloud")]
use std::sync::Arc;

#[cfg(feature = "cloud")]
use hyperslab::extend::{ConfiguredS3Driver, S3Credentials, S3Settings};
use hyperslab::vol::Registry;

use super::driver_structs::{H5FD_ros3_fapl_t, put_text, text_of};
use super::drivers::{choose, info};
use super::file_access::change;
use crate::api;
use crate::arguments::{Out, Text, TextOut, Values};
use crate::codes::{Major, Minor};
use crate::failure::{Failure, Fallible};
use crate::ffi::{herr_t, hid_t};
use crate::h5fd::{BuiltIn, DriverInfo};

/// `H5FD_CURR_ROS3_FAPL_T_VERSION`
const VERSION: i32 = 1;
/// `H5FD_ROS3_MAX_SECRET_TOK_LEN`
const TOKEN_BYTES_MAX: usize = 4096;
/// `HDF5_ROS3_VFD_DEFAULT_BLOCK_SIZE`
const BLOCK_BYTES: usize = 16 << 20;
/// `HDF5_ROS3_VFD_DEFAULT_BLOCK_CACHE_SIZE`
const BLOCK_CACHE_BYTES: usize = 128 << 20;
/// Bytes of the page buffer that libhdf5 gives a list with this driver, if it has none.
const PAGE_BUFFER_BYTES: usize = 64 << 20;

/// Properties of objects of S3.
#[derive(Clone)]
pub struct Ros3Info {
    is_authenticated: bool,
    region: String,
    secret_id: String,
    secret_key: String,
    token: Option<String>,
    endpoint: Option<String>,
    blocks: BlockCaching,
}

impl fmt::Debug for Ros3Info {
    /// Credentials are never printed.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ros3Info")
            .field("region", &self.region)
            .field("endpoint", &self.endpoint)
            .finish_non_exhaustive()
    }
}

/// How much of an object is cached in memory.
#[derive(Debug, Clone, Copy)]
struct BlockCaching {
    block_bytes: usize,
    cache_bytes: usize,
    is_superblock_locked: bool,
}

fn some(text: &str) -> Option<String> {
    Some(text.to_owned()).filter(|text| !text.is_empty())
}

impl Ros3Info {
    fn read(config: &H5FD_ros3_fapl_t) -> Fallible<Self> {
        if config.version != VERSION {
            return Err(Failure::new(Major::ARGS, Minor::BADVALUE, "Unknown fapl version"));
        }
        Ok(Ros3Info {
            is_authenticated: config.authenticate != 0,
            region: text_of(&config.aws_region),
            secret_id: text_of(&config.secret_id),
            secret_key: text_of(&config.secret_key),
            token: None,
            endpoint: None,
            blocks: BlockCaching {
                block_bytes: BLOCK_BYTES,
                cache_bytes: BLOCK_CACHE_BYTES,
                is_superblock_locked: true,
            },
        })
    }

    #[cfg(feature = "cloud")]
    fn settings(&self) -> Fallible<S3Settings> {
        if self.is_authenticated && (self.secret_id.is_empty() || self.secret_key.is_empty()) {
            let text = "an identification and a key are needed to authenticate";
            return Err(Failure::new(Major::ARGS, Minor::BADVALUE, text));
        }
        let credentials = self.is_authenticated.then(|| S3Credentials {
            access_key_id: self.secret_id.clone(),
            secret_access_key: self.secret_key.clone(),
            session_token: self.token.clone(),
        });
        Ok(S3Settings { region: some(&self.region), endpoint: self.endpoint.clone(), credentials })
    }

    /// Fails: this build has no driver of objects of S3.
    #[cfg(not(feature = "cloud"))]
    pub fn prepare(&self, _registry: &mut Registry) -> Fallible<String> {
        Err(crate::h5fd::absent("ros3"))
    }

    /// Adds a driver with these properties to the registry of one file, and returns its name with parameters.
    #[cfg(feature = "cloud")]
    pub fn prepare(&self, registry: &mut Registry) -> Fallible<String> {
        registry.register_driver(Arc::new(ConfiguredS3Driver::new(self.settings()?)))?;
        let name = ConfiguredS3Driver::NAME;
        Ok(match self.blocks {
            BlockCaching { block_bytes: 0, .. } | BlockCaching { cache_bytes: 0, .. } => name.to_owned(),
            BlockCaching { cache_bytes, .. } => format!("{name}{{memory_bytes={cache_bytes}}}"),
        })
    }
}

/// Returns the properties that a list has.
fn ros3(id: hid_t) -> Fallible<Ros3Info> {
    match info(id, BuiltIn::Ros3)?.as_deref() {
        Some(DriverInfo::Ros3(info)) => Ok((**info).clone()),
        _ => Err(Failure::new(Major::PLIST, Minor::BADVALUE, "bad VFL driver info")),
    }
}

fn set(id: hid_t, info: Ros3Info) -> Fallible<()> {
    choose(id, BuiltIn::Ros3, "", Some(DriverInfo::Ros3(Box::new(info))))
}

fn put_optional(to: TextOut, size: usize, value: Option<&String>) -> Fallible<()> {
    if size == 0 || to.0.is_null() {
        return Err(Failure::argument("size cannot be zero, and a buffer is needed"));
    }
    to.put_text(size, value.map_or("", String::as_str));
    Ok(())
}

api! { PLIST:
    /// Sets the driver of objects of S3. A list without a page buffer gets one.
    fn H5Pset_fapl_ros3(fapl_id: hid_t, fa: Values<H5FD_ros3_fapl_t>) -> herr_t {
        super::list::list_of(fapl_id, super::Kind::FileAccess)?;
        set(fapl_id, Ros3Info::read(fa.one("ros3 fapl config")?)?)?;
        change(fapl_id, &["page_buffer_size"], |access| {
            if access.page_buffer.0 == 0 {
                access.page_buffer.0 = PAGE_BUFFER_BYTES;
            }
        })
    }

    /// Returns the properties of objects of S3.
    fn H5Pget_fapl_ros3(fapl_id: hid_t, fa_out: Out<H5FD_ros3_fapl_t>) -> herr_t {
        fa_out.check("fa_out")?;
        let info = ros3(fapl_id)?;
        fa_out.put(H5FD_ros3_fapl_t {
            version: VERSION,
            authenticate: info.is_authenticated.into(),
            aws_region: put_text(&info.region),
            secret_id: put_text(&info.secret_id),
            secret_key: put_text(&info.secret_key),
        });
        Ok(())
    }

    /// Sets the token of temporary credentials.
    fn H5Pset_fapl_ros3_token(fapl_id: hid_t, token: Text) -> herr_t {
        let token = token.required("token")?;
        if token.len() > TOKEN_BYTES_MAX {
            return Err(Failure::argument("specified token exceeds the internally specified maximum string length"));
        }
        set(fapl_id, Ros3Info { token: some(&token), ..ros3(fapl_id)? })
    }

    /// Returns the token of temporary credentials.
    fn H5Pget_fapl_ros3_token(fapl_id: hid_t, size: usize, token: TextOut) -> herr_t {
        put_optional(token, size, ros3(fapl_id)?.token.as_ref())
    }

    /// Sets the address of a server with the interface of S3.
    fn H5Pset_fapl_ros3_endpoint(fapl_id: hid_t, endpoint: Text) -> herr_t {
        let endpoint = endpoint.required("endpoint")?;
        set(fapl_id, Ros3Info { endpoint: some(&endpoint), ..ros3(fapl_id)? })
    }

    /// Returns the address of a server with the interface of S3.
    fn H5Pget_fapl_ros3_endpoint(fapl_id: hid_t, size: usize, endpoint: TextOut) -> herr_t {
        put_optional(endpoint, size, ros3(fapl_id)?.endpoint.as_ref())
    }

    /// Sets how much of an object is cached in memory. Blocks have the sizes that this library finds best.
    fn H5Pset_fapl_ros3_block_caching(fapl_id: hid_t, block_size: usize, block_cache_size: usize, lock_superblock: bool) -> herr_t {
        let blocks = BlockCaching {
            block_bytes: block_size.min(block_cache_size),
            cache_bytes: block_cache_size,
            is_superblock_locked: lock_superblock,
        };
        set(fapl_id, Ros3Info { blocks, ..ros3(fapl_id)? })
    }

    /// Returns how much of an object is cached in memory.
    fn H5Pget_fapl_ros3_block_caching(fapl_id: hid_t, block_size: Out<usize>, block_cache_size: Out<usize>, lock_superblock: Out<bool>) -> herr_t {
        let blocks = ros3(fapl_id)?.blocks;
        block_size.put(blocks.block_bytes);
        block_cache_size.put(blocks.cache_bytes);
        lock_superblock.put(blocks.is_superblock_locked);
        Ok(())
    }
}
