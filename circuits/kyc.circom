pragma circom 2.1.6;

include "lib/context.circom";
include "lib/credential.circom";

// I hold a credential that the issuer signed, and `decision` says whether it is unexpired, its level at least minLevel,
// its birth date (yyyymmdd) at most latestBirthDate and its country one of `countries`; `nullifier` is its subject's in
// `scope`. A bearer credential: this doesn't show that its subject is here.
// Public: decision, nullifier, issuerX, issuerY, now, minLevel, latestBirthDate, countries[8], scope, ctx.
template Kyc() {
    signal input issuerX, issuerY, now, minLevel, latestBirthDate, countries[8], scope, ctx;
    signal input subject, birthDate, country, level, expiresAt, secret;
    signal input r8x, r8y, s;
    signal output decision, nullifier;

    signal message <== CredentialMessage()(subject, birthDate, country, level, expiresAt, secret);
    SignedBy()(message, issuerX, issuerY, r8x, r8y, s);
    signal isUnexpired <== RangedLessThan(SIGNED_NUMBER_BITS())(now, expiresAt);
    signal isFitting <== CredentialFits()(birthDate, country, level, minLevel, latestBirthDate, countries);
    decision <== isUnexpired * isFitting;
    nullifier <== SubjectIn()(subject, scope);
    BindContext()(ctx);
}

component main {public [issuerX, issuerY, now, minLevel, latestBirthDate, countries, scope, ctx]} = Kyc();
