//! Files of accounts: what is read lets no user in without a secret.

use std::path::Path;

use sapwood_accounts::AccountsFile;
use sapwood_core::date::Timestamp;

pub fn run(data: &[u8]) {
    let file = AccountsFile::at(Path::new("accounts.toml"));
    let Ok(accounts) = file.parse(data) else { return };
    for (name, user) in accounts.users() {
        assert!(!name.contains(':'), "{name} cannot be sent");
        assert!(user.has_password() == accounts.password_hash(name).is_some());
        for secret in ["", "sapwood_", name.as_str()] {
            let identity = accounts.identity_by_token(name, secret, Timestamp(0));
            assert!(identity.is_none(), "{name} is let in by {secret:?}");
        }
    }
}
