//! A database that earlier programs have written: it is or comes up to date, keeps what it promised, and its work goes on. Its
//! rows are those of `tests/fixtures`, whose README tells how they came about.

use probity_account::id::{DeliveryId, EventId, OrgId};
use probity_mail::time::Millis;
use probity_mail::verdict::Reason;
use probity_store::accounts::organization::{self, OrgRecord};
use probity_store::accounts::people::sessions;
use probity_store::accounts::{keys, settings, users};
use probity_store::activity::letters::{self, ClaimedLetter, LetterKey, LetterKind};
use probity_store::activity::{reports, timeline};
use probity_store::credits::audit;
use probity_store::jobs::{self, ChunkGroup, ClosedJob, Job, JobState, OutcomeKind, RowResult, SettledPart};
use probity_store::privacy::suppressions;
use probity_store::webhooks::outbox::{self, DeliveryContent, NewDelivery};
use probity_store::{
    DatabasePlace, SchemaState, ScopedFutureExt as _, SqlDialect, Store, StoreConfig, StoreError, credits, webhooks,
};
use probity_trialdb::postgres;
use sqlx::{AssertSqlSafe, Connection as _, PgConnection, SqliteConnection};

use crate::databases::file_in;

const SCHEMA: &str = include_str!("../../migrations/0057_schema.sql");
const ROWS: &str = include_str!("../fixtures/earlier.sql");
/// The library's table as earlier programs left it: they had applied the schema in pieces, up to 57.
const RECORD: &str = "CREATE TABLE _sqlx_migrations (version BIGINT PRIMARY KEY, description TEXT NOT NULL, \
    installed_on TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP, success BOOLEAN NOT NULL, checksum {bytes} NOT NULL, \
    execution_time BIGINT NOT NULL); \
    INSERT INTO _sqlx_migrations (version, description, success, checksum, execution_time) \
    WITH RECURSIVE v (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM v WHERE n < 57) \
    SELECT n, 'a piece', TRUE, {unhex:'00'}, 0 FROM v;";
const LACKING: &str = "DELETE FROM _sqlx_migrations WHERE version > 53;";
/// A while after the rows were written: what was put off then is due.
const NOW: Millis = Millis(1_795_300_000_000);
const ORG: &str = "org_01m7zyzbq6epsr3ehqk98macav";
const COMPLETED: &str = "job_01m7zyzbvde12sctjdw5tkkqkt";
const OF_TEST_KEY: &str = "job_01m7zyzdvtendbjcpw3t1h1rqg";
const CANCELLED: &str = "job_01m7zz1ck5faet4srv9d4d46a7";
const OPEN: &str = "job_01m7zz1grafpg934278rsx9e4z";
/// Source under which greylisting servers know their two addresses.
const SOURCE: &str = "localhost.localdomain";

/// A live call whose process died: earlier versions held a credit for each, with an expiry.
const UNDER_WAY: &str = "INSERT INTO ledger (org_no, kind, ref, subscription, prepaid, at, fold_after) \
    VALUES (7530014405771717095, 'hold', 'hld_01m7zz1mv1e90sjty1620b488h', 0, 1, 1795295335265, 1795295935265); \
    INSERT INTO hold (org_no, id, subscription, prepaid, created_at, expires_at) \
    VALUES (7530014405771717095, 'hld_01m7zz1mv1e90sjty1620b488h', 0, 1, 1795295335265, 1795295455265); \
    UPDATE account SET available = 3, held = 1 WHERE org_no = 7530014405771717095 AND bucket = 'prepaid';";

/// Mail that waited in a queue for each kind: one with a lease, one for the end of its list, and one that was sent.
const MAIL: &str = "UPDATE users SET email_verified = 1; UPDATE invitation SET mail_state = 'waiting', mail_attempts = 2; \
    INSERT INTO notice VALUES (7530014091835158875, 'low_balance', 5, 1, 6, NULL, NULL); \
    INSERT INTO list_mail VALUES (7530014091835158875, 7530014092404842106, 'usr_01m7zyzbq6fcsah7nzf1gptw3c', 5, 0, 6, NULL, NULL), \
    (7530014091835158875, 7530014388339914911, 'usr_01m7zyzbq6fcsah7nzf1gptw3c', 5, 0, NULL, NULL, NULL); \
    INSERT INTO report_mail VALUES \
    (7530014091835158875, 'usr_01m7zyzbq6fcsah7nzf1gptw3c', 'run', 'job_01m7zz1grafpg934278rsx9e4z', 7, 3, 8, 9, 'a run'), \
    (7530014091835158875, 'usr_01m7zyzbq6fcsah7nzf1gptw3c', 'weekly', '2026-11-09', 7, 1, NULL, NULL, NULL);";

/// What makes an earlier program's database of an empty one.
fn earlier(dialect: SqlDialect, besides: &str) -> AssertSqlSafe<String> {
    let made = [SCHEMA, RECORD].map(|text| dialect.render(text)).concat();
    let rows = match dialect {
        SqlDialect::Sqlite => ROWS.to_owned(),
        SqlDialect::Postgres => ROWS.replace("X'", "'\\x"),
    };
    AssertSqlSafe(format!("{made}{rows}{besides}"))
}

/// Runs a test against an earlier program's database of each kind, with `besides`, which is not migrated yet.
async fn for_each_earlier(besides: &str, test: impl AsyncFn(&Store)) {
    let directory = tempfile::tempdir().unwrap();
    let path = file_in(&directory);
    let config = StoreConfig::new(DatabasePlace::Sqlite(path.clone()));
    // A new file, with the settings that a file keeps.
    Store::open(&config).await.unwrap().close().await;
    let url = format!("sqlite://{}", path.display());
    let mut connection = SqliteConnection::connect(&url).await.unwrap();
    sqlx::raw_sql(earlier(SqlDialect::Sqlite, besides)).execute(&mut connection).await.unwrap();
    connection.close().await.unwrap();
    let store = Store::open(&config).await.unwrap();
    test(&store).await;
    store.close().await;

    let Some(cluster) = postgres() else { return };
    let database = cluster.create_database();
    let mut connection = PgConnection::connect(database.url()).await.unwrap();
    sqlx::raw_sql(earlier(SqlDialect::Postgres, besides)).execute(&mut connection).await.unwrap();
    connection.close().await.unwrap();
    let store = Store::open(&StoreConfig::new(DatabasePlace::Postgres(database.url().to_owned()))).await.unwrap();
    test(&store).await;
    store.close().await;
}

/// Runs likewise, after migration to the present schema.
async fn for_each_upgraded(test: impl AsyncFn(&Store, OrgRecord)) {
    for_each_earlier("", async |store| {
        store.migrate().await.unwrap();
        let org: OrgId = ORG.parse().unwrap();
        let org = organization::by_id(&mut store.read().await.unwrap(), org).await.unwrap();
        test(store, org).await;
    })
    .await;
}

async fn job(store: &Store, org: &OrgRecord, id: &str, test: bool) -> Job {
    jobs::by_id(&mut store.read().await.unwrap(), org.no, id.parse().unwrap(), test).await.unwrap()
}

async fn audited(store: &Store) {
    assert_eq!(audit::everything(store).await.unwrap(), []);
}

/// Returns the outcome of each row of a job.
async fn outcomes(store: &Store, org: &OrgRecord, job: &Job) -> Vec<(i64, &'static str)> {
    let rows = jobs::outcomes(&mut store.read().await.unwrap(), org.no, job.no, 0, job.rows).await.unwrap();
    rows.into_iter().map(|(idx, standing)| (idx, standing.result.kind.reason.as_str())).collect()
}

#[tokio::test]
async fn a_database_of_an_earlier_program_has_the_schema_and_its_books_agree() {
    for_each_earlier("", async |store| {
        let later = std::fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/migrations")).unwrap().count() - 1;
        let state = if later == 0 { SchemaState::Current } else { SchemaState::Behind(later) };
        assert_eq!(store.schema_state().await.unwrap(), state);
        assert_eq!(store.migrate().await.unwrap(), later);
        assert_eq!(store.migrate().await.unwrap(), 0);
        assert_eq!(store.schema_state().await.unwrap(), SchemaState::Current);
        audited(store).await;
    })
    .await;
}

#[tokio::test]
async fn a_database_that_lacks_pieces_of_the_schema_is_refused() {
    for_each_earlier(LACKING, async |store| {
        assert!(matches!(store.schema_state().await.unwrap(), SchemaState::Behind(_)));
        let error = store.migrate().await.unwrap_err();
        let StoreError::Corrupt(source) = error else { panic!("{error:?}") };
        assert!(source.to_string().contains("start the release before this one"), "{source}");
    })
    .await;
}

#[tokio::test]
async fn a_call_that_an_earlier_program_left_gets_its_credit_back() {
    for_each_earlier(UNDER_WAY, async |store| {
        store.migrate().await.unwrap();
        let release = async || store.write(|tx| credits::release_expired(tx, NOW, 10).scope_boxed()).await.unwrap();
        assert_eq!(release().await, credits::ReleasedHold { holds: 1, credits: 1 });
        assert_eq!(release().await, credits::ReleasedHold::default());
        let org = probity_store::OrgNo(7_530_014_405_771_717_095);
        let balance = credits::balance(&mut store.read().await.unwrap(), org).await.unwrap();
        assert_eq!([balance.available, balance.held].map(probity_account::credits::Split::total), [4, 0]);
        audited(store).await;
    })
    .await;
}

#[tokio::test]
async fn mail_that_an_earlier_program_left_is_sent() {
    for_each_earlier(MAIL, async |store| {
        store.migrate().await.unwrap();
        let org = probity_store::OrgNo(7_530_014_091_835_158_875);
        let owner = users::primary(&mut store.read().await.unwrap(), org).await.unwrap();
        let named = store.write(|tx| users::set_email(tx, org, owner.id, "owner@example.com").scope_boxed());
        named.await.unwrap();
        assert_eq!(letters::waiting(&mut store.read().await.unwrap()).await.unwrap(), 4);
        assert_eq!(crate::letters::claim(store, LetterKind::Run, Millis(8), "early").await, [], "it is leased");
        let mut claimed = Vec::new();
        for kind in LetterKind::ALL {
            claimed.extend(crate::letters::claim(store, kind, NOW, "later").await);
        }
        let read =
            |letter: &ClaimedLetter| (letter.key.kind, letter.email.clone(), letter.created_at.0, letter.attempts);
        let expected = [
            (LetterKind::Link, "bob@example.com".to_owned(), 1_795_295_260_486, 2),
            (LetterKind::LowBalance, "owner@example.com".to_owned(), 5, 1),
            (LetterKind::List, "ann@example.com".to_owned(), 1_795_295_262_067, 0),
            (LetterKind::Run, "ann@example.com".to_owned(), 7, 3),
        ];
        assert_eq!(claimed.iter().map(read).collect::<Vec<_>>(), expected);
        let open = LetterKey::list(org, jobs::JobNo(7_530_014_388_339_914_911), claimed[3].user);
        assert!(letters::exists(&mut store.read().await.unwrap(), &open).await.unwrap());
        let sent = LetterKey { kind: LetterKind::Weekly, subject: "2026-11-09".into(), ..open };
        assert!(letters::exists(&mut store.read().await.unwrap(), &sent).await.unwrap());
    })
    .await;
}

#[tokio::test]
async fn jobs_results_and_usage_of_earlier_programs_read_as_before() {
    for_each_upgraded(async |store, org| {
        let completed = job(store, &org, COMPLETED, false).await;
        assert_eq!((completed.state, completed.rows, completed.charged), (JobState::Completed, 7, 6));
        let expected = [
            (0, "valid"),
            (1, "nonexistent"),
            (2, "valid"),
            (3, "invalid"),
            (4, "deactivated"),
            (5, "inbox_full"),
            (6, "illegitimate"),
        ];
        assert_eq!(outcomes(store, &org, &completed).await, expected);
        let tested = job(store, &org, OF_TEST_KEY, true).await;
        assert_eq!(outcomes(store, &org, &tested).await, [(0, "valid"), (1, "inbox_full")]);
        let cancelled = job(store, &org, CANCELLED, false).await;
        assert_eq!(
            (cancelled.state, outcomes(store, &org, &cancelled).await),
            (JobState::Cancelled, vec![(1, "valid")])
        );
        let mut conn = store.read().await.unwrap();
        let reasons = jobs::reasons(&mut conn, org.no, completed.no).await.unwrap();
        assert_eq!(reasons.iter().map(|(_, n)| n).sum::<i64>(), 7);
        let page = jobs::page(&mut conn, org.no, &jobs::JobFilter::default(), None, 10).await.unwrap();
        let ids: Vec<String> = page.iter().map(|job| job.id.to_string()).collect();
        assert_eq!(ids, [OPEN, CANCELLED, COMPLETED]);
        let used = reports::by_reason(&mut conn, org.no, 0, i64::MAX, None).await.unwrap();
        assert_eq!(
            used.iter().map(|sum| (sum.verified, sum.charged)).fold((0, 0), |a, b| (a.0 + b.0, a.1 + b.1)),
            (12, 12)
        );
    })
    .await;
}

#[tokio::test]
async fn accounts_of_earlier_programs_stand_as_before() {
    for_each_upgraded(async |store, org| {
        let mut conn = store.read().await.unwrap();
        assert_eq!((org.name.as_deref(), &*org.plan), (Some("Müller & Söhne"), "metered"));
        let balance = credits::balance(&mut conn, org.no).await.unwrap();
        let totals = [balance.available, balance.held, balance.spent].map(probity_account::credits::Split::total);
        assert_eq!((totals, balance.holds()), ([986, 2, 12], true));
        let keys = keys::page(&mut conn, org.no, None, 100).await.unwrap();
        assert_eq!((keys.len(), keys.iter().filter(|key| key.revoked_at.is_some()).count()), (6, 1));
        let members = users::page(&mut conn, org.no, None, 100).await.unwrap();
        assert_eq!(members.len(), 3);
        let ann = users::member(&mut conn, org.no, "ANN@example.com").await.unwrap().unwrap();
        let profile = users::profile::read(&mut conn, org.no, ann.id).await.unwrap();
        assert!(profile.second_factor, "{profile:?}");
        let lifetimes = sessions::SessionLifetimes { idle_ms: 86_400_000, absolute_ms: 86_400_000 };
        let open = sessions::of_user(&mut conn, org.no, ann.id, lifetimes, NOW).await.unwrap();
        assert_eq!(open.len(), 1);
        let wishes = settings::read(&mut conn, org.no).await.unwrap();
        assert_eq!((wishes.overrides.banned_words, wishes.retention_days), (vec!["Größe".to_owned()], Some(400)));
        let happened = timeline::newest_events(&mut conn, org.no, Millis(0), NOW, 100).await.unwrap();
        assert_eq!(happened.len(), 15);
        let hooks = webhooks::page(&mut conn, org.no, false, None, 10).await.unwrap();
        assert_eq!((hooks.len(), &*hooks[0].url), (1, "https://hooks.example.com/a"));
        let messages = outbox::page(&mut conn, org.no, None, None, 100).await.unwrap();
        assert_eq!(messages.len(), 8);
        assert_eq!(suppressions::standing(&mut conn, org.no).await.unwrap(), []);
    })
    .await;
}

/// Returns the result of a valid address.
fn valid(idx: i64, copies: i64) -> RowResult {
    let kind = OutcomeKind {
        reason: Reason::Valid,
        findings: vec![],
        meta: "m".into(),
        rule: "rule".into(),
        smtp_code: Some(250),
        enhanced: None,
        host: None,
        source: "smtp".into(),
        flags: 0,
        charged: true,
        provider: None,
    };
    RowResult { idx, copies, kind: kind.into(), suggestion: None }
}

#[tokio::test]
async fn an_open_job_of_an_earlier_program_comes_to_its_end() {
    for_each_upgraded(async |store, org| {
        let job = job(store, &org, OPEN, false).await;
        assert_eq!((job.state, job.counts.processed), (JobState::Processing, 2));
        let open = jobs::open(&mut store.read().await.unwrap(), NOW, 10).await.unwrap();
        assert_eq!(open.iter().map(|open| open.job).collect::<Vec<_>>(), [job.no]);
        let head = ChunkGroup { org: org.no, job: job.no, destination: String::new(), source: SOURCE.into() };
        let claimed = store.write(|tx| jobs::claim_chunks(tx, &head, NOW, 60_000, 10).scope_boxed()).await.unwrap();
        assert_eq!((claimed.len(), claimed[0].size), (1, 2));
        // The second row occurs twice in the list.
        let settled = SettledPart { results: vec![valid(1, 2), valid(2, 1)], done: true, ..SettledPart::default() };
        let closed = store.write(|tx| {
            async {
                let closed = jobs::settle(tx, &claimed[0].fence, &settled, NOW).await?;
                outbox::put(tx, &told(&job)).await?;
                Ok(closed)
            }
            .scope_boxed()
        });
        let ClosedJob { state, .. } = closed.await.unwrap().unwrap();
        assert_eq!(state, JobState::Completed);
        let expected = [(0, "valid"), (1, "valid"), (2, "valid"), (3, "valid"), (4, "nonexistent")];
        assert_eq!(outcomes(store, &org, &job).await, expected);
        let balance = credits::balance(&mut store.read().await.unwrap(), org.no).await.unwrap();
        assert_eq!((balance.held.total(), balance.spent.total()), (0, 14));
        audited(store).await;
        let claim = store.write(|tx| jobs::claim_packing(tx, NOW, 60_000).scope_boxed()).await.unwrap();
        assert!(claim.is_some(), "and is packed as any other");
    })
    .await;
}

/// Returns the delivery about the end of the job.
fn told(job: &Job) -> NewDelivery {
    NewDelivery {
        org: job.org,
        id: DeliveryId::new(NOW, [1; 10]),
        event: EventId::new(NOW, [1; 10]),
        kind: "job.finished".into(),
        url: job.webhook_url.clone().unwrap(),
        content: DeliveryContent::Bytes(b"{}".to_vec()),
        job: Some(job.id),
        signer: String::new(),
        created_at: NOW,
    }
}
