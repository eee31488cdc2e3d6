//! `svn info --x-viewspec`: how a working copy is put together, as a list of locations or as commands.

use sapwood_core::paths::{RelPath, RelPathBuf, Url, UrlBuf};
use sapwood_core::{Depth, ErrorCode, Revnum, SvnError, SvnResult, path};
use sapwood_delta::ReportEntry;
use sapwood_delta::report::Report;
use sapwood_wc::report::Crawl;

use crate::pegs::Part;
use crate::svn::Invocation;
use crate::svn::out::Out;
use crate::svn::targets::{Arg, check_local, local_style};

/// In which form.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    /// The format of `viewspec.py`.
    Classic,
    /// Commands of `svn`.
    Commands,
}

/// A reported node.
struct ReportedNode {
    relpath: RelPathBuf,
    url: UrlBuf,
    revision: Revnum,
    depth: Depth,
}

/// Takes the report of a working copy, and prints where it differs from the defaults.
struct Printer {
    out: Out,
    form: Form,
    target: String,
    root: UrlBuf,
    url: UrlBuf,
    /// The nodes above the present one.
    above: Vec<ReportedNode>,
}

/// The printed part of a node.
struct ViewLine<'a> {
    relpath: &'a RelPath,
    /// `None` for a missing node.
    url: Option<&'a Url>,
    gone: bool,
    switched: bool,
    revision: Revnum,
    revision_differs: bool,
    depth: Depth,
    depth_differs: bool,
}

impl ViewLine<'_> {
    fn display_url(&self) -> &str {
        self.url.map_or("", Url::as_str)
    }
}

/// Prints the layout of a working copy.
pub(super) fn print(invocation: &Invocation, targets: &[Arg], form: &str) -> SvnResult<()> {
    let [target] = targets else {
        return Err(SvnError::new(ErrorCode::CL_ARG_PARSING_ERROR, ""));
    };
    check_local(target)?;
    let target = invocation.name(Part::Folder, target)?;
    let ctx = &invocation.ctx;
    let abspath = ctx.absolute(&target);
    let (wc, relpath) = ctx.working_copy(&abspath)?;
    let base = wc.db().base(&relpath)?.filter(|row| row.presence.is_there());
    let Some((id, place)) = base.and_then(|row| Some((row.repos_id?, row.repos_path?))) else {
        return Err(sapwood_wc::Error::NodeNotFound(abspath).into());
    };
    let root = wc.db().repository(id)?.root;
    let mut printer = Printer {
        out: invocation.out.clone(),
        form: if form == "classic" { Form::Classic } else { Form::Commands },
        target,
        url: root.join(RelPath::trusted(&place)),
        root,
        above: Vec::new(),
    };
    let crawl = Crawl {
        target: &relpath,
        depth: Depth::Infinity,
        honor_depth_exclude: true,
        restore: false,
        notify: None,
    };
    Ok(wc.report(&crawl, &mut printer)?)
}

impl Printer {
    fn leave(&mut self, relpath: &RelPath) {
        while self.above.last().is_some_and(|node| !relpath.is_at_or_below(&node.relpath)) {
            self.above.pop();
        }
    }

    fn report_node(
        &mut self,
        relpath: &RelPath,
        url: Option<&Url>,
        revision: Revnum,
        depth: Depth,
    ) -> SvnResult<()> {
        self.leave(relpath);
        let first = self.above.is_empty();
        let (own_url, expected, revision_differs) = match self.above.last() {
            None => (self.url.clone(), depth, false),
            Some(parent) => {
                let below = relpath.below(&parent.relpath).unwrap_or(relpath);
                let deep = parent.depth == Depth::Infinity;
                let expected = if deep { Depth::Infinity } else { Depth::Empty };
                (parent.url.join(below), expected, parent.revision != revision)
            }
        };
        let node = ReportedNode {
            relpath: relpath.to_owned(),
            url: url.map_or(own_url, Url::to_owned),
            revision,
            depth,
        };
        let line = ViewLine {
            relpath,
            url: Some(&node.url),
            gone: false,
            switched: url.is_some(),
            revision,
            revision_differs,
            depth,
            depth_differs: depth != expected,
        };
        let text = self.line(&line, first);
        self.above.push(node);
        self.out.text(&text)
    }

    fn line(&self, line: &ViewLine<'_>, first: bool) -> String {
        match self.form {
            Form::Classic => self.classic(line, first),
            Form::Commands => self.command(line, first),
        }
    }

    fn classic(&self, line: &ViewLine<'_>, first: bool) -> String {
        let depth = match line.depth {
            _ if !(line.depth_differs || first) => "",
            Depth::Infinity => "/**",
            Depth::Immediates => "/*",
            Depth::Files => "/~",
            Depth::Exclude => "!",
            _ => "",
        };
        let revision = if line.gone {
            "@0".to_owned()
        } else if line.revision_differs {
            format!("@{}", line.revision)
        } else {
            String::new()
        };
        if first {
            let head =
                format!("Format: 2\nUrl: {}\nRevision: {}\n\n", line.display_url(), line.revision);
            if line.depth == Depth::Empty {
                return head;
            }
            let depth = depth.strip_prefix('/').unwrap_or(depth);
            return format!("{head}{}{depth} {revision}\n", line.relpath);
        }
        let place = if line.switched { self.relative(line.url) } else { String::new() };
        if !(line.gone || line.switched || line.revision_differs || line.depth_differs) {
            return String::new();
        }
        format!("{}{depth} {place}{revision}\n", line.relpath)
    }

    fn relative(&self, url: Option<&Url>) -> String {
        let below = url.and_then(|url| url.below(&self.root));
        below.map_or_else(|| "^/".to_owned(), |below| format!("^/{below}"))
    }

    fn command(&self, line: &ViewLine<'_>, first: bool) -> String {
        let mut depth = match line.depth_differs {
            true => format!(" --set-depth={}", line.depth.word()),
            false => String::new(),
        };
        let (command, place) = if first {
            if line.depth != Depth::Infinity {
                depth = format!(" --depth={}", line.depth.word());
            }
            ("svn checkout", format!(" {}@{}", line.display_url(), line.revision))
        } else if line.gone {
            ("svn update", " -r0".to_owned())
        } else if line.switched {
            ("svn switch", format!(" {}@{}", self.relative(line.url), line.revision))
        } else if line.revision_differs {
            ("svn update", format!(" -r{}", line.revision))
        } else if line.depth_differs {
            ("svn update", String::new())
        } else {
            return String::new();
        };
        let path = path::join(&self.target, line.relpath);
        format!("{command}{depth:<23}{place:<10} {}\n", local_style(&path))
    }
}

impl Report for Printer {
    fn entry(&mut self, entry: &ReportEntry<'_>) -> SvnResult<()> {
        self.report_node(entry.path, entry.link, entry.revision, entry.depth)
    }

    fn delete_path(&mut self, path: &RelPath) -> SvnResult<()> {
        self.leave(path);
        let line = ViewLine {
            relpath: path,
            url: None,
            gone: true,
            switched: false,
            revision: Revnum::ZERO,
            revision_differs: false,
            depth: Depth::Unknown,
            depth_differs: false,
        };
        let text = self.line(&line, false);
        self.out.text(&text)
    }

    fn finish(self: Box<Self>) -> SvnResult<()> {
        Ok(())
    }

    fn abort(self: Box<Self>) -> SvnResult<()> {
        Ok(())
    }
}
