//! The desktop's Secret Service (GNOME's keyring, KeePassXC, KWallet of today) as a store of passwords, over the
//! session's D-Bus: <https://specifications.freedesktop.org/secret-service-spec/latest/>.
//!
//! A password is an item of the default collection with two attributes, `domain` (the realm) and `user`, and
//! with the schema of network passwords: so the reference's `gnome-keyring` store finds ours, and ours its.
//! Where no person can be asked, a collection that is locked or missing counts as no store. Secrets go over the bus
//! as they are (session `plain`): it is a socket of the user's own, whose other programs may ask the service
//! themselves.
//!
//! What goes wrong here makes the store one that has nothing: then there is a question at the terminal.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use nix::sys::socket::UnixAddr;
use rustbus::connection::Timeout;
use rustbus::connection::ll_conn::force_finish_on_error;
use rustbus::message_builder::{MarshalledMessage, MarshalledMessageBody};
use rustbus::wire::ObjectPath;
use rustbus::wire::errors::MarshalError;
use rustbus::wire::unmarshal::traits::Variant;
use rustbus::{MessageBuilder, MessageType, RpcConn};

use super::PasswordStore;

/// What the `auth` folder calls it.
const PASSTYPE: &str = "gnome-keyring";
/// The service's name on the bus.
const NAME: &str = "org.freedesktop.secrets";
/// Its own object.
const SERVICE: &str = "/org/freedesktop/secrets";
/// The path that stands for none.
const NONE: &str = "/";
/// How long one answer may take that needs no person.
const PATIENCE: Duration = Duration::from_secs(25);
/// How long a person may take to unlock a collection.
const PROMPT: Duration = Duration::from_secs(300);
/// The schema of what is kept, as an attribute.
const SCHEMA: (&str, &str) = ("xdg:schema", "org.gnome.keyring.NetworkPassword");
/// What lists of passwords show.
const LABEL: &str = "network password";

type Attributes<'a> = HashMap<&'a str, &'a str>;
type Path = ObjectPath<String>;

/// A property of a new item or collection.
#[derive(rustbus::Marshal, rustbus::Signature)]
enum Value<'a> {
    Text(&'a str),
    Attributes(Attributes<'a>),
}

/// The Secret Service of a session.
#[derive(Clone, Debug)]
pub struct SecretService {
    address: String,
}

impl SecretService {
    /// That of a bus, by its address (`unix:path=...`, several after semicolons). It is asked only when there is
    /// something to ask.
    #[must_use]
    pub const fn at(address: String) -> Self {
        Self { address }
    }
}

impl PasswordStore for SecretService {
    fn passtype(&self) -> &'static str {
        PASSTYPE
    }

    fn password(&self, realm: &str, user: &str, can_be_asked: bool) -> Option<String> {
        let mut session = Session::open(&self.address, can_be_asked)?;
        session.collection()?;
        let item = session.find(&attributes(realm, user))?;
        session.secret(&item)
    }

    fn keep(&self, realm: &str, user: &str, password: &str, can_be_asked: bool) -> bool {
        let kept = || {
            let mut session = Session::open(&self.address, can_be_asked)?;
            let collection = session.collection()?;
            session.create(&collection, attributes(realm, user), password)
        };
        kept().is_some()
    }
}

fn attributes<'a>(realm: &'a str, user: &'a str) -> Attributes<'a> {
    HashMap::from([("domain", realm), ("user", user), SCHEMA])
}

/// The first place that an address names and that is a socket.
fn socket_of(address: &str) -> Option<UnixAddr> {
    address.split(';').find_map(|one| {
        let mut fields = one.strip_prefix("unix:")?.split(',').filter_map(|f| f.split_once('='));
        fields.find_map(|(key, value)| match key {
            "path" => UnixAddr::new(unescaped(value).as_slice()).ok(),
            "abstract" => UnixAddr::new_abstract(&unescaped(value)).ok(),
            _ => None,
        })
    })
}

/// What `%XX` stands for.
fn unescaped(text: &str) -> Vec<u8> {
    let mut made = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        let digits = after.get(..2).filter(|_| *first == b'%');
        let digits = digits.and_then(|digits| std::str::from_utf8(digits).ok());
        match digits.and_then(|digits| u8::from_str_radix(digits, 16).ok()) {
            Some(byte) => {
                made.push(byte);
                rest = after.get(2..).unwrap_or(&[]);
            }
            None => {
                made.push(*first);
                rest = after;
            }
        }
    }
    made
}

/// A conversation with the service.
struct Session {
    bus: RpcConn,
    /// What the service calls it.
    path: Path,
    can_be_asked: bool,
}

type FillResult = Result<(), MarshalError>;

/// Asks an object for something, and gives its answer unless that is an error.
fn call(
    bus: &mut RpcConn,
    (name, object): (&str, &str),
    (interface, member): (&str, &str),
    fill: impl FnOnce(&mut MarshalledMessageBody) -> FillResult,
) -> Option<MarshalledMessage> {
    let message = MessageBuilder::new().call(member).on(object).with_interface(interface);
    let mut message = message.at(name).build();
    fill(&mut message.body).ok()?;
    let sending = bus.send_message(&mut message).ok()?;
    let wait = Timeout::Duration(PATIENCE);
    let number = sending.write(wait).map_err(force_finish_on_error).ok()?;
    let answer = bus.wait_response(number, wait).ok()?;
    (answer.typ == MessageType::Reply).then_some(answer)
}

impl Session {
    fn open(address: &str, can_be_asked: bool) -> Option<Self> {
        let wait = Timeout::Duration(PATIENCE);
        let mut bus = RpcConn::connect_to_path(socket_of(address)?, wait).ok()?;
        let open = ("org.freedesktop.Secret.Service", "OpenSession");
        let answer = call(&mut bus, (NAME, SERVICE), open, |body| {
            body.push_param("plain")?;
            body.push_variant("")
        })?;
        let (_, path) = answer.body.parser().get2::<Variant<'_, '_>, Path>().ok()?;
        Some(Self { bus, path, can_be_asked })
    }

    fn service(
        &mut self,
        member: &str,
        fill: impl FnOnce(&mut MarshalledMessageBody) -> FillResult,
    ) -> Option<MarshalledMessage> {
        let what = ("org.freedesktop.Secret.Service", member);
        call(&mut self.bus, (NAME, SERVICE), what, fill)
    }

    /// The default collection, unlocked. One that is missing is made, if a person can be asked for its password.
    fn collection(&mut self) -> Option<Path> {
        let mut found = self.default_collection()?;
        if found.as_ref() == NONE {
            if !self.can_be_asked {
                return None;
            }
            let answer = self.service("CreateCollection", |body| {
                let label = Value::Text("Default");
                body.push_param(HashMap::from([(
                    "org.freedesktop.Secret.Collection.Label",
                    label,
                )]))?;
                body.push_param("default")
            })?;
            let (_, prompt) = answer.body.parser().get2::<Path, Path>().ok()?;
            self.prompt(&prompt)?;
            found = self.default_collection().filter(|path| path.as_ref() != NONE)?;
        }
        let get = ("org.freedesktop.DBus.Properties", "Get");
        let answer = call(&mut self.bus, (NAME, found.as_ref()), get, |body| {
            body.push_param2("org.freedesktop.Secret.Collection", "Locked")
        })?;
        let locked = answer.body.parser().get::<Variant<'_, '_>>().ok()?;
        if locked.get::<bool>().ok()? {
            self.unlock(&found)?;
        }
        Some(found)
    }

    fn default_collection(&mut self) -> Option<Path> {
        let answer = self.service("ReadAlias", |body| body.push_param("default"))?;
        answer.body.parser().get::<Path>().ok()
    }

    fn unlock(&mut self, object: &Path) -> Option<()> {
        if !self.can_be_asked {
            return None;
        }
        let answer = self.service("Unlock", |body| body.push_param([object].as_slice()))?;
        let (_, prompt) = answer.body.parser().get2::<Vec<Path>, Path>().ok()?;
        self.prompt(&prompt)
    }

    /// Has the service ask the person, if it must, and waits for the answer. `None` when that was no.
    fn prompt(&mut self, prompt: &Path) -> Option<()> {
        if prompt.as_ref() == NONE {
            return Some(());
        }
        let bus = ("org.freedesktop.DBus", "/org/freedesktop/DBus");
        call(&mut self.bus, bus, ("org.freedesktop.DBus", "AddMatch"), |body| {
            body.push_param("type='signal',interface='org.freedesktop.Secret.Prompt'")
        })?;
        let show = ("org.freedesktop.Secret.Prompt", "Prompt");
        call(&mut self.bus, (NAME, prompt.as_ref()), show, |body| body.push_param(""))?;
        let end = Instant::now().checked_add(PROMPT)?;
        loop {
            let left = end.checked_duration_since(Instant::now())?;
            let signal = self.bus.wait_signal(Timeout::Duration(left)).ok()?;
            let head = &signal.dynheader;
            let is_end = head.member.as_deref() == Some("Completed")
                && head.object.as_deref() == Some(prompt.as_ref());
            if is_end {
                let dismissed = signal.body.parser().get::<bool>().ok()?;
                return (!dismissed).then_some(());
            }
        }
    }

    /// The first item with these attributes.
    fn find(&mut self, attributes: &Attributes<'_>) -> Option<Path> {
        let answer = self.service("SearchItems", |body| body.push_param(attributes))?;
        let (unlocked, locked) = answer.body.parser().get2::<Vec<Path>, Vec<Path>>().ok()?;
        if let Some(item) = unlocked.into_iter().next() {
            return Some(item);
        }
        let item = locked.into_iter().next()?;
        self.unlock(&item)?;
        Some(item)
    }

    fn secret(&mut self, item: &Path) -> Option<String> {
        let get = ("org.freedesktop.Secret.Item", "GetSecret");
        let session = &self.path;
        let answer =
            call(&mut self.bus, (NAME, item.as_ref()), get, |body| body.push_param(session))?;
        type Secret = (Path, Vec<u8>, Vec<u8>, String);
        let (_, _, bytes, _) = answer.body.parser().get::<Secret>().ok()?;
        String::from_utf8(bytes).ok()
    }

    /// Makes an item, in the place of one with the same attributes.
    fn create(
        &mut self,
        collection: &Path,
        attributes: Attributes<'_>,
        secret: &str,
    ) -> Option<()> {
        let properties = HashMap::from([
            ("org.freedesktop.Secret.Item.Label", Value::Text(LABEL)),
            ("org.freedesktop.Secret.Item.Attributes", Value::Attributes(attributes)),
        ]);
        let create = ("org.freedesktop.Secret.Collection", "CreateItem");
        let session = &self.path;
        let answer = call(&mut self.bus, (NAME, collection.as_ref()), create, |body| {
            body.push_param(properties)?;
            body.push_param((session, [0_u8; 0].as_slice(), secret.as_bytes(), "text/plain"))?;
            body.push_param(true)
        })?;
        let (_, prompt) = answer.body.parser().get2::<Path, Path>().ok()?;
        self.prompt(&prompt)
    }
}
