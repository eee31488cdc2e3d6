//! What browsers play or show by themselves within a page: sound, films, PDF.
//!
//! Invariants: the types are those of a list, and each is sent as what the list says, whatever else is stored: a stored file is never
//! a page by this. The page of such a file allows its browser this one kind, and nothing more.

use maud::{Markup, html};
use sapwood_core::props::names;
use sapwood_core::{FsPath, NodeKind, Revnum};
use sapwood_fs::Node;

use crate::Request;
use crate::fault::{Fault, Result};
use crate::view::FoundNode;
use crate::{text, words};

/// How a browser shows something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Player {
    Sound,
    Film,
    Document,
}

/// The media types, with the endings of names and how they are shown.
const TYPES: [(&str, &[&str], Player); 13] = [
    ("application/pdf", &[".pdf"], Player::Document),
    ("audio/mpeg", &[".mp3"], Player::Sound),
    ("audio/ogg", &[".ogg", ".oga", ".opus"], Player::Sound),
    ("audio/wav", &[".wav"], Player::Sound),
    ("audio/x-wav", &[], Player::Sound),
    ("audio/flac", &[".flac"], Player::Sound),
    ("audio/mp4", &[".m4a"], Player::Sound),
    ("audio/aac", &[".aac"], Player::Sound),
    ("audio/webm", &[".weba"], Player::Sound),
    ("video/mp4", &[".mp4", ".m4v"], Player::Film),
    ("video/webm", &[".webm"], Player::Film),
    ("video/ogg", &[".ogv"], Player::Film),
    ("video/quicktime", &[".mov"], Player::Film),
];

/// The entry of the list for a file: by its property, or else by the ending of its name.
fn known(path: &FsPath, media: Option<&str>) -> Option<(&'static str, Player)> {
    let name = path.name().to_ascii_lowercase();
    let essence = media.and_then(|media| media.split(';').next()).map(str::trim);
    let essence = essence.map(str::to_ascii_lowercase);
    // `svn add` gives this one to all that is no text.
    let essence = essence.filter(|essence| essence != "application/octet-stream");
    let found = TYPES.iter().find(|(media, endings, _)| match &essence {
        Some(essence) => essence == media,
        None => endings.iter().any(|ending| name.ends_with(ending)),
    });
    found.map(|(media, _, player)| (*media, *player))
}

fn of_node(path: &FsPath, node: &Node) -> Result<Option<(&'static str, Player)>> {
    if node.kind() != NodeKind::File {
        return Ok(None);
    }
    Ok(known(path, node.props()?.get_str(names::MIME_TYPE)))
}

/// The bytes of such a file, and how they are sent.
#[derive(Debug)]
pub struct Media {
    /// The file.
    pub node: Node,
    /// Whether the address always leads to these bytes.
    pub is_fixed: bool,
    media: &'static str,
    player: Player,
}

impl Media {
    /// The headers, beside those of its bytes.
    pub fn headers(&self) -> impl Iterator<Item = (&'static str, &'static str)> {
        // The viewer of a browser is no page of ours, and does not work in a sandbox.
        let policy = match self.player {
            Player::Document => "frame-ancestors 'self'",
            Player::Sound | Player::Film => "default-src 'none'; sandbox",
        };
        let headers = [
            ("content-type", self.media),
            ("content-security-policy", policy),
            ("x-content-type-options", "nosniff"),
            ("referrer-policy", "same-origin"),
        ];
        headers.into_iter()
    }
}

/// What is at an address of [`Kind::Media`](crate::Kind::Media).
///
/// # Errors
/// [`Fault::Missing`] where there is no such file for this user; corruption and system errors.
pub fn media(request: &Request<'_>) -> Result<Media> {
    let found = request.view.at(request.address)?;
    let (media, player) = of_node(&found.path, &found.node)?.ok_or(Fault::Missing)?;
    Ok(Media { node: found.node, is_fixed: request.address.query.peg.is_some(), media, player })
}

/// A file as its page shows it, if browsers play or show it.
pub(crate) fn shown(request: &Request<'_>, found: &FoundNode) -> Result<Option<Markup>> {
    let Some((media, player)) = of_node(&found.path, &found.node)? else { return Ok(None) };
    let address = address(request, &found.path, found.revision);
    let name = text::shown(found.path.name());
    let other = html! { a href=(request.links.raw(&found.path, found.revision)) download { (words::DOWNLOAD) } };
    Ok(Some(html! {
        figure.media {
            @match player {
                Player::Sound => audio controls preload="metadata" src=(address) aria-label=(name) { (other) },
                Player::Film => video controls preload="metadata" src=(address) aria-label=(name) { (other) },
                Player::Document => object type=(media) data=(address) aria-label=(name) {
                    p { (words::NO_VIEWER) " " (other) }
                },
            }
        }
    }))
}

fn address(request: &Request<'_>, path: &FsPath, revision: Revnum) -> String {
    request.links.page("media", path, Some(revision))
}

/// What the page of a file allows its browser besides, if it shows such a file.
pub(crate) fn policy(found: &FoundNode) -> Result<Option<&'static str>> {
    let player = of_node(&found.path, &found.node)?.map(|(_, player)| player);
    Ok(player.map(|player| match player {
        Player::Sound | Player::Film => "; media-src 'self'",
        Player::Document => "; object-src 'self'; frame-src 'self'",
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_are_those_of_the_list() {
        let of = |name: &str, media: Option<&str>| {
            known(FsPath::trusted(name), media).map(|(media, _)| media)
        };
        assert_eq!(of("/a.PDF", None), Some("application/pdf"));
        assert_eq!(of("/a.mp3", Some("application/octet-stream")), Some("audio/mpeg"));
        assert_eq!(of("/a", Some("Video/WebM; codecs=vp9")), Some("video/webm"));
        // What is said counts, and the name does not.
        for media in [
            "text/html",
            "image/svg+xml",
            "application/xhtml+xml",
            "text/plain",
            "video/x-unknown",
            "",
        ] {
            assert_eq!(of("/a.pdf", Some(media)), None, "{media}");
        }
        assert_eq!(of("/a.html", None), None);
        for (media, _, _) in TYPES {
            assert!(!media.contains("html") && !media.contains("xml") && !media.contains("script"));
        }
    }
}
