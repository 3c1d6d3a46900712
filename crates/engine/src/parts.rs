//! Parts of an engine, shared by all its work. Each function takes the parts that it needs.

use std::sync::Arc;

use probity_mail::policy::PaceProfile;

use crate::clock::EngineClock;
use crate::config::{ConfigError, Deadlines, EngineConfig};
use crate::destination::names::NameLookups;
use crate::destination::resolve::CachingResolver;
use crate::knowledge::Knowledge;
use crate::knowledge::facts::FactStore;
use crate::limits::work::BackgroundWork;
use crate::net::Net;
use crate::net::link::SessionContext;
use crate::net::tls::TlsClient;
use crate::pace::pacing::Pacing;
use crate::pace::sources::SourcePool;
use crate::probe::sessions::SessionPool;
use crate::probe::unmatched::UnmatchedTexts;
use crate::random::RandomStreams;
use crate::request::{Effort, EngineCounters, EngineTally};

pub(crate) struct EngineParts {
    pub(crate) config: EngineConfig,
    pub(crate) clock: EngineClock,
    pub(crate) sources: Arc<SourcePool>,
    pub(crate) names: NameLookups,
    pub(crate) knowledge: Knowledge,
    pub(crate) pacing: Pacing,
    pub(crate) sessions: SessionPool,
    pub(crate) work: Arc<BackgroundWork>,
    pub(crate) random: RandomStreams,
    pub(crate) unmatched: UnmatchedTexts,
}

impl EngineParts {
    pub(crate) fn new(
        config: EngineConfig,
        net: Arc<dyn Net>,
        facts: Arc<dyn FactStore>,
        clock: EngineClock,
    ) -> Result<Self, ConfigError> {
        config.check()?;
        let sources = Arc::new(SourcePool::new(config.sources.clone(), config.in_use_since.clone()));
        let work = Arc::new(BackgroundWork::new(config.domains_max));
        let resolver = CachingResolver::new(net.clone(), clock, config.profile == PaceProfile::Polite);
        let ground = SessionContext { net, clock, tls: TlsClient::new(clock), tally: Arc::new(EngineTally::default()) };
        Ok(Self {
            clock,
            names: NameLookups::new(resolver, config.guard()?),
            knowledge: Knowledge::new(&config, facts)?,
            pacing: Pacing::new(sources.clone()),
            sessions: SessionPool::new(ground, config.sessions_max, work.clone()),
            work,
            random: RandomStreams::new(config.seed),
            unmatched: UnmatchedTexts::new(),
            sources,
            config,
        })
    }

    pub(crate) fn deadlines(&self, effort: Effort) -> &Deadlines {
        match effort {
            Effort::Live => &self.config.live,
            Effort::Batch => &self.config.batch,
        }
    }

    pub(crate) fn tally(&self) -> &EngineTally {
        &self.sessions.ground.tally
    }

    pub(crate) fn counters(&self) -> EngineCounters {
        self.tally().counters(self.names.resolver().counts())
    }
}
