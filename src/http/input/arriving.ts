/**
 * Bodies that are still arriving. What has come of them is counted, by whom it is for and in all, so that those who send slowly, on as many
 * connections as they like, have the server keep no more than it can.
 * @module
 */
import { AppError } from '../../errors.ts'

export interface ArrivingLimits {
  /** Bytes that have come of bodies that are not complete, of one owner, and of all. */
  readonly bytesEach: number
  readonly bytes: number
}

const MIB = 1024 ** 2
const ARRIVING_LIMITS: ArrivingLimits = { bytesEach: 16 * MIB, bytes: 64 * MIB }
const RETRY_AFTER_SECONDS = 1

/** A body that arrives. */
export interface ArrivingBody {
  /** Counts what has come of it. It, or another one, may be refused for it. */
  add(bytes: number): void
  /** Counts it no more; it may be called again. */
  end(): void
}

export interface ArrivingBodies {
  /**
   * Counts a body of an owner, of which nothing has come yet.
   * @param refuse is called, once at most, when what has come of it is to be forgotten, which is counted no more then: with rate_limited
   *   where its owner's have as much as may, with unavailable where those of all do
   */
  count(owner: string, refuse: (error: AppError) => void): ArrivingBody
  /** Bytes that are counted. */
  readonly bytes: number
}

interface Arriving {
  readonly owner: Owner
  bytes: number
  refuse(error: AppError): void
}

interface Owner {
  readonly name: string
  bytes: number
  /** The oldest first. */
  readonly bodies: Set<Arriving>
}

const tooMuch = ({ bytesEach }: ArrivingLimits): AppError =>
  new AppError('rate_limited', {
    message: `Bodies of your requests that are still arriving on this server may have ${bytesEach / MIB} MiB together. Send fewer at a time.`,
    reason: 'TOO_MANY_WAITING',
    retryAfter: RETRY_AFTER_SECONDS,
  })

const isFull = ({ bytes }: ArrivingLimits): AppError =>
  new AppError('unavailable', {
    message: `Bodies that are still arriving on this server have ${bytes / MIB} MiB together, which is the most that it holds.`,
    reason: 'TOO_MANY_WAITING',
    retryAfter: RETRY_AFTER_SECONDS,
  })

/** @param onRefused hears of each body that was refused */
export const createArrivingBodies = (
  limits: ArrivingLimits = ARRIVING_LIMITS,
  onRefused?: () => void,
): ArrivingBodies => {
  /** One that has none is not in it. */
  const owners = new Map<string, Owner>()
  let total = 0

  const ownerOf = (name: string): Owner => {
    const known = owners.get(name)
    if (known !== undefined) return known
    const owner: Owner = { name, bytes: 0, bodies: new Set() }
    owners.set(name, owner)
    return owner
  }
  const forget = (body: Arriving): void => {
    const { owner } = body
    if (!owner.bodies.delete(body)) return
    owner.bytes -= body.bytes
    total -= body.bytes
    if (owner.bodies.size === 0) owners.delete(owner.name)
  }
  const refuse = (body: Arriving, error: AppError): void => {
    forget(body)
    onRefused?.()
    body.refuse(error)
  }
  /** Of whoever has most: so none of those who send little is kept out by others, however many bodies those begin. */
  const refuseOldest = (): void => {
    let most: Owner | undefined
    for (const owner of owners.values()) if (owner.bytes > (most?.bytes ?? 0)) most = owner
    const [oldest] = most?.bodies ?? []
    if (oldest !== undefined) refuse(oldest, isFull(limits))
  }

  return {
    count(name, refuseIt) {
      const owner = ownerOf(name)
      const body: Arriving = { owner, bytes: 0, refuse: refuseIt }
      owner.bodies.add(body)
      return {
        add(bytes) {
          if (!owner.bodies.has(body)) return
          body.bytes += bytes
          owner.bytes += bytes
          total += bytes
          if (owner.bytes > limits.bytesEach) refuse(body, tooMuch(limits))
          while (total > limits.bytes) refuseOldest()
        },
        end: () => forget(body),
      }
    },
    get bytes() {
      return total
    },
  }
}
