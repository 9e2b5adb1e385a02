//! The view of each virtual dataset of a file that differs from the view that the file was opened with.

use std::collections::HashMap;

use model::{Error, Result, Token};
use system::sync::Mutex;
use vol::{ExtensionValue, VirtualView};

use crate::format::Address;

/// Sets how far a virtual dataset with unlimited mappings reaches (`H5Pset_virtual_view`, `H5Pset_virtual_printf_gap`), for all
/// who read it through the same handle of the file: the extension `native.set_virtual_view`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SetVirtualView {
    /// The dataset.
    pub dataset: Token,
    /// Its view.
    pub view: VirtualView,
}

vol::extension! { SetVirtualView = "native.set_virtual_view": Write, SetVirtualView => () }

impl ExtensionValue for SetVirtualView {
    fn to_bytes(&self) -> Vec<u8> {
        let view = [u64::from(self.view.first_missing), self.view.gap];
        [&self.dataset.0[..], &view[0].to_le_bytes(), &view[1].to_le_bytes()].concat()
    }

    fn from_bytes(bytes: &[u8]) -> Result<Self> {
        let wrong = || Error::invalid("decode view of a virtual dataset").with("bytes", bytes.len());
        let (token, rest) = bytes.split_first_chunk::<{ size_of::<Token>() }>().ok_or_else(wrong)?;
        match Vec::<u64>::from_bytes(rest)?[..] {
            [first_missing @ 0..=1, gap] => {
                let view = VirtualView { first_missing: first_missing == 1, gap };
                Ok(SetVirtualView { dataset: Token(*token), view })
            }
            _ => Err(wrong()),
        }
    }
}

/// The views of one handle of a file.
#[derive(Debug, Default)]
pub(crate) struct VirtualViews {
    /// That of datasets for which none was set.
    usual: VirtualView,
    of_datasets: Mutex<HashMap<Address, VirtualView>>,
}

impl VirtualViews {
    pub(crate) fn new(usual: VirtualView) -> Self {
        VirtualViews { usual, of_datasets: Mutex::default() }
    }

    pub(crate) fn of(&self, dataset: Address) -> VirtualView {
        self.of_datasets.lock().get(&dataset).copied().unwrap_or(self.usual)
    }

    pub(crate) fn set(&self, dataset: Address, view: VirtualView) {
        let mut views = self.of_datasets.lock();
        match view == self.usual {
            true => drop(views.remove(&dataset)),
            false => drop(views.insert(dataset, view)),
        }
    }
}
