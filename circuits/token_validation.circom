pragma circom 2.1.6;

include "lib/context.circom";
include "lib/signed.circom";

// I know the secret behind a token that the issuer signed for this organisation, and `token_valid` says whether
// issuedAt <= now < expiresAt and the token is for this audience, or for any (0); `nullifier` is the same wherever this
// token is shown, and `disclose` tells its status.
// Public: token_valid, nullifier, disclosedStatus, issuerX, issuerY, organisation, now, audience, disclose, ctx.
template TokenValidation() {
    signal input issuerX, issuerY, organisation, now, audience, disclose, ctx;
    signal input tokenId, subject, tokenAudience, claims, issuedAt, expiresAt, secret, status, r8x, r8y, s;
    signal output token_valid, nullifier, disclosedStatus;

    signal holder <== HolderOf()(secret, organisation);
    var fields[9] = [tokenId, subject, tokenAudience, claims, issuedAt, expiresAt, holder, organisation, status];
    signal message <== TaggedPoseidon(TAG_TOKEN2(), 9)(fields);
    SignedBy()(message, issuerX, issuerY, r8x, r8y, s);
    signal isCurrent <== Within()(issuedAt, now, expiresAt);
    signal isForAudience <== OneOf(2)(tokenAudience, [0, audience]);
    token_valid <== isCurrent * isForAudience;
    nullifier <== CredentialNullifier()(secret, status);
    disclosedStatus <== DisclosedStatus()(status, disclose);
    BindContext()(ctx);
}

component main {public [issuerX, issuerY, organisation, now, audience, disclose, ctx]} = TokenValidation();
