//! Elements as text: shared by the commands that print data.

pub(crate) mod cformat;
pub(crate) mod element;
pub(crate) mod line;
pub(crate) mod number;
pub(crate) mod real;
pub(crate) mod text;
