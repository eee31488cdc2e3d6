//! What XML is read, what is refused, and within which limits.

use proptest::prelude::*;

use super::*;
use crate::xml::Xml as _;

fn whole(text: &str) -> Result<Element> {
    Document::open(text.as_bytes(), Limits::default())?.into_root()
}

#[test]
fn namespaces_and_texts() {
    let root = whole(
        "<?xml version=\"1.0\"?><a xmlns='X' xmlns:d=\"DAV:\" k='1&amp;2'><d:b>x&lt;&#65;\
         <![CDATA[<c>]]></d:b><c xmlns=''/></a>",
    )
    .unwrap();
    assert!(root.is("X", "a"));
    assert_eq!(root.attribute("k"), Some("1&2"));
    assert_eq!(root.child("DAV:", "b").unwrap().text, "x<A<c>");
    assert!(root.child("", "c").is_some());
}

#[test]
fn what_is_refused() {
    for bad in [
        "",
        "   ",
        "text",
        "<a>",
        "<a></b>",
        "<a/",
        "<p:a/>",
        "<a k='1' k='2'/>",
        "<a>&nosuch;</a>",
        "<!DOCTYPE a [<!ENTITY b 'c'>]><a>&b;</a>",
        "<!DOCTYPE a SYSTEM 'file:///etc/passwd'><a/>",
    ] {
        assert!(whole(bad).is_err(), "{bad}");
    }
}

#[test]
fn limits_hold() {
    let deep = format!("{}{}", "<a>".repeat(40), "</a>".repeat(40));
    assert!(matches!(whole(&deep), Err(Error::TooLarge(_))));
    let many: String = (0..100).map(|n| format!(" a{n}=''")).collect();
    assert!(matches!(whole(&format!("<a{many}/>")), Err(Error::TooLarge(_))));
    let limits = Limits { child_bytes: 1000, ..Limits::default() };
    let long = format!("<a><b>{}</b></a>", "x".repeat(20_000));
    let read = Document::open(long.as_bytes(), limits).and_then(Document::into_root);
    assert!(matches!(read, Err(Error::TooLarge("bytes"))));
    let flat = format!("<a>{}</a>", "<b/>".repeat(100_001));
    assert!(matches!(whole(&flat), Err(Error::TooLarge("elements"))));
}

#[test]
fn events_in_order() {
    let text = "<a>x<b k='1'><c/>y</b><t>QUJD</t><e><f>z</f></e></a>";
    let mut document = Document::open(text.as_bytes(), Limits::default()).unwrap();
    let mut seen = String::new();
    while let Some(event) = document.next_event().unwrap() {
        match event {
            Event::Start(e) if e.name == "t" => {
                let mut piece = Vec::new();
                while document.text_piece(&mut piece).unwrap() {}
                seen.push_str(&format!("[{}]", String::from_utf8(piece).unwrap()));
            }
            Event::Start(e) if e.name == "e" => {
                let e = document.whole(e).unwrap();
                seen.push_str(&e.children[0].text);
            }
            Event::Start(e) => seen.push_str(&format!("<{}>", e.name)),
            Event::Text(text) => seen.push_str(&text),
            Event::End => seen.push('/'),
        }
    }
    assert_eq!(seen, "x<b><c>/y/[QUJD]/z");
    assert!(document.next_event().unwrap().is_none());
    let mut cut = Document::open(&b"<a><b>AB"[..], Limits::default()).unwrap();
    cut.next_event().unwrap();
    let mut piece = Vec::new();
    assert!(cut.text_piece(&mut piece).unwrap());
    assert!(cut.text_piece(&mut piece).is_err());
}

#[test]
fn children_stream_past_the_limit_of_one() {
    let limits = Limits { child_bytes: 20_000, ..Limits::default() };
    let text = format!("<a>{}</a>", "<b k='v'>text</b>".repeat(10_000));
    let mut document = Document::open(text.as_bytes(), limits).unwrap();
    let mut count = 0;
    while let Some(child) = document.next_child().unwrap() {
        assert_eq!((child.text.as_str(), child.attribute("k")), ("text", Some("v")));
        count += 1;
    }
    assert_eq!(count, 10_000);
}

proptest! {
    #[test]
    fn any_bytes_do_no_harm(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
        if let Ok(mut document) = Document::open(&*bytes, Limits::default()) {
            while let Ok(Some(_)) = document.next_child() {}
        }
    }

    #[test]
    fn what_is_written_is_read(text in "[ -~\u{e9}\u{4e2d}\n\t]{0,60}", value in "[ -~]{0,40}") {
        let mut out = Vec::new();
        out.raw("<a k=\"");
        out.attribute_text(&value);
        out.raw("\">");
        out.text(&text);
        out.raw("</a>");
        let root = whole(std::str::from_utf8(&out).unwrap()).unwrap();
        prop_assert_eq!(root.attribute("k"), Some(value.as_str()));
        prop_assert_eq!(root.text, text);
    }
}
