pragma circom 2.1.6;

include "range.circom";

// Encoded values are type * 2^248 + payload; numbers have type 1 and 64 bits of payload.
function NUMBERS_FROM() { return 1 << 248; }
function NUMBER_BITS() { return 64; }

// out = a op b, for op 0 eq, 1 ne, 2 lt, 3 lte, 4 gt, 5 gte; there is no witness for another op.
// Equality compares whole elements. An ordering demands numbers: there is no witness for another type.
template CompareEncoded() {
    signal input a;
    signal input b;
    signal input op;
    signal output out;

    signal bit[3] <== Num2Bits(3)(op);
    bit[2] * bit[1] === 0;

    // Neither lt nor gt bit means equality; then 0 is compared with 0.
    signal isOrder <== bit[1] + bit[2];
    signal x <== isOrder * (a - NUMBERS_FROM());
    signal y <== isOrder * (b - NUMBERS_FROM());
    signal less <== RangedLessThan(NUMBER_BITS())(x, y);
    signal equal <== IsEqual()([a, b]);

    // Bit 0 turns eq into ne, and makes an ordering hold for equals too.
    signal unequal <== bit[0] * (1 - 2 * equal);
    signal orEqual <== bit[0] * equal;
    signal ifEquality <== (1 - isOrder) * (equal + unequal);
    signal ifLess <== bit[1] * (less + orEqual);
    signal ifGreater <== bit[2] * (1 - less - equal + orEqual);
    out <== ifEquality + ifLess + ifGreater;
}
