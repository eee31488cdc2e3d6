//! Password files of httpd for Digest, as `htdigest` writes them: `user:realm:hash` a line.

use std::collections::HashMap;

/// A password file.
#[derive(Debug, Default)]
pub struct Htdigest {
    users: HashMap<(String, String), String>,
}

impl Htdigest {
    /// Reads the text of a file. Malformed lines are skipped.
    #[must_use]
    pub fn parse(text: &str) -> Self {
        let mut users = HashMap::new();
        for line in text.lines().map(str::trim).filter(|line| !line.starts_with('#')) {
            let mut parts = line.splitn(3, ':').map(str::to_owned);
            if let (Some(user), Some(realm), Some(hash)) =
                (parts.next(), parts.next(), parts.next())
                && hash.len() == 32
                && hash.bytes().all(|b| b.is_ascii_hexdigit())
            {
                users.entry((user, realm)).or_insert_with(|| hash.to_ascii_lowercase());
            }
        }
        Self { users }
    }

    /// The MD5 of `user:realm:password`, in hexadecimal digits.
    #[must_use]
    pub fn hash(&self, user: &str, realm: &str) -> Option<&str> {
        self.users.get(&(user.to_owned(), realm.to_owned())).map(String::as_str)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines() {
        let hash = "939e7578ed9e3c518a452acee763bce9";
        let text =
            format!("# x\nMufasa:a realm:{hash}\nMufasa:a realm:{}\nbad:line\n", "0".repeat(32));
        let file = Htdigest::parse(&text);
        assert_eq!(file.hash("Mufasa", "a realm"), Some(hash));
        assert_eq!(file.hash("Mufasa", "other"), None);
        assert_eq!(file.hash("bad", "line"), None);
    }
}
