pragma circom 2.1.6;

include "circomlib/circuits/bitify.circom";
include "circomlib/circuits/comparators.circom";

// The only home of comparators. Those of circomlib are sound only for numbers that are known to be in range, so
// everything here ranges what it compares.

// 0 <= in < 2^bits. With at most 253 bits no number has a second form modulo the field.
template Range(bits) {
    signal input in;

    assert(bits <= 253);
    _ <== Num2Bits(bits)(in);
}

// out = a < b, for numbers of `bits` bits; there is no witness for others.
template RangedLessThan(bits) {
    signal input a;
    signal input b;
    signal output out;

    Range(bits)(a);
    Range(bits)(b);
    out <== LessThan(bits)([a, b]);
}
