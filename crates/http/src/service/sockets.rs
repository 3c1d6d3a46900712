//! The service on its sockets: bound before anything is promised, served by one task each, drained at the end.
//!
//! Binding is apart from answering so that an address that is taken fails the start, and so that a system's choice of a port is
//! known
//! before the first request. Draining takes no more requests and waits for those in flight as long as the configuration says;
//! what is behind the routes goes on until [`Core::stop`].

use std::io;
use std::net::SocketAddr;

use axum::Router;
use probity_backend::nodes::instance::Instance;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::edge::listen::{Listener, Stopped};
use crate::service::{Core, ServiceConfig, Verifiers};

/// Sockets that are bound and do not answer yet.
pub struct BoundSockets {
    api: Vec<Listener>,
    operator: Vec<Listener>,
}

impl BoundSockets {
    /// Binds every address.
    pub async fn to(addresses: &[SocketAddr]) -> io::Result<Self> {
        Ok(Self { api: bind(addresses).await?, operator: Vec::new() })
    }

    /// Binds addresses of the operator's API besides.
    pub async fn with_operator(self, addresses: &[SocketAddr]) -> io::Result<Self> {
        Ok(Self { operator: bind(addresses).await?, ..self })
    }

    /// Where, with the ports that the system chose.
    pub fn addresses(&self) -> Vec<SocketAddr> {
        self.api.iter().map(Listener::address).collect()
    }

    /// Where the operator's API listens by itself.
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

/// A service that answers.
pub struct Service {
    core: Core,
    stop: CancellationToken,
    listening: Vec<JoinHandle<Stopped>>,
}

impl Service {
    /// Starts to answer on bound sockets.
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

    /// Takes no more requests, and waits until those in flight are finished or, after the time for that, cut. What is behind
    /// the routes goes on until it is stopped.
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
