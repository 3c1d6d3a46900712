//! Round-robin semaphore by customer: waiting customers take turns, however many permits each of them wants.
//!
//! A first-come semaphore would serve a customer with a million addresses before one with ten. Here each customer has a queue, and
//! each free permit goes to the head of the next customer's queue. A dropped wait leaves its queue at once. Memory grows with
//! waiters only; customers that do not wait take none.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex};

use tokio::sync::oneshot;

use crate::locked;

/// Permits, and the waiters for them.
pub(crate) struct FairQueue {
    state: Mutex<LineState>,
}

/// Permits are free only while nobody waits.
struct LineState {
    free: usize,
    /// Waiting customers, each once, the next one in front.
    turns: VecDeque<u64>,
    waiting: HashMap<u64, VecDeque<(u64, oneshot::Sender<QueuePermit>)>>,
    /// Number of the next waiter.
    next: u64,
}

/// A permit; released when dropped.
pub(crate) struct QueuePermit(Arc<FairQueue>);

impl Drop for QueuePermit {
    fn drop(&mut self) {
        self.0.release();
    }
}

/// Place in a queue; left when dropped.
struct QueuePlace {
    line: Arc<FairQueue>,
    customer: u64,
    number: u64,
    permit: oneshot::Receiver<QueuePermit>,
}

impl Drop for QueuePlace {
    fn drop(&mut self) {
        self.line.leave(self.customer, self.number);
    }
}

impl FairQueue {
    pub(crate) fn new(permits: usize) -> Arc<Self> {
        let state = LineState { free: permits, turns: VecDeque::new(), waiting: HashMap::new(), next: 0 };
        Arc::new(Self { state: Mutex::new(state) })
    }

    pub(crate) async fn acquire(self: &Arc<Self>, customer: u64) -> QueuePermit {
        let mut place = match self.enter(customer) {
            Ok(permit) => return permit,
            Err(place) => place,
        };
        (&mut place.permit).await.expect("a line does not forget those who wait in it")
    }

    /// A permit, if one is free.
    pub(crate) fn try_acquire(self: &Arc<Self>) -> Option<QueuePermit> {
        let mut state = locked(&self.state);
        state.free = state.free.checked_sub(1)?;
        Some(QueuePermit(self.clone()))
    }

    /// Number of free permits.
    pub(crate) fn free(&self) -> usize {
        locked(&self.state).free
    }

    /// Number of waiters for this customer.
    pub(crate) fn waiting_of(&self, customer: u64) -> usize {
        locked(&self.state).waiting.get(&customer).map_or(0, VecDeque::len)
    }

    /// Whether another customer is waiting.
    pub(crate) fn others_wait(&self, customer: u64) -> bool {
        let state = locked(&self.state);
        state.turns.len() > usize::from(state.waiting.contains_key(&customer))
    }

    fn enter(self: &Arc<Self>, customer: u64) -> Result<QueuePermit, QueuePlace> {
        let mut state = locked(&self.state);
        if let Some(left) = state.free.checked_sub(1) {
            state.free = left;
            return Ok(QueuePermit(self.clone()));
        }
        let (sender, permit) = oneshot::channel();
        let number = state.next;
        state.next += 1;
        let line = state.waiting.entry(customer).or_default();
        line.push_back((number, sender));
        if line.len() == 1 {
            state.turns.push_back(customer);
        }
        Err(QueuePlace { line: self.clone(), customer, number, permit })
    }

    fn leave(&self, customer: u64, number: u64) {
        let mut state = locked(&self.state);
        let Some(line) = state.waiting.get_mut(&customer) else { return };
        line.retain(|(other, _)| *other != number);
        if line.is_empty() {
            state.waiting.remove(&customer);
            state.turns.retain(|other| *other != customer);
        }
    }

    fn release(self: &Arc<Self>) {
        let mut state = locked(&self.state);
        let next = state.call();
        if next.is_none() {
            state.free += 1;
        }
        drop(state);
        if let Some(waiter) = next {
            // A waiter that has left meanwhile returns it at once.
            let _ = waiter.send(QueuePermit(self.clone()));
        }
    }
}

impl LineState {
    /// Takes the first waiter of the customer whose turn it is.
    fn call(&mut self) -> Option<oneshot::Sender<QueuePermit>> {
        let customer = self.turns.pop_front()?;
        let line = self.waiting.get_mut(&customer)?;
        let first = line.pop_front();
        if line.is_empty() {
            self.waiting.remove(&customer);
        } else {
            self.turns.push_back(customer);
        }
        first.map(|(_, sender)| sender)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use proptest::prelude::*;

    use super::*;

    /// Makes `customers` wait in this order for one taken permit; returns the order in which they get it.
    async fn served(customers: &[u64]) -> Vec<u64> {
        let line = FairQueue::new(1);
        let held = line.acquire(0).await;
        let order = Arc::new(Mutex::new(Vec::new()));
        let mut tasks = Vec::new();
        for customer in customers.iter().copied() {
            let (line, order) = (line.clone(), order.clone());
            tasks.push(tokio::spawn(async move {
                let _permit = line.acquire(customer).await;
                order.lock().unwrap().push(customer);
            }));
            tokio::task::yield_now().await;
        }
        drop(held);
        for task in tasks {
            task.await.unwrap();
        }
        let state = locked(&line.state);
        assert_eq!((state.free, state.waiting.len(), state.turns.len()), (1, 0, 0));
        drop(state);
        Arc::try_unwrap(order).unwrap().into_inner().unwrap()
    }

    #[tokio::test]
    async fn customers_are_served_by_turns() {
        assert_eq!(served(&[1, 1, 1, 1, 2, 3, 3]).await, [1, 2, 3, 1, 3, 1, 1]);
    }

    #[tokio::test]
    async fn whoever_leaves_takes_nobodys_turn() {
        let line = FairQueue::new(1);
        let held = line.try_acquire().unwrap();
        assert!(line.try_acquire().is_none());
        let mut gone = Box::pin(line.acquire(1));
        assert!(futures_util::poll!(&mut gone).is_pending());
        assert!(line.others_wait(2) && !line.others_wait(1));
        assert_eq!((line.waiting_of(1), line.waiting_of(2)), (1, 0));
        drop(gone);
        assert!(!line.others_wait(2));
        // A waiter that leaves after it was called passes the permit on.
        let mut called = Box::pin(line.acquire(1));
        let mut behind = Box::pin(line.acquire(2));
        assert!(futures_util::poll!(&mut called).is_pending() && futures_util::poll!(&mut behind).is_pending());
        drop(held);
        drop(called);
        assert!(futures_util::poll!(&mut behind).is_ready());
        assert_eq!(line.free(), 1);
    }

    proptest! {
        /// Of two customers that both wait, neither is served twice before the other.
        #[test]
        fn nobody_is_served_twice_while_another_waits(customers in prop::collection::vec(0u64..4, 1..40)) {
            let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
            let order = runtime.block_on(served(&customers));
            for (at, pair) in order.windows(2).enumerate() {
                let others_left = order[at + 1..].iter().any(|other| *other != pair[0]);
                prop_assert!(pair[0] != pair[1] || !others_left, "{:?}", order);
            }
        }
    }
}
