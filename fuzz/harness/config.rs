//! Configuration files: parsing, and every way of asking.

use sapwood_core::config::{Case, Config, parse_i64};

/// Runs one input.
pub fn run(data: &[u8]) {
    for case in [Case::INSENSITIVE, Case::SENSITIVE] {
        let Ok(mut config) = Config::parse(data, case) else { continue };
        let sections: Vec<String> = config.sections().map(str::to_owned).collect();
        for section in &sections {
            let options: Vec<(String, Vec<u8>)> =
                config.options(section).map(|(n, v)| (n.to_owned(), v.into_owned())).collect();
            for (name, value) in options {
                assert_eq!(config.get_bytes(section, &name).as_deref(), Some(value.as_slice()));
                let _ = config.get_bool(section, &name, false);
                let _ = config.get_tristate(section, &name, "ask", None);
                let _ = config.get_i64(section, &name, 0);
                let _ = parse_i64(&name);
            }
        }
        let copy = config.clone();
        config.merge(&copy);
        assert_eq!(config.sections().count(), sections.len());
    }
}
