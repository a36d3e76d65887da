/** Data sources: where the facts come from. One that fails is an error, never a NO. @module */
import { randomBytes } from 'node:crypto'
import { AppError, fail } from '../../errors.ts'
import { type IsOvertaken, isAnyOvertaken } from '../../ledger/decision.ts'
import { COMMITMENT_SALT_BYTES, dataCommitment } from '../../protocol/commitment.ts'
import type { DataSource } from './schemas.ts'
import { type Asked, type Need, READERS, type SourceServices } from './source-readers.ts'

/** What one source said, committed under a salt of its own, so that each can be shown without the others. */
export interface Gathered {
  readonly source: string
  readonly type: DataSource['type']
  readonly data: Readonly<Record<string, unknown>>
  readonly salt: Uint8Array
  /** Lower-case hex. */
  readonly commitment: string
}

/** What rules are asked about. */
export const factsOf = (gathered: readonly Gathered[]): Record<string, Gathered['data']> =>
  Object.fromEntries(gathered.map(({ source, data }) => [source, data]))

/** @throws AppError insufficient_scope: reading a source takes what asking its own route takes; validation_failed */
export const checkSources = ({ asker }: Pick<Need, 'asker'>, sources: readonly DataSource[]): void => {
  const seen = new Set<string>()
  for (const [i, source] of sources.entries()) {
    const { id, type } = source
    const path = `/dataSources/${i}`
    const { scope, missing } = READERS[type]
    if (scope !== undefined && !asker.caller.scopes.has(scope))
      fail('insufficient_scope', { message: `A ${type} source needs a credential with scope "${scope}".` })
    if (seen.has(id))
      fail('validation_failed', {
        details: [{ path: `${path}/id`, code: 'unique', message: 'must be the only source with this id' }],
      })
    seen.add(id)
    const field = missing?.(source)
    if (field !== undefined)
      fail('validation_failed', {
        details: [
          { path: `${path}/${field}`, code: 'required', message: `is required for a source of type ${type}` },
        ],
      })
  }
}

/** What of a source's own failures is the source's fault, and not this service's own moment of weakness. */
const TARGET_STATUSES = [502, 504]

/** A failure of a source, told as one; whatever is wrong with the question, at its place. */
const asSourceFailure = async (error: unknown, asked: Asked): Promise<unknown> => {
  if (!(error instanceof AppError)) return error
  const { code, message } = error
  const { source, path } = asked
  if (TARGET_STATUSES.includes(error.status))
    return new AppError('source_failed', {
      message: `Data source ${source.id} did not answer. ${message}`,
      details: [{ path, code, message }],
      cause: error,
    })
  return (await READERS[source.type].place?.(error, asked)) ?? error
}

/**
 * Asks every source, one after another: what hermes answers is committed, and a repeated request finds its steps again
 * by their order.
 * @throws AppError source_failed; validation_failed for a question that the source does not take; what asking costs
 */
export const gather = async (
  services: SourceServices,
  need: Need,
  sources: readonly DataSource[],
): Promise<Gathered[]> => {
  const gathered: Gathered[] = []
  for (const [i, one] of sources.entries()) {
    const { id: source, type } = one
    const { facts: data } = await READERS[type].read(services, need, one).catch(async (error: unknown) => {
      throw await asSourceFailure(error, { services, need, source: one, path: `/dataSources/${i}` })
    })
    const salt = randomBytes(COMMITMENT_SALT_BYTES)
    const commitment = dataCommitment(salt, { source, type, data })
    gathered.push({ source, type, data, salt, commitment })
  }
  return gathered
}

/**
 * What each source says by now, of those that the service keeps itself; what others said, as it was.
 * @returns also whether anything that was read was changed since
 */
export const readAgain = async (
  services: SourceServices,
  need: Need,
  sources: readonly DataSource[],
  gathered: readonly Gathered[],
): Promise<{ readonly facts: Record<string, Gathered['data']>; readonly isOvertaken: IsOvertaken }> => {
  const facts = factsOf(gathered)
  const parts: IsOvertaken[] = []
  for (const source of sources) {
    const reader = READERS[source.type]
    if (!reader.isKept) continue
    const said = await reader.read(services, need, source)
    facts[source.id] = said.facts
    parts.push(said.isOvertaken)
  }
  return { facts, isOvertaken: isAnyOvertaken(parts) }
}
