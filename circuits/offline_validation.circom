pragma circom 2.1.6;

include "lib/context.circom";
include "lib/payment.circom";
include "lib/range.circom";

// I know the secret behind `terminalCommitment`, and amount, time and salt behind `paymentCommitment`, a payment of this
// card at this terminal; amount <= limit and from <= time <= to. There is no proof of a NO, and none that the card exists.
// Public: paymentCommitment, cardNullifier, limit, from, to, terminalCommitment, ctx.
template OfflineValidation() {
    signal input cardNullifier;
    signal input limit;
    signal input from;
    signal input to;
    signal input terminalCommitment;
    signal input ctx;
    signal input amount;
    signal input time;
    signal input salt;
    signal input terminalSecret;
    signal output paymentCommitment;

    OpenTerminal()(terminalSecret, terminalCommitment);
    paymentCommitment <== CommitPayment()(cardNullifier, amount, time, terminalCommitment, salt);
    Range(AMOUNT_BITS())(limit - amount);
    Between(TIME_BITS())(time, from, to);
    BindContext()(ctx);
}
component main {public [cardNullifier, limit, from, to, terminalCommitment, ctx]} = OfflineValidation();
