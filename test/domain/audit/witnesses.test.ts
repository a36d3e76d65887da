/** A service with a policy of two witnesses that run in processes of their own. */
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { expect } from 'chai'
import { examine } from '../../../src/bin/evidence/verify-evidence.ts'
import { readCheckpoint } from '../../../src/bin/packages/contents/verify/pq.ts'
import type { Clock } from '../../../src/clock.ts'
import type { AuditPage, InclusionProof } from '../../../src/domain/audit/schemas.ts'
import type { Health } from '../../../src/domain/system/schemas.ts'
import type { VerificationResult } from '../../../src/domain/verification/schemas.ts'
import { checkpointText, signatureLine } from '../../../src/protocol/checkpoint/signed-note.ts'
import { checkCheckpoint } from '../../../src/web/check/kinds/checkpoint.ts'
import { startTestApp, type TestApp, type TestOrganisation } from '../../support/app.ts'
import { checkServiceOf } from '../../support/check-service.ts'
import { exported, revokeKey, verifySomething } from '../../support/domain/exports.ts'
import { eventually } from '../../support/eventually.ts'
import { leafHash } from '../../support/reference/merkle.ts'
import { rotateNoticed } from '../../support/rotation.ts'
import { temporaryDirectories } from '../../support/servers/directory.ts'
import { addBody, cosignedAt, post } from '../../support/tlog.ts'
import { startWitness, type WitnessProcess } from '../../support/witness-process.ts'

const ORIGIN = 'log.example'
const MAX_AGE_SECONDS = 30

describe('a service and its witnesses', function () {
  this.timeout(120_000)
  const temporary = temporaryDirectories()
  let logs = ''
  let policy = ''
  let witnesses: [WitnessProcess, WitnessProcess]
  let app: TestApp
  let owner: TestOrganisation
  /** How far the service's clock is ahead. */
  let ahead = 0
  const clock: Clock = { now: () => Date.now() + ahead }

  const text = async (path: string) => (await app.request('GET', path)).bytes.toString()
  const published = () => text('/checkpoint')
  const sizeOf = (note: string) => Number(note.split('\n')[1])
  const linesOf = (note: string) => note.split('\n\n')[1] ?? ''
  const isCosigned = (note: string, ...keys: readonly string[]) =>
    keys.every((key) => cosignedAt(note, linesOf(note), key) !== undefined)
  const health = async () => (await app.request<Health>('GET', '/health')).body
  const newestIndex = async (): Promise<number> => {
    const { body } = await app.request<AuditPage>('GET', '/api/audit', { key: owner.apiKey })
    return body.entries[0]?.index ?? expect.fail()
  }
  const proofOf = async (index: number): Promise<InclusionProof> =>
    (
      await app.request<InclusionProof>('GET', `/api/audit/inclusion?index=${index}`, {
        key: owner.apiKey,
      })
    ).body

  /** Tells the witnesses which log they are to follow: its keys are known only now. */
  const follow = async () => {
    await writeFile(logs, await text('/checkpoint/keys'))
    for (const witness of witnesses) {
      witness.child.kill('SIGHUP')
      await witness.line(/^It follows log\.example$/)
    }
  }
  const witnessed = () =>
    eventually('both cosign what is there now', async () => {
      const note = await published()
      const { size } = await app.services.ledger.head()
      return sizeOf(note) === size && isCosigned(note, ...witnesses.flatMap(({ keys }) => keys))
    })

  beforeEach(async () => {
    ahead = 0
    logs = join(await temporary(), 'logs.txt')
    await writeFile(logs, '')
    const start = async (name: string) => startWitness(name, await temporary(), logs)
    witnesses = [await start('w1.example'), await start('w2.example')]
    policy = witnesses
      .map(
        ({ keys: [ed, pq], url }, i) =>
          `witness ed${i} ${ed} ${url}\nwitness pq${i} ${pq} ${url}/\ngroup w${i} any ed${i} pq${i}\n`,
      )
      .join('')
      .concat('group two 2 w0 w1\nquorum two\n')
    const file = join(await temporary(), 'policy')
    await writeFile(file, policy)
    app = await startTestApp({
      clock,
      env: {
        BASE_URL: `https://${ORIGIN}`,
        WITNESS_POLICY: file,
        WITNESS_INTERVAL_SECONDS: '1',
        WITNESS_MAX_AGE_SECONDS: String(MAX_AGE_SECONDS),
      },
    })
    owner = await app.organisation()
  })
  afterEach(async () => {
    await app.close()
    for (const witness of witnesses) await witness.kill()
  })

  it('publishes what they cosigned; without them verifiers, pages and verify-evidence refuse it', async () => {
    await verifySomething(app, owner)
    const keys = await text('/checkpoint/keys')
    const jwks = join(await temporary(), 'jwks.json')
    await writeFile(jwks, await text('/.well-known/jwks.json'))
    const demanded = join(await temporary(), 'policy')
    await writeFile(demanded, policy)
    const judged = async () => {
      const note = await published()
      const verdict = readCheckpoint(note, { origin: ORIGIN, keys, policy })
      const page = await checkCheckpoint(note, await checkServiceOf(app, { policy }))
      const evidence = join(await temporary(), 'evidence')
      await writeFile(evidence, (await exported(app, owner, 'evidence')).text)
      const { holds, reason } = await examine(evidence, { keys: jwks, witnesses: demanded })
      return [
        verdict.valid ? verdict.witnesses.map(({ name }) => name) : verdict.reason,
        page.checks.filter(({ outcome }) => outcome !== 'passed').map(({ fault }) => fault),
        [holds, reason],
      ]
    }
    expect(await judged()).to.deep.equal([
      'WITNESSES_MISSING',
      ['WITNESSES_MISSING'],
      [false, 'WITNESSES_MISSING'],
    ])
    expect((await health()).witnesses).to.deep.equal({ status: 'pending', treeSize: null })
    await follow()
    await witnessed()
    expect(await judged()).to.deep.equal([['ed0', 'pq0', 'ed1', 'pq1'], [], [true, null]])
    const note = await published()
    for (const key of witnesses.flatMap((witness) => witness.keys)) {
      const [line] = linesOf(note).match(new RegExp(`— ${key.split('+')[0]} .*\n`)) ?? []
      const verdict = readCheckpoint(note.replace(line ?? '', ''), { origin: ORIGIN, keys, policy })
      // Another key of the same witness is enough, and none of the other's stands in for it.
      expect(verdict.valid).to.equal(true)
    }
    const [first] = witnesses
    const alone = note.replaceAll(new RegExp(`— ${first.keys[0].split('+')[0]} .*\n`, 'g'), '')
    expect(readCheckpoint(alone, { origin: ORIGIN, keys, policy })).to.include({
      reason: 'WITNESSES_MISSING',
    })
    const { status, treeSize } = (await health()).witnesses
    expect([status, treeSize]).to.deep.equal(['current', sizeOf(note)])
    expect(await text('/metrics'))
      .to.match(new RegExp(`^ledger_witnessed_size ${sizeOf(note)}$`, 'm'))
      .and.match(/^witness_requests_total\{witness="ed0",outcome="cosigned"\} [1-9]/m)
  })

  it('has them refuse a fork of its own and a roll-back, under its own signature', async () => {
    await follow()
    await witnessed()
    const before = await published()
    const signed = async (size: number, root: Uint8Array): Promise<string> => {
      const body = checkpointText(ORIGIN, size, root)
      const { kid, sign } = await app.services.signers.current('log', 'Ed25519')
      const { x = '' } = (await app.services.signers.jwks()).keys.find((key) => key.kid === kid) ?? {}
      const key = { name: ORIGIN, type: 1, publicKey: Buffer.from(x, 'base64url') }
      return `${body}\n${signatureLine(key, sign(Buffer.from(body)))}`
    }
    const size = sizeOf(before)
    const root = Buffer.from(before.split('\n')[2] ?? '', 'base64')
    const other = leafHash(Buffer.of(7))
    for (const { url, keys } of witnesses) {
      const offered = async (oldSize: number, proof: Buffer[], note: string) =>
        (await post(url, addBody(oldSize, proof, note))).status
      expect(await offered(size, [], await signed(size, other)), 'a fork').to.equal(409)
      expect(await offered(size, [other], await signed(size + 1, other)), 'a fork that grew').to.equal(422)
      expect(await offered(size, [], await signed(size - 1, other)), 'a roll-back').to.equal(400)
      expect(await offered(size - 1, [], await signed(size - 1, other)), 'a roll-back').to.equal(409)
      const { status, text: lines } = await post(url, addBody(size, [], await signed(size, root)))
      expect([status, cosignedAt(before, lines, keys[0]) !== undefined]).to.deep.equal([200, true])
    }
  })

  it('takes writes at once while nobody cosigns, says pending, and complains once it is too old', async () => {
    await verifySomething(app, owner)
    await follow()
    await witnessed()
    const then = sizeOf(await published())
    expect((await proofOf(await newestIndex())).witnessed).to.be.an('object')
    for (const { child } of witnesses) child.kill('SIGSTOP')
    const startedAt = performance.now()
    for (let i = 0; i < 4; i++) await verifySomething(app, owner)
    const question = { data: { a: 1 }, options: { include_receipt: true } }
    const { body: result } = await app.request<VerificationResult>('POST', '/verify', {
      key: owner.apiKey,
      body: question,
    })
    expect(result.receipt?.witnessed).to.equal('pending')
    expect(performance.now() - startedAt, 'a write waited for a witness').to.be.lessThan(5_000)
    const { size } = await app.services.ledger.head()
    const newest = await newestIndex()
    expect((await proofOf(newest)).witnessed).to.equal('pending')
    expect(sizeOf(await published())).to.equal(then)
    ahead = (MAX_AGE_SECONDS + 1) * 1000
    await pause(300)
    const late = await health()
    expect([late.status, late.witnesses.status]).to.deep.equal(['degraded', 'late'])
    expect(await text('/metrics')).to.match(/^ledger_witnesses_late 1$/m)
    // Whoever demands no witnesses must not be shown an old log for ever.
    expect(sizeOf(await published())).to.be.at.least(size)
    for (const { child } of witnesses) child.kill('SIGCONT')
    await witnessed()
    const proof = await proofOf(newest)
    expect(proof.witnessed).to.be.an('object').that.has.property('treeSize').greaterThan(newest)
    await eventually('it is current again', async () => (await health()).witnesses.status === 'current')
  })

  it('goes on with a witness that knows a later tree than it was told of, and signs alike after a new key', async () => {
    await follow()
    await witnessed()
    // As after a database that was restored: what witnesses confirmed is forgotten.
    await app.services.database.knex('ledger_cosignatures').delete()
    await revokeKey(app, owner)
    await witnessed()
    await rotateNoticed(app, 'log')
    const [note, keys] = [await published(), await text('/checkpoint/keys')]
    expect(readCheckpoint(note, { origin: ORIGIN, keys }).valid).to.equal(true)
    // The witnesses know the old key alone: the operator tells them.
    await writeFile(logs, keys)
    for (const witness of witnesses) witness.child.kill('SIGHUP')
    await witnessed()
  })

  it('asks only where it may: private addresses are the operator’s to open', async () => {
    const file = join(await temporary(), 'policy')
    await writeFile(file, `${policy.split('\n')[0]}\nquorum ed0\n`)
    const guarded = await startTestApp({ env: { EGRESS_ALLOW_CIDRS: 'off', WITNESS_POLICY: file } })
    try {
      const metrics = async () => (await guarded.request('GET', '/metrics')).bytes.toString()
      await eventually('it was tried', async () => /^witness_requests_total/m.test(await metrics()), {
        pauseMs: 50,
      })
      expect(await metrics()).to.match(/^witness_requests_total\{witness="ed0",outcome="unreachable"\} 1$/m)
    } finally {
      await guarded.close()
    }
  })
})
