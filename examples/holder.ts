/**
 * Keeps a credential, and answers what others ask with it, where no service sees the secret.
 *
 *     export HOLDER_PASSPHRASE='at least 12 characters'
 *     npx tsx examples/holder.ts create org_…           # prints what the issuer takes as `holder`
 *     npx tsx examples/holder.ts add credential.json    # what the issuer answered, or its `credential`
 *     npx tsx examples/holder.ts answer http://127.0.0.1:8080/challenge/chl_…
 *
 * All of it is kept in holder.jwe, which the holder's page of the service imports as well.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import {
  answerOf,
  createHolder,
  credentialValues,
  exportHolder,
  fetchCircuitFiles,
  importHolder,
  proveAnswer,
} from 'assay-proving'

const FILE = 'holder.jwe'
const [command, given = ''] = process.argv.slice(2)
const passphrase = process.env.HOLDER_PASSPHRASE ?? ''

const stop = (why: string): never => {
  console.error(why)
  process.exit(1)
}

const open = () => importHolder(readFileSync(FILE, 'utf8'), passphrase)

const create = async (): Promise<void> => {
  const holder = createHolder({ organisation: given })
  // A file that is there holds a secret that nobody could make again.
  writeFileSync(FILE, await exportHolder(holder, passphrase), { mode: 0o600, flag: 'wx' })
  console.log(holder.holder)
}

const add = async (): Promise<void> => {
  const { holder, credentials } = await open()
  const read = JSON.parse(readFileSync(given, 'utf8'))
  const credential = read.credential ?? read
  credentialValues(credential, credential.secret === undefined ? holder.secret : undefined)
  writeFileSync(FILE, await exportHolder(holder, passphrase, [...credentials, credential]))
  console.log(`Kept ${credentials.length + 1}: the signature holds, for the secret of this holder.`)
}

const answer = async (): Promise<void> => {
  const { holder, credentials } = await open()
  const request = await (await fetch(given, { headers: { Accept: 'application/json' } })).json()
  if (request.state !== 'open') stop(`Nothing to answer: ${request.state ?? request.message}.`)
  const { asker, question, circuit_id, issuers, context, answer_url } = request
  console.log(`${asker.name} (${asker.domain ?? 'no proven domain'}) asks: ${question}`)
  const credential =
    credentials.findLast((one) => one.circuit === circuit_id && issuers.includes(one.organisation)) ??
    stop(`This takes a credential for ${circuit_id} issued by ${issuers.join(' or ')}.`)
  const secret = credential.binding === 'holder' ? holder.secret : undefined
  const made = answerOf(credential, secret, context, BigInt(Math.floor(Date.now() / 1000)))
  console.log(`The answer is ${made.decision ? 'YES' : 'NO'}.`)
  const { proof, publicSignals } = await proveAnswer(
    made,
    await fetchCircuitFiles(new URL(given).origin, circuit_id),
  )
  const response = await fetch(answer_url, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify({ proof, public_signals: publicSignals }),
  })
  const { status, message } = await response.json()
  if (!response.ok) stop(`${response.status}: ${message}`)
  console.log(`The proof was ${status}.`)
}

const commands: Readonly<Record<string, () => Promise<void>>> = { create, add, answer }
await (commands[command ?? ''] ?? (() => stop('create, add or answer: see the head of this file.')))().catch(
  (error: Error) => stop(error.message),
)
