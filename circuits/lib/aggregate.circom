pragma circom 2.1.6;

include "poseidon.circom";
include "range.circom";
include "tags.circom";

// How many places hold a proof, how many of those say YES, and whether all do. A place is unused where its digest is 0;
// decisions has a bit for each place, the first one lowest. There is no witness unless the first place is used, the
// used ones stand before the unused ones, and the bits of unused ones are 0.
template MemberCounts() {
    signal input digests[8];
    signal input decisions;
    signal output count;
    signal output yesCount;
    signal output all;

    signal isYes[8] <== Num2Bits(8)(decisions);
    signal isUnused[8];
    signal counted[8];
    var unused = 0;
    var yeses = 0;
    for (var i = 0; i < 8; i++) {
        isUnused[i] <== IsZero()(digests[i]);
        if (i > 0) isUnused[i - 1] * (1 - isUnused[i]) === 0;
        isYes[i] * isUnused[i] === 0;
        counted[i] <== isYes[i] * (1 - isUnused[i]);
        unused += isUnused[i];
        yeses += counted[i];
    }
    isUnused[0] === 0;
    count <== 8 - unused;
    yesCount <== yeses;
    all <== IsZero()(8 - unused - yeses);
}

// Poseidon[AGGREGATE_CHAIN](digests, decisions)
template MemberChain() {
    signal input digests[8];
    signal input decisions;
    signal output out;

    component chain = TaggedPoseidon(TAG_AGGREGATE_CHAIN(), 9);
    for (var i = 0; i < 8; i++) chain.in[i] <== digests[i];
    chain.in[8] <== decisions;
    out <== chain.out;
}
