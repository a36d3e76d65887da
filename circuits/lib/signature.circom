pragma circom 2.1.6;

include "circomlib/circuits/babyjub.circom";
include "circomlib/circuits/eddsaposeidon.circom";

// EdDSA on Baby Jubjub with Poseidon: (r8x, r8y, s) is the signature of `message` by the key (keyX, keyY). There is no
// witness for another one, for s not below the order of the subgroup, and for points off the curve, where the addition
// formulas of circomlib's verifier say nothing. A key of small order has none either.
template SignedBy() {
    signal input message;
    signal input keyX;
    signal input keyY;
    signal input r8x;
    signal input r8y;
    signal input s;

    BabyCheck()(keyX, keyY);
    BabyCheck()(r8x, r8y);
    EdDSAPoseidonVerifier()(1, keyX, keyY, s, r8x, r8y, message);
}
