/** The logs of the service: which there are, what is signed of each, and their heads in log 0. @module */
import { MEMORY_DATA_DIR } from '../config/secrets.ts'
import { DEFAULT_ORGANISATION } from '../domain/accounts/defaults.ts'
import { createCheckpoints, createSigningTurns } from '../ledger/checkpoints/checkpoint.ts'
import { createHeads } from '../ledger/checkpoints/heads.ts'
import { isAtHome } from '../ledger/checkpoints/home.ts'
import { createSignedLogs, type SignedLog, type SignedLogs } from '../ledger/checkpoints/signed-logs.ts'
import { type Witnessing, withWitnesses } from '../ledger/checkpoints/witnessing.ts'
import { createLog } from '../ledger/tree/log.ts'
import { originOfLog } from '../protocol/log-heads.ts'
import type { Closers, Foundations } from './foundations.ts'
import { openWitnessing } from './witnesses.ts'

/** What the record is made of: the log, what is signed of it, who is told. */
export type Recorded = Pick<
  Foundations,
  | 'config'
  | 'clock'
  | 'logger'
  | 'database'
  | 'logHome'
  | 'logs'
  | 'ledger'
  | 'signers'
  | 'metrics'
  | 'security'
  | 'safeFetch'
>

/** How alerts and lines of the server's log call a log. */
const callOf = (log: number): string => (log === 0 ? 'log' : `log ${log}`)

const signedLog = (deps: Recorded, number: number, turn?: () => Promise<void>) => {
  const { config, clock, logger, database, logHome, signers, metrics, security } = deps
  const log = createLog(database, number)
  const origin = originOfLog(logHome.origin, number)
  const checkpoints = createCheckpoints({
    database,
    log,
    number,
    signers,
    clock,
    origin,
    generation: logHome.generation,
    isAtHome: () => isAtHome(database, logHome.generation),
    turn,
    directory: config.dataDir === MEMORY_DATA_DIR ? undefined : config.dataDir,
    onInconsistency(reason) {
      metrics.ledgerInconsistencies.inc()
      logger.error({ reason, log: number }, 'the log is inconsistent: nothing is signed')
      security.raise({
        organisation: DEFAULT_ORGANISATION,
        type: 'tree_inconsistency',
        subject: callOf(number),
      })
    },
  })
  return { number, origin, log, checkpoints }
}

/** Witnesses are shown log 0, which holds the heads of the others. */
export const openSignedLogs = (
  deps: Recorded,
  closers: Closers,
): { readonly signedLogs: SignedLogs; readonly witnessing: Witnessing | undefined } => {
  const first = signedLog(deps, 0)
  const witnessing = openWitnessing({ ...deps, ...first }, closers)
  // Log 0, which all evidence ends in, waits for none of the others.
  const turn = createSigningTurns()
  const open = (number: number): SignedLog => {
    const { origin, log: tree, checkpoints } = number === 0 ? first : signedLog(deps, number, turn)
    return {
      number,
      origin,
      tree,
      checkpoints: withWitnesses(checkpoints, number === 0 ? witnessing : undefined),
    }
  }
  const heads = createHeads({ ...deps, checkpointOf: (log) => signedLogs.at(log).checkpoints.latest() })
  closers.push(() => heads.close())
  const signedLogs = createSignedLogs(deps.logs.count, open, heads)
  return { signedLogs, witnessing }
}
