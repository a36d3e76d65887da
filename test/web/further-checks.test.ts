/** The checks of a result beyond its signature, on what a real service publishes: question, proof and inclusion. */
import { webcrypto } from 'node:crypto'
import { expect } from 'chai'
import { openCrypto } from '../../src/web/crypto/crypto.ts'
import { UnreachableError } from '../../src/web/http.ts'
import type { PublishedLog } from '../../src/web/result/inclusion.ts'
import { type CheckName, type Evidence, examine, type Published } from '../../src/web/result/result-checks.ts'
import { sharedApp, type TestApp } from '../support/app.ts'
import { DATA, hashOf, signedResult, verified } from '../support/verification.ts'

const AGE = [{ field: 'age', op: 'gte', value: 18 }]

describe('further checks of a signed result', () => {
  let app: TestApp
  let apiKey: string
  before(async () => {
    app = await sharedApp()
    ;({ apiKey } = await app.organisation())
  })

  const bytesOf = async (path: string): Promise<Uint8Array<ArrayBuffer>> =>
    new Uint8Array((await app.request('GET', path)).bytes)
  const textOf = async (path: string): Promise<string> => (await app.request('GET', path)).bytes.toString()
  const log0: PublishedLog = {
    checkpoint: () => textOf('/checkpoint'),
    keys: () => textOf('/checkpoint/keys'),
    tile: (path) => bytesOf(`/tile/${path}`),
  }
  const published: Published = {
    verificationKey: async (id) => (await app.request('GET', `/api/circuits/${id}/vkey`)).body,
    logAt: () => log0,
  }

  const gather = async (result: { qrUrl: string }, changes: object = {}): Promise<Evidence> => {
    const hash = hashOf(result)
    const { body: record } = await app.request<object>('GET', `/verify/qr/${hash}`)
    const { body: jwks } = await app.request('GET', '/.well-known/jwks.json')
    return { hash, record: { ...record, ...changes }, jwks, origin: app.url, now: Date.now(), published }
  }
  const examined = async (evidence: Evidence) => {
    const { verdict, checks } = await examine(evidence, await openCrypto(webcrypto.subtle as SubtleCrypto))
    const find = (name: CheckName) => {
      const { outcome, detail } = checks.find((check) => check.name === name) ?? expect.fail(name)
      return `${outcome}: ${detail}`
    }
    return { verdict, question: find('question'), proof: find('proof'), inclusion: find('inclusion') }
  }

  for (const [what, options] of [
    ['yesno', { rules: AGE }],
    ['a NO', { rules: [{ field: 'age', op: 'gt', value: 99 }] }],
    ['eligibility', { rules: AGE, circuit_id: 'eligibility' }],
    ['composite', { rules: AGE, circuit_id: 'composite' }],
  ] as const)
    it(`are made and hold for ${what}`, async () => {
      const found = await examined(await gather(await verified(app, apiKey, { data: DATA, options })))
      expect(found.verdict).to.equal('VALID')
      expect(found.question).to.match(/^passed: .*as signed/)
      expect(found.proof).to.match(/^passed: .*Groth16 proof holds/)
      expect(found.inclusion).to.match(/^passed: .*signed checkpoint/)
    }).timeout(60_000)

  it('say that nothing was asked, and verify the proof of that too', async () => {
    const found = await examined(await gather(await verified(app, apiKey, { data: DATA })))
    expect(found.verdict).to.equal('VALID')
    expect(found.question).to.match(/^passed: No question was asked/)
    expect(found.proof).to.match(/^passed: /)
  })

  it('keep back a value that a YES would tell, with the proof, and say so', async () => {
    const rules = [{ field: 'name', op: 'eq', value: DATA.name }, ...AGE]
    const evidence = await gather(await verified(app, apiKey, { data: DATA, options: { rules } }))
    expect(JSON.stringify(evidence.record)).to.not.include('"Ada')
    expect(evidence.record).to.deep.include({
      asked: { rules: [{ field: 'name', op: 'eq' }, ...AGE] },
      proof: null,
    })
    const found = await examined(evidence)
    expect(found.verdict).to.equal('VALID')
    expect(found.question).to.match(/^skipped: Values of the question are not published/)
    expect(found.proof).to.match(/^skipped: /)
    expect(found.inclusion).to.match(/^passed: /)
    const rows = await app.services.database.knex('verifications').select('asked')
    expect(JSON.stringify(rows)).to.not.include('"Ada')
  })

  it('show trees whole, but for such values', async () => {
    const logic = {
      op: 'AND',
      children: [
        { op: 'NOT', child: { field: 'address.country', op: 'in', value: ['FR'] } },
        {
          op: 'OR',
          children: [
            { field: 'member', op: 'eq', value: true },
            { field: 'x', op: 'exists' },
          ],
        },
      ],
    }
    const { record } = await gather(await signedResult(app, apiKey, { data: DATA, options: { logic } }))
    expect(record).to.deep.include({
      asked: {
        logic: {
          op: 'AND',
          children: [{ op: 'NOT', child: { field: 'address.country', op: 'in' } }, logic.children[1]],
        },
      },
    })
  })

  it('look for an entry in the log that is named, and nowhere where none is', async () => {
    const result = await verified(app, apiKey, { data: DATA })
    expect((await examined(await gather(result, { log: 0 }))).inclusion).to.match(/^passed: /)
    const elsewhere = await examined(await gather(result, { log: 1 }))
    expect([elsewhere.verdict, elsewhere.inclusion.slice(0, 42)]).to.deep.equal([
      'UNVERIFIED',
      'skipped: The checkpoint is that of another',
    ])
    for (const log of [-1, 64, 0.5, '1', null]) {
      const { verdict, inclusion } = await examined(await gather(result, { log }))
      expect(verdict).to.equal('UNVERIFIED')
      expect(inclusion).to.match(/^skipped: It does not say/)
    }
  })

  it('are not made where there is nothing: an item of a batch has no proof', async () => {
    const found = await examined(
      await gather(await signedResult(app, apiKey, { data: DATA, options: { rules: AGE } })),
    )
    expect(found).to.deep.include({
      verdict: 'VALID',
      proof: 'skipped: It was issued without a zero-knowledge proof.',
    })
    expect(found.inclusion).to.match(/^passed: /)
  })

  it('fail for another question, another proof, and an entry that is not there', async () => {
    const one = await verified(app, apiKey, { data: DATA, options: { rules: AGE } })
    const other = await gather(await verified(app, apiKey, { data: DATA, options: { rules: AGE } }))
    const lie = async (changes: object) => examined(await gather(one, changes))
    const asked = await lie({ asked: { rules: [{ field: 'age', op: 'gte', value: 21 }] } })
    expect([asked.verdict, asked.question.slice(0, 6)]).to.deep.equal(['INVALID', 'failed'])
    const { proof } = other.record as { proof: string }
    const swapped = await lie({ proof })
    expect([swapped.verdict, swapped.proof]).to.deep.equal([
      'INVALID',
      'failed: The proof proves another statement than the one whose digest was signed.',
    ])
    // The points of one proof with the signals of another.
    const points = Buffer.from(proof.slice(4), 'base64url').subarray(0, 128)
    const signals = Buffer.from(one.proof.slice(4), 'base64url').subarray(128)
    const forged = await lie({ proof: `zk1.${Buffer.concat([points, signals]).toString('base64url')}` })
    expect(forged.proof).to.equal('failed: The Groth16 proof does not hold: PROOF_INVALID.')
    expect((await lie({ proof: 'zk1.AAAA' })).proof).to.equal('failed: What the service gave is no proof.')
    const misplaced = await lie({ merkleIndex: one.merkleIndex - 1 })
    expect([misplaced.verdict, misplaced.inclusion.slice(0, 6)]).to.deep.equal(['INVALID', 'failed'])
    const later = await lie({ merkleIndex: 2 ** 40 })
    expect(later.verdict).to.equal('UNVERIFIED')
    expect(later.inclusion).to.match(/^skipped: The checkpoint covers/)
  }).timeout(60_000)

  it('are not made under a checkpoint that the log did not sign, or while log or key of the circuit are away', async () => {
    const evidence = await gather(await signedResult(app, apiKey))
    const withLog = (log: Partial<PublishedLog>) =>
      examined({ ...evidence, published: { ...published, logAt: () => ({ ...log0, ...log }) } })
    const changed = await withLog({
      checkpoint: async () =>
        (await log0.checkpoint()).replace(/\n(\d+)\n/, (_, size) => `\n${Number(size) + 1}\n`),
    })
    expect(changed).to.deep.include({
      verdict: 'UNVERIFIED',
      inclusion: 'skipped: The checkpoint is not signed by the log.',
    })
    const away = () => Promise.reject(new UnreachableError('It is away.'))
    const noLog = await withLog({ checkpoint: away })
    expect([noLog.verdict, noLog.inclusion]).to.deep.equal([
      'UNVERIFIED',
      'skipped: What it needs could not be fetched: It is away.',
    ])
    const proven = await gather(await verified(app, apiKey, { data: DATA, options: { rules: AGE } }))
    for (const verificationKey of [away, async () => ({})]) {
      const noKey = await examined({ ...proven, published: { ...published, verificationKey } })
      expect(noKey.verdict).to.equal('UNVERIFIED')
      expect(noKey.proof).to.match(/^skipped: /)
      expect(noKey.inclusion).to.match(/^passed: /)
    }
    const noTile = await withLog({ tile: async () => new Uint8Array(32 * 256) })
    expect(noTile.verdict).to.equal('INVALID')
    expect(noTile.inclusion).to.match(/^failed: With its entry the tree has another root/)
  }).timeout(60_000)

  it('find every entry of a tree of any shape', async () => {
    const results = []
    for (let i = 0; i < 9; i++) results.push(await signedResult(app, apiKey))
    for (const result of results)
      expect((await examined(await gather(result))).inclusion).to.match(/^passed: /)
  }).timeout(60_000)
})
