pragma circom 2.1.6;

include "poseidon.circom";
include "range.circom";
include "tags.circom";

// Levels of a shard of the ledger's second tree: 4,096 leaves.
function SHARD_DEPTH() { return 12; }

// The root that a leaf at `position` and its siblings, from the bottom, lead to. There is no witness for a position
// that the tree doesn't have.
template MerkleRoot(depth) {
    signal input leaf;
    signal input position;
    signal input path[depth];
    signal output root;

    signal isRight[depth] <== Num2Bits(depth)(position);
    signal node[depth + 1];
    signal left[depth];
    node[0] <== leaf;
    for (var i = 0; i < depth; i++) {
        left[i] <== node[i] + isRight[i] * (path[i] - node[i]);
        node[i + 1] <== TaggedPoseidon(TAG_NODE(), 2)([left[i], node[i] + path[i] - left[i]]);
    }
    root <== node[depth];
}

// An entry of the ledger, as a leaf, stands in the shard with this root. A leaf is never 0, so no empty place passes
// for an entry.
template ShardMember() {
    signal input entryType;
    signal input leafHash;
    signal input commitment;
    signal input position;
    signal input path[SHARD_DEPTH()];
    signal input root;
    signal output leaf;

    leaf <== TaggedPoseidon(TAG_LEAF(), 3)([entryType, leafHash, commitment]);
    signal reached <== MerkleRoot(SHARD_DEPTH())(leaf, position, path);
    root === reached;
}
