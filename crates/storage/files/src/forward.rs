//! Methods of [`File`](crate::File) that drivers pass on to the file that they wrap.

/// Defines methods that call the same method of a field.
macro_rules! forward {
    ($to:ident:) => {};
    ($to:ident: len $($rest:ident)*) => {
        fn len(&self) -> std::io::Result<u64> {
            self.$to.len()
        }
        crate::forward::forward! { $to: $($rest)* }
    };
    ($to:ident: lock $($rest:ident)*) => {
        fn lock(&self, lock: crate::Lock) -> std::io::Result<()> {
            self.$to.lock(lock)
        }
        crate::forward::forward! { $to: $($rest)* }
    };
    ($to:ident: identity $($rest:ident)*) => {
        fn identity(&self) -> Option<crate::Identity> {
            self.$to.identity()
        }
        crate::forward::forward! { $to: $($rest)* }
    };
    ($to:ident: is_serial $($rest:ident)*) => {
        fn is_serial(&self) -> bool {
            self.$to.is_serial()
        }
        crate::forward::forward! { $to: $($rest)* }
    };
    ($to:ident: members $($rest:ident)*) => {
        fn members(&self) -> Option<crate::MemberRanges> {
            self.$to.members()
        }
        crate::forward::forward! { $to: $($rest)* }
    };
    ($to:ident: bytes_end $($rest:ident)*) => {
        fn bytes_end(&self, offset: u64) -> std::io::Result<u64> {
            self.$to.bytes_end(offset)
        }
        crate::forward::forward! { $to: $($rest)* }
    };
    ($to:ident: set_allocated $($rest:ident)*) => {
        fn set_allocated(&self, allocated: &[u64]) -> std::io::Result<()> {
            self.$to.set_allocated(allocated)
        }
        crate::forward::forward! { $to: $($rest)* }
    };
    ($to:ident: trim $($rest:ident)*) => {
        fn trim(&self) -> std::io::Result<()> {
            self.$to.trim()
        }
        crate::forward::forward! { $to: $($rest)* }
    };
    ($to:ident: driver_block $($rest:ident)*) => {
        fn driver_block(&self) -> Option<crate::DriverBlock> {
            self.$to.driver_block()
        }
        crate::forward::forward! { $to: $($rest)* }
    };
    ($to:ident: set_driver_block $($rest:ident)*) => {
        fn set_driver_block(&self, block: &crate::DriverBlock) -> std::io::Result<()> {
            self.$to.set_driver_block(block)
        }
        crate::forward::forward! { $to: $($rest)* }
    };
    ($to:ident: is_remote $($rest:ident)*) => {
        fn is_remote(&self) -> bool {
            self.$to.is_remote()
        }
        crate::forward::forward! { $to: $($rest)* }
    };
    ($to:ident: prefetch $($rest:ident)*) => {
        fn prefetch(&self, ranges: &[std::ops::Range<u64>]) -> std::io::Result<()> {
            self.$to.prefetch(ranges)
        }
        crate::forward::forward! { $to: $($rest)* }
    };
    ($to:ident: request_counts $($rest:ident)*) => {
        fn request_counts(&self) -> Option<crate::RequestCounts> {
            self.$to.request_counts()
        }
        crate::forward::forward! { $to: $($rest)* }
    };
    ($to:ident: is_private $($rest:ident)*) => {
        fn is_private(&self) -> bool {
            self.$to.is_private()
        }
        crate::forward::forward! { $to: $($rest)* }
    };
    ($to:ident: publish $($rest:ident)*) => {
        fn publish(&self) -> std::io::Result<()> {
            self.$to.publish()
        }
        crate::forward::forward! { $to: $($rest)* }
    };
    ($to:ident: note_allocated $($rest:ident)*) => {
        fn note_allocated(&self, kind: crate::DataKind, offset: u64, len: u64) {
            self.$to.note_allocated(kind, offset, len);
        }
        crate::forward::forward! { $to: $($rest)* }
    };
    ($to:ident: note_freed $($rest:ident)*) => {
        fn note_freed(&self, offset: u64, len: u64) {
            self.$to.note_freed(offset, len);
        }
        crate::forward::forward! { $to: $($rest)* }
    };
}

pub(crate) use forward;
