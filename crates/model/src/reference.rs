//! References: values that point to objects, regions and attributes.

use crate::{Selection, Token};

/// The target of a reference, inside its object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReferenceTarget {
    /// Nothing.
    Null,
    /// The object itself.
    Object(Token),
    /// Some elements of a dataset.
    Region {
        /// The dataset.
        dataset: Token,
        /// Its elements.
        selection: Selection,
    },
    /// An attribute of an object.
    Attribute {
        /// The object.
        object: Token,
        /// The attribute's name.
        name: String,
    },
}

/// A reference.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reference {
    /// Its target.
    pub target: ReferenceTarget,
    /// The container that holds it, where that is another one.
    pub file: Option<String>,
}

impl Reference {
    /// Returns the reference to nothing.
    pub fn null() -> Self {
        Reference { target: ReferenceTarget::Null, file: None }
    }

    /// Returns a reference to an object of the same container.
    pub fn object(token: Token) -> Self {
        Reference { target: ReferenceTarget::Object(token), file: None }
    }

    /// Returns a reference to elements of a dataset of the same container.
    pub fn region(dataset: Token, selection: Selection) -> Self {
        Reference { target: ReferenceTarget::Region { dataset, selection }, file: None }
    }

    /// Returns a reference to an attribute in the same container.
    pub fn attribute(object: Token, name: impl Into<String>) -> Self {
        Reference { target: ReferenceTarget::Attribute { object, name: name.into() }, file: None }
    }

    /// Returns whether it points to nothing.
    pub fn is_null(&self) -> bool {
        self.target == ReferenceTarget::Null
    }

    /// Returns the object it points to or into.
    pub fn token(&self) -> Option<Token> {
        match &self.target {
            ReferenceTarget::Null => None,
            ReferenceTarget::Object(token) => Some(*token),
            ReferenceTarget::Region { dataset, .. } => Some(*dataset),
            ReferenceTarget::Attribute { object, .. } => Some(*object),
        }
    }
}
