//! From a configuration to tools: one reading tool a source, all on one judge and one session
//! factory.

use std::sync::Arc;

use jev_core::ports::{Judge, SessionFactory};
use jev_verify::SpecError;

use super::Config;
use super::source::SourceSettings;
use crate::session_tools::{NamedSource, SessionParts, session_tools};
use crate::source::{Shared, Source};
use crate::tool::{Effects, Naming, ReadBrowser, Tool, ToolDefinition, Tracing};

impl Config {
    /// The reading tools, in the order of the sources. They are `read_browser` for a single source
    /// and `read_browser_NAME` for several.
    ///
    /// # Errors
    /// None for a configuration that was read from a file.
    pub fn read_tools(
        &self,
        judge: &Arc<dyn Judge>,
        factory: &Arc<dyn SessionFactory>,
        tracing: Option<&Tracing>,
    ) -> Result<Vec<ReadBrowser>, SpecError> {
        self.sources
            .iter()
            .map(|settings| {
                let naming = match self.sources.len() {
                    1 => Naming::Single,
                    _ => Naming::OfSource(&settings.name),
                };
                let definition = ToolDefinition::read_browser(
                    naming,
                    settings.about.as_deref(),
                    Effects::of(&settings.actions),
                );
                let source = Arc::new(Shared(settings.source(factory)?));
                let tool =
                    ReadBrowser::new(definition, source, Arc::clone(judge), self.read.clone());
                let tool = match self.judge.price {
                    Some(price) => tool.priced(price),
                    None => tool,
                };
                Ok(match tracing {
                    Some(tracing) => tool.traced(tracing.clone()),
                    None => tool,
                })
            })
            .collect()
    }
}

impl Config {
    /// The session tools: none unless `[session]` offers them.
    ///
    /// # Errors
    /// None for a configuration that was read from a file.
    pub fn session_tools(
        &self,
        judge: &Arc<dyn Judge>,
        factory: &Arc<dyn SessionFactory>,
        tracing: Option<&Tracing>,
    ) -> Result<Vec<Arc<dyn Tool>>, SpecError> {
        let sources = self.sources.iter().map(|settings| {
            Ok(NamedSource {
                name: settings.name.clone(),
                provider: Arc::new(Shared(settings.source(factory)?)),
                effects: Effects::of(&settings.actions),
            })
        });
        Ok(session_tools(SessionParts {
            settings: self.session.clone(),
            read: self.read.clone(),
            judge: Arc::clone(judge),
            sources: sources.collect::<Result<_, SpecError>>()?,
            price: self.judge.price,
            tracing: tracing.cloned(),
        }))
    }
}

impl SourceSettings {
    /// The source itself, on this factory.
    ///
    /// # Errors
    /// None for settings that were read from a file.
    pub fn source(&self, factory: &Arc<dyn SessionFactory>) -> Result<Source, SpecError> {
        Ok(Source {
            factory: Arc::clone(factory),
            verifier: self.verifier()?,
            start: self.start.clone(),
            access: self.access.clone(),
            actions: self.actions.clone(),
        })
    }
}
