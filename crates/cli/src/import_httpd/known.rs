//! Directives of httpd and its modules that do not affect access: logs, types, pages, limits of sizes and
//! times, other handlers.
//!
//! Invariant: a directive that is not in this list, and not converted elsewhere, closes the
//! locations that it applies to.

/// In lower case.
const HARMLESS: &str = "acceptfilter acceptpathinfo accessfilename action addalt addaltbyencoding addaltbytype \
    addcharset adddefaultcharset adddescription addencoding addhandler addicon addiconbyencoding addiconbytype \
    addinputfilter addlanguage addmoduleinfo addoutputfilter addoutputfilterbytype addtype   \
    aliaspreservepath allowconnect allowencodedslashes allowoverride allowoverridelist anonymous anonymous_logemail \
    anonymous_mustgiveemail anonymous_nouserid anonymous_verifyemail asyncrequestworkerfactor authdigestshmemsize \
    authncachecontext authncacheenable authncacheprovidefor authncachesocache authncachetimeout \
    authnzfcgicheckauthnprovider authnzfcgidefineprovider authzsendforbiddenonfailure balancergrowth balancerinherit \
    balancermember balancerpersist brotlialteretag brotlicompressionmaxinputblock brotlicompressionquality \
    brotlicompressionwindow brotlifilternote browsermatch browsermatchnocase buffersize bufferedlogs cgidscripttimeout \
    cgipassauth cgiscripttimeout cgivar cachedefaultexpire cachedetailheader cachedirlength cachedirlevels cachedisable \
    cacheenable cacheheader cacheignorecachecontrol cacheignoreheaders cacheignorenolastmod cacheignorequerystring \
    cacheignoreurlsessionidentifiers cachekeybaseurl cachelastmodifiedfactor cachelock cachelockmaxage cachelockpath \
    cachemaxexpire cachemaxfilesize cacheminexpire cacheminfilesize cachenegotiateddocs cachequickhandler cachereadsize \
    cachereadtime cacheroot cachesocache cachesocachemaxsize cachesocachemaxtime cachesocachemintime \
    cachesocachereadsize cachesocachereadtime cachestaleonerror cachestoreexpired cachestorenostore cachestoreprivate \
    charsetdefault charsetoptions charsetsourceenc checkbasenamematch checkcaseonly checkspelling chrootdir \
    contentdigest cookiedomain cookieexpires cookiehttponly cookiename cookiesamesite cookiesecure cookiestyle \
    cookietracking coredumpdirectory davbasepath davdepthinfinity davgenericlockdb davlockdb davlockdiscovery \
    davmintimeout dbdexptime dbdinitsql dbdkeep dbdmax dbdmin dbdparams dbdpersist dbdpreparesql dbdriver defaulticon \
    defaultlanguage defaultruntimedir defaulttype define deflatealteretag deflatebuffersize deflatecompressionlevel \
    deflatefilternote deflateinflatelimitrequestbody deflateinflateratioburst deflateinflateratiolimit deflatememlevel \
    deflatewindowsize directorycheckhandler directoryindex directoryindexredirect directoryslash documentroot \
    dumpioinput dumpiooutput enablemmap enablesendfile errordocument errorlog errorlogformat expiresactive \
    expiresbytype expiresdefault extfilterdefine extfilteroptions extendedstatus fallbackresource fancyindexing \
    fileetag filterchain filterdeclare filterprotocol filterprovider filtertrace flushmaxpipelined flushmaxthreshold \
    forcelanguagepriority forcetype forensiclog gracefulshutdowntimeout group h2copyfiles h2direct h2earlyhint \
    h2earlyhints h2maxdataframelen h2maxheaderblocklen h2maxsessionstreams h2maxstreamerrors h2maxworkeridleseconds \
    h2maxworkers h2minworkers h2moderntlsonly h2outputbuffering h2padding h2proxyrequests h2push h2pushdiarysize \
    h2pushpriority h2pushresource h2serializeheaders h2sessionextrafiles h2streammaxmemsize h2streamtimeout \
    h2tlscooldownsecs h2tlswarmupsize h2upgrade h2websockets h2windowsize header headername heartbeataddress \
    heartbeatlisten heartbeatmaxservers heartbeatstorage hostnamelookups httpprotocoloptions identitycheck \
    identitychecktimeout imapbase imapdefault imapmenu include includeoptional indexheadinsert indexignore \
    indexignorereset indexoptions indexorderdefault indexstylesheet inputsed keepalive keepalivetimeout keptbodysize \
    ldapcacheentries ldapcachettl ldapconnectionpoolttl ldapconnectiontimeout ldaplibrarydebug ldapopcacheentries \
    ldapopcachettl ldapreferralhoplimit ldapreferrals ldapretries ldapretrydelay ldapsharedcachefile \
    ldapsharedcachesize ldaptimeout ldaptrustedclientcert ldaptrustedglobalcert ldaptrustedmode ldapverifyservercert \
    languagepriority limitinternalrecursion limitrequestbody limitrequestfields limitrequestfieldsize limitrequestline \
    limitxmlrequestbody listen listenbacklog listencoresbucketsratio listentcpdeferaccept loadfile loadmodule logformat \
    logiotrackttfb loglevel logmessage macroignorebadnesting macroignoreemptyargs maxclients maxconnectionsperchild \
    maxkeepaliverequests maxmemfree maxrangeoverlaps maxrangereversals maxranges maxrequestworkers maxrequestsperchild \
    maxsparethreads mdactivationdelay mdbaseserver mdcachallenges mdcertificateagreement mdcertificateauthority \
    mdcertificatecheck mdcertificateprotocol mdcertificatestatus mdchallengedns01 mdcontactemail mddrivemode \
    mdhttpproxy mdmember mdmembers mdmessagecmd mdmuststaple mdnotifycmd mdportmap mdprivatekeys mdrenewmode \
    mdrenewwindow mdserverstatus mdstoredir mdwarnwindow mdomain memcacheconnttl mergeslashes mergetrailers metadir \
    metafiles metasuffix mimemagicfile minsparethreads modmimeusepathinfo multiviewsmatch mutex namevirtualhost noproxy \
    options outputsed passenv pidfile protocol protocolecho protocols protocolshonororder proxy100continue \
    proxyaddheaders proxybadheader proxyblock proxydomain proxyerroroverride proxyiobuffersize proxymaxforwards \
    proxypassinherit proxypassinterpolateenv proxypassreverse proxypassreversecookiedomain proxypassreversecookiepath \
    proxypreservehost proxyrequests proxyreceivebuffersize proxyremote proxyremotematch proxyset proxysourceaddress \
    proxystatus proxytimeout proxyvia qualifyredirecturl rlimitcpu rlimitmem rlimitnproc readbuffersize readmename \
    receivebuffersize redirectrelative redisconnpoolttl redistimeout reflectorheader registerhttpmethod remoteipheader \
    remoteipinternalproxy remoteipinternalproxylist remoteipproxiesheader remoteipproxyprotocol \
    remoteipproxyprotocolexceptions remoteiptrustedproxy remoteiptrustedproxylist removecharset removeencoding \
    removehandler removeinputfilter removelanguage removeoutputfilter removetype requestreadtimeout rewritebase \
    rewritecond rewriteengine rewritemap rewriteoptions ssiendtag ssierrormsg ssietag ssilastmodified \
    ssilegacyexprparser ssistarttag ssitimeformat ssiundefinedecho scoreboardfile script   \
    scriptlog scriptlogbuffer scriptloglength scriptsock seerequesttail sendbuffersize serveradmin serveralias \
    serverlimit servername serverpath serverroot serversignature servertokens session sessioncookiename \
    sessioncookiename2 sessioncookieremove sessionmaxage setenv setenvif setenvifexpr setenvifnocase setinputfilter \
    setoutputfilter startservers stricthostcheck substitute substituteinheritbefore substitutemaxlinelength suexec \
    suexecusergroup threadlimit threadstacksize threadsperchild timeout traceenable typesconfig undefine \
    undefmacro unsetenv use usecanonicalname usecanonicalphysicalport user userdir virtualdocumentroot \
    virtualdocumentrootip virtualscriptalias virtualscriptaliasip watchdoginterval xbithack xml2encalias xml2encdefault \
    xml2startparse";

/// Directives of TLS that need nothing in their place, or that are taken over elsewhere: versions and ciphers are the
/// library's.
const OF_TLS: &str = "sslengine sslprotocol sslciphersuite sslhonorcipherorder sslsessioncache sslsessioncachetimeout \
    sslsessiontickets sslsessionticketkeyfile sslrandomseed sslusestapling sslstaplingcache sslstaplingerrorcachetimeout \
    sslstaplingfaketrylater sslstaplingforceurl sslstaplingrespondertimeout sslstaplingresponsemaxage \
    sslstaplingresponsetimeskew sslstaplingreturnrespondererrors sslstaplingstandardcachetimeout sslcompression \
    sslinsecurerenegotiation sslcryptodevice sslmutex sslpassphrasedialog sslcertificatefile sslcertificatekeyfile \
    sslverifydepth sslfips sslopensslconfcmd sslrenegbuffersize sslcadnrequestfile sslcadnrequestpath \
    sslcacertificatefile sslcarevocationfile sslcarevocationcheck sslproxycacertificatefile sslproxycacertificatepath \
    sslproxycarevocationcheck sslproxycarevocationfile sslproxycarevocationpath sslproxycheckpeercn \
    sslproxycheckpeerexpire sslproxycheckpeername sslproxyciphersuite sslproxyengine sslproxymachinecertificatechainfile \
    sslproxymachinecertificatefile sslproxymachinecertificatepath sslproxyprotocol sslproxyverify sslproxyverifydepth";

/// Sections whose directives are not about what mod_dav_svn serves: it has no files, and is no proxy.
const OTHER_SECTIONS: [&str; 10] = [
    "directory",
    "directorymatch",
    "files",
    "filesmatch",
    "proxy",
    "proxymatch",
    "authnprovideralias",
    "authzprovideralias",
    "mdomain",
    "mdomainset",
];

/// Directives that do not affect access, and are missed if they are left out.
const MISSED: [&str; 6] = [
    "sslcertificatechainfile",
    "mdcertificatefile",
    "mdcertificatekeyfile",
    "globallog",
    "svnindexxslt",
    "sslsrpverifierfile",
];

/// Whether a directive, in lower case, is left out with a report, and does not affect access.
pub(super) fn is_missed(name: &str) -> bool {
    MISSED.contains(&name)
}

/// Whether a directive, in lower case, does not affect access.
pub(super) fn is_harmless(name: &str) -> bool {
    let of_proxies =
        ["proxyhtml", "proxyfcgi", "proxyftp"].iter().any(|begin| name.starts_with(begin));
    of_proxies
        || HARMLESS.split_whitespace().chain(OF_TLS.split_whitespace()).any(|known| known == name)
}

/// Whether a section is about other things than what mod_dav_svn serves.
pub(super) fn is_other_section(name: &str) -> bool {
    OTHER_SECTIONS.contains(&name)
}
