//! Every key: its type, which checks the bounds, its default and its comment.
//!
//! The structs, `probity config`, docs/configuration.md, the names in the environment and the messages are made from this. A
//! comment is Markdown; `probity config` prints it without the targets of links.

use std::net::SocketAddr;
use std::path::PathBuf;

use ipnet::IpNet;
use probity_account::plans::PLAN_CREDITS_MAX;
use probity_backend::nodes::roles::Roles;
use probity_engine::config::PaceProfile;
use tracing_subscriber::filter::LevelFilter;

use super::key::sections;
use super::types::{Brand, Database, ListenAddresses, MailFrom, NameServer, OwnHost, PublicUrl, RelayUrl, SecretText};
use super::value::{ByteSize, TimeSpan, WholeNumber};
use crate::log::LogFormat;

/// Maximum rate per minute: a million per second exceeds what one machine serves, and is far from any overflow.
pub(super) const RATE_MAX: i64 = 60_000_000;

type Lifetime = TimeSpan<0>;
type Deadline = TimeSpan<1>;
type PerMinute = WholeNumber<u32, 1, RATE_MAX>;
type BodySize = ByteSize<{ 1 << 10 }, { 1 << 30 }>;

sections! {
    /// How to probe.
    ["probe"] probe: ProbeSection {
        /// MAIL FROM of every probe: an address that receives mail and whose domain's SPF record authorizes your source IPs.
        /// `""`: `postmaster@<helo>`, with one warning. `"<>"`: the null sender, which many servers refuse.
        mail_from: MailFrom = "";
        /// Name sent with EHLO: the PTR name of your public address. `""`: the host name of this machine.
        helo: String = "";
        /// `"polite"` follows each provider's policy; `"open"` is for your own servers, private networks and benchmarks.
        profile: PaceProfile = "polite";
        /// Whether live lists start although no source IP has a valid PTR record, without which many servers refuse.
        without_ptr: bool = false;
        /// Port of MX hosts; change it in tests only.
        port: WholeNumber<u16, 1, 65_535> = 25;
        /// Whether to use STARTTLS when a server offers it.
        starttls: bool = true;
        /// How long the server of a batch address may defer it (greylisting, failures) before it becomes `unverified`.
        patience: Lifetime = "1h";
        /// The same for an address that only our own limits or an open circuit breaker delay: it has not been probed yet.
        held_back: Lifetime = "24h";
        /// Maximum number of probes per address.
        attempts: WholeNumber<u32, 1, 100> = 3;
    }

    /// DNS lookups.
    ["dns"] dns: DnsSection {
        /// Resolvers as `"address"` or `"address:port"`. `[]`: those of `/etc/resolv.conf`.
        nameservers: Vec<NameServer> = [];
        /// Timeout of one query.
        timeout: Deadline = "5s";
        /// Maximum number of attempts per query.
        attempts: WholeNumber<usize, 1, 10> = 2;
    }

    /// Concurrency.
    ["limits"] limits: LimitsSection {
        /// Maximum number of open SMTP sessions; must be below the limit of open files.
        sessions: WholeNumber<usize, 1, 1_000_000> = 1000;
        /// Maximum number of domains that batches probe at once.
        domains: WholeNumber<usize, 1, 1_000_000> = 2000;
    }

    /// Deadlines of live verification.
    ["timeouts.live"] live: LiveTimeoutsSection {
        /// TCP connection.
        connect: Deadline = "5s";
        /// Server banner.
        banner: Deadline = "8s";
        /// Each command.
        command: Deadline = "8s";
        /// Whole session.
        session: Deadline = "20s";
    }

    /// Deadlines of batches and jobs.
    ["timeouts.batch"] bulk: BatchTimeoutsSection {
        /// TCP connection.
        connect: Deadline = "15s";
        /// Server banner.
        banner: Deadline = "60s";
        /// Each command.
        command: Deadline = "60s";
        /// Whole session.
        session: Deadline = "5m";
    }

    /// Lifetimes of facts in memory.
    ["cache"] cache: CacheSection {
        /// Lifetime of a verdict about a mailbox that accepts mail.
        good: Lifetime = "24h";
        /// Lifetime of any other verdict; client refusals are never cached.
        bad: Lifetime = "2h";
        /// Lifetime of the fact that a domain is a catch-all.
        catch_all_yes: Lifetime = "7d";
        /// Lifetime of the fact that a domain is no catch-all.
        catch_all_no: Lifetime = "3h";
        /// Lifetime of the fact that a domain has accepted some address.
        accepted: Lifetime = "7d";
        /// Maximum number of cached verdicts; 0 turns the cache off.
        verdicts: WholeNumber<usize, 0, 100_000_000> = 100000;
    }

    /// Exceptions for private installations and tests.
    ["allow"] allow: AllowSection {
        /// Special networks (private, loopback, ...) that probes and webhooks may dial, as CIDR: `["10.1.0.0/16"]`. For platforms, see
        /// `integrations.allow`.
        networks: Vec<IpNet> = [];
        /// Special-use names to treat as ordinary: `["test"]`.
        special_use: Vec<String> = [];
    }

    /// The operator's lists, rules and policies.
    ["data"] data: DataSection {
        /// Directory with files that replace or extend the embedded lists, rules and policies. `""`: the embedded ones only.
        directory: Option<PathBuf> = "";
    }

    /// The HTTP service.
    ["server"] server: ServerSection {
        /// Listen addresses, as `"address:port"`. No TLS: put a proxy in front.
        listen: ListenAddresses = ["127.0.0.1:8080"];
        /// [Roles](postgresql.md#several-nodes) of this node: `"api"`, `"worker"` (jobs), `"delivery"` (webhooks, callbacks, mail),
        /// `"schedule"` (maintenance).
        roles: Roles = ["api", "worker", "delivery", "schedule"];
        /// URL that customers use, `"https://verify.example.com"`, without a path. `""`: `http://` and the first listen address.
        public_url: PublicUrl = "";
        /// Directory for the database and the pepper. `""`: `probity` in `$XDG_DATA_HOME` (`~/.local/share`); for root,
        /// `/var/lib/probity`.
        data: Option<PathBuf> = "";
        /// Prefix of new keys, `<brand>_live_...`: lower-case letters and digits. Keys of an earlier brand stay valid.
        brand: Brand = "probity";
        /// Proxies whose `X-Forwarded-For` is trusted, as CIDR: `["10.1.0.0/16"]`.
        trusted_proxies: Vec<IpNet> = [];
        /// Maximum number of client connections; lower if the limit of open files is too low.
        connections: WholeNumber<usize, 1, 1_000_000> = 10000;
        /// Maximum size of a request body.
        body_max: BodySize = "1MiB";
        /// How long a connection waits for complete request headers, also between requests. Keep it above the idle timeout of the
        /// proxy (nginx: 60 s).
        header_timeout: Deadline = "75s";
        /// Total time of a request, at least `2s`. A verification ends 1 s before that, whatever `timeout` the caller gave (at
        /// most 60 s).
        request_timeout: TimeSpan<2_000> = "75s";
        /// How long requests in flight may continue after the stop signal. Give the process manager a longer timeout.
        shutdown_grace: Lifetime = "25s";
        /// Bearer token for `/metrics`, at least 16 characters. `""`: readable from private networks only.
        metrics_token: SecretText<16> = "";
    }

    /// Storage of accounts, keys, credits and jobs.
    ["database"] database: DatabaseSection {
        /// `"postgres://user:password@host/name"` or `"sqlite:///path/to/file"`. `""`: SQLite, the file `probity.db` in
        /// `server.data`.
        url: Option<Database> = "";
        /// Maximum number of PostgreSQL connections. SQLite uses one writer and four readers.
        pool_max: WholeNumber<u32, 1, 1_000> = 10;
        /// How long a request waits for a connection before it gets 503.
        acquire_timeout: Deadline = "3s";
        /// Maximum duration of a PostgreSQL statement.
        statement_timeout: Deadline = "10s";
    }

    /// Keys for hashing and encryption.
    ["secrets"] secrets: SecretsSection {
        /// Secret for hashing keys, at least 32 characters. `""`: the file `pepper` in `server.data`, created by the first start.
        /// Another pepper invalidates all keys; all nodes need the same.
        pepper: SecretText<32> = "";
        /// File with the [master key](operations.md#the-master-key) that encrypts stored addresses;
        /// `probity master-key new FILE` creates one. `""`: no encryption. Once used, the key is always needed: keep a copy away
        /// from the database. All nodes need the same.
        master_key_file: Option<PathBuf> = "";
    }

    /// Rate limits (GCRA): after a pause, a whole minute's requests may come at once.
    ["rate"] rate: RateSection {
        /// Requests per minute per key, also the burst; a key may have its own limit.
        key_per_minute: PerMinute = 10000;
        /// Requests per minute with all keys of an organization: two keys at full speed.
        organization_per_minute: PerMinute = 20000;
        /// Refused keys per minute from one address (IPv6: one /64) before 429. Keys cannot be guessed; this keeps attempts away
        /// from the database.
        address_per_minute: PerMinute = 3000;
    }

    /// Limits of the widget for websites.
    ["widget"] widget: WidgetSection {
        /// Requests per minute of one visitor (IPv6: one /64) with one widget key, per node, and checks among them across all
        /// nodes. An office may share one address.
        visitor_per_minute: PerMinute = 60;
        /// Requests per minute per widget key; a key may have its own limit. All widget keys together get at most half of their
        /// organization's limit.
        key_per_minute: PerMinute = 1200;
        /// Credits that a widget key may spend per day (UTC); a key may have its own cap.
        daily_cap: WholeNumber<i64, 1, 1_000_000_000> = 1000;
    }

    /// Jobs over HTTP.
    ["batch"] batch: BatchSection {
        /// Maximum number of addresses per job.
        rows: WholeNumber<usize, 1, 1_000_000> = 1000000;
        /// Maximum body size of a job submission.
        body_max: BodySize = "64MiB";
        /// How long work on a job stays leased without a renewal, at least `1s`; after that another node claims it. Also the lease
        /// of erasures, up to `15s`.
        lease: TimeSpan<1_000> = "60s";
        /// Days to keep addresses and results of a closed job; an organization may set its own number.
        keep_days: WholeNumber<i64, 1, 3_650> = 30;
        /// Chunks (of up to 1,000 addresses, about 1 MB of memory each) that a process works on at once. `0`: `limits.domains` /
        /// 32, from 16 to 128.
        slots: WholeNumber<usize, 0, 1_000> = 0;
    }

    /// Files uploaded in the dashboard.
    ["uploads"] uploads: UploadsSection {
        /// Maximum size of an uploaded file; `batch.rows` limits its rows.
        body_max: BodySize = "128MiB";
        /// Maximum number of uploaded files per organization that have not been started.
        at_once: WholeNumber<i64, 1, 10_000> = 50;
        /// Days to keep a file after its last use; an organization's shorter job retention wins.
        keep_days: WholeNumber<i64, 1, 3_650> = 7;
    }

    /// Credits of new organizations.
    ["credits"] credits: CreditsSection {
        /// Plan of new organizations: `"unlimited"`; `"metered"`, which counts credits and grants none; or one of your own.
        plan: String = "unlimited";
        /// Prepaid credits of a new organization on the metered plan.
        initial: WholeNumber<i64, 0, PLAN_CREDITS_MAX> = 0;
    }

    /// Webhooks and callbacks to customers' servers.
    ["webhooks"] webhooks: WebhooksSection {
        /// Whether receivers must use https. Private and special addresses are refused either way, unless `allow.networks` names
        /// them.
        https_only: bool = false;
        /// Days to keep a finished delivery in the log after its creation, 1 to 365; at most 7 for deliveries about rows. An
        /// organization may set fewer.
        keep_days: WholeNumber<i64, 1, 365> = 30;
    }

    /// [Connections](connectors.md#your-own-files) to email platforms.
    ["integrations"] integrations: IntegrationsSection {
        /// Hosts of your own network that connections and single sign-on may reach, at private addresses and without TLS:
        /// `["listmonk.lan:9000"]`. Only those whose names you control. All others need a public address and https.
        /// A provider of single sign-on at one of them must have all its endpoints at that host and port, or at public ones.
        allow: Vec<OwnHost> = [];
        /// Directory with connectors of your own, `*.toml`; one with the slug of a built-in connector replaces it. `""`: the
        /// built-in ones only.
        directory: Option<PathBuf> = "";
        /// First pause of a run after a platform did not answer as it should. It doubles with each failure in a row, up to `"1h"`.
        pause: Deadline = "5s";
    }

    /// TLS of webhooks, callbacks, connections, single sign-on and the mail relay.
    ["tls"] tls: TlsSection {
        /// PEM file with certificate authorities of your own, trusted besides the public ones. `""`: the file that the environment
        /// variable `SSL_CERT_FILE` names, if it is set.
        ca_file: Option<PathBuf> = "";
    }

    /// Dashboard sessions.
    ["session"] session: SessionSection {
        /// Session lifetime without activity.
        idle: Deadline = "12h";
        /// Maximum session lifetime.
        absolute: Deadline = "14d";
    }

    /// Team members.
    ["team"] team: TeamSection {
        /// Lifetime of invitation links.
        invitation: Deadline = "7d";
    }

    /// Mail with invitations, notices to owners, and reports to members.
    ["mail"] mail: MailSection {
        /// SMTP relay: `"smtps://user:password@mail.example.com"`, or `smtp://` with STARTTLS, which is mandatory with a password.
        /// `""`: no mail; the inviter forwards the link. Needs `server.public_url`.
        relay: RelayUrl = "";
        /// Sender of this mail: `"Probity <no-reply@example.com>"`.
        from: String = "";
    }

    /// The operator API.
    ["admin"] admin: AdminSection {
        /// Key of the operator API under `/admin/v1`, at least 32 characters. `""`: no such API.
        key: SecretText<32> = "";
        /// Listen addresses of that API, such as `"[::1]:8081"`. `[]`: it is served with the public API.
        listen: Vec<SocketAddr> = [];
    }

    /// Targets of `probity doctor`, and of the same checks in a service.
    ["doctor"] doctor: DoctorSection {
        /// Well-known domains; port 25 counts as open if an MX host of one of them answers. Live lists wait while none does. `[]`:
        /// not checked, and no list waits.
        probe_domains: Vec<String> = ["gmail.com", "icloud.com", "gmx.net", "fastmail.com"];
        /// Block lists to query for each source IP.
        block_lists: Vec<String> = ["zen.spamhaus.org", "bl.spamcop.net", "b.barracudacentral.org", "psbl.surriel.com"];
    }

    /// The log, on standard error.
    ["log"] log: LogSection {
        /// Minimum level on standard error: `"error"`, `"warn"`, `"info"`, `"debug"` or `"trace"`. Addresses are never logged.
        level: LevelFilter = "warn";
        /// `"text"` or `"json"`.
        format: LogFormat = "text";
    }
}
