/** Asking witnesses: which of several servers does, what it makes of each answer, and when it asks again. */
import { expect } from 'chai'
import { systemClock } from '../../src/clock.ts'
import { createSealing } from '../../src/keys/sealing.ts'
import { createSigners } from '../../src/keys/signers.ts'
import { type Checkpoints, createCheckpoints } from '../../src/ledger/checkpoints/checkpoint.ts'
import type { PostToWitness } from '../../src/ledger/checkpoints/witness-client.ts'
import { createWitnessing, type Witnessing } from '../../src/ledger/checkpoints/witnessing.ts'
import { createLog, type Log } from '../../src/ledger/tree/log.ts'
import { readWitnessPolicy } from '../../src/protocol/checkpoint/witness-policy.ts'
import { eventually } from '../support/eventually.ts'
import { callerOf, claiming, openTestLedger, type TestLedger } from '../support/ledger.ts'
import { verifyConsistency } from '../support/reference/merkle-proofs.ts'
import { createWitness, type TestWitness } from '../support/witnesses.ts'

const ORIGIN = 'log.example'
const INTERVAL_MS = 20
const URLS = ['https://w0.example', 'https://w1.example', 'https://w2.example'] as const

type Answer = Awaited<ReturnType<PostToWitness>>

const conflict = (size: number): Answer => ({ status: 409, type: 'text/x.tlog.size', body: `${size}\n` })

/** A witness as the specification has it, that remembers one log. */
const honest = ({ cosign }: TestWitness) => {
  let seen = { size: 0, root: Buffer.alloc(32) }
  return (body: string): Answer => {
    const [head = '', ...rest] = body.split('\n\n')
    const [first = '', ...proof] = head.split('\n')
    const note = rest.join('\n\n')
    const [, size = '', root = ''] = note.split('\n')
    const next = { size: Number(size), root: Buffer.from(root, 'base64') }
    const old = Number(first.replace('old ', ''))
    if (old !== seen.size) return conflict(seen.size)
    const hashes = proof.map((line) => Buffer.from(line, 'base64'))
    const { size: from, root: before } = seen
    if (from > 0 && !verifyConsistency(from, next.size, before, next.root, hashes))
      return { status: 422, type: 'text/plain', body: '' }
    seen = next
    return { status: 200, type: 'text/plain', body: cosign(note) }
  }
}

describe('asking witnesses', () => {
  const cosigners = URLS.map((url) => createWitness(new URL(url).host)) as [
    TestWitness,
    TestWitness,
    TestWitness,
  ]
  const policy = readWitnessPolicy(
    [
      ...cosigners.map(({ key }, i) => `witness w${i} ${key} ${URLS[i]}`),
      'group two 2 w0 w1 w2',
      'quorum two',
    ].join('\n'),
  )
  let store: TestLedger
  let log: Log
  let checkpoints: Checkpoints
  let serial = 0
  /** What each witness answers; throws where it is away. */
  let answers: ((body: string) => Answer)[]
  /** Who asked which witness, in order. */
  let asked: { readonly server: string; readonly url: string }[]
  /** What happens once a server has asked, before it is answered. */
  let onRequest: (url: string) => Promise<void>
  let told: string[]
  let contradictions: string[]
  let ahead = 0
  const running = new Set<Witnessing>()

  const grow = () => store.ledger.append(callerOf('org_1'), claiming(`key ${serial++}`))
  const start = (server: string): Witnessing => {
    const witnessing = createWitnessing({
      database: store.database,
      log,
      checkpoints,
      clock: { now: () => systemClock.now() + ahead },
      origin: ORIGIN,
      policy,
      intervalMs: INTERVAL_MS,
      maxAgeMs: 60_000,
      post: async (url, body) => {
        asked.push({ server, url })
        await onRequest(url)
        return (answers[URLS.findIndex((one) => url === `${one}/add-checkpoint`)] ?? expect.fail(url))(body)
      },
      logger: { info: () => undefined, warn: () => undefined },
      onAsked: (witness, outcome) => told.push(`${witness} ${outcome}`),
      onContradiction: (witness) => contradictions.push(witness),
    })
    running.add(witnessing)
    return witnessing
  }
  const stop = async (witnessing: Witnessing) => {
    running.delete(witnessing)
    await witnessing.close()
  }
  const isWitnessed = async (witnessing: Witnessing): Promise<boolean> =>
    (await witnessing.newest())?.size === (await log.head()).size

  beforeEach(async () => {
    store = await openTestLedger()
    log = createLog(store.database)
    const signers = await createSigners({
      database: store.database,
      sealing: createSealing(new Uint8Array(32).fill(7)),
      clock: systemClock,
    })
    checkpoints = createCheckpoints({
      database: store.database,
      log,
      signers,
      clock: systemClock,
      origin: ORIGIN,
      directory: undefined,
      onInconsistency: (reason) => expect.fail(reason),
    })
    answers = cosigners.map(honest)
    ahead = 0
    asked = []
    onRequest = async () => undefined
    told = []
    contradictions = []
    await grow()
  })
  afterEach(async () => {
    for (const witnessing of running) await stop(witnessing)
    await store.close()
  })

  it('is done by one server at a time, and by another at once when that one ends', async () => {
    const [first, second] = [start('first'), start('second')]
    for (let i = 0; i < 3; i++) {
      await grow()
      await eventually('the newest is witnessed', () => isWitnessed(second))
    }
    const leader = asked[0]?.server
    expect(new Set(asked.map(({ server }) => server))).to.deep.equal(new Set([leader]))
    await stop(leader === 'first' ? first : second)
    await grow()
    const other = leader === 'first' ? second : first
    await eventually('the other one asks', () => isWitnessed(other))
    expect(asked.at(-1)?.server).to.not.equal(leader)
  })

  it('is taken over from a server that ended without a word', async () => {
    const leaseMs = 1_500
    const begunAt = performance.now()
    await store.database.knex.raw(
      `INSERT INTO ledger_witnessed (origin, holder, held_until)
        VALUES (?, 'dead', (extract(epoch FROM clock_timestamp()) * 1000)::bigint + ?::bigint)`,
      [ORIGIN, leaseMs],
    )
    start('next')
    await eventually('it asks', () => asked.length > 0)
    // Not before its lease has ended; clocks round.
    expect(performance.now() - begunAt).to.be.at.least(leaseMs - 50)
  })

  it('needs the quorum and no more, and asks whoever is away less often', async () => {
    const [w0, w1] = answers
    answers = answers.map(() => () => {
      throw new Error('away')
    })
    if (w0) answers[0] = w0
    const witnessing = start('server')
    await eventually('one has cosigned', () => told.includes('w0 cosigned'))
    expect(await witnessing.newest()).to.equal(undefined)
    expect((await witnessing.state()).status).to.equal('pending')
    const latest = await checkpoints.latest()
    expect((await witnessing.published(latest)).note.split('\n')).to.have.length(
      latest.note.split('\n').length + 1,
    )
    if (w1) answers[1] = w1
    await eventually('two have', () => isWitnessed(witnessing))
    for (let i = 0; i < 8; i++) {
      await grow()
      await eventually('the newest is witnessed', () => isWitnessed(witnessing))
    }
    // There were many more rounds: each pause is twice the one before.
    expect(told.filter((line) => line.startsWith('w2')).length).to.be.within(2, 14)
    expect(told.filter((line) => line.startsWith('w2')))
      .to.include('w2 unreachable')
      .and.not.include('w2 failed')
  })

  it('counts nothing but what the keys of the policy have cosigned of this very tree', async () => {
    const stranger = createWitness('w1.example')
    const body = (lines: string): Answer => ({ status: 200, type: 'text/plain', body: lines })
    const noteOf = (request: string) => request.slice(request.indexOf('\n\n') + 2)
    answers = [
      (request) => body(stranger.cosign(noteOf(request))),
      (request) => body(cosigners[1].cosign(noteOf(request).replace(/\n\d+\n/, '\n7\n'))),
      () => body('OK\n'),
    ]
    start('server')
    await eventually('all were asked', () => new Set(told).size === 3)
    expect(new Set(told)).to.deep.equal(new Set(['w0 failed', 'w1 failed', 'w2 failed']))
    expect(await store.database.knex('ledger_cosignatures')).to.deep.equal([])
  })

  it('says when a witness has seen another log than this one', async () => {
    const [, , w2] = answers
    if (w2 === undefined) expect.fail()
    answers = [() => conflict(1_000), () => ({ status: 422, type: 'text/plain', body: '' }), w2]
    start('server')
    await eventually('two contradict', () => contradictions.length === 2)
    expect(contradictions.toSorted()).to.deep.equal(['w0', 'w1'])
    expect(new Set(told)).to.deep.equal(new Set(['w0 ahead', 'w1 refused', 'w2 cosigned']))
    await eventually('they are asked again', () => told.filter((line) => line === 'w0 ahead').length > 1)
    expect(contradictions).to.have.length(2)
  })

  it('says so of another tree of the same size, whether the witness names that or not', async () => {
    const [, , w2] = answers
    if (w2 === undefined) expect.fail()
    const otherRoot = { status: 409, type: 'text/plain', body: 'another root\n' }
    answers = [(body) => (body.startsWith('old 0\n') ? conflict(1) : otherRoot), () => conflict(1), w2]
    start('server')
    await eventually('two contradict', () => contradictions.length === 2)
    expect(new Set(told)).to.deep.equal(new Set(['w0 refused', 'w1 refused', 'w2 cosigned']))
  })

  it('goes on from what somebody else has shown a witness meanwhile, which is no other log', async () => {
    const [, w1] = answers
    if (w1 === undefined) expect.fail()
    let isShown = false
    onRequest = async (url) => {
      if (isShown || !url.startsWith(URLS[1])) return
      isShown = true
      await grow()
      expect(w1(`old 0\n\n${(await checkpoints.latest()).note}`).status).to.equal(200)
    }
    const witnessing = start('server')
    await eventually('it cosigns what it was shown', () => told.includes('w1 cosigned'))
    expect(told.filter((line) => line.startsWith('w1'))).to.deep.equal(['w1 cosigned'])
    expect(contradictions).to.deep.equal([])
    await eventually('the newest is witnessed', () => isWitnessed(witnessing))
    const kept = await store.database.knex('ledger_cosignatures').where({ witness: URLS[1] }).pluck('size')
    expect(kept).to.deep.equal([2])
  })

  it('shows a log that does not grow again in time, and no oftener', async () => {
    const witnessing = start('server')
    await eventually('it is witnessed', () => isWitnessed(witnessing))
    await eventually('all have cosigned', () => told.length === 3)
    const age = async () => (await witnessing.state()).ageSeconds
    await eventually('some rounds pass', async () => (await age()) >= 0)
    expect(told).to.have.length(3)
    ahead = 31_000
    await eventually('all cosign it again', () => told.length === 6)
    await eventually('it is new again', async () => (await age()) < 2)
    answers = answers.map(() => () => conflict(0))
    ahead = 200_000
    await eventually('it is late', async () => (await witnessing.state()).status === 'late')
  })
})
