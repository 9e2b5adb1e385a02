//! File space info message (format spec IV.A.2.x).

use model::Result;
use model::bytes::Cursor;
use model::properties::SpaceStrategy;

use super::{Address, SizedFields, Sizes};

/// How the file's space is managed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FileSpace {
    pub(crate) strategy: SpaceStrategy,
    pub(crate) persist: bool,
    pub(crate) threshold: u64,
    pub(crate) page_bytes: u64,
    pub(crate) page_end_threshold: u16,
    /// End of allocation when the managers were last written.
    pub(crate) end: Option<Address>,
    /// Free-space managers, if they are stored in the file.
    pub(crate) managers: Vec<Option<Address>>,
}

pub(crate) fn decode(body: &[u8], sizes: Sizes) -> Result<FileSpace> {
    let mut c = Cursor::new(body, "file space info");
    match c.version(0..=1)? {
        0 => version_0(&mut c, sizes),
        _ => version_1(&mut c, sizes),
    }
}

fn version_0(c: &mut Cursor<'_>, sizes: Sizes) -> Result<FileSpace> {
    let code = c.u8()?;
    let threshold = c.length(sizes)?;
    let strategy = match code {
        1 | 2 => SpaceStrategy::FsmAggregate,
        3 => SpaceStrategy::Aggregate,
        4 => SpaceStrategy::None,
        n => return Err(c.corrupt(format!("strategy {n}"))),
    };
    let managers =
        if code == 1 { (0..6).map(|_| c.address(sizes)).collect::<Result<_>>()? } else { Vec::new() };
    Ok(FileSpace {
        strategy,
        persist: code == 1,
        threshold,
        page_bytes: 4096,
        page_end_threshold: 0,
        end: None,
        managers,
    })
}

fn version_1(c: &mut Cursor<'_>, sizes: Sizes) -> Result<FileSpace> {
    let strategy = match c.u8()? {
        0 => SpaceStrategy::FsmAggregate,
        1 => SpaceStrategy::Page,
        2 => SpaceStrategy::Aggregate,
        3 => SpaceStrategy::None,
        n => return Err(c.corrupt(format!("strategy {n}"))),
    };
    let persist = c.u8()? != 0;
    let (threshold, page_bytes) = (c.length(sizes)?, c.length(sizes)?);
    let (page_end_threshold, end) = (c.u16()?, c.address(sizes)?);
    let managers =
        if persist { (0..12).map(|_| c.address(sizes)).collect::<Result<_>>()? } else { Vec::new() };
    Ok(FileSpace { strategy, persist, threshold, page_bytes, page_end_threshold, end, managers })
}
