pragma circom 2.1.6;

include "poseidon.circom";
include "tags.circom";

// An even and an odd number of inputs, by different tags.
template Chains() {
    signal input a;
    signal input b;
    signal input c;
    signal output one;
    signal output two;
    signal output three;

    one <== TaggedPoseidon(TAG_LEAF(), 1)([a]);
    two <== TaggedPoseidon(TAG_NODE(), 2)([a, b]);
    three <== TaggedPoseidon(TAG_SUBJECT(), 3)([a, b, c]);
}

component main {public [a, b, c]} = Chains();
