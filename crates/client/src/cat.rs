//! `svn cat`: the contents of a file, as a working copy of it would have them.

use std::io::{Read, Write};

use sapwood_core::date::Timestamp;
use sapwood_core::paths::{RelPath, Url};
use sapwood_core::props::names;
use sapwood_core::{ErrorCode, NodeKind, PropList, Revnum, SvnError, SvnResult};
use sapwood_ra::Session;
use sapwood_ra::session::{FetchedFile, FileReceiver};
use sapwood_wc::translate::{KeywordSource, TranslatedReader, TranslatedWriter, Translation};

use crate::context::Context;
use crate::open::{session_at, url_of};
use crate::revision::Revision;
use crate::target::is_url;
use crate::text_base::{TextNotices, with_text_bases};
use crate::working::Node;

/// Writes the contents of a file to `out`: of a URL or local path as of `peg`, in `revision`.
///
/// # Errors
/// E195007 for a directory; those of sessions and the working copy; that `out` cannot be written.
pub fn cat(
    ctx: &Context,
    target: &str,
    peg: Revision,
    revision: Revision,
    expand_keywords: bool,
    out: &mut dyn Write,
) -> SvnResult<()> {
    let (peg, revision) = match (peg, is_url(target)) {
        (Revision::Unspecified, true) => (Revision::Head, revision.or(Revision::Head)),
        (Revision::Unspecified, false) => (Revision::Working, revision.or(Revision::Base)),
        (peg, _) => (peg, revision.or(peg)),
    };
    if !is_url(target) && peg.is_in_working_copy() && revision.is_in_working_copy() {
        let mut text = local_text(ctx, target, revision, expand_keywords)?;
        std::io::copy(&mut text, out).map_err(SvnError::from_stream)?;
        return Ok(());
    }
    if is_url(target) && peg == Revision::Head && revision == Revision::Head {
        let session = ctx.open_following(&url_of(ctx, target)?)?;
        return remote(ctx, session.as_ref(), None, expand_keywords, out);
    }
    let located = session_at(ctx, target, peg, revision)?;
    remote(ctx, located.session.as_ref(), Some(located.revision), expand_keywords, out)
}

/// Writes the file at the session's URL; of the youngest revision without one.
fn remote(
    ctx: &Context,
    session: &dyn Session,
    revision: Option<Revnum>,
    expand_keywords: bool,
    out: &mut dyn Write,
) -> SvnResult<()> {
    let (url, root) = (session.url(), session.root_url());
    let mut printed =
        PrintedFile { ctx, url: &url, root: &root, expand_keywords, form: Form::NotBegun(out) };
    session.read_file(RelPath::ROOT, revision, true, &mut printed).map_err(|error| {
        if error.code() == ErrorCode::FS_NOT_FILE {
            error.wrap(ErrorCode::CLIENT_IS_DIRECTORY, format!("URL '{url}' refers to a directory"))
        } else {
            error
        }
    })?;
    match printed.form {
        Form::Translated(writer) => writer.finish().map_err(SvnError::from_stream).map(drop),
        Form::NotBegun(_) | Form::Plain(_) | Form::Lost => Ok(()),
    }
}

/// A file that is written as a working copy would have it.
struct PrintedFile<'p> {
    ctx: &'p Context,
    url: &'p Url,
    root: &'p Url,
    expand_keywords: bool,
    form: Form<'p>,
}

/// How its contents are written, which its properties say.
enum Form<'p> {
    /// The properties have not come.
    NotBegun(&'p mut dyn Write),
    /// As they are.
    Plain(&'p mut dyn Write),
    /// With line ends and keywords.
    Translated(TranslatedWriter<&'p mut dyn Write>),
    /// The properties make no sense.
    Lost,
}

impl FileReceiver for PrintedFile<'_> {
    fn begin(&mut self, file: FetchedFile) -> SvnResult<&mut dyn Write> {
        let Form::NotBegun(out) = std::mem::replace(&mut self.form, Form::Lost) else {
            return Err(SvnError::internal("a file began twice"));
        };
        let mut props = file.props;
        props.remove(names::SPECIAL);
        if props.get(names::KEYWORDS).is_none() && props.get(names::EOL_STYLE).is_none() {
            self.form = Form::Plain(out);
        } else {
            let date = props.get(names::ENTRY_COMMITTED_DATE);
            let source = KeywordSource {
                modified: false,
                revision: props.get(names::ENTRY_COMMITTED_REV).and_then(Revnum::parse),
                date: date.map(Timestamp::parse).transpose()?,
                author: props.get_str(names::ENTRY_LAST_AUTHOR),
                url: self.url,
                root: self.root,
                zone: &self.ctx.wc.zone,
            };
            let translation = Translation::of(&props, Some(&source));
            let translator = translation.exporter(true, self.expand_keywords);
            self.form = Form::Translated(TranslatedWriter::new(out, translator));
        }
        match &mut self.form {
            Form::Plain(out) => Ok(out),
            Form::Translated(writer) => Ok(writer),
            Form::NotBegun(_) | Form::Lost => Err(SvnError::internal("a file did not begin")),
        }
    }
}

/// The contents of a file of a working copy, as `BASE` or with its changes.
///
/// # Errors
/// E200005 for what is not under version control, E195007 for a directory, E200009 for a file that
/// was never committed.
pub(crate) fn local_text(
    ctx: &Context,
    path: &str,
    revision: Revision,
    expand_keywords: bool,
) -> SvnResult<Box<dyn Read>> {
    let shown = ctx.absolute(path);
    let shown = shown.display();
    let unversioned = || {
        SvnError::new(
            ErrorCode::UNVERSIONED_RESOURCE,
            format!("'{shown}' is not under version control"),
        )
    };
    let node = Node::find(ctx, path).map_err(|error| match error.code() {
        ErrorCode::WC_PATH_NOT_FOUND => unversioned(),
        _ => error,
    })?;
    let working = revision == Revision::Working;
    if working && node.is_deleted() {
        return Err(unversioned());
    }
    if node.kind()? != NodeKind::File {
        return Err(SvnError::new(
            ErrorCode::CLIENT_IS_DIRECTORY,
            format!("'{shown}' refers to a directory"),
        ));
    }
    if !working {
        let row = node.undeleted()?;
        let Some(checksum) = row.checksum else {
            return Err(SvnError::new(
                ErrorCode::ILLEGAL_TARGET,
                format!("'{shown}' has no pristine version until it is committed"),
            ));
        };
        let text = with_text_bases(ctx, (&node.wc, &node.relpath), TextNotices::No, || {
            Ok(node.wc.open_text_base(&node.relpath, &checksum)?)
        })?;
        return translated(ctx, &node, row.props()?, false, expand_keywords, Box::new(text));
    }
    let props = node.props()?;
    let abspath = node.abspath();
    if props.get(names::SPECIAL).is_some() {
        return sapwood_wc::translate::special::read_normal(&abspath)
            .map_err(|e| SvnError::io(&e, format_args!("Can't read file '{shown}'")));
    }
    let text = std::fs::File::open(&abspath)
        .map_err(|e| SvnError::io(&e, format_args!("Can't open file '{shown}'")))?;
    let changed = node.is_modified()?;
    translated(ctx, &node, props, changed, expand_keywords, Box::new(text))
}

/// When a file was changed last, as far as its time says.
pub(crate) fn file_time(path: &std::path::Path) -> Option<Timestamp> {
    let stat = sapwood_wc::view::stat_file(path).ok().flatten()?;
    Some(Timestamp(stat.mtime))
}

/// A text with its line ends and keywords as the properties ask for. Where it was changed here, its line
/// ends must be all of one kind.
fn translated(
    ctx: &Context,
    node: &Node,
    mut props: PropList,
    changed: bool,
    expand_keywords: bool,
    text: Box<dyn Read>,
) -> SvnResult<Box<dyn Read>> {
    props.remove(names::SPECIAL);
    if props.get(names::KEYWORDS).is_none() && props.get(names::EOL_STYLE).is_none() {
        return Ok(text);
    }
    let row = node.undeleted()?;
    let (root, _, relpath) = node.repository()?;
    let url = root.join(RelPath::trusted(&relpath));
    let source = KeywordSource {
        modified: changed,
        revision: row.changed_revision,
        date: if changed { file_time(&node.abspath()) } else { row.changed_date },
        // The author of a local change cannot always be known.
        author: if changed { Some("(local)") } else { row.changed_author.as_deref() },
        url: &url,
        root: &root,
        zone: &ctx.wc.zone,
    };
    let translator = Translation::of(&props, Some(&source)).exporter(!changed, expand_keywords);
    Ok(Box::new(TranslatedReader::new(text, translator)))
}
