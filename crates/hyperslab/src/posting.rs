//! Writes that wait in the buffers of their caller.

use std::borrow::Cow;
use std::sync::Arc;

use model::{Error, Result, Selection};

use crate::session::Session;
use crate::{Dataset, File, H5Type};

/// Writes to datasets of one file that wait for [`Posting::flush`] and borrow their buffers until then: nothing is copied,
/// and the compiler keeps the buffers as they are.
///
/// A log (`log:`) keeps them waiting. Every other connector, and a stack of layers, writes at once, so that a program runs
/// on any storage; also there the commit of the flush is what makes them last.
///
/// Writes of a posting that is dropped without a flush are forgotten, or written, as the storage has it.
///
/// ```
/// # use hyperslab::{File, FileAccess, Result, Selection, plist::FileCreate};
/// # fn main() -> Result<()> {
/// # let path = std::env::temp_dir().join(format!("posting-{}.h5", std::process::id()));
/// # let location = format!("log:{}", path.display());
/// let file = File::create_with(&location, &FileCreate::default(), &FileAccess::write(), true)?;
/// let (wind, rain) = ([1.5; 40], [2.0; 40]);
/// let data = file.new_dataset::<f64>().shape([100]).create("data")?;
/// let mut posting = file.posting();
/// data.post(&mut posting, &Selection::block(&[0], &[40])?, &wind)?;
/// data.post(&mut posting, &Selection::block(&[60], &[40])?, &rain)?;
/// posting.flush()?;
/// assert_eq!(data.read_raw::<f64>()?[39..61], [&[1.5], &[0.0; 20][..], &[2.0]].concat());
/// # file.close()?;
/// # std::fs::remove_file(&path).ok();
/// # Ok(())
/// # }
/// ```
pub struct Posting<'f, 'b> {
    session: &'f Arc<Session>,
    /// `None` where the storage writes at once.
    waiting: Option<Box<dyn vol::Posting<'b> + 'f>>,
}

impl std::fmt::Debug for Posting<'_, '_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Posting").field("waits", &self.waits()).finish_non_exhaustive()
    }
}

impl Posting<'_, '_> {
    /// Returns whether writes wait for the flush; `false` where the storage writes at once.
    pub fn waits(&self) -> bool {
        self.waiting.is_some()
    }

    /// Writes what waits, after everything that the file had before, and commits. Where several processes have the file open,
    /// all of them call this together.
    ///
    /// # Errors
    /// Returns the error of the storage. Writes of the posting are lost then.
    pub fn flush(self) -> Result<()> {
        let durability = self.session.access.durability;
        match self.waiting {
            Some(waiting) => waiting.flush(durability),
            None => self.session.container.commit(durability),
        }
    }
}

impl File {
    /// Begins writes that borrow their buffers until they are flushed: [`Dataset::post`].
    pub fn posting<'f, 'b: 'f>(&'f self) -> Posting<'f, 'b> {
        let session = &self.session;
        Posting { session, waiting: session.container.posting() }
    }
}

impl Dataset {
    /// Posts values for a selection, in selection order: they are written by [`Posting::flush`], the later ones over the
    /// earlier ones, and readers see them from then on.
    ///
    /// Values that are stored as `T` are borrowed, others are converted now and copied. Those of variable length, references
    /// and datasets that are not in the log are written at once.
    ///
    /// # Errors
    /// Returns `Invalid` if the dataset is not in the file of the posting, or if there are more or fewer values than selected
    /// elements; `Limit` where more would wait than may and a flush needs other processes, or was not chosen.
    pub fn post<'b, T: H5Type>(
        &self,
        posting: &mut Posting<'_, 'b>,
        selection: &Selection,
        values: &'b [T],
    ) -> Result<()> {
        if !Arc::ptr_eq(posting.session, &self.session) {
            let problem = "the dataset is in another file than the posting";
            return Err(Error::invalid("post elements").with("problem", problem));
        }
        let info = self.dataset_info();
        match &mut posting.waiting {
            Some(waiting) if !info.datatype.has_descriptors() => match self.in_file_type(&info, values)? {
                Cow::Borrowed(bytes) => waiting.write(self.token, selection, bytes),
                Cow::Owned(bytes) => waiting.write_copied(self.token, selection, &bytes),
            },
            _ => self.write_selection(selection, values),
        }
    }
}
