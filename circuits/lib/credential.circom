pragma circom 2.1.6;

include "signed.circom";

// What is signed of a credential. There is no witness for one without a birth date or a country.
template CredentialMessage() {
    signal input subject;
    signal input birthDate;
    signal input country;
    signal input level;
    signal input expiresAt;
    signal input secret;
    signal output out;

    NotZero()(birthDate);
    NotZero()(country);
    out <== TaggedPoseidon(TAG_KYC(), 6)([subject, birthDate, country, level, expiresAt, secret]);
}

// out = level, age and country are accepted; a place for a country that isn't needed repeats another.
template CredentialFits() {
    signal input birthDate;
    signal input country;
    signal input level;
    signal input minLevel;
    signal input latestBirthDate;
    signal input countries[8];
    signal output out;

    signal isChecked <== AtMost()(minLevel, level);
    signal isOld <== AtMost()(birthDate, latestBirthDate);
    signal isFrom <== OneOf(8)(country, countries);
    signal isPerson <== isOld * isFrom;
    out <== isChecked * isPerson;
}
