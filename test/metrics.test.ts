import { expect } from 'chai'
import { createMetrics } from '../src/metrics.ts'

/** So long Prometheus waits by default. */
const SCRAPE_TIMEOUT_MS = 10_000

const LABELS: ReadonlySet<string> = new Set([
  'method',
  'route',
  'status',
  'le',
  'version',
  'kind',
  'space',
  'type',
  'major',
  'minor',
  'patch',
  'circuit_id',
  'tier',
  'follower',
  'reason',
])

describe('metrics', () => {
  it('text and JSON tell the same families and samples', async () => {
    const metrics = createMetrics()
    metrics.observeRequest('GET', '/v1/things/{thingId}', 200, 0.003)
    metrics.nullifierCheckSeconds.observe(0.0002)
    metrics.observeProof('yesno', 0.12)
    metrics.doubleSpends.inc()
    metrics.readTreeSize(async () => 7)
    metrics.ledgerBatchSize.observe(3)
    metrics.ledgerCommitSeconds.observe(0.002)
    metrics.ledgerInconsistencies.inc()
    metrics.observeRequestWait(0.004)
    metrics.countShedRequest('full')
    metrics.readRequestQueue(() => 3)
    metrics.readArriving(() => 40)
    metrics.readProverQueue(() => ({ paying: 5, open: 0 }))
    metrics.readFollowers(async () => ({ webhooks: 9 }))
    const text = await metrics.text()
    for (const line of [
      'http_request_duration_seconds_count{method="GET",route="/v1/things/{thingId}",status="200"} 1',
      'nullifier_check_seconds_count 1',
      'proofs_generated_total{circuit_id="yesno"} 1',
      'proof_generation_seconds_bucket{le="0.15"} 1',
      'double_spend_total 1',
      'ledger_tree_size 7',
      'ledger_batch_size_bucket{le="2"} 0',
      'ledger_batch_size_bucket{le="4"} 1',
      'ledger_commit_seconds_bucket{le="0.001"} 0',
      'ledger_commit_seconds_bucket{le="0.0025"} 1',
      'ledger_inconsistency_total 1',
      'http_queue_depth 3',
      'http_arriving_bytes 40',
      'http_queue_seconds_bucket{le="0.0025"} 0',
      'http_queue_seconds_bucket{le="0.005"} 1',
      'http_requests_shed_total{reason="full"} 1',
      'prover_queue_depth{tier="paying"} 5',
      'ledger_follower_lag_entries{follower="webhooks"} 9',
    ]) {
      expect(text.split('\n')).to.include(line)
    }
    const families = await metrics.json()
    const inText = [...text.matchAll(/^# TYPE (\S+)/gm)].map(([, name]) => name)
    expect(families.map(({ name }) => name)).to.have.members(inText)
    const requests = families.find(({ name }) => name === 'http_request_duration_seconds')
    expect(requests?.values.find(({ name }) => name.endsWith('_count'))?.value).to.equal(1)
  })

  it('labels are few and hold no ids', async () => {
    const metrics = createMetrics()
    metrics.observeRequest('GET', '/', 200, 0.003)
    for (const { name, values } of await metrics.json()) {
      for (const { labels } of values) expect(LABELS, name).to.include.keys(...Object.keys(labels), 'le')
    }
  })

  it('what waits keeps its last number while nobody can count', async () => {
    const metrics = createMetrics()
    metrics.readFollowers(async () => ({ webhooks: 9 }))
    await metrics.text()
    metrics.readFollowers(() => Promise.reject(new Error('the database is away')))
    expect(await metrics.text()).to.match(/^ledger_follower_lag_entries\{follower="webhooks"\} 9$/m)
  })

  it('are told in time, with the last numbers of the database, while that answers nothing', async () => {
    const metrics = createMetrics()
    metrics.readTreeSize(async () => 7)
    metrics.readWitnessed(async () => ({ isLate: true, size: 5, ageSeconds: 1 }))
    await metrics.text()
    const never = () => new Promise<never>(() => undefined)
    metrics.readTreeSize(never)
    metrics.readFollowers(never)
    metrics.readWebhookQueue(never)
    metrics.readScreening(never)
    metrics.readWitnessed(never)
    metrics.doubleSpends.inc()
    const startedAt = performance.now()
    const text = await metrics.text()
    expect(performance.now() - startedAt).to.be.below(SCRAPE_TIMEOUT_MS / 2)
    for (const line of ['ledger_tree_size 7', 'ledger_witnessed_size 5', 'double_spend_total 1'])
      expect(text.split('\n')).to.include(line)
  }).timeout(SCRAPE_TIMEOUT_MS)

  it('of a database that is slow are told the next time', async () => {
    const metrics = createMetrics()
    let answer: (size: number) => void = () => undefined
    metrics.readTreeSize(
      () =>
        new Promise((resolve) => {
          answer = resolve
        }),
    )
    expect(await metrics.text()).to.match(/^ledger_tree_size 0$/m)
    answer(7)
    metrics.readTreeSize(() => Promise.reject(new Error('the database is away')))
    expect(await metrics.text()).to.match(/^ledger_tree_size 7$/m)
  }).timeout(SCRAPE_TIMEOUT_MS)

  it('two services in one process count apart', async () => {
    const [a, b] = [createMetrics(), createMetrics()]
    a.doubleSpends.inc()
    expect(await b.text()).to.match(/^double_spend_total 0$/m)
  })
})
