pragma circom 2.1.6;

include "compare.circom";
include "select.circom";

// What one rule says of one encoded value, or its negation says. op: 0 eq, 1 ne, 2 lt, 3 lte, 4 gt, 5 gte, 6 exists,
// 7 unused, lowest bit first. A missing value (0) satisfies neither a comparison nor its negation. Orderings hold for
// numbers only, so their negations hold for any other value; isNumber says which, and stands in the commitment. There is
// no witness for an ordering whose number and operand are more than 64 bits apart, as numbers never are. Bits are bits.
template Rule() {
    signal input op[3];
    signal input negated;
    signal input value;
    signal input isNumber;
    signal input operand;
    signal output out;

    signal isOther <== op[1] * op[2];
    signal missing <== IsZero()(value);
    signal equal <== IsZero()(value - operand);

    // Bit 0 turns eq into ne, and makes an ordering hold for equals too.
    signal orEqual <== op[0] * equal;
    signal ifEquality <== (1 - op[1] - op[2] + isOther) * (equal + op[0] - 2 * orEqual);

    // What isn't to be ordered is 0 against 0.
    signal isLess <== (op[1] - isOther) * isNumber;
    signal isGreater <== (op[2] - isOther) * isNumber;
    signal difference <== (isLess + isGreater) * (value - operand);
    signal less <== NearLessThan(NUMBER_BITS())(difference, 0);
    signal ifLess <== isLess * (less + orEqual);
    signal ifGreater <== isGreater * (1 - less - equal + orEqual);

    // exists knows of a missing value too; an unused rule always holds.
    signal isUnused <== op[0] * missing;
    signal ifOther <== isOther * (1 - missing + isUnused);
    signal known <== 1 - missing + isOther * missing;

    signal plain <== ifEquality + ifLess + ifGreater + ifOther;
    signal negation <== negated * (1 - 2 * plain);
    out <== known * (plain + negation);
}

// The rules of a program, each over the attribute in its slot. words holds op, negation and slot of each, with 4 + slotBits
// bits a rule, the first lowest; numbers has a bit for each attribute. There is no witness for larger words or numbers.
template Rules(slotBits) {
    var size = 1 << slotBits;
    var wordBits = 4 + slotBits;
    signal input attributes[size];
    signal input numbers;
    signal input words;
    signal input operands[size];
    signal output out[size];

    signal isNumber[size] <== Num2Bits(size)(numbers);
    signal bit[size * wordBits] <== Num2Bits(size * wordBits)(words);
    component value[size];
    component kind[size];
    component rule[size];
    for (var i = 0; i < size; i++) {
        value[i] = Select(slotBits);
        kind[i] = Select(slotBits);
        value[i].in <== attributes;
        kind[i].in <== isNumber;
        for (var j = 0; j < slotBits; j++) {
            value[i].index[j] <== bit[i * wordBits + 4 + j];
            kind[i].index[j] <== bit[i * wordBits + 4 + j];
        }
        rule[i] = Rule();
        for (var j = 0; j < 3; j++) rule[i].op[j] <== bit[i * wordBits + j];
        rule[i].negated <== bit[i * wordBits + 3];
        rule[i].value <== value[i].out;
        rule[i].isNumber <== kind[i].out;
        rule[i].operand <== operands[i];
        out[i] <== rule[i].out;
    }
}
