pragma circom 2.1.6;

include "poseidon.circom";
include "range.circom";
include "tags.circom";

// Minor units, and Unix seconds.
function AMOUNT_BITS() { return 64; }
function TIME_BITS() { return 40; }

// Opens what a terminal is known by.
template OpenTerminal() {
    signal input secret;
    signal input commitment;

    signal opened <== TaggedPoseidon(TAG_TERMINAL(), 1)([secret]);
    commitment === opened;
}

// Commits to a payment of a card at a terminal. Amount and time share an element, so there is no witness for larger ones.
template CommitPayment() {
    signal input cardNullifier;
    signal input amount;
    signal input time;
    signal input terminalCommitment;
    signal input salt;
    signal output out;

    Range(AMOUNT_BITS())(amount);
    Range(TIME_BITS())(time);
    signal amountAndTime <== amount * (1 << TIME_BITS()) + time;
    out <== TaggedPoseidon(TAG_PAYMENT(), 4)([cardNullifier, amountAndTime, terminalCommitment, salt]);
}
