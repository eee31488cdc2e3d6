//! The directories of this machine that no peer may see: they are removed from errors that are sent over a wire.
//! The log has the whole errors.

use std::borrow::Cow;
use std::path::Path;

use sapwood_core::SvnError;

use super::settings::Settings;

/// The folders that a server's files are in.
#[derive(Debug)]
pub struct Folders {
    /// Each with a slash at its end, the longest first.
    roots: Vec<String>,
}

impl Folders {
    /// Those that the settings name.
    #[must_use]
    pub fn of(settings: &Settings) -> Self {
        let locations = &settings.http.locations;
        let access = locations.iter().filter_map(|location| location.access.as_deref());
        let files = access.flat_map(|access| {
            [&access.htpasswd, &access.htdigest, &access.password_db, &access.hooks_env]
        });
        let files = files.chain([&settings.config_file]).flatten().filter_map(|file| file.parent());
        let folders = [&*settings.root, &*settings.scratch].into_iter();
        let all = folders.chain(locations.iter().map(|location| &*location.root)).chain(files);
        let mut roots: Vec<String> = all.filter_map(with_slash).collect();
        roots.sort_by_key(|root| std::cmp::Reverse(root.len()));
        roots.dedup();
        Self { roots }
    }

    /// The error as a peer may see it.
    #[must_use]
    pub fn hide<'e>(&self, error: &'e SvnError) -> Cow<'e, SvnError> {
        let names_one = |link: &SvnError| {
            let message = link.message();
            self.roots.iter().any(|root| message.contains(root.trim_end_matches('/')))
        };
        if !error.chain().any(names_one) {
            return Cow::Borrowed(error);
        }
        let mut links: Vec<_> =
            error.chain().map(|link| (link.code(), self.hide_in(link.message()))).collect();
        let Some((code, message)) = links.pop() else { return Cow::Borrowed(error) };
        let mut hidden = SvnError::new(code, message);
        while let Some((code, message)) = links.pop() {
            hidden = hidden.wrap(code, message);
        }
        Cow::Owned(hidden)
    }

    fn hide_in(&self, message: &str) -> String {
        self.roots.iter().fold(message.to_owned(), |message, root| {
            let bare = root.trim_end_matches('/');
            message.replace(root.as_str(), "").replace(&format!("{bare}'"), "'")
        })
    }
}

/// A folder's path with a slash at its end; none for the root of the file system, which is no secret.
fn with_slash(folder: &Path) -> Option<String> {
    let text = folder.to_str()?.trim_end_matches('/');
    (folder.is_absolute() && !text.is_empty()).then(|| format!("{text}/"))
}

#[cfg(test)]
mod tests {
    use sapwood_core::ErrorCode;

    use super::*;
    use crate::common::settings::Location;

    #[test]
    fn paths_lose_what_is_above_them() {
        let mut settings = Settings::new("/srv/svn/".into());
        settings.http.locations.push(Location::new("x", "/srv/svn/deep".into()));
        let folders = Folders::of(&settings);
        let inner = "Can't open file '/srv/svn/r/db/current': No such file";
        let error = SvnError::new(ErrorCode::BASE, inner)
            .wrap(ErrorCode::BASE, "In '/srv/svn/deep/a/b' and '/srv/svn'");
        let hidden = folders.hide(&error).into_owned();
        let messages: Vec<_> = hidden.chain().map(SvnError::message).collect();
        assert_eq!(messages, ["In 'a/b' and ''", "Can't open file 'r/db/current': No such file"]);
        let other = SvnError::new(ErrorCode::BASE, "'/trunk/srv/x' is not there");
        assert!(matches!(folders.hide(&other), Cow::Borrowed(_)));
    }

    #[test]
    fn the_root_of_the_file_system_is_no_secret() {
        let mut settings = Settings::new("/".into());
        settings.scratch = "/".into();
        assert!(Folders::of(&settings).roots.is_empty());
    }
}
