//! Operations on structure: those that change it run on rank 0, those that read it on every rank for itself.

use std::sync::Arc;

use model::{Error, Result, Token};
use protocol::wire::{self, Answer, Request, Transport, Wire, respond};
use vol::{Access, Container, Operation};

use crate::group::Group;
use crate::ranks::{Call, hash_of};

/// The way from an operation to the containers that run it.
pub(crate) struct Structure(pub(crate) Arc<Group>);

/// The ranks that run an operation.
enum Runner {
    /// Every rank, for itself.
    Each,
    /// Rank 0, for all.
    First,
    /// No one.
    Nobody,
}

fn runner(group: &Group, request: &Request<'_>) -> Runner {
    use Operation as O;
    match request.code {
        O::elements_find | O::elements_place | O::elements_changed | O::start_swmr => Runner::Nobody,
        O::optional if optional_access(group, request.arguments) == Access::Write => Runner::First,
        operation if operation.changes() => Runner::First,
        operation if group.options.collective_metadata && reads_structure(operation) => Runner::First,
        _ => Runner::Each,
    }
}

/// Returns whether an operation reads structure and nothing else. Elements, values and handles are each rank's own.
fn reads_structure(operation: Operation) -> bool {
    use Operation as O;
    matches!(
        operation,
        O::object_info
            | O::object_kinds
            | O::group_info
            | O::link_get
            | O::link_list
            | O::lookup
            | O::attribute_info
            | O::attribute_list
            | O::attribute_read
            | O::dataset_info
            | O::dataset_storage
            | O::chunk_list
            | O::stored_blocks
            | O::datatype_get
            | O::map_info
    )
}

/// Returns whether the answer of an operation that reads may depend on which links there are. That of one on a dataset which
/// was created recently does not, because it is not a virtual one.
fn sees_links(group: &Group, request: &Request<'_>) -> bool {
    use Operation as O;
    let object = || Token::get(&mut wire::Reader::new(request.arguments)).ok();
    match request.code {
        O::retain | O::release | O::attribute_info | O::attribute_list | O::attribute_read => false,
        O::blob_get | O::blob_pin | O::blob_unpin | O::reference_get => false,
        O::object_info | O::dataset_info | O::dataset_storage | O::stored_blocks => {
            !object().is_some_and(|object| group.replica.is_unlinked(object))
        }
        _ => true,
    }
}

/// Returns the access that an operation of the connector needs. One that is not known may change anything.
fn optional_access(group: &Group, arguments: &[u8]) -> Access {
    let name = wire::Reader::new(arguments).text().unwrap_or_default().to_owned();
    let known = group.extensions.iter().find(|known| known.name == name);
    known.map_or(Access::Write, |known| known.access)
}

impl Transport for Structure {
    fn call(&self, request: Request<'_>, answer: &mut Answer) -> Result<()> {
        match runner(&self.0, &request) {
            Runner::Each => {
                let _reading = self.0.read_structure(|| sees_links(&self.0, &request))?;
                self.0.check()?;
                respond(self.0.container(), request, answer);
                Ok(())
            }
            Runner::First => self.together(request, answer),
            Runner::Nobody => {
                let operation = request.code.name().replace('_', " ");
                Err(Error::unsupported(operation).with("problem", "several processes have the file open"))
            }
        }
    }
}

/// An answer: whether it is an error, its values, and byte strings.
type Packed = (bool, (Vec<u8>, Vec<Vec<u8>>));

impl Structure {
    fn together(&self, request: Request<'_>, answer: &mut Answer) -> Result<()> {
        let group = &*self.0;
        let _turn = group.turn.write();
        let hash = hash_of((request.arguments, &request.bulk));
        let handed = group.begin(Call::Operation(request.code), hash, Ok(()))?;
        let changes = !reads_structure(request.code);
        let run = |container: &dyn Container| {
            handed?;
            let mut own = Answer::new();
            respond(container, request, &mut own);
            wire::to_bytes::<Packed>(&(own.failed, (own.bytes, own.bulk)))
        };
        let packed = group.lead_and_tell(run, changes)?;
        (answer.failed, (answer.bytes, answer.bulk)) = wire::from_bytes::<Packed>(&packed)?;
        Ok(())
    }
}
