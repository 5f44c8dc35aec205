//! Enums of the header's numbers.

use gpujoin_sys as sys;

/// An enum with the number of each value.
macro_rules! numbers {
    ($(#[$about:meta])* $name:ident { $($(#[$text:meta])* $value:ident = $number:ident,)* }) => {
        $(#[$about])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum $name {
            $($(#[$text])* $value,)*
        }

        impl $name {
            #[allow(dead_code)] // of those that are only answered
            pub(crate) const fn number(self) -> i32 {
                match self {
                    $(Self::$value => sys::$number,)*
                }
            }

            #[allow(dead_code)] // of those that are only asked
            pub(crate) const fn of(number: i32) -> Option<Self> {
                match number {
                    $(sys::$number => Some(Self::$value),)*
                    _ => None,
                }
            }
        }
    };
}
pub(crate) use numbers;

numbers! {
    /// One of the two relations of a join.
    Side {
        /// The first one.
        Left = GPUJOIN_SIDE_LEFT,
        /// The second one.
        Right = GPUJOIN_SIDE_RIGHT,
    }
}

numbers! {
    /// Which executor is used.
    Device {
        /// CUDA when it can be used, else the CPU.
        Automatic = GPUJOIN_DEVICE_AUTOMATIC,
        /// An NVIDIA GPU.
        Cuda = GPUJOIN_DEVICE_CUDA,
        /// The CPU.
        Cpu = GPUJOIN_DEVICE_CPU,
    }
}

numbers! {
    /// Which rows come out. `docs/semantics.md` of the project has each as a table of examples.
    Kind {
        /// Each pair of rows that match.
        Inner = GPUJOIN_JOIN_INNER,
        /// The same, and once each left row without a match, its right columns NULL.
        Left = GPUJOIN_JOIN_LEFT,
        /// The same, and once each right row without a match, its left columns NULL.
        Right = GPUJOIN_JOIN_RIGHT,
        /// Inner, and the rows without a match of both sides.
        Full = GPUJOIN_JOIN_FULL,
        /// Left rows that have a match (`EXISTS`), once each.
        LeftSemi = GPUJOIN_JOIN_LEFT_SEMI,
        /// Right rows that have a match, once each.
        RightSemi = GPUJOIN_JOIN_RIGHT_SEMI,
        /// Left rows that have none (`NOT EXISTS`).
        LeftAnti = GPUJOIN_JOIN_LEFT_ANTI,
        /// Right rows that have none.
        RightAnti = GPUJOIN_JOIN_RIGHT_ANTI,
        /// All left rows, with a column `mark` behind the output columns: what SQL answers for
        /// `keys IN (the right keys)`: true, false or NULL.
        LeftMark = GPUJOIN_JOIN_LEFT_MARK,
        /// The same of right rows.
        RightMark = GPUJOIN_JOIN_RIGHT_MARK,
        /// Left rows whose mark is false (`NOT IN`).
        LeftNotIn = GPUJOIN_JOIN_LEFT_NOT_IN,
        /// Right rows whose mark is false.
        RightNotIn = GPUJOIN_JOIN_RIGHT_NOT_IN,
        /// Left for a scalar subquery: a second match of a row is
        /// [`Error::SeveralMatches`](crate::Error::SeveralMatches).
        LeftSingle = GPUJOIN_JOIN_LEFT_SINGLE,
        /// The same of right rows.
        RightSingle = GPUJOIN_JOIN_RIGHT_SINGLE,
        /// Each left row with each right row; without keys.
        Cross = GPUJOIN_JOIN_CROSS,
    }
}

numbers! {
    /// In which order rows come out.
    Order {
        /// By the side that the plan does not build on; of a cross join by the left one.
        Probe = GPUJOIN_ORDER_PROBE,
        /// By left row, those of one left row by right row; rows without a left row come last.
        Left = GPUJOIN_ORDER_LEFT,
        /// The same of the right side.
        Right = GPUJOIN_ORDER_RIGHT,
    }
}

numbers! {
    /// What the caller knows of the data. It is checked: what is not so is
    /// [`Error::BrokenPromise`](crate::Error::BrokenPromise), which names the first row that shows
    /// it.
    Promise {
        /// No two left rows have equal keys.
        LeftUnique = GPUJOIN_PROMISE_LEFT_UNIQUE,
        /// No two right rows have equal keys.
        RightUnique = GPUJOIN_PROMISE_RIGHT_UNIQUE,
        /// Left keys do not decrease from row to row.
        LeftSorted = GPUJOIN_PROMISE_LEFT_SORTED,
        /// Right keys do not decrease from row to row.
        RightSorted = GPUJOIN_PROMISE_RIGHT_SORTED,
    }
}
