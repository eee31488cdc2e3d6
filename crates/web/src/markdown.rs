//! Markdown as HTML.
//!
//! Invariant: what is written is elements that Markdown has, with texts that are escaped. HTML inside of the text is shown,
//! not written; links lead to web addresses, mail addresses or paths of the repository, and pictures come from the
//! repository only.

use maud::{Markup, PreEscaped};
use pulldown_cmark::{CowStr, Event, LinkType, Options, Parser, Tag, TagEnd, html};
use sapwood_core::paths::FsPathBuf;
use sapwood_core::{FsPath, Revnum, uri};

use crate::links::Links;

/// Where the links of a text begin.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Base<'a> {
    pub(crate) links: &'a Links,
    /// The directory of the text.
    pub(crate) dir: &'a FsPath,
    pub(crate) revision: Revnum,
    pub(crate) sticky: Option<Revnum>,
}

/// The HTML of a text.
pub(crate) fn render(text: &str, base: &Base<'_>) -> Markup {
    let options =
        Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS;
    let events = Parser::new_ext(text, options).map(|event| safe(event, base));
    let mut out = String::new();
    html::push_html(&mut out, events);
    PreEscaped(out)
}

fn safe<'t>(event: Event<'t>, base: &Base<'_>) -> Event<'t> {
    match event {
        Event::Html(text) | Event::InlineHtml(text) => Event::Text(text),
        Event::Start(Tag::HtmlBlock) => Event::Start(Tag::Paragraph),
        Event::End(TagEnd::HtmlBlock) => Event::End(TagEnd::Paragraph),
        // Names of elements and classes of ours are not for texts.
        Event::Start(Tag::Heading { level, .. }) => {
            Event::Start(Tag::Heading { level, id: None, classes: Vec::new(), attrs: Vec::new() })
        }
        Event::Start(Tag::Link { link_type, dest_url, .. }) => {
            let dest_url = CowStr::from(link(&dest_url, link_type, base));
            let link_type = if link_type == LinkType::Email { LinkType::Inline } else { link_type };
            Event::Start(Tag::Link {
                link_type,
                dest_url,
                title: CowStr::from(""),
                id: CowStr::from(""),
            })
        }
        Event::Start(Tag::Image { link_type, dest_url, .. }) => {
            let dest_url = CowStr::from(picture(&dest_url, base));
            Event::Start(Tag::Image {
                link_type,
                dest_url,
                title: CowStr::from(""),
                id: CowStr::from(""),
            })
        }
        other => other,
    }
}

/// Where a link leads; `#` for what is no address of a kind that is allowed.
fn link(to: &str, kind: LinkType, base: &Base<'_>) -> String {
    if kind == LinkType::Email {
        return format!("mailto:{to}");
    }
    let scheme = to.split_once(':').map(|(scheme, _)| scheme.to_ascii_lowercase());
    match scheme.as_deref() {
        Some("http" | "https" | "mailto") => to.to_owned(),
        _ if to.starts_with('#') => to.to_owned(),
        _ => match path(to, base) {
            Some(path) => base.links.tree(&path, base.sticky),
            None => "#".to_owned(),
        },
    }
}

fn picture(to: &str, base: &Base<'_>) -> String {
    path(to, base).map_or(String::new(), |path| base.links.raw(&path, base.revision))
}

/// The path that a relative address leads to; `None` for other addresses, and for one above the root.
fn path(to: &str, base: &Base<'_>) -> Option<FsPathBuf> {
    let to = to.split(['#', '?']).next().unwrap_or("");
    let has_scheme = to.split('/').next().is_some_and(|first| first.contains(':'));
    if to.is_empty() || has_scheme || to.starts_with("//") || to.contains('\\') {
        return None;
    }
    let to = uri::decode_utf8(to).filter(|to| !to.contains('\0'))?;
    let mut names: Vec<&str> = match to.starts_with('/') {
        true => Vec::new(),
        false => base.dir.names().filter(|name| !name.is_empty()).collect(),
    };
    for name in to.split('/') {
        match name {
            "" | "." => {}
            ".." => drop(names.pop()?),
            name => names.push(name),
        }
    }
    Some(FsPathBuf::canonicalize(&format!("/{}", names.join("/"))))
}

/// What a text in Markdown holds for people who read it as it is.
#[cfg(test)]
pub(crate) fn rendered(text: &str) -> String {
    let links = Links::new("/r", crate::Prefix::Short);
    let dir = FsPath::new("/a/b").unwrap();
    let base = Base { links: &links, dir, revision: Revnum(7), sticky: None };
    render(&crate::text::shown(text), &base).into_string()
}

#[cfg(test)]
mod tests {
    use super::rendered;

    #[test]
    fn markup_is_shown_not_written() {
        let html = rendered(
            "a <b onclick=x>c</b>\n\n<script>alert(1)</script>\n\n<img src=x onerror=y>\n",
        );
        assert!(!html.contains("<script"), "{html}");
        assert!(!html.contains("<b"), "{html}");
        assert!(!html.contains("<img"), "{html}");
        assert!(html.contains("&lt;script&gt;alert(1)&lt;/script&gt;"), "{html}");
    }

    #[test]
    fn links_lead_to_known_kinds_of_addresses() {
        let href = |to: &str| {
            let html = rendered(&format!("[x]({to})"));
            html.split("href=\"")
                .nth(1)
                .and_then(|rest| rest.split('"').next())
                .unwrap_or("")
                .to_owned()
        };
        assert_eq!(href("https://example.com/a"), "https://example.com/a");
        assert_eq!(href("c.md"), "/r/-/tree/a/b/c.md");
        assert_eq!(href("../c.md#part"), "/r/-/tree/a/c.md");
        assert_eq!(href("/c"), "/r/-/tree/c");
        for bad in [
            "javascript:alert(1)",
            "JaVaScRiPt:alert(1)",
            "data:text/html,x",
            "vbscript:x",
            "../../../x",
            "//host/x",
        ] {
            assert_eq!(href(bad), "#", "{bad}");
        }
        assert!(rendered("<javascript:alert(1)>").contains("href=\"#\""));
    }

    #[test]
    fn pictures_come_from_the_repository() {
        assert!(rendered("![x](p.png)").contains("src=\"/r/a/b/p.png?p=7\""));
        assert!(rendered("![x](http://example.com/p.png)").contains("src=\"\""));
        assert!(!rendered("![\"onerror=x](p.png)").contains("\"onerror"));
    }
}
