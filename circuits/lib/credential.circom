pragma circom 2.1.6;

include "signed.circom";

// What is signed of a credential. There is no witness for one without a birth date or a country.
template CredentialMessage() {
    signal input subject;
    signal input birthDate;
    signal input country;
    signal input level;
    signal input expiresAt;
    signal input holder;
    signal input organisation;
    signal input status;
    signal output out;

    NotZero()(birthDate);
    NotZero()(country);
    var fields[8] = [subject, birthDate, country, level, expiresAt, holder, organisation, status];
    out <== TaggedPoseidon(TAG_KYC2(), 8)(fields);
}

// out = level, age and country are accepted. A place for a country that isn't needed repeats another; where the first is 0,
// any country is accepted.
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
    signal isNamed <== OneOf(8)(country, countries);
    signal isAny <== IsZero()(countries[0]);
    signal isFrom <== isNamed + isAny - isNamed * isAny;
    signal isPerson <== isOld * isFrom;
    out <== isChecked * isPerson;
}
