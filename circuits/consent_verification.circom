pragma circom 2.1.6;

include "lib/consent.circom";
include "lib/context.circom";

// I hold a consent that the issuer signed, and `consent_verified` says whether it is given to this controller, for this
// purpose, and from <= now < to; `subject_handle` is its subject in `scope`, and `nullifier` the same wherever this
// consent is shown.
// Public: consent_verified, subject_handle, nullifier, issuerX, issuerY, controller, purpose, now, scope, ctx.
template ConsentVerification() {
    signal input issuerX, issuerY, controller, purpose, now, scope, ctx;
    signal input subject, secret, consentController, purposes[8], from, to;
    signal input r8x, r8y, s;
    signal output consent_verified, subject_handle, nullifier;

    signal message <== ConsentMessage()(subject, secret, consentController, purposes, from, to);
    SignedBy()(message, issuerX, issuerY, r8x, r8y, s);
    signal isCovered <== ConsentCovers()(consentController, purposes, controller, purpose);
    signal isCurrent <== Within()(from, now, to);
    consent_verified <== isCovered * isCurrent;
    subject_handle <== SubjectIn()(subject, scope);
    nullifier <== RevocableNullifier()(secret);
    BindContext()(ctx);
}

component main {public [issuerX, issuerY, controller, purpose, now, scope, ctx]} = ConsentVerification();
