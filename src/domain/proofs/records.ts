/** Recorded proofs, told again as they were made. @module */
import type { Caller } from '../../caller.ts'
import { issuerAmong } from '../../circuits/presentation.ts'
import { fail } from '../../errors.ts'
import type { Receipt } from '../../ledger/decision.ts'
import { readEntries } from '../../ledger/entries.ts'
import type { Ledger } from '../../ledger/ledger.ts'
import type { Logs } from '../../ledger/logs.ts'
import { decodeZk1 } from '../../protocol/zk1.ts'
import type { Database } from '../../store/database.ts'
import { contextOf } from './binding.ts'
import type { GeneratedProof } from './proof.ts'
import { decisionOf } from './signals.ts'
import { isPolicyRefusal } from './spending/policy-refusal.ts'
import type { Statement } from './statement.ts'
import * as store from './store.ts'

interface Deps {
  readonly database: Database
  readonly logs: Pick<Logs, 'of'>
  readonly ledger: Pick<Ledger, 'head'>
  readonly baseUrl: string
  /** @throws AppError not_found */
  readonly statement: (circuitId: string) => Statement
}

export const createRecords = ({ database, logs, ledger, baseUrl, statement }: Deps) => {
  /** Where the entry of a proof stands, in the log as it is now. */
  const receiptOf = async (organisation: string, index: number): Promise<Receipt> => {
    const log = await logs.of(organisation)
    const [entry] = await readEntries(database, log, index, 1)
    if (entry?.index !== index) return fail('not_found')
    // Read later than the entry, so that it covers it.
    const { size, root } = await ledger.head(log)
    const leafHash = Buffer.from(entry.leafHash).toString('hex')
    return { log, index, entryId: entry.id, leafHash, treeSize: size, root, at: entry.at }
  }

  /** @throws AppError not_found, also where it isn't known what the proof is bound to */
  return async ({ organisation }: Caller, proofId: string): Promise<GeneratedProof> => {
    const row = await store.findProof(database, organisation, proofId)
    const read = row && decodeZk1(row.proof)
    if (!row?.context || read === undefined) return fail('not_found')
    const { circuit_id: circuitId, expires_at: expiresAt } = row
    const issuer = row.context.elsewhere?.issuer
    const elsewhere = issuer == null ? undefined : issuerAmong({ circuitId, ...read }, [issuer])
    const own = statement(circuitId)
    const shown = decisionOf(own, read.publicSignals)
    const isRefused =
      shown === 1 && (await isPolicyRefusal(database, own, { organisation, proofId }, row.context.statement))
    return {
      proofId,
      circuitId,
      digest: row.digest,
      ...read,
      decision: isRefused ? 0 : shown,
      context: contextOf(baseUrl, { organisation, circuitId, expiresAt, ...row.context }),
      createdAt: row.created_at,
      expiresAt,
      ...(elsewhere && { elsewhere }),
      receipt: await receiptOf(organisation, row.entry_index),
    }
  }
}
