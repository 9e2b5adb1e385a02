//! One file that several processes have open together: one of them leads, the others follow.
//!
//! The leader is the only one that changes structures. What it writes to fresh space is in the file at once. What
//! goes over bytes of the last commit waits in its memory for the next one; followers get those bytes in a
//! [message](message), and lay them over what they read ([`FollowedFile`]). So all see the same file, and the file
//! itself stays the last commit.
//!
//! Of a dataset that was just created, followers get the header alone: the leader serializes the group with the link when
//! something else changes, once for many datasets, and until then it writes nothing that others read. A follower that
//! looks at links meanwhile makes them for itself, in its memory ([`LinkedFile`]).

mod followed_file;
mod follower;
mod leader;
mod linked_file;
mod message;

use std::ops::Range;
use std::sync::Arc;

use model::{Error, Result};
use vol::{Access, ContainerCreate, ContainerOpen, FileAccess, Replica, Replicas};

use crate::connector::{NativeConnector, open_file};
use crate::container::NativeContainer;
use crate::creation::{create_in, rehearse};
use crate::driver;

pub(crate) use message::Changes;

use followed_file::FollowedFile;
use follower::Follower;
use leader::Leader;
use linked_file::LinkedFile;

/// Creates and opens files for several processes.
#[derive(Debug)]
pub(crate) struct NativeReplicas;

/// Drivers of plain files, which all processes see by their path.
const PLAIN_DRIVERS: [&str; 4] = ["posix", "sec2", "stdio", "direct"];

/// Returns what of a range lies outside of a reserved one.
fn without(range: &Range<u64>, reserved: &Range<u64>) -> Vec<Range<u64>> {
    let parts = [range.start..range.end.min(reserved.start), range.start.max(reserved.end)..range.end];
    parts.into_iter().filter(|part| part.start < part.end).collect()
}

/// Returns an error for a file that would not be the same to all processes.
fn check_access(access: &FileAccess) -> Result<()> {
    let driver = access.driver.as_deref().map(|text| text.split('{').next().unwrap_or(text).trim());
    let problem = match (access.page_buffer.bytes > 0, access.swmr, driver) {
        (true, ..) => "a page buffer",
        (_, true, _) => "SWMR",
        (.., Some(driver)) if !PLAIN_DRIVERS.contains(&driver) => "a driver whose file is not one plain file",
        _ => return Ok(()),
    };
    Err(Error::unsupported("open file in several processes").with("problem", problem))
}

/// Returns the leader of a file, if all processes can see the file by its path.
fn lead(container: Arc<NativeContainer>) -> Result<Arc<dyn Replica>> {
    let file = &container.file;
    if !file.is_file || file.driver.is_some() {
        let error = Error::unsupported("open file in several processes");
        return Err(error.with("problem", "it is not one plain file"));
    }
    Ok(Arc::new(Leader::new(container)?))
}

impl Replicas for NativeReplicas {
    fn create(&self, op: &ContainerCreate<'_>) -> Result<Arc<dyn Replica>> {
        check_access(op.access)?;
        rehearse(op)?;
        let chosen = driver::of_new(op)?;
        let made = chosen.create(op.truncate).map_err(|e| driver::failed("create file", &e, op.path))?;
        let is_new = made.is_new;
        let led = create_in(made.file, op).and_then(lead);
        if led.is_err() && is_new {
            // Half a file is none. The error that led here says more than one about this.
            let _ = chosen.delete();
        }
        led
    }

    fn open(&self, op: &ContainerOpen<'_>) -> Result<Arc<dyn Replica>> {
        check_access(op.access)?;
        let access = FileAccess { access: Access::Write, ..op.access.clone() };
        let op = ContainerOpen { access: &access, ..op.clone() };
        lead(open_file(driver::open(&op)?, op.path, op.access, op.registry.registered())?)
    }

    fn follow(&self, op: &ContainerOpen<'_>, changes: &[u8]) -> Result<Arc<dyn Replica>> {
        let access = FileAccess { access: Access::Write, ..op.access.clone() };
        let source = driver::open(&ContainerOpen { access: &access, ..op.clone() })?;
        let file = Arc::new(FollowedFile::new(source.file));
        file.apply(&Changes::decode(changes)?)?;
        Follower::open(file, op)
    }
}

impl NativeConnector {
    pub(crate) const REPLICAS: &NativeReplicas = &NativeReplicas;
}
