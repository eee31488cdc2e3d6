//! Differences as lines with their numbers, side by side too.

use super::*;

fn place(path: &str) -> Place<'_> {
    Place { path: FsPath::trusted(path), page: "/-/tree/x?p=2" }
}

fn shown_as(old: &str, new: &str) -> String {
    texts(old.as_bytes(), new.as_bytes(), place("/x"), Manner::default(), &Budget::new())
        .into_string()
}

#[test]
fn lines_with_their_numbers() {
    let old: String = (1..=20).map(|n| format!("{n}\n")).collect();
    let html = shown_as(&old, &old.replace("10\n", "<ten>\n"));
    assert!(
        html.contains("<tr class=\"del\"><td class=\"n\">10</td><td class=\"n\"></td>"),
        "{html}"
    );
    assert!(html.contains("&lt;ten&gt;"), "{html}");
    // Three lines around it, and no more.
    assert!(html.contains("\"c same\">7<") && html.contains("\"c same\">13<"), "{html}");
    assert!(!html.contains("\"c same\">6<") && !html.contains("\"c same\">14<"), "{html}");
    // What is left out above is a link to it, from which a script knows what to put in its place.
    assert!(
        html.contains(
            "<a href=\"/-/tree/x?p=2&amp;l=1-6#L1\" rel=\"nofollow\" data-old=\"1\" data-new=\"1\" data-count=\"6\">"
        ),
        "{html}"
    );
    let two = old.replace("10\n", "ten\nmore\n").replace("19\n", "last\n");
    let html = shown_as(&old, &two);
    assert!(
        html.contains(
            "l=15-16#L15\" rel=\"nofollow\" data-old=\"14\" data-new=\"15\" data-count=\"2\""
        ),
        "{html}"
    );
    // Where nothing differs there is no hunk, however a comparison divides it.
    let old: String = (1..=400).map(|n| format!("{n}\n")).collect();
    let html = shown_as(&old, &old.replace("200\n", "two hundred\n"));
    assert_eq!(html.matches("<tr class=\"same\">").count(), 6, "{html}");
    // Lines are those that the comparison counts.
    let html = shown_as("a\rb\rc\r", "a\rb\rd\r");
    assert!(
        html.contains("<tr class=\"add\"><td class=\"n\"></td><td class=\"n\">3</td>"),
        "{html}"
    );
    assert_eq!(
        shown_as("a\n", "a\n"),
        "<div class=\"lines\"><table class=\"delta\"></table></div>"
    );
}

#[test]
fn both_sides_beside_each_other() {
    let manner = Manner { is_split: true, ..Manner::default() };
    let split = |old: &str, new: &str| {
        texts(old.as_bytes(), new.as_bytes(), place("/x"), manner, &Budget::new()).into_string()
    };
    let html = split("a\nlet x = 1;\nz\n", "a\nlet <y> = 1;\nmore\nz\n");
    let rows: Vec<&str> = html.split("<tr").skip(1).collect();
    assert_eq!(rows.len(), 4, "{html}");
    let changed = "<td class=\"n\">2</td><td class=\"c del\">let <mark>x</mark> = 1;</td>\
        <td class=\"n\">2</td><td class=\"c add\">let <mark>&lt;y&gt;</mark> = 1;</td>";
    assert!(rows[1].contains(changed), "{html}");
    let added = "<td class=\"n\"></td><td class=\"c none\"></td><td class=\"n\">3</td>\
        <td class=\"c add\">more</td>";
    assert!(rows[2].contains(added), "{html}");
    assert!(rows[3].contains("<td class=\"n\">3</td>") && rows[3].contains(">4<"), "{html}");
}

/// A line has the colour that it has in its text, not the one that it would have by itself.
#[test]
fn lines_have_the_colours_of_their_texts() {
    let long: String = (0..20).map(|n| format!("line {n}\n")).collect();
    let (old, new) = (format!("/*\n{long}x */\n"), format!("/*\n{long}y */\n"));
    let shown = |path: &str, budget: &Budget| {
        texts(old.as_bytes(), new.as_bytes(), place(path), Manner::default(), budget).into_string()
    };
    let html = shown("/a.c", &Budget::new());
    assert!(html.contains("<span class=\"t-c\">line 19</span>"), "{html}");
    assert!(!shown("/a", &Budget::new()).contains("t-c"));
    let used = Budget::new();
    while used.take_coloured(1 << 20) {}
    let plain = shown("/a.c", &used);
    assert!(!plain.contains("t-c") && plain.contains(words::PLAIN_LINES), "{plain}");
}

#[test]
fn white_space_can_be_left_out() {
    let manner = Manner { ignores_space: true, ..Manner::default() };
    let html = |old: &str, new: &str| {
        texts(old.as_bytes(), new.as_bytes(), place("/x"), manner, &Budget::new()).into_string()
    };
    assert!(html("a b\n", "a    b\n").contains(words::ONLY_SPACE));
    let both = html("a b\nc\n", "a    b\nd\n");
    assert_eq!(both.matches("<tr class=\"del\">").count(), 1, "{both}");
    assert!(both.contains(">a    b<"), "the new text is shown: {both}");
    assert!(shown_as("a b\n", "a    b\n").contains("<tr class=\"del\">"));
    assert_eq!(manner.at("/x?p=1"), "/x?p=1&w=1");
    assert_eq!(Manner { is_split: true, ..manner }.at("/x"), "/x?view=split&w=1");
}

#[test]
fn a_page_has_so_many_lines() {
    let new: String = (0..5_000).map(|n| format!("{n}\n")).collect();
    let budget = Budget::new();
    let html = texts(b"", new.as_bytes(), place("/x"), Manner::default(), &budget).into_string();
    assert_eq!(html.matches("<tr").count(), budget::DELTA_LINES_OF_FILE);
    assert!(html.contains(words::TOO_MANY_LINES));
    budget.take(budget::DELTA_LINES, 0);
    assert!(
        !texts(b"", new.as_bytes(), place("/x"), Manner::default(), &budget)
            .into_string()
            .contains("<tr")
    );
}

#[test]
fn texts_without_common_lines_are_too_dear() {
    let many = |word: &str| (0..5_000).map(|n| format!("{word}{n}\n")).collect::<String>();
    assert!(!is_cheap(many("a").as_bytes(), many("b").as_bytes()));
    assert!(is_cheap(many("a").as_bytes(), (many("a") + "more\n").as_bytes()));
    assert!(is_cheap(b"", many("a").as_bytes()));
    let (old, new) = without_common_ends(b"a\nb\nx\nb\nc\n", b"a\nb\nb\nc\n");
    assert_eq!((old, new), (&b"x\nb\n"[..], &b"b\n"[..]));
    let (old, new) = without_common_ends(b"a1\nsame", b"a2\nsame");
    assert_eq!((old, new), (&b"a1\n"[..], &b"a2\n"[..]));
    assert_eq!(without_common_ends(b"xa", b"ya"), (&b"xa"[..], &b"ya"[..]));
}
