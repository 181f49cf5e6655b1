//! Time as a value: the core reads no clock, the driver passes the time in.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// The time since the run began, as the driver measured it.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
pub struct Timestamp(Duration);

impl Timestamp {
    /// The run's first moment.
    pub const ZERO: Self = Self(Duration::ZERO);

    /// A moment so long after the run began.
    #[must_use]
    pub const fn since_start(elapsed: Duration) -> Self {
        Self(elapsed)
    }

    /// How long after the run began.
    #[must_use]
    pub const fn elapsed(self) -> Duration {
        self.0
    }

    /// The moment `wait` later.
    #[must_use]
    pub const fn after(self, wait: Duration) -> Self {
        Self(self.0.saturating_add(wait))
    }

    /// How long until `later`; zero when it has passed.
    #[must_use]
    pub const fn until(self, later: Self) -> Duration {
        later.0.saturating_sub(self.0)
    }
}
