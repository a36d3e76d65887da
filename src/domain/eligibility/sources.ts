/** Data sources: where the facts come from. One that fails is an error, never a NO. @module */
import { randomBytes } from 'node:crypto'
import { AppError, type ErrorDetail, fail } from '../../errors.ts'
import { COMMITMENT_SALT_BYTES, dataCommitment } from '../../protocol/commitment.ts'
import type { HermesAsker, HermesService } from '../hermes/service.ts'
import type { DataSource } from './schemas.ts'

/** What one source said, committed under a salt of its own, so that each can be shown without the others. */
export interface Gathered {
  readonly source: string
  readonly type: DataSource['type']
  readonly data: Readonly<Record<string, unknown>>
  readonly salt: Uint8Array
  /** Lower-case hex. */
  readonly commitment: string
}

type Asking = Pick<HermesService, 'askTyped' | 'askText'>

/** Who needs the facts, about whom. */
export interface Need {
  readonly asker: HermesAsker
  readonly identifier: string | undefined
}

/** Statuses of what a target did wrong. */
const TARGET_STATUSES = [502, 504]
/** What is wrong with the slug as it was sent; told as such, since the route is not what was called. */
const SLUG_FAULTS: readonly string[] = ['not_found', 'route_deleted', 'unauthorized']

const required = (path: string, message: string): never =>
  fail('validation_failed', { details: [{ path, code: 'required', message }] })

/** @throws AppError validation_failed */
export const checkSources = (sources: readonly DataSource[]): void => {
  const seen = new Set<string>()
  for (const [i, { id, type, data, slug }] of sources.entries()) {
    const path = `/dataSources/${i}`
    if (seen.has(id))
      fail('validation_failed', {
        details: [{ path: `${path}/id`, code: 'unique', message: 'must be the only source of this id' }],
      })
    seen.add(id)
    if (type === 'inline' && data === undefined) required(`${path}/data`, 'is required for an inline source')
    if (type === 'hermes' && slug === undefined) required(`${path}/slug`, 'is required for a hermes source')
  }
}

/** A failure of hermes as one of the source. */
const asSourceFailure = (error: unknown, id: string, path: string): unknown => {
  if (!(error instanceof AppError)) return error
  const { code, message } = error
  if (TARGET_STATUSES.includes(error.status))
    return new AppError('source_failed', {
      message: `Data source ${id} gave no answer. ${message}`,
      details: [{ path, code, message }],
      cause: error,
    })
  if (SLUG_FAULTS.includes(code))
    return new AppError('validation_failed', {
      details: [{ path: `${path}/slug`, code, message }],
      cause: error,
    })
  if (error.status !== 422) return error
  const prefixed = ({ path: inner, ...detail }: ErrorDetail) => ({
    ...detail,
    path: `${path}/criteria${inner}`,
  })
  const details = error.details?.map(prefixed) ?? [{ path: `${path}/criteria`, code, message }]
  return new AppError('validation_failed', { message, details, cause: error })
}

const askHermes = async (
  hermes: Asking,
  { asker, identifier }: Need,
  { id, slug = '', criteria }: DataSource,
  path: string,
): Promise<Gathered['data']> => {
  try {
    // As text, the identifier is also found where the target's ids are numbers.
    const { verdict, timestamp } = await (criteria === undefined && identifier !== undefined
      ? hermes.askText(asker, slug, { id: identifier })
      : hermes.askTyped(asker, slug, criteria ?? {}))
    return { verdict, timestamp }
  } catch (error) {
    throw asSourceFailure(error, id, path)
  }
}

/**
 * Asks every source, one after another: what hermes answers is committed, and a repeated request finds its steps again
 * by their order.
 * @throws AppError source_failed; validation_failed for a question that the route does not take; what asking costs
 */
export const gather = async (
  hermes: Asking,
  need: Need,
  sources: readonly DataSource[],
): Promise<Gathered[]> => {
  const gathered: Gathered[] = []
  for (const [i, one] of sources.entries()) {
    const { id: source, type } = one
    const data =
      type === 'inline' ? (one.data ?? {}) : await askHermes(hermes, need, one, `/dataSources/${i}`)
    const salt = randomBytes(COMMITMENT_SALT_BYTES)
    const commitment = dataCommitment(salt, { source, type, data })
    gathered.push({ source, type, data, salt, commitment })
  }
  return gathered
}
