//! How the test's authority looks whether a name belongs to a server: it really asks.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::sync::Arc;
use std::time::Duration;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::CryptoProvider;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{ClientConfig, ClientConnection, DigitallySignedStruct, Error, SignatureScheme};
use sha2::{Digest as _, Sha256};

fn connect(port: u16) -> Result<TcpStream, String> {
    let socket = TcpStream::connect(("127.0.0.1", port)).map_err(|e| e.to_string())?;
    socket.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    Ok(socket)
}

/// Asks for a token's page, and what is wrong with the answer.
pub fn ask_http(port: u16, name: &str, token: &str, wanted: &str) -> Result<(), String> {
    let mut socket = connect(port)?;
    let path = format!("/.well-known/acme-challenge/{token}");
    write!(socket, "GET {path} HTTP/1.1\r\nHost: {name}\r\nConnection: close\r\n\r\n").unwrap();
    let mut answer = String::new();
    socket.read_to_string(&mut answer).map_err(|e| e.to_string())?;
    let (head, body) = answer.split_once("\r\n\r\n").ok_or("no answer")?;
    if head.starts_with("HTTP/1.1 200 ") && body == wanted {
        return Ok(());
    }
    Err(format!("the page says {}", head.lines().next().unwrap_or("nothing")))
}

/// Takes any certificate: what it says is looked at afterwards.
#[derive(Debug)]
struct Any(Arc<CryptoProvider>);

impl ServerCertVerifier for Any {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        Ok(ServerCertVerified::assertion())
    }

    // Not looked at either: the library refuses all certificates with the authority's critical extension.
    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn verify_tls13_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}

/// The certificate that a server shows for a name, to clients that want this protocol within TLS; and the protocol that it
/// takes.
pub fn shown(port: u16, name: &str, protocol: &str) -> Result<(Vec<u8>, String), String> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = ClientConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()
        .unwrap()
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(Any(provider)))
        .with_no_client_auth();
    config.alpn_protocols = vec![protocol.as_bytes().to_vec()];
    let host = ServerName::try_from(name.to_owned()).unwrap();
    let mut connection = ClientConnection::new(Arc::new(config), host).unwrap();
    let mut socket = connect(port)?;
    while connection.is_handshaking() {
        connection.complete_io(&mut socket).map_err(|e| e.to_string())?;
    }
    let taken = connection.alpn_protocol().unwrap_or_default();
    let certificates = connection.peer_certificates().unwrap();
    Ok((certificates[0].to_vec(), String::from_utf8_lossy(taken).into_owned()))
}

/// Asks within TLS, and what is wrong with the certificate.
pub fn ask_tls(port: u16, name: &str, wanted: &str) -> Result<(), String> {
    let (certificate, protocol) = shown(port, name, "acme-tls/1")?;
    let (_, parsed) = x509_parser::parse_x509_certificate(&certificate).unwrap();
    let names = parsed.subject_alternative_name().unwrap().ok_or("no names")?;
    let names: Vec<String> = names.value.general_names.iter().map(ToString::to_string).collect();
    // id-pe-acmeIdentifier, an OCTET STRING.
    let extension =
        parsed.extensions().iter().find(|one| one.oid.to_id_string() == "1.3.6.1.5.5.7.1.31");
    let extension = extension.filter(|one| one.critical).ok_or("no critical acmeIdentifier")?;
    let hash = [&[4, 32][..], &Sha256::digest(wanted.as_bytes())].concat();
    match () {
        () if protocol != "acme-tls/1" => Err(format!("the protocol is '{protocol}'")),
        () if names != [format!("DNSName({name})")] => Err(format!("the names are {names:?}")),
        () if extension.value != hash => Err("the hash is another one".to_owned()),
        () => Ok(()),
    }
}
