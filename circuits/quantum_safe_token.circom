pragma circom 2.1.6;

include "lib/context.circom";
include "lib/hybrid-token.circom";

// I know a hybrid token that stands in the shard with this root; `quantum_safe_valid` says whether it is decided, has
// not expired at `now`, and is signed post-quantum and as required. `nullifier` is the token's own. It all rests on hashes.
// Public: quantum_safe_valid, nullifier, root, now, requiredBits, ctx.
template QuantumSafeToken() {
    signal input root;
    signal input now;
    signal input requiredBits;
    signal input ctx;
    signal input leafHash;
    signal input tokenDigest;
    signal input decision;
    signal input exp;
    signal input policyBits;
    signal input salt;
    signal input position;
    signal input path[SHARD_DEPTH()];
    signal output quantum_safe_valid;
    signal output nullifier;

    nullifier <== HybridTokenMember()(leafHash, tokenDigest, decision, exp, policyBits, salt, position, path, root);
    quantum_safe_valid <== QuantumSafe()(decision, exp, policyBits, now, requiredBits);
    BindContext()(ctx);
}

component main {public [root, now, requiredBits, ctx]} = QuantumSafeToken();
