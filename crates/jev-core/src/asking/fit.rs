//! Fitting: making one request smaller than the state limit, by rule and in a fixed order.

use std::collections::HashSet;

use super::{Ask, Detail};
use crate::question::Stage;
use crate::snapshot::{CandidateCost, json_chars};

/// The request can't be made to fit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct StateTooLarge;

/// Upper bound of everything a request holds beside the parts counted one by one: keys,
/// instructions, the descriptions of the operations, scroll and omitted counts. The property test
/// beside this module fails when a wording outgrows it.
const FIXED: usize = 3_000;
/// The instructions, the `none` option and the keys of one more window.
const PER_WINDOW: usize = 460;
/// The words and quotes around one candidate in its option, by what is said of it.
const OPTION_FULL: usize = 46;
const OPTION_SHORT: usize = 37;
const OPTION_BARE: usize = 33;
/// The keys and quotes around one candidate in the state's list.
const LISTED: usize = 22;
/// Most characters of text shown for a decision, and for a narrowing. Long irrelevant text makes
/// decisions worse (measured on several decision models), and the verifier has read all of it already.
const TEXT_MOST: usize = 8_000;
const TEXT_MOST_NARROW: usize = 1_000;
/// The text is cut before anything else, but not below this many characters.
const TEXT_FLOOR: usize = 500;
/// Candidates are dropped, least relevant first, but not below this many.
const CANDIDATE_FLOOR: usize = 8;

/// Chooses detail, candidates, text and history so that the request fits `limit` characters.
///
/// Order: cut the text to its floor, say less of each candidate, drop candidates that lead where
/// an earlier one leads, say less again, drop the candidates least like the goal; when all of that
/// is not enough, forget the oldest entries of the history, no more than needed.
pub(super) fn fit(ask: &mut Ask, limit: usize, most: usize) -> Result<(), StateTooLarge> {
    let whole = (ask.candidates.clone(), ask.trimmed);
    for from in 0..=ask.history.len() {
        ask.history_from = from;
        (ask.candidates, ask.trimmed) = whole.clone();
        if fit_with(ask, limit, most).is_ok() {
            return Ok(());
        }
    }
    Err(StateTooLarge)
}

/// As [`fit`], with the history as it is told now.
fn fit_with(ask: &mut Ask, limit: usize, most: usize) -> Result<(), StateTooLarge> {
    let text = ask.snapshot.costs().text;
    let base = FIXED
        + json_chars(&ask.goal)
        + ask.snapshot.costs().head
        + ask
            .told()
            .iter()
            .map(crate::history::HistoryEntry::chars)
            .sum::<usize>();
    let floor = base + text.min(TEXT_FLOOR);
    if floor > limit {
        return Err(StateTooLarge);
    }
    let fits = |ask: &Ask, detail| floor + total(ask, detail, most) <= limit;
    let mut detail = Detail::Full;
    if !fits(ask, detail) {
        detail = Detail::Short;
    }
    if !fits(ask, detail) {
        drop_duplicate_targets(ask);
    }
    if !fits(ask, detail) {
        detail = Detail::Bare;
    }
    if !fits(ask, detail) {
        let room = limit - floor;
        let windows = total(ask, detail, most) - total(ask, detail, usize::MAX);
        drop_least_relevant(ask, room.saturating_sub(windows));
    }
    if !fits(ask, detail) {
        return Err(StateTooLarge);
    }
    ask.detail = detail;
    let text_most = match ask.stage {
        Stage::Narrow => TEXT_MOST_NARROW,
        Stage::Decide => TEXT_MOST,
    };
    ask.text_chars = text
        .min(text_most)
        .min(limit - base - total(ask, detail, most));
    Ok(())
}

fn total(ask: &Ask, detail: Detail, most: usize) -> usize {
    let costs = &ask.snapshot.costs().candidates;
    let candidates: usize = ask
        .candidates
        .iter()
        .filter_map(|&index| costs.get(index))
        .map(|cost| candidate(cost, detail, ask.stage))
        .sum();
    windows(ask, most) + candidates
}

fn windows(ask: &Ask, most: usize) -> usize {
    match ask.stage {
        Stage::Narrow => ask.candidates.len().div_ceil(most) * PER_WINDOW,
        Stage::Decide => 0,
    }
}

/// What one candidate costs: its id and label stand in the option and, when the step is decided,
/// in the state's list too.
fn candidate(cost: &CandidateCost, detail: Detail, stage: Stage) -> usize {
    // A cut counts characters of the text, each of which takes at most 6 in JSON.
    let (label, around) = match detail {
        Detail::Full => (
            cost.label.min(200 * 6),
            OPTION_FULL + cost.context.min(80 * 6) + cost.href.min(200),
        ),
        Detail::Short => (cost.label.min(120 * 6), OPTION_SHORT + cost.href.min(60)),
        Detail::Bare => (cost.label.min(60 * 6), OPTION_BARE),
    };
    let named = cost.id + label;
    match stage {
        Stage::Narrow => named + around,
        Stage::Decide => named + around + named + LISTED,
    }
}

fn drop_duplicate_targets(ask: &mut Ask) {
    let snapshot = std::sync::Arc::clone(&ask.snapshot);
    let mut seen = HashSet::new();
    let before = ask.candidates.len();
    ask.candidates.retain(|&index| {
        snapshot
            .candidates
            .get(index)
            .and_then(|candidate| candidate.href.as_ref())
            .is_none_or(|href| seen.insert(href.as_str()))
    });
    count_trimmed(ask, before);
}

fn drop_least_relevant(ask: &mut Ask, room: usize) {
    let words: Vec<String> = words(&ask.goal).collect();
    let costs = &ask.snapshot.costs().candidates;
    let mut ranked: Vec<(usize, usize, usize)> = ask
        .candidates
        .iter()
        .enumerate()
        .filter_map(|(place, &index)| {
            let shown = ask.snapshot.candidates.get(index)?;
            let text = format!("{} {}", shown.label, shown.context).to_lowercase();
            let hits = words
                .iter()
                .filter(|word| text.contains(word.as_str()))
                .count();
            let cost = candidate(costs.get(index)?, Detail::Bare, ask.stage);
            Some((hits, place, cost))
        })
        .collect();
    // Most relevant first; of equals the earlier on the page.
    ranked.sort_by(|a, b| b.0.cmp(&a.0).then(a.1.cmp(&b.1)));
    let mut left = room;
    let mut kept = HashSet::new();
    for (hits_rank, &(_, place, cost)) in ranked.iter().enumerate() {
        match left.checked_sub(cost) {
            Some(rest) => left = rest,
            // Below the floor nothing more is dropped: the caller reports that it does not fit.
            None if hits_rank < CANDIDATE_FLOOR => left = 0,
            None => break,
        }
        kept.insert(place);
    }
    let before = ask.candidates.len();
    let mut place = 0;
    ask.candidates.retain(|_| {
        place += 1;
        kept.contains(&(place - 1))
    });
    count_trimmed(ask, before);
}

fn count_trimmed(ask: &mut Ask, before: usize) {
    let dropped = before - ask.candidates.len();
    ask.trimmed = ask
        .trimmed
        .saturating_add(u32::try_from(dropped).unwrap_or(u32::MAX));
}

/// Lower-case words of three or more letters or digits; a script without spaces gives its pairs.
pub(super) fn words(goal: &str) -> impl Iterator<Item = String> {
    goal.split(|c: char| !c.is_alphanumeric()).flat_map(|word| {
        let word = word.to_lowercase();
        if word.is_ascii() {
            vec![word]
                .into_iter()
                .filter(|word| word.len() > 2)
                .collect::<Vec<_>>()
        } else {
            let chars: Vec<char> = word.chars().collect();
            chars.windows(2).map(|pair| pair.iter().collect()).collect()
        }
    })
}
