/** The witnesses of WITNESS_POLICY, who are shown the checkpoints of the log. @module */
import { DEFAULT_ORGANISATION } from '../domain/accounts/defaults.ts'
import type { Checkpoints } from '../ledger/checkpoints/checkpoint.ts'
import type { PostToWitness } from '../ledger/checkpoints/witness-client.ts'
import { createWitnessing, type Witnessing } from '../ledger/checkpoints/witnessing.ts'
import type { Log } from '../ledger/tree/log.ts'
import type { SafeFetch } from '../net/safe-fetch.ts'
import type { Closers, Foundations } from './foundations.ts'

/** Of one request; no write waits for it. */
const DEADLINE_MS = 10_000
/** An answer is a few signature lines. */
const MAX_ANSWER_BYTES = 64 * 1024

type Deps = Pick<
  Foundations,
  'config' | 'database' | 'clock' | 'logger' | 'logHome' | 'metrics' | 'security' | 'safeFetch'
> & { readonly log: Log; readonly checkpoints: Checkpoints }

const postWith =
  (safeFetch: SafeFetch): PostToWitness =>
  async (url, body, signal) => {
    const {
      status,
      headers,
      body: answer,
    } = await safeFetch(url, {
      method: 'POST',
      headers: { 'content-type': 'text/plain; charset=utf-8', 'user-agent': 'Assay-Log/1.0' },
      body,
      maxBytes: MAX_ANSWER_BYTES,
      deadlineMs: DEADLINE_MS,
      redirects: 0,
      // The operator's own words, as those of KYC_PROVIDERS.
      allowListed: true,
      signal,
    })
    return { status, type: headers['content-type'] ?? '', body: answer.toString() }
  }

/** @returns undefined where no policy is set */
export const openWitnessing = (
  { config, logHome, metrics, security, safeFetch, ...deps }: Deps,
  closers: Closers,
): Witnessing | undefined => {
  const { witnessPolicy: policy, witnessIntervalMs: intervalMs, witnessMaxAgeMs: maxAgeMs } = config
  if (policy === undefined) return undefined
  const witnessing = createWitnessing({
    ...deps,
    origin: logHome.origin,
    policy,
    intervalMs,
    maxAgeMs,
    post: postWith(safeFetch),
    onAsked: (witness, outcome) => metrics.witnessRequests.inc({ witness, outcome }),
    onContradiction: (witness) =>
      security.raise({
        organisation: DEFAULT_ORGANISATION,
        type: 'tree_inconsistency',
        subject: `witness ${witness}`,
      }),
  })
  closers.push(() => witnessing.close())
  metrics.readWitnessed(async () => {
    const state = await witnessing.state()
    return { ...state, isLate: state.status === 'late' }
  })
  return witnessing
}
