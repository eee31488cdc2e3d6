//! `[[webhook]]` and `[[mail]]` of the configuration file: who gets messages after commits.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use sapwood_core::{ErrorCode, SvnError, SvnResult};
use sapwood_notify::{
    Carrier, Filter, Mail, MailSettings, Report, Target, Webhook, WebhookSettings, WrongSetting,
};
use sapwood_server::ServerState;
use serde::Deserialize;

use super::lines::Problem;
use super::secret_file;
use crate::report;

/// A webhook, as the file says.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct WebhookConfig {
    name: String,
    url: String,
    secret_file: Option<PathBuf>,
    ca: Option<PathBuf>,
    #[serde(default)]
    internal: bool,
    #[serde(default)]
    repositories: Vec<String>,
    #[serde(default)]
    paths: Vec<String>,
}

/// Mail, as the file says.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct MailConfig {
    name: String,
    server: String,
    from: String,
    to: Vec<String>,
    #[serde(default)]
    plain: bool,
    user: Option<String>,
    password_file: Option<PathBuf>,
    ca: Option<PathBuf>,
    #[serde(default)]
    repositories: Vec<String>,
    #[serde(default)]
    paths: Vec<String>,
}

/// What the file of a secret says.
fn secret(setting: &'static str, path: &Path) -> Result<Vec<u8>, WrongSetting> {
    secret_file::read(path).map_err(|why| WrongSetting { setting, why })
}

impl WebhookConfig {
    /// Makes relative paths relative to `base`.
    pub(super) fn make_absolute(&mut self, base: &Path) {
        for path in [&mut self.secret_file, &mut self.ca].into_iter().flatten() {
            *path = base.join(&*path);
        }
    }

    fn target(&self) -> Result<Target, WrongSetting> {
        let secret = self.secret_file.as_deref().map(|path| secret("secret-file", path));
        let webhook = Webhook::new(WebhookSettings {
            url: self.url.clone(),
            secret: secret.transpose()?,
            authorities: self.ca.clone(),
            internal: self.internal,
        })?;
        let filter = Filter::new(self.repositories.clone(), &self.paths)?;
        Target::new(&self.name, filter, Carrier::Webhook(webhook))
    }
}

impl MailConfig {
    /// Makes relative paths relative to `base`.
    pub(super) fn make_absolute(&mut self, base: &Path) {
        for path in [&mut self.password_file, &mut self.ca].into_iter().flatten() {
            *path = base.join(&*path);
        }
    }

    fn target(&self) -> Result<Target, WrongSetting> {
        let wrong = |setting, why: &str| WrongSetting { setting, why: why.to_owned() };
        let login = match (&self.user, &self.password_file) {
            (None, None) => None,
            (Some(user), Some(path)) => {
                let password = String::from_utf8(secret("password-file", path)?);
                let password = password.map_err(|_| wrong("password-file", "it is not UTF-8"))?;
                Some((user.clone(), password))
            }
            (Some(_), None) => return Err(wrong("user", "it needs 'password-file'")),
            (None, Some(_)) => return Err(wrong("password-file", "it needs 'user'")),
        };
        let mail = Mail::new(&MailSettings {
            server: self.server.clone(),
            from: self.from.clone(),
            to: self.to.clone(),
            plain: self.plain,
            login,
            authorities: self.ca.clone(),
        })?;
        let filter = Filter::new(self.repositories.clone(), &self.paths)?;
        Target::new(&self.name, filter, Carrier::Mail(Box::new(mail)))
    }
}

/// A target, or why it is none, with the name of its table, its number there and its name.
type MadeTarget<'f> = (&'static str, usize, &'f str, Result<Target, WrongSetting>);

fn made<'f>(
    webhooks: &'f [WebhookConfig],
    mail: &'f [MailConfig],
) -> impl Iterator<Item = MadeTarget<'f>> {
    let hooks = webhooks.iter().enumerate();
    let hooks = hooks.map(|(at, own)| ("webhook", at, own.name.as_str(), own.target()));
    let mail = mail.iter().enumerate();
    hooks.chain(mail.map(|(at, own)| ("mail", at, own.name.as_str(), own.target())))
}

/// The folder of the queue, and the targets; `None` if there are none.
///
/// # Errors
/// E125009 for one that cannot be used.
pub(super) fn targets(
    queue: Option<&Path>,
    webhooks: &[WebhookConfig],
    mail: &[MailConfig],
) -> SvnResult<Option<(PathBuf, Vec<Target>)>> {
    let wrong = |why: String| SvnError::new(ErrorCode::BAD_CONFIG_VALUE, why);
    let targets = made(webhooks, mail)
        .map(|(table, _, name, target)| {
            target.map_err(|why| wrong(format!("{table} '{name}': {why}")))
        })
        .collect::<SvnResult<Vec<Target>>>()?;
    match (queue, targets.is_empty()) {
        (_, true) => Ok(None),
        (Some(folder), false) => Ok(Some((folder.to_owned(), targets))),
        (None, false) => Err(wrong(NEEDS_QUEUE.to_owned())),
    }
}

const NEEDS_QUEUE: &str = "'[[webhook]]' and '[[mail]]' need 'queue-folder'";

/// Writes what fails to the operational log and to standard error, which the supervisor keeps.
pub(super) fn report(server: &ServerState) -> Arc<Report> {
    let log = server.log.clone();
    Arc::new(move |error| {
        if let Some(log) = &log {
            log.error(Default::default(), error, false);
        }
        report::stderr(&format!("sapwood serve: {}\n", report::one_line(error)));
    })
}

/// What is wrong with webhooks and mail. No target is asked.
pub(super) fn problems(
    queue: Option<&Path>,
    webhooks: &[WebhookConfig],
    mail: &[MailConfig],
) -> Vec<Problem> {
    let mut found = Vec::new();
    let mut names: Vec<&str> = Vec::new();
    for (table, at, name, target) in made(webhooks, mail) {
        if names.contains(&name) {
            let why = format!("{table} '{name}': there is another target with this name");
            found.push(Problem::error(format!("{table}.{at}.name"), why));
        }
        names.push(name);
        if let Err(wrong) = target {
            let setting = format!("{table}.{at}.{}", wrong.setting);
            found.push(Problem::error(setting, format!("{table} '{name}': {wrong}")));
        }
    }
    match (queue, names.is_empty()) {
        (None, false) => {
            let table = if webhooks.is_empty() { "mail" } else { "webhook" };
            found.push(Problem::error(format!("{table}.0.name"), NEEDS_QUEUE));
        }
        (Some(_), true) => {
            let why = "'queue-folder' has no effect without '[[webhook]]' or '[[mail]]'";
            found.push(Problem::warning("queue-folder", why));
        }
        _ => {}
    }
    found
}

#[cfg(test)]
mod tests {
    use super::super::lines::{assert_page_names_settings, page_section};
    use super::*;

    /// The page names each setting, and no others.
    #[test]
    fn the_page_has_all_settings() {
        let (hooks, mail) = page_section("Webhooks and mail").split_once("### Mail").unwrap();
        assert_page_names_settings::<WebhookConfig>(hooks);
        assert_page_names_settings::<MailConfig>(mail);
    }
}
