//! Chance: where a case's draws come from, a seed or a string of bytes. Zero always means the
//! honest and prompt choice, so a string that has run out ends in a world without faults.

/// A source of small numbers. The same source gives the same numbers, on every machine.
#[derive(Clone, Debug)]
pub enum Chance {
    /// SplitMix64 (Steele, Lea and Flood, 2014): a fixed algorithm, one multiplication chain a draw.
    Seed(u64),
    /// Bytes of a fuzzer or of a shrinking test, then zeros.
    Bytes {
        /// The bytes.
        bytes: Vec<u8>,
        /// The next one.
        at: usize,
    },
}

const GOLDEN: u64 = 0x9E37_79B9_7F4A_7C15;

fn mixed(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

impl Chance {
    /// The source of one numbered case of a seed.
    pub fn of_case(seed: u64, case: u64) -> Self {
        Self::Seed(mixed(seed ^ mixed(case.wrapping_mul(GOLDEN))))
    }

    /// A source that draws from bytes.
    pub fn of_bytes(bytes: Vec<u8>) -> Self {
        Self::Bytes { bytes, at: 0 }
    }

    /// A byte; 0 when there are none left.
    pub fn byte(&mut self) -> u8 {
        match self {
            Self::Seed(state) => {
                *state = state.wrapping_add(GOLDEN);
                (mixed(*state) >> 56) as u8
            }
            Self::Bytes { bytes, at } => {
                let byte = bytes.get(*at).copied().unwrap_or(0);
                *at += 1;
                byte
            }
        }
    }

    /// A number below `bound`; 0 for a bound of 0 or 1.
    pub fn below(&mut self, bound: u32) -> u32 {
        let bound = u64::from(bound.max(1));
        let drawn = if bound <= 256 {
            u64::from(self.byte()) * bound / 256
        } else {
            let wide =
                u64::from(self.byte()) << 16 | u64::from(self.byte()) << 8 | u64::from(self.byte());
            (wide * bound) >> 24
        };
        drawn as u32
    }

    /// Whether something that happens `rate` times in 256 happens now.
    pub fn hits(&mut self, rate: u8) -> bool {
        rate > 0 && self.byte() > 255 - rate
    }

    /// One of these.
    pub fn pick<T: Copy>(&mut self, from: &[T]) -> Option<T> {
        let place = self.below(u32::try_from(from.len()).unwrap_or(u32::MAX));
        from.get(place as usize).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_case_draws_the_same_and_another_does_not() {
        let draws = |case| {
            let mut chance = Chance::of_case(7, case);
            (0..8).map(|_| chance.below(1_000)).collect::<Vec<_>>()
        };
        assert_eq!(draws(3), draws(3));
        assert_ne!(draws(3), draws(4));
    }

    #[test]
    fn bytes_that_have_run_out_draw_the_honest_choice() {
        let mut chance = Chance::of_bytes(vec![255]);
        assert!(chance.hits(1));
        assert!(!chance.hits(255));
        assert_eq!(chance.below(1_000_000), 0);
    }
}
