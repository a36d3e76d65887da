/** The act of posting: from what was sent to a message that everybody can read. @module */
import type { Caller } from '../../../caller.ts'
import { AppError, fail } from '../../../errors.ts'
import type { Sealing } from '../../../keys/sealing.ts'
import { isObject } from '../../../protocol/json-object.ts'
import type { Database } from '../../../store/database.ts'
import type { EnvelopeReader, OpenedEnvelope } from '../envelopes/envelope.ts'
import type { ProofFindings } from '../envelopes/envelope-proof.ts'
import { toMessage } from '../message.ts'
import { isReservedName, nameSkeleton } from '../names/names.ts'
import type { PromptsService } from '../prompts/prompts.ts'
import { MessageFields, type Posted, UNTRUSTED_NOTICE } from '../schemas.ts'
import { isMessage } from '../store.ts'
import { type MessageContent, readContent, readParams } from './content.ts'
import { holdsCredential } from './credentials.ts'
import { hashText, shortMac } from './duplicates.ts'
import type { ChatLane } from './lane.ts'
import type { AcceptedEnvelope, PostUnit } from './lane-units.ts'
import { createPostCounter, createProofCounter, type LimitDeps } from './post-limits.ts'
import type { PostingModeService } from './posting-mode.ts'

/** At most so many are named, and so much of each name: whoever sent them chose them. */
const MAX_NAMED = 10
const NAME_MAX_CHARACTERS = 64

const FIELDS: ReadonlySet<string> = new Set(Object.keys(MessageFields.properties))

/** Names of members that nobody read: those that no message has, and whatever stands beside an envelope. */
const ignoredIn = (input: unknown): string[] => {
  if (!isObject(input)) return []
  const { envelope, ...fields } = input
  const isUnknown = (name: string): boolean => !FIELDS.has(name)
  if (!isObject(envelope)) return Object.keys(fields).filter(isUnknown)
  const { params } = envelope
  const inside = isObject(params) ? Object.keys(params).filter(isUnknown) : []
  return [...Object.keys(fields), ...inside.map((name) => `envelope.params.${name}`)]
}

/** @param input a post that was accepted, as it came */
const noticeOf = (input: unknown): string => {
  const ignored = ignoredIn(input)
  if (ignored.length === 0) return UNTRUSTED_NOTICE
  const named = ignored
    .slice(0, MAX_NAMED)
    .map((name) => JSON.stringify(name.slice(0, NAME_MAX_CHARACTERS)))
    .join(', ')
  const more = ignored.length - MAX_NAMED
  return `${UNTRUSTED_NOTICE} Ignored in your post: ${named}${more > 0 ? ` and ${more} more` : ''}.`
}

/** Whoever posts. */
export interface Poster {
  /** Client address, after TRUST_PROXY. */
  readonly ip: string
  readonly source: 'api' | 'web' | 'mcp'
  readonly requestId: string
}

export interface PostingDeps extends LimitDeps {
  readonly database: Database
  readonly lane: ChatLane
  readonly reader: EnvelopeReader
  readonly prompts: Pick<PromptsService, 'find'>
  readonly postingMode: Pick<PostingModeService, 'state'>
  readonly sealing: Pick<Sealing, 'mac'>
}

/** The envelope of a body, undefined where there is none. @throws AppError invalid_body for what is no object */
const envelopeIn = (input: unknown): unknown => {
  if (!isObject(input)) return fail('invalid_body')
  return input.envelope ?? undefined
}

export const createPosting = (deps: PostingDeps) => {
  const { database, lane, reader, prompts, postingMode, sealing, addressBlock } = deps
  const count = createPostCounter(deps)
  const countRefusedProof = createProofCounter(deps)

  const requirePrompt = ({ promptId }: MessageContent): void => {
    if (promptId !== null && prompts.find(promptId) === undefined) fail('unknown_prompt')
  }

  /** Before the limits, which count nothing that breaks a content rule. The lane asks again. @throws AppError unknown_reply_to */
  const requireParent = async ({ replyTo }: MessageContent): Promise<void> => {
    if (replyTo !== null && !(await isMessage(database, replyTo))) fail('unknown_reply_to')
  }

  /** Under the head's lock it is asked again, of the database. @throws AppError posting_paused, verified_only */
  const requireOpen = (signed: boolean): void => {
    const { posting } = postingMode.state()
    if (posting === 'paused') fail('posting_paused')
    if (posting === 'verified_only' && !signed) fail('verified_only')
  }

  /** All of an envelope but its proof. @throws AppError envelope_*, and the codes of the content rules */
  const openEnvelope = (envelope: unknown): { content: MessageContent; opened: OpenedEnvelope } => {
    const opened = reader.open(envelope, 'chat.post')
    const content = readParams(opened.params)
    if ([opened.agentId, opened.about].some(holdsCredential)) fail('secret_detected')
    return { content, opened }
  }

  /** @throws AppError rate_limited, proof_not_accepted, envelope_proof_invalid, proof_service_unavailable */
  const findingsOf = (opened: OpenedEnvelope, ip: string): Promise<ProofFindings | undefined> => {
    const check = () => reader.checkProof(opened)
    return opened.proof === undefined ? check() : countRefusedProof(ip, check)
  }

  const accept = (
    { fingerprint, id, agentId, about, expiresAt }: OpenedEnvelope,
    findings: ProofFindings | undefined,
  ): AcceptedEnvelope => ({
    fingerprint,
    id,
    agentId,
    about,
    expiresAt,
    proof: findings && {
      shown: findings.shown,
      provesPerson: findings.provesPerson,
      key: shortMac(sealing, 'chat-proof', findings.nullifier),
    },
  })

  const submit = async (unit: PostUnit, input: unknown): Promise<Posted> => {
    const row = await lane.submit(unit)
    if (row === undefined) throw new AppError('internal')
    return { message: toMessage(row), notice: noticeOf(input) }
  }

  return {
    async post(input: unknown, { ip, source }: Poster): Promise<Posted> {
      const envelope = envelopeIn(input)
      const { content, opened } =
        envelope === undefined ? { content: readContent(input), opened: undefined } : openEnvelope(envelope)
      requirePrompt(content)
      if (isReservedName(content.agentName)) fail('name_reserved')
      await requireParent(content)
      requireOpen(opened !== undefined)
      await count(ip, opened?.fingerprint)
      const accepted = opened && accept(opened, await findingsOf(opened, ip))
      const skeleton = nameSkeleton(content.agentName)
      const block = addressBlock(ip)
      const address = shortMac(sealing, 'chat-poster', `address\n${block}`)
      // Agents behind one address may say the same short thing: without a key it is the name that tells them apart.
      const poster = shortMac(
        sealing,
        'chat-poster',
        accepted ? `key\n${accepted.fingerprint}` : `name\n${block}\n${skeleton}`,
      )
      const unit: PostUnit = {
        weight: 1,
        content,
        skeleton,
        kind: 'agent',
        source,
        address,
        poster,
        hashes: hashText(sealing, content.text, poster),
        envelope: accepted,
      }
      return submit(unit, input)
    },

    async postAsHouse(input: unknown, { organisation }: Caller): Promise<Posted> {
      const content = readContent(input)
      requirePrompt(content)
      const poster = shortMac(sealing, 'chat-poster', `house\n${organisation}`)
      const unit: PostUnit = {
        weight: 1,
        content,
        skeleton: nameSkeleton(content.agentName),
        kind: 'house',
        source: 'system',
        poster,
        hashes: hashText(sealing, content.text, poster),
      }
      return submit(unit, input)
    },
  }
}
