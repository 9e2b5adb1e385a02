//! A base for layers that do the same around every operation, for example count, time, print or refuse it.

use std::sync::Arc;

use model::datatype::ReferenceKind;
use model::{Datatype, Error, Link, ObjectKind, Reference, Result, Token};

use crate::{
    AttributeInfo, Blobs, ChunkCacheInfo, ChunkInfo, Container, ContainerInfo, DatasetInfo, Durability,
    GroupInfo, Layer, LinkLocation, Lookup, MapInfo, ObjectInfo, OpAttributeCreate, OpDatasetCreate,
    OpDatatypeCommit, OpGroupCreate, OpLinkCreate, OpLinkMove, OpList, OpLookup, OpMapCreate, OpObjectCopy,
    OpPlacement, OpRead, OpWrite, Operation, Page, Pipeline, Placement, StorageFinding, StorageInfo,
    StoredBlock,
};

/// One operation of a container, as an observer sees it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Call {
    /// The operation.
    pub operation: Operation,
    /// The object that the operation is about: the first one that the arguments name, or the one that was created.
    pub object: Option<Token>,
    /// Bytes of elements, values, chunks and blobs: those that are given, and at the end also those that came back.
    pub bytes: u64,
}

/// Sees every operation of a container. All of it may be called from many threads at once.
pub trait Observer: Send + Sync {
    /// The state of a call between its begin and its end.
    type Begun;

    /// Is called before an operation, and may refuse it.
    ///
    /// # Errors
    /// Returns the error that the caller gets instead of the operation's result.
    fn begin(&self, call: &Call) -> Result<Self::Begun>;

    /// Is called after an operation that was not refused.
    ///
    /// # Errors
    /// Returns an error to fail an operation that succeeded.
    fn end(&self, call: &Call, begun: Self::Begun, error: Option<&Error>) -> Result<()>;

    /// Returns the info that the container gives of itself.
    fn describe(&self, info: Arc<ContainerInfo>) -> Arc<ContainerInfo> {
        info
    }

    /// Answers optional operations of the layer itself, or returns `None` for those that go to the inner container.
    fn optional(&self, name: &str, request: &[u8]) -> Option<Result<Vec<u8>>> {
        let _ = (name, request);
        None
    }

    /// Returns the pipeline that starts operations in the background, or `None` if the observer must see each of them.
    fn pipeline(&self) -> Option<&dyn Pipeline> {
        None
    }
}

/// A container whose operations an observer sees.
pub struct Observed<O> {
    pub(crate) inner: Arc<dyn Container>,
    observer: O,
}

impl<O> std::fmt::Debug for Observed<O> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Observed").field("inner", &self.inner).finish_non_exhaustive()
    }
}

impl<O: Observer> Observed<O> {
    /// Returns `inner` with its operations observed by `observer`.
    pub fn new(inner: Arc<dyn Container>, observer: O) -> Self {
        Observed { inner, observer }
    }

    /// Returns the observer.
    pub fn observer(&self) -> &O {
        &self.observer
    }
}

/// The inner container, and the answers of the observer.
pub(crate) struct InnerContainer<'a, O>(&'a Observed<O>);

impl<O: Observer> Layer for InnerContainer<'_, O> {
    fn inner(&self) -> &dyn Container {
        &*self.0.inner
    }

    fn info(&self) -> Result<Arc<ContainerInfo>> {
        Ok(self.0.observer.describe(self.0.inner.info()?))
    }

    fn optional(&self, name: &str, request: &[u8]) -> Result<Vec<u8>> {
        let own = self.0.observer.optional(name, request);
        own.unwrap_or_else(|| self.0.inner.optional(name, request))
    }
}

/// The container that calls the observer: generated from the table in `container.rs`.
macro_rules! observed {
    ($( fn $name:ident(&self $(, $arg:ident : $ty:ty)*) -> $ret:ty; )*) => {
        #[deny(clippy::missing_trait_methods)]
        impl<O: $crate::Observer> Container for $crate::Observed<O> {
            $( fn $name(&self $(, $arg: $ty)*) -> Result<$ret> {
                #[allow(unused_imports, reason = "operations without arguments")]
                use $crate::observe::ObservedValue;
                let object = None::<Token>$( .or($arg.seen_object()) )*;
                let bytes = 0 $( + $arg.seen_bytes() )*;
                self.watch($crate::Operation::$name, object, bytes, |inner| {
                    let filled = 0 $( + $arg.seen_filled() )*;
                    let answer = Layer::$name(inner $(, $arg)*);
                    (answer, 0 $( + $arg.seen_filled() )* - filled)
                })
            } )*
            fn follow_user_link(&self, op: &$crate::OpLookup) -> Result<$crate::FollowedLink> {
                self.inner.follow_user_link(op)
            }
            fn budget(&self) -> Budget {
                self.inner.budget()
            }
            fn is_serial(&self, dataset: Token) -> bool {
                self.inner.is_serial(dataset)
            }
            fn collective(&self) -> Option<&dyn $crate::Collective> {
                None
            }
            fn pipeline(&self) -> Option<&dyn Pipeline> {
                self.observer().pipeline()
            }
            fn posting<'c, 'b: 'c>(&'c self) -> Option<Box<dyn $crate::Posting<'b> + 'c>> {
                None
            }
        }
    };
}
pub(crate) use observed;

impl<O: Observer> Observed<O> {
    /// Runs one call with the observer around it; `run` returns the answer, and the bytes that came back in an
    /// argument.
    #[inline]
    pub(crate) fn watch<R: ObservedValue>(
        &self,
        operation: Operation,
        object: Option<Token>,
        bytes: u64,
        run: impl FnOnce(&InnerContainer<'_, O>) -> (Result<R>, u64),
    ) -> Result<R> {
        let mut call = Call { operation, object, bytes };
        let begun = self.observer.begin(&call)?;
        let (answer, filled) = run(&InnerContainer(self));
        call.bytes += filled;
        if let Ok(answer) = &answer {
            call.bytes += answer.seen_bytes();
            call.object = answer.seen_made().or(call.object);
        }
        let observed = self.observer.end(&call, begun, answer.as_ref().err());
        answer.and_then(|answer| observed.map(|()| answer))
    }
}

/// A value of arguments or answers as an observer sees it.
pub(crate) trait ObservedValue {
    /// Returns the object that an argument names.
    fn seen_object(&self) -> Option<Token> {
        None
    }

    /// Returns the object that an answer names as created.
    fn seen_made(&self) -> Option<Token> {
        None
    }

    /// Returns the number of bytes that it moves.
    fn seen_bytes(&self) -> u64 {
        0
    }

    /// Returns the number of bytes in it that the call adds to.
    fn seen_filled(&self) -> u64 {
        0
    }
}

/// Types without objects and bytes.
macro_rules! seen_silent {
    ($($ty:ty),* $(,)?) => { $( impl ObservedValue for $ty {} )* };
}

seen_silent!(
    (),
    bool,
    i32,
    u32,
    u64,
    str,
    [u64],
    [&str],
    Option<&str>,
    Option<&[u8]>,
    Durability,
    ReferenceKind,
    [Reference],
    [Token],
    OpList,
    Arc<ContainerInfo>,
    ObjectInfo,
    GroupInfo,
    Option<Link>,
    Page<Link>,
    Lookup,
    Option<AttributeInfo>,
    Page<AttributeInfo>,
    Arc<DatasetInfo>,
    StorageInfo,
    Placement,
    Page<ChunkInfo>,
    Datatype,
    MapInfo,
    Vec<Reference>,
    Vec<ObjectKind>,
    String,
    ChunkCacheInfo,
    Vec<StorageFinding>,
    Vec<StoredBlock>,
);

/// Arguments that name an object in one of their fields.
macro_rules! seen_object {
    ($($ty:ty: |$op:ident| $object:expr;)*) => {
        $( impl ObservedValue for $ty {
            fn seen_object(&self) -> Option<Token> {
                let $op = self;
                $object
            }
        } )*
    };
}

fn group_of(place: Option<&LinkLocation>) -> Option<Token> {
    place.map(|place| place.group)
}

seen_object! {
    OpObjectCopy: |op| Some(op.object);
    OpGroupCreate: |op| group_of(op.place.as_ref());
    OpDatasetCreate: |op| group_of(op.place.as_ref());
    OpDatatypeCommit: |op| group_of(op.place.as_ref());
    OpMapCreate: |op| group_of(op.place.as_ref());
    OpLinkCreate: |op| Some(op.place.group);
    OpLinkMove: |op| Some(op.from);
    OpLookup: |op| Some(op.from);
    OpAttributeCreate: |op| Some(op.object);
    OpPlacement: |op| Some(op.dataset);
}

impl ObservedValue for Token {
    fn seen_object(&self) -> Option<Token> {
        Some(*self)
    }

    fn seen_made(&self) -> Option<Token> {
        Some(*self)
    }
}

impl ObservedValue for [OpRead<'_>] {
    fn seen_object(&self) -> Option<Token> {
        self.first().map(|read| read.dataset)
    }

    fn seen_bytes(&self) -> u64 {
        self.iter().map(|read| read.into.len() as u64).sum()
    }
}

impl ObservedValue for [OpWrite<'_>] {
    fn seen_object(&self) -> Option<Token> {
        self.first().map(|write| write.dataset)
    }

    fn seen_bytes(&self) -> u64 {
        self.iter().map(|write| write.from.len() as u64).sum()
    }
}

impl ObservedValue for [u8] {
    fn seen_bytes(&self) -> u64 {
        self.len() as u64
    }
}

impl ObservedValue for [&[u8]] {
    fn seen_bytes(&self) -> u64 {
        self.iter().map(|value| value.len() as u64).sum()
    }
}

impl ObservedValue for [(&[u8], &[u8])] {
    fn seen_bytes(&self) -> u64 {
        self.iter().map(|(key, value)| (key.len() + value.len()) as u64).sum()
    }
}

impl ObservedValue for Blobs {
    fn seen_filled(&self) -> u64 {
        Blobs::bytes(self).len() as u64
    }
}

impl ObservedValue for Vec<u8> {
    fn seen_bytes(&self) -> u64 {
        self.len() as u64
    }
}

impl ObservedValue for (u32, Vec<u8>) {
    fn seen_bytes(&self) -> u64 {
        self.1.len() as u64
    }
}

impl ObservedValue for Vec<Vec<u8>> {
    fn seen_bytes(&self) -> u64 {
        self.iter().map(|value| value.len() as u64).sum()
    }
}

impl ObservedValue for Vec<Option<Vec<u8>>> {
    fn seen_bytes(&self) -> u64 {
        self.iter().flatten().map(|value| value.len() as u64).sum()
    }
}

impl ObservedValue for Page<Vec<u8>> {
    fn seen_bytes(&self) -> u64 {
        self.entries.iter().map(|key| key.len() as u64).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_say_which_operations_change_something() {
        let words = [
            "create", "write", "put", "delete", "move", "rename", "resize", "commit", "copy", "set",
            "adjust", "place", "changed", "repair", "start",
        ];
        for operation in Operation::ALL {
            // A commit of the container makes changes last; that of a datatype is one. A cache is not stored.
            let is_setting = matches!(operation, Operation::commit | Operation::chunk_cache_set);
            let is_named = operation.name().split('_').any(|word| words.contains(&word)) && !is_setting;
            assert_eq!(operation.changes(), is_named, "{}", operation.name());
        }
    }
}
