//! The `If` header: which lock tokens a client presents, for which resources.
//!
//! [`tokens`] skips conditions with `Not`, entity tags and the grouping in lists: a token that is
//! presented counts for the resource that it is presented for (RFC 4918, 10.4). [`lists`] has all conditions, for
//! requests that depend on them.

/// A token with the resource that it belongs to: a URL or path, or none for the request's own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IfToken {
    /// The URL, as it is written.
    pub resource: Option<String>,
    /// The token, with its scheme.
    pub token: String,
}

/// The most tokens that are taken from one header.
const MAX_TOKENS: usize = 10_000;

/// The tokens of a header. Reading ends at the first malformed part.
#[must_use]
pub fn tokens(header: &str) -> Vec<IfToken> {
    let mut shown = Vec::new();
    let mut resource: Option<String> = None;
    let (mut rest, mut in_list, mut negated) = (header, false, false);
    loop {
        rest = rest.trim_start();
        let mut letters = rest.chars();
        let Some(first) = letters.next() else { break };
        let after = letters.as_str();
        match first {
            '(' => (in_list, negated, rest) = (true, false, after),
            ')' => (in_list, rest) = (false, after),
            '<' => {
                let Some((text, after)) = after.split_once('>') else { break };
                rest = after;
                if !in_list {
                    resource = Some(text.to_owned());
                } else if !std::mem::take(&mut negated) && shown.len() < MAX_TOKENS {
                    shown.push(IfToken { resource: resource.clone(), token: text.to_owned() });
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

/// A condition on a resource.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Condition {
    /// Whether the condition is negated.
    pub negated: bool,
    /// The state that the resource must have.
    pub state: State,
}

/// A state of a resource.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum State {
    /// It is locked, with this token.
    Token(String),
    /// It has this entity tag.
    Tag(String),
}

/// A list of conditions, all of which must hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct List {
    /// The resource, as in [`IfToken`].
    pub resource: Option<String>,
    /// The conditions.
    pub conditions: Vec<Condition>,
}

/// The lists of a header, of which one must hold; `None` when it is malformed.
#[must_use]
pub fn lists(header: &str) -> Option<Vec<List>> {
    let mut lists = Vec::new();
    let mut resource: Option<String> = None;
    let mut rest = header.trim_start();
    while !rest.is_empty() {
        if let Some(after) = rest.strip_prefix('<') {
            let (text, after) = after.split_once('>')?;
            resource = Some(text.to_owned());
            rest = after.trim_start();
        } else {
            let (conditions, after) = list(rest.strip_prefix('(')?)?;
            lists.push(List { resource: resource.clone(), conditions });
            rest = after.trim_start();
        }
        if lists.len() > MAX_TOKENS {
            return None;
        }
    }
    (!lists.is_empty()).then_some(lists)
}

/// Parses a list after its opening parenthesis; returns it and the rest.
fn list(text: &str) -> Option<(Vec<Condition>, &str)> {
    let (mut conditions, mut negated) = (Vec::new(), false);
    let mut rest = text.trim_start();
    loop {
        let state = if let Some(after) = rest.strip_prefix(')') {
            return (!negated && !conditions.is_empty()).then_some((conditions, after));
        } else if let Some(after) = rest.strip_prefix('<') {
            let (token, after) = after.split_once('>')?;
            rest = after;
            State::Token(token.to_owned())
        } else if let Some(after) = rest.strip_prefix('[') {
            let (tag, after) = after.split_once(']')?;
            rest = after;
            State::Tag(tag.trim().to_owned())
        } else {
            rest = rest.strip_prefix("Not").or_else(|| rest.strip_prefix("not"))?.trim_start();
            if std::mem::replace(&mut negated, true) {
                return None;
            }
            continue;
        };
        conditions.push(Condition { negated: std::mem::take(&mut negated), state });
        if conditions.len() > MAX_TOKENS {
            return None;
        }
        rest = rest.trim_start();
    }
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

    #[test]
    fn conditions() {
        let token =
            |negated, text: &str| Condition { negated, state: State::Token(text.to_owned()) };
        let tag = |negated, text: &str| Condition { negated, state: State::Tag(text.to_owned()) };
        let list = |resource: Option<&str>, conditions: Vec<Condition>| List {
            resource: resource.map(str::to_owned),
            conditions,
        };
        assert_eq!(
            lists("(<t:1> [\"e\"]) (Not <t:2>) </b> ( Not [W/\"x\"] )").unwrap(),
            [
                list(None, vec![token(false, "t:1"), tag(false, "\"e\"")]),
                list(None, vec![token(true, "t:2")]),
                list(Some("/b"), vec![tag(true, "W/\"x\"")]),
            ]
        );
        for bad in ["", "()", "(<a>", "(Not)", "(Not Not <a>)", "<a>", "x", "(x)", "(<a>) x"] {
            assert_eq!(lists(bad), None, "{bad}");
        }
    }

    proptest! {
        #[test]
        fn any_text_does_no_harm(text in ".{0,80}") {
            let _ = tokens(&text);
            let _ = lists(&text);
        }
    }
}
