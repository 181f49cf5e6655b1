//! The queue of calls that open browsers: so many run at once, so many wait in the order in which
//! they came, and the next one is told that it is too many.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::task::Poll;

use async_trait::async_trait;
use tokio::sync::Semaphore;

use crate::config::McpSettings;
use crate::tool::{ToolError, Turn, Turns};

/// A fair queue: tokio's semaphore serves those who wait in their order, and nobody overtakes.
#[derive(Debug)]
pub(super) struct Queue {
    running: u32,
    waiting: u32,
    permits: Arc<Semaphore>,
    /// Calls that run or wait.
    inside: Arc<AtomicU32>,
    /// Calls that wait for a person's answer: as many at most.
    asking: Arc<AtomicU32>,
}

/// One call inside the queue, until it is dropped.
struct Place(Arc<AtomicU32>);

impl Drop for Place {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::AcqRel);
    }
}

impl Queue {
    pub(super) fn new(settings: &McpSettings) -> Self {
        Self {
            running: settings.running,
            waiting: settings.waiting,
            permits: Arc::new(Semaphore::new(settings.running as usize)),
            inside: Arc::default(),
            asking: Arc::default(),
        }
    }

    fn enter(&self, counted: &Arc<AtomicU32>) -> Result<Place, ToolError> {
        let most = self.running.saturating_add(self.waiting);
        let entered = counted.fetch_update(Ordering::AcqRel, Ordering::Acquire, |inside| {
            (inside < most).then_some(inside + 1)
        });
        match entered {
            Ok(_) => Ok(Place(Arc::clone(counted))),
            Err(_) => Err(ToolError::Busy {
                running: self.running,
                waiting: self.waiting,
            }),
        }
    }
}

#[async_trait]
impl Turns for Queue {
    async fn turn(&self) -> Result<Turn, ToolError> {
        let place = self.enter(&self.inside)?;
        let mut waiting = std::pin::pin!(Arc::clone(&self.permits).acquire_owned());
        let first = std::future::poll_fn(|context| Poll::Ready(waiting.as_mut().poll(context)));
        let first = first.await;
        // It stands in the queue from its first poll on: whoever is written here first is served
        // first.
        tracing::debug!("a call has its place in the queue");
        let permit = match first {
            Poll::Ready(permit) => permit,
            Poll::Pending => waiting.await,
        };
        // The semaphore is never closed; if it were, nothing could be opened any more.
        let permit = permit.map_err(|_| ToolError::Cancelled)?;
        Ok(Box::new((permit, place)))
    }

    fn question(&self) -> Result<Turn, ToolError> {
        Ok(Box::new(self.enter(&self.asking)?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn queue(running: u32, waiting: u32) -> Arc<Queue> {
        Arc::new(Queue::new(&McpSettings {
            running,
            waiting,
            ..McpSettings::default()
        }))
    }

    #[tokio::test]
    async fn turns_come_in_the_order_of_asking_and_the_next_is_too_many() {
        let queue = queue(1, 3);
        let first = queue.turn().await.unwrap();
        let (tell, mut told) = tokio::sync::mpsc::unbounded_channel();
        let mut tasks = Vec::new();
        for number in 0..3 {
            let (queue, tell) = (Arc::clone(&queue), tell.clone());
            let mut turn = Box::pin(async move {
                let _turn = queue.turn().await.unwrap();
                tell.send(number).unwrap();
            });
            // Polled once here, so that each stands in the queue before the next comes.
            assert!(futures_poll(&mut turn).await);
            tasks.push(turn);
        }
        let busy = queue.turn().await.err().unwrap();
        assert_eq!(
            busy,
            ToolError::Busy {
                running: 1,
                waiting: 3
            }
        );
        drop(first);
        for task in tasks.into_iter().rev() {
            tokio::spawn(task);
        }
        for expected in 0..3 {
            assert_eq!(told.recv().await, Some(expected));
        }
        let _again = queue.turn().await.unwrap();
    }

    #[tokio::test]
    async fn questions_to_people_are_bounded_beside_the_calls() {
        let queue = queue(1, 2);
        let _turn = queue.turn().await.unwrap();
        let asking: Vec<Turn> = (0..3).map(|_| queue.question().unwrap()).collect();
        let busy = ToolError::Busy {
            running: 1,
            waiting: 2,
        };
        assert_eq!(queue.question().err(), Some(busy));
        drop(asking);
        assert!(queue.question().is_ok());
    }

    #[tokio::test]
    async fn one_that_gives_up_waiting_leaves_its_place() {
        let queue = queue(1, 1);
        let first = queue.turn().await.unwrap();
        for _ in 0..5 {
            let mut waiting = queue.turn();
            assert!(futures_poll(&mut waiting).await);
        }
        drop(first);
        assert!(queue.turn().await.is_ok());
    }

    /// Polls a future once; whether it is still pending.
    async fn futures_poll<F: Future + Unpin>(future: &mut F) -> bool {
        std::future::poll_fn(|context| {
            std::task::Poll::Ready(std::pin::Pin::new(&mut *future).poll(context).is_pending())
        })
        .await
    }
}
