/** Zero-knowledge proofs about the log, through the real app: what they show, and what is refused with a reason. */
import { expect } from 'chai'
import { auditProof } from '../../../src/circuits/mappers/audit_proof.ts'
import type { ZkpProof, ZkpVerified } from '../../../src/domain/audit/schemas-zkp.ts'
import { encodeZk1, proofDigest } from '../../../src/protocol/zk1.ts'
import { contextElement } from '../../../src/rules/encode.ts'
import { sharedApp, type TestApp, type TestOrganisation } from '../../support/app.ts'
import { auditProofValues } from '../../support/circuits/inputs/audit_proof.ts'
import { proveEntry, writeEntry } from '../../support/domain/audit-proofs.ts'
import { callerOf } from '../../support/ledger.ts'
import { verifyInclusion } from '../../support/reference/merkle-proofs.ts'

type Inputs = ZkpProof['publicInputs']
type Stated = Inputs['context']['statement']

const bytes = (hex: string): Buffer => Buffer.from(hex, 'hex')
/** Size and root of a checkpoint. */
const headOf = (note: string): { size: number; root: string } => {
  const [, size = '', root = ''] = note.split('\n')
  return { size: Number(size), root: Buffer.from(root, 'base64').toString('hex') }
}

describe('audit proofs', function () {
  this.timeout(60_000)
  let app: TestApp
  let owner: TestOrganisation
  let index: number
  let made: ZkpProof
  before(async () => {
    app = await sharedApp()
    owner = await app.organisation()
    index = await writeEntry(app, owner.apiKey)
    made = await proveEntry(app, owner.apiKey, { index })
  })

  const ask = async (body: object, key = owner.apiKey) => {
    const { status, body: answer } = await app.request<ZkpVerified>('POST', '/api/audit/zkp-verify', {
      key,
      body,
    })
    expect(status, JSON.stringify(answer)).to.equal(200)
    return answer
  }
  const reasonFor = async (changes: Partial<Inputs>, more: object = {}) => {
    const answer = await ask({
      proof: made.proof,
      publicInputs: { ...made.publicInputs, ...changes },
      ...more,
    })
    expect(answer.integrity_verified).to.equal(answer.reason === undefined)
    return answer.reason
  }
  /** With another context, and a proof of the same statement under it. */
  const withStatement = (changes: object): Inputs['context'] => {
    const { context } = made.publicInputs
    return { ...context, statement: { ...context.statement, ...changes } }
  }

  it('are compared with what is expected of them', async () => {
    const { context } = made.publicInputs
    const right = {
      circuit_id: 'audit_proof',
      issuers: [owner.organisationId],
      audience: app.url,
      nonce: context.nonce,
      statement: { shard: context.statement.shard },
      decision: 1,
    }
    expect(await reasonFor({}, { expect: right })).to.equal(undefined)
    const wrong = {
      circuit_id: 'yesno',
      issuers: ['org_other'],
      audience: 'https://other.example',
      nonce: 'another',
      statement: { shard: -1 },
      decision: 0,
      // Neither the proof nor anybody else says when it was made.
      max_age_seconds: 60,
    }
    for (const [name, value] of Object.entries(wrong))
      expect(await reasonFor({}, { expect: { ...right, [name]: value } })).to.equal(
        `EXPECTATION_${name.toUpperCase()}`,
      )
    for (const asked of [{ status: 'active' }, { min_level: 'basic' }, { nonce: null }]) {
      const body = { proof: made.proof, publicInputs: made.publicInputs, expect: asked }
      const answer = await app.request<{ details: { path: string }[] }>('POST', '/api/audit/zkp-verify', {
        key: owner.apiKey,
        body,
      })
      expect([answer.status, answer.body.details[0]?.path]).to.deep.equal([
        422,
        `/expect/${Object.keys(asked)[0]}`,
      ])
    }
  })

  it('hold for anybody, and show the logged root of a shard instead of the entry', async () => {
    const { publicInputs, inclusion, checkpoint } = made
    const { size, root } = headOf(checkpoint)
    expect([publicInputs.treeSize, publicInputs.treeRoot]).to.deep.equal([size, root])
    const { leafHash, hashes } = inclusion
    expect(verifyInclusion(inclusion.index, size, bytes(leafHash), hashes.map(bytes), bytes(root))).to.equal(
      true,
    )
    expect(inclusion.index).to.equal(publicInputs.context.statement.root_index).and.not.equal(index)
    const { body } = await app.request<{ entries: { index: number; entry: string | null }[] }>(
      'GET',
      '/api/audit?type=ledger.poseidon_root&limit=1000',
      { key: app.adminKey },
    )
    expect(body.entries.map((entry) => entry.index)).to.include(inclusion.index)
    expect(publicInputs.ctx).to.equal(String(contextElement(publicInputs.context)))
    const stranger = await app.organisation()
    const answer = await ask({ proof: made.proof, publicInputs, checkpoint }, stranger.apiKey)
    expect(answer).to.include({ valid: true, integrity_verified: true }).and.not.have.property('reason')
    expect(answer.treeSize).to.be.at.least(size)
    const { leafCommitment, poseidonRoot, ctx } = publicInputs
    const text = encodeZk1(made.proof, [leafCommitment, poseidonRoot, ctx])
    expect(await ask({ proof: text, publicInputs })).to.include({ integrity_verified: true })
  })

  it('are recorded as proofs, and found as such', async () => {
    const { leafCommitment, poseidonRoot, ctx } = made.publicInputs
    const publicInputs = [leafCommitment, poseidonRoot, ctx]
    expect(made.digest).to.equal(proofDigest(auditProof.id, publicInputs))
    const { body } = await app.request('POST', '/api/proof/verify', {
      key: owner.apiKey,
      body: { proofId: made.proofId, proof: made.proof, publicInputs },
    })
    expect(body).to.include({ valid: true, verified: true })
  })

  it('are made of an entry by its digest too, under a commitment of their own', async () => {
    const other = await proveEntry(app, owner.apiKey, { digest: made.digest })
    expect(other.publicInputs.leafCommitment).to.not.equal(made.publicInputs.leafCommitment)
    expect(await ask({ proof: other.proof, publicInputs: other.publicInputs })).to.include({
      integrity_verified: true,
    })
  })

  it('are made for an earlier tree that holds a root over the entry, and for no other', async () => {
    const { treeSize, treeRoot } = made.publicInputs
    const again = await proveEntry(app, owner.apiKey, { index, treeSize })
    expect(again.publicInputs).to.include({ treeSize, treeRoot })
    expect(again.inclusion.index).to.equal(made.inclusion.index)
    expect(headOf(again.checkpoint).size).to.be.above(treeSize)
    for (const size of [index + 1, 1_000_000_000]) {
      const { status, body } = await app.request<{ details: { path: string }[] }>(
        'POST',
        '/api/audit/zkp-proof',
        { key: owner.apiKey, body: { index, treeSize: size } },
      )
      expect(status).to.equal(422)
      expect(body.details[0]?.path).to.equal('/treeSize')
    }
  })

  it('are not made of entries of others, of none, or of two', async () => {
    const stranger = await app.organisation()
    const status = async (body: object, key: string) =>
      (await app.request('POST', '/api/audit/zkp-proof', { key, body })).status
    expect(await status({ index }, stranger.apiKey)).to.equal(404)
    expect(await status({ digest: made.digest }, stranger.apiKey)).to.equal(404)
    expect(await status({ index: 1_000_000_000 }, owner.apiKey)).to.equal(404)
    // The root of a shard is an entry, but no leaf of a shard, and nobody's.
    expect(await status({ index: made.inclusion.index }, owner.apiKey)).to.equal(404)
    expect(await status({ digest: 'ab' }, owner.apiKey)).to.equal(404)
    expect(await status({}, owner.apiKey)).to.equal(422)
    expect(await status({ index, digest: made.digest }, owner.apiKey)).to.equal(422)
  })

  it('are refused when the pairing does not hold, with the reason of the verifier', async () => {
    const { leafCommitment, poseidonRoot } = made.publicInputs
    expect(await reasonFor({ leafCommitment: poseidonRoot })).to.equal('PROOF_INVALID')
    expect(await reasonFor({ leafCommitment: `0${leafCommitment}` })).to.equal('SIGNAL_NOT_CANONICAL')
    expect(await reasonFor({ poseidonRoot: '' })).to.equal('SIGNAL_NOT_CANONICAL')
    expect(await reasonFor({}, { proof: 'zk1.nothing' })).to.equal('PROOF_MALFORMED')
    expect(await reasonFor({}, { proof: null })).to.equal('PROOF_MALFORMED')
    expect(await ask({ proof: {}, publicInputs: made.publicInputs })).to.include({
      valid: false,
      integrity_verified: false,
    })
  })

  it('are refused under another context than the one that was proved', async () => {
    const { context } = made.publicInputs
    for (const other of [
      { ...context, nonce: `${context.nonce}x` },
      { ...context, org: 'org_other' },
      { ...context, aud: 'https://elsewhere.example' },
      { ...context, circuit: 'yesno' },
      withStatement({ shard: context.statement.shard + 1 }),
      withStatement({ root_index: index }),
    ])
      expect(await reasonFor({ context: other })).to.equal('CONTEXT_MISMATCH')
  })

  it('are refused when their time is over, and count until then', async () => {
    const { proofs } = app.services
    const caller = callerOf(owner.organisationId)
    const { statement, signals } = await proofs.prepare(caller, auditProof.id, { index })
    const { size: treeSize, root: treeRoot } = await app.services.ledger.head()
    const reasonOf = async (exp: number) => {
      const context = { ...made.publicInputs.context, statement: statement as Stated, exp }
      const bound: typeof signals = (binding) => signals({ ...binding, ctx: contextElement(context) })
      const { proof, publicSignals } = await proofs.make(caller, {
        circuitId: auditProof.id,
        prepared: { statement, signals: bound },
        category: 'audit',
      })
      const [leafCommitment = '', poseidonRoot = '', ctx = ''] = publicSignals
      const publicInputs = { leafCommitment, poseidonRoot, ctx, context, treeSize, treeRoot }
      return (await ask({ proof, publicInputs })).reason
    }
    const seconds = Math.floor(Date.now() / 1000)
    expect(await reasonOf(seconds - 1)).to.equal('EXPIRED')
    expect(await reasonOf(seconds + 600)).to.equal(undefined)
  })

  it('are refused about a root that the log does not hold, though they prove and bind it', async () => {
    const { proofs } = app.services
    const caller = callerOf(owner.organisationId)
    const { statement, signals } = await proofs.prepare(caller, auditProof.id, { index })
    // Whoever runs a prover can choose any tree, and bind the proof to whatever he says of it.
    const elsewhere: typeof signals = ({ ctx, salt }) => {
      const values = auditProofValues({ ctx, salt })
      return { publicSignals: auditProof.publicSignals(values), witness: auditProof.witnessInput(values) }
    }
    for (const prepared of [
      { statement, signals: elsewhere },
      { statement: { ...statement, root_index: 1_000_000_000 }, signals },
      { statement: { ...statement, root_index: index }, signals },
      { statement: { ...statement, shard_size: Number(statement.shard_size) + 1 }, signals },
    ]) {
      const { proof, publicSignals, context } = await proofs.make(caller, {
        circuitId: auditProof.id,
        prepared,
        category: 'audit',
      })
      const [leafCommitment = '', poseidonRoot = '', ctx = ''] = publicSignals
      const publicInputs = { ...made.publicInputs, leafCommitment, poseidonRoot, ctx, context }
      expect(await ask({ proof, publicInputs })).to.include({
        valid: true,
        integrity_verified: false,
        reason: 'ROOT_UNKNOWN',
      })
    }
  })

  it('are refused when the entry that logs the root is not the one that the tree holds', async () => {
    const { knex } = app.services.database
    const logged = () => knex('ledger_entries').where({ idx: made.inclusion.index })
    const { entry }: { entry: string } = await logged().first('entry')
    await logged().update({ entry: entry.replace(/"salt":"[0-9a-f]{4}/, '"salt":"0000') })
    try {
      expect(await reasonFor({})).to.equal('INCLUSION_INVALID')
    } finally {
      await logged().update({ entry })
    }
    expect(await reasonFor({})).to.equal(undefined)
  })

  it('are refused in a tree that the log never was', async () => {
    const { treeSize, treeRoot } = made.publicInputs
    const other = treeRoot.replace(/^./, (digit) => (digit === '0' ? '1' : '0'))
    expect(await reasonFor({ treeRoot: other })).to.equal('TREE_MISMATCH')
    expect(await reasonFor({ treeSize: treeSize - 1 })).to.equal('TREE_MISMATCH')
    expect(await reasonFor({ treeSize: made.inclusion.index })).to.equal('TREE_MISMATCH')
    expect(await reasonFor({ treeSize: 1_000_000_000 })).to.equal('TREE_MISMATCH')
  })

  it('are refused with a checkpoint that this log did not sign, or that is too early', async () => {
    const { checkpoint } = made
    expect(await reasonFor({}, { checkpoint })).to.equal(undefined)
    const [text = '', lines = ''] = checkpoint.split('\n\n')
    const [origin = '', size = '', root = ''] = text.split('\n')
    const note = (...parts: [string, string, string]) => `${parts.join('\n')}\n\n${lines}`
    expect(await reasonFor({}, { checkpoint: note(origin, size, root) })).to.equal(undefined)
    expect(await reasonFor({}, { checkpoint: note(origin, `${Number(size) - 1}`, root) })).to.equal(
      'CHECKPOINT_UNSIGNED',
    )
    expect(await reasonFor({}, { checkpoint: `${text}\n\n— ${origin} AAAA\n` })).to.equal(
      'CHECKPOINT_UNSIGNED',
    )
    for (const malformed of [
      '',
      'note',
      text,
      note('elsewhere.example', size, root),
      note(origin, 'x', root),
    ])
      expect(await reasonFor({}, { checkpoint: malformed }), malformed).to.equal('CHECKPOINT_MALFORMED')
    const second = await proveEntry(app, owner.apiKey, { index: await writeEntry(app, owner.apiKey) })
    const { proof, publicInputs } = second
    expect(await ask({ proof, publicInputs, checkpoint })).to.include({
      valid: true,
      integrity_verified: false,
      reason: 'CHECKPOINT_TOO_EARLY',
    })
  })
})
