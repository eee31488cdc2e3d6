//! Files that OpenSSL wrote, with its usual settings of today and with `-legacy`, and what is none.

use sapwood_core::base64;
use x509_parser::prelude::{FromDer as _, X509Certificate};

use super::*;

/// AES-256 and SHA-256; the passphrase is `geheim`.
const MODERN: &str = "\
    MIIELAIBAzCCA+IGCSqGSIb3DQEHAaCCA9MEggPPMIIDyzCCAoIGCSqGSIb3DQEHBqCCAnMwggJvAgEAMIICaAYJKoZIhvcN\
    AQcBMFcGCSqGSIb3DQEFDTBKMCkGCSqGSIb3DQEFDDAcBAhzcwe15PFWhAICCAAwDAYIKoZIhvcNAgkFADAdBglghkgBZQME\
    ASoEEElK+TphTVHqA7FoEYY8s8CAggIA2oT1dPKN7zrVlM5nN0lIjvgdi0lAd4yuoaHEbwXVVVdG/4eWk/6l23oZeLIaAdXS\
    5ljIhxaYFKA+SvVbL1gSnmW5HF8VakcHSCYBu5wK1J0gS8jgZeADiK0o8fhbCoUYsPhsxEdZ6ebfCVo8vnA0GO0RtDxMP+vL\
    So8Z0rVQBqXTTnghu3aKqRptkpAmEl5kLYysAz1S//GlRK5tIBO+gvqwL5aNHihrtr7dqqSn+zQM8pX3FoB09YohgkS2daph\
    FKBW+byaz734VWzj2ng7YRfWD5nJetpXD0Ca4AnAlukCdNZS5OkPBxKCmTiI/MESC8M5d+qosMhRFkwcJ3S+e73vafO0sVY5\
    q14jjHXBsSOSQFA8vRONVgsLR4+3y167SWsi2C/LJguzcBPjl4oh/0Zg2j+bdvFV6KADdcfmzE0ADOCGsMA+szdqVnK3fx9K\
    HHE9jVLQVrzzwIhMSV6T+egj7BAIqAelkCZ4CmpZ91mA4FyUQs7t7LB/U4xxkKljUnOaRc8JFumxZ2FgQQfrrn680kNQlxKr\
    4xNlGrVcR99Vv7AfFZpbpibhCx4MwTpiBmdveoRXXuf81Akr0n/UKS2T6+YYLWoVBRg9kQ0Dk32nwleNBuvGd/NLLJuFoHcp\
    BbW8tDFwRP634lILUWUglTD74lFklNwJXVRVBbe0eVMwggFBBgkqhkiG9w0BBwGgggEyBIIBLjCCASowggEmBgsqhkiG9w0B\
    DAoBAqCB7zCB7DBXBgkqhkiG9w0BBQ0wSjApBgkqhkiG9w0BBQwwHAQIahcXlA73KDsCAggAMAwGCCqGSIb3DQIJBQAwHQYJ\
    YIZIAWUDBAEqBBCWYgzHESmuPlcth/t5E6qLBIGQpN166fDfEppb99uR2lO+Dt22jedOJYb15bF2cS0P1qHDbA9w89Y1PT5Y\
    6VchpJwdP4ZoLnvuICYYR5EQ/fkU6OGZKdI7Emna/M+LAl/iwPhLSbh9Ajb/fj3rbWXhyT8UBSpg+jGSDAJPqMzJcpIeO2xj\
    g2VqY/Q8RdsaibDs9f0DwXPJZMZy7W5AB5BfeISCMSUwIwYJKoZIhvcNAQkVMRYEFJo6CX6tH1dx5N/Xks1xE71n4iQJMEEw\
    MTANBglghkgBZQMEAgEFAAQgbAgjUaA+RcGeYSsrEqAoBPMROlwtuiSJeezKMMYDangECD+4E2p4Rq3oAgIIAA==";

/// RC2 for the certificate, 3DES for the key, SHA-1.
const OLD: &str = "\
    MIIDmgIBAzCCA2AGCSqGSIb3DQEHAaCCA1EEggNNMIIDSTCCAj8GCSqGSIb3DQEHBqCCAjAwggIsAgEAMIICJQYJKoZIhvcN\
    AQcBMBwGCiqGSIb3DQEMAQYwDgQI8qIVOK/iaEcCAggAgIIB+NGs1BeX8jQqVLs+iEL+fYY5LTRhX4SXK4+kgKJfTsGqjDmn\
    CrFNekpYkb9QJBnTzQhA58X1DsNoWgBzxGRURkrl8vNADCSBYXjaRaeMr7qsOgO1SOX4kfnX7xQjfNm9WPvxwS+ppw+exoWj\
    qpERVL/+t2bCb81f4NNs/H8mmkjUhG+MAZ91mZclAn8VN3J/Rl3oVKZ44RW2Lpq7Ar9fx+ObNJv4uKMVYDy8CDQjFcn/DUbH\
    JWDctHKF/QN0m1rD7us6LMDt+JW7qiuF4hW6ATSKvHqGDGoJfjNFXHkMwtvtUYpF/sy5Gr8BC9pXz0gdvI6k1jZ25vn7sIOy\
    XfBWenLpslFscR0dHACfIP5a1H0Tb8sALclX8q7YD45MIMDJnovveAA8sIfHQC50FLmUmvJPU+dM299WryiHoXY2Dz/rLcqX\
    BHKMS0vfz1NPL4V0okoOj/O9ZRCxGHrM00Ikq5axcAHMrw6i6kuxzOIMyfm+joWT9FBgMelxMQE3LCMS3yKSU9Qd2RA7Lzxy\
    HpwzlWkgtKK9BnaufAJymc7iN969BfDUY5l7i+9AYyesj5hgEeEBrye5oG85ZiADdBJFp6FmR8UoRfcDLpG6q5y5ZzZmUJHn\
    EUNGKgnhIyQsbcOyr0D7m3m0PvCWfsLd8eZdpPlJLTavYccIezCCAQIGCSqGSIb3DQEHAaCB9ASB8TCB7jCB6wYLKoZIhvcN\
    AQwKAQKggbQwgbEwHAYKKoZIhvcNAQwBAzAOBAi7conU/YhkfgICCAAEgZCtjBmxcm3+g6nhL8/v8/3G9SrysqgIeTAFfQPu\
    DhqUu2htF829fjK0N7U9xuwkCC1/wjmgpqxWBSlPpZ47WVE+zKzXK6ebqI03LDTRFrL/MC80RpR3e/cRFIizhiwecnigDLAL\
    w6UN9D1c2x0q5xL3H0L17Etys8mrmc/ABqpu6zNp7K/5knESOJGQDPhoAyExJTAjBgkqhkiG9w0BCRUxFgQUmjoJfq0fV3Hk\
    39eSzXETvWfiJAkwMTAhMAkGBSsOAwIaBQAEFMnGTg0PrxgwWdi4WrgqYL+wK+r1BAiEydMMVtqyGgICCAA=";

/// With no passphrase.
const OPEN: &str = "\
    MIIELAIBAzCCA+IGCSqGSIb3DQEHAaCCA9MEggPPMIIDyzCCAoIGCSqGSIb3DQEHBqCCAnMwggJvAgEAMIICaAYJKoZIhvcN\
    AQcBMFcGCSqGSIb3DQEFDTBKMCkGCSqGSIb3DQEFDDAcBAi9LXQFW4cDdwICCAAwDAYIKoZIhvcNAgkFADAdBglghkgBZQME\
    ASoEEAFpKshdmk8f4mvKqfdRAR2AggIAoTpNj79FgnvjBaRw4fRNmfDFMajeoDAalwHXf+F9GLS+3xVLZT4K+vlyarvqQDSd\
    FTUocPntWqm3uZ11DHXu4tddG0B4aIaDUxj2rAlTgkjd1Vr07qgnsDw9doGX6C6Bm9eCWAkxfwDAlyXVuu+zLdSYtpIkRTGv\
    bKlZio3txzDqW9PA73di4IDHZzITS8bqcoRyaHbtvQn0sdHC/dyQNmLzoXSqzi//f/vqKmE7jkn4i6ufxQVZKCIOQen3tkPG\
    Co4axhO8rM+NRl2CsehXHlrE4+dILyBzQOgI5SU+MhF+5YCZ1dFozp2pxdkSo3LvE6i2ouD4uOVp2TSIz1HVU916QdolypEO\
    bVJ7CAawCd3ia3WES4xaP9m8uMhupFU+xueryDxeyCUlTLOk7ODMhwafXHnv6V7ZDxoWWWVNTQk4yJABG8Mu6OdKb6Jhs7ZR\
    uttze1bpxGw+L8CDIh/n5WUESnQYJlAyEcCV9+L6ZW3jiSOp6+mO1e/oglvXM/w/7DkYxRF8fpEcwsP2/XOqRTuA5JouP9Ha\
    dbPl4xGUHIDf0dyiNcci5zX1PEKXOcTEf5M64pLdfsbP5qIy0upGdxGSRiu4yknxMOePEEJ+0e83V0IlWGGiUOmvZVvhnubn\
    DXyAeLNnSP2Cukdat7TOncIxTy1P62GRu5803cpRlMkwggFBBgkqhkiG9w0BBwGgggEyBIIBLjCCASowggEmBgsqhkiG9w0B\
    DAoBAqCB7zCB7DBXBgkqhkiG9w0BBQ0wSjApBgkqhkiG9w0BBQwwHAQIGb4/eILTWKQCAggAMAwGCCqGSIb3DQIJBQAwHQYJ\
    YIZIAWUDBAEqBBAjDZXzEvG5G7lIlThX/XKIBIGQ1633Im2tQSbivJuYapZ5JoryQrlomnNjoQKqbUouT0dwb2Yr55fA7KvL\
    jWT4QuaMcnhOAzEpXeLnLG/Ewry4EzRidSRQzVhHGxwjhCjbjdLUnuy8jjYZjmfCdXKfiFbj0QvQLSTqMoHGq7nXB+UzOOq3\
    rsTgj6CqPQbO44yso5kXLXpVBfXuc5wwHZ6MUAe2MSUwIwYJKoZIhvcNAQkVMRYEFJo6CX6tH1dx5N/Xks1xE71n4iQJMEEw\
    MTANBglghkgBZQMEAgEFAAQgII0zZ3HI2QsG0pPKTQ1iVURqaXbZ0lMNWRwh2RnDbnQECGCbWJjb6gPYAgIIAA==";

/// Without a checksum over all.
const NO_CHECKSUM: &str = "\
    MIIDbwIBAzCCA2gGCSqGSIb3DQEHAaCCA1kEggNVMIIDUTCCAggGCSqGSIb3DQEHAaCCAfkEggH1MIIB8TCCAe0GCyqGSIb3\
    DQEMCgEDoIIBtTCCAbEGCiqGSIb3DQEJFgGgggGhBIIBnTCCAZkwggE/oAMCAQICFB+xuqXOL+2Rnv2uz9U2wUZjwmOLMAoG\
    CCqGSM49BAMCMCExDDAKBgNVBAMMA2FkYTERMA8GA1UECgwIVGhlIFRlc3QwIBcNMjYxMTI0MDg0MjU4WhgPMjEyNjEwMzEw\
    ODQyNThaMCExDDAKBgNVBAMMA2FkYTERMA8GA1UECgwIVGhlIFRlc3QwWTATBgcqhkjOPQIBBggqhkjOPQMBBwNCAARylaXn\
    mqzebiUI6EEG4CPXYISVxdA3HuW0abhfBdXtqN0bopPINqTW5UOnoHdC/e/X6E5mdf3Du6MvsgfLpPBUo1MwUTAdBgNVHQ4E\
    FgQUJyfZpgrgFAtDUTKxjtFLkToZbnIwHwYDVR0jBBgwFoAUJyfZpgrgFAtDUTKxjtFLkToZbnIwDwYDVR0TAQH/BAUwAwEB\
    /zAKBggqhkjOPQQDAgNIADBFAiEAul+Z5esczIa8pWshVad0xKgixOgU7uigAyPbGOvAMdgCIAxqHAXadi4pU3Z83YqP27ih\
    5/6ttONK3ZvlYNacazjbMSUwIwYJKoZIhvcNAQkVMRYEFJo6CX6tH1dx5N/Xks1xE71n4iQJMIIBQQYJKoZIhvcNAQcBoIIB\
    MgSCAS4wggEqMIIBJgYLKoZIhvcNAQwKAQKgge8wgewwVwYJKoZIhvcNAQUNMEowKQYJKoZIhvcNAQUMMBwECPBJrUFJJq3P\
    AgIIADAMBggqhkiG9w0CCQUAMB0GCWCGSAFlAwQBKgQQ/ZWixMwwfqmRe8srVbiq2wSBkP6Ux9GMYG8v3fH0Cn7ZJfbWnEtc\
    AAVWthAMM0us1C06CynYS7kGZ0u0okMRG/BlAy6+N08j3IJlcvMkyRIAhVXNf0hz2TWHlWwltqReGrFyXQwsUjqON4bpHd92\
    v2vD2Ckrws8YndflP3Vh/Aa+lmeejoOBShJ4gtu1rVrudlTwxH1b/VPWoL6WTk09Y8kIvTElMCMGCSqGSIb3DQEJFTEWBBSa\
    Ogl+rR9XceTf15LNcRO9Z+IkCQ==";

fn open(file: &str, passphrase: Option<&str>) -> Result<String, String> {
    let bytes = base64::decode(file.as_bytes()).unwrap();
    let provider = rustls::crypto::ring::default_provider();
    match unlock(&bytes, passphrase, &provider) {
        KeyFile::Open(identity) => {
            let (_, read) = X509Certificate::from_der(identity.end_entity_cert().unwrap()).unwrap();
            let name = read.subject().iter_common_name().next().unwrap().as_str().unwrap();
            Ok(name.to_owned())
        }
        KeyFile::WrongPassphrase => Err("wrong".to_owned()),
        KeyFile::Unusable(why) => Err(why),
    }
}

#[test]
fn files_of_both_ages() {
    for file in [MODERN, OLD] {
        assert_eq!(open(file, Some("geheim")).unwrap(), "ada");
        for wrong in [None, Some(""), Some("Geheim"), Some("geheim ")] {
            assert_eq!(open(file, wrong).unwrap_err(), "wrong", "{wrong:?}");
        }
    }
    assert_eq!(open(OPEN, None).unwrap(), "ada");
    assert_eq!(open(NO_CHECKSUM, Some("geheim")).unwrap(), "ada");
    assert_eq!(open(NO_CHECKSUM, None).unwrap_err(), "wrong");
}

#[test]
fn what_is_no_such_file() {
    for none in ["", "AAAA", &MODERN[..400]] {
        let why = open(none, Some("geheim")).unwrap_err();
        assert!(why.contains("no PKCS#12 file"), "{why}");
    }
}
