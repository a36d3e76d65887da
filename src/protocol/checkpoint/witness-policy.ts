/**
 * Which witnesses a checkpoint must have been shown to: a policy file (C2SP tlog-policy), or verifier keys of witnesses that must all
 * have cosigned. A witness that was left out by mistake would lower what is demanded, so whatever can't be read is refused.
 * @module
 */
import {
  hexOf,
  NOTE_ED25519,
  NOTE_ED25519_COSIGNATURE,
  NOTE_ML_DSA_44_COSIGNATURE,
  type NoteSignature,
  type ReadNote,
  signaturesBy,
  type VerifierKey,
} from './note.ts'
import { checkedVerifierKey } from './signed-note.ts'

const MAX_CHARACTERS = 262_144
const MAX_MEMBERS = 1024
const SHOWN_CHARACTERS = 80
/** Spaces and tabs separate, and nothing else does. */
const GAP = /[ \t]+/
const KEYWORDS = ['log', 'witness', 'group', 'quorum']
/** The one predefined name: a quorum of nobody. */
const NOBODY = 'none'
const NO_WITNESS = 'It names no witness.'

export interface Witness {
  readonly kind: 'witness'
  /** As the policy calls it, or as its keys are named. */
  readonly name: string
  /** Whoever holds several is one witness. */
  readonly keys: readonly VerifierKey[]
  /** Its submission prefix, without a slash at the end (C2SP tlog-witness); undefined where nobody has to ask it. */
  readonly url: string | undefined
}

interface Group {
  readonly kind: 'group'
  readonly name: string
  readonly threshold: number
  readonly members: readonly (Witness | Group)[]
}

export interface WitnessPolicy {
  /** Empty: the log is known otherwise. */
  readonly logs: readonly VerifierKey[]
  readonly witnesses: readonly Witness[]
  /** Undefined: nobody has to cosign. */
  readonly quorum: Witness | Group | undefined
}

/** A text that is no policy; the message says why, and in which line. */
export class WitnessPolicyError extends Error {
  override readonly name = 'WitnessPolicyError'
}

interface Line {
  /** From 1. */
  readonly number: number
  readonly items: readonly string[]
}

const refuse = (why: string): never => {
  throw new WitnessPolicyError(why)
}

const linesOf = (text: string): readonly Line[] => {
  if (text.length > MAX_CHARACTERS) refuse(`It has more than ${MAX_CHARACTERS} characters.`)
  return text.split('\n').flatMap((line, at) => {
    const items = line.split(GAP).filter((item) => item !== '')
    const [first] = items
    return first === undefined || first.startsWith('#') ? [] : [{ number: at + 1, items }]
  })
}

const shown = (text: string): string => text.slice(0, SHOWN_CHARACTERS)

const keyIn = (text: string, types: readonly number[], what: string, { number }: Line): VerifierKey => {
  const key = checkedVerifierKey(text)
  if (key === undefined) return refuse(`Line ${number}: “${shown(text)}” is no verifier key.`)
  return types.includes(key.type)
    ? key
    : refuse(
        `Line ${number}: the verifier key of ${shown(key.name)} is not of a type that ${what} sign with.`,
      )
}

const LOG_TYPES = [NOTE_ED25519, NOTE_ML_DSA_44_COSIGNATURE]
const WITNESS_TYPES = [NOTE_ED25519_COSIGNATURE, NOTE_ML_DSA_44_COSIGNATURE]
const witnessKeyIn = (text: string, line: Line): VerifierKey => keyIn(text, WITNESS_TYPES, 'witnesses', line)

/** Refuses a public key that stands there twice: under two names it would count twice, and a log is no witness of itself. */
const demandDistinct = () => {
  const seen = new Set<string>()
  return ({ publicKey }: VerifierKey, { number }: Line): void => {
    const text = hexOf(publicKey)
    if (seen.has(text)) refuse(`Line ${number}: the same public key stands there twice.`)
    seen.add(text)
  }
}

const thresholdIn = (text: string, count: number, { number }: Line): number => {
  if (text === 'any') return 1
  if (text === 'all') return count
  const threshold = /^[1-9]\d{0,3}$/.test(text) ? Number(text) : 0
  return threshold >= 1 && threshold <= count
    ? threshold
    : refuse(`Line ${number}: the threshold must be any, all, or 1 to ${count}, the number of members.`)
}

const urlIn = (text: string | undefined, { number }: Line): string | undefined => {
  if (text === undefined) return undefined
  const { protocol = '', username, password, search, hash } = URL.canParse(text) ? new URL(text) : {}
  const isPrefix = /^https?:$/.test(protocol) && !username && !password && !search && !hash
  return isPrefix
    ? text.replace(/\/$/, '')
    : refuse(`Line ${number}: “${shown(text)}” is no URL that starts with https:// or http://.`)
}

/**
 * Keys of one name are of one operator, who counts once: they must stand in one group, of which one member is enough.
 * Nobody may count as another member of a quorum by having two keys.
 */
const demandOperatorsOnce = (witnesses: readonly Witness[], groups: readonly Group[]): void => {
  const byName = new Map<string, Witness[]>()
  for (const witness of witnesses)
    for (const { name } of witness.keys) byName.set(name, [...(byName.get(name) ?? []), witness])
  for (const [name, keys] of byName) {
    const grouped = keys.flatMap((one) => {
      const group = groups.find(({ members }) => members.includes(one))
      return group ? [{ one, group }] : []
    })
    const [first, second] = grouped
    if (first === undefined || second === undefined) continue
    const isOnce = first.group.threshold === 1 && grouped.every(({ group }) => group === first.group)
    if (!isOnce)
      refuse(
        `“${shown(first.one.name)}” and “${shown(second.one.name)}” are keys of one witness, ${shown(name)}, that counts once: put them into one group “any”.`,
      )
  }
}

/** What a policy file defines, line by line: a line may name only what stands above it. */
const readFile = (lines: readonly Line[]): WitnessPolicy => {
  const logs: VerifierKey[] = []
  const defined = new Map<string, Witness | Group>()
  const grouped = new Set<string>()
  const demandKey = demandDistinct()
  let quorum: { readonly of: Witness | Group | undefined } | undefined

  const named = (name: string, { number }: Line): Witness | Group =>
    defined.get(name) ?? refuse(`Line ${number}: nothing above is named “${shown(name)}”.`)
  const define = (one: Witness | Group, { number }: Line): void => {
    if (one.name === NOBODY || defined.has(one.name))
      refuse(`Line ${number}: the name “${shown(one.name)}” is taken.`)
    if (defined.size >= MAX_MEMBERS) refuse(`It defines more than ${MAX_MEMBERS} witnesses and groups.`)
    defined.set(one.name, one)
  }
  const member = (name: string, line: Line): Witness | Group => {
    const one = named(name, line)
    if (grouped.has(name)) refuse(`Line ${line.number}: “${shown(name)}” is in a group already.`)
    grouped.add(name)
    return one
  }

  for (const line of lines) {
    const [keyword = '', first = '', second = '', ...more] = line.items
    const demandItems = (isRight: boolean, form: string): void => {
      if (!isRight) refuse(`Line ${line.number}: it must be “${form}”.`)
    }
    const { length } = line.items
    if (keyword === 'log') {
      demandItems(length === 2 || length === 3, 'log <vkey> [<url>]')
      const key = keyIn(first, LOG_TYPES, 'logs', line)
      demandKey(key, line)
      logs.push(key)
    } else if (keyword === 'witness') {
      demandItems(length === 3 || length === 4, 'witness <name> <vkey> [<url>]')
      const key = witnessKeyIn(second, line)
      demandKey(key, line)
      define({ kind: 'witness', name: first, keys: [key], url: urlIn(more[0], line) }, line)
    } else if (keyword === 'group') {
      demandItems(length >= 4, 'group <name> <k>|any|all <name>…')
      const threshold = thresholdIn(second, more.length, line)
      const members = more.map((name) => member(name, line))
      define({ kind: 'group', name: first, threshold, members }, line)
    } else if (keyword === 'quorum') {
      demandItems(length === 2, 'quorum <name>')
      if (quorum !== undefined) refuse(`Line ${line.number}: there is a quorum already.`)
      quorum = { of: first === NOBODY ? undefined : named(first, line) }
    } else refuse(`Line ${line.number}: “${shown(keyword)}” is none of ${KEYWORDS.join(', ')}.`)
  }
  if (quorum === undefined) return refuse('It has no line “quorum <name>”.')
  const all = [...defined.values()]
  const witnesses = all.filter((one) => one.kind === 'witness')
  demandOperatorsOnce(
    witnesses,
    all.filter((one) => one.kind === 'group'),
  )
  return { logs, witnesses, quorum: quorum.of }
}

/**
 * Verifier keys of witnesses, one a line; those of one name are one witness.
 * @param threshold how many witnesses must have cosigned; default: all of them
 * @throws WitnessPolicyError for a line that is no key of a witness, and a text that names none; RangeError for a threshold that can't be met
 */
export const readWitnessKeys = (text: string, threshold?: number): WitnessPolicy => {
  const byName = new Map<string, readonly VerifierKey[]>()
  const demand = demandDistinct()
  const lines = linesOf(text)
  if (lines.length === 0) return refuse(NO_WITNESS)
  for (const line of lines) {
    const key = witnessKeyIn(line.items.join(' '), line)
    demand(key, line)
    byName.set(key.name, [...(byName.get(key.name) ?? []), key])
  }
  const witnesses = [...byName].map(
    ([name, keys]): Witness => ({ kind: 'witness', name, keys, url: undefined }),
  )
  const needed = threshold ?? witnesses.length
  if (!Number.isInteger(needed) || needed < 1 || needed > witnesses.length)
    throw new RangeError(`quorum must be 1 to ${witnesses.length}, the number of witnesses.`)
  return {
    logs: [],
    witnesses,
    quorum: { kind: 'group', name: 'all', threshold: needed, members: witnesses },
  }
}

/**
 * A policy file, or verifier keys of witnesses that must all have cosigned.
 * @throws WitnessPolicyError
 */
export const readWitnessPolicy = (text: string): WitnessPolicy => {
  const lines = linesOf(text)
  if (lines.length === 0) return refuse(NO_WITNESS)
  const isFile = lines.some(({ items }) => items.length > 1 || KEYWORDS.includes(items[0] ?? ''))
  return isFile ? readFile(lines) : readWitnessKeys(text)
}

/** What a checkpoint says to have of the logs that a policy accepts. Nobody has checked it. */
export const logSignatures = (note: ReadNote, { logs }: WitnessPolicy): readonly NoteSignature[] =>
  logs.filter(({ name }) => name === note.origin).flatMap((key) => signaturesBy(note, key))

/** What a checkpoint says to have of the witnesses. Nobody has checked it; a log is no witness of itself. */
export const witnessSignatures = (note: ReadNote, { witnesses }: WitnessPolicy): readonly NoteSignature[] =>
  witnesses.flatMap(({ keys }) =>
    keys.filter(({ name }) => name !== note.origin).flatMap((key) => signaturesBy(note, key)),
  )

export interface Cosigned {
  readonly name: string
  /** Unix seconds at which the witness says it saw the checkpoint. */
  readonly time: number
}

/** @param held those of `witnessSignatures` that hold */
export const judgeWitnesses = (
  { witnesses, quorum }: WitnessPolicy,
  held: readonly NoteSignature[],
): { readonly isMet: boolean; readonly cosigned: readonly Cosigned[] } => {
  const timeOf = ({ keys }: Witness): number | undefined => held.find(({ key }) => keys.includes(key))?.time
  const has = (one: Witness | Group): boolean =>
    one.kind === 'witness' ? timeOf(one) !== undefined : one.members.filter(has).length >= one.threshold
  return {
    isMet: quorum === undefined || has(quorum),
    cosigned: witnesses.flatMap((witness) => {
      const time = timeOf(witness)
      return time === undefined ? [] : [{ name: witness.name, time }]
    }),
  }
}

/**
 * Whether a checkpoint is one that a policy accepts: signed by a log that it names, if it names any, and cosigned by its quorum.
 * @param isSigned checks a signature; all that a policy may name must be known to it
 */
export const judgeCheckpoint = (
  note: ReadNote,
  policy: WitnessPolicy,
  isSigned: (signature: NoteSignature) => boolean,
): { readonly isMet: boolean; readonly cosigned: readonly Cosigned[] } => {
  const isAccepted = policy.logs.length === 0 || logSignatures(note, policy).some(isSigned)
  const { isMet, cosigned } = judgeWitnesses(policy, witnessSignatures(note, policy).filter(isSigned))
  return { isMet: isMet && isAccepted, cosigned }
}
