//! A judge that takes a while to load, loaded beside a server that must answer at once.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use jev_core::error::JudgeError;
use jev_core::ports::{Judge, JudgeIdentity, JudgeKind};
use jev_core::question::{Decision, Questionnaire};
use tokio::sync::OnceCell;
use tokio::time::Instant;

use super::judge::JudgeSettings;

/// The embedded judge: its model takes about a tenth of a second to load.
pub(super) struct LateJudge {
    settings: JudgeSettings,
    loaded: OnceCell<Arc<dyn Judge>>,
}

impl LateJudge {
    pub(super) fn new(settings: JudgeSettings) -> Self {
        Self {
            settings,
            loaded: OnceCell::new(),
        }
    }

    /// Loaded once; a load that fails is tried again at the next question.
    async fn load(&self) -> Result<&Arc<dyn Judge>, JudgeError> {
        self.loaded
            .get_or_try_init(|| async {
                let settings = self.settings.clone();
                tokio::task::spawn_blocking(move || settings.build())
                    .await
                    .unwrap_or_else(|_| {
                        Err(JudgeError::Config {
                            what: "the judge could not be loaded".to_owned(),
                        })
                    })
            })
            .await
    }
}

/// Begins to load; what goes wrong is said to the log, and again by each question.
pub(super) fn load_beside(judge: &Arc<LateJudge>) {
    if let Ok(runtime) = tokio::runtime::Handle::try_current() {
        let judge = Arc::clone(judge);
        runtime.spawn(async move {
            if let Err(error) = judge.load().await {
                tracing::error!(%error, "the judge can't be asked");
            }
        });
    }
}

#[async_trait]
impl Judge for LateJudge {
    /// The same before it is loaded and after: what was configured. Its answers name the model.
    fn identity(&self) -> JudgeIdentity {
        JudgeIdentity {
            name: self.settings.spec.to_string(),
            model: self.settings.model.clone(),
            kind: JudgeKind::Ranks,
        }
    }

    async fn decide(
        &self,
        questionnaire: &Questionnaire,
        deadline: Duration,
    ) -> Result<Decision, JudgeError> {
        let end = Instant::now() + deadline;
        let judge = tokio::time::timeout_at(end, self.load())
            .await
            .map_err(|_| JudgeError::Timeout)??;
        judge
            .decide(questionnaire, end.saturating_duration_since(Instant::now()))
            .await
    }
}
