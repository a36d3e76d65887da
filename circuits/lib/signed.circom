pragma circom 2.1.6;

include "nullifier.circom";
include "poseidon.circom";
include "range.circom";
include "signature.circom";
include "tags.circom";

// What signed things have in common: how they are shown, and what is asked of them.

// Times, levels and dates (yyyymmdd) have 64 bits; there is no witness for others.
function SIGNED_NUMBER_BITS() { return 64; }

// A subject in one scope: unlinkable to the same subject in another one.
template SubjectIn() {
    signal input subject;
    signal input scope;
    signal output out;

    out <== TaggedPoseidon(TAG_SUBJECT(), 2)([subject, scope]);
}

// What an organisation knows a holder by. It issued to whoever knows the secret, and to nobody else.
template HolderOf() {
    signal input secret;
    signal input organisation;
    signal output out;

    out <== TaggedPoseidon(TAG_HOLDER(), 2)([secret, organisation]);
}

// The same wherever a token or a consent is shown, and known to its holder alone.
template CredentialNullifier() {
    signal input secret;
    signal input status;
    signal output out;

    out <== TaggedPoseidon(TAG_CREDENTIAL(), 2)([secret, status]);
}

// out = the status where it is to be disclosed, else 0. There is no witness unless `disclose` is a bit.
template DisclosedStatus() {
    signal input status;
    signal input disclose;
    signal output out;

    disclose * (1 - disclose) === 0;
    out <== disclose * status;
}

// out = a <= b
template AtMost() {
    signal input a;
    signal input b;
    signal output out;

    signal above <== RangedLessThan(SIGNED_NUMBER_BITS())(b, a);
    out <== 1 - above;
}

// out = from <= now < to
template Within() {
    signal input from;
    signal input now;
    signal input to;
    signal output out;

    signal isBegun <== AtMost()(from, now);
    signal isUnended <== RangedLessThan(SIGNED_NUMBER_BITS())(now, to);
    out <== isBegun * isUnended;
}

// out = value is one of the list
template OneOf(n) {
    signal input value;
    signal input list[n];
    signal output out;

    signal product[n];
    product[0] <== value - list[0];
    for (var i = 1; i < n; i++) product[i] <== product[i - 1] * (value - list[i]);
    out <== IsZero()(product[n - 1]);
}

// There is no witness for 0, which stands for what is missing.
template NotZero() {
    signal input in;

    signal isZero <== IsZero()(in);
    isZero === 0;
}

// out = the subject in a scope where it is to be unique there, else 0. There is no witness unless `unique` is a bit.
template PersonIn() {
    signal input subject;
    signal input scope;
    signal input unique;
    signal output out;

    unique * (1 - unique) === 0;
    signal person <== SubjectIn()(subject, scope);
    out <== unique * person;
}
