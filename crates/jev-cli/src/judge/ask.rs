//! `jev judge ask`: one decision from the command line, for a look at how a judge thinks.

use std::cmp::Ordering;
use std::io::{IsTerminal, Read, Write};
use std::time::{Duration, Instant};

use clap::Args;
use jev_core::action::Operation;
use jev_core::error::JudgeError;
use jev_core::gate::{Gate, GateKind};
use jev_core::ports::{Judge, JudgeIdentity, JudgeKind};
use jev_core::question::{
    Answer, ChoiceAnswer, ChoiceOption, Decision, Question, QuestionKind, Questionnaire, Stage,
    Subject,
};
use serde::Serialize;
use serde_json::json;

use super::{Chosen, JudgeArgs, gate, shown};
use crate::args::GateArg;
use crate::error::UsageError;
use crate::exit_code::Exit;
use crate::output::ms;
use crate::prepare::duration;
use crate::story::clean;

/// Most options of one question, `none` not counted.
const OPTIONS_MAX: usize = 254;
/// Most bytes that are read from standard input.
const STDIN_MAX_BYTES: u64 = 1 << 20;
/// Most characters of an option on one line.
const SHOWN: usize = 90;
/// How many cells a bar has.
const BAR: usize = 24;

/// `jev judge ask`.
#[derive(Debug, Args)]
#[command(after_help = "\
`none of these` is always offered too: a judge that must choose something always does.

Exit codes: 0 an option was chosen and passed the gate; 2 usage; 3 none was, or it did not pass;
5 the judge failed; 130 cancelled.

Example:
  jev judge ask --goal 'How long is the warranty?' --option Careers --option 'Warranty policy'")]
pub(crate) struct AskArgs {
    /// What is wanted.
    #[arg(long, value_name = "TEXT")]
    pub goal: String,
    /// One option. Repeatable. Without any, each line of standard input is one.
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    pub option: Vec<String>,
    /// Who decides.
    #[command(flatten)]
    pub judge: JudgeArgs,
    /// How strong a choice must be, 0.55 to 1. Default: 0.8 for probability, 0.55 for share.
    #[arg(long, value_name = "P", allow_hyphen_values = true)]
    pub threshold: Option<String>,
    /// What is compared with the threshold. Default: share for judges that rank (lexical,
    /// embedded), probability for all others.
    #[arg(long, value_enum)]
    pub gate: Option<GateArg>,
    /// How long the judge may take.
    #[arg(
        long,
        value_name = "DURATION",
        default_value = "10s",
        allow_hyphen_values = true
    )]
    pub budget: String,
    /// Print one JSON object instead of bars.
    #[arg(long)]
    pub json: bool,
}

/// What `--json` prints.
#[derive(Serialize)]
struct Output<'a> {
    goal: &'a str,
    judge: &'a JudgeIdentity,
    model: Option<&'a str>,
    options: Vec<Ranked<'a>>,
    /// The chosen option's text; null for none of these.
    choice: Option<&'a str>,
    gate: Gate,
    statistic: f64,
    passed: bool,
    order_disagreement: Option<f64>,
    input_tokens: u64,
    output_tokens: u64,
    cost: Option<f64>,
    elapsed_ms: u64,
    notice: Option<&'a str>,
}

/// An option, in the order given; `none of these` is the last and has no text.
#[derive(Serialize)]
struct Ranked<'a> {
    option: Option<&'a str>,
    p: f64,
}

/// Runs the command.
pub(crate) fn ask(args: &AskArgs) -> Result<Exit, UsageError> {
    let options = options(args)?;
    if args.goal.trim().is_empty() {
        return Err(UsageError::Blank { field: "goal" });
    }
    let budget = duration("budget", &args.budget)?;
    // A fault of the gate is found before a cassette is begun.
    gate(args.gate, args.threshold.as_deref(), JudgeKind::Decides)?;
    let chosen = args.judge.choose()?;
    let identity = chosen.judge.identity();
    let gate = gate(args.gate, args.threshold.as_deref(), identity.kind)?;
    let runtime = tokio::runtime::Runtime::new().map_err(UsageError::Runtime)?;
    let questionnaire = questionnaire(&args.goal, &options);
    let began = Instant::now();
    let outcome = runtime.block_on(async {
        tokio::select! {
            outcome = decide(chosen.judge.as_ref(), &questionnaire, budget) => Some(outcome),
            () = crate::interrupt::signal() => None,
        }
    });
    let elapsed = began.elapsed();
    runtime.shutdown_background();
    let (decision, answer) = match outcome {
        Some(Ok(found)) => found,
        Some(Err(error)) => {
            aside!("jev: {}: {error}", shown(&identity));
            return Ok(Exit::Judge);
        }
        None => return Ok(Exit::Cancelled),
    };
    Ok(tell(
        args, &chosen, &identity, &options, gate, &decision, &answer, elapsed,
    ))
}

async fn decide(
    judge: &dyn Judge,
    questionnaire: &Questionnaire,
    budget: Duration,
) -> Result<(Decision, ChoiceAnswer), JudgeError> {
    let decision = tokio::time::timeout(budget, judge.decide(questionnaire, budget))
        .await
        .map_err(|_| JudgeError::Timeout)??;
    match decision.answers.first() {
        Some(Answer::Choice(answer)) => {
            let answer = answer.clone();
            Ok((decision, answer))
        }
        Some(Answer::Noul { .. } | Answer::Score { .. }) | None => Err(JudgeError::Capability {
            what: "a choice was answered by something else".to_owned(),
        }),
    }
}

/// The options from the arguments, else from standard input; empty lines there do not count.
fn options(args: &AskArgs) -> Result<Vec<String>, UsageError> {
    let options: Vec<String> = if args.option.is_empty() {
        let stdin = std::io::stdin();
        if stdin.is_terminal() {
            return Err(UsageError::Options { count: 0 });
        }
        let mut bytes = Vec::new();
        stdin
            .lock()
            .take(STDIN_MAX_BYTES)
            .read_to_end(&mut bytes)
            .map_err(|source| UsageError::Read {
                field: "option",
                path: "standard input".to_owned(),
                source,
            })?;
        String::from_utf8_lossy(&bytes)
            .lines()
            .map(str::trim)
            .filter(|line| !line.is_empty())
            .map(str::to_owned)
            .collect()
    } else {
        args.option.clone()
    };
    if options.iter().any(|option| option.trim().is_empty()) {
        return Err(UsageError::Blank { field: "option" });
    }
    if options.is_empty() || options.len() > OPTIONS_MAX {
        return Err(UsageError::Options {
            count: options.len(),
        });
    }
    Ok(options)
}

/// The question as the loop would ask it of candidates without an address.
fn questionnaire(goal: &str, options: &[String]) -> Questionnaire {
    let mut asked: Vec<ChoiceOption> = (1..)
        .zip(options)
        .map(|(number, text)| ChoiceOption {
            name: format!("c{number}"),
            description: text.clone(),
            subject: Subject::Candidate {
                id: format!("c{number}"),
                label: text.clone(),
                context: String::new(),
                href: None,
            },
        })
        .collect();
    asked.push(ChoiceOption {
        name: Operation::None.option_name().to_owned(),
        description: "Nothing here fits.".to_owned(),
        subject: Subject::Operation(Operation::None),
    });
    Questionnaire {
        stage: Stage::Decide,
        goal: goal.to_owned(),
        state: json!({"goal": goal}),
        questions: vec![Question {
            id: "choice".to_owned(),
            kind: QuestionKind::Choice {
                instructions:
                    "Which option best serves the goal in the state? Choose none when no \
                               option does."
                        .to_owned(),
                options: asked,
            },
        }],
    }
}

#[expect(
    clippy::too_many_arguments,
    reason = "everything that one decision shows"
)]
fn tell(
    args: &AskArgs,
    chosen: &Chosen,
    identity: &JudgeIdentity,
    options: &[String],
    gate: Gate,
    decision: &Decision,
    answer: &ChoiceAnswer,
    elapsed: Duration,
) -> Exit {
    let (index, p, runner_up) = answer.top().unwrap_or((options.len(), 0.0, 0.0));
    let statistic = gate.statistic(p, runner_up);
    let choice = options.get(index).map(String::as_str);
    let passed = gate.passes(statistic);
    let texts = options
        .iter()
        .map(|option| Some(option.as_str()))
        .chain([None]);
    let ranked: Vec<Ranked<'_>> = texts
        .zip(&answer.probabilities)
        .map(|(option, p)| Ranked { option, p: *p })
        .collect();
    let output = Output {
        goal: &args.goal,
        judge: identity,
        model: decision.model.as_deref(),
        options: ranked,
        choice,
        gate,
        statistic,
        passed,
        order_disagreement: answer.flags.order_disagreement,
        input_tokens: decision.usage.input_tokens,
        output_tokens: decision.usage.output_tokens,
        cost: chosen.price.map(|price| price.of(decision.usage)),
        elapsed_ms: ms(elapsed),
        notice: chosen.notice.as_deref(),
    };
    let mut out = chosen.hiding.lines(std::io::stdout());
    // A reader that went away is no failure of the judge.
    let _ = if args.json {
        let text = serde_json::to_string(&output).unwrap_or_default();
        writeln!(out, "{text}")
    } else {
        bars(&mut out, &output)
    };
    match (choice, passed) {
        (Some(_), true) => Exit::Success,
        (Some(_), false) | (None, _) => Exit::NotVerified,
    }
}

fn bars(out: &mut impl Write, output: &Output<'_>) -> std::io::Result<()> {
    let statistic = match output.gate.kind() {
        GateKind::Probability => "probability",
        GateKind::Share => "top-two share",
    };
    writeln!(out, "goal     {}", clean(output.goal, 400))?;
    writeln!(out, "judge    {}", shown(output.judge))?;
    if let Some(notice) = output.notice {
        writeln!(out, "note     {notice}")?;
    }
    writeln!(out)?;
    let mut sorted: Vec<&Ranked<'_>> = output.options.iter().collect();
    sorted.sort_by(|a, b| b.p.partial_cmp(&a.p).unwrap_or(Ordering::Equal));
    for option in sorted {
        let text = match option.option {
            Some(text) => clean(text, SHOWN),
            None => "none of these".to_owned(),
        };
        writeln!(out, "  {:.3} {} {text}", option.p, bar(option.p))?;
    }
    let verdict = if output.passed {
        "passed"
    } else {
        "NOT passed"
    };
    writeln!(
        out,
        "\nchosen   {}",
        output
            .choice
            .map_or("none of these".to_owned(), |text| clean(text, SHOWN)),
    )?;
    writeln!(
        out,
        "gate     {verdict}: {statistic} {:.2}, {:.2} needed",
        output.statistic,
        output.gate.threshold(),
    )?;
    if let Some(apart) = output.order_disagreement {
        writeln!(out, "orders   disagree by {apart:.2}")?;
    }
    let cost = output
        .cost
        .map(|cost| format!(", cost {cost:.6}"))
        .unwrap_or_default();
    writeln!(
        out,
        "spent    {} ms, {} tokens in, {} out{cost}",
        output.elapsed_ms, output.input_tokens, output.output_tokens,
    )
}

/// A bar of [`BAR`] cells, in eighths of a cell.
fn bar(p: f64) -> String {
    const EIGHTHS: [char; 8] = [
        ' ', '\u{258f}', '\u{258e}', '\u{258d}', '\u{258c}', '\u{258b}', '\u{258a}', '\u{2589}',
    ];
    let eighths = (p.clamp(0.0, 1.0) * BAR as f64 * 8.0).round() as usize;
    let mut text = "\u{2588}".repeat(eighths / 8);
    if let Some(part) = EIGHTHS
        .get(eighths % 8)
        .filter(|_| !eighths.is_multiple_of(8))
    {
        text.push(*part);
    }
    let used = text.chars().count();
    text.extend(std::iter::repeat_n(' ', BAR.saturating_sub(used)));
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_have_one_width_and_grow() {
        for p in [-1.0, 0.0, 0.001, 0.5, 0.999, 1.0, f64::NAN] {
            assert_eq!(bar(p).chars().count(), BAR, "{p}");
        }
        assert_eq!(bar(1.0), "\u{2588}".repeat(BAR));
        assert_eq!(bar(0.5).trim_end(), "\u{2588}".repeat(BAR / 2));
        assert_eq!(bar(0.0).trim_end(), "");
    }
}
