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

// out = a < b, for integers that are at most 2^bits apart; there is no witness for others. It ranges their difference,
// so neither needs a range of its own.
template NearLessThan(bits) {
    signal input a;
    signal input b;
    signal output out;

    assert(bits <= 251);
    signal bit[bits + 1] <== Num2Bits(bits + 1)(a - b + (1 << bits));
    out <== 1 - bit[bits];
}

// low <= value <= high, for a `low` of `bits` bits, and at most so far apart.
template Between(bits) {
    signal input value;
    signal input low;
    signal input high;

    Range(bits)(low);
    Range(bits)(value - low);
    Range(bits)(high - value);
}
