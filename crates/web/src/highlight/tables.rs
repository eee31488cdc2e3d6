//! The languages.

use super::language::{Form, Language, Quotes, Special};

const PLAIN: Special = Special {
    any_case: false,
    spaced_comments: false,
    dashes: false,
    characters: false,
    calls: false,
    field: None,
    sigil: None,
    form: Form::Code,
};
const CALLS: Special = Special { calls: true, ..PLAIN };
const BASE: Language = Language {
    names: &[],
    programs: &[],
    line: &[],
    block: &[],
    strings: &[DOUBLE],
    keywords: &[],
    special: PLAIN,
};

const fn quotes(open: &'static str, close: &'static str) -> Quotes {
    Quotes { open, close, escapes: true, goes_on: false }
}
const fn raw(open: &'static str, close: &'static str, goes_on: bool) -> Quotes {
    Quotes { open, close, escapes: false, goes_on }
}
const fn long(open: &'static str, close: &'static str) -> Quotes {
    Quotes { open, close, escapes: true, goes_on: true }
}
const DOUBLE: Quotes = quotes("\"", "\"");
const SINGLE: Quotes = quotes("'", "'");
const SLASHES: &[&str] = &["//"];
const HASH: &[&str] = &["#"];
const STARS: &[(&str, &str)] = &[("/*", "*/")];

/// The words, as a list.
macro_rules! words {
    ($($word:tt)*) => { &[$(stringify!($word)),*] };
}

pub(super) static ALL: &[Language] = &[
    Language {
        names: &[
            "c", "h", "cc", "cpp", "cxx", "hh", "hpp", "hxx", "inl", "ino", "m", "mm", "glsl",
            "hlsl", "cu", "cl",
        ],
        line: SLASHES,
        block: STARS,
        strings: &[DOUBLE, SINGLE],
        keywords: words! {
            alignas auto bool break case catch char class const constexpr continue default delete do double else
            enum explicit extern false float for friend goto if inline int long namespace new noexcept nullptr
            operator override private protected public register return short signed sizeof static struct switch
            template this throw true try typedef typename union unsigned using virtual void volatile while
            size_t NULL id self nil
        },
        special: Special { sigil: Some('#'), ..CALLS },
        ..BASE
    },
    Language {
        names: &["rs"],
        line: SLASHES,
        block: STARS,
        strings: &[raw("r#\"", "\"#", true), raw("r\"", "\"", true), long("\"", "\"")],
        keywords: words! {
            as async await bool break char const continue crate dyn else enum extern f32 f64 false fn for i8 i16
            i32 i64 if impl in isize let loop match mod move mut pub ref return self Self static str struct
            super trait true type u8 u16 u32 u64 unsafe use usize where while
        },
        special: Special { characters: true, ..CALLS },
        ..BASE
    },
    Language {
        names: &["java", "kt", "kts", "scala", "groovy", "gradle", "dart"],
        line: SLASHES,
        block: STARS,
        strings: &[long("\"\"\"", "\"\"\""), DOUBLE, SINGLE],
        keywords: words! {
            abstract assert boolean break byte case catch char class const continue data def default do double
            else enum extends false final finally float for fun if implements import in instanceof int interface
            internal is long match native new null object open override package private protected public return
            sealed short static super switch synchronized this throw throws trait true try type val var void
            volatile when while with yield
        },
        special: Special { sigil: Some('@'), ..CALLS },
        ..BASE
    },
    Language {
        names: &["cs", "csx"],
        line: SLASHES,
        block: STARS,
        strings: &[raw("@\"", "\"", true), DOUBLE, SINGLE],
        keywords: words! {
            abstract as async await base bool break byte case catch char class const continue decimal default
            delegate do double else enum event explicit extern false finally float for foreach get goto if
            implicit in int interface internal is lock long namespace new null object operator out override
            params private protected public readonly record ref return sealed set short static string struct
            switch this throw true try typeof uint ulong unsafe using var virtual void volatile when where while
            yield
        },
        special: Special { sigil: Some('#'), ..CALLS },
        ..BASE
    },
    Language {
        names: &["js", "mjs", "cjs", "jsx", "ts", "tsx", "mts", "vue", "svelte"],
        programs: &["node", "deno", "bun"],
        line: SLASHES,
        block: STARS,
        strings: &[DOUBLE, SINGLE, long("`", "`")],
        keywords: words! {
            abstract any as async await boolean break case catch class const continue debugger declare default
            delete do else enum export extends false finally for from function if implements import in
            instanceof interface let never new null number of private protected public readonly return static
            string super switch this throw true try type typeof undefined unknown var void while with yield
        },
        special: Special { sigil: Some('@'), ..CALLS },
    },
    Language {
        names: &["go", "swift", "zig", "v", "sv", "proto", "d"],
        line: SLASHES,
        block: STARS,
        strings: &[long("\"\"\"", "\"\"\""), DOUBLE, SINGLE, raw("`", "`", true)],
        keywords: words! {
            as async await bool break byte case catch chan class const continue default defer do else end enum
            error extension fallthrough false float64 fn for func go goto guard if import in init inout int
            int32 int64 interface is let map message module nil null override package private protocol pub
            public range reg repeated return rune select self service static string struct super switch syntax
            throw throws true try type uint32 uint64 union unreachable usize var void while wire
        },
        special: Special { sigil: Some('@'), ..CALLS },
        ..BASE
    },
    Language {
        names: &["php", "phtml"],
        programs: &["php"],
        line: &["//", "#"],
        block: STARS,
        strings: &[long("\"", "\""), long("'", "'")],
        keywords: words! {
            abstract and array as break case catch class clone const continue declare default do echo else
            elseif empty enum extends false final finally fn for foreach function global if implements include
            include_once instanceof interface isset match namespace new null or php print private protected
            public readonly require require_once return static switch this throw trait true try unset use var
            while yield
        },
        special: Special { any_case: true, ..CALLS },
    },
    Language {
        names: &["py", "pyi", "pyw", "pyx", "sconstruct", "bzl", "build", "wscript"],
        programs: &["python", "pypy"],
        line: HASH,
        strings: &[long("\"\"\"", "\"\"\""), long("'''", "'''"), DOUBLE, SINGLE],
        keywords: words! {
            and as assert async await break case class continue def del elif else except False finally for from
            global if import in is lambda match None nonlocal not or pass raise return self True try while with
            yield
        },
        special: Special { sigil: Some('@'), ..CALLS },
        ..BASE
    },
    Language {
        names: &["rb", "rake", "gemspec", "gemfile", "rakefile", "ex", "exs", "cr", "jl"],
        programs: &["ruby", "elixir", "julia"],
        line: HASH,
        strings: &[long("\"\"\"", "\"\"\""), long("\"", "\""), SINGLE],
        keywords: words! {
            alias and begin break case class cond def defmodule defp do else elsif end ensure false fn for
            function if import in let module next nil not or puts raise redo require rescue retry return self
            struct super then true undef unless until use using when while yield
        },
        special: Special { sigil: Some('@'), spaced_comments: true, ..CALLS },
        ..BASE
    },
    Language {
        names: &["pl", "pm", "t", "pod", "tcl", "awk"],
        programs: &["perl", "tclsh", "awk", "gawk"],
        line: HASH,
        strings: &[long("\"", "\""), long("'", "'")],
        keywords: words! {
            BEGIN END and cmp continue die do each else elseif elsif eq eval exit expr for foreach function
            getline gt if keys last local lt my ne next no not or our package print printf proc puts require
            return set shift sub undef unless until use values warn while
        },
        special: Special { spaced_comments: true, ..CALLS },
        ..BASE
    },
    Language {
        names: &[
            "sh",
            "bash",
            "zsh",
            "ksh",
            "fish",
            "bashrc",
            "profile",
            "configure",
            "ac",
            "m4",
            "ebuild",
        ],
        programs: &["sh", "bash", "zsh", "dash", "ksh", "fish"],
        line: HASH,
        strings: &[long("\"", "\""), raw("'", "'", true)],
        keywords: words! {
            break case cd continue declare do done echo elif else esac eval exec exit export fi for function if
            in local printf read readonly return set shift source test then trap unset until while
        },
        special: Special { spaced_comments: true, ..PLAIN },
        ..BASE
    },
    Language {
        names: &["ps1", "psm1", "psd1"],
        programs: &["pwsh"],
        line: HASH,
        block: &[("<#", "#>")],
        strings: &[raw("\"", "\"", true), raw("'", "'", true)],
        keywords: words! {
            begin break catch class continue data do dynamicparam else elseif end enum exit filter finally for
            foreach function if in param process return switch throw trap try until using while
        },
        special: Special { any_case: true, dashes: true, ..PLAIN },
    },
    Language {
        names: &["bat", "cmd"],
        line: &["::", "rem ", "REM ", "Rem "],
        keywords: words! {
            call cd copy del do echo else endlocal errorlevel exist exit for goto if in mkdir move not off on
            pause pushd popd set setlocal shift start
        },
        special: Special { any_case: true, ..PLAIN },
        ..BASE
    },
    Language {
        names: &["sql", "pls", "pks", "pkb", "ddl"],
        line: &["--"],
        block: STARS,
        strings: &[raw("'", "'", true), raw("\"", "\"", false)],
        keywords: words! {
            add all alter and as asc begin between bigint by case cascade check column commit constraint create
            cursor database date declare default delete desc distinct drop else elsif end except exec exists
            foreign from full function grant group having if in index inner insert int integer into is join key
            left like limit loop not null number offset on or order outer primary procedure references replace
            return returns revoke right rollback select set table text then timestamp to trigger union unique
            update using values varchar varchar2 view when where while with
        },
        special: Special { any_case: true, ..CALLS },
        ..BASE
    },
    Language {
        names: &["lua"],
        programs: &["lua"],
        // The long comment has to be looked for first.
        block: &[("--[[", "]]")],
        line: &["--"],
        strings: &[DOUBLE, SINGLE, raw("[[", "]]", true)],
        keywords: words! {
            and break do else elseif end false for function goto if in local nil not or repeat return self then
            true until while
        },
        special: CALLS,
    },
    Language {
        names: &["hs", "lhs", "elm", "ada", "adb", "ads", "vhd", "vhdl"],
        programs: &["runghc"],
        line: &["--"],
        block: &[("{-", "-}")],
        keywords: words! {
            and architecture begin body break case class constant data declare deriving do else elseif elsif end
            entity exit false for function goto if import in instance is let library local loop module newtype
            nil not of or out package port procedure process record repeat return signal subtype then true type
            until use when where while with
        },
        special: Special { characters: true, ..CALLS },
        ..BASE
    },
    Language {
        names: &["ml", "mli", "fs", "fsi", "fsx", "pas", "pp", "dpr", "lpr"],
        line: SLASHES,
        block: &[("(*", "*)"), ("{", "}")],
        strings: &[DOUBLE, raw("'", "'", false)],
        keywords: words! {
            and array as asr begin case class const constructor destructor div do downto else end except
            exception external false finally for fun function if implementation in inherited interface let match
            mod module mutable nil not object of open or override private procedure program property protected
            public raise rec record repeat set sig string struct then to true try type unit until uses val var
            virtual when while with
        },
        special: Special { any_case: true, ..CALLS },
        ..BASE
    },
    Language {
        names: &["f", "f77", "f90", "f95", "f03", "for"],
        line: &["!"],
        strings: &[raw("\"", "\"", false), raw("'", "'", false)],
        keywords: words! {
            allocate call case character common contains continue cycle deallocate dimension do double else
            elseif end enddo endif exit format function if implicit integer intent interface logical module none
            only parameter precision print program read real return select stop subroutine then type use where
            while write
        },
        special: Special { any_case: true, ..CALLS },
        ..BASE
    },
    Language {
        names: &["vb", "vbs", "bas", "cls", "frm"],
        line: &["'"],
        strings: &[raw("\"", "\"", false)],
        keywords: words! {
            and as boolean byref byval call case class const dim do double each else elseif end enum exit false
            for friend function get if in integer is let long loop me mod module namespace new next not nothing
            on option or private property public redim rem resume return select set static string sub then to
            true type until wend while with
        },
        special: Special { any_case: true, ..CALLS },
        ..BASE
    },
    Language {
        names: &["lisp", "lsp", "el", "clj", "cljs", "scm", "ss", "rkt"],
        programs: &["guile", "racket", "sbcl"],
        line: &[";"],
        block: &[("#|", "|#")],
        strings: &[long("\"", "\"")],
        keywords: &[
            "and",
            "begin",
            "case",
            "cond",
            "def",
            "define",
            "define-syntax",
            "defmacro",
            "defn",
            "defun",
            "defvar",
            "do",
            "else",
            "fn",
            "if",
            "lambda",
            "let",
            "letrec",
            "loop",
            "nil",
            "not",
            "ns",
            "or",
            "progn",
            "quote",
            "recur",
            "require",
            "set",
            "setq",
            "unless",
            "when",
        ],
        special: Special { dashes: true, ..PLAIN },
    },
    Language {
        names: &["r", "rprofile"],
        programs: &["Rscript"],
        line: HASH,
        strings: &[long("\"", "\""), long("'", "'")],
        keywords: words! {
            break else FALSE for function if in Inf library NA NaN next NULL repeat require return TRUE while
        },
        special: CALLS,
        ..BASE
    },
    Language {
        names: &["tex", "sty", "ltx", "bib", "erl", "hrl"],
        programs: &["escript"],
        line: &["%"],
        strings: &[],
        keywords: words! { after begin case catch end fun if of receive try when },
        special: Special { sigil: Some('\\'), ..PLAIN },
        ..BASE
    },
    Language {
        names: &["s", "asm", "nasm"],
        line: &[";", "#", "//", "@"],
        block: STARS,
        strings: &[DOUBLE, SINGLE],
        special: Special { sigil: Some('.'), field: Some(':'), ..PLAIN },
        ..BASE
    },
    Language {
        names: &["css", "scss", "less", "sass"],
        line: SLASHES,
        block: STARS,
        strings: &[DOUBLE, SINGLE],
        keywords: words! { and important not only from to },
        special: Special { sigil: Some('@'), dashes: true, field: Some(':'), calls: true, ..PLAIN },
        ..BASE
    },
    Language {
        names: &["json", "json5", "jsonc", "webmanifest", "ipynb", "map"],
        line: SLASHES,
        block: STARS,
        keywords: words! { true false null },
        special: Special { field: Some(':'), ..PLAIN },
        ..BASE
    },
    Language {
        names: &["yml", "yaml"],
        line: HASH,
        strings: &[DOUBLE, raw("'", "'", false)],
        keywords: words! { true false null yes no on off },
        special: Special { field: Some(':'), dashes: true, spaced_comments: true, ..PLAIN },
        ..BASE
    },
    Language {
        names: &[
            "toml",
            "ini",
            "cfg",
            "conf",
            "properties",
            "desktop",
            "service",
            "editorconfig",
            "gitconfig",
            "env",
            "reg",
            "lock",
        ],
        line: &["#", ";"],
        strings: &[long("\"\"\"", "\"\"\""), DOUBLE, raw("'", "'", false)],
        keywords: words! { true false yes no on off none },
        special: Special { field: Some('='), dashes: true, spaced_comments: true, ..PLAIN },
        ..BASE
    },
    Language {
        names: &[
            "makefile",
            "gnumakefile",
            "mk",
            "mak",
            "am",
            "in",
            "ninja",
            "dockerfile",
            "containerfile",
            "jenkinsfile",
        ],
        programs: &["make"],
        line: HASH,
        strings: &[DOUBLE],
        keywords: words! {
            define else endef endif export ifdef ifeq ifndef ifneq include override ADD ARG CMD COPY ENTRYPOINT
            ENV EXPOSE FROM HEALTHCHECK LABEL RUN USER VOLUME WORKDIR
        },
        special: Special { field: Some(':'), dashes: true, spaced_comments: true, ..PLAIN },
        ..BASE
    },
    Language {
        names: &["cmake", "cmakelists.txt"],
        line: HASH,
        block: &[("#[[", "]]")],
        keywords: words! { AND NOT OR ON OFF TRUE FALSE PUBLIC PRIVATE INTERFACE REQUIRED },
        special: CALLS,
        ..BASE
    },
    Language {
        names: &[
            "html", "htm", "xhtml", "xml", "xsl", "xslt", "xsd", "svg", "rss", "plist", "csproj",
            "vcxproj", "props", "targets", "resx", "xaml", "ui", "jsp", "aspx", "wsdl", "pom",
        ],
        block: &[("<!--", "-->"), ("<![CDATA[", "]]>")],
        strings: &[raw("\"", "\"", true), raw("'", "'", true)],
        special: Special { form: Form::Markup, ..PLAIN },
        ..BASE
    },
    Language { names: &["diff", "patch"], special: Special { form: Form::Diff, ..PLAIN }, ..BASE },
];
