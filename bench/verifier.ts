/**
 * Verification of a proof of each circuit beside snarkjs, of `yesno` beside noble and mcl,
 * in turns; batches beside single proofs; then POST /api/proof/verify. How long that keeps the main thread is in
 * bench/stretches.ts. Needs PostgreSQL at DATABASE_URL, by default 127.0.0.1:5432 as user postgres. `npx tsx bench/verifier.ts`
 * @module
 */
import { groth16 } from 'snarkjs'
import { prepareCurve } from '../src/bin/circuits/curve.ts'
import { CIRCUITS, type CircuitId } from '../src/circuits/catalogue.ts'
import { packProof } from '../src/circuits/proof-form.ts'
import { verifyPairing } from '../src/circuits/verifier.ts'
import { createKeyVerifier } from '../src/circuits/verifying/key-verifier.ts'
import { artifacts } from '../test/support/circuits/circuits.ts'
import { clientOf, ok } from '../test/support/client.ts'
import { goodProof } from '../test/support/domain/proofs.ts'
import { g2, holdsByNoble } from '../test/support/reference/groth16.ts'
import { loadMcl } from '../test/support/reference/mcl.ts'
import { quantile, requestBytes, runLoad } from '../test/support/servers/http-load.ts'
import { startBenchServer } from './support/bench-server.ts'
import { type Row, report } from './support/interleaved.ts'
import { compareByProcessorTime, processorMs } from './support/processor-time.ts'
import { measureInScratchDatabase } from './support/scratch-database.ts'

const TURNS = Number(process.env.BENCH_TURNS ?? 31)
const SLICES = Number(process.env.BENCH_SLICES ?? 5)
const SLICE_MS = 1500
const CONNECTIONS = 16
const BATCH = 64
/** So many verifications in one run of ours and of peers that are about as fast. */
const REPEATED = 8
const GOALS = { yesno: 6, others: 5, batch: 1.8 }
const MOST_MS = { yesno: 1.5, others: 1.8 }
const REQUESTS_PER_SECOND = 250

const rows: Row[] = []
const compare = compareByProcessorTime(rows, TURNS, 20)
const must = (isValid: boolean): void => {
  if (!isValid) throw new Error('a good proof was refused')
}
const repeated = async (run: () => Promise<unknown> | unknown): Promise<void> => {
  for (let i = 0; i < REPEATED; i++) await run()
}

const limit = (what: string, ours: string, mustReach: string, isOk: boolean) =>
  rows.push({ what, ours, peer: '', theirs: '', ratio: '', mustReach, ok: isOk })

const single = async (id: CircuitId): Promise<void> => {
  const proved = await goodProof(id)
  const { proof, publicSignals } = proved
  const key = artifacts[id].verificationKey
  const isYesno = id === 'yesno'
  const holdsByMcl = await loadMcl()
  const ours = await compare(`verify ${id}`, [
    {
      name: 'ours',
      per: REPEATED,
      run: () => repeated(async () => must((await verifyPairing(key, proof, publicSignals)).valid)),
    },
    {
      name: 'snarkjs, without the subgroup',
      goal: isYesno ? GOALS.yesno : GOALS.others,
      run: async () => must(await groth16.verify(key, publicSignals, proof)),
    },
    ...(isYesno
      ? [
          {
            name: 'noble',
            run: () => must(g2(proof.pi_b).isTorsionFree() && holdsByNoble(key, publicSignals, proof)),
          },
          {
            name: 'mcl',
            per: REPEATED,
            run: () => repeated(() => must(holdsByMcl(key, publicSignals, proof))),
          },
        ]
      : []),
  ])
  const most = isYesno ? MOST_MS.yesno : MOST_MS.others
  limit(`verify ${id}`, `${ours.toFixed(2)} ms`, `≤ ${most} ms`, ours <= most)
}

const batches = async (id: CircuitId): Promise<void> => {
  const { proof, publicSignals } = await goodProof(id)
  const verifier = createKeyVerifier(artifacts[id].verificationKey)
  const packed = packProof(publicSignals.length, proof, publicSignals)
  if (typeof packed === 'string') throw new Error(packed)
  const many = Array.from({ length: BATCH }, () => packed)
  await compare(`verify ${id}, batch of ${BATCH}, each`, [
    { name: 'ours', per: BATCH, run: () => must(verifier.verifyMany(many).every(({ valid }) => valid)) },
    {
      name: 'one by one',
      goal: GOALS.batch,
      per: REPEATED,
      run: () => repeated(() => must(verifier.verify(packed).valid)),
    },
  ])
}

/** Requests a second of a server on the thread that asks as well. */
const overHttp = async (databaseUrl: string): Promise<void> => {
  const { server, key } = await startBenchServer(databaseUrl)
  try {
    const made = await ok<{ proofId: string; proof: object; publicInputs: string[] }>(
      clientOf(server.url),
      'POST',
      '/api/proof/generate',
      { key, body: { userId: 'ada', data: { age: 36 }, rules: [{ field: 'age', op: 'gte', value: 18 }] } },
    )
    const { proofId, proof, publicInputs } = made
    const request = requestBytes('/api/proof/verify', JSON.stringify({ proofId, proof, publicInputs }), {
      'X-API-Key': key,
    })
    const load = (milliseconds: number) =>
      runLoad({
        port: Number(new URL(server.url).port),
        connections: CONNECTIONS,
        next: () => request,
        expected: '"verified":true',
        milliseconds,
      })
    await load(SLICE_MS)
    const slices = []
    for (let slice = 0; slice < SLICES; slice++) {
      const before = processorMs()
      const result = await load(SLICE_MS)
      if (result.unexpected > 0) throw new Error(`answered ${result.example}`)
      slices.push({
        rate: result.answers / result.seconds,
        p99: quantile(result.latencies, 0.99),
        processor: (processorMs() - before) / result.answers,
      })
    }
    const middle = slices.toSorted((a, b) => a.rate - b.rate)[slices.length >> 1] as (typeof slices)[number]
    limit(
      `POST /api/proof/verify, ${CONNECTIONS} connections`,
      `${middle.rate.toFixed(0)}/s, p99 ${middle.p99.toFixed(0)} ms`,
      `≥ ${REQUESTS_PER_SECOND}/s`,
      middle.rate >= REQUESTS_PER_SECOND,
    )
    const processor = slices.map((each) => each.processor).sort((a, b) => a - b)
    limit(
      'processor time of a request, with asking it, without PostgreSQL',
      `${(processor[slices.length >> 1] ?? Number.NaN).toFixed(2)} ms`,
      '',
      true,
    )
  } finally {
    await server.close()
  }
}

await prepareCurve()
for (const { id } of CIRCUITS) await single(id)
for (const id of ['yesno', 'kyc'] as const) await batches(id)
await measureInScratchDatabase('verifier', async (databaseUrl) => {
  await overHttp(databaseUrl)
  report(rows)
  return rows.every(({ ok: isOk }) => isOk)
})
process.exit()
