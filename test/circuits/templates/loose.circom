pragma circom 2.1.6;

// Wrong on purpose: nothing makes `rest` a bit, so that `half` could be anything; and `side` is either root of a square.
template Loose() {
    signal input in;
    signal input square;
    signal output out;

    signal half <-- in \ 2;
    signal rest <== in - 2 * half;
    out <== half * rest;
    signal side <-- 3;
    side * side === square;
}

component main {public [in, square]} = Loose();
