pragma circom 2.1.6;

include "lib/context.circom";
include "lib/signed.circom";

// I hold a token that the issuer signed, and `token_valid` says whether issuedAt <= now < expiresAt and the token is
// for this audience, or for any (0); `nullifier` is the same wherever this token is shown.
// Public: token_valid, nullifier, issuerX, issuerY, now, audience, ctx.
template TokenValidation() {
    signal input issuerX, issuerY, now, audience, ctx;
    signal input tokenId, subject, tokenAudience, claims, issuedAt, expiresAt, secret;
    signal input r8x, r8y, s;
    signal output token_valid, nullifier;

    var fields[7] = [tokenId, subject, tokenAudience, claims, issuedAt, expiresAt, secret];
    signal message <== TaggedPoseidon(TAG_TOKEN(), 7)(fields);
    SignedBy()(message, issuerX, issuerY, r8x, r8y, s);
    signal isCurrent <== Within()(issuedAt, now, expiresAt);
    signal isForAudience <== OneOf(2)(tokenAudience, [0, audience]);
    token_valid <== isCurrent * isForAudience;
    nullifier <== RevocableNullifier()(secret);
    BindContext()(ctx);
}

component main {public [issuerX, issuerY, now, audience, ctx]} = TokenValidation();
