//! Backups of an installation on SQLite, as directories: made beside a running service, and put back while none runs.
//!
//! A backup gets its name when it is whole, examined and on disk; a restore examines its copy, and does erasures again that the
//! backup does not know, before one renaming puts it in the place of the database. So whenever either is killed, what was there
//! before is there still.

mod files;
mod part;

use std::fs::{self, File};
use std::io::{ErrorKind, Read as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, anyhow, bail};
use probity_engine::clock::Clock;
use probity_server::backup::{self, Examined, Failed};
use probity_server::store::{Place, StoreConfig};
use serde::{Deserialize, Serialize};

use self::files::{
    alone_in_its_file, beside_of, copy, copy_if_there, create, parent, remove, remove_database, sum, sync, write,
};
use self::part::Part;
use super::{TOMBSTONES_FILE, lock, pepper, store, tombstones};
use crate::admin::moment_text;
use crate::batch::beside;
use crate::config::Settings;
use crate::config::serve::{Database, Pepper, ServeSettings};
use crate::exit::{Ends, Exit};
use crate::log;

/// Files of a backup. The last one says what the others are.
const DATABASE: &str = "probity.db";
const PEPPER: &str = "pepper";
const MANIFEST: &str = "manifest.json";
/// The layout of backups.
const FORMAT: u32 = 1;
/// The largest manifest that is read, in bytes.
const MANIFEST_MAX: u64 = 64 << 10;
/// How long the database may take to be ours alone, in milliseconds: a service that ends writes its log back first.
const ALONE_MS: u64 = 3_000;

/// What a backup is.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Manifest {
    format: u32,
    /// The version of the program that made it.
    pub version: String,
    /// When.
    pub created_at: String,
    /// The size of the database, in bytes.
    pub bytes: u64,
    /// The SHA-256 of the database, in hexadecimal digits.
    sha256: String,
    /// Whether the pepper is in the backup.
    pub pepper: bool,
    /// The file of the master key that the installation had; the key itself is in no backup.
    pub master_key_file: Option<PathBuf>,
    /// How many discrepancies `audit` found; none where another version must look.
    pub discrepancies: Option<usize>,
}

/// What a restore did.
#[derive(Debug)]
pub(crate) struct Restored {
    /// The backup.
    pub manifest: Manifest,
    /// How many erasures were done again.
    pub erased_again: usize,
    /// Where the database is that was there before.
    pub replaced: Option<PathBuf>,
    /// Whether there was a file of tombstones in the data directory.
    pub tombstones: bool,
}

/// Makes a backup in a directory that does not exist.
pub(crate) async fn make(settings: &Settings, target: &Path, with_pepper: bool) -> Result<Manifest> {
    let serve = &settings.serve;
    let source = sqlite(serve, BACK_UP_POSTGRESQL)?;
    if !source.is_file() {
        bail!("there is no database {}", source.display());
    }
    if fs::symlink_metadata(target).is_ok() {
        bail!("{} already exists; choose another directory", target.display());
    }
    let key = pepper::existing(&serve.pepper)?;
    let _held = lock::share(&serve.data)?;
    let part = Part::begin(beside(target, ".part"))?;
    let manifest = fill(serve, &source, &key, part.path(), with_pepper).await?;
    part.name(target)?;
    sync(&parent(target))?;
    Ok(manifest)
}

/// Writes all files of a backup.
async fn fill(
    serve: &ServeSettings,
    source: &Path,
    key: &[u8; 32],
    part: &Path,
    with_pepper: bool,
) -> Result<Manifest> {
    let database = part.join(DATABASE);
    create(&database)?;
    backup::copy(&store(serve)?, &database).await.map_err(|error| failed(error, source))?;
    // After the database, so that no erasure is in neither.
    copy_if_there(&tombstones(serve), &part.join(TOMBSTONES_FILE))?;
    let with_pepper = match &serve.pepper {
        Pepper::File(path) if with_pepper => copy_if_there(path, &part.join(PEPPER))?,
        Pepper::File(_) | Pepper::Given(_) => false,
    };
    let examined = backup::examine(&at(serve, &database)?, key, serve.deliveries_keep_ms).await;
    let examined = examined.map_err(|error| failed(error, &database))?;
    alone_in_its_file(&database)?;
    let manifest = Manifest {
        format: FORMAT,
        version: env!("CARGO_PKG_VERSION").to_owned(),
        created_at: moment_text(Clock::system().now()),
        bytes: fs::metadata(&database)?.len(),
        sha256: sum(&database)?,
        pepper: with_pepper,
        master_key_file: serve.master_key.clone(),
        discrepancies: examined.discrepancies.map(|found| found.len()),
    };
    write(&part.join(MANIFEST), &serde_json::to_vec_pretty(&manifest)?)?;
    sync(&database)?;
    sync(part)?;
    Ok(manifest)
}

/// Puts a backup in the place of the database; where there is one, only if it may be replaced.
pub(crate) async fn restore(settings: &Settings, source: &Path, replace: bool) -> Result<Restored> {
    let serve = &settings.serve;
    let place = sqlite(serve, RESTORE_POSTGRESQL)?;
    let manifest = manifest(source)?;
    super::make_directory(&serve.data)?;
    let _held = lock::alone(&serve.data)?;
    if place.is_file() && !replace {
        bail!("{} already exists; set --replace to replace it", place.display());
    }
    let aside = aside(&place)?;
    let (key, new_pepper) = the_pepper(serve, source, &manifest)?;
    let staged = Staged::new(serve, &place)?;
    if place.is_file() {
        let alone = StoreConfig { acquire_timeout_ms: ALONE_MS, ..store(serve)? };
        backup::settle(&alone).await.map_err(|error| failed(error, &place))?;
        alone_in_its_file(&place)?;
    } else if let Some(log) = beside_of(&place).find(|path| path.exists()) {
        bail!("{} belongs to a database that is missing; move it away", log.display());
    }
    let had_tombstones = tombstones(serve).is_file();
    let ready = staged.fill(serve, source, &manifest, &key).await?;
    fs::rename(&staged.tombstones, tombstones(serve))?;
    if let Some((path, text)) = new_pepper {
        write(&path, &text)?;
        sync(&parent(&path))?;
    }
    if let Some(aside) = &aside {
        set_aside(&place, aside)?;
    }
    // From here on the backup is the database; up to here the one before was.
    fs::rename(&staged.database, &place)
        .with_context(|| format!("cannot replace {} with the backup", place.display()))?;
    sync(&parent(&place))?;
    Ok(Restored { manifest, erased_again: ready.erased_again, replaced: aside, tombstones: had_tombstones })
}

/// What becomes the database and its tombstones. It goes away unless both get their names.
struct Staged {
    database: PathBuf,
    tombstones: PathBuf,
}

impl Staged {
    /// Removes what a killed restore left.
    fn new(serve: &ServeSettings, place: &Path) -> Result<Self> {
        let staged =
            Self { database: beside(place, ".restoring"), tombstones: beside(&tombstones(serve), ".restoring") };
        staged.remove()?;
        Ok(staged)
    }

    /// Copies a backup and makes it ready to be served.
    async fn fill(
        &self,
        serve: &ServeSettings,
        source: &Path,
        manifest: &Manifest,
        key: &[u8; 32],
    ) -> Result<Examined> {
        let database = source.join(DATABASE);
        copy(&database, &self.database)?;
        if sum(&self.database)? != manifest.sha256 {
            bail!("{} is not the database that was backed up: it was changed or is damaged", database.display());
        }
        merge(&[&tombstones(serve), &source.join(TOMBSTONES_FILE)], &self.tombstones)?;
        let ready =
            backup::make_ready(&at(serve, &self.database)?, key, &self.tombstones, serve.deliveries_keep_ms).await;
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

fn sqlite(serve: &ServeSettings, otherwise: &str) -> Result<PathBuf> {
    match &serve.database.place {
        Database::Sqlite(path) => Ok(path.clone()),
        Database::Postgres(_) => bail!("{otherwise}"),
    }
}

/// The settings with the database of this file.
fn at(serve: &ServeSettings, database: &Path) -> Result<StoreConfig> {
    Ok(StoreConfig { place: Place::Sqlite(database.to_owned()), ..store(serve)? })
}

/// With the file that it is about; what keeps a database shut is of this machine.
fn failed(error: Failed, path: &Path) -> anyhow::Error {
    anyhow::Error::new(error).context(path.display().to_string()).context(Ends(Exit::Local))
}

/// The manifest of a backup.
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

/// The pepper's bytes, and the file to write where the data directory has none yet.
#[expect(clippy::type_complexity, reason = "a file and its content")]
fn the_pepper(
    serve: &ServeSettings,
    source: &Path,
    manifest: &Manifest,
) -> Result<([u8; 32], Option<(PathBuf, Vec<u8>)>)> {
    let Pepper::File(path) = &serve.pepper else { return Ok((pepper::existing(&serve.pepper)?, None)) };
    let of_backup = Pepper::File(source.join(PEPPER));
    match (path.exists(), manifest.pepper) {
        (true, true) if pepper::existing(&serve.pepper)? != pepper::existing(&of_backup)? => {
            bail!(
                "{} is the pepper of another installation; restore into another directory, or move it away",
                path.display()
            )
        }
        (true, _) => Ok((pepper::existing(&serve.pepper)?, None)),
        (false, true) => {
            let text = fs::read(source.join(PEPPER)).context("cannot read the pepper of the backup")?;
            Ok((pepper::existing(&of_backup)?, Some((path.clone(), text))))
        }
        (false, false) => bail!("the backup has no pepper; copy the pepper of this installation to {}", path.display()),
    }
}

/// Refuses a copy that breaks more promises than the database did when it was backed up.
fn sound(ready: Examined, manifest: &Manifest) -> Result<Examined> {
    let found = ready.discrepancies.as_ref().map_or(0, Vec::len);
    if found > manifest.discrepancies.unwrap_or(usize::MAX) {
        return Err(anyhow!("the backup is inconsistent: audit found {found} discrepancies").context(Ends(Exit::Local)));
    }
    Ok(ready)
}

/// The name under which the database is kept that is there. Refuses where a database has that name that was replaced before:
/// it may be the only one that is right.
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

/// Keeps the database that is there under another name, beside the one that takes its place.
fn set_aside(place: &Path, aside: &Path) -> Result<()> {
    // It has both names until the new one takes its first.
    fs::hard_link(place, aside).with_context(|| format!("cannot keep {} as {}", place.display(), aside.display()))?;
    sync(&parent(place))
}

/// Lines of files, each once. What broke off while it was written is a line by itself.
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
