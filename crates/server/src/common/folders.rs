//! The directories of this machine that no peer may see: they are removed from errors that are sent over a wire.
//! The log has the whole errors.

use std::borrow::Cow;
use std::path::Path;

use parking_lot::RwLock;
use sapwood_core::SvnError;

use super::settings::Settings;

/// The folders that a server's files are in.
#[derive(Debug, Default)]
pub struct Folders {
    /// Each with a slash at its end, the longest first.
    roots: RwLock<Vec<String>>,
}

impl Folders {
    /// Those that the settings name.
    #[must_use]
    pub fn of(settings: &Settings) -> Self {
        let folders = Self::default();
        folders.add_of(settings);
        folders
    }

    /// Adds those that the settings name.
    pub(crate) fn add_of(&self, settings: &Settings) {
        let of_config = settings.config_file.as_deref().and_then(Path::parent);
        self.add([&*settings.root, &*settings.scratch].into_iter().chain(of_config));
    }

    /// Adds those that a protocol's settings name.
    pub fn add<'p>(&self, folders: impl Iterator<Item = &'p Path>) {
        let mut roots = self.roots.write();
        roots.extend(folders.filter_map(with_slash));
        roots.sort_by(|a, b| b.len().cmp(&a.len()).then_with(|| a.cmp(b)));
        roots.dedup();
    }

    /// The error as a peer may see it.
    #[must_use]
    pub fn hide<'e>(&self, error: &'e SvnError) -> Cow<'e, SvnError> {
        let roots = self.roots.read();
        let names_one = |link: &SvnError| {
            let message = link.message();
            roots.iter().any(|root| message.contains(root.trim_end_matches('/')))
        };
        if !error.chain().any(names_one) {
            return Cow::Borrowed(error);
        }
        let mut links: Vec<_> =
            error.chain().map(|link| (link.code(), without(&roots, link.message()))).collect();
        let Some((code, message)) = links.pop() else { return Cow::Borrowed(error) };
        let mut hidden = SvnError::new(code, message);
        while let Some((code, message)) = links.pop() {
            hidden = hidden.wrap(code, message);
        }
        Cow::Owned(hidden)
    }
}

/// A message without these folders.
fn without(roots: &[String], message: &str) -> String {
    roots.iter().fold(message.to_owned(), |message, root| {
        let bare = root.trim_end_matches('/');
        message.replace(root.as_str(), "").replace(&format!("{bare}'"), "'")
    })
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

    #[test]
    fn paths_lose_what_is_above_them() {
        let folders = Folders::of(&Settings::new("/srv/svn/".into()));
        folders.add([Path::new("/srv/svn/deep")].into_iter());
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
        assert!(Folders::of(&settings).roots.read().is_empty());
    }
}
