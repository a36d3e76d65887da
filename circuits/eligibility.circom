pragma circom 2.1.6;

include "lib/context.circom";
include "lib/gates.circom";
include "lib/program.circom";
include "lib/rule.circom";

// I know 8 encoded values and a salt behind `commitment`, and 8 rules over the same fields behind `policyHash`, and
// `decision` says whether all of the rules hold. The prover chooses the commitment: alone, a proof shows consistency only.
// Public: decision, commitment, policyHash, ctx.
template Eligibility() {
    signal input commitment;
    signal input policyHash;
    signal input ctx;
    signal input attributes[8];
    signal input numbers;
    signal input salt;
    signal input schema;
    signal input words;
    signal input operands[8];
    signal output decision;

    OpenAttributes(TAG_ELIGIBILITY_DATA(), 8)(attributes, numbers, schema, salt, commitment);
    OpenProgram(TAG_POLICY(), 8)(operands, schema, words, policyHash);
    signal holds[8] <== Rules(3)(attributes, numbers, words, operands);
    decision <== All(8)(holds);
    BindContext()(ctx);
}
component main {public [commitment, policyHash, ctx]} = Eligibility();
