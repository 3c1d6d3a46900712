//! Live calls, which are charged at their end, and maintenance.

use probity_account::id::WindowId;
use probity_mail::verdict::Reason;
use probity_store::credits::usage::UsageDelta;
use probity_store::credits::{self, ChargeWindow, ChargesByOrg, CountedCalls};
use probity_store::{ScopedFutureExt as _, jobs};

use super::super::acts::LEASE_MS;
use super::World;

impl World {
    pub(super) async fn call(&mut self) {
        let id = WindowId::new(self.now, self.bytes());
        let window = ChargeWindow { id, at: self.now, calls: [(self.org, 1)].into(), witness: self.org };
        let (org, day) = (self.org, self.now.utc_day());
        let used = |charged: &ChargesByOrg| {
            let usage = vec![UsageDelta {
                org,
                day,
                source: "api".into(),
                connection: None,
                key: None,
                domain: None,
                provider: None,
                reason: Reason::Valid,
                verified: 1,
                charged: charged[&org].spent.total(),
            }];
            CountedCalls { usage, ..CountedCalls::default() }
        };
        let charged = self.store.write(|tx| credits::charge(tx, &window, used).scope_boxed());
        let charged = charged.await.unwrap()[&org];
        let covered = self.available.min(1);
        assert_eq!((charged.spent.total(), charged.available.total()), (covered, self.available - covered));
        self.met(if covered == 1 { "call" } else { "call without credits" });
        self.called += covered;
        self.available -= covered;
    }

    pub(super) async fn sweep(&mut self) {
        let (now, before) = (self.now, self.now - LEASE_MS);
        let broken_off = jobs::broken_off(&mut self.store.read().await.unwrap(), before, 100).await.unwrap();
        let swept = self.store.write(|tx| jobs::sweep(tx, &broken_off, now).scope_boxed()).await.unwrap();
        let all = self.unborn.len();
        self.unborn.retain(|at| *at >= before);
        assert_eq!(swept, all - self.unborn.len());
        let ended = self.store.write(|tx| credits::release_expired(tx, now, 100).scope_boxed()).await.unwrap();
        assert_eq!(ended.holds, 0, "holds of jobs have no end");
        self.store.write(|tx| credits::fold(tx, now, 1_000).scope_boxed()).await.unwrap();
    }
}
