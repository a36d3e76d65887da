pragma circom 2.1.6;

include "lib/commitment.circom";
include "lib/compare.circom";
include "lib/context.circom";
include "lib/nullifier.circom";

// I know a value and a salt behind `commitment`, `decision` says whether "value op operand" holds, and `nullifier` is
// that of this salt in `scope`. The prover chooses commitment and salt: alone, a proof shows consistency only.
// Public: decision, nullifier, commitment, op, operand, scope, ctx.
template Yesno() {
    signal input commitment;
    signal input op;
    signal input operand;
    signal input scope;
    signal input ctx;
    signal input value;
    signal input salt;
    signal output decision;
    signal output nullifier;

    OpenCommitment()(value, salt, commitment);
    decision <== CompareEncoded()(value, operand, op);
    nullifier <== Nullifier()(salt, scope);
    BindContext()(ctx);
}

component main {public [commitment, op, operand, scope, ctx]} = Yesno();
