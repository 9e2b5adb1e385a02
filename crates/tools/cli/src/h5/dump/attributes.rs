//! Attributes, and the parts that they share with datasets.

use hyperslab::vol::model::properties::CreationOrder;
use hyperslab::vol::model::text::to_bytes;
use hyperslab::vol::{AttributeInfo, Container, OpList};
use hyperslab::{Dataspace, Datatype, Index, ObjectKind, Result, Token};

use super::Dumper;
use super::tables::Sorting;
use crate::h5::render::line::LineState;

/// Returns all attributes of an object.
pub(crate) fn list_attributes(
    container: &dyn Container,
    object: Token,
    sorting: Sorting,
) -> Result<Vec<AttributeInfo>> {
    let mut all = Vec::new();
    loop {
        let op =
            OpList { index: sorting.by, order: sorting.order, skip: all.len() as u64, ..OpList::default() };
        let page = container.attribute_list(object, &op)?;
        let empty = page.entries.is_empty();
        all.extend(page.entries);
        if !page.more || empty {
            return Ok(all);
        }
    }
}

impl Dumper<'_> {
    /// Prints all attributes of an object.
    pub(crate) fn attributes(&mut self, object: Token, tracked: CreationOrder) -> Result<()> {
        if !self.options.attributes {
            return Ok(());
        }
        let by = if tracked == CreationOrder::Untracked { Index::Name } else { self.options.sort_by };
        let sorting = Sorting { by, order: self.options.sort_order };
        let listed = list_attributes(&*self.container(), object, sorting);
        let listed = match listed {
            Ok(listed) => listed,
            Err(error) => return self.tolerate("attributes", Err(error)),
        };
        for info in &listed {
            let result = self.attribute(object, info);
            self.tolerate(&info.name, result)?;
        }
        Ok(())
    }

    /// Prints one attribute.
    pub(crate) fn attribute(&mut self, object: Token, info: &AttributeInfo) -> Result<()> {
        let mut state = LineState::at(self.indent);
        self.head(&mut state, "ATTRIBUTE", &to_bytes(&info.name))?;
        state.indent += 1;
        self.type_and_space(&mut state, &info.datatype, info.committed, &info.space)?;
        self.object_id(&mut state, ObjectKind::Map)?;
        if self.options.data || self.options.attribute_data {
            self.attribute_values(&mut state, object, info)?;
        }
        state.indent -= 1;
        self.line(&mut state, b"}")
    }

    /// Prints `DATATYPE` and `DATASPACE`.
    pub(crate) fn type_and_space(
        &mut self,
        state: &mut LineState,
        datatype: &Datatype,
        committed: Option<Token>,
        space: &Dataspace,
    ) -> Result<()> {
        state.need_prefix = true;
        let mut buffer = b"DATATYPE  ".to_vec();
        self.print_type(state, &mut buffer, datatype, committed)?;
        self.flush(state, &mut buffer)?;
        self.line(state, format!("DATASPACE  {}", space_text(space)).as_bytes())
    }

    /// `OBJECTID`, where it was asked for. Containers have no handles, so the number is the object's place in
    /// the order of printing.
    pub(crate) fn object_id(&mut self, state: &mut LineState, kind: ObjectKind) -> Result<()> {
        if !self.options.object_ids {
            return Ok(());
        }
        let number = self.next_id(kind);
        self.line(state, format!("OBJECTID {{ {number} }}").as_bytes())
    }
}

/// Returns a dataspace in h5dump's language.
pub(crate) fn space_text(space: &Dataspace) -> String {
    let list = |dims: &[u64]| dims.iter().map(|&d| dim_text(d)).collect::<Vec<_>>().join(", ");
    match space {
        Dataspace::Null => "NULL".to_owned(),
        Dataspace::Scalar => "SCALAR".to_owned(),
        Dataspace::Simple(_) => {
            format!("SIMPLE {{ ( {} ) / ( {} ) }}", list(space.dims()), list(space.max_dims()))
        }
    }
}

/// Returns a dimension, which may be unlimited.
pub(crate) fn dim_text(dim: u64) -> String {
    if dim == hyperslab::vol::model::UNLIMITED { "H5S_UNLIMITED".to_owned() } else { dim.to_string() }
}
