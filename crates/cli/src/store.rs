//! `sapwood store`: repositories in object stores. What is done is in `sapwood_repo_transfer` and `sapwood_repo_log`; here are
//! words, addresses and settings.
//!
//! The verbs have a program of their own: `import` and `export` are commands of `svn` that do something else, and
//! `verify` and `info` are of `svnadmin`, on folders.

mod addresses;
mod by_address;
mod folders;
mod settings;
mod sweep;

use std::ffi::OsString;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use sapwood_core::{SvnError, SvnResult};
use sapwood_fs::admin::{CreateOptions, NewFilesystem};
use sapwood_objects::Store;
use sapwood_repo_log::{Error, RepositoryLog, VerifySummary, verify};
use sapwood_repo_transfer::{export, import};

use crate::command::{OptionSpec, Options, name};
use crate::manual::Manual;
use crate::output::Output;
use crate::signals;
use crate::tool::Tool;

const REQUESTS: OptionSpec =
    OptionSpec::flag("requests", None, "print how many requests the store had, by kind");

const OLDER_THAN: OptionSpec = OptionSpec::value(
    "older-than",
    None,
    "sweep: what was written more than ARG days ago (7, if not given)",
);
const DRY_RUN: OptionSpec =
    OptionSpec::flag("dry-run", None, "sweep: print what would be removed, and remove nothing");

const OPTIONS: &[OptionSpec] = &[
    OLDER_THAN,
    DRY_RUN,
    REQUESTS,
    name::QUIET.flag(Some('q'), "print only errors"),
    name::HELP.flag(Some('h'), "print this"),
    name::HELP_MARK.flag(Some('?'), "print this"),
];

const TEXT: &str = "\
Keeps repositories in object stores. An ADDRESS is s3://BUCKET/PREFIX, az://CONTAINER/PREFIX
(Azure), gs://BUCKET/PREFIX (Google), file:///FOLDER for a folder that holds objects in place of a
bucket, or postgres://[USER@][HOST][:PORT]/DATABASE+ADDRESS for a log in a database, with objects at
one of the others.

  import FOLDER ADDRESS   bring a repository into a store: all of it, or what is new since the
                          last time. FOLDER is only read, and may be in use
  export ADDRESS FOLDER   write it to a folder, which programs of Subversion take as it is:
                          byte for byte what was imported
  create ADDRESS FOLDER   make an empty repository in a store, and its FOLDER on this machine
  attach ADDRESS FOLDER   make a FOLDER on this machine for a repository that is in a store: what
                          programs of Sapwood take as the repository, also several machines at a time
  push FOLDER             bring what was changed in such a FOLDER (hooks, configuration) to the store,
                          from where all its folders get it
  verify ADDRESS          read its whole log, its checkpoints, and all that the log names
  info ADDRESS            say what it has
  sweep ADDRESS           remove what nothing needs: objects that writers left which were stopped, and
                          those that packs or newer properties have the place of, both for 7 days by
                          the store's own clock. No import and no server may need longer than that
                          from writing an object to naming it, or from one look at the log to the next

A repository must be FSFS of format 8 ('svnadmin info' says it): 'sapwood convert' makes one. Before
the first import a store is tried, and refused if it lets two writers create one object.

Keys and settings of S3 come from where other programs have them: AWS_ACCESS_KEY_ID,
AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN, AWS_REGION, AWS_ENDPOINT_URL_S3 or AWS_ENDPOINT_URL,
AWS_CA_BUNDLE, AWS_VIRTUAL_HOSTED_STYLE_REQUEST (true or false), AWS_PROFILE with the files
~/.aws/credentials and ~/.aws/config; else from the instance, the container or the web identity.
Those of Azure: AZURE_STORAGE_ACCOUNT, AZURE_STORAGE_KEY or AZURE_STORAGE_SAS_TOKEN, or
AZURE_CLIENT_ID, AZURE_CLIENT_SECRET, AZURE_TENANT_ID, AZURE_FEDERATED_TOKEN_FILE, else the machine's
identity; AZURE_STORAGE_ENDPOINT. Those of Google: GOOGLE_APPLICATION_CREDENTIALS or
GOOGLE_SERVICE_ACCOUNT (files), else gcloud's file or the machine; STORAGE_EMULATOR_HOST. Authorities
of certificates are those of AWS_CA_BUNDLE for all of them, else the system's. Of PostgreSQL: PGHOST,
PGPORT, PGUSER, PGPASSWORD, PGPASSFILE or ~/.pgpass, PGSSLMODE, PGSSLROOTCERT; TLS is used but for
sockets and this machine.
";

static TOOL: Tool = Tool {
    name: "sapwood store",
    arguments: "import|export|create|attach|push|verify|info|sweep ...",
    options: OPTIONS,
    text: TEXT,
    run: store,
};

pub(crate) use addresses::register;
pub(crate) use by_address::{folder_for, is_place};
pub(crate) use folders::{copy_to, create};

/// The program's `main`.
pub(crate) fn run(args: Vec<OsString>) -> ExitCode {
    TOOL.main(args)
}

/// The manual page.
pub(crate) fn manual() -> Manual {
    TOOL.manual()
}

fn store(options: &Options, arguments: Vec<String>, out: &mut Output) -> SvnResult<ExitCode> {
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let cancel = signals::cancel_token();
    let (opened, line) = match words.as_slice() {
        ["import", folder, address] => {
            let opened = OpenStore::at(address)?;
            let log = import(Path::new(folder), Arc::clone(&opened.store), &cancel)?;
            let line = summary(&log);
            (opened, line)
        }
        ["export", address, folder] => {
            let opened = OpenStore::at(address)?;
            let log = export(Arc::clone(&opened.store), Path::new(folder), &cancel)?;
            let line = summary(&log);
            (opened, line)
        }
        ["create", address, folder] => {
            let opened = OpenStore::at(address)?;
            let kind = NewFilesystem::Fsfs(CreateOptions::default());
            folders::create(address, Path::new(folder), &kind, None, &cancel)?;
            (opened, String::new())
        }
        ["attach", address, folder] => {
            let opened = OpenStore::at(address)?;
            folders::attach(address, Path::new(folder))?;
            (opened, String::new())
        }
        ["push", folder] => {
            let pushed = folders::push(folder)?;
            if !options.has(name::QUIET) {
                pushed.iter().try_for_each(|path| out.text(&format!("{path}\n")))?;
            }
            return Ok(ExitCode::SUCCESS);
        }
        ["verify", address] => {
            let opened = OpenStore::at(address)?;
            let VerifySummary { entries, checkpoints, objects, .. } = verify(&opened.store)?;
            let counts =
                format!("{entries} entries, {checkpoints} checkpoints and {objects} objects");
            (opened, format!("{address}: {counts} are whole\n"))
        }
        ["info", address] => {
            let opened = OpenStore::at(address)?;
            let line = info(&opened.log()?);
            (opened, line)
        }
        ["sweep", address] => {
            let opened = OpenStore::at(address)?;
            let line = sweep::sweep(&opened.store, options, out)?;
            (opened, line)
        }
        _ => return Ok(TOOL.wrong_usage("a verb with its arguments is needed")),
    };
    if !options.has(name::QUIET) {
        out.text(&line)?;
    }
    if options.has(REQUESTS.name()) {
        out.text(&opened.requests())?;
    }
    Ok(ExitCode::SUCCESS)
}

/// A store.
struct OpenStore {
    store: Arc<dyn Store>,
}

impl OpenStore {
    fn at(address: &str) -> SvnResult<Self> {
        Ok(Self { store: sapwood_objects::addresses::open(address)? })
    }

    fn log(&self) -> SvnResult<RepositoryLog> {
        let log = RepositoryLog::open(Arc::clone(&self.store))?;
        let address = sapwood_objects::Blobs::address(&*self.store);
        log.ok_or_else(|| SvnError::from(Error::NotThere(address.into())))
    }

    /// What is printed of the requests to the store.
    fn requests(&self) -> String {
        let counts = addresses::requests(sapwood_objects::Blobs::address(&*self.store));
        let counts = counts.iter().map(|(kind, count)| format!(" {kind} {count}"));
        format!("requests:{}\n", counts.collect::<String>())
    }
}

/// The youngest revision, as people know it.
fn youngest(log: &RepositoryLog) -> String {
    match log.state().revisions.checked_sub(1) {
        Some(youngest) => format!("r{youngest}"),
        None => "no revision".to_owned(),
    }
}

fn summary(log: &RepositoryLog) -> String {
    format!("{}: {}, {} entries\n", log.address(), youngest(log), log.entries())
}

fn info(log: &RepositoryLog) -> String {
    let state = log.state();
    let lines = [
        ("Address", log.address().to_owned()),
        ("Repository", state.repository.to_string()),
        ("Youngest", youngest(log)),
        ("Packed shards", state.packs.len().to_string()),
        ("Bytes of revisions", state.bytes().to_string()),
        ("Files", state.files.len().to_string()),
        ("Entries of the log", log.entries().to_string()),
        ("Contents", state.contents().to_string()),
    ];
    lines.iter().map(|(name, value)| format!("{name}: {value}\n")).collect()
}
