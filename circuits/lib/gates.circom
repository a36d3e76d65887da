pragma circom 2.1.6;

include "circomlib/circuits/bitify.circom";

function LEVELS() { return 8; }

// out[d] = 1 if and only if the number of these three bits, lowest first, is at most d.
template AtMost() {
    signal input bit[3];
    signal output out[8];

    signal upper <== bit[1] * bit[2];
    out[5] <== 1 - upper;
    out[3] <== 1 - bit[2];
    out[1] <== 1 - bit[1] - bit[2] + upper;
    out[6] <== 1 - bit[0] * upper;
    out[4] <== out[3] + (1 - bit[0]) * (bit[2] - upper);
    out[2] <== out[3] - bit[0] * (bit[1] - upper);
    out[0] <== out[1] - bit[0] * out[1];
    out[7] <== 1;
}

// A group that is joined by ANDs, or by ORs, gets one more member where `joins` is 1, and begins anew where `closes` is.
template Group(isAnd) {
    signal input held;
    signal input member;
    signal input joins;
    signal input closes;
    signal output result;
    signal output next;

    // The bit that changes nothing: 1 for AND, 0 for OR.
    signal added <== isAnd + joins * (member - isAnd);
    signal both <== held * added;
    result <== isAnd ? both : held + added - both;
    next <== result + closes * (isAnd - result);
}

// out = 1 if and only if all bits are 1.
template All(size) {
    signal input in[size];
    signal output out;

    signal held[size];
    held[0] <== in[0];
    for (var i = 1; i < size; i++) held[i] <== held[i - 1] * in[i];
    out <== held[size - 1];
}

// Joins bits by ANDs and ORs. gates holds the level, 0 to 7, at which each bit is joined to the next, 3 bits each, the first
// lowest: even levels are ANDs, odd ones ORs, and what is joined at a higher level belongs closer together. There is no
// witness for larger gates.
template Gates(size) {
    signal input in[size];
    signal input gates;
    signal output out;

    signal bit[3 * (size - 1)] <== Num2Bits(3 * (size - 1))(gates);
    component atMost[size - 1];
    component group[size][LEVELS()];
    for (var i = 0; i < size; i++) {
        if (i < size - 1) {
            atMost[i] = AtMost();
            for (var j = 0; j < 3; j++) atMost[i].bit[j] <== bit[3 * i + j];
        }
        for (var d = LEVELS() - 1; d >= 0; d--) {
            group[i][d] = Group(1 - d % 2);
            group[i][d].held <== i == 0 ? 1 - d % 2 : group[i - 1][d].next;
            group[i][d].member <== d == LEVELS() - 1 ? in[i] : group[i][d + 1].result;
            group[i][d].joins <== i == size - 1 ? 1 : atMost[i].out[d];
            group[i][d].closes <== i == size - 1 || d == 0 ? 0 : atMost[i].out[d - 1];
        }
    }
    out <== group[size - 1][0].result;
}
