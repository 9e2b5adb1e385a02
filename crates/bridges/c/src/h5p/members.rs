//! Drivers whose files have members: split and multi.

use std::ffi::{c_char, c_int};

use super::drivers::{choose, info};
use super::list;
use super::values::FileAccessValues;
use crate::api;
use crate::arguments::{Out, Text, Values};
use crate::codes::{Major, Minor};
use crate::failure::{Failure, Fallible};
use crate::ffi::{H5P_DEFAULT, HADDR_UNDEF, allocate_text, haddr_t, herr_t, hid_t};
use crate::h5fd::{BuiltIn, DriverInfo};
use crate::stack::c_text;

/// Kinds of bytes (`H5FD_mem_t`), from `H5FD_MEM_DEFAULT` on.
const KINDS: usize = 7;

/// What libhdf5 puts after the name for each kind.
const NAMES: [&str; KINDS] = ["%s-X.h5", "%s-s.h5", "%s-b.h5", "%s-r.h5", "%s-g.h5", "%s-l.h5", "%s-o.h5"];
/// The split driver puts raw data and global heaps into one file, and all others into another.
const SPLIT_MAP: [c_int; KINDS] = [1, 1, 1, 3, 3, 1, 1];
/// Where each kind begins: the space of addresses in equal parts.
const PART: haddr_t = HADDR_UNDEF / 6;

/// Properties of files for each kind of bytes.
#[derive(Debug, Clone)]
pub struct MultiInfo {
    map: [c_int; KINDS],
    members: Vec<Option<FileAccessValues>>,
    names: Vec<String>,
    addresses: [haddr_t; KINDS],
    relax: bool,
}

impl Default for MultiInfo {
    fn default() -> Self {
        let mut addresses = [HADDR_UNDEF; KINDS];
        for (kind, address) in addresses.iter_mut().enumerate() {
            *address = if kind > 1 { (kind as u64 - 1) * PART } else { 0 };
        }
        MultiInfo {
            map: [0; KINDS],
            members: vec![None; KINDS],
            names: NAMES.map(str::to_owned).to_vec(),
            addresses,
            relax: true,
        }
    }
}

/// Members of files are ordinary files: returns an error for other drivers.
pub(super) fn check_member(member: Option<&FileAccessValues>) -> Fallible<()> {
    let Some(driver) = member.and_then(|member| member.driver.as_ref()) else { return Ok(()) };
    match driver.text.as_deref() {
        Some("posix") => Ok(()),
        _ => Err(Failure::new(
            Major::PLIST,
            Minor::UNSUPPORTED,
            format!("member files with the driver \"{}\" are not supported", driver.driver.name()),
        )),
    }
}

fn member(id: hid_t) -> Fallible<Option<FileAccessValues>> {
    if id == H5P_DEFAULT {
        return Ok(None);
    }
    let member = list::get(id, super::Kind::FileAccess, |values| values.access_ref().cloned())?;
    check_member(Some(&member))?;
    Ok(Some(member))
}

fn given(
    map: Values<c_int>,
    fapls: Values<hid_t>,
    names: Values<Text>,
    addresses: Values<haddr_t>,
    relax: bool,
) -> Fallible<MultiInfo> {
    let mut info = MultiInfo { relax, ..MultiInfo::default() };
    if let Some(map) = map.optional(KINDS) {
        info.map.copy_from_slice(map);
    }
    if let Some(fapls) = fapls.optional(KINDS) {
        info.members = fapls.iter().map(|id| member((*id).max(0))).collect::<Fallible<_>>()?;
    }
    if let Some(names) = names.optional(KINDS) {
        info.names = names.iter().map(|name| name.optional().unwrap_or_default()).collect();
    }
    if let Some(addresses) = addresses.optional(KINDS) {
        info.addresses.copy_from_slice(addresses);
    }
    Ok(info)
}

/// The registry's driver has libhdf5's defaults: a file for each kind, with its names. Others are an error, as they would be
/// other files.
fn check_default(info: &MultiInfo) -> Fallible<()> {
    let default = MultiInfo::default();
    let is_itself =
        |map: &[c_int; KINDS]| map.iter().enumerate().all(|(kind, to)| *to == 0 || *to == kind as c_int);
    let has_names =
        (1..KINDS).all(|kind| info.names[kind].is_empty() || info.names[kind] == default.names[kind]);
    match is_itself(&info.map) && has_names {
        true => Ok(()),
        false => Err(Failure::new(
            Major::PLIST,
            Minor::UNSUPPORTED,
            "multi files with names or maps of their own are not supported",
        )),
    }
}

/// A map that puts all kinds but raw data into one file is the split driver's.
fn split_names(info: &MultiInfo) -> Option<(String, String)> {
    let is_split = info.map[1..] == SPLIT_MAP[1..];
    let name = |at: usize| info.names[at].strip_prefix("%s").map(str::to_owned);
    is_split.then(|| Some((name(1)?, name(3)?))).flatten()
}

fn set_split(id: hid_t, metadata: &str, raw: &str, info: DriverInfo) -> Fallible<()> {
    if [metadata, raw].iter().any(|name| name.contains(['{', '}', ',', '|', '='])) {
        return Err(Failure::argument("names of member files have characters that cannot be passed on"));
    }
    choose(id, BuiltIn::Multi, "", Some(info))?;
    // libhdf5 has no driver of its own for this, and neither does its identifier.
    super::file_access::change(id, &["vfd_info"], |access| {
        if let Some(choice) = &mut access.driver {
            choice.text = Some(format!("split{{metadata={metadata}, raw={raw}}}"));
        }
    })
}

/// libhdf5 takes a name with `%s` as it is, and puts others after the path.
fn suffix(name: Text, default: &str) -> Fallible<String> {
    let name = name.optional().unwrap_or_else(|| default.to_owned());
    match name.split_once("%s") {
        None => Ok(name),
        Some(("", rest)) => Ok(rest.to_owned()),
        Some(_) => {
            Err(Failure::new(Major::PLIST, Minor::UNSUPPORTED, "names with text before %s are not supported"))
        }
    }
}

api! { PLIST:
    /// Sets the driver of files with metadata in one file and raw data in another.
    fn H5Pset_fapl_split(fapl: hid_t, meta_ext: Text, meta_plist_id: hid_t, raw_ext: Text, raw_plist_id: hid_t) -> herr_t {
        member(meta_plist_id)?;
        member(raw_plist_id)?;
        let (metadata, raw) = (suffix(meta_ext, ".meta")?, suffix(raw_ext, ".raw")?);
        let mut info = MultiInfo { map: SPLIT_MAP, ..MultiInfo::default() };
        info.names = (0..KINDS).map(|kind| if kind == 3 { format!("%s{raw}") } else { format!("%s{metadata}") }).collect();
        info.addresses = [0, 0, 0, HADDR_UNDEF / 2, 0, 0, 0];
        set_split(fapl, &metadata, &raw, DriverInfo::Multi(Box::new(info)))
    }

    /// Sets the driver of files for each kind of bytes.
    fn H5Pset_fapl_multi(
        fapl_id: hid_t, memb_map: Values<c_int>, memb_fapl: Values<hid_t>, memb_name: Values<Text>,
        memb_addr: Values<haddr_t>, relax: bool,
    ) -> herr_t {
        let info = given(memb_map, memb_fapl, memb_name, memb_addr, relax)?;
        if let Some((metadata, raw)) = split_names(&info) {
            return set_split(fapl_id, &metadata, &raw, DriverInfo::Multi(Box::new(info)));
        }
        check_default(&info)?;
        choose(fapl_id, BuiltIn::Multi, "", Some(DriverInfo::Multi(Box::new(info))))
    }

    /// Returns the properties of files for each kind of bytes. The program frees names and closes lists.
    fn H5Pget_fapl_multi(
        fapl_id: hid_t, memb_map: Out<c_int>, memb_fapl: Out<hid_t>, memb_name: Out<*mut c_char>,
        memb_addr: Out<haddr_t>, relax: Out<bool>,
    ) -> herr_t {
        let found = info(fapl_id, BuiltIn::Multi)?;
        let multi = match found.as_deref() {
            Some(DriverInfo::Multi(info)) => (**info).clone(),
            _ => MultiInfo::default(),
        };
        memb_map.put_all(&multi.map, KINDS);
        memb_addr.put_all(&multi.addresses, KINDS);
        relax.put(multi.relax);
        if memb_fapl.is_wanted() {
            let lists = multi.members.iter().map(|member| super::register_file_access(member.clone().unwrap_or_default()));
            memb_fapl.put_all(&lists.collect::<Vec<_>>(), KINDS);
        }
        if memb_name.is_wanted() {
            let names = multi.names.iter().map(|name| allocate_text(c_text(name).as_bytes()));
            memb_name.put_all(&names.collect::<Vec<_>>(), KINDS);
        }
        Ok(())
    }
}
