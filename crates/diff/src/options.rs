//! What counts as a difference, and how much is shown around it.

use sapwood_core::Exact;
use sapwood_core::config::parse_i64;
use sapwood_core::{ErrorCode, SvnError, SvnResult};

/// Which white space within lines counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum IgnoreSpace {
    /// All of it.
    #[default]
    None,
    /// Whether there is some, not how much (`-b`).
    Change,
    /// None of it (`-w`).
    All,
}

/// Options of a diff; those that `-x` sets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// White space that does not count.
    pub ignore_space: IgnoreSpace,
    /// Whether all line endings are one.
    pub ignore_eol_style: bool,
    /// Whether hunk headers name the function that they are in (`-p`).
    pub show_c_function: bool,
    /// How many unchanged lines are shown around changes.
    pub context: usize,
}

impl Options {
    /// The number of context lines that unified diffs have by default.
    pub const DEFAULT_CONTEXT: usize = 3;

    /// Parses the arguments of `-x`, split at white space: `-b`, `-w`, `-p`, `-u`, `-U N` and
    /// their long forms.
    ///
    /// # Errors
    /// `E200016` for anything else, `E200004` for a context that is not a number.
    pub fn parse<S: AsRef<str>>(args: &[S]) -> SvnResult<Self> {
        let mut options = Self::default();
        let mut args = args.iter().map(AsRef::as_ref);
        while let Some(arg) = args.next() {
            if let Some(long) = arg.strip_prefix("--") {
                if long.is_empty() {
                    return options.no_more(args.next());
                }
                options.long(long, &mut args)?;
            } else if let Some(letters) = arg.strip_prefix('-') {
                options.short(letters, &mut args)?;
            } else {
                return options.no_more(Some(arg));
            }
        }
        Ok(options)
    }

    fn no_more(self, arg: Option<&str>) -> SvnResult<Self> {
        match arg {
            None => Ok(self),
            Some(arg) => Err(SvnError::new(
                ErrorCode::INVALID_DIFF_OPTION,
                format!("Invalid argument '{arg}' in diff options"),
            )),
        }
    }

    fn long<'a>(&mut self, long: &str, args: &mut impl Iterator<Item = &'a str>) -> SvnResult<()> {
        let (name, value) = match long.split_once('=') {
            Some((name, value)) => (name, Some(value)),
            None => (long, None),
        };
        let letter = match name {
            "ignore-space-change" => 'b',
            "ignore-all-space" => 'w',
            "ignore-eol-style" => 'e',
            "show-c-function" => 'p',
            "unified" => 'u',
            "context" => 'U',
            _ => return Err(refused(format!("invalid option: --{long}"))),
        };
        match (letter, value) {
            ('U', Some(value)) => self.set_context(value),
            ('U', None) => match args.next() {
                Some(value) => self.set_context(value),
                None => Err(refused(format!("missing argument: --{long}"))),
            },
            (_, Some(_)) => Err(refused(format!("erroneous argument: --{long}"))),
            (letter, None) => {
                self.set(letter);
                Ok(())
            }
        }
    }

    fn short<'a>(
        &mut self,
        letters: &str,
        args: &mut impl Iterator<Item = &'a str>,
    ) -> SvnResult<()> {
        if letters.is_empty() {
            return Err(refused("invalid option: ".to_owned()));
        }
        for (at, letter) in letters.char_indices() {
            match letter {
                'b' | 'w' | 'p' | 'u' => self.set(letter),
                'U' => {
                    let value = match letters.get(at.plus(1)..) {
                        Some("") | None => args.next(),
                        rest => rest,
                    };
                    let value = value.ok_or_else(|| refused("missing argument: U".to_owned()))?;
                    return self.set_context(value);
                }
                other => return Err(refused(format!("invalid option character: {other}"))),
            }
        }
        Ok(())
    }

    /// Sets what a letter without value stands for.
    fn set(&mut self, letter: char) {
        match letter {
            'b' if self.ignore_space == IgnoreSpace::None => {
                self.ignore_space = IgnoreSpace::Change;
            }
            'w' => self.ignore_space = IgnoreSpace::All,
            'e' => self.ignore_eol_style = true,
            'p' => self.show_c_function = true,
            _ => {}
        }
    }

    fn set_context(&mut self, value: &str) -> SvnResult<()> {
        let number = parse_i64(value)?;
        if i32::try_from(number).is_err() {
            return Err(SvnError::new(
                ErrorCode::INCORRECT_PARAMS,
                format!("Number '{value}' is out of range '[{}, {}]'", i32::MIN, i32::MAX),
            ));
        }
        // A negative number stands for the default.
        self.context = usize::try_from(number).unwrap_or(Self::DEFAULT_CONTEXT);
        Ok(())
    }
}

impl Default for Options {
    fn default() -> Self {
        Self {
            ignore_space: IgnoreSpace::None,
            ignore_eol_style: false,
            show_c_function: false,
            context: Self::DEFAULT_CONTEXT,
        }
    }
}

/// The reference's sentence ends in a newline of its own, so that an empty line follows it.
fn refused(why: String) -> SvnError {
    SvnError::new(ErrorCode::INVALID_DIFF_OPTION, format!("{why}\n"))
        .wrap(ErrorCode::INVALID_DIFF_OPTION, "Error in options to internal diff")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accepted() {
        let parse = |args: &[&str]| Options::parse(args).unwrap();
        assert_eq!(parse(&[]), Options::default());
        assert_eq!(parse(&["-u", "--unified", "--"]), Options::default());
        assert_eq!(parse(&["-wb"]).ignore_space, IgnoreSpace::All);
        assert_eq!(parse(&["-b", "--ignore-all-space"]).ignore_space, IgnoreSpace::All);
        assert_eq!(parse(&["--ignore-space-change"]).ignore_space, IgnoreSpace::Change);
        assert!(parse(&["--ignore-eol-style"]).ignore_eol_style);
        assert!(parse(&["-pU0"]).show_c_function);
        for args in [&["-U", "7"][..], &["-U7"], &["-uU7"], &["--context=7"], &["--context", "7"]] {
            assert_eq!(parse(args).context, 7);
        }
        assert_eq!(parse(&["-U-1"]).context, 3);
    }

    /// As `svn diff -x` of the reference says it.
    #[test]
    fn refused_in_the_words_of_the_reference() {
        let refuse = |args: &[&str]| {
            Options::parse(args)
                .unwrap_err()
                .to_string()
                .replace("E200016: Error in options to internal diff; E200016: ", "")
                .trim_end_matches('\n')
                .to_owned()
        };
        for (args, words) in [
            (&["-z"][..], "invalid option character: z"),
            (&["--foo"], "invalid option: --foo"),
            (&["--contex", "1"], "invalid option: --contex"),
            (&["-U"], "missing argument: U"),
            (&["--unified=3"], "erroneous argument: --unified=3"),
            (&["-"], "invalid option: "),
            (&["foo"], "E200016: Invalid argument 'foo' in diff options"),
            (&["-bw", "foo"], "E200016: Invalid argument 'foo' in diff options"),
            (&["-Ux"], "E200004: Could not convert 'x' into a number"),
        ] {
            assert_eq!(refuse(args), words);
        }
    }
}
