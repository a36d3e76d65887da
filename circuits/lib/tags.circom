pragma circom 2.1.6;

// What a Poseidon hash is for stands in its capacity element, so that no hash can be passed off as another kind.
// The same numbers stand in src/core/poseidon-tags.ts; a test compares them. 9 to 11 were what version 1 of credentials,
// tokens and consents was signed under: no other hash ever gets them.
function TAG_COMMITMENT() { return 1; }
function TAG_POLICY() { return 2; }
function TAG_PROGRAM() { return 3; }
function TAG_LEAF() { return 4; }
function TAG_NODE() { return 5; }
function TAG_NULLIFIER() { return 6; }
function TAG_SUBJECT() { return 7; }
function TAG_PAYMENT() { return 8; }
function TAG_AGGREGATE() { return 12; }
function TAG_ELIGIBILITY_DATA() { return 13; }
function TAG_COMPOSITE_DATA() { return 14; }
function TAG_HYBRID_TOKEN() { return 15; }
function TAG_AGGREGATE_CHAIN() { return 16; }
function TAG_TERMINAL() { return 17; }
function TAG_HOLDER() { return 18; }
function TAG_KYC2() { return 19; }
function TAG_TOKEN2() { return 20; }
function TAG_CONSENT2() { return 21; }
function TAG_CREDENTIAL() { return 22; }
