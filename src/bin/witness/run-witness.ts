/** `npx assay witness`: runs a witness until it is told to stop. @module */
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { closeHttpServer, createHttpServer } from '../../http/connections/server.ts'
import { NOTE_ED25519, NOTE_ML_DSA_44_COSIGNATURE, type VerifierKey } from '../../protocol/checkpoint/note.ts'
import { checkedVerifierKey, verifierKey } from '../../protocol/checkpoint/signed-note.ts'
import { printable } from '../printable.ts'
import { createWitness, type FollowedLogs, type Handled } from './witness.ts'
import { witnessListener } from './witness-server.ts'
import { openWitnessState } from './witness-state.ts'

const MAX_NAME_BYTES = 255
const QUIET_MS = 1000
/** Statuses that somebody should look at: 429, and 409 with a size, are how logs find out what they may ask. */
const REMARKABLE = [403, 409, 422, 500]

export interface Flags {
  readonly name: string
  readonly directory: string
  readonly logs: string
  readonly port: number
  readonly host: string
  readonly prefix: string
  readonly perMinute: number
}

/**
 * Verifier keys of logs, one a line, each with its origin behind it where that is not its name.
 * @throws Error for a line that is none
 */
export const readLogs = (text: string): FollowedLogs => {
  const logs = new Map<string, readonly VerifierKey[]>()
  for (const [at, line] of text.split('\n').entries()) {
    const [encoded = '', ...rest] = line.trim().split(/[ \t]+/)
    if (encoded === '' || encoded.startsWith('#')) continue
    const key = checkedVerifierKey(encoded)
    if (key === undefined || ![NOTE_ED25519, NOTE_ML_DSA_44_COSIGNATURE].includes(key.type))
      throw new Error(`Line ${at + 1} of the logs does not begin with the verifier key of a log.`)
    const origin = rest.join(' ') || key.name
    logs.set(origin, [...(logs.get(origin) ?? []), key])
  }
  return logs
}

/** @throws Error for what can't be the name of a key (C2SP signed-note, tlog-cosignature) */
const demandName = (name: string): void => {
  if (!/^[^\s+]+$/.test(name) || Buffer.byteLength(name) > MAX_NAME_BYTES)
    throw new Error(`A name has 1 to ${MAX_NAME_BYTES} bytes, and neither spaces nor plus signs.`)
}

const report = ({ status, origin, oldSize, size, why }: Handled): void => {
  if (why !== '' && REMARKABLE.includes(status))
    console.error(printable(`${status} for ${origin}, ${oldSize} to ${size} entries: ${why}`))
}

/** The logs of a file, which is read again at SIGHUP. @throws Error when it can't be read at first */
const followFile = (file: string): (() => FollowedLogs) => {
  const read = (): FollowedLogs => {
    const logs = readLogs(readFileSync(file, 'utf8'))
    console.log(`It follows ${[...logs.keys()].map(printable).join(', ') || 'no log yet'}`)
    return logs
  }
  let logs = read()
  process.on('SIGHUP', () => {
    try {
      logs = read()
    } catch (error) {
      console.error(printable(`It goes on with the logs that it had: ${String(error)}`))
    }
  })
  return () => logs
}

/** Resolves at SIGTERM or SIGINT. */
const untilStopped = (): Promise<void> =>
  new Promise((resolve) => {
    process.once('SIGTERM', () => resolve()).once('SIGINT', () => resolve())
  })

/** Runs until SIGTERM or SIGINT. @throws Error when it can't start */
export const runWitness = async (flags: Flags): Promise<void> => {
  const { name, directory, logs, port, host, perMinute } = flags
  const prefix = flags.prefix.replace(/\/$/, '')
  demandName(name)
  const followed = followFile(logs)
  const state = await openWitnessState(directory, name)
  try {
    const witness = createWitness({ state, logs: followed, perMinute, now: Date.now, onHandled: report })
    const onFault = (error: unknown): void => console.error(printable(`500: ${String(error)}`))
    const server = createHttpServer(witnessListener(witness, prefix, onFault))
    server.listen(port, host)
    await once(server, 'listening')
    const address = server.address()
    const at = address !== null && typeof address === 'object' ? address.port : port
    const shown = host.includes(':') ? `[${host}]` : host
    const stopped = untilStopped()
    for (const { key } of state.cosigners) console.log(verifierKey(key))
    console.log(`The witness ${name} is listening on http://${shown}:${at}${prefix}`)
    await stopped
    await closeHttpServer(server, { quietMs: QUIET_MS })
  } finally {
    state.release()
  }
}
