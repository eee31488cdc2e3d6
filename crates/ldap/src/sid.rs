//! Security identifiers of Active Directory ([MS-DTYP] 2.4.2.2): the identifier of a user's primary group.

/// The `objectSid` of the primary group of a user: that of the user, with another last number.
///
/// `None` if `user` is no security identifier.
pub(crate) fn of_primary_group(user: &[u8], primary_group_id: u32) -> Option<Vec<u8>> {
    let (revision, count) = (*user.first()?, *user.get(1)?);
    let is_whole = revision == 1 && count > 0 && user.len() == usize::from(count) * 4 + 8;
    let domain = user.get(..user.len().checked_sub(4)?).filter(|_| is_whole)?;
    Some([domain, &primary_group_id.to_le_bytes()].concat())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_primary_group_is_of_the_same_domain() {
        // S-1-5-21-1-2-3-1104
        let user: Vec<u8> = [
            &[1, 5, 0, 0, 0, 0, 0, 5][..],
            &[21, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0],
            &[0x50, 4, 0, 0],
        ]
        .concat();
        let group = of_primary_group(&user, 513).unwrap();
        assert_eq!(group[..24], user[..24]);
        assert_eq!(group[24..], [1, 2, 0, 0]);
        for length in 0..user.len() {
            assert_eq!(of_primary_group(&user[..length], 513), None);
        }
        let other = [&[2][..], &user[1..]].concat();
        assert_eq!(of_primary_group(&other, 513), None);
    }
}
