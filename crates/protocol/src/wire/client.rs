//! Both ends of an operation: the container that sends it, and the function that runs it.

use std::sync::Arc;

use model::datatype::ReferenceKind;
use model::{Budget, Datatype, Link, ObjectKind, Reference, Result, Token};
use vol::*;

use super::{Answer, Answered, Argument, Incoming, Lend, Outgoing, Received, Request, scratch};

/// Carries operations to where [`dispatch`](super::dispatch) or [`respond`] runs them.
pub trait Transport: Send + Sync {
    /// Carries one, and brings the answer. An error is one of the way; that of the operation is in the answer.
    /// Called from many threads at once.
    fn call(&self, request: Request<'_>, answer: &mut Answer) -> Result<()>;
}

/// A container in another process, or behind the interface of a plugin.
#[derive(Debug)]
pub struct Client<T> {
    transport: T,
}

impl<T: Transport> Client<T> {
    /// Returns the container at the other end.
    pub fn new(transport: T) -> Self {
        Client { transport }
    }

    /// Returns the way there.
    pub fn transport(&self) -> &T {
        &self.transport
    }

    /// Sends an operation and waits for its answer.
    pub(crate) fn send(&self, code: Operation, out: Outgoing<'_>) -> Result<Answer> {
        let mut answer = Answer::new();
        let Outgoing { bytes, bulk, into } = out;
        self.transport.call(Request { code, arguments: &bytes, bulk, into }, &mut answer)?;
        scratch::give(bytes);
        answer.check()?;
        Ok(answer)
    }
}

/// Runs an operation; where it fails, the answer is the error.
pub fn respond(container: &dyn Container, request: Request<'_>, answer: &mut Answer) {
    if let Err(error) = super::dispatch(container, request, answer) {
        answer.fail(&error);
    }
}

/// Both ends of every operation, from the table of them.
macro_rules! remote {
    ($( $(#[$doc:meta])* fn $name:ident(&self $(, $arg:ident : $ty:ty)*) -> $ret:ty; )*) => {
        #[deny(clippy::missing_trait_methods)]
        impl<T: Transport> Container for Client<T> {
            $( fn $name(&self $(, mut $arg: $ty)*) -> Result<$ret> {
                #[allow(unused_mut, reason = "some operations have no arguments")]
                let mut out = Outgoing::new();
                $( Argument::put(&mut $arg, &mut out)?; )*
                let mut answer = self.send(Operation::$name, out)?;
                let mut received = Received::new(&mut answer);
                let value = <$ret as Answered>::get(&mut received)?;
                $( Argument::receive(&mut $arg, &mut received)?; )*
                received.finish()?;
                answer.recycle();
                Ok(value)
            } )*
            fn budget(&self) -> Budget {
                Budget::default()
            }
            fn follow_user_link(&self, op: &vol::OpLookup) -> Result<vol::FollowedLink> {
                Err(model::Error::unsupported("follow user-defined link").with("path", &op.path))
            }
            fn is_serial(&self, dataset: Token) -> bool {
                let _ = dataset;
                false
            }
            fn collective(&self) -> Option<&dyn vol::Collective> {
                None
            }
            fn pipeline(&self) -> Option<&dyn vol::Pipeline> {
                None
            }
            fn posting<'c, 'b: 'c>(&'c self) -> Option<Box<dyn vol::Posting<'b> + 'c>> {
                None
            }
        }

        /// Runs an operation that a [`Client`] sent, on the container it is meant for.
        pub fn dispatch(
            container: &dyn Container,
            request: Request<'_>,
            answer: &mut Answer,
        ) -> Result<()> {
            let code = request.code;
            let selections = std::cell::OnceCell::new();
            #[allow(unused_mut, reason = "some operations have no arguments")]
            let mut from = Incoming::new(request, &selections, container);
            match code {
                $( Operation::$name => {
                    $( let mut $arg = <$ty as Argument>::hold(&mut from)?; )*
                    from.finish()?;
                    let value = container.$name($( Lend::lend(&mut $arg) ),*)?;
                    Answered::put(value, answer)?;
                    $( Lend::answer($arg, answer)?; )*
                } )*
            }
            Ok(())
        }
    };
}

vol::for_each_operation!(remote);
