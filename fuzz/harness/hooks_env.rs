//! `hooks-env`: what a hook is given can be given, and comes from its own section or the default one.

use sapwood_repos::hooks::read_environment;

/// Runs one input.
pub fn run(data: &[u8]) {
    for hook in ["pre-commit", "default", "start-commit", ""] {
        let Ok(environment) = read_environment(data, "hooks-env", hook) else { continue };
        for (name, value) in &environment {
            assert!(!name.is_empty() && !name.contains(['\0', '=']) && !value.contains('\0'));
        }
        // The system takes it.
        let mut command = std::process::Command::new("/bin/true");
        command.env_clear().envs(environment.iter().map(|(name, value)| (name, value)));
        assert_eq!(command.get_envs().count(), {
            let names: std::collections::BTreeSet<_> = environment.iter().map(|e| &e.0).collect();
            names.len()
        });
    }
}
