//! What rules say of a commit, and of a change of a revision's property.

use std::collections::{BTreeMap, HashMap};

use sapwood_core::paths::FsPathBuf;
use sapwood_core::{FsPath, SvnResult, fold, glob};

use crate::file::Rules;
use crate::rule::{Rule, is_about};
use crate::size;

/// How many paths a refusal names.
const NAMED: usize = 5;

/// A path that a commit changes.
#[derive(Clone, Copy, Debug)]
pub struct Change<'a> {
    /// The path.
    pub path: &'a FsPath,
    /// Whether it is there after the commit and was not before, or is another node.
    pub is_new: bool,
    /// Whether it is not there after the commit, or is another node.
    pub is_gone: bool,
    /// Whether it is a file, where it is not gone.
    pub is_file: bool,
}

/// What is to be committed. The functions read the tree of the transaction, and that before it.
pub trait Commit {
    /// The repository's name, as authz files have it.
    fn repository(&self) -> &str;
    /// The user; `None` for an anonymous one.
    fn user(&self) -> Option<&str>;
    /// Whether the user is in a group (`group:NAME`).
    fn is_in_group(&self, group: &str) -> bool;
    /// The log message.
    fn message(&self) -> &str;
    /// The changed paths, each once.
    ///
    /// # Errors
    /// Those of reading.
    fn changes(&self, visit: &mut dyn FnMut(Change<'_>) -> SvnResult<()>) -> SvnResult<()>;
    /// Whether a path was there before.
    ///
    /// # Errors
    /// Those of reading.
    fn was_there(&self, path: &FsPath) -> SvnResult<bool>;
    /// The bytes of a file.
    ///
    /// # Errors
    /// Those of reading.
    fn size(&self, path: &FsPath) -> SvnResult<u64>;
    /// The bytes of the repository on disk, with what is to be committed.
    ///
    /// # Errors
    /// Those of reading.
    fn repository_size(&self) -> SvnResult<u64>;
    /// Whether a file has a property.
    ///
    /// # Errors
    /// Those of reading.
    fn has_property(&self, path: &FsPath, name: &str) -> SvnResult<bool>;
    /// The names in a directory.
    ///
    /// # Errors
    /// Those of reading.
    fn names(&self, directory: &FsPath, visit: &mut dyn FnMut(&str)) -> SvnResult<()>;
}

/// A change of a revision's property.
#[derive(Clone, Copy, Debug)]
pub struct RevpropRequest<'a> {
    /// The repository's name, as authz files have it.
    pub repository: &'a str,
    /// The property's name.
    pub name: &'a str,
    /// The user; `None` for an anonymous one.
    pub user: Option<&'a str>,
    /// The user's groups (`group:NAME`).
    pub groups: &'a [String],
    /// The revision's author.
    pub author: Option<&'a str>,
}

/// Why a commit is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// The rule's name.
    pub rule: String,
    /// What is wrong, and what the rule has to say.
    pub why: String,
}

impl std::fmt::Display for Refusal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Commit blocked by rule '{}':\n{}", self.rule, self.why)
    }
}

impl Rules {
    /// The first rule that refuses a commit.
    ///
    /// # Errors
    /// Those of reading.
    pub fn check(&self, commit: &dyn Commit) -> SvnResult<Option<Refusal>> {
        for rule in &self.rule {
            let is_excepted =
                |name: &String| commit.user() == Some(name) || commit.is_in_group(name);
            if !is_about(&rule.repositories, commit.repository())
                || rule.except.iter().any(is_excepted)
            {
                continue;
            }
            if let Some(why) = Check::of(rule, commit)? {
                let say = rule.say.as_deref().map_or(String::new(), |say| format!("\n{say}"));
                return Ok(Some(Refusal { rule: rule.name.clone(), why: why + &say }));
            }
        }
        Ok(None)
    }

    /// Whether the file names properties of revisions of this repository that some users may change.
    #[must_use]
    pub fn may_change_revprop(&self, request: &RevpropRequest<'_>) -> bool {
        let is_user = |user: &String| match user.as_str() {
            "author" => request.user.is_some() && request.user == request.author,
            _ => request.user == Some(user) || request.groups.contains(user),
        };
        self.revision_properties.iter().any(|entry| {
            is_about(&entry.repositories, request.repository)
                && glob::matches_any(&entry.names, request.name)
                && entry.users.iter().any(is_user)
        })
    }
}

/// A rule, while the changes of a commit pass by.
struct Check<'a> {
    rule: &'a Rule,
    commit: &'a dyn Commit,
    /// How many paths are changed that the rule is about.
    count: usize,
    /// Paths that break the rule, by what is wrong with them.
    wrong: BTreeMap<String, Paths>,
    /// New names, by their directories.
    new: BTreeMap<FsPathBuf, Vec<String>>,
}

#[derive(Default)]
struct Paths {
    named: Vec<String>,
    count: usize,
}

impl<'a> Check<'a> {
    /// What is wrong with a commit.
    fn of(rule: &'a Rule, commit: &'a dyn Commit) -> SvnResult<Option<String>> {
        let mut check =
            Self { rule, commit, count: 0, wrong: BTreeMap::new(), new: BTreeMap::new() };
        commit.changes(&mut |change| check.change(change))?;
        // What is below protected paths counts by itself.
        let is_about_it = check.count > 0 || rule.paths.is_empty();
        if let Some(why) = check.message().filter(|_| is_about_it) {
            return Ok(Some(why));
        }
        if let Some(most) = rule.changed_paths.filter(|most| check.count > *most) {
            let why = format!("{} paths are changed, and {most} may be.", check.count);
            return Ok(Some(why));
        }
        if let Some(most) = rule.repository_size.filter(|_| is_about_it)
            && commit.repository_size()? > most
        {
            return Ok(Some(format!("The repository is full: it may have {}.", size::shown(most))));
        }
        check.clashes()?;
        let lines = check.wrong.iter().map(|(why, paths)| {
            let more = paths.count.saturating_sub(paths.named.len());
            let more = if more > 0 { format!(", and {more} more") } else { String::new() };
            format!("{why}: {}{more}", paths.named.join(", "))
        });
        let lines: Vec<String> = lines.collect();
        Ok((!lines.is_empty()).then(|| lines.join("\n")))
    }

    /// What is wrong with the log message.
    fn message(&self) -> Option<String> {
        let message = self.commit.message();
        if let Some(fewest) = self.rule.message_length
            && message.trim().chars().count() < fewest
        {
            return Some(format!("The log message has less than {fewest} characters."));
        }
        let pattern = self.rule.message.as_ref()?;
        (!pattern.is_match(message))
            .then(|| format!("The log message does not match '{}'.", pattern.as_str()))
    }

    fn change(&mut self, change: Change<'_>) -> SvnResult<()> {
        if self.rule.protected {
            self.protected(change)?;
        }
        let paths = &self.rule.paths;
        if !paths.is_empty() && !paths.iter().any(|pattern| pattern.matches(change.path)) {
            return Ok(());
        }
        self.count = self.count.saturating_add(1);
        if change.path.is_root() {
            return Ok(());
        }
        let (parent, name) = change.path.parent_and_name();
        if change.is_new {
            if glob::matches_any(&self.rule.forbidden_names, name) {
                self.add("No file or directory may have such a name".to_owned(), change.path);
            }
            if self.rule.distinct_names {
                self.new.entry(parent.to_owned()).or_default().push(name.to_owned());
            }
        }
        if change.is_file && (!change.is_gone || change.is_new) {
            self.file(change.path, name)?;
        }
        Ok(())
    }

    fn file(&mut self, path: &FsPath, name: &str) -> SvnResult<()> {
        if let Some(most) = self.rule.file_size
            && self.commit.size(path)? > most
        {
            self.add(format!("A file may have {}", size::shown(most)), path);
        }
        for (pattern, properties) in &self.rule.required_properties {
            if !glob::matches(pattern.as_bytes(), name.as_bytes()) {
                continue;
            }
            for property in properties {
                if !self.commit.has_property(path, property)? {
                    self.add(format!("A file '{pattern}' needs the property {property}"), path);
                }
            }
        }
        Ok(())
    }

    /// What is protected may be made, with all that is in it, and neither changed nor removed afterwards.
    fn protected(&mut self, change: Change<'_>) -> SvnResult<()> {
        let path = change.path;
        let removes = change.is_gone && self.rule.paths.iter().any(|p| p.may_match_below(path));
        let own = self.rule.paths.iter().filter_map(|pattern| pattern.highest_match(path));
        let subject = match own.min_by_key(|protected| protected.len()) {
            Some(protected) => protected,
            None if removes => path,
            None => return Ok(()),
        };
        if self.commit.was_there(subject)? {
            self.add("What is there can be neither changed nor removed".to_owned(), path);
        }
        Ok(())
    }

    /// New names that differ from others of their directory in case or Unicode form only.
    fn clashes(&mut self) -> SvnResult<()> {
        for (directory, new) in std::mem::take(&mut self.new) {
            let mut by_form: HashMap<String, Vec<String>> =
                new.iter().map(|name| (fold::same_name(name), Vec::new())).collect();
            self.commit.names(&directory, &mut |name| {
                if let Some(names) = by_form.get_mut(&fold::same_name(name)) {
                    names.push(name.to_owned());
                }
            })?;
            for names in by_form.into_values().filter(|names| names.len() > 1) {
                let why = "These names differ in case or Unicode form only";
                self.name(why.to_owned(), format!("{directory} ({})", names.join(", ")));
            }
        }
        Ok(())
    }

    fn add(&mut self, why: String, path: &FsPath) {
        self.name(why, path.as_str().to_owned());
    }

    fn name(&mut self, why: String, what: String) {
        let paths = self.wrong.entry(why).or_default();
        paths.count = paths.count.saturating_add(1);
        if paths.named.len() < NAMED {
            paths.named.push(what);
        }
    }
}

#[cfg(test)]
mod tests;
