pragma circom 2.1.6;

include "poseidon.circom";
include "tags.circom";

// Opens the commitment to `size` encoded values, which of them are numbers (a bit each), and where they stand in the data.
template OpenAttributes(tag, size) {
    signal input attributes[size];
    signal input numbers;
    signal input schema;
    signal input salt;
    signal input commitment;

    component opened = TaggedPoseidon(tag, size + 3);
    for (var i = 0; i < size; i++) opened.in[i] <== attributes[i];
    opened.in[size] <== numbers;
    opened.in[size + 1] <== schema;
    opened.in[size + 2] <== salt;
    commitment === opened.out;
}

// Opens the hash of rules over values that stand in the data where `schema` says.
template OpenProgram(tag, size) {
    signal input operands[size];
    signal input schema;
    signal input program;
    signal input hash;

    component opened = TaggedPoseidon(tag, size + 2);
    for (var i = 0; i < size; i++) opened.in[i] <== operands[i];
    opened.in[size] <== schema;
    opened.in[size + 1] <== program;
    hash === opened.out;
}
