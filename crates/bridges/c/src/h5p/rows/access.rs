//! Properties of file access lists.

use hyperslab::vol::model::bytes::{Cursor, Put};
use hyperslab::vol::model::{Result, text};

use super::{Form, Row, absent, cache, custom, expect_width, hidden, number, other, put_sized, take_sized};
use crate::h5p::list_values::ListValues;

const fn created(row: Row) -> Row {
    Row { is_created: true, ..row }
}

pub(super) const FILE: &[Row] = &[
    hidden("want_posix_fd", 1),
    number!("align", 8, Sized, v => v.access()?.alignment),
    hidden("clear_status_flags", 1),
    number!("metadata_read_attempts", 4, Unsigned, v => v.access()?.metadata_read_attempts),
    number!("page_buffer_size", 8, Sized, v => v.access()?.page_buffer.0),
    other("mdc_initCacheImageCfg", 12, put_image_config, take_image_config),
    number!("rdcc_w0", 8, Wide, v => v.access()?.chunk_cache.preemption),
    number!("evict_on_close_flag", 1, Byte, v => v.access()?.is_evicted_on_close),
    number!("efc_size", 4, Unsigned, v => v.access()?.external_file_cache),
    hidden("family_to_single", 1),
    created(hidden("vol_connector_info", 16)),
    number!("close_degree", 4, Byte, v => v.access()?.close_degree),
    number!("sdata_block_size", 8, Sized, v => v.access()?.small_data_block_bytes),
    other("mdc_log_location", 8, put_log_location, take_log_location),
    number!("meta_block_size", 8, Sized, v => v.access()?.metadata_block_bytes),
    number!("sieve_buf_size", 8, Sized, v => v.access()?.sieve_buffer_bytes),
    number!("family_offset", 8, Sized, v => v.access()?.family_offset),
    number!("page_buffer_min_meta_perc", 4, Unsigned, v => v.access()?.page_buffer.1),
    number!("libver_high_bound", 4, Byte, v => v.access()?.version_high),
    number!("ignore_disabled_file_locks", 1, Byte, v => v.access()?.locking.get_or_insert((true, true)).1),
    number!("use_file_locking", 1, Byte, v => v.access()?.locking.get_or_insert((true, true)).0),
    number!("libver_low_bound", 4, Byte, v => v.access()?.version_low),
    hidden("object_flush_cb", 16),
    number!("multi_type", 4, Byte, v => v.access()?.multi_type),
    hidden("skip_eof_check", 1),
    hidden("family_newsize", 8),
    number!("page_buffer_min_raw_perc", 4, Unsigned, v => v.access()?.page_buffer.2),
    hidden("null_fsm_addr", 1),
    other("mdc_initCacheCfg", 1216, cache::put, cache::take),
    number!("rdcc_nbytes", 8, Sized, v => v.access()?.chunk_cache.bytes),
    number!("rdcc_nslots", 8, Sized, v => v.access()?.chunk_cache.slots),
    custom("use_mdc_logging", 1, Form::Byte, |values, new| log_flag(values, new, |log| &mut log.0)),
    hidden("file_image_info", 72),
    number!("threshold", 8, Sized, v => v.access()?.alignment_threshold),
    number!("rfic_flags", 8, Wide, v => v.access()?.relaxed_checks),
    created(hidden("vfd_info", 24)),
    number!("gc_ref", 4, Unsigned, v => v.access()?.garbage_collect_references),
    custom("start_mdc_log_on_access", 1, Form::Byte, |values, new| log_flag(values, new, |log| &mut log.2)),
];

type Log = (bool, String, bool);

fn log_flag(values: &mut ListValues, new: Option<u64>, flag: fn(&mut Log) -> &mut bool) -> Option<u64> {
    let log = &mut values.access()?.metadata_log;
    if let Some(new) = new {
        *flag(log.get_or_insert_default()) = new & 1 != 0;
    }
    Some(log.as_mut().is_some_and(|log| *flag(log)).into())
}

fn put_log_location(values: &mut ListValues) -> Result<Vec<u8>> {
    let log = &values.access().ok_or_else(absent)?.metadata_log;
    Ok(put_text(log.as_ref().map(|log| log.1.as_str())))
}

fn take_log_location(values: &mut ListValues, cursor: &mut Cursor<'_>) -> Result<()> {
    let location = take_text(cursor)?;
    let log = &mut values.access().ok_or_else(absent)?.metadata_log;
    if let Some(location) = location {
        log.get_or_insert_default().1 = location;
    }
    Ok(())
}

/// Encodes a text: its length and its bytes.
pub(super) fn put_text(value: Option<&str>) -> Vec<u8> {
    let bytes = value.map(text::to_bytes).unwrap_or_default();
    let mut out = Vec::new();
    put_sized(&mut out, bytes.len() as u64);
    out.extend(bytes);
    out
}

/// Decodes the bytes of [`put_text`]; an empty text is none.
pub(super) fn take_text(cursor: &mut Cursor<'_>) -> Result<Option<String>> {
    let len = usize::try_from(take_sized(cursor)?).map_err(|_| cursor.corrupt("length of a text"))?;
    let bytes = cursor.take(len)?;
    Ok((!bytes.is_empty()).then(|| text::from_bytes_to_nul(bytes)))
}

fn put_image_config(values: &mut ListValues) -> Result<Vec<u8>> {
    let config = values.access().ok_or_else(absent)?.metadata_cache_image.unwrap_or((false, false, -1));
    let mut out = vec![4];
    for word in [1, u32::from(config.0), u32::from(config.1), config.2 as u32] {
        out.put_uint(word.into(), 4);
    }
    Ok(out)
}

fn take_image_config(values: &mut ListValues, cursor: &mut Cursor<'_>) -> Result<()> {
    expect_width(cursor, 4)?;
    let [_, generate, save, ageout] = [cursor.u32()?, cursor.u32()?, cursor.u32()?, cursor.u32()?];
    let config = (generate != 0, save != 0, ageout as i32);
    let access = values.access().ok_or_else(absent)?;
    if config != (false, false, -1) {
        access.metadata_cache_image = Some(config);
    }
    Ok(())
}
