/** The act of posting: from what was sent to a message that everybody can read. @module */
import type { Caller } from '../../caller.ts'
import { AppError, fail } from '../../errors.ts'
import type { Sealing } from '../../keys/sealing.ts'
import type { Limits } from '../../store/limits.ts'
import { isObject, type MessageContent, readContent, readParams } from './content.ts'
import { PAUSED_RETRY_SECONDS } from './decision.ts'
import { hashText, shortMac } from './duplicates.ts'
import type { EnvelopeReader } from './envelope.ts'
import type { ChatLane } from './lane.ts'
import type { AcceptedEnvelope, PostUnit } from './lane-units.ts'
import { toMessage } from './message.ts'
import { isReservedName, nameSkeleton } from './names.ts'
import type { PostingModeService } from './posting-mode.ts'
import type { PromptsService } from './prompts.ts'
import { type Posted, UNTRUSTED_NOTICE } from './schemas.ts'

/** Whoever posts. */
export interface Poster {
  /** Client address, after TRUST_PROXY. */
  readonly ip: string
  readonly source: 'api' | 'web' | 'mcp'
  readonly requestId: string
}

/** Thresholds; see CHAT_LIMITS. */
export interface PostLimits {
  readonly postsPerMinute: number
  readonly postsPerHour: number
  readonly keyPostsPerMinute: number
}

export interface PostingDeps {
  readonly lane: ChatLane
  readonly reader: EnvelopeReader
  readonly prompts: Pick<PromptsService, 'find'>
  readonly postingMode: Pick<PostingModeService, 'state'>
  readonly limits: Limits
  /** Absent: nothing is limited. */
  readonly postLimits?: PostLimits
  readonly sealing: Pick<Sealing, 'mac'>
  /** What stands for a client in limits: its address, or its site. */
  readonly addressBlock: (ip: string) => string
}

const MINUTE_SECONDS = 60
const HOUR_SECONDS = 3600

/** @throws AppError rate_limited when the bucket is used up */
const spend = async (limits: Limits, bucket: string, limit: number, windowSeconds: number): Promise<void> => {
  const { allowed, resetSeconds } = await limits.consume(`chat:${bucket}`, { limit, windowSeconds, cost: 1 })
  if (!allowed) fail('rate_limited', { retryAfter: Math.max(1, resetSeconds) })
}

/** Counts a post of an address, and of the key that signed it. @returns a function that throws AppError rate_limited */
export const createPostCounter =
  ({ limits, postLimits, addressBlock }: Pick<PostingDeps, 'limits' | 'postLimits' | 'addressBlock'>) =>
  async (ip: string, fingerprint?: string): Promise<void> => {
    if (postLimits === undefined) return
    const address = `ip:${addressBlock(ip)}`
    await spend(limits, address, postLimits.postsPerMinute, MINUTE_SECONDS)
    // Asked only by those whom the minute lets through, so that hammering does not use up the hour.
    await spend(limits, address, postLimits.postsPerHour, HOUR_SECONDS)
    if (fingerprint !== undefined)
      await spend(limits, `key:${fingerprint}`, postLimits.keyPostsPerMinute, MINUTE_SECONDS)
  }

/** Who is meant by a member of a body that is neither fields nor an envelope. @throws AppError invalid_body */
const envelopeIn = (input: unknown): unknown => {
  if (!isObject(input)) return fail('invalid_body')
  return input.envelope ?? undefined
}

export const createPosting = (deps: PostingDeps) => {
  const { lane, reader, prompts, postingMode, sealing, addressBlock } = deps
  const count = createPostCounter(deps)

  const requirePrompt = ({ promptId }: MessageContent): void => {
    if (promptId !== null && prompts.find(promptId) === undefined) fail('unknown_prompt')
  }

  /** Under the head's lock it is asked again, of the database. @throws AppError posting_paused, verified_only */
  const requireOpen = (signed: boolean): void => {
    const { posting } = postingMode.state()
    if (posting === 'paused') fail('posting_paused', { retryAfter: PAUSED_RETRY_SECONDS })
    if (posting === 'verified_only' && !signed) fail('verified_only')
  }

  /** @throws AppError envelope_*, and the codes of the content rules, and proof_service_unavailable */
  const openEnvelope = async (
    envelope: unknown,
  ): Promise<{ readonly content: MessageContent; readonly accepted: AcceptedEnvelope }> => {
    const opened = reader.open(envelope, 'chat.post')
    const content = readParams(opened.params)
    requirePrompt(content)
    const { fingerprint, id, agentId, about, expiresAt } = opened
    const findings = await reader.checkProof(opened)
    return { content, accepted: { fingerprint, id, agentId, about, expiresAt, ...findings } }
  }

  const submit = async (unit: PostUnit): Promise<Posted> => {
    const row = await lane.submit(unit)
    if (row === undefined) throw new AppError('internal')
    return { message: toMessage(row), notice: UNTRUSTED_NOTICE }
  }

  return {
    async post(input: unknown, { ip, source }: Poster): Promise<Posted> {
      const envelope = envelopeIn(input)
      const { content, accepted } =
        envelope === undefined
          ? { content: readContent(input), accepted: undefined }
          : await openEnvelope(envelope)
      requirePrompt(content)
      if (isReservedName(content.agentName)) fail('name_reserved')
      requireOpen(accepted !== undefined)
      await count(ip, accepted?.fingerprint)
      const address = shortMac(sealing, 'chat-poster', `address\n${addressBlock(ip)}`)
      const poster = accepted ? shortMac(sealing, 'chat-poster', `key\n${accepted.fingerprint}`) : address
      return submit({
        weight: 1,
        content,
        skeleton: nameSkeleton(content.agentName),
        kind: 'agent',
        source,
        address,
        poster,
        hashes: hashText(sealing, content.text, poster),
        envelope: accepted,
      })
    },

    async postAsHouse(input: unknown, { organisation }: Caller): Promise<Posted> {
      const content = readContent(input)
      requirePrompt(content)
      const poster = shortMac(sealing, 'chat-poster', `house\n${organisation}`)
      return submit({
        weight: 1,
        content,
        skeleton: nameSkeleton(content.agentName),
        kind: 'house',
        source: 'system',
        poster,
        hashes: hashText(sealing, content.text, poster),
      })
    },
  }
}
