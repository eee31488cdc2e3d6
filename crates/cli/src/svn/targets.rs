//! Arguments that name targets: URLs, local paths, `^/` for the root of the repository, each with a
//! peg revision.

use sapwood_client::target::{canonical_url, is_url, parse_peg, split_peg};
use sapwood_client::{Target, working};
use sapwood_core::paths::UrlBuf;
use sapwood_core::{ErrorCode, SvnError, SvnResult, path};

use super::Invocation;
use crate::command::{to_text, usage_error};
use crate::pegs::{self, Of, Part};
use crate::{report, user_date};

/// One argument, with the peg revision as it was typed. Its name and its target come from
/// [`Invocation::name`] and [`Invocation::target`], which know what an `@` means there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Arg {
    /// A canonical URL, or a local path, empty for the current folder.
    path: String,
    /// `@REV`, `@`, or nothing.
    peg: String,
}

impl Arg {
    /// The current folder.
    pub(crate) fn here() -> Self {
        Self { path: String::new(), peg: String::new() }
    }

    /// An argument whose text is canonical.
    fn of(text: &str) -> Self {
        let (path, peg) = split_peg(text);
        Self { path: path.to_owned(), peg: peg.to_owned() }
    }

    /// Whether this is a URL.
    pub(crate) fn is_url(&self) -> bool {
        is_url(&self.path)
    }

    /// Whether a repository has to be asked for it: it is a URL, or has a peg revision.
    pub(crate) fn asks(&self) -> bool {
        self.is_url() || !self.peg.is_empty()
    }

    /// The whole argument, for messages.
    pub(crate) fn text(&self) -> String {
        format!("{}{}", self.path, self.peg)
    }
}

/// A local path as it is shown.
pub(crate) fn local_style(path: &str) -> &str {
    if path.is_empty() { "." } else { path }
}

fn is_relative_url(text: &str) -> bool {
    text.starts_with("^/")
}

impl Invocation {
    /// The targets: the remaining arguments, then the lines of `--targets`. Names that no working
    /// copy can have are left out and reported.
    pub(crate) fn targets(&mut self) -> SvnResult<Vec<Arg>> {
        let mut words = Vec::new();
        for arg in self.args.drain(..) {
            words.push(to_text(&arg)?);
        }
        words.extend(self.opt.targets.iter().flatten().cloned());
        let relative = words.iter().any(|word| is_relative_url(word));
        let mut found = Vec::with_capacity(words.len());
        let mut reserved: Option<SvnError> = None;
        let mut root = None;
        for word in &words {
            if is_relative_url(word) {
                let (path, peg) = split_peg(word);
                found.push(Arg { path: path.to_owned(), peg: peg.to_owned() });
                continue;
            }
            let arg = one(word)?;
            if !arg.is_url() && path::basename(&arg.path) == ".svn" {
                let text = format!("'{word}' ends in a reserved name");
                let code = ErrorCode::RESERVED_FILENAME_SPECIFIED;
                reserved = Some(match reserved {
                    Some(cause) => cause.wrap(code, text),
                    None => SvnError::new(code, text),
                });
                continue;
            }
            if relative {
                self.check_root(&mut root, &arg)?;
            }
            found.push(arg);
        }
        if relative {
            let root = match root {
                Some(root) => root,
                None => match working::repository_root(&self.ctx, "") {
                    Err(error) if !is_no_root(&error) => return Err(error),
                    found => found.ok().flatten().ok_or_else(|| {
                        SvnError::new(
                            ErrorCode::WC_NOT_WORKING_COPY,
                            "Resolving '^/': no repository root found in the target arguments \
                             or in the current directory",
                        )
                    })?,
                },
            };
            for arg in found.iter_mut().filter(|arg| is_relative_url(&arg.path)) {
                let below = arg.path.strip_prefix('^').unwrap_or("");
                let url = canonical_url(&format!("{root}{below}"))?;
                *arg = Arg::of(&format!("{url}{}", arg.peg));
            }
        }
        if let Some(error) = reserved {
            let _ = self.out.flush();
            report::error(&error, "svn: Skipping argument: ");
        }
        Ok(found)
    }

    /// Calls `each` with each target. Local ones share locks of wc.db, which are let go of before anything is written;
    /// with a URL among the targets, or where `asks` a repository, nothing is shared.
    pub(crate) fn each_target<T>(
        &self,
        targets: &[T],
        asks: bool,
        each: &mut dyn FnMut(&T) -> SvnResult<()>,
    ) -> SvnResult<()> {
        if asks {
            return targets.iter().try_for_each(each);
        }
        let done = self.ctx.each_target(targets, &mut |wc| self.out.writes_without(Some(wc)), each);
        self.out.writes_without(None);
        done
    }

    /// Says that each of the targets will be looked at by itself: what is asked of an http server first is then asked
    /// of all of them together. What is wrong with a target is reported when its turn has come.
    pub(crate) fn announce(&self, targets: &[Arg]) {
        let text = |arg: &Arg| self.target(Part::Target, arg).ok().filter(Target::is_url);
        let urls: Vec<UrlBuf> =
            targets.iter().filter_map(|arg| Some(text(arg)?.url().ok()?.to_owned())).collect();
        if urls.len() > 1 {
            self.ctx.ra.announce(&urls);
        }
    }

    /// The targets, or the current folder when there are none.
    pub(crate) fn targets_or_here(&mut self) -> SvnResult<Vec<Arg>> {
        let targets = self.targets()?;
        Ok(if targets.is_empty() { vec![Arg::here()] } else { targets })
    }

    /// All targets that are not relative must be of one repository.
    fn check_root(&self, root: &mut Option<UrlBuf>, arg: &Arg) -> SvnResult<()> {
        let found = match arg.is_url() {
            true => {
                let _ = parse_peg(&arg.text(), &arg.peg, &user_date::parse)?;
                match sapwood_ra::open(&UrlBuf::canonicalize(&arg.path)?, &self.ctx.ra) {
                    Ok(session) => Some(session.root_url()),
                    // The subcommand reports an unreachable repository, if it goes there.
                    Err(error) if is_no_root(&error) => None,
                    Err(error) => return Err(error),
                }
            }
            false => match working::repository_root(&self.ctx, &arg.path) {
                Ok(found) => found,
                Err(error) if is_no_root(&error) => None,
                Err(error) => return Err(error),
            },
        };
        match (&root, found) {
            (Some(known), Some(found)) if *known != found => Err(SvnError::new(
                ErrorCode::ILLEGAL_TARGET,
                "All non-relative targets must have the same root URL",
            )),
            (_, None) => Ok(()),
            (_, found) => {
                *root = found;
                Ok(())
            }
        }
    }

    fn part(&self, part: Part) -> Of {
        Of { program: "svn", command: self.command.name, part }
    }

    /// The name that an argument stands for, by the rule for its part in the command line.
    ///
    /// # Errors
    /// E200009 for a peg revision where none is allowed.
    pub(crate) fn name(&self, part: Part, arg: &Arg) -> SvnResult<String> {
        self.part(part).name(&arg.path, &arg.peg)
    }

    /// The names of several arguments.
    ///
    /// # Errors
    /// E200009 for a peg revision where none is allowed.
    pub(crate) fn names(&self, part: Part, args: &[Arg]) -> SvnResult<Vec<String>> {
        args.iter().map(|arg| self.name(part, arg)).collect()
    }

    /// The same as URLs.
    pub(crate) fn urls(&self, part: Part, args: &[Arg]) -> SvnResult<Vec<UrlBuf>> {
        args.iter().map(|arg| Ok(UrlBuf::canonicalize(&self.name(part, arg)?)?)).collect()
    }

    /// The target of an argument where a peg revision is allowed.
    ///
    /// # Errors
    /// E205000 for an invalid peg revision.
    pub(crate) fn target(&self, part: Part, arg: &Arg) -> SvnResult<Target> {
        self.part(part).target(&arg.path, &arg.peg)
    }

    /// The next argument, as text.
    pub(crate) fn next_arg(&mut self) -> SvnResult<String> {
        let arg = self.args.pop_front();
        let arg = arg.ok_or_else(|| SvnError::new(ErrorCode::CL_INSUFFICIENT_ARGS, ""))?;
        to_text(&arg)
    }
}

/// Errors that mean that a target has no repository, which is for later to say.
fn is_no_root(error: &SvnError) -> bool {
    [
        ErrorCode::ENTRY_NOT_FOUND,
        ErrorCode::UNVERSIONED_RESOURCE,
        ErrorCode::WC_NOT_WORKING_COPY,
        ErrorCode::WC_PATH_NOT_FOUND,
        ErrorCode::RA_LOCAL_REPOS_OPEN_FAILED,
    ]
    .into_iter()
    .any(|code| error.has_code(code))
}

/// Makes an argument canonical, without looking at its peg revision.
pub(crate) fn one(word: &str) -> SvnResult<Arg> {
    Ok(Arg::of(&pegs::canonical_target(word)?))
}

/// All URLs or all paths: E205000 for both kinds.
pub(crate) fn check_one_kind(targets: &[Arg]) -> SvnResult<()> {
    let urls = targets.iter().filter(|arg| arg.is_url()).count();
    if urls == 0 || urls == targets.len() {
        return Ok(());
    }
    let error =
        SvnError::new(ErrorCode::ILLEGAL_TARGET, "Cannot mix repository and working copy targets");
    Err(error.wrap(ErrorCode::CL_ARG_PARSING_ERROR, ""))
}

/// E205000 for a URL where a local path is wanted.
pub(crate) fn check_local(arg: &Arg) -> SvnResult<()> {
    if arg.is_url() {
        return Err(usage_error(format!("'{}' is not a local path", arg.text())));
    }
    Ok(())
}

/// The same of several arguments.
pub(crate) fn check_all_local(args: &[Arg]) -> SvnResult<()> {
    args.iter().try_for_each(check_local)
}

/// The same of names.
pub(crate) fn check_local_names(names: &[String]) -> SvnResult<()> {
    match names.iter().find(|name| is_url(name)) {
        Some(url) => Err(usage_error(format!("'{url}' is not a local path"))),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments() {
        let parts = |word: &str| one(word).map(|arg| (arg.path, arg.peg));
        let pair = |a: &str, b: &str| (a.to_owned(), b.to_owned());
        assert_eq!(parts(".@BASE").unwrap(), pair("", "@BASE"));
        assert_eq!(parts("a@b/c@").unwrap(), pair("a@b/c", "@"));
        assert_eq!(parts("SVN://H/x@3").unwrap(), pair("svn://h/x", "@3"));
        assert_eq!(
            parts("@x").unwrap_err().message(),
            "'@x' is just a peg revision. Maybe try '@x@' instead?"
        );
    }
}
