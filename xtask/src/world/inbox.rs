//! The inbox: everything on its way to the navigator, in the order of its arrival.

use std::time::Duration;

use jev_core::input::Input;
use jev_core::time::Timestamp;

/// An input on its way.
#[derive(Clone, Debug)]
struct Post {
    at: Timestamp,
    order: u64,
    input: Input,
}

/// What is on its way.
#[derive(Clone, Debug, Default)]
pub struct Inbox {
    posts: Vec<Post>,
    sent: u64,
}

impl Inbox {
    /// Sends an input that arrives `after` from `now`.
    pub fn send(&mut self, now: Timestamp, after: Duration, input: Input) {
        self.sent += 1;
        self.posts.push(Post {
            at: now.after(after),
            order: self.sent,
            input,
        });
    }

    fn first(&self) -> Option<usize> {
        (0..self.posts.len())
            .min_by_key(|&index| self.posts.get(index).map(|post| (post.at, post.order)))
    }

    /// When the next one arrives.
    pub fn next_at(&self) -> Option<Timestamp> {
        self.posts.get(self.first()?).map(|post| post.at)
    }

    /// The next one.
    pub fn take(&mut self) -> Option<(Timestamp, Input)> {
        let post = self.posts.swap_remove(self.first()?);
        Some((post.at, post.input))
    }

    /// How many are on their way.
    pub fn waiting(&self) -> usize {
        self.posts.len()
    }
}
