pragma circom 2.1.6;

include "poseidon.circom";
include "tags.circom";

// Opens a commitment to one value. The salt, at least 128 random bits, is what hides it.
template OpenCommitment() {
    signal input value;
    signal input salt;
    signal input commitment;

    signal opened <== TaggedPoseidon(TAG_COMMITMENT(), 2)([value, salt]);
    commitment === opened;
}
