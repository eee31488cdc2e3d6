//! What all protocols share. Nothing here knows one of them: a protocol with a state of its own gives
//! the server a [`state::Protocol`].
//!
//! * [`settings`]: the settings that a server is started with.
//! * [`state`]: what all connections of a server have in common: caches, opened repositories (`open_repositories`),
//!   configuration files, the log.
//! * [`listener`]: accepts connections within limits and hands them to a protocol's handler; [`slots`]: those that are open;
//!   [`standing`]: which idle connections may be closed to make room for others.
//! * [`current`]: a value that a new configuration replaces; [`ending`]: what writes finishes before the server ends.
//! * [`lookup`]: from a URL or a path to a repository and how it may be used.
//! * [`access`]: the user, and whether something may be done: allow, ask for a name, deny.
//! * [`config`], read by [`svnserve_conf`] from [`files`]: what users may do, and how they
//!   authenticate.
//! * [`operation_log`]: the operational log; its lines are values, [`operation::Operation`].
//!   [`request_number`]: what leads from a reply to its line; `json_line`: lines as JSON.
//! * [`htpasswd`]: password files of httpd.
//! * [`request_memory`], [`login_delay`]: limits of requests and of wrong passwords.
//! * [`folders`]: the directories of this machine that no peer may see.
//! * [`metrics`]: counts and times for monitoring; `process`: what the process takes of the machine.
//! * [`users`]: the files and directories that know users, and how a password is checked; `tasks`: how a thread waits for them.
//! * `commit_source`: commits for webhooks and mail.
//! * [`search_indexer`]: the thread that keeps search indexes; `commit_queue`: how it gets to know of commits.
//! * `folder_names`: the names in folders of repositories; `served_repositories`: all repositories that are served; `status`: how they and the server are, for those who may ask.
//! * `fair`: permits that networks and users get in turn; [`spool`]: temporary files within a budget.

pub mod access;
pub mod accounts;
pub(crate) mod commit_queue;
pub(crate) mod commit_source;
pub mod config;
pub mod current;
pub mod ending;
pub(crate) mod fair;
pub mod files;
pub(crate) mod folder_names;
pub mod folders;
pub mod htdigest;
pub mod htpasswd;
pub(crate) mod json_line;
pub mod listener;
pub mod login_delay;
pub mod lookup;
pub mod metrics;
mod open_repositories;
pub mod operation;
pub mod operation_log;
pub mod principal;
mod process;
pub mod request_memory;
pub mod request_number;
mod rss;
pub mod search_indexer;
pub(crate) mod served_repositories;
pub mod settings;
pub mod slots;
pub mod spool;
pub mod standing;
pub mod state;
pub(crate) mod status;
pub mod svnserve_conf;
pub(crate) mod tasks;
pub mod users;
