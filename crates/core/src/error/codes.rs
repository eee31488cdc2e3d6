//! The table of E-codes.
//!
//! Numbers and sentences are contract: scripts match the `E160013` and the words that the
//! reference's programs print for it. Names are those of the reference without their prefix.
//! Every category has 5000 numbers, starting at 125000.

use super::ErrorCode;

macro_rules! codes {
    ($($name:ident = $number:literal, $message:literal;)*) => {
        impl ErrorCode {
            $(
                #[doc = concat!("`E", $number, "`: `", $message, "`.")]
                pub const $name: Self = Self($number);
            )*

            /// The sentence that stands for an error which came without one.
            #[must_use]
            pub const fn generic_message(self) -> &'static str {
                match self.0 {
                    $($number => $message,)*
                    _ => "Unknown error",
                }
            }

            /// The name of the code as a constant of this type, for logs and tests.
            #[must_use]
            pub const fn name(self) -> Option<&'static str> {
                match self.0 {
                    $($number => Some(stringify!($name)),)*
                    _ => None,
                }
            }
        }
    };
}

codes! {
    // System errors that the reference's messages lean on, as Linux numbers them.
    ENOENT = 2, "No such file or directory";
    EACCES = 13, "Permission denied";
    EEXIST = 17, "File exists";
    ENOTDIR = 20, "Not a directory";
    EISDIR = 21, "Is a directory";
    EINVAL = 22, "Invalid argument";
    ENOSPC = 28, "No space left on device";
    EPIPE = 32, "Broken pipe";
    // The portable runtime's own numbers.
    APR_EOF = 70014, "End of file found";
    // Warnings.
    WARNING = 120001, "Warning";
    // Values that are not well formed.
    BAD_CONTAINING_POOL = 125000, "Bad parent pool passed to svn_make_pool()";
    BAD_FILENAME = 125001, "Bogus filename";
    BAD_URL = 125002, "Bogus URL";
    BAD_DATE = 125003, "Bogus date";
    BAD_MIME_TYPE = 125004, "Bogus mime-type";
    BAD_PROPERTY_VALUE = 125005, "Wrong or unexpected property value";
    BAD_VERSION_FILE_FORMAT = 125006, "Version file format not correct";
    BAD_RELATIVE_PATH = 125007, "Path is not an immediate child of the specified directory";
    BAD_UUID = 125008, "Bogus UUID";
    BAD_CONFIG_VALUE = 125009, "Invalid configuration value";
    BAD_SERVER_SPECIFICATION = 125010, "Bogus server specification";
    BAD_CHECKSUM_KIND = 125011, "Unsupported checksum type";
    BAD_CHECKSUM_PARSE = 125012, "Invalid character in hex checksum";
    BAD_TOKEN = 125013, "Unknown string value of token";
    BAD_CHANGELIST_NAME = 125014, "Invalid changelist name";
    BAD_ATOMIC = 125015, "Invalid atomic";
    BAD_COMPRESSION_METHOD = 125016, "Invalid compression method";
    BAD_PROPERTY_VALUE_EOL = 125017, "Unexpected line ending in the property value";
    // XML.
    XML_ATTRIB_NOT_FOUND = 130000, "No such XML tag attribute";
    XML_MISSING_ANCESTRY = 130001, "<delta-pkg> is missing ancestry";
    XML_UNKNOWN_ENCODING = 130002, "Unrecognized binary data encoding; can't decode";
    XML_MALFORMED = 130003, "XML data was not well-formed";
    XML_UNESCAPABLE_DATA = 130004, "Data cannot be safely XML-escaped";
    XML_UNEXPECTED_ELEMENT = 130005, "Unexpected XML element found";
    // Files and pipes.
    IO_INCONSISTENT_EOL = 135000, "Inconsistent line ending style";
    IO_UNKNOWN_EOL = 135001, "Unrecognized line ending style";
    IO_CORRUPT_EOL = 135002, "Line endings other than expected";
    IO_UNIQUE_NAMES_EXHAUSTED = 135003, "Ran out of unique names";
    IO_PIPE_FRAME_ERROR = 135004, "Framing error in pipe protocol";
    IO_PIPE_READ_ERROR = 135005, "Read error in pipe";
    IO_WRITE_ERROR = 135006, "Write error";
    IO_PIPE_WRITE_ERROR = 135007, "Write error in pipe";
    // Streams.
    STREAM_UNEXPECTED_EOF = 140000, "Unexpected EOF on stream";
    STREAM_MALFORMED_DATA = 140001, "Malformed stream data";
    STREAM_UNRECOGNIZED_DATA = 140002, "Unrecognized stream data";
    STREAM_SEEK_NOT_SUPPORTED = 140003, "Stream doesn't support seeking";
    STREAM_NOT_SUPPORTED = 140004, "Stream doesn't support this capability";
    // Nodes.
    NODE_UNKNOWN_KIND = 145000, "Unknown svn_node_kind";
    NODE_UNEXPECTED_KIND = 145001, "Unexpected node kind found";
    // Entries of a directory.
    ENTRY_NOT_FOUND = 150000, "Can't find an entry";
    ENTRY_EXISTS = 150002, "Entry already exists";
    ENTRY_MISSING_REVISION = 150003, "Entry has no revision";
    ENTRY_MISSING_URL = 150004, "Entry has no URL";
    ENTRY_ATTRIBUTE_INVALID = 150005, "Entry has an invalid attribute";
    ENTRY_FORBIDDEN = 150006, "Can't create an entry for a forbidden name";
    // Working copies.
    WC_OBSTRUCTED_UPDATE = 155000, "Obstructed update";
    WC_UNWIND_MISMATCH = 155001, "Mismatch popping the WC unwind stack";
    WC_UNWIND_EMPTY = 155002, "Attempt to pop empty WC unwind stack";
    WC_UNWIND_NOT_EMPTY = 155003, "Attempt to unlock with non-empty unwind stack";
    WC_LOCKED = 155004, "Attempted to lock an already-locked dir";
    WC_NOT_LOCKED = 155005, "Working copy not locked; this is probably a bug, please report";
    WC_INVALID_LOCK = 155006, "Invalid lock";
    WC_NOT_WORKING_COPY = 155007, "Path is not a working copy directory";
    WC_NOT_FILE = 155008, "Path is not a working copy file";
    WC_BAD_ADM_LOG = 155009, "Problem running log";
    WC_PATH_NOT_FOUND = 155010, "Can't find a working copy path";
    WC_NOT_UP_TO_DATE = 155011, "Working copy is not up-to-date";
    WC_LEFT_LOCAL_MOD = 155012, "Left locally modified or unversioned files";
    WC_SCHEDULE_CONFLICT = 155013, "Unmergeable scheduling requested on an entry";
    WC_PATH_FOUND = 155014, "Found a working copy path";
    WC_FOUND_CONFLICT = 155015, "A conflict in the working copy obstructs the current operation";
    WC_CORRUPT = 155016, "Working copy is corrupt";
    WC_CORRUPT_TEXT_BASE = 155017, "Working copy text base is corrupt";
    WC_NODE_KIND_CHANGE = 155018, "Cannot change node kind";
    WC_INVALID_OP_ON_CWD = 155019, "Invalid operation on the current working directory";
    WC_BAD_ADM_LOG_START = 155020, "Problem on first log entry in a working copy";
    WC_UNSUPPORTED_FORMAT = 155021, "Unsupported working copy format";
    WC_BAD_PATH = 155022, "Path syntax not supported in this context";
    WC_INVALID_SCHEDULE = 155023, "Invalid schedule";
    WC_INVALID_RELOCATION = 155024, "Invalid relocation";
    WC_INVALID_SWITCH = 155025, "Invalid switch";
    WC_MISMATCHED_CHANGELIST = 155026, "Changelist doesn't match";
    WC_CONFLICT_RESOLVER_FAILURE = 155027, "Conflict resolution failed";
    WC_COPYFROM_PATH_NOT_FOUND = 155028, "Failed to locate 'copyfrom' path in working copy";
    WC_CHANGELIST_MOVE = 155029, "Moving a path from one changelist to another";
    WC_CANNOT_DELETE_FILE_EXTERNAL = 155030, "Cannot delete a file external";
    WC_CANNOT_MOVE_FILE_EXTERNAL = 155031, "Cannot move a file external";
    WC_DB_ERROR = 155032, "Something's amiss with the wc sqlite database";
    WC_MISSING = 155033, "The working copy is missing";
    WC_NOT_SYMLINK = 155034, "The specified node is not a symlink";
    WC_PATH_UNEXPECTED_STATUS = 155035, "The specified path has an unexpected status";
    WC_UPGRADE_REQUIRED = 155036, "The working copy needs to be upgraded";
    WC_CLEANUP_REQUIRED = 155037, "Previous operation has not finished; run 'cleanup' if it was interrupted";
    WC_INVALID_OPERATION_DEPTH = 155038, "The operation cannot be performed with the specified depth";
    WC_PATH_ACCESS_DENIED = 155039, "Couldn't open a working copy file because access was denied";
    WC_MIXED_REVISIONS = 155040, "Mixed-revision working copy was found but not expected";
    WC_DUPLICATE_EXTERNALS_TARGET = 155041, "Duplicate targets in svn:externals property";
    // Of Subversion 1.15.
    WC_INCOMPATIBLE_SETTINGS = 155042, "Incompatible working copy settings";
    WC_PRISTINE_DEHYDRATED = 155044, "No local pristine contents for a file";
    // The versioned filesystem.
    FS_GENERAL = 160000, "General filesystem error";
    FS_CLEANUP = 160001, "Error closing filesystem";
    FS_ALREADY_OPEN = 160002, "Filesystem is already open";
    FS_NOT_OPEN = 160003, "Filesystem is not open";
    FS_CORRUPT = 160004, "Filesystem is corrupt";
    FS_PATH_SYNTAX = 160005, "Invalid filesystem path syntax";
    FS_NO_SUCH_REVISION = 160006, "Invalid filesystem revision number";
    FS_NO_SUCH_TRANSACTION = 160007, "Invalid filesystem transaction name";
    FS_NO_SUCH_ENTRY = 160008, "Filesystem directory has no such entry";
    FS_NO_SUCH_REPRESENTATION = 160009, "Filesystem has no such representation";
    FS_NO_SUCH_STRING = 160010, "Filesystem has no such string";
    FS_NO_SUCH_COPY = 160011, "Filesystem has no such copy";
    FS_TRANSACTION_NOT_MUTABLE = 160012, "The specified transaction is not mutable";
    FS_NOT_FOUND = 160013, "Filesystem has no item";
    FS_ID_NOT_FOUND = 160014, "Filesystem has no such node-rev-id";
    FS_NOT_ID = 160015, "String does not represent a node or node-rev-id";
    FS_NOT_DIRECTORY = 160016, "Name does not refer to a filesystem directory";
    FS_NOT_FILE = 160017, "Name does not refer to a filesystem file";
    FS_NOT_SINGLE_PATH_COMPONENT = 160018, "Name is not a single path component";
    FS_NOT_MUTABLE = 160019, "Attempt to change immutable filesystem node";
    FS_ALREADY_EXISTS = 160020, "Item already exists in filesystem";
    FS_ROOT_DIR = 160021, "Attempt to remove or recreate fs root dir";
    FS_NOT_TXN_ROOT = 160022, "Object is not a transaction root";
    FS_NOT_REVISION_ROOT = 160023, "Object is not a revision root";
    FS_CONFLICT = 160024, "Merge conflict during commit";
    FS_REP_CHANGED = 160025, "A representation vanished or changed between reads";
    FS_REP_NOT_MUTABLE = 160026, "Tried to change an immutable representation";
    FS_MALFORMED_SKEL = 160027, "Malformed skeleton data";
    FS_TXN_OUT_OF_DATE = 160028, "Transaction is out of date";
    FS_BERKELEY_DB = 160029, "Berkeley DB error";
    FS_BERKELEY_DB_DEADLOCK = 160030, "Berkeley DB deadlock error";
    FS_TRANSACTION_DEAD = 160031, "Transaction is dead";
    FS_TRANSACTION_NOT_DEAD = 160032, "Transaction is not dead";
    FS_UNKNOWN_FS_TYPE = 160033, "Unknown FS type";
    FS_NO_USER = 160034, "No user associated with filesystem";
    FS_PATH_ALREADY_LOCKED = 160035, "Path is already locked";
    FS_PATH_NOT_LOCKED = 160036, "Path is not locked";
    FS_BAD_LOCK_TOKEN = 160037, "Lock token is incorrect";
    FS_NO_LOCK_TOKEN = 160038, "No lock token provided";
    FS_LOCK_OWNER_MISMATCH = 160039, "Username does not match lock owner";
    FS_NO_SUCH_LOCK = 160040, "Filesystem has no such lock";
    FS_LOCK_EXPIRED = 160041, "Lock has expired";
    FS_OUT_OF_DATE = 160042, "Item is out of date";
    FS_UNSUPPORTED_FORMAT = 160043, "Unsupported FS format";
    FS_REP_BEING_WRITTEN = 160044, "Representation is being written";
    FS_TXN_NAME_TOO_LONG = 160045, "The generated transaction name is too long";
    FS_NO_SUCH_NODE_ORIGIN = 160046, "Filesystem has no such node origin record";
    FS_UNSUPPORTED_UPGRADE = 160047, "Filesystem upgrade is not supported";
    FS_NO_SUCH_CHECKSUM_REP = 160048, "Filesystem has no such checksum-representation index record";
    FS_PROP_BASEVALUE_MISMATCH = 160049, "Property value in filesystem differs from the provided base value";
    FS_INCORRECT_EDITOR_COMPLETION = 160050, "The filesystem editor completion process was not followed";
    FS_PACKED_REVPROP_READ_FAILURE = 160051, "A packed revprop could not be read";
    FS_REVPROP_CACHE_INIT_FAILURE = 160052, "Could not initialize the revprop caching infrastructure.";
    FS_MALFORMED_TXN_ID = 160053, "Malformed transaction ID string.";
    FS_INDEX_CORRUPTION = 160054, "Corrupt index file.";
    FS_INDEX_REVISION = 160055, "Revision not covered by index.";
    FS_INDEX_OVERFLOW = 160056, "Item index too large for this revision.";
    FS_CONTAINER_INDEX = 160057, "Container index out of range.";
    FS_INDEX_INCONSISTENT = 160058, "Index files are inconsistent.";
    FS_LOCK_OPERATION_FAILED = 160059, "Lock operation failed";
    FS_UNSUPPORTED_TYPE = 160060, "Unsupported FS type";
    FS_CONTAINER_SIZE = 160061, "Container capacity exceeded.";
    FS_MALFORMED_NODEREV_ID = 160062, "Malformed node revision ID string.";
    FS_INVALID_GENERATION = 160063, "Invalid generation number data.";
    FS_CORRUPT_REVPROP_MANIFEST = 160064, "Revprop manifest corrupt.";
    FS_CORRUPT_PROPLIST = 160065, "Property list is corrupt.";
    FS_AMBIGUOUS_CHECKSUM_REP = 160067, "Content checksums supposedly match but content does not.";
    FS_UNRECOGNIZED_IOCTL_CODE = 160068, "Unrecognized filesystem I/O control code";
    FS_REP_SHARING_NOT_ALLOWED = 160069, "Rep-sharing is not allowed.";
    FS_REP_SHARING_NOT_SUPPORTED = 160070, "Rep-sharing is not supported.";
    // Repositories.
    REPOS_LOCKED = 165000, "The repository is locked, perhaps for db recovery";
    REPOS_HOOK_FAILURE = 165001, "A repository hook failed";
    REPOS_BAD_ARGS = 165002, "Incorrect arguments supplied";
    REPOS_NO_DATA_FOR_REPORT = 165003, "A report cannot be generated because no data was supplied";
    REPOS_BAD_REVISION_REPORT = 165004, "Bogus revision report";
    REPOS_UNSUPPORTED_VERSION = 165005, "Unsupported repository version";
    REPOS_DISABLED_FEATURE = 165006, "Disabled repository feature";
    REPOS_POST_COMMIT_HOOK_FAILED = 165007, "Error running post-commit hook";
    REPOS_POST_LOCK_HOOK_FAILED = 165008, "Error running post-lock hook";
    REPOS_POST_UNLOCK_HOOK_FAILED = 165009, "Error running post-unlock hook";
    REPOS_UNSUPPORTED_UPGRADE = 165010, "Repository upgrade is not supported";
    // Access to repositories, any method.
    RA_ILLEGAL_URL = 170000, "Bad URL passed to RA layer";
    RA_NOT_AUTHORIZED = 170001, "Authorization failed";
    RA_UNKNOWN_AUTH = 170002, "Unknown authorization method";
    RA_NOT_IMPLEMENTED = 170003, "Repository access method not implemented";
    RA_OUT_OF_DATE = 170004, "Item is out of date";
    RA_NO_REPOS_UUID = 170005, "Repository has no UUID";
    RA_UNSUPPORTED_ABI_VERSION = 170006, "Unsupported RA plugin ABI version";
    RA_NOT_LOCKED = 170007, "Path is not locked";
    RA_PARTIAL_REPLAY_NOT_SUPPORTED = 170008, "Server can only replay from the root of a repository";
    RA_UUID_MISMATCH = 170009, "Repository UUID does not match expected UUID";
    RA_REPOS_ROOT_URL_MISMATCH = 170010, "Repository root URL does not match expected root URL";
    RA_SESSION_URL_MISMATCH = 170011, "Session URL does not match expected session URL";
    RA_CANNOT_CREATE_TUNNEL = 170012, "Can't create tunnel";
    RA_CANNOT_CREATE_SESSION = 170013, "Can't create session";
    // Access over WebDAV.
    RA_DAV_SOCK_INIT = 175000, "RA layer failed to init socket layer";
    RA_DAV_CREATING_REQUEST = 175001, "RA layer failed to create HTTP request";
    RA_DAV_REQUEST_FAILED = 175002, "RA layer request failed";
    RA_DAV_OPTIONS_REQ_FAILED = 175003, "RA layer didn't receive requested OPTIONS info";
    RA_DAV_PROPS_NOT_FOUND = 175004, "RA layer failed to fetch properties";
    RA_DAV_ALREADY_EXISTS = 175005, "RA layer file already exists";
    RA_DAV_INVALID_CONFIG_VALUE = 175006, "Invalid configuration value";
    RA_DAV_PATH_NOT_FOUND = 175007, "HTTP Path Not Found";
    RA_DAV_PROPPATCH_FAILED = 175008, "Failed to execute WebDAV PROPPATCH";
    RA_DAV_MALFORMED_DATA = 175009, "Malformed network data";
    RA_DAV_RESPONSE_HEADER_BADNESS = 175010, "Unable to extract data from response header";
    RA_DAV_RELOCATED = 175011, "Repository has been moved";
    RA_DAV_CONN_TIMEOUT = 175012, "Connection timed out";
    RA_DAV_FORBIDDEN = 175013, "URL access forbidden for unknown reason";
    RA_DAV_PRECONDITION_FAILED = 175014, "The server state conflicts with the requested preconditions";
    RA_DAV_METHOD_NOT_ALLOWED = 175015, "The URL doesn't allow the requested method";
    // Access over file://.
    RA_LOCAL_REPOS_NOT_FOUND = 180000, "Couldn't find a repository";
    RA_LOCAL_REPOS_OPEN_FAILED = 180001, "Couldn't open a repository";
    // svndiff.
    SVNDIFF_INVALID_HEADER = 185000, "Svndiff data has invalid header";
    SVNDIFF_CORRUPT_WINDOW = 185001, "Svndiff data contains corrupt window";
    SVNDIFF_BACKWARD_VIEW = 185002, "Svndiff data contains backward-sliding source view";
    SVNDIFF_INVALID_OPS = 185003, "Svndiff data contains invalid instruction";
    SVNDIFF_UNEXPECTED_END = 185004, "Svndiff data ends unexpectedly";
    SVNDIFF_INVALID_COMPRESSED_DATA = 185005, "Svndiff compressed data is invalid";
    // The http server module.
    APMOD_MISSING_PATH_TO_FS = 190000, "Apache has no path to an SVN filesystem";
    APMOD_MALFORMED_URI = 190001, "Apache got a malformed URI";
    APMOD_ACTIVITY_NOT_FOUND = 190002, "Activity not found";
    APMOD_BAD_BASELINE = 190003, "Baseline incorrect";
    APMOD_CONNECTION_ABORTED = 190004, "Input/output error";
    // Client operations.
    CLIENT_VERSIONED_PATH_REQUIRED = 195000, "A path under version control is needed for this operation";
    CLIENT_RA_ACCESS_REQUIRED = 195001, "Repository access is needed for this operation";
    CLIENT_BAD_REVISION = 195002, "Bogus revision information given";
    CLIENT_DUPLICATE_COMMIT_URL = 195003, "Attempting to commit to a URL more than once";
    CLIENT_IS_BINARY_FILE = 195004, "Operation does not apply to binary file";
    CLIENT_INVALID_EXTERNALS_DESCRIPTION = 195005, "Format of an svn:externals property was invalid";
    CLIENT_MODIFIED = 195006, "Attempting restricted operation for modified resource";
    CLIENT_IS_DIRECTORY = 195007, "Operation does not apply to directory";
    CLIENT_REVISION_RANGE = 195008, "Revision range is not allowed";
    CLIENT_INVALID_RELOCATION = 195009, "Inter-repository relocation not allowed";
    CLIENT_REVISION_AUTHOR_CONTAINS_NEWLINE = 195010, "Author name cannot contain a newline";
    CLIENT_PROPERTY_NAME = 195011, "Bad property name";
    CLIENT_UNRELATED_RESOURCES = 195012, "Two versioned resources are unrelated";
    CLIENT_MISSING_LOCK_TOKEN = 195013, "Path has no lock token";
    CLIENT_MULTIPLE_SOURCES_DISALLOWED = 195014, "Operation does not support multiple sources";
    CLIENT_NO_VERSIONED_PARENT = 195015, "No versioned parent directories";
    CLIENT_NOT_READY_TO_MERGE = 195016, "Working copy and merge source not ready for reintegration";
    CLIENT_FILE_EXTERNAL_OVERWRITE_VERSIONED = 195017, "A file external cannot overwrite an existing versioned item";
    CLIENT_PATCH_BAD_STRIP_COUNT = 195018, "Invalid path component strip count specified";
    CLIENT_CYCLE_DETECTED = 195019, "Detected a cycle while processing the operation";
    CLIENT_MERGE_UPDATE_REQUIRED = 195020, "Working copy and merge source not ready for reintegration";
    CLIENT_INVALID_MERGEINFO_NO_MERGETRACKING = 195021, "Invalid mergeinfo detected in merge target";
    CLIENT_NO_LOCK_TOKEN = 195022, "Can't perform this operation without a valid lock token";
    CLIENT_FORBIDDEN_BY_SERVER = 195023, "The operation is forbidden by the server";
    CLIENT_CONFLICT_OPTION_NOT_APPLICABLE = 195024, "The conflict resolution option is not applicable";
    // Everything else.
    BASE = 200000, "A problem occurred; see other errors for details";
    PLUGIN_LOAD_FAILURE = 200001, "Failure loading plugin";
    MALFORMED_FILE = 200002, "Malformed file";
    INCOMPLETE_DATA = 200003, "Incomplete data";
    INCORRECT_PARAMS = 200004, "Incorrect parameters given";
    UNVERSIONED_RESOURCE = 200005, "Tried a versioning operation on an unversioned resource";
    TEST_FAILED = 200006, "Test failed";
    UNSUPPORTED_FEATURE = 200007, "Trying to use an unsupported feature";
    BAD_PROP_KIND = 200008, "Unexpected or unknown property kind";
    ILLEGAL_TARGET = 200009, "Illegal target for the requested operation";
    DELTA_MD5_CHECKSUM_ABSENT = 200010, "MD5 checksum is missing";
    DIR_NOT_EMPTY = 200011, "Directory needs to be empty but is not";
    EXTERNAL_PROGRAM = 200012, "Error calling external program";
    SWIG_PY_EXCEPTION_SET = 200013, "Python exception has been set with the error";
    CHECKSUM_MISMATCH = 200014, "A checksum mismatch occurred";
    CANCELLED = 200015, "The operation was interrupted";
    INVALID_DIFF_OPTION = 200016, "The specified diff option is not supported";
    PROPERTY_NOT_FOUND = 200017, "Property not found";
    NO_AUTH_FILE_PATH = 200018, "No auth file path available";
    VERSION_MISMATCH = 200019, "Incompatible library version";
    MERGEINFO_PARSE_ERROR = 200020, "Mergeinfo parse error";
    CEASE_INVOCATION = 200021, "Cease invocation of this API";
    REVNUM_PARSE_FAILURE = 200022, "Error parsing revision number";
    ITER_BREAK = 200023, "Iteration terminated before completion";
    UNKNOWN_CHANGELIST = 200024, "Unknown changelist";
    RESERVED_FILENAME_SPECIFIED = 200025, "Reserved directory name in command line arguments";
    UNKNOWN_CAPABILITY = 200026, "Inquiry about unknown capability";
    TEST_SKIPPED = 200027, "Test skipped";
    NO_APR_MEMCACHE = 200028, "APR memcache library not available";
    ATOMIC_INIT_FAILURE = 200029, "Couldn't perform atomic initialization";
    SQLITE_ERROR = 200030, "SQLite error";
    SQLITE_READONLY = 200031, "Attempted to write to readonly SQLite db";
    SQLITE_UNSUPPORTED_SCHEMA = 200032, "Unsupported schema found in SQLite db";
    SQLITE_BUSY = 200033, "The SQLite db is busy";
    SQLITE_RESETTING_FOR_ROLLBACK = 200034, "SQLite busy at transaction rollback; resetting all busy SQLite statements to allow rollback";
    SQLITE_CONSTRAINT = 200035, "Constraint error in SQLite db";
    TOO_MANY_MEMCACHED_SERVERS = 200036, "Too many memcached servers configured";
    MALFORMED_VERSION_STRING = 200037, "Failed to parse version number string";
    CORRUPTED_ATOMIC_STORAGE = 200038, "Atomic data storage is corrupt";
    UTF8PROC_ERROR = 200039, "utf8proc library error";
    UTF8_GLOB = 200040, "Bad arguments to SQL operators GLOB or LIKE";
    CORRUPT_PACKED_DATA = 200041, "Packed data stream is corrupt";
    COMPOSED_ERROR = 200042, "Additional errors:";
    INVALID_INPUT = 200043, "Parser error: invalid input";
    SQLITE_ROLLBACK_FAILED = 200044, "SQLite transaction rollback failed";
    LZ4_COMPRESSION_FAILED = 200045, "LZ4 compression failed";
    LZ4_DECOMPRESSION_FAILED = 200046, "LZ4 decompression failed";
    CANONICALIZATION_FAILED = 200047, "Could not canonicalize path or URI";
    // Command lines.
    CL_ARG_PARSING_ERROR = 205000, "Error parsing arguments";
    CL_INSUFFICIENT_ARGS = 205001, "Not enough arguments provided";
    CL_MUTUALLY_EXCLUSIVE_ARGS = 205002, "Mutually exclusive arguments specified";
    CL_ADM_DIR_RESERVED = 205003, "Attempted command in administrative dir";
    CL_LOG_MESSAGE_IS_VERSIONED_FILE = 205004, "The log message file is under version control";
    CL_LOG_MESSAGE_IS_PATHNAME = 205005, "The log message is a pathname";
    CL_COMMIT_IN_ADDED_DIR = 205006, "Committing in directory scheduled for addition";
    CL_NO_EXTERNAL_EDITOR = 205007, "No external editor available";
    CL_BAD_LOG_MESSAGE = 205008, "Something is wrong with the log message's contents";
    CL_UNNECESSARY_LOG_MESSAGE = 205009, "A log message was given where none was necessary";
    CL_NO_EXTERNAL_MERGE_TOOL = 205010, "No external merge tool available";
    CL_ERROR_PROCESSING_EXTERNALS = 205011, "Failed processing one or more externals definitions";
    CL_REPOS_VERIFY_FAILED = 205012, "Repository verification failed";
    // Access over svn://.
    RA_SVN_CMD_ERR = 210000, "Special code for wrapping server errors to report to client";
    RA_SVN_UNKNOWN_CMD = 210001, "Unknown svn protocol command";
    RA_SVN_CONNECTION_CLOSED = 210002, "Network connection closed unexpectedly";
    RA_SVN_IO_ERROR = 210003, "Network read/write error";
    RA_SVN_MALFORMED_DATA = 210004, "Malformed network data";
    RA_SVN_REPOS_NOT_FOUND = 210005, "Couldn't find a repository";
    RA_SVN_BAD_VERSION = 210006, "Client/server version mismatch";
    RA_SVN_NO_MECHANISMS = 210007, "Cannot negotiate authentication mechanism";
    RA_SVN_EDIT_ABORTED = 210008, "Editor drive was aborted";
    RA_SVN_REQUEST_SIZE = 210009, "Client request too long";
    RA_SVN_RESPONSE_SIZE = 210010, "Server response too long";
    // Authentication.
    AUTHN_CREDS_UNAVAILABLE = 215000, "Credential data unavailable";
    AUTHN_NO_PROVIDER = 215001, "No authentication provider available";
    AUTHN_PROVIDERS_EXHAUSTED = 215002, "All authentication providers exhausted";
    AUTHN_CREDS_NOT_SAVED = 215003, "Credentials not saved";
    AUTHN_FAILED = 215004, "Authentication failed";
    // Authorization.
    AUTHZ_ROOT_UNREADABLE = 220000, "Read access denied for root of edit";
    AUTHZ_UNREADABLE = 220001, "Item is not readable";
    AUTHZ_PARTIALLY_READABLE = 220002, "Item is partially readable";
    AUTHZ_INVALID_CONFIG = 220003, "Invalid authz configuration";
    AUTHZ_UNWRITABLE = 220004, "Item is not writable";
    // Text diffs.
    DIFF_DATASOURCE_MODIFIED = 225000, "Diff data source modified unexpectedly";
    DIFF_UNEXPECTED_DATA = 225001, "Diff data unexpected";
    // Access over http.
    RA_SERF_SSPI_INITIALISATION_FAILED = 230000, "Initialization of SSPI library failed";
    RA_SERF_SSL_CERT_UNTRUSTED = 230001, "Server SSL certificate untrusted";
    RA_SERF_GSSAPI_INITIALISATION_FAILED = 230002, "Initialization of the GSSAPI context failed";
    RA_SERF_WRAPPED_ERROR = 230003, "While handling serf response:";
    RA_SERF_STREAM_BUCKET_READ_ERROR = 230004, "Can't read from stream";
    // Failed assertions.
    ASSERTION_FAIL = 235000, "Assertion failure";
    ASSERTION_ONLY_TRACING_LINKS = 235001, "No non-tracing links found in the error chain";
    // Certificates.
    ASN1_OUT_OF_DATA = 240000, "Unexpected end of ASN1 data";
    ASN1_UNEXPECTED_TAG = 240001, "Unexpected ASN1 tag";
    ASN1_INVALID_LENGTH = 240002, "Invalid ASN1 length";
    ASN1_LENGTH_MISMATCH = 240003, "ASN1 length mismatch";
    ASN1_INVALID_DATA = 240004, "Invalid ASN1 data";
    X509_FEATURE_UNAVAILABLE = 240005, "Unavailable X509 feature";
    X509_CERT_INVALID_PEM = 240006, "Invalid PEM certificate";
    X509_CERT_INVALID_FORMAT = 240007, "Invalid certificate format";
    X509_CERT_INVALID_VERSION = 240008, "Invalid certificate version";
    X509_CERT_INVALID_SERIAL = 240009, "Invalid certificate serial number";
    X509_CERT_INVALID_ALG = 240010, "Found invalid algorithm in certificate";
    X509_CERT_INVALID_NAME = 240011, "Found invalid name in certificate";
    X509_CERT_INVALID_DATE = 240012, "Found invalid date in certificate";
    X509_CERT_INVALID_PUBKEY = 240013, "Found invalid public key in certificate";
    X509_CERT_INVALID_SIGNATURE = 240014, "Found invalid signature in certificate";
    X509_CERT_INVALID_EXTENSIONS = 240015, "Found invalid extensions in certificate";
    X509_CERT_UNKNOWN_VERSION = 240016, "Unknown certificate version";
    X509_CERT_UNKNOWN_PK_ALG = 240017, "Certificate uses unknown public key algorithm";
    X509_CERT_SIG_MISMATCH = 240018, "Certificate signature mismatch";
    X509_CERT_VERIFY_FAILED = 240019, "Certificate verification failed";
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn well_known_numbers() {
        for (code, number) in [
            (ErrorCode::FS_CORRUPT, 160004),
            (ErrorCode::FS_NO_SUCH_REVISION, 160006),
            (ErrorCode::FS_NOT_FOUND, 160013),
            (ErrorCode::FS_UNSUPPORTED_FORMAT, 160043),
            (ErrorCode::REPOS_UNSUPPORTED_VERSION, 165005),
            (ErrorCode::RA_NOT_AUTHORIZED, 170001),
            (ErrorCode::SVNDIFF_INVALID_HEADER, 185000),
            (ErrorCode::CL_ARG_PARSING_ERROR, 205000),
            (ErrorCode::RA_SVN_CONNECTION_CLOSED, 210002),
            (ErrorCode::AUTHZ_UNREADABLE, 220001),
            (ErrorCode::ASSERTION_FAIL, 235000),
        ] {
            assert_eq!(code.0, number, "{:?}", code.name());
        }
        assert_eq!(ErrorCode(1).name(), None);
        assert_eq!(ErrorCode::FS_NOT_FOUND.to_string(), "E160013");
        assert_eq!(ErrorCode::ENOENT.to_string(), "E000002");
    }
}
