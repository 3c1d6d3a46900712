//! Live calls, whose holds end by themselves, and upkeep.

use probity_core::credits::Split;
use probity_core::id::HoldId;
use probity_core::verdict::Reason;
use probity_store::credits::{self, Asked, Settlement, Window};
use probity_store::usage::{self, Delta};
use probity_store::{ScopedFutureExt as _, jobs};

use super::super::acts::{LEASE_MS, among};
use super::{Call, World};

const ONE: Split = Split { subscription: 0, prepaid: 1 };

impl World {
    fn window(&mut self) -> Window {
        let id = HoldId::new(self.now, self.bytes());
        Window { id, at: self.now, expires_at: self.now + LEASE_MS, asked: vec![], settled: vec![] }
    }

    pub(super) async fn call(&mut self) {
        let window = Window { asked: vec![Asked { org: self.org, credits: 1 }], ..self.window() };
        let done = self.store.write(|tx| credits::settle_window(tx, &window).scope_boxed()).await.unwrap();
        assert_eq!(done.granted[0].held.total(), self.available.min(1));
        if self.available > 0 {
            self.available -= 1;
            self.calls.push(Call { hold: window.id, ends_at: window.expires_at, lapsed: false });
        }
    }

    pub(super) async fn call_ends(&mut self, call: u8, charged: bool) {
        let Some(place) = among(call, self.calls.len()) else { return };
        let call = self.calls.remove(place);
        let (captured, released) = if charged { (ONE, Split::ZERO) } else { (Split::ZERO, ONE) };
        let settled = Settlement { org: self.org, hold: call.hold, captured, released };
        let window = Window { settled: vec![settled], ..self.window() };
        let charged = i64::from(charged && !call.lapsed);
        let used = Delta {
            org: self.org,
            day: self.now.utc_day(),
            source: "api".into(),
            connection: None,
            provider: None,
            reason: Reason::Valid,
            verified: 1,
            charged,
        };
        let done = self.store.write(|tx| {
            async {
                usage::add(tx, std::slice::from_ref(&used)).await?;
                credits::settle_window(tx, &window).await
            }
            .scope_boxed()
        });
        let lapsed = done.await.unwrap().lapsed;
        assert_eq!(lapsed.len(), usize::from(call.lapsed), "{call:?}");
        self.met(if call.lapsed { "lapsed call" } else { "call" });
        self.called += charged;
        self.available += i64::from(!call.lapsed && charged == 0);
    }

    pub(super) async fn sweep(&mut self) {
        let (now, before) = (self.now, self.now - LEASE_MS);
        let broken_off = jobs::broken_off(&mut self.store.read().await.unwrap(), before, 100).await.unwrap();
        let swept = self.store.write(|tx| jobs::sweep(tx, &broken_off, now).scope_boxed()).await.unwrap();
        let all = self.unborn.len();
        self.unborn.retain(|at| *at >= before);
        assert_eq!(swept, all - self.unborn.len());
        let ended = self.store.write(|tx| credits::release_expired(tx, now, 100).scope_boxed()).await.unwrap();
        let mut lapsed = 0;
        for call in self.calls.iter_mut().filter(|call| !call.lapsed && call.ends_at <= now) {
            call.lapsed = true;
            lapsed += 1;
            self.available += 1;
        }
        assert_eq!(ended.holds, lapsed, "holds of jobs have no end");
        self.store.write(|tx| credits::fold(tx, now, 1_000).scope_boxed()).await.unwrap();
    }
}
