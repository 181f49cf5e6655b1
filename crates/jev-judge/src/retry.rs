//! When a failed request is worth another try, and how long to wait before it.

use std::hash::{BuildHasher as _, RandomState};
use std::time::{Duration, SystemTime};

use reqwest::header::{HeaderMap, RETRY_AFTER};

/// How often and after what waits a request is tried again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RetryPolicy {
    /// Most tries after the first.
    pub retries: u32,
    /// The wait before the first of them; it doubles with each.
    pub base: Duration,
    /// The longest wait that the policy itself chooses.
    pub longest: Duration,
}

impl Default for RetryPolicy {
    /// Two retries, from 0.5 s to 5 s: the official SDK's own.
    fn default() -> Self {
        Self {
            retries: 2,
            base: Duration::from_millis(500),
            longest: Duration::from_secs(5),
        }
    }
}

impl RetryPolicy {
    /// The wait before retry number `retry` (from 1): the server's own wish, else exponential with
    /// up to a quarter taken off at random. `None` when there is no retry left.
    pub(crate) fn wait(&self, retry: u32, wish: Option<Duration>) -> Option<Duration> {
        (retry <= self.retries).then(|| wish.unwrap_or_else(|| self.backoff(retry, jitter())))
    }

    fn backoff(&self, retry: u32, jitter: f64) -> Duration {
        let doubled = self
            .base
            .saturating_mul(1 << retry.saturating_sub(1).min(16));
        doubled.min(self.longest).mul_f64(1.0 - 0.25 * jitter)
    }
}

/// A number from 0 to 1, another one each time. Nothing secret hangs on it.
fn jitter() -> f64 {
    let random = RandomState::new().hash_one(0_u8);
    (random >> 11) as f64 / (1_u64 << 53) as f64
}

/// How long the server asks to be left alone: `retry-after-ms`, else `Retry-After` in seconds or
/// as a date. Senseless values count as none.
pub(crate) fn retry_after(headers: &HeaderMap, now: SystemTime) -> Option<Duration> {
    let text = |name: &str| headers.get(name)?.to_str().ok().map(str::trim);
    let seconds = |text: &str, scale: f64| {
        let value: f64 = text.parse().ok()?;
        Duration::try_from_secs_f64(value * scale).ok()
    };
    if let Some(wish) = text("retry-after-ms").and_then(|text| seconds(text, 0.001)) {
        return Some(wish);
    }
    let text = text(RETRY_AFTER.as_str())?;
    seconds(text, 1.0).or_else(|| {
        let date = httpdate::parse_http_date(text).ok()?;
        Some(date.duration_since(now).unwrap_or_default())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_double_up_to_the_longest_and_end() {
        let policy = RetryPolicy {
            retries: 6,
            ..RetryPolicy::default()
        };
        let waits: Vec<u128> = (1..=5)
            .map(|n| policy.backoff(n, 0.0).as_millis())
            .collect();
        assert_eq!(waits, [500, 1000, 2000, 4000, 5000]);
        assert_eq!(policy.backoff(1, 1.0), Duration::from_millis(375));
        assert!(policy.wait(6, None).is_some());
        assert_eq!(policy.wait(7, Some(Duration::ZERO)), None);
        assert_eq!(policy.wait(1, Some(Duration::ZERO)), Some(Duration::ZERO));
    }

    #[test]
    fn jitter_stays_in_its_range() {
        for _ in 0..100 {
            assert!((0.0..1.0).contains(&jitter()));
        }
    }

    #[test]
    fn both_headers_are_read_in_every_form() {
        let now = httpdate::parse_http_date("Wed, 30 Sep 2026 12:00:00 GMT").unwrap();
        for (headers, expected) in [
            (vec![], None),
            (vec![("retry-after", "0")], Some(0)),
            (vec![("retry-after", " 2 ")], Some(2_000)),
            (vec![("retry-after", "0.5")], Some(500)),
            (
                vec![("retry-after", "Wed, 30 Sep 2026 12:00:03 GMT")],
                Some(3_000),
            ),
            (
                vec![("retry-after", "Wed, 30 Sep 2026 11:00:00 GMT")],
                Some(0),
            ),
            (vec![("retry-after", "-1")], None),
            (vec![("retry-after", "NaN")], None),
            (vec![("retry-after", "soon")], None),
            (
                vec![("retry-after-ms", "250"), ("retry-after", "9")],
                Some(250),
            ),
            (
                vec![("retry-after-ms", "x"), ("retry-after", "1")],
                Some(1_000),
            ),
        ] {
            let mut map = HeaderMap::new();
            for (name, value) in &headers {
                map.insert(*name, value.parse().unwrap());
            }
            let found = retry_after(&map, now).map(|wish| wish.as_millis());
            assert_eq!(found, expected, "{headers:?}");
        }
    }
}
