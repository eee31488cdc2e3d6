//! All that is known of a node, line by line or as XML.

use std::fmt::Write as _;

use sapwood_client::info::{Info, WorkingInfo};
use sapwood_core::paths::UrlBuf;
use sapwood_core::{Depth, NodeKind, SvnResult, path, uri};
use sapwood_wc::db::{FORMAT, Settings};

use super::conflict;
use crate::svn::notify::display_below;
use crate::svn::options::Opt;
use crate::svn::out::Out;
use crate::svn::{Invocation, size, xml_out};
use crate::user_date;
use crate::xml::{self, Tag};

/// Prints values.
pub(super) struct Printer {
    pub(super) out: Out,
    units: bool,
    here: String,
}

/// `^/` and what leads from the root to the node.
pub(super) fn relative_url(info: &Info) -> Option<String> {
    let below = info.url.as_ref()?.below(info.root_url.as_ref()?)?;
    Some(format!("^/{}", uri::encode(&below)))
}

impl Printer {
    pub(super) fn new(invocation: &Invocation) -> Self {
        Self {
            out: invocation.out.clone(),
            units: invocation.has(Opt::HumanReadable),
            here: invocation.ctx.here.display().to_string(),
        }
    }

    /// A path as it is shown.
    pub(super) fn display_path(&self, path: &str) -> String {
        display_below(&self.here, path)
    }

    pub(super) fn size(&self, size: u64) -> String {
        if self.units { size::with_unit(size, true) } else { size::plain(size) }
    }

    pub(super) fn lines(&self, path: &str, info: &Info) -> SvnResult<()> {
        let mut text = String::new();
        let mut line = |name: &str, value: Option<String>| {
            if let Some(value) = value {
                let _ = writeln!(text, "{name}: {value}");
            }
        };
        let working = info.working.as_ref();
        line("Path", Some(self.display_path(path)));
        if info.kind != Some(NodeKind::Dir) {
            line("Name", Some(path::basename(path).to_owned()));
        }
        let root = working.map(|w| w.root.clone()).filter(|root| !root.is_empty());
        line("Working Copy Root Path", root);
        // Properties that all working copies of 1.8 to 1.14 share are not printed, as in 1.14.
        if let Some(settings) = working.map(|w| w.settings).filter(|s| s.format != FORMAT) {
            line("Working Copy Compatible With Version", Some(compatible_with(settings)));
            line("Working Copy Format", Some(settings.format.to_string()));
            line("Working Copy Store Pristine", Some(yes_or_no(settings.store_pristine)));
        }
        line("URL", info.url.clone().map(UrlBuf::into_string));
        line("Relative URL", relative_url(info));
        line("Repository Root", info.root_url.clone().map(UrlBuf::into_string));
        line("Repository UUID", info.uuid.clone());
        line("Revision", info.revision.map(|r| r.to_string()));
        let kind = match info.kind {
            Some(NodeKind::File) => "file",
            Some(NodeKind::Dir) => "directory",
            None if info.is_missing => "none",
            None => "unknown",
        };
        line("Node Kind", Some(kind.to_owned()));
        if info.kind == Some(NodeKind::File) {
            line("Size in Repository", info.size.map(|size| self.size(size)));
        }
        if let Some(working) = working {
            self.working_lines(working, &mut line);
        }
        line("Last Changed Author", info.changed_author.clone());
        line("Last Changed Rev", info.changed_revision.map(|r| r.to_string()));
        let human = |at: sapwood_core::date::Timestamp| user_date::human(at.0);
        line("Last Changed Date", info.changed_date.filter(|at| at.0 != 0).map(human));
        if let Some(working) = working {
            line("Text Last Updated", working.text_time.filter(|at| at.0 != 0).map(human));
            line("Checksum", working.checksum.as_ref().map(ToString::to_string));
            if let Some(conflicts) = &working.conflicts {
                let root = info.root_url.as_ref().map(|url| url.as_str());
                conflict::lines(&mut text, conflicts, root, |path| self.display_path(path));
            }
        }
        self.lock_lines(&mut text, info);
        if let Some(changelist) = working.and_then(|w| w.changelist.as_ref()) {
            let _ = writeln!(text, "Changelist: {changelist}");
        }
        text.push('\n');
        self.out.text(&text)
    }

    fn working_lines(&self, working: &WorkingInfo, line: &mut dyn FnMut(&str, Option<String>)) {
        line("Schedule", Some(working.schedule.word().to_owned()));
        let depth = working.depth.filter(|d| !matches!(d, Depth::Infinity | Depth::Unknown));
        line("Depth", depth.map(|depth| depth.word().to_owned()));
        if let Some((url, revision)) = &working.copied_from {
            line("Copied From URL", Some(url.to_string()));
            line("Copied From Rev", Some(revision.to_string()));
        }
        line("Moved From", working.moved_from.as_deref().map(|path| self.display_path(path)));
        line("Moved To", working.moved_to.as_deref().map(|path| self.display_path(path)));
    }

    fn lock_lines(&self, text: &mut String, info: &Info) {
        let Some(lock) = &info.lock else { return };
        let _ = writeln!(text, "Lock Token: {}", lock.token);
        let _ = writeln!(text, "Lock Owner: {}", lock.owner);
        if lock.created != 0 {
            let _ = writeln!(text, "Lock Created: {}", user_date::human(lock.created));
        }
        if let Some(expires) = lock.expires {
            let _ = writeln!(text, "Lock Expires: {}", user_date::human(expires));
        }
        if let Some(comment) = &lock.comment {
            let lines = crate::svn::log::count_lines(comment);
            let plural = if lines == 1 { "" } else { "s" };
            let _ = writeln!(text, "Lock Comment ({lines} line{plural}):\n{comment}");
        }
    }

    pub(super) fn xml(&self, path: &str, info: &Info) -> SvnResult<()> {
        let mut text = String::new();
        let shown = self.display_path(path);
        let kind = match info.kind {
            Some(kind) => kind.word(),
            None if info.is_missing => "none",
            None => "",
        };
        let revision = info.revision.map_or_else(
            || "Resource is not under version control.".to_owned(),
            |revision| revision.to_string(),
        );
        let size = info.size.filter(|_| info.kind == Some(NodeKind::File)).map(|s| s.to_string());
        let mut attributes = vec![("path", shown.as_str()), ("kind", kind)];
        attributes.push(("revision", &revision));
        attributes.extend(size.as_deref().map(|size| ("size", size)));
        xml::open(&mut text, "entry", Tag::Normal, &attributes);
        xml_out::optional_element(&mut text, "url", info.url.as_ref().map(|url| url.as_str()));
        xml_out::optional_element(&mut text, "relative-url", relative_url(info).as_deref());
        if info.root_url.is_some() || info.uuid.is_some() {
            xml::open(&mut text, "repository", Tag::Normal, &[]);
            xml_out::optional_element(
                &mut text,
                "root",
                info.root_url.as_ref().map(|url| url.as_str()),
            );
            xml_out::optional_element(&mut text, "uuid", info.uuid.as_deref());
            xml::close(&mut text, "repository");
        }
        if let Some(working) = &info.working {
            xml_working(&mut text, info, working);
        }
        if info.changed_author.is_some() || info.changed_revision.is_some() {
            let revision = info.changed_revision.map_or_else(|| "-1".to_owned(), |r| r.to_string());
            let date = info.changed_date.map(|at| at.to_string());
            xml_out::commit(&mut text, &revision, info.changed_author.as_deref(), date.as_deref());
        }
        if let Some(conflicts) = info.working.as_ref().and_then(|w| w.conflicts.as_ref()) {
            // Once for each of them, so do the readers of this output know it.
            for _ in 0..conflicts.count() {
                conflict::xml(&mut text, conflicts);
            }
        }
        if let Some(lock) = &info.lock {
            xml_out::lock(&mut text, lock);
        }
        xml::close(&mut text, "entry");
        self.out.bytes(text.as_bytes())
    }
}

/// The oldest version of Subversion that can use a working copy.
pub(super) fn compatible_with(settings: Settings) -> String {
    if settings.format == FORMAT { "1.8" } else { "1.15" }.to_owned()
}

pub(super) fn yes_or_no(value: bool) -> String {
    if value { "yes" } else { "no" }.to_owned()
}

fn xml_working(text: &mut String, info: &Info, working: &WorkingInfo) {
    let element = |text: &mut String, name: &str, value: Option<&str>| {
        xml_out::optional_element(text, name, value);
    };
    xml::open(text, "wc-info", Tag::Normal, &[]);
    if !working.root.is_empty() {
        element(text, "wcroot-abspath", Some(&working.root));
    }
    if working.settings.format != FORMAT {
        element(text, "wc-compatible-version", Some(&compatible_with(working.settings)));
        element(text, "wc-format", Some(&working.settings.format.to_string()));
        element(text, "store-pristine", Some(&yes_or_no(working.settings.store_pristine)));
    }
    element(text, "schedule", Some(working.schedule.word()));
    let depth = match (working.depth, info.kind) {
        (None | Some(Depth::Unknown), Some(NodeKind::File)) => Depth::Infinity,
        (depth, _) => depth.unwrap_or(Depth::Unknown),
    };
    element(text, "depth", Some(depth.word()));
    if let Some((url, revision)) = &working.copied_from {
        element(text, "copy-from-url", Some(url));
        element(text, "copy-from-rev", Some(&revision.to_string()));
    }
    let time = working.text_time.filter(|at| at.0 != 0).map(|at| at.to_string());
    element(text, "text-updated", time.as_deref());
    element(text, "checksum", working.checksum.as_ref().map(ToString::to_string).as_deref());
    element(text, "changelist", working.changelist.as_deref());
    let below = |path: &'_ String| -> String {
        path::skip_ancestor(&working.root, path)
            .filter(|rest| !rest.is_empty())
            .unwrap_or(path)
            .to_owned()
    };
    element(text, "moved-from", working.moved_from.as_ref().map(below).as_deref());
    element(text, "moved-to", working.moved_to.as_ref().map(below).as_deref());
    xml::close(text, "wc-info");
}
