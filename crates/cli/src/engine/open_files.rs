//! Sessions and connections allowed by the limit of open files.

use probity_engine::net::descriptors::{self, DescriptorShares};

use crate::config::Settings;

/// Capacity under this process's limit.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FileRoom {
    pub(crate) open_files: u64,
    /// Sessions with mail servers.
    pub(crate) sessions: usize,
    /// Client connections per listener.
    pub(crate) connections: usize,
    /// The capacity covers the whole configuration.
    pub(crate) is_enough: bool,
}

impl FileRoom {
    /// Computes the capacity of a service with at most `sessions` sessions.
    pub(crate) fn of(settings: &Settings, sessions: usize) -> Self {
        Self::under(descriptors::descriptor_limit(), settings, sessions)
    }

    fn under(open_files: u64, settings: &Settings, sessions: usize) -> Self {
        let (server, admin) = (&settings.sections.server, &settings.sections.admin);
        let asked = server.connections.get();
        let listeners = (server.listen.0.len() + admin.listen.len()).max(1);
        let wanted = DescriptorShares { sessions, connections: asked.saturating_mul(listeners) };
        let fitting = descriptors::fitting(open_files, wanted);
        let connections = (fitting.connections / listeners).clamp(1, asked);
        let is_enough = fitting.sessions >= sessions && connections >= asked;
        Self { open_files, sessions: fitting.sessions, connections, is_enough }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Layers, Overlay};

    #[test]
    fn listeners_share_the_room_that_sessions_leave() {
        let key = "admin.key=0123456789abcdef0123456789abcdef";
        let both = ["server.listen=127.0.0.1:1", key, "admin.listen=127.0.0.1:2"].map(str::to_owned);
        for (set, open_files, sessions, connections, is_enough) in [
            (&both[..1], 1_024, 446, 223, false),
            (&both[..], 1_024, 446, 111, false),
            (&both[..1], 65_536, 1_000, 10_000, true),
            (&both[..], 16_384, 1_000, 6_106, false),
        ] {
            let settings = Layers::load(&Overlay { file: None, environment: vec![], set }).unwrap().settings().unwrap();
            let room = FileRoom::under(open_files, &settings, settings.engine.sessions_max);
            assert_eq!(
                (room.sessions, room.connections, room.is_enough),
                (sessions, connections, is_enough),
                "{set:?}"
            );
        }
    }
}
