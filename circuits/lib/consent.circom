pragma circom 2.1.6;

include "signed.circom";

// What is signed of a consent. A place for a purpose that isn't used is 0.
template ConsentMessage() {
    signal input subject;
    signal input holder;
    signal input controller;
    signal input purposes[8];
    signal input from;
    signal input to;
    signal input organisation;
    signal input status;
    signal output out;

    component message = TaggedPoseidon(TAG_CONSENT2(), 15);
    message.in[0] <== subject;
    message.in[1] <== holder;
    message.in[2] <== controller;
    for (var i = 0; i < 8; i++) message.in[3 + i] <== purposes[i];
    message.in[11] <== from;
    message.in[12] <== to;
    message.in[13] <== organisation;
    message.in[14] <== status;
    out <== message.out;
}

// out = the consent is given to this controller and for this purpose. There is no witness for the purpose 0, which
// would be found in an unused place.
template ConsentCovers() {
    signal input consentController;
    signal input purposes[8];
    signal input controller;
    signal input purpose;
    signal output out;

    NotZero()(purpose);
    signal isPurpose <== OneOf(8)(purpose, purposes);
    signal isController <== IsZero()(consentController - controller);
    out <== isPurpose * isController;
}
