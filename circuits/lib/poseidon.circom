pragma circom 2.1.6;

include "circomlib/circuits/poseidon.circom";

// Poseidon[tag](inputs): the inputs go in by pairs, the last one padded with 0, each pair with the result of the one
// before it as capacity element; the tag is the first. How many there are is fixed for each tag.
template TaggedPoseidon(tag, n) {
    signal input in[n];
    signal output out;

    var pairs = (n + 1) \ 2;
    component permutation[pairs];
    for (var i = 0; i < pairs; i++) {
        permutation[i] = PoseidonEx(2, 1);
        if (i == 0) {
            permutation[i].initialState <== tag;
        } else {
            permutation[i].initialState <== permutation[i - 1].out[0];
        }
        permutation[i].inputs[0] <== in[2 * i];
        if (2 * i + 1 < n) {
            permutation[i].inputs[1] <== in[2 * i + 1];
        } else {
            permutation[i].inputs[1] <== 0;
        }
    }
    out <== permutation[pairs - 1].out[0];
}
