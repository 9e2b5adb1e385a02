//! `/h5grove/paths`: all paths below an object.

use std::ops::ControlFlow;

use hyperslab::ObjectHandle;

use crate::answer::Failure;
use crate::call::{Call, Outcome};
use crate::elements::json_text::JsonText;

/// Answers a request. The first path is the object's own; soft links are listed and not followed.
pub(crate) fn answer(call: &Call<'_>) -> Outcome {
    let mut out = JsonText::new(call);
    out.push(b"[")?;
    out.push_string(call.path())?;
    if let ObjectHandle::Group(group) = call.object()? {
        let (base, mut failed) = (call.path().trim_end_matches('/'), Ok(()));
        group.visit(|visit| {
            call.check_cancelled()?;
            failed = push_path(&mut out, &format!("{base}/{}", visit.path));
            Ok(if failed.is_err() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
        })?;
        failed?;
    }
    out.push(b"]")?;
    Ok(out.into_answer())
}

fn push_path(out: &mut JsonText, path: &str) -> Result<(), Failure> {
    out.push(b",")?;
    out.push_string(path)
}
