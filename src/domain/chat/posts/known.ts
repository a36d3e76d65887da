/** Reads what a batch needs to know, in one round trip, behind the query that locks the head. @module */

import { NEW_NAMES_WINDOW_MS } from '../names/name-bindings.ts'
import { noteRepetition } from './duplicates.ts'
import { type ChatUnit, envelopeKey, hex, isRemoval, type Known, type PostUnit } from './lane-units.ts'
import {
  type Queries,
  readBindings,
  readEnvelopes,
  readNames,
  readProofs,
  readRepetitions,
  readTargets,
} from './store-lane.ts'

const unique = <T>(values: readonly T[]): T[] => [...new Set(values)]
const present = <T>(value: T | undefined | null): value is T => value !== undefined && value !== null

const empty = (): Known => ({
  names: new Map(),
  targets: new Map(),
  repetitions: new Map(),
  envelopes: new Set(),
  proofs: new Map(),
  bindings: new Map(),
})

/** Each kind of row is read only where a unit names one. */
const readPosts = (
  queries: Queries,
  posts: readonly PostUnit[],
  known: Known,
  { at, namesPerDay }: { readonly at: number; readonly namesPerDay: number },
): Promise<unknown>[] => {
  const names = async () => {
    for (const row of await readNames(queries, unique(posts.map(({ skeleton }) => skeleton))))
      known.names.set(row.skeleton, row)
  }
  const repetitions = async () => {
    const pairs = posts.flatMap(({ hashes: { own, shared }, poster }) => [
      { hash: own, poster },
      { hash: shared, poster },
    ])
    for (const { hash, poster, any_at, own_at } of await readRepetitions(queries, pairs)) {
      if (any_at !== null) noteRepetition(known.repetitions, hash, undefined, any_at)
      if (own_at !== null) noteRepetition(known.repetitions, hash, poster, own_at)
    }
  }
  const signed = posts.filter(({ envelope }) => envelope !== undefined)
  const bindings = async () => {
    const rows = await readBindings(queries, {
      fingerprints: unique(signed.map(({ envelope }) => envelope?.fingerprint).filter(present)),
      addresses: unique(signed.map(({ address }) => address && hex(address)).filter(present)).map((text) =>
        Buffer.from(text, 'hex'),
      ),
      since: at - NEW_NAMES_WINDOW_MS,
      limit: namesPerDay,
    })
    for (const { holder, bound_at } of rows)
      known.bindings.set(holder, [...(known.bindings.get(holder) ?? []), bound_at])
  }
  const proven = signed.map(({ envelope }) => envelope?.proof?.key).filter(present)
  const proofs = async () => {
    for (const row of await readProofs(queries, proven)) known.proofs.set(hex(row.proof), row)
  }
  const isCounted = signed.length > 0 && Number.isFinite(namesPerDay)
  if (posts.length === 0) return []
  return [
    names(),
    repetitions(),
    ...(proven.length > 0 ? [proofs()] : []),
    ...(isCounted ? [bindings()] : []),
  ]
}

/** @param options.at Unix ms @param options.namesPerDay Infinity: nobody counts */
export const readKnown = async (
  queries: Queries,
  units: readonly ChatUnit[],
  options: { readonly at: number; readonly namesPerDay: number },
): Promise<Known> => {
  const known = empty()
  const posts = units.filter((unit): unit is PostUnit => !isRemoval(unit))
  const targetIds = unique(
    units.map((unit) => (isRemoval(unit) ? unit.remove : unit.content.replyTo)).filter(present),
  )
  const used = units
    .map((unit) => (isRemoval(unit) ? (unit.by === 'operator' ? undefined : unit.by) : unit.envelope))
    .filter(present)
  const targets = async () => {
    for (const row of await readTargets(queries, targetIds)) known.targets.set(row.id, row)
  }
  const envelopes = async () => {
    for (const key of await readEnvelopes(queries, used)) known.envelopes.add(envelopeKey(key))
  }
  await Promise.all([
    ...readPosts(queries, posts, known, options),
    ...(targetIds.length > 0 ? [targets()] : []),
    ...(used.length > 0 ? [envelopes()] : []),
  ])
  return known
}
