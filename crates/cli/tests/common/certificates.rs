//! Authorities and certificates made for one test, and files of clients' certificates.

#![allow(dead_code, reason = "not every test needs everything")]

use std::fs;
use std::path::{Path, PathBuf};

use p12_keystore::{
    Certificate, EncryptionAlgorithm, KeyStore, KeyStoreEntry, MacAlgorithm, PrivateKey,
    PrivateKeyChain,
};
use rcgen::{
    BasicConstraints, CertificateParams, CertificateRevocationListParams, CertifiedIssuer, DnType,
    ExtendedKeyUsagePurpose, IsCa, KeyIdMethod, KeyPair, KeyUsagePurpose, RevokedCertParams,
    SerialNumber, date_time_ymd,
};

pub(crate) type Authority = CertifiedIssuer<'static, KeyPair>;

/// An authority of the test's own.
pub(crate) fn authority(name: &str) -> Authority {
    let mut params = CertificateParams::new(Vec::new()).unwrap();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
    params.distinguished_name.push(DnType::OrganizationName, name);
    CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap()
}

/// Writes the certificate of the server on this machine, and its key.
pub(crate) fn server(authority: &Authority, folder: &Path) {
    let mut params = CertificateParams::new(vec!["localhost".to_owned()]).unwrap();
    params.distinguished_name.push(DnType::CommonName, "localhost");
    let key = KeyPair::generate().unwrap();
    let certificate = params.signed_by(&key, authority).unwrap();
    fs::write(folder.join("certificate"), certificate.pem()).unwrap();
    fs::write(folder.join("key"), key.serialize_pem()).unwrap();
}

/// Writes the certificate of one of several servers, which others know by this address, and its key: `STEM.pem` and `STEM.key`.
pub(crate) fn peer(authority: &Authority, host: &str, until: i32, stem: &Path) {
    let mut params = CertificateParams::new(vec![host.to_owned()]).unwrap();
    params.not_before = date_time_ymd(2020, 1, 1);
    params.not_after = date_time_ymd(until, 1, 1);
    let key = KeyPair::generate().unwrap();
    let certificate = params.signed_by(&key, authority).unwrap();
    fs::write(stem.with_extension("pem"), certificate.pem()).unwrap();
    fs::write(stem.with_extension("key"), key.serialize_pem()).unwrap();
}

/// A client's certificate.
pub(crate) struct Client<'c> {
    pub(crate) name: &'c str,
    pub(crate) serial: u64,
    /// When it begins and ends.
    pub(crate) years: (i32, i32),
    pub(crate) passphrase: &'c str,
    /// Whether its file is locked as files were before OpenSSL 3.
    pub(crate) old: bool,
}

impl Default for Client<'_> {
    fn default() -> Self {
        Self { name: "ada", serial: 1, years: (2020, 2100), passphrase: "geheim", old: false }
    }
}

impl Client<'_> {
    /// Writes it as a PKCS#12 file.
    pub(crate) fn write(&self, authority: &Authority, file: PathBuf) -> PathBuf {
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.distinguished_name.push(DnType::OrganizationName, "The Test");
        params.distinguished_name.push(DnType::CommonName, self.name);
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
        params.serial_number = Some(SerialNumber::from(self.serial));
        params.not_before = date_time_ymd(self.years.0, 1, 1);
        params.not_after = date_time_ymd(self.years.1, 1, 1);
        let key = KeyPair::generate().unwrap();
        let certificate = params.signed_by(&key, authority).unwrap();
        let chain = PrivateKeyChain::new(
            "1",
            PrivateKey::from_der(&key.serialize_der()).unwrap(),
            [Certificate::from_der(certificate.der()).unwrap()],
        );
        let mut store = KeyStore::new();
        store.add_entry("one", KeyStoreEntry::PrivateKeyChain(chain));
        let mut writer = store.writer(self.passphrase).mac_iterations(10).encryption_iterations(10);
        if self.old {
            writer = writer
                .encryption_algorithm(EncryptionAlgorithm::PbeWithShaAnd3KeyTripleDesCbc)
                .mac_algorithm(MacAlgorithm::HmacSha1);
        }
        fs::write(&file, writer.write().unwrap()).unwrap();
        file
    }
}

/// A list of what an authority has called back.
pub(crate) fn revoked(authority: &Authority, serials: &[u64]) -> String {
    let revoked = serials.iter().map(|serial| RevokedCertParams {
        serial_number: SerialNumber::from(*serial),
        revocation_time: date_time_ymd(2021, 1, 1),
        reason_code: None,
        invalidity_date: None,
    });
    let list = CertificateRevocationListParams {
        this_update: date_time_ymd(2021, 1, 1),
        next_update: date_time_ymd(2100, 1, 1),
        crl_number: SerialNumber::from(1),
        issuing_distribution_point: None,
        revoked_certs: revoked.collect(),
        key_identifier_method: KeyIdMethod::Sha256,
    };
    list.signed_by(authority).unwrap().pem().unwrap()
}
