//! Comparison of property lists.

use super::list::{PropertyList, Seen};
use super::list_values::ListValues;
use super::rows::{Codec, Row};
use super::values::{FileAccessValues, TransferValues};

/// Returns whether two lists are of one class and have equal properties.
pub(super) fn is_equal(a: &PropertyList, b: &PropertyList) -> bool {
    if !a.class.is_same(&b.class) {
        return false;
    }
    let (ours, theirs) = (a.properties(), b.properties());
    ours.len() == theirs.len()
        && ours.iter().all(|property| match (property, b.find(property.name())) {
            (Seen::Row(row), Some(Seen::Row(_))) => is_equal_row(row, a, b),
            (Seen::User(ours), Some(Seen::User(theirs))) => ours.is_equal(&theirs),
            _ => false,
        })
}

/// Values are equal if their bytes are, or what stands for those.
fn is_equal_row(row: &Row, a: &PropertyList, b: &PropertyList) -> bool {
    let bytes = |list: &PropertyList| {
        let mut values = list.state.read().values.clone();
        match row.codec {
            Codec::Hidden => Some(hidden_text(&mut values, row.name).into_bytes()),
            Codec::Number(..) => row.bytes(&mut values),
            Codec::Other(..) => row.encode(&mut values).ok().flatten(),
        }
    };
    bytes(a) == bytes(b)
}

/// Returns the text of a property without an encoding, which is equal for equal values.
fn hidden_text(values: &mut ListValues, name: &str) -> String {
    let of_access = |access: &mut FileAccessValues| match name {
        "vol_connector_info" => format!("{:?}", access.connector),
        "vfd_info" => format!("{:?}", access.driver),
        "object_flush_cb" => format!("{:?}", access.object_flush),
        "file_image_info" => format!("{:?}", (&access.image, &access.image_callbacks)),
        _ => String::new(),
    };
    let of_transfer = |transfer: &mut TransferValues| match name {
        "bkgr_buf" => format!("{:?}", transfer.background_buffer),
        "tconv_buf" => format!("{:?}", transfer.conversion_buffer),
        "vlen_alloc" | "vlen_alloc_info" => format!("{:?}", transfer.allocate),
        "vlen_free" | "vlen_free_info" => format!("{:?}", transfer.free),
        "type_conv_cb" => format!("{:?}", transfer.exception),
        "filter_cb" => format!("{:?}", transfer.filter_callback),
        "dset_io_selection" => format!("{:?}", transfer.plist_selection),
        _ => String::new(),
    };
    match values {
        ListValues::FileAccess(access) => of_access(access),
        ListValues::Transfer(transfer) => of_transfer(transfer),
        ListValues::Copy(copy) => format!("{:?}", copy.search),
        ListValues::DatasetAccess(access) if name == "append_flush" => {
            format!("{:?}", (&access.append_boundary, access.append_callback))
        }
        values => values.link().map_or(String::new(), |link| format!("{:?}", link.external_callback)),
    }
}
