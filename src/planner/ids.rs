//! Typed dense ids: an index that cannot be mixed up with another kind of index.

macro_rules! dense_id {
    ($(#[$doc:meta])* $name:ident, $prefix:literal) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(pub u32);

        impl $name {
            /// The id of the element at `index`. Panics beyond `u32::MAX` elements.
            #[must_use]
            pub fn new(index: usize) -> Self {
                Self(u32::try_from(index).expect("no input holds more than u32::MAX elements"))
            }

            /// The position in the table that this id indexes.
            #[must_use]
            pub fn index(self) -> usize {
                self.0 as usize
            }
        }

        impl std::fmt::Debug for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                write!(f, concat!($prefix, "{}"), self.0)
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                write!(f, "#{}", self.0)
            }
        }
    };
}

dense_id!(
    /// A tensor: a value in the graph.
    TensorId,
    "t"
);
dense_id!(
    /// An op: one node of the graph, in file order.
    OpId,
    "op"
);
dense_id!(
    /// A buffer: storage that one or more tensors share; the unit of planning.
    BufferId,
    "b"
);
dense_id!(
    /// A slot: one colour of the interference graph, one reusable block.
    SlotId,
    "s"
);
dense_id!(
    /// A pool: a memory with an arena of its own.
    PoolId,
    "p"
);
