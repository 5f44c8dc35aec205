//! Why a join is left to DataFusion.

use std::fmt;

/// Why a join is left to DataFusion.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Declined(pub String);

impl fmt::Display for Declined {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl<S: Into<String>> From<S> for Declined {
    fn from(reason: S) -> Self {
        Self(reason.into())
    }
}
