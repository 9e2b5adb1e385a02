//! Properties of access lists of links, datasets and maps, and of lists of transfers, copies and mounts.

use std::sync::Arc;

use hyperslab::vol::model::bytes::{Cursor, Put};
use hyperslab::vol::model::{Error, Result, text};

use super::access::{put_text, take_text};
use super::{Form, Row, absent, custom, expect_width, hidden, number, other, put_sized, take_sized};
use crate::h5p::class::Kind;
use crate::h5p::encode::{decode_list, encode_list};
use crate::h5p::list::PropertyList;
use crate::h5p::list_values::ListValues;
use crate::h5p::values::ChunkCache;

/// `H5F_ACC_DEFAULT`: the flags of the file that a link is in.
pub(crate) const FLAGS_DEFAULT: u32 = 0xffff;

/// Encodes and decodes a text that stands in one field.
macro_rules! text_row {
    ($name:literal, $part:ident . $field:ident) => {
        other(
            $name,
            8,
            |values| Ok(put_text(values.$part().ok_or_else(absent)?.$field.as_deref())),
            |values, cursor| {
                values.$part().ok_or_else(absent)?.$field = take_text(cursor)?;
                Ok(())
            },
        )
    };
}

pub(super) const LINK: &[Row] = &[
    hidden("external link callback", 16),
    number!("max soft links", 8, Sized, v => v.link()?.traversals_max),
    text_row!("external link prefix", link.external_prefix),
    custom("external link flags", 4, Form::Unsigned, |values, new| {
        let flags = &mut values.link()?.external_flags;
        if let Some(new) = new {
            *flags = Some(new as u32).filter(|new| *new != FLAGS_DEFAULT);
        }
        Some(flags.unwrap_or(FLAGS_DEFAULT).into())
    }),
    other("external link fapl", 8, put_fapl, take_fapl),
];

fn put_fapl(values: &mut ListValues) -> Result<Vec<u8>> {
    let Some(access) = values.link().ok_or_else(absent)?.external_access.clone() else { return Ok(vec![0]) };
    let list =
        PropertyList::with_values(Kind::FileAccess, ListValues::FileAccess(Box::new((*access).clone())));
    let bytes = encode_list(&list)?;
    let mut out = vec![1];
    put_sized(&mut out, bytes.len() as u64);
    out.extend(bytes);
    Ok(out)
}

fn take_fapl(values: &mut ListValues, cursor: &mut Cursor<'_>) -> Result<()> {
    let link = values.link().ok_or_else(absent)?;
    link.external_access = None;
    if cursor.u8()? != 0 {
        let len = usize::try_from(take_sized(cursor)?).map_err(|_| cursor.corrupt("length of a list"))?;
        let list = decode_list(cursor.take(len)?)?;
        let access = list.look(|values| values.access_ref().cloned());
        link.external_access = access.map(Arc::new);
    }
    Ok(())
}

fn cache(values: &mut ListValues) -> Option<&mut ChunkCache> {
    Some(values.dataset_access()?.chunk_cache.get_or_insert(ChunkCache::OF_FILE))
}

pub(super) const DATASET: &[Row] = &[
    number!("rdcc_w0", 8, Wide, v => cache(v)?.preemption),
    text_row!("vds_prefix", dataset_access.virtual_prefix),
    text_row!("external file prefix", dataset_access.external_prefix),
    hidden("append_flush", 280),
    custom("tree", 1, Form::Byte, |values, new| {
        let tree = &mut values.dataset_access()?.virtual_spatial_tree;
        if let Some(new) = new {
            *tree = new & 1 != 0;
        }
        Some((*tree).into())
    }),
    custom("vds_view", 4, Form::Byte, |values, new| {
        let first_missing = &mut values.dataset_access()?.virtual_first_missing;
        if let Some(new) = new {
            *first_missing = new == 0;
        }
        Some(u64::from(!*first_missing))
    }),
    number!("vds_printf_gap", 8, Sized, v => v.dataset_access()?.virtual_printf_gap),
    number!("rdcc_nbytes", 8, CacheSized, v => cache(v)?.bytes),
    number!("rdcc_nslots", 8, CacheSized, v => cache(v)?.slots),
];

pub(super) const MAP: &[Row] = &[
    number!("key_prefetch_size", 8, Sized, v => v.map_access()?.key_prefetch),
    number!("key_alloc_size", 8, Sized, v => v.map_access()?.key_alloc_bytes),
];

pub(super) const MOUNT: &[Row] = &[number!("local", 1, Not, v => v.mount()?.is_local)];

pub(super) const COPY: &[Row] = &[
    hidden("committed dtype list search", 16),
    other("merge committed dtype list", 8, put_paths, take_paths),
    number!("copy object", 4, Unsigned, v => v.copy()?.flags),
];

fn put_paths(values: &mut ListValues) -> Result<Vec<u8>> {
    let mut out = Vec::new();
    for path in &values.copy().ok_or_else(absent)?.merge_paths {
        out.extend(text::to_bytes(path));
        out.push(0);
    }
    out.push(0);
    Ok(out)
}

fn take_paths(values: &mut ListValues, cursor: &mut Cursor<'_>) -> Result<()> {
    let copy = values.copy().ok_or_else(absent)?;
    copy.merge_paths.clear();
    loop {
        match cursor.until_nul()? {
            [] => return Ok(()),
            path => copy.merge_paths.push(text::from_bytes(path)),
        }
    }
}

pub(super) const TRANSFER: &[Row] = &[
    hidden("global_no_collective_cause", 4),
    hidden("bkgr_buf", 8),
    number!("selection_io_mode", 4, Byte, v => v.transfer()?.selection_io),
    hidden("actual_selection_io_mode", 4),
    number!("mpio_chunk_opt_ratio", 4, Unsigned, v => v.transfer()?.chunk_opt_ratio),
    other("btree_split_ratio", 24, put_ratios, take_ratios),
    hidden("actual_io_mode", 4),
    number!("max_temp_buf", 8, Sized, v => v.transfer()?.buffer_bytes),
    hidden("local_no_collective_cause", 4),
    hidden("actual_chunk_opt_mode", 4),
    hidden("vlen_alloc_info", 8),
    number!("err_detect", 4, Byte, v => v.transfer()?.edc_check),
    hidden("vlen_alloc", 8),
    number!("mpio_collective_opt", 4, Byte, v => v.transfer()?.collective_opt),
    hidden("dset_io_selection", 8),
    number!("modify_write_buf", 1, Byte, v => v.transfer()?.modify_write_buffer),
    hidden("tconv_buf", 8),
    custom("bkgr_buf_type", 4, Form::Byte, |values, new| {
        let preserve = &mut values.transfer()?.preserve;
        if let Some(new) = new {
            *preserve = new != 0;
        }
        // `H5T_BKG_YES` and `H5T_BKG_NO`
        Some(if *preserve { 2 } else { 0 })
    }),
    other("data_transform", 8, put_transform, take_transform),
    number!("vec_size", 8, Sized, v => v.transfer()?.hyper_vector_size),
    hidden("vlen_free", 8),
    hidden("no_selection_io_cause", 4),
    number!("mpio_chunk_opt_hard", 4, Byte, v => v.transfer()?.chunk_opt),
    hidden("type_conv_cb", 16),
    hidden("filter_cb", 16),
    number!("mpio_chunk_opt_num", 4, Unsigned, v => v.transfer()?.chunk_opt_num),
    hidden("vlen_free_info", 8),
    number!("io_xfer_mode", 4, Byte, v => v.transfer()?.is_collective),
];

fn put_ratios(values: &mut ListValues) -> Result<Vec<u8>> {
    let ratios = values.transfer().ok_or_else(absent)?.btree_ratios;
    let mut out = vec![8];
    ratios.iter().for_each(|ratio| out.put_uint(ratio.to_bits(), 8));
    Ok(out)
}

fn take_ratios(values: &mut ListValues, cursor: &mut Cursor<'_>) -> Result<()> {
    expect_width(cursor, 8)?;
    let transfer = values.transfer().ok_or_else(absent)?;
    for ratio in &mut transfer.btree_ratios {
        *ratio = f64::from_bits(cursor.u64()?);
    }
    Ok(())
}

/// The text of a transform has a NUL, unlike other texts.
fn put_transform(values: &mut ListValues) -> Result<Vec<u8>> {
    let transform = values.transfer().ok_or_else(absent)?.transform.clone();
    Ok(put_text(transform.map(|text| text + "\0").as_deref()))
}

fn take_transform(values: &mut ListValues, cursor: &mut Cursor<'_>) -> Result<()> {
    let transform = take_text(cursor)?;
    if transform.as_deref().is_some_and(|text| crate::h5p::transform::check(text).is_err()) {
        return Err(Error::corrupt("decode data transform"));
    }
    values.transfer().ok_or_else(absent)?.transform = transform;
    Ok(())
}
