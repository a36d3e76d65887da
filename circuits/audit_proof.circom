pragma circom 2.1.6;

include "lib/context.circom";
include "lib/merkle.circom";

// I know an entry of the shard with this root, and `leafCommitment` is a commitment to its leaf. Nothing else is said
// of the entry. The salt, at least 128 random bits, is what hides which one it is.
// Public: leafCommitment, root, ctx.
template AuditProof() {
    signal input root;
    signal input ctx;
    signal input entryType;
    signal input leafHash;
    signal input commitment;
    signal input salt;
    signal input position;
    signal input path[SHARD_DEPTH()];
    signal output leafCommitment;

    signal leaf <== ShardMember()(entryType, leafHash, commitment, position, path, root);
    leafCommitment <== TaggedPoseidon(TAG_COMMITMENT(), 2)([leaf, salt]);
    BindContext()(ctx);
}

component main {public [root, ctx]} = AuditProof();
