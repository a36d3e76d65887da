pragma circom 2.1.6;

include "lib/consent.circom";
include "lib/context.circom";

// I know the secret behind a consent that the issuer signed for this organisation, and `consent_verified` says whether it
// is given to this controller, for this purpose, and from <= now < to; `subject_handle` is its subject in `scope`,
// `nullifier` the same wherever this consent is shown, and `disclose` tells its status.
// Public: consent_verified, subject_handle, nullifier, disclosedStatus, issuerX, issuerY, organisation, controller, purpose, now, disclose, scope, ctx.
template ConsentVerification() {
    signal input issuerX, issuerY, organisation, controller, purpose, now, disclose, scope, ctx;
    signal input subject, secret, consentController, purposes[8], from, to, status, r8x, r8y, s;
    signal output consent_verified, subject_handle, nullifier, disclosedStatus;

    signal holder <== HolderOf()(secret, organisation);
    signal message <== ConsentMessage()(subject, holder, consentController, purposes, from, to, organisation, status);
    SignedBy()(message, issuerX, issuerY, r8x, r8y, s);
    signal isCovered <== ConsentCovers()(consentController, purposes, controller, purpose);
    signal isCurrent <== Within()(from, now, to);
    consent_verified <== isCovered * isCurrent;
    subject_handle <== SubjectIn()(subject, scope);
    nullifier <== CredentialNullifier()(secret, status);
    disclosedStatus <== DisclosedStatus()(status, disclose);
    BindContext()(ctx);
}

component main {public [issuerX, issuerY, organisation, controller, purpose, now, disclose, scope, ctx]} = ConsentVerification();
