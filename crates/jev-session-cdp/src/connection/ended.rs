//! Sessions that have ended, so that a call there fails at once. What is detached is remembered for a
//! while only: after that the browser itself says that there is no such session.

use std::collections::HashSet;

use super::SessionId;
use crate::latest::Latest;

/// Detached sessions that are remembered.
const KEPT: usize = 256;

/// Sessions whose target crashed or was detached.
#[derive(Debug, Default)]
pub(super) struct EndedSessions {
    /// Of both kinds.
    all: HashSet<SessionId>,
    /// Those that no more will be heard of, oldest first.
    detached: Latest<SessionId, KEPT>,
}

impl EndedSessions {
    pub(super) fn contains(&self, session: &SessionId) -> bool {
        self.all.contains(session)
    }

    /// Its target is dead; that it is detached will be heard later.
    pub(super) fn crashed(&mut self, session: &SessionId) {
        self.all.insert(session.clone());
    }

    /// No more will be heard of it.
    pub(super) fn detached(&mut self, session: &SessionId) {
        self.all.insert(session.clone());
        if self.detached.iter().any(|known| known == session) {
            return;
        }
        if let Some(oldest) = self.detached.keep(session.clone()) {
            self.all.remove(&oldest);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_detached_is_forgotten_in_time() {
        let mut ended = EndedSessions::default();
        let name = |number: usize| SessionId::new(&number.to_string());
        for number in 0..10_000 {
            ended.crashed(&name(number));
            assert!(ended.contains(&name(number)));
            ended.detached(&name(number));
            // It is let go of by its owner only now.
            if !ended.contains(&name(number)) {
                ended.crashed(&name(number));
            }
            assert!(ended.contains(&name(number)));
        }
        assert_eq!(
            (ended.all.len(), ended.detached.iter().count()),
            (KEPT, KEPT)
        );
        assert!(!ended.contains(&name(0)));
    }
}
