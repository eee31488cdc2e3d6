//! Mail after commits, by SMTP.

use std::path::PathBuf;
use std::time::Duration;

use lettre::message::Mailbox;
use lettre::message::header::{ContentType, Header, HeaderName, HeaderValue};
use lettre::transport::smtp::authentication::Credentials;
use lettre::transport::smtp::client::{Certificate, Tls, TlsParameters};
use lettre::{AsyncSmtpTransport, AsyncTransport as _, Message, Tokio1Executor};
use sapwood_core::uri::Parts;

use crate::commit::Commit;
use crate::error::{Error, Result};
use crate::message;
use sapwood_core::WrongSetting;

/// How long the server may take for one command.
const TIMEOUT: Duration = Duration::from_secs(30);
/// How long a whole mail may take.
const WHOLE: Duration = Duration::from_secs(120);

/// The settings of mail.
#[derive(Clone, Debug, Default)]
pub struct MailSettings {
    /// `smtp://HOST` or `smtps://HOST`, with a port where it is not 25 or 465.
    pub server: String,
    /// Who sends it.
    pub from: String,
    /// Who gets it.
    pub to: Vec<String>,
    /// Whether `smtp://` may go on without TLS, which is begun by STARTTLS otherwise.
    pub plain: bool,
    /// The name and the password for the server.
    pub login: Option<(String, String)>,
    /// Authorities for the server's certificate, in place of the system's: a file in PEM form.
    pub authorities: Option<PathBuf>,
}

/// Mail to some people.
#[derive(Debug)]
pub struct Mail {
    transport: AsyncSmtpTransport<Tokio1Executor>,
    from: Mailbox,
    to: Vec<Mailbox>,
}

/// Says to programs that answer mail that they must not answer this one (RFC 3834).
#[derive(Clone, Copy)]
struct AutoSubmitted;

impl Header for AutoSubmitted {
    fn name() -> HeaderName {
        HeaderName::new_from_ascii_str("Auto-Submitted")
    }

    fn parse(_: &str) -> Result<Self, Box<dyn std::error::Error + Send + Sync>> {
        Ok(Self)
    }

    fn display(&self) -> HeaderValue {
        HeaderValue::new(Self::name(), "auto-generated".to_owned())
    }
}

impl Mail {
    /// Mail with these settings; no server is asked.
    ///
    /// # Errors
    /// The setting that cannot be used.
    pub fn new(settings: &MailSettings) -> Result<Self, WrongSetting> {
        let wrong = || WrongSetting::new("server", "it is no address: smtp://HOST or smtps://HOST");
        let parts = Parts::of(&settings.server).ok_or_else(wrong)?;
        let is_sound = matches!(parts.path, "" | "/") && parts.user.is_none();
        if parts.host.is_empty() || parts.tunnel.is_some() || !is_sound {
            return Err(wrong());
        }
        let (tls, usual) = match parts.scheme {
            "smtps" => (Tls::Wrapper(parameters(parts.host, settings)?), 465),
            "smtp" if settings.plain => (Tls::None, 25),
            "smtp" => (Tls::Required(parameters(parts.host, settings)?), 25),
            _ => return Err(wrong()),
        };
        let mut transport = AsyncSmtpTransport::<Tokio1Executor>::builder_dangerous(parts.host)
            .port(parts.port.unwrap_or(usual))
            .tls(tls)
            .timeout(Some(TIMEOUT));
        if let Some((user, password)) = &settings.login {
            if settings.plain {
                let why = "the password would be sent without encryption: not with 'plain'";
                return Err(WrongSetting::new("user", why));
            }
            transport = transport.credentials(Credentials::new(user.clone(), password.clone()));
        }
        let mailbox = |setting: &'static str, text: &String| {
            let why = || format!("'{text}' is no address of mail");
            text.parse::<Mailbox>().map_err(|_| WrongSetting::new(setting, why()))
        };
        if settings.to.is_empty() {
            return Err(WrongSetting::new("to", "it names no address"));
        }
        Ok(Self {
            transport: transport.build(),
            from: mailbox("from", &settings.from)?,
            to: settings.to.iter().map(|to| mailbox("to", to)).collect::<Result<_, _>>()?,
        })
    }

    /// Sends the message of a commit.
    ///
    /// # Errors
    /// When the server has not taken it.
    pub(crate) async fn send(&self, target: &str, commit: &Commit) -> Result<()> {
        let failed = |why: String| Error::Unreachable { target: target.to_owned(), why };
        let mail = self.mail(commit).map_err(|e| failed(e.to_string()))?;
        let sent = tokio::time::timeout(WHOLE, self.transport.send(mail)).await;
        let late = || failed(format!("the mail took longer than {} s", WHOLE.as_secs()));
        match sent.map_err(|_| late())? {
            Ok(_) => Ok(()),
            Err(error) if error.is_permanent() => Err(Error::Refused {
                target: target.to_owned(),
                repository: commit.repository.clone(),
                revision: commit.revision.0,
                answer: error.to_string(),
            }),
            Err(error) => Err(failed(error.to_string())),
        }
    }

    fn mail(&self, commit: &Commit) -> Result<Message, lettre::error::Error> {
        let id = format!("<{}.r{}@sapwood>", commit.uuid, commit.revision);
        let mut mail = Message::builder()
            .from(self.from.clone())
            .subject(message::subject(commit))
            .message_id(Some(id))
            .header(AutoSubmitted)
            .header(ContentType::TEXT_PLAIN);
        for to in &self.to {
            mail = mail.to(to.clone());
        }
        mail.body(message::text(commit))
    }
}

fn parameters(host: &str, settings: &MailSettings) -> Result<TlsParameters, WrongSetting> {
    let wrong = |why: &dyn std::fmt::Display| WrongSetting::new("ca", why);
    let mut builder = TlsParameters::builder(host.to_owned());
    if let Some(file) = &settings.authorities {
        let read = std::fs::read(file).map_err(|e| wrong(&format!("'{}': {e}", file.display())))?;
        builder = builder
            .certificate_store(lettre::transport::smtp::client::CertificateStore::None)
            .add_root_certificate(Certificate::from_pem(&read).map_err(|e| wrong(&e))?);
    }
    builder.build_rustls().map_err(|e| wrong(&e))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings() {
        let sound = MailSettings {
            server: "smtp://mail.example.com".to_owned(),
            from: "Sapwood <svn@example.com>".to_owned(),
            to: vec!["devs@example.com".to_owned()],
            ..Default::default()
        };
        Mail::new(&sound).unwrap();
        let change = |change: &dyn Fn(&mut MailSettings)| {
            let mut settings = sound.clone();
            change(&mut settings);
            Mail::new(&settings).unwrap_err().setting
        };
        for server in ["", "mail", "http://h", "smtp://", "smtp://u@h", "smtp://h/x"] {
            assert_eq!(change(&|own| own.server = server.to_owned()), "server", "{server}");
        }
        assert_eq!(change(&|own| own.to = Vec::new()), "to");
        assert_eq!(change(&|own| own.to = vec!["a b".to_owned()]), "to");
        assert_eq!(change(&|own| own.from = "x\r\nBcc: y@z".to_owned()), "from");
        let login = Some(("u".to_owned(), "p".to_owned()));
        assert_eq!(change(&|own| (own.plain, own.login) = (true, login.clone())), "user");
    }
}
