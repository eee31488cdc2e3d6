//! The `If` header: which lock tokens a client shows, for which resources.
//!
//! Conditions with `Not`, entity tags and lists that must all hold are read over: a token that is
//! shown counts for the resource that it is shown for (RFC 4918, 10.4).

/// A token with the resource that it belongs to: a URL or path, or none for the request's own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shown {
    /// The URL, as it stands there.
    pub resource: Option<String>,
    /// The token, with its scheme.
    pub token: String,
}

/// Most tokens that are taken from one header.
const MAX_TOKENS: usize = 10_000;

/// The tokens of a header. What is malformed ends the reading.
#[must_use]
pub fn tokens(header: &str) -> Vec<Shown> {
    let mut shown = Vec::new();
    let mut resource: Option<String> = None;
    let (mut rest, mut in_list, mut negated) = (header, false, false);
    loop {
        rest = rest.trim_start();
        let Some(first) = rest.chars().next() else { break };
        let after = rest.get(first.len_utf8()..).unwrap_or_default();
        match first {
            '(' => (in_list, negated, rest) = (true, false, after),
            ')' => (in_list, rest) = (false, after),
            '<' => {
                let Some((text, after)) = after.split_once('>') else { break };
                rest = after;
                if !in_list {
                    resource = Some(text.to_owned());
                } else if !std::mem::take(&mut negated) && shown.len() < MAX_TOKENS {
                    shown.push(Shown { resource: resource.clone(), token: text.to_owned() });
                }
            }
            '[' => {
                let Some((_, after)) = after.split_once(']') else { break };
                negated = false;
                rest = after;
            }
            _ => match rest.strip_prefix("Not").or_else(|| rest.strip_prefix("not")) {
                Some(after) => (negated, rest) = (true, after),
                None => break,
            },
        }
    }
    shown
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn forms() {
        let of = |text: &str| {
            tokens(text)
                .into_iter()
                .map(|s| (s.resource.unwrap_or_default(), s.token))
                .collect::<Vec<_>>()
        };
        let pair = |a: &str, b: &str| (a.to_owned(), b.to_owned());
        assert_eq!(of("(<opaquelocktoken:1>)"), [pair("", "opaquelocktoken:1")]);
        assert_eq!(
            of("<http://h/a> (<t:1> [\"e\"]) (Not <t:2>) <http://h/b> (<t:3>)"),
            [pair("http://h/a", "t:1"), pair("http://h/b", "t:3")]
        );
        assert_eq!(of("(<t:1"), []);
        assert_eq!(of("rubbish (<t:1>)"), []);
    }

    proptest! {
        #[test]
        fn any_text_does_no_harm(text in ".{0,80}") {
            let _ = tokens(&text);
        }
    }
}
