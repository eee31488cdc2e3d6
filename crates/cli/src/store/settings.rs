//! Where settings of S3, Azure's and Google's storage are: the environment, and the files that other programs for S3 have. (The library finds
//! Google's file by itself.)
//!
//! Invariant: keys are of one origin: those of the files count only where the environment has none.

use std::path::PathBuf;

use sapwood_core::SvnResult;
use sapwood_core::config::{Case, Config};
use sapwood_objects_s3::Settings;

use crate::input;

/// What variables of other programs for them begin with.
const PREFIXES: [&str; 5] = ["AWS_", "AZURE_", "GOOGLE_", "IDENTITY_", "STORAGE_EMULATOR_HOST"];
/// Options of the file of credentials, and the variables that they stand for.
const KEYS: [(&str, &str); 3] = [
    ("aws_access_key_id", "AWS_ACCESS_KEY_ID"),
    ("aws_secret_access_key", "AWS_SECRET_ACCESS_KEY"),
    ("aws_session_token", "AWS_SESSION_TOKEN"),
];
/// The same of the file of settings.
const SETTINGS: [(&str, &str); 3] = [
    ("region", "AWS_REGION"),
    ("endpoint_url", "AWS_ENDPOINT_URL"),
    ("ca_bundle", "AWS_CA_BUNDLE"),
];

/// All settings, those of the environment last.
pub(super) fn settings() -> SvnResult<Settings> {
    let own = std::env::vars_os().filter_map(|(name, value)| {
        let pair = (name.into_string().ok()?, value.into_string().ok()?);
        PREFIXES.iter().any(|prefix| pair.0.starts_with(prefix)).then_some(pair)
    });
    let environment: Vec<(String, String)> = own.collect();
    let get = |wanted: &str| {
        let found = environment.iter().find(|(name, value)| name == wanted && !value.is_empty());
        found.map(|(_, value)| value.clone())
    };
    // Also where no variable names it: hooks begin with an empty environment.
    let home = std::env::home_dir();
    let file = |variable: &str, usual: &str| {
        let named = get(variable).map(PathBuf::from);
        named.or_else(|| home.as_ref().map(|home| home.join(".aws").join(usual)))
    };
    let profile = get("AWS_PROFILE").unwrap_or_else(|| "default".to_owned());
    let mut variables = Vec::new();
    if get("AWS_ACCESS_KEY_ID").is_none() {
        let credentials = file("AWS_SHARED_CREDENTIALS_FILE", "credentials");
        variables.extend(of_file(credentials, std::slice::from_ref(&profile), &KEYS)?);
    }
    let sections = [format!("profile {profile}"), profile];
    variables.extend(of_file(file("AWS_CONFIG_FILE", "config"), &sections, &SETTINGS)?);
    variables.extend(environment);
    Ok(Settings { variables })
}

/// Settings of PostgreSQL: its programs' variables, and their file of passwords where no variable names another.
pub(super) fn of_postgres() -> sapwood_objects_postgres::Settings {
    let own = std::env::vars_os().filter_map(|(name, value)| {
        let pair = (name.into_string().ok()?, value.into_string().ok()?);
        pair.0.starts_with("PG").then_some(pair)
    });
    let usual = std::env::home_dir().map(|home| home.join(".pgpass"));
    let usual = usual.and_then(|path| path.into_os_string().into_string().ok());
    let usual = usual.map(|path| ("PGPASSFILE".to_owned(), path));
    sapwood_objects_postgres::Settings { variables: usual.into_iter().chain(own).collect() }
}

/// What a file, which need not be there, says in the first of its sections that has an option.
fn of_file(
    path: Option<PathBuf>,
    sections: &[String],
    options: &[(&str, &str)],
) -> SvnResult<Vec<(String, String)>> {
    let Some(path) = path else { return Ok(Vec::new()) };
    let Some(bytes) = input::contents_if_there(&path)? else { return Ok(Vec::new()) };
    let config = Config::parse_file(&path.to_string_lossy(), &bytes, Case::default())?;
    let found = options.iter().filter_map(|(option, variable)| {
        let value = sections.iter().find_map(|section| config.get(section, option))?;
        Some(((*variable).to_owned(), value.into_owned()))
    });
    Ok(found.collect())
}
