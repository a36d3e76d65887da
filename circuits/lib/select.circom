pragma circom 2.1.6;

// out = in[index], the bits of the index lowest first. Every index is one: there are 2^bits inputs.
template Select(bits) {
    signal input in[1 << bits];
    signal input index[bits];
    signal output out;

    var half = 1 << (bits - 1);
    if (bits == 1) {
        out <== in[0] + index[0] * (in[1] - in[0]);
    } else {
        signal chosen[half];
        for (var i = 0; i < half; i++) chosen[i] <== in[2 * i] + index[0] * (in[2 * i + 1] - in[2 * i]);
        signal rest[bits - 1];
        for (var i = 1; i < bits; i++) rest[i - 1] <== index[i];
        out <== Select(bits - 1)(chosen, rest);
    }
}
