//! Texts of any language with their colours: all of each line is in its HTML, escaped, in little time. The first line is the
//! name of the file.

use sapwood_core::FsPath;

pub fn run(data: &[u8]) {
    let end = data.iter().position(|byte| *byte == b'\n').unwrap_or(data.len());
    let Ok(name) = std::str::from_utf8(&data[..end]) else { return };
    let path = format!("/{name}");
    let Ok(path) = FsPath::new(&path) else { return };
    let text = data.get(end + 1..).unwrap_or(&[]);
    for (line, html) in sapwood_web::coloured(path, text) {
        let mut plain = String::new();
        for part in html.split('<') {
            plain += part.split_once('>').map_or(part, |(_, rest)| rest);
        }
        for (escaped, c) in [("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&amp;", "&")] {
            plain = plain.replace(escaped, c);
        }
        assert_eq!(plain, line);
    }
}
