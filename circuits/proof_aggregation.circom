pragma circom 2.1.6;

include "lib/aggregate.circom";
include "lib/context.circom";
include "lib/signature.circom";

// The attestor signed, for this ctx, a chain of `count` digests of proofs and their decisions, `yes_count` of which are
// YES; `all` says whether every one is. Attested: the attestor verified the proofs before it signed, nothing here does.
// Public: chain, count, yes_count, all, attestorX, attestorY, ctx.
template ProofAggregation() {
    signal input attestorX, attestorY, ctx;
    signal input digests[8], decisions;
    signal input r8x, r8y, s;
    signal output chain, count, yes_count, all;

    (count, yes_count, all) <== MemberCounts()(digests, decisions);
    chain <== MemberChain()(digests, decisions);
    signal message <== TaggedPoseidon(TAG_AGGREGATE(), 3)([count, ctx, chain]);
    SignedBy()(message, attestorX, attestorY, r8x, r8y, s);
    BindContext()(ctx);
}

component main {public [attestorX, attestorY, ctx]} = ProofAggregation();
