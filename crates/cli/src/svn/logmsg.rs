//! Log messages: given on the command line, in a file, or typed in the user's editor.

use std::cell::RefCell;
use std::ffi::OsString;
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::Arc;

use sapwood_client::{CommitItem, Context};
use sapwood_core::config::Config;
use sapwood_core::path::skip_ancestor;
use sapwood_core::{ErrorCode, SvnError, SvnResult};

use super::given::Options;
use super::{Command, Invocation};
use crate::locale;
use crate::question::ask_openly;
use crate::remote::editor::{self, Edit};
use crate::remote::revprops::translated;

/// The line between the message and the list of the committed items.
const END_OF_MESSAGE: &str = "--This line, and those below, will be ignored--";

/// How the message of this run comes about.
pub(super) struct Messages {
    given: Option<Vec<u8>>,
    encoding: Option<String>,
    editor: Option<OsString>,
    /// Where the file is edited, and what paths are shown below: absolute.
    base_dir: Option<String>,
    non_interactive: bool,
    keep_locks: bool,
    config: Arc<Config>,
    /// The file that was edited, as long as the commit is not there.
    left: RefCell<Option<PathBuf>>,
}

/// Checks that the message was not meant to be the name of a file.
pub(super) fn check_source(ctx: &Context, command: &Command, opt: &Options) -> SvnResult<()> {
    let words = if command.name == "lock" { "lock comment" } else { "log message" };
    if let Some(message) = &opt.message
        && std::fs::metadata(message).is_ok()
    {
        return Err(SvnError::new(
            ErrorCode::CL_LOG_MESSAGE_IS_PATHNAME,
            format!("The {words} is a pathname (was -F intended?); use '--force-log' to override"),
        ));
    }
    if let Some(name) = opt.file_name.as_deref()
        && sapwood_client::working::is_versioned(ctx, name)
    {
        let words = if command.name == "lock" { "Lock comment" } else { "Log message" };
        return Err(SvnError::new(
            ErrorCode::CL_LOG_MESSAGE_IS_VERSIONED_FILE,
            format!("{words} file is a versioned file; use '--force-log' to override"),
        ));
    }
    Ok(())
}

impl Invocation {
    /// Prepares the log message of a commit. `base_dir` is the folder that all local paths of the
    /// commit are in, absolute; `None` when it is about URLs.
    pub(crate) fn ask_for_message(&mut self, base_dir: Option<String>) -> SvnResult<()> {
        use std::os::unix::ffi::OsStrExt as _;
        let given = match &self.opt.file_data {
            Some(data) if data.contains(&0) => {
                return Err(SvnError::new(
                    ErrorCode::CL_BAD_LOG_MESSAGE,
                    "Log message contains a zero byte",
                ));
            }
            Some(data) => Some(data.clone()),
            None => self.opt.message.as_ref().map(|text| text.as_bytes().to_vec()),
        };
        let config = Arc::clone(self.ctx.config());
        let configured = || config.get("miscellany", "log-encoding").map(|name| name.into_owned());
        let messages = Rc::new(Messages {
            given,
            encoding: self.opt.encoding.clone().or_else(configured),
            editor: self.opt.editor_cmd.clone(),
            base_dir,
            non_interactive: self.opt.non_interactive,
            keep_locks: self.has(super::Opt::NoUnlock),
            config,
            left: RefCell::default(),
        });
        self.messages = Some(Rc::clone(&messages));
        self.ctx.log_message = Some(Box::new(move |items| messages.message_for(items)));
        Ok(())
    }

    /// Ends a commit: a message that was typed for one that failed is not thrown away.
    pub(crate) fn end_of_commit<T>(&self, result: SvnResult<T>) -> SvnResult<T> {
        let Some(left) = self.messages.as_ref().and_then(|m| m.left.take()) else { return result };
        match result {
            Ok(value) => {
                let _ = std::fs::remove_file(&left);
                Ok(value)
            }
            Err(error) => Err(editor::left_in(error, editor::MESSAGE, &left)),
        }
    }
}

impl Messages {
    fn message_for(&self, items: &[CommitItem]) -> SvnResult<Option<Vec<u8>>> {
        if let Some(given) = &self.given {
            let text = translated(
                given,
                self.encoding.as_deref(),
                "Error normalizing log message to internal format",
            )?;
            return Ok(Some(without_list(text)));
        }
        if items.is_empty() {
            return Ok(Some(Vec::new()));
        }
        if self.non_interactive {
            return Err(SvnError::new(
                ErrorCode::CL_INSUFFICIENT_ARGS,
                "Cannot invoke editor to get log message when non-interactive",
            ));
        }
        let form = self.form(items);
        loop {
            if let Some(text) = self.edited(&form)? {
                return Ok(Some(text));
            }
            let answer = ask_openly(
                "\nLog message unchanged or not specified\n(a)bort, (c)ontinue, (e)dit:\n",
            )?;
            match answer.chars().next().map(|c| c.to_ascii_lowercase()) {
                Some('a') => {
                    self.forget();
                    return Ok(None);
                }
                Some('c') => {
                    self.forget();
                    return Ok(Some(Vec::new()));
                }
                _ => {}
            }
        }
    }

    fn forget(&self) {
        if let Some(left) = self.left.take() {
            let _ = std::fs::remove_file(left);
        }
    }

    /// The initial text in the editor.
    fn form(&self, items: &[CommitItem]) -> String {
        let mut text = format!("\n{END_OF_MESSAGE}\n\n");
        for item in items {
            let state = item.state;
            let letter = match (state.add, state.delete) {
                (true, true) => 'R',
                (true, false) => 'A',
                (false, true) => 'D',
                (false, false) if state.text_mods => 'M',
                (false, false) => '_',
            };
            let props = if state.prop_mods { 'M' } else { ' ' };
            let unlock = if state.lock_token && !self.keep_locks { 'U' } else { ' ' };
            let copy = if state.is_copy { '+' } else { ' ' };
            let path = match (&item.path, &self.base_dir) {
                (None, _) => item.url.as_str(),
                (Some(path), None) => path,
                // An item elsewhere is shown as `.`, as in 1.14.
                (Some(path), Some(base)) => skip_ancestor(base, path).unwrap_or_default(),
            };
            let path = if path.is_empty() { "." } else { path };
            text.push_str(&format!("{letter}{props}{unlock}{copy} {path}\n"));
        }
        text
    }

    /// Lets the user edit; `None` when the file was left as it was, or empty.
    fn edited(&self, form: &str) -> SvnResult<Option<Vec<u8>>> {
        let edit = Edit {
            command: self.editor.as_deref(),
            config: &self.config,
            prefix: "svn-commit",
            base_dir: self.base_dir.as_deref(),
        };
        let contents = match &self.encoding {
            Some(_) => form.as_bytes().to_vec(),
            None => locale::encode(form).into_owned(),
        };
        let (edited, left) = editor::edit(&edit, &contents).map_err(|failed| {
            let error = failed.error;
            self.left.replace(failed.left);
            if error.code() == ErrorCode::CL_NO_EXTERNAL_EDITOR {
                error.context(
                    "Could not use external editor to fetch log message; consider setting the \
                     $SVN_EDITOR environment variable or using the --message (-m) or --file (-F) \
                     options",
                )
            } else {
                error
            }
        })?;
        self.left.replace(Some(left));
        let Some(bytes) = edited else { return Ok(None) };
        let text = translated(
            &bytes,
            self.encoding.as_deref(),
            "Error normalizing edited contents to internal format",
        )?;
        let text = without_list(text);
        Ok((!text.trim_ascii().is_empty()).then_some(text))
    }
}

/// The message without the list of what is committed.
fn without_list(mut text: Vec<u8>) -> Vec<u8> {
    let mark = END_OF_MESSAGE.as_bytes();
    let begins = |at: &usize| {
        let starts_line =
            at.checked_sub(1).is_none_or(|before| matches!(text.get(before), Some(b'\n' | b'\r')));
        starts_line && text.get(*at..).is_some_and(|rest| rest.starts_with(mark))
    };
    if let Some(at) = (0..text.len()).find(begins) {
        text.truncate(at);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_end_at_the_list() {
        let cut = |text: &str| String::from_utf8(without_list(text.into())).unwrap();
        assert_eq!(cut(&format!("a\n{END_OF_MESSAGE}\nM x")), "a\n");
        assert_eq!(cut(END_OF_MESSAGE), "");
        assert_eq!(cut(&format!("a {END_OF_MESSAGE}")), format!("a {END_OF_MESSAGE}"));
    }
}
