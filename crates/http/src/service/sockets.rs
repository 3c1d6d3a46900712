//! Sockets of the service: bound before any work begins, served by one task each, drained at the end.
//!
//! Binding is separate from serving, so that an occupied address fails the start, and a port chosen by the system is known before
//! the first request. Draining accepts no more requests and waits for those in flight as long as configured; the parts behind the
//! routes continue until [`Core::stop`].

use std::io;
use std::net::SocketAddr;

use axum::Router;
use probity_backend::nodes::instance::Instance;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::edge::listen::{Listener, Stopped};
use crate::service::{Core, ServiceConfig, Verifiers};

/// Bound sockets that are not served yet.
pub struct BoundSockets {
    api: Vec<Listener>,
    operator: Vec<Listener>,
}

impl BoundSockets {
    /// Binds every address.
    pub async fn to(addresses: &[SocketAddr]) -> io::Result<Self> {
        Ok(Self { api: bind(addresses).await?, operator: Vec::new() })
    }

    /// Binds separate addresses of the operator's API.
    pub async fn with_operator(self, addresses: &[SocketAddr]) -> io::Result<Self> {
        Ok(Self { operator: bind(addresses).await?, ..self })
    }

    /// Returns the addresses, with the ports that the system chose.
    pub fn addresses(&self) -> Vec<SocketAddr> {
        self.api.iter().map(Listener::address).collect()
    }

    /// Returns the separate addresses of the operator's API.
    pub fn operator_addresses(&self) -> Vec<SocketAddr> {
        self.operator.iter().map(Listener::address).collect()
    }
}

async fn bind(addresses: &[SocketAddr]) -> io::Result<Vec<Listener>> {
    let mut listeners = Vec::with_capacity(addresses.len());
    for address in addresses {
        let bound = Listener::bind(*address).await;
        listeners
            .push(bound.map_err(|error| io::Error::new(error.kind(), format!("cannot listen on {address}: {error}")))?);
    }
    Ok(listeners)
}

/// A running service.
pub struct Service {
    core: Core,
    stop: CancellationToken,
    listening: Vec<JoinHandle<Stopped>>,
}

impl Service {
    /// Starts to serve bound sockets.
    pub fn start(bound: BoundSockets, instance: Instance, config: &ServiceConfig, verifiers: Verifiers) -> Self {
        let core = Core::start(instance, config, verifiers);
        let stop = CancellationToken::new();
        let serve = |listener: Listener, routes: &Router| {
            tokio::spawn(listener.serve(routes.clone(), config.listen, stop.clone()))
        };
        let api = bound.api.into_iter().map(|listener| serve(listener, &core.routes));
        let operator = bound.operator.into_iter().map(|listener| serve(listener, &core.operator));
        let listening = api.chain(operator).collect();
        Self { core, stop, listening }
    }

    /// Accepts no more requests, and waits until those in flight finish or, after the time limit, are cut. The parts behind the
    /// routes continue until they are stopped.
    pub async fn drain(self) -> Core {
        self.core.ending.cancel();
        self.stop.cancel();
        let mut cut = 0;
        for listening in self.listening {
            cut += listening.await.map_or(0, |stopped| stopped.cut);
        }
        if cut > 0 {
            tracing::warn!(cut, "closed connections whose requests did not finish in time");
        }
        self.core
    }
}
