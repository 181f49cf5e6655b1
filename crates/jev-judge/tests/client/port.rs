//! Every judge of this crate keeps the promises of its port: those that answer in process, those
//! that stand before another, and those that ask a server.

use std::sync::Arc;

use jev_core::action::Operation;
use jev_core::ports::Judge;
use jev_core::testing::{self, Answered, Clock};
use jev_judge::credential::Credential;
use jev_judge::lexical::LexicalJudge;
use jev_judge::permute::PermutedJudge;
use jev_judge::recorded::{RecordingJudge, ReplayJudge};
use jev_judge::scripted::{ScriptedDecision, ScriptedJudge};
use jev_judge::server::{ServerConfig, serve};
use tokio::net::TcpListener;

use crate::common::judge_at;

pub(crate) async fn conforms(name: &str, judge: &dyn Judge) -> Answered {
    let clock = Clock::new(tokio::time::sleep);
    match testing::judge(judge, &clock).await {
        Ok(answered) => {
            assert!(answered.refused.is_empty(), "{name}: {answered:?}");
            answered
        }
        Err(broken) => panic!("{name}: {broken}"),
    }
}

#[tokio::test]
async fn judges_without_a_server_conform() {
    let lexical: Arc<dyn Judge> = Arc::new(LexicalJudge::new());
    conforms("lexical", lexical.as_ref()).await;
    let script = vec![ScriptedDecision::operation(Operation::Done); 64];
    conforms("scripted", &ScriptedJudge::new(script)).await;
    let permuted = PermutedJudge::new(Arc::clone(&lexical), 2).unwrap();
    conforms("permuted", &permuted).await;
}

#[tokio::test]
async fn a_recording_and_its_replay_conform() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("cassette.jsonl");
    let inner = Arc::new(LexicalJudge::new());
    let recording = RecordingJudge::create(&file, inner, Credential::None).unwrap();
    let recorded = conforms("recording", &recording).await;
    let replayed = conforms("replay", &ReplayJudge::load(&file).unwrap()).await;
    assert_eq!(recorded, replayed);
}

#[tokio::test]
async fn a_judge_over_the_wire_conforms() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let base = format!("http://{}", listener.local_addr().unwrap());
    let lexical = Arc::new(LexicalJudge::new());
    let serving = tokio::spawn(serve(
        listener,
        lexical,
        ServerConfig::default(),
        std::future::pending(),
    ));
    conforms("systemone", &judge_at(&base, "jev-latest", None)).await;
    serving.abort();
}
