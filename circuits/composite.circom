pragma circom 2.1.6;

include "lib/context.circom";
include "lib/gates.circom";
include "lib/program.circom";
include "lib/rule.circom";

// I know 16 encoded values and a salt behind `commitment`, and 16 rules over the same fields and their gates behind
// `programHash`, and `decision` is what they come to. The prover chooses the commitment: alone, this shows consistency.
// Public: decision, commitment, programHash, ctx.
template Composite() {
    signal input commitment;
    signal input programHash;
    signal input ctx;
    signal input attributes[16];
    signal input numbers;
    signal input salt;
    signal input schema;
    signal input words;
    signal input gates;
    signal input operands[16];
    signal output decision;

    OpenAttributes(TAG_COMPOSITE_DATA(), 16)(attributes, numbers, schema, salt, commitment);
    OpenProgram(TAG_PROGRAM(), 16)(operands, schema, words + gates * (1 << 128), programHash);
    decision <== Gates(16)(Rules(4)(attributes, numbers, words, operands), gates);
    BindContext()(ctx);
}
component main {public [commitment, programHash, ctx]} = Composite();
