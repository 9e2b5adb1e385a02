//! Checks of the files of a folder, below the objects.

use json_text::{files, text};
use model::{Kind, Result, Token};
use vol::StorageFinding;

use crate::folder::Folder;

/// The key of the length of a dataset's file of elements.
pub(crate) const STORED_BYTES: &str = "storedBytes";

impl Folder {
    /// Returns a line for each file of elements that is shorter than it was when it was stored: what it lacks reads as the fill value.
    pub(crate) fn check_lengths(&self) -> Result<Vec<StorageFinding>> {
        let mut findings = Vec::new();
        let tokens = self.homes().tokens();
        for token in tokens {
            let (wanted, found) = (self.promised_bytes(token)?, self.stored_bytes(token)?.unwrap_or(0));
            if let Some(wanted) = wanted.filter(|wanted| found < *wanted) {
                let path = self.homes().path(token).unwrap_or_default();
                findings.push(StorageFinding {
                    path: format!("/{}", path.display()),
                    part: "elements".to_owned(),
                    problem: format!("their file has {found} bytes of {wanted}"),
                    is_repaired: false,
                });
            }
        }
        Ok(findings)
    }

    /// Returns the bytes that the metadata of a dataset promises.
    fn promised_bytes(&self, token: Token) -> Result<Option<u64>> {
        let Some(path) = self.homes().metadata_path(token, false) else { return Ok(None) };
        let content = match files::read_text(self.dir(), &path, self.limits().metadata_bytes_max) {
            // A group, or an object that was never committed.
            Err(error) if error.kind() == Kind::NotFound => return Ok(None),
            content => content?.0,
        };
        text::read(&content)?.maybe(STORED_BYTES, text::Value::uint)
    }
}
