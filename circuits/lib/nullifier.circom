pragma circom 2.1.6;

include "poseidon.circom";
include "tags.circom";

// The same for one secret in one scope, and unlinkable between scopes.
template Nullifier() {
    signal input secret;
    signal input scope;
    signal output out;

    out <== TaggedPoseidon(TAG_NULLIFIER(), 2)([secret, scope]);
}
