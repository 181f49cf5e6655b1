//! The latest of something: at most so many, the oldest is forgotten first.

use std::collections::VecDeque;

/// At most `MOST` items, oldest first.
#[derive(Clone, Debug)]
pub(crate) struct Latest<T, const MOST: usize>(VecDeque<T>);

impl<T, const MOST: usize> Default for Latest<T, MOST> {
    fn default() -> Self {
        Self(VecDeque::new())
    }
}

impl<T, const MOST: usize> Latest<T, MOST> {
    /// Keeps one more; the one that is forgotten for it.
    pub(crate) fn keep(&mut self, item: T) -> Option<T> {
        self.0.push_back(item);
        if self.0.len() > MOST {
            self.0.pop_front()
        } else {
            None
        }
    }

    /// Those after the first `count` of `total` that there were in all, oldest first; of them, those
    /// that are not forgotten.
    pub(crate) fn after(&self, count: u64, total: u64) -> impl DoubleEndedIterator<Item = &T> {
        let fresh = usize::try_from(total.saturating_sub(count)).unwrap_or(usize::MAX);
        self.0.iter().skip(self.0.len().saturating_sub(fresh))
    }

    /// All of them, oldest first.
    pub(crate) fn iter(&self) -> impl DoubleEndedIterator<Item = &T> {
        self.0.iter()
    }
}
