/**
 * Evidence: a file that proves itself. A header, rows under a running SHA-256 chain, and last a signed manifest with
 * what it takes to find every entry again in the signed tree. docs/exports.md has the format.
 * @module
 */
import { hash } from 'node:crypto'
import { iso } from '../../clock.ts'
import type { CurrentSigner } from '../../keys/signers.ts'
import type { Covering } from '../../ledger/checkpoints/signed-logs.ts'
import { named } from '../../ledger/logs.ts'
import type { Log } from '../../ledger/tree/log.ts'
import type { Range } from '../../protocol/checkpoint/proof-ranges.ts'
import { CHAIN_START, EVIDENCE_FORMAT, EVIDENCE_TYPE } from '../../protocol/evidence/evidence-format.ts'
import { subtreesBetween } from '../../protocol/evidence/subset-proof.ts'
import { writeJws } from '../../protocol/jws.ts'
import type { EventRow, LeafRow } from '../event-log/rows.ts'
import type { Beginning, Ending } from './formats/siem.ts'
import { toWire } from './wire.ts'

/** Hashes of the tree that are read at a time. */
const MAX_READ_HASHES = 2_000

/** The next link: SHA-256 over the link before, in hex, and the line as far as the link itself. */
export const nextLink = (link: string, text: string): string => hash('sha256', `${link}${text}`)

const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex')

export interface EvidenceDeps {
  /** Of the organisation, and its tree. */
  readonly number: number
  readonly log: Pick<Log, 'hashes'>
  readonly signer: CurrentSigner
  /** Covers every row. */
  readonly checkpoint: Covering
  /** Absolute URL of the service. */
  readonly issuer: string
  /** Unix ms. */
  readonly now: number
}

export interface EvidenceWriter {
  /** The first line. All lines are without their newlines. */
  header(
    beginning: Beginning & { readonly limit: number | undefined; readonly watermark: number | null },
  ): string
  rows(rows: readonly EventRow[]): Promise<string[]>
  manifest(beginning: Beginning, ending: Ending): Promise<string>
}

/** Reads the hashes of many ranges, not too many in one query. */
const readHashes = async (log: EvidenceDeps['log'], ranges: readonly Range[]): Promise<string[]> => {
  const found: string[] = []
  for (let from = 0; from < ranges.length; from += MAX_READ_HASHES)
    found.push(...(await log.hashes(ranges.slice(from, from + MAX_READ_HASHES))).map(hex))
  return found
}

export const createEvidence = ({
  number,
  log,
  signer,
  checkpoint,
  issuer,
  now,
}: EvidenceDeps): EvidenceWriter => {
  let link = CHAIN_START
  /** Leaves of the tree that have been told, one by one or in subtrees. */
  let told = 0
  const counts: Record<string, number> = {}

  const chained = (line: object): string => {
    const text = JSON.stringify(line).slice(0, -1)
    link = nextLink(link, text)
    return `${text},"chain":"${link}"}`
  }

  /** For each leaf the hashes of what stands between it and the leaf before. */
  const readBetween = async (leaves: readonly LeafRow[]): Promise<Map<number, string[]>> => {
    const gaps = new Map<number, Range[]>()
    for (const { index } of leaves) {
      gaps.set(index, subtreesBetween(told, index))
      told = index + 1
    }
    const hashes = await readHashes(log, [...gaps.values()].flat())
    let next = 0
    const take = (count: number): string[] => {
      next += count
      return hashes.slice(next - count, next)
    }
    return new Map([...gaps].map(([index, { length }]) => [index, take(length)]))
  }

  return {
    header({ organisation, window: { since, until }, limit, watermark }) {
      return chained({
        type: 'header',
        format: EVIDENCE_FORMAT,
        ...named(number),
        issuer,
        organisationId: organisation,
        createdAt: iso(now),
        since: iso(since),
        until: iso(until),
        limit: limit ?? null,
        watermark: watermark === null ? null : iso(watermark),
      })
    },

    async rows(rows) {
      const between = await readBetween(rows.filter((row): row is LeafRow => row.type === 'merkle.leaf'))
      return rows.map((row) => {
        counts[row.type] = (counts[row.type] ?? 0) + 1
        if (row.type !== 'merkle.leaf') return chained(toWire(row))
        return chained({ ...toWire(row), entry: row.entry, between: between.get(row.index) ?? [] })
      })
    },

    async manifest({ gaps }, { rows, cut }) {
      const manifest = {
        type: 'manifest',
        ...named(number),
        rows,
        counts,
        chain: link,
        treeSize: checkpoint.size,
        root: hex(checkpoint.root),
        after: await readHashes(log, subtreesBetween(told, checkpoint.size)),
        checkpoint: checkpoint.note,
        ...(checkpoint.head && { head: checkpoint.head }),
        limitReached: cut,
        complete: gaps.length === 0 && !cut,
        gaps: [...gaps],
      }
      const header = { alg: 'EdDSA', kid: signer.kid, typ: EVIDENCE_TYPE }
      return JSON.stringify({ ...manifest, jws: writeJws(header, manifest, signer.sign) })
    },
  }
}
