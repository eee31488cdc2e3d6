//! What an error means to a caller that goes on after it: the questions above the filesystem that are
//! answered by a number, each with its name, in one place.
//!
//! An error that came over a wire has nothing but its number, and the session of a repository on this
//! machine gives the same errors as that of a server; so callers of sessions ask here. Errors of a
//! crate's own are matched by variant.

use super::{ErrorCode, SvnError};

macro_rules! meanings {
    ($($(#[$doc:meta])* $name:ident = $($code:ident)|+;)*) => {
        impl SvnError {
            $(
                $(#[$doc])*
                #[must_use]
                pub fn $name(&self) -> bool {
                    matches!(self.code(), $(ErrorCode::$code)|+)
                }
            )*
        }

        /// Each question by name, with the numbers that answer it with yes.
        #[cfg(test)]
        const ALL: &[(&str, fn(&SvnError) -> bool, &[ErrorCode])] =
            &[$((stringify!($name), SvnError::$name, &[$(ErrorCode::$code),+])),*];
    };
}

meanings! {
    /// The user or the caller stopped the work.
    is_cancelled = CANCELLED;
    /// A receiver has had enough: what was sent until then is valid.
    is_ceased = CEASE_INVOCATION;
    /// The reader of our output has gone.
    is_closed_pipe = IO_PIPE_WRITE_ERROR;
    /// The client or the server has hung up.
    is_hang_up = RA_SVN_CONNECTION_CLOSED;
    /// The server does not know a request of a later protocol.
    is_not_implemented = RA_NOT_IMPLEMENTED;
    /// The server, or the repository behind it, cannot do what it was asked for.
    is_unsupported = UNSUPPORTED_FEATURE;
    /// The server knows neither the request nor what it asks for.
    is_not_offered = RA_NOT_IMPLEMENTED | UNSUPPORTED_FEATURE;
    /// There is no node at a path of a revision.
    is_no_node = FS_NOT_FOUND;
    /// There is nothing at a path of a revision, or a file above it.
    is_no_path = FS_NOT_FOUND | FS_NOT_DIRECTORY;
    /// Another commit came in between.
    is_conflict = FS_CONFLICT;
    /// There is a node where one was to be made.
    is_node_there = FS_ALREADY_EXISTS;
    /// The rules for paths let the user not read this.
    is_unreadable = RA_NOT_AUTHORIZED | RA_DAV_FORBIDDEN;
    /// A URL is not that of a repository.
    is_no_repository = RA_ILLEGAL_URL;
    /// A value that should be mergeinfo is none.
    is_bad_mergeinfo = MERGEINFO_PARSE_ERROR;
    /// There is no working copy at or above a path.
    is_no_working_copy = WC_NOT_WORKING_COPY;
    /// A working copy has no node of this name.
    is_no_wc_node = WC_PATH_NOT_FOUND;
    /// A path is neither in a working copy, nor is its working copy one.
    is_not_versioned = WC_PATH_NOT_FOUND | WC_NOT_WORKING_COPY;
    /// A target is there neither in the working copy nor in the repository.
    is_no_target = WC_PATH_NOT_FOUND | FS_NOT_FOUND;
    /// A node is not there in the other revision that was asked for.
    is_not_there_then = CLIENT_UNRELATED_RESOURCES | FS_NOT_FOUND;
    /// A target is neither in a working copy nor in a repository.
    is_nowhere = WC_PATH_NOT_FOUND | RA_ILLEGAL_URL;
    /// The rules for paths hide this, whichever part of the server says so.
    is_hidden = AUTHZ_UNREADABLE | RA_NOT_AUTHORIZED | RA_DAV_FORBIDDEN;
    /// Something is there under a name that was to be added.
    is_entry_there = ENTRY_EXISTS;
    /// Another client changed a revision property in between.
    is_other_value = FS_PROP_BASEVALUE_MISMATCH;
}

impl SvnError {
    /// The same of something in the chain: `error.any(SvnError::is_ceased)`.
    #[must_use]
    pub fn any(&self, meaning: fn(&Self) -> bool) -> bool {
        self.chain().any(meaning)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// No question answers for a number of another one by a slip in the table.
    #[test]
    fn questions_are_answered_by_their_numbers_only() {
        for (name, meaning, codes) in ALL {
            for (_, _, others) in ALL {
                for code in *others {
                    let error = SvnError::new(*code, "");
                    assert_eq!(meaning(&error), codes.contains(code), "{name} {code}");
                    let wrapped = error.wrap(ErrorCode::BAD_DATE, "");
                    assert!(!meaning(&wrapped), "{name} looks at the outermost number");
                    assert_eq!(wrapped.any(*meaning), codes.contains(code), "{name} {code}");
                }
            }
        }
    }
}
