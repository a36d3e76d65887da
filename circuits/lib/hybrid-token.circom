pragma circom 2.1.6;

include "merkle.circom";
include "nullifier.circom";
include "range.circom";

// What policy bits stand for: 1 a classical signature, 2 a post-quantum one.
function POLICY_BITS() { return 2; }
function TIME_BITS() { return 64; }

// Type number of the ledger's entries of hybrid tokens.
function TYPE_HYBRID_TOKEN() { return 11; }

// The entry of a hybrid token stands in the shard with this root; out is the token's nullifier. The nullifier binds salt
// and digest, so the sum of salt and terms binds the terms; without the salt nobody can tell which entry it belongs to.
template HybridTokenMember() {
    signal input leafHash;
    signal input tokenDigest;
    signal input decision;
    signal input exp;
    signal input policyBits;
    signal input salt;
    signal input position;
    signal input path[SHARD_DEPTH()];
    signal input root;
    signal output nullifier;

    signal terms <== decision + 2 * policyBits + 8 * exp;
    nullifier <== Nullifier()(salt, tokenDigest);
    signal commitment <== TaggedPoseidon(TAG_HYBRID_TOKEN(), 2)([nullifier, salt + terms]);
    _ <== ShardMember()(TYPE_HYBRID_TOKEN(), leafHash, commitment, position, path, root);
}

// out = 1 where the token is decided, not expired, has a post-quantum signature and all that are required; both bit
// sets have two bits, times have 64, decision is a bit: there is no witness for others.
template QuantumSafe() {
    signal input decision;
    signal input exp;
    signal input policyBits;
    signal input now;
    signal input requiredBits;
    signal output out;

    decision * (1 - decision) === 0;
    signal has[POLICY_BITS()] <== Num2Bits(POLICY_BITS())(policyBits);
    signal needs[POLICY_BITS()] <== Num2Bits(POLICY_BITS())(requiredBits);
    signal isUnexpired <== RangedLessThan(TIME_BITS())(now, exp);
    signal lacksClassical <== needs[0] * (1 - has[0]);
    signal isDecided <== decision * isUnexpired;
    signal isSigned <== has[1] * (1 - lacksClassical);
    // Where the post-quantum bit is set, it is not lacking either.
    out <== isDecided * isSigned;
}
