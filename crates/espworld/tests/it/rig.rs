//! A world with the connector that is tried against it.

use std::collections::{BTreeMap, VecDeque};

use probity_connectors::{
    Authorizing, Catalog, ConnectorFile, Credentials, Fault, HostAllowance, PageRule, Request, Response, TestOutcome,
    Testing,
};
use probity_espworld::{EspFaults, EspOptions, EspVendor, EspWorld, judge};
use probity_mail::time::Millis;

use crate::vendors::undescribed;
use crate::wire::{LostReply, Wire};

/// Data center of Mailchimp's key.
const DATA_CENTER: &str = "us19";
/// Calls of a scenario, at most: a loop must not hide.
const CALLS_MAX: usize = 20_000;
/// Calls of a scenario that are compared with the vendor's description.
const DESCRIBED_MAX: usize = 100;

/// Largest answer about an account of the usual size; answers that are larger than a file allows are read up to this.
const BODY_MAX: u64 = 512 << 10;

/// Seeds of a platform: 30, or as many as `PROBITY_ESP_SEEDS` says; `PROBITY_ESP_SEED` is one.
pub(crate) fn seeds() -> Vec<u64> {
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse().ok());
    match number("PROBITY_ESP_SEED") {
        Some(one) => vec![one],
        None => (1..=number("PROBITY_ESP_SEEDS").unwrap_or(30)).collect(),
    }
}

/// Runs a scenario for every platform and seed, each platform on a thread of its own.
pub(crate) fn for_each<F: Future<Output = ()>>(scenario: impl Fn(EspVendor, u64) -> F + Sync) {
    for_each_of(&EspVendor::ALL, &seeds(), scenario);
}

/// Runs a scenario for some platforms and seeds.
pub(crate) fn for_each_of<F: Future<Output = ()>>(
    vendors: &[EspVendor],
    seeds: &[u64],
    scenario: impl Fn(EspVendor, u64) -> F + Sync,
) {
    let one = |vendor: EspVendor| {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        for seed in seeds {
            // A panic says which run it was.
            eprintln!("{} with PROBITY_ESP_SEED={seed}", vendor.slug());
            runtime.block_on(scenario(vendor, *seed));
        }
    };
    let failed: Vec<_> = std::thread::scope(|scope| {
        let threads: Vec<_> = vendors.iter().map(|vendor| (vendor, scope.spawn(|| one(*vendor)))).collect();
        threads.into_iter().filter_map(|(vendor, thread)| thread.join().is_err().then(|| vendor.slug())).collect()
    });
    assert!(failed.is_empty(), "these failed; the last seed of each is above: {failed:?}");
}

/// Counts calls against the limits of a connector's file, and lets time pass where they are used up.
#[derive(Default)]
struct Pacer {
    calls: BTreeMap<usize, VecDeque<i64>>,
}

pub(crate) struct Rig {
    pub world: EspWorld,
    pub file: ConnectorFile,
    pub credentials: Credentials,
    wire: Wire,
    pacer: Pacer,
    calls: usize,
    /// Whether calls are compared with the vendor's description; one seed suffices.
    is_described: bool,
}

impl Rig {
    pub(crate) async fn new(vendor: EspVendor, seed: u64, faults: EspFaults) -> Self {
        let mut rig = Self::with(vendor, EspOptions { faults, ..EspOptions::new(seed) }).await;
        rig.file.http.body_max = BODY_MAX;
        rig
    }

    pub(crate) async fn with(vendor: EspVendor, options: EspOptions) -> Self {
        let is_described = options.seed == 1;
        let published = vendor.published_base().map(|base| base.replace("{dc}", DATA_CENTER));
        let origin = published.map(|base| base.trim_end_matches(vendor.root()).to_owned());
        let world = EspWorld::open(vendor, EspOptions { public_origin: origin.clone(), ..options }).await.unwrap();
        let file = Catalog::embedded().get(vendor.slug()).unwrap().clone();
        let credentials = credentials(&file, &world, &world.credentials());
        let wire = Wire::new(world.origin(), origin);
        Self { world, file, credentials, wire, pacer: Pacer::default(), calls: 0, is_described }
    }

    pub(crate) fn now(&self) -> Millis {
        Millis(self.world.clock().now())
    }

    /// Sends a request within the limits that the connector's file names.
    pub(crate) async fn send(&mut self, request: &Request) -> Result<Response, LostReply> {
        self.calls += 1;
        assert!(
            self.calls < CALLS_MAX,
            "the scenario does not end: {:#?}",
            self.world.ledger().calls().last_chunk::<6>()
        );
        self.pace(request);
        let clock = self.world.clock().clone();
        self.wire.send(request, move || clock.now()).await
    }

    /// Sends a request as [`Rig::send`]. The call and its answer must be ones that the vendor describes.
    pub(crate) async fn send_described(&mut self, request: &Request) -> Result<Response, LostReply> {
        let reply = self.send(request).await;
        if let Ok(response) = &reply
            && self.is_described
            && self.calls < DESCRIBED_MAX
        {
            let undescribed = undescribed(&self.file.provider.slug, request, response);
            assert!(undescribed.is_empty(), "{undescribed:#?}");
        }
        reply
    }

    fn pace(&mut self, request: &Request) {
        let target = request.url.split('?').next().unwrap_or_default();
        for (number, limit) in self.file.rate.limits.iter().enumerate() {
            if !limit.paths.is_empty() && !limit.paths.iter().any(|path| target.contains(path.trim_start_matches("/*")))
            {
                continue;
            }
            let calls = self.pacer.calls.entry(number).or_default();
            if calls.len() >= limit.max as usize {
                let first = calls.pop_front().unwrap();
                let wait = first + limit.per - self.world.clock().now();
                // Both the world's spans by the clock and its rolling ones are kept by this.
                self.world.clock().advance(wait.max(0));
            }
            calls.push_back(self.world.clock().now());
        }
    }

    /// Makes pages small, so that little accounts have many.
    pub(crate) fn shrink(&mut self, size: u32) {
        let resize = |page: &mut PageRule| match page {
            PageRule::Offset { size: known, .. }
            | PageRule::Page { size: known, .. }
            | PageRule::Token { size: known, .. }
            | PageRule::NextUrl { size: known, .. }
            | PageRule::Keyset { size: known, .. } => *known = size,
            PageRule::None {} => {}
        };
        let Some(contacts) = &mut self.file.contacts else { return };
        resize(&mut contacts.page);
        let since = contacts.since.iter_mut().flat_map(|since| [&mut since.created, &mut since.updated]);
        since.flatten().filter_map(|rule| rule.page.as_mut()).for_each(resize);
    }

    /// Tests credentials once.
    pub(crate) async fn test(&mut self, credentials: &Credentials) -> Result<TestOutcome, LostReply> {
        let file = self.file.clone();
        let mut credentials = credentials.clone();
        if let Some(authorizing) = Authorizing::new(&file, &credentials) {
            let reply = self.send(&authorizing.request(self.now()).unwrap()).await?;
            let grant = match authorizing.answer(&reply) {
                Ok(grant) => grant,
                Err(fault) => return Ok(Testing::new(&file, &credentials).refused(fault)),
            };
            if let Some((name, value)) = grant.replaced {
                self.credentials = self.credentials.clone().with_replaced(&name, value);
            }
            credentials = credentials.with_token(&file, grant.access).unwrap();
        }
        let testing = Testing::new(&file, &credentials);
        let request = testing.request(self.now()).unwrap();
        Ok(testing.answer(&self.send(&request).await?))
    }

    /// Asserts that no call had a wrong form or came too often.
    pub(crate) fn assert_welcome(&self) {
        let malformed = judge::malformed(&self.world);
        assert!(malformed.is_empty(), "{}: {malformed:#?}", self.file.provider.name);
        assert_eq!(judge::excesses(&self.world), 0, "{}: calls over a limit", self.file.provider.name);
    }

    /// Exchanges the credentials for an access token, if the platform wants one.
    pub(crate) async fn authorize(&mut self) {
        let file = self.file.clone();
        while let Some(authorizing) = Authorizing::new(&file, &self.credentials.clone()) {
            let Ok(response) = self.send_described(&authorizing.request(self.now()).unwrap()).await else { continue };
            match authorizing.answer(&response) {
                Ok(grant) => {
                    let credentials = self.credentials.clone();
                    let credentials = match grant.replaced {
                        Some((name, value)) => credentials.with_replaced(&name, value),
                        None => credentials,
                    };
                    self.credentials = credentials.with_token(&file, grant.access).unwrap();
                    return;
                }
                Err(fault) => self.rest(&fault),
            }
        }
    }

    /// Gets another access token if the platform has refused the one in use. Otherwise lets time pass.
    pub(crate) async fn rest_or_authorize(&mut self, fault: &Fault) {
        self.rest(fault);
        if fault.class == probity_connectors::ErrorClass::Credential {
            Box::pin(self.authorize()).await;
        }
    }

    /// Lets time pass after a fault, as long as it says or as a caller would wait.
    pub(crate) fn rest(&self, fault: &Fault) {
        use probity_connectors::ErrorClass::{Credential, Quota, Throttled, Transient, Unreadable};
        let wait = match fault.class {
            Throttled | Quota => fault.wait_ms.unwrap_or(60_000),
            Transient | Unreadable => fault.wait_ms.unwrap_or(2_000),
            // Two in a row over 10 minutes: by then a person is told. Here the hour passes.
            Credential => 20 * 60_000,
            _ => panic!("{fault:?}; {:#?}", judge::malformed(&self.world)),
        };
        self.world.clock().advance(wait);
    }
}

/// Checks credentials as a person enters them.
pub(crate) fn credentials(file: &ConnectorFile, world: &EspWorld, entered: &BTreeMap<String, String>) -> Credentials {
    let allowed = HostAllowance(vec![world.host().to_owned()]);
    Credentials::new(file, entered, &allowed).unwrap()
}
