//! The plain pages for people: a directory of a revision.

use std::time::{SystemTime, UNIX_EPOCH};

use maud::{DOCTYPE, Markup, PreEscaped, html};
use sapwood_core::exact::Exact;
use sapwood_core::path::{basename, components};
use sapwood_core::{DirentFields, NodeKind, Revnum, uri};
use sapwood_fs::{Node, Root};
use sapwood_repos::nodes::Entries;
use sapwood_web::{full_date, site, size};

use super::exchange::Exchange;
use super::fail::DavResult;
use super::session::Session;
use sapwood_wire_dav::Resource;

/// Simple enough for any browser, with a light and a dark scheme.
const STYLE: &str = ":root{color-scheme:light dark;background:#fff;color:#1f2420}\
body{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem}\
h1{font-size:1.6rem;line-height:1.3;overflow-wrap:anywhere}\
table{border-collapse:collapse;width:100%}td,th{padding:.2rem .6rem;text-align:left;vertical-align:top}\
tr:nth-child(odd) td{background:#8881}td.n,th.n{text-align:right;font-variant-numeric:tabular-nums}\
td.n,td.k{white-space:nowrap}td:first-child{overflow-wrap:anywhere}td.d{padding:.2rem 0}\
a{color:#0b57d0;text-decoration:none}a:hover{text-decoration:underline}\
footer{margin-top:2rem;color:#5f6a62;font-size:.85rem}\
@media(prefers-color-scheme:dark){:root{background:#14181a;color:#dfe5e0}a{color:#8ab4f8}footer{color:#98a59c}}\
@media(max-width:40rem){.w{display:none}}";

/// The limit of entries on a page.
const MAX_ENTRIES: usize = 50_000;

/// A page with the look of all pages.
pub(super) fn page(title: &str, body: &Markup) -> Markup {
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width,initial-scale=1";
                title { (title) }
                link rel="icon" type="image/svg+xml" href=(site::icon());
                style { (PreEscaped(STYLE)) }
            }
            body { (body) footer { "Sapwood" } }
        }
    }
}

/// Sends a page.
pub(super) fn send(exchange: &mut Exchange, page: Markup) {
    exchange.header("content-type", "text/html; charset=UTF-8");
    exchange.header("x-content-type-options", "nosniff");
    exchange.header(
        "content-security-policy",
        "default-src 'none'; style-src 'unsafe-inline'; img-src 'self'; frame-ancestors 'none'",
    );
    exchange.out().extend_from_slice(page.into_string().as_bytes());
}

/// A page as mod_dav_svn writes it: some programs parse it.
pub(super) fn plain(
    exchange: &mut Exchange,
    title: &str,
    has_parent: bool,
    items: &[String],
    query: &str,
) {
    let escape = |text: &str| html! { (text) }.into_string();
    let title = escape(title);
    let mut text =
        format!("<html><head><title>{title}</title></head>\n<body>\n <h2>{title}</h2>\n <ul>\n");
    if has_parent {
        text.push_str(&format!("  <li><a href=\"../{query}\">..</a></li>\n"));
    }
    for item in items {
        let (href, name) = (escape(&uri::encode(item)), escape(item));
        text.push_str(&format!("  <li><a href=\"{href}{query}\">{name}</a></li>\n"));
    }
    text.push_str(" </ul>\n</body></html>");
    exchange.header("content-type", "text/html; charset=UTF-8");
    exchange.header("x-content-type-options", "nosniff");
    exchange.out().extend_from_slice(text.as_bytes());
}

/// The age of a date in readable form.
fn age(seconds: i64) -> String {
    sapwood_web::rounded_age(seconds).map_or("now".to_owned(), |(n, unit)| format!("{n} {unit}"))
}

/// The same for a date as it is stored.
fn age_of(date: &str) -> String {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |now| now.as_secs());
    match (sapwood_web::seconds(date), i64::try_from(now)) {
        (Some(then), Ok(now)) => age(now.checked_sub(then).unwrap_or(0)),
        _ => String::new(),
    }
}

/// The page of a directory.
pub(super) fn directory(
    session: &Session<'_>,
    root: &Root,
    node: &Node,
    exchange: &mut Exchange,
) -> DavResult {
    let is_public = matches!(session.resource, Resource::Public(_));
    // Links of the page are relative to it.
    if !session.head.path.ends_with('/') {
        let query = session.head.query.as_ref().map_or(String::new(), |q| format!("?{q}"));
        // Not the path as it was asked for: with two slashes first it would be the name of a host.
        let address = session.address(&session.resource);
        exchange.status(301);
        exchange.header("location", &format!("{}/{query}", address.trim_end_matches('/')));
        return Ok(());
    }
    let revision = super::entity::revision_of(root)?;
    exchange.header("etag", &super::entity::etag(node)?);
    // The list depends on the user.
    exchange.header("cache-control", "max-age=0");
    let query = match &session.head.query {
        Some(query) if is_public && query.contains(['r', 'p']) => format!("?p={revision}"),
        _ => String::new(),
    };
    let is_plain = session.location.is_some_and(|location| location.plain_pages);
    let most = if is_plain { usize::MAX } else { MAX_ENTRIES };
    let mut rows = rows(session, root, node, most)?;
    let are_more = rows.len() > most;
    rows.truncate(most);
    let title = title(session, node, revision);
    if is_plain {
        rows.sort_by(|a, b| a.name.cmp(&b.name));
        let slash = |row: &Row| if row.is_dir { "/" } else { "" };
        let items: Vec<String> =
            rows.iter().map(|row| format!("{}{}", row.name, slash(row))).collect();
        plain(exchange, &title, node.path() != "/", &items, &query);
        return Ok(());
    }
    rows.sort_by(|a, b| (!a.is_dir, &a.name).cmp(&(!b.is_dir, &b.name)));
    let listing = listing(session, node.path(), revision, &query, &rows);
    let sticky = Some(revision).filter(|_| !is_public || !query.is_empty());
    let pages = super::pages::link(session)?.map(|links| links.of_directory(node.path(), sticky));
    let body = html! {
        (listing)
        @if let Some(pages) = pages {
            p { a href=(pages) { "History, changes and more about this folder" } }
        }
        @if are_more {
            p { "These are the first " (most) " entries. There are more: "
                code { "svn list" } " shows all of them." }
        }
    };
    send(exchange, page(&title, &body));
    Ok(())
}

/// The entries of a directory that the user may read, up to one more than `most`: it shows that there are more.
fn rows(session: &Session<'_>, root: &Root, node: &Node, most: usize) -> DavResult<Vec<Row>> {
    let fields = DirentFields { has_props: false, ..DirentFields::ALL };
    let mut rows = Vec::new();
    Entries::of(root, node)?.each(
        fields.into(),
        &session.access,
        &session.shared.server.cancel,
        |entry| -> DavResult {
            if rows.len() > most {
                return Ok(());
            }
            let details = entry.details(fields)?;
            let committed = details.committed.as_ref();
            rows.push(Row {
                name: entry.name().to_owned(),
                is_dir: entry.kind() == NodeKind::Dir,
                created: committed.map(|info| info.revision),
                date: committed.and_then(|info| info.date()).unwrap_or("").to_owned(),
                author: committed.and_then(|info| info.author()).unwrap_or("").to_owned(),
                size: details.size.map_or(String::new(), size),
            });
            Ok(())
        },
    )?;
    Ok(rows)
}

/// The title of a directory's page, after the name that the configuration has for its location.
fn title(session: &Session<'_>, node: &Node, revision: Revnum) -> String {
    let title = format!("{} - Revision {revision}: {}", session.repository_name(), node.path());
    match session.location.and_then(|location| location.name.as_deref()) {
        Some(name) => format!("{name}: {title}"),
        None => title,
    }
}

struct Row {
    name: String,
    is_dir: bool,
    created: Option<Revnum>,
    /// When it was changed last, as stored.
    date: String,
    author: String,
    size: String,
}

fn listing(
    session: &Session<'_>,
    path: &str,
    revision: Revnum,
    query: &str,
    rows: &[Row],
) -> Markup {
    let parts: Vec<&str> = components(path).filter(|part| !part.is_empty()).collect();
    let up = |levels: usize| "../".repeat(levels);
    html! {
        h1 {
            a href={ "./" (up(parts.len())) (query) } { (session.repository_name()) }
            @for (at, part) in parts.iter().enumerate() {
                " / "
                @let above = parts.len().minus(at).minus(1);
                a href={ "./" (up(above)) (query) } { (part) }
            }
        }
        p { "Revision " (revision) }
        table {
            thead { tr {
                th { "Name" } th {} th.n { "Size" } th { "Age" } th.n.w { "Revision" } th.w { "Author" }
            } }
            tbody {
                @if !parts.is_empty() {
                    tr { td colspan="6" { a href={ "../" (query) } { ".." } } }
                }
                @for row in rows {
                    @let slash = if row.is_dir { "/" } else { "" };
                    tr {
                        td { a href={ "./" (uri::encode(basename(&row.name))) (slash) (query) } {
                            (row.name) (slash)
                        } }
                        td.d {
                            @if !row.is_dir {
                                a download title="Download" href={
                                    "./" (uri::encode(basename(&row.name))) (query)
                                } { "\u{2193}" }
                            }
                        }
                        td.n { (row.size) }
                        td.k title=(full_date(&row.date)) { (age_of(&row.date)) }
                        td.n.w { @if let Some(created) = row.created { (created) } }
                        td.w { (row.author) }
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_for_people() {
        assert_eq!(size(0), "0 B");
        assert_eq!(size(1023), "1023 B");
        assert_eq!(size(1536), "1.5 KiB");
        assert_eq!(size(5 << 30), "5.0 GiB");
    }

    #[test]
    fn times_for_people() {
        let ages = [-5, 59, 60, 7200, 86_400, 5_183_999, 5_184_000, 63_072_000];
        let expected =
            ["now", "now", "1 minute", "2 hours", "1 day", "59 days", "2 months", "2 years"];
        assert_eq!(ages.map(age), expected);
        assert_eq!(full_date("2007-05-10T12:34:56.000000Z"), "2007-05-10 12:34 UTC");
        assert_eq!((full_date("x"), age_of("x")), (String::new(), String::new()));
    }
}
