pragma circom 2.1.6;

include "lib/context.circom";
include "lib/credential.circom";

// I know the secret behind a credential that the issuer signed for this organisation, and `decision` says whether it is
// unexpired, its level at least minLevel, its birth date (yyyymmdd) at most latestBirthDate and its country accepted.
// `nullifier` is the secret's in `scope`, `person` the subject's where `unique` is 1; `disclose` tells its status.
// Public: decision, nullifier, person, disclosedStatus, issuerX, issuerY, organisation, now, minLevel, latestBirthDate, countries[8], unique, disclose, scope, ctx.
template Kyc() {
    signal input issuerX, issuerY, organisation, now, minLevel, latestBirthDate, countries[8], unique, disclose, scope, ctx;
    signal input subject, birthDate, country, level, expiresAt, secret, status, r8x, r8y, s;
    signal output decision, nullifier, person, disclosedStatus;

    signal holder <== HolderOf()(secret, organisation);
    signal message <== CredentialMessage()(subject, birthDate, country, level, expiresAt, holder, organisation, status);
    SignedBy()(message, issuerX, issuerY, r8x, r8y, s);
    signal isUnexpired <== RangedLessThan(SIGNED_NUMBER_BITS())(now, expiresAt);
    signal isFitting <== CredentialFits()(birthDate, country, level, minLevel, latestBirthDate, countries);
    decision <== isUnexpired * isFitting;
    nullifier <== Nullifier()(secret, scope);
    person <== PersonIn()(subject, scope, unique);
    disclosedStatus <== DisclosedStatus()(status, disclose);
    BindContext()(ctx);
}

component main {public [issuerX, issuerY, organisation, now, minLevel, latestBirthDate, countries, unique, disclose, scope, ctx]} = Kyc();
