//! After the end: what came too late, what telemetry says, and what OFF would have returned.

use jev_core::contract::{Contract, Mode};
use jev_core::error::SessionError;
use jev_core::ids::RunId;
use jev_core::input::Input;
use jev_core::navigator::Navigator;
use jev_core::ports::{JudgeIdentity, JudgeKind};
use jev_core::report::ToolOutput;
use jev_core::telemetry::telemetry;
use jev_core::time::Timestamp;

use super::site::MARK;
use super::witness::Witness;

/// Inputs that a closed run must not care for.
pub fn too_late() -> [Input; 3] {
    [
        Input::Cancel,
        Input::SessionLost(SessionError::Crashed),
        Input::Tick,
    ]
}

/// What telemetry says of a run that is over. The judge's own name tries to smuggle words in.
pub fn telemetry_json(witness: &Witness) -> String {
    let Some((report, _)) = &witness.reports else {
        return String::new();
    };
    let judge = JudgeIdentity {
        name: format!("a judge that says {MARK}"),
        model: Some("model-1".to_owned()),
        kind: JudgeKind::Decides,
    };
    serde_json::to_string(&telemetry(report, &judge, None)).unwrap_or_else(|_| MARK.to_owned())
}

/// What an OFF run returns that is told the same things.
pub fn off_output(contract: &Contract, inputs: &[(Input, Timestamp)]) -> Option<ToolOutput> {
    let mut draft = (**contract).clone();
    draft.mode = Mode::Off;
    let mut navigator = Navigator::new(RunId(1), draft.check().ok()?);
    let drain = |navigator: &mut Navigator| while navigator.poll_effect().is_some() {};
    drain(&mut navigator);
    for (input, at) in inputs {
        navigator.handle(input.clone(), *at);
        drain(&mut navigator);
    }
    // A run that does not end is another invariant's matter.
    for _ in 0..64 {
        let Some((at, _)) = navigator.poll_timeout() else {
            break;
        };
        navigator.handle(Input::Tick, at);
        drain(&mut navigator);
    }
    Some(navigator.report()?.tool_output())
}
