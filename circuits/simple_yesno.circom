pragma circom 2.1.6;

include "lib/commitment.circom";
include "lib/context.circom";
include "lib/range.circom";

// I know a value and a salt behind `commitment`, and `decision` says whether value >= threshold; both are numbers of
// 64 bits. The prover chooses the commitment: alone, a proof shows consistency only.
// Public: decision, commitment, threshold, ctx.
template SimpleYesno() {
    signal input commitment;
    signal input threshold;
    signal input ctx;
    signal input value;
    signal input salt;
    signal output decision;

    OpenCommitment()(value, salt, commitment);
    signal less <== RangedLessThan(64)(value, threshold);
    decision <== 1 - less;
    BindContext()(ctx);
}

component main {public [commitment, threshold, ctx]} = SimpleYesno();
