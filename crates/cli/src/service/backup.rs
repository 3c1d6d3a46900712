//! Backups of a SQLite installation, as directories: created beside a running service, restored while none runs.
//!
//! A backup gets its name once it is complete, examined and synced. A restore examines its copy and repeats erasures missing from
//! the backup, before a single rename replaces the database. If either is killed, the earlier state remains.

mod files;
mod part;

use std::fs::{self, File};
use std::io::{ErrorKind, Read as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, anyhow, bail};
use probity_backend::copies::backup;
use probity_backend::copies::backup::{BackupFailed, Examined};
use probity_engine::clock::EngineClock;
use probity_service::store::{DatabasePlace, StoreConfig};
use serde::{Deserialize, Serialize};

use self::files::{alone_in_its_file, beside_of, copy, copy_if_there, create, remove, remove_database, sync, write};
use self::part::PartialBackup;
use super::{TOMBSTONES_FILE, keep_ms, lock, pepper, store, tombstones};
use crate::batch::input::Digested;
use crate::config::Settings;
use crate::config::serve::{Database, Pepper};
use crate::exit;
use crate::files::{beside, parent};
use crate::log;
use crate::output::table::moment_text;

/// Files of a backup. The last one describes the others.
const DATABASE: &str = "probity.db";
const PEPPER: &str = "pepper";
const MANIFEST: &str = "manifest.json";
/// Layout version of backups.
const FORMAT: u32 = 1;
/// Maximum size of a manifest, in bytes.
const MANIFEST_MAX: u64 = 64 << 10;
/// Time limit for exclusive access to the database, in milliseconds: a service that is ending first writes its log back.
const ALONE_MS: u64 = 3_000;

/// Description of a backup.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Manifest {
    format: u32,
    /// Version of the program that created the backup.
    pub version: String,
    pub created_at: String,
    /// Size of the database, in bytes.
    pub bytes: u64,
    /// SHA-256 of the database, in hexadecimal.
    sha256: String,
    /// The backup contains the pepper.
    pub pepper: bool,
    /// File of the installation's master key; the key itself is in no backup.
    pub master_key_file: Option<PathBuf>,
    /// Discrepancies that `audit` found; `None` if only another version can check.
    pub discrepancies: Option<usize>,
}

/// Result of a restore.
#[derive(Debug)]
pub(crate) struct Restored {
    pub manifest: Manifest,
    /// Number of erasures repeated.
    pub erased_again: usize,
    /// Path of the database that was replaced.
    pub replaced: Option<PathBuf>,
    /// The data directory had a tombstone file.
    pub tombstones: bool,
}

/// Creates a backup in a new directory.
pub(crate) async fn make(settings: &Settings, target: &Path, with_pepper: bool) -> Result<Manifest> {
    let source = sqlite(settings, BACK_UP_POSTGRESQL)?;
    if !source.is_file() {
        bail!("there is no database {}", source.display());
    }
    if fs::symlink_metadata(target).is_ok() {
        bail!("{} already exists; choose another directory", target.display());
    }
    let key = pepper::existing(&settings.pepper)?;
    let _held = lock::share(&settings.data)?;
    let part = PartialBackup::begin(beside(target, ".part"))?;
    let manifest = fill(settings, &source, &key, part.path(), with_pepper).await?;
    part.name(target)?;
    sync(parent(target))?;
    Ok(manifest)
}

/// Writes all files of a backup.
async fn fill(settings: &Settings, source: &Path, key: &[u8; 32], part: &Path, with_pepper: bool) -> Result<Manifest> {
    let database = part.join(DATABASE);
    create(&database)?;
    backup::copy(&store(settings)?, &database).await.map_err(|error| failed(error, source))?;
    // Copied after the database, so that every erasure is in at least one.
    copy_if_there(&tombstones(settings), &part.join(TOMBSTONES_FILE))?;
    let with_pepper = match &settings.pepper {
        Pepper::File(path) if with_pepper => copy_if_there(path, &part.join(PEPPER))?,
        Pepper::File(_) | Pepper::Given(_) => false,
    };
    let examined = backup::examine(&at(settings, &database)?, key, None, keep_ms(settings)).await;
    let examined = examined.map_err(|error| failed(error, &database))?;
    alone_in_its_file(&database)?;
    let (bytes, sha256) = Digested::new(File::open(&database)?).finish()?;
    let manifest = Manifest {
        format: FORMAT,
        version: env!("CARGO_PKG_VERSION").to_owned(),
        created_at: moment_text(EngineClock::system().now()),
        bytes,
        sha256,
        pepper: with_pepper,
        master_key_file: settings.sections.secrets.master_key_file.clone(),
        discrepancies: examined.discrepancies.map(|found| found.len()),
    };
    write(&part.join(MANIFEST), &serde_json::to_vec_pretty(&manifest)?)?;
    sync(&database)?;
    sync(part)?;
    Ok(manifest)
}

/// Replaces the database with a backup; overwrites an existing database only if `replace` is set.
pub(crate) async fn restore(settings: &Settings, source: &Path, replace: bool) -> Result<Restored> {
    let place = sqlite(settings, RESTORE_POSTGRESQL)?;
    let manifest = manifest(source)?;
    super::make_directory(&settings.data)?;
    let _held = lock::alone(&settings.data)?;
    if place.is_file() && !replace {
        bail!("{} already exists; set --replace to replace it", place.display());
    }
    let aside = aside(&place)?;
    let (key, new_pepper) = the_pepper(settings, source, &manifest)?;
    let staged = Staged::new(settings, &place)?;
    if place.is_file() {
        let alone = StoreConfig { acquire_timeout_ms: ALONE_MS, ..store(settings)? };
        backup::settle(&alone).await.map_err(|error| failed(error, &place))?;
        alone_in_its_file(&place)?;
    } else if let Some(log) = beside_of(&place).find(|path| path.exists()) {
        bail!("{} belongs to a database that is missing; move it away", log.display());
    }
    let had_tombstones = tombstones(settings).is_file();
    let ready = staged.fill(settings, source, &manifest, &key).await?;
    fs::rename(&staged.tombstones, tombstones(settings))?;
    if let Some((path, text)) = new_pepper {
        write(&path, &text)?;
        sync(parent(&path))?;
    }
    if let Some(aside) = &aside {
        set_aside(&place, aside)?;
    }
    // From here on, the backup is the database; until here, the earlier one is.
    fs::rename(&staged.database, &place)
        .with_context(|| format!("cannot replace {} with the backup", place.display()))?;
    sync(parent(&place))?;
    Ok(Restored { manifest, erased_again: ready.erased_again, replaced: aside, tombstones: had_tombstones })
}

/// The next database and its tombstones. Dropping it deletes both unless they got their names.
struct Staged {
    database: PathBuf,
    tombstones: PathBuf,
}

impl Staged {
    /// Removes what a killed restore left.
    fn new(settings: &Settings, place: &Path) -> Result<Self> {
        let staged =
            Self { database: beside(place, ".restoring"), tombstones: beside(&tombstones(settings), ".restoring") };
        staged.remove()?;
        Ok(staged)
    }

    /// Copies a backup and prepares it for service.
    async fn fill(&self, settings: &Settings, source: &Path, manifest: &Manifest, key: &[u8; 32]) -> Result<Examined> {
        let database = source.join(DATABASE);
        copy(&database, &self.database)?;
        if Digested::new(File::open(&self.database)?).finish()?.1 != manifest.sha256 {
            bail!("{} is not the database that was backed up: it was changed or is damaged", database.display());
        }
        merge(&[&tombstones(settings), &source.join(TOMBSTONES_FILE)], &self.tombstones)?;
        let (at, tombstones) = (at(settings, &self.database)?, Some(self.tombstones.as_path()));
        let ready = backup::examine(&at, key, tombstones, keep_ms(settings)).await;
        let ready = sound(ready.map_err(|error| failed(error, &database))?, manifest)?;
        alone_in_its_file(&self.database)?;
        sync(&self.database)?;
        sync(&self.tombstones)?;
        Ok(ready)
    }

    fn remove(&self) -> Result<()> {
        remove_database(&self.database)?;
        remove(&self.tombstones)
    }
}

impl Drop for Staged {
    fn drop(&mut self) {
        if let Err(error) = self.remove() {
            log::say(&format!("note: {error:#}; it contains addresses, delete it"));
        }
    }
}

const BACK_UP_POSTGRESQL: &str = "the database is PostgreSQL; back it up with its own tools, and keep the pepper and \
     erasures.tombstones of each node:\n    pg_dump --format=custom --file=probity.dump \"$PROBITY_DATABASE__URL\"";
const RESTORE_POSTGRESQL: &str = "the database is PostgreSQL; stop every node and restore it with its own tools:\n    \
     pg_restore --clean --if-exists --dbname=\"$PROBITY_DATABASE__URL\" probity.dump";

fn sqlite(settings: &Settings, otherwise: &str) -> Result<PathBuf> {
    match &settings.database {
        Database::Sqlite(path) => Ok(path.clone()),
        Database::Postgres(_) => bail!("{otherwise}"),
    }
}

/// Returns the settings with this file as the database.
fn at(settings: &Settings, database: &Path) -> Result<StoreConfig> {
    Ok(StoreConfig { place: DatabasePlace::Sqlite(database.to_owned()), ..store(settings)? })
}

/// Adds the file to an error. A database that does not open is a local failure.
fn failed(error: BackupFailed, path: &Path) -> anyhow::Error {
    exit::local(anyhow::Error::new(error).context(path.display().to_string()))
}

/// Reads the manifest of a backup.
fn manifest(source: &Path) -> Result<Manifest> {
    let place = source.join(MANIFEST);
    let file =
        File::open(&place).with_context(|| format!("{} is not a backup: cannot read {MANIFEST}", source.display()))?;
    let mut text = Vec::new();
    file.take(MANIFEST_MAX).read_to_end(&mut text)?;
    let manifest: Manifest = serde_json::from_slice(&text)
        .with_context(|| format!("{} is not the manifest of a backup", place.display()))?;
    if manifest.format != FORMAT {
        bail!(
            "{} was made by version {} of this program; restore it with that version",
            source.display(),
            manifest.version
        );
    }
    Ok(manifest)
}

/// Returns the pepper's bytes, and the file to write if the data directory has none.
#[expect(clippy::type_complexity, reason = "a file and its content")]
fn the_pepper(
    settings: &Settings,
    source: &Path,
    manifest: &Manifest,
) -> Result<([u8; 32], Option<(PathBuf, Vec<u8>)>)> {
    let Pepper::File(path) = &settings.pepper else { return Ok((pepper::existing(&settings.pepper)?, None)) };
    let of_backup = Pepper::File(source.join(PEPPER));
    match (path.exists(), manifest.pepper) {
        (true, true) if pepper::existing(&settings.pepper)? != pepper::existing(&of_backup)? => {
            bail!(
                "{} is the pepper of another installation; restore into another directory, or move it away",
                path.display()
            )
        }
        (true, _) => Ok((pepper::existing(&settings.pepper)?, None)),
        (false, true) => {
            let text = fs::read(source.join(PEPPER)).context("cannot read the pepper of the backup")?;
            Ok((pepper::existing(&of_backup)?, Some((path.clone(), text))))
        }
        (false, false) => bail!("the backup has no pepper; copy the pepper of this installation to {}", path.display()),
    }
}

/// Rejects a copy with more discrepancies than the database had at backup time.
fn sound(ready: Examined, manifest: &Manifest) -> Result<Examined> {
    let found = ready.discrepancies.as_ref().map_or(0, Vec::len);
    if found > manifest.discrepancies.unwrap_or(usize::MAX) {
        return Err(exit::local(anyhow!("the backup is inconsistent: audit found {found} discrepancies")));
    }
    Ok(ready)
}

/// Returns the name under which the current database is kept. Fails if an earlier replaced database has that name, since it may be
/// the only correct one.
fn aside(place: &Path) -> Result<Option<PathBuf>> {
    if !place.is_file() {
        return Ok(None);
    }
    let aside = beside(place, ".replaced");
    let (database, before) = (fs::symlink_metadata(place)?, fs::symlink_metadata(&aside));
    match before {
        // A restore was killed while the database had both names.
        Ok(before) if (before.dev(), before.ino()) == (database.dev(), database.ino()) => remove(&aside)?,
        Ok(_) => bail!(
            "{} is a database that was replaced before; move it away, or delete it if you no longer need it",
            aside.display()
        ),
        Err(error) if error.kind() == ErrorKind::NotFound => {}
        Err(error) => return Err(error).with_context(|| format!("cannot read {}", aside.display())),
    }
    Ok(Some(aside))
}

/// Keeps the current database under another name, beside its replacement.
fn set_aside(place: &Path, aside: &Path) -> Result<()> {
    // The file has both names until the new database takes the first.
    fs::hard_link(place, aside).with_context(|| format!("cannot keep {} as {}", place.display(), aside.display()))?;
    sync(parent(place))
}

/// Merges the lines of files without duplicates. A torn line counts as a line.
fn merge(files: &[&Path], into: &Path) -> Result<()> {
    let (mut seen, mut merged) = (std::collections::HashSet::new(), Vec::new());
    for file in files {
        let content = match fs::read(file) {
            Ok(content) => content,
            Err(error) if error.kind() == ErrorKind::NotFound => continue,
            Err(error) => return Err(error).with_context(|| format!("cannot read {}", file.display())),
        };
        for line in content.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
            if seen.insert(line.to_vec()) {
                merged.extend_from_slice(line);
                merged.push(b'\n');
            }
        }
    }
    remove(into)?;
    write(into, &merged)
}
