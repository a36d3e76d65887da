/**
 * Keeps a credential, and answers what others ask with it, where no service sees the secret.
 *
 *     export HOLDER_PASSPHRASE='at least 12 characters'
 *     export ASSAY_URL=http://127.0.0.1:8080            # the service that you trust with its circuits, and no other is asked
 *     npx tsx examples/holder.ts create org_…           # prints what the issuer takes as `holder`
 *     npx tsx examples/holder.ts add credential.json    # what the issuer answered, or its `credential`
 *     npx tsx examples/holder.ts answer http://127.0.0.1:8080/challenge/chl_…   # sends nothing before you said y
 *
 * All of it is kept in holder.jwe, which the holder's page of the service imports as well.
 */
import { readFileSync, renameSync, writeFileSync } from 'node:fs'
import { createInterface } from 'node:readline'
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
const service = new URL(process.env.ASSAY_URL ?? 'http://127.0.0.1:8080').origin

const stop = (why: string): never => {
  console.error(why)
  process.exit(1)
}

/** Whoever is redirected ends up where nobody said that one should go. */
const ask: typeof fetch = (url, options) => fetch(url, { ...options, redirect: 'error' })

const isAgreed = async (question: string): Promise<boolean> => {
  process.stderr.write(`${question} [y/N] `)
  for await (const line of createInterface({ input: process.stdin })) return line.trim().toLowerCase() === 'y'
  return false
}

const open = () => importHolder(readFileSync(FILE, 'utf8'), passphrase)

const create = async (): Promise<void> => {
  const holder = createHolder({ organisation: given })
  // A file that is there holds a secret that nobody could make again.
  writeFileSync(FILE, await exportHolder(holder, passphrase), { mode: 0o600, flag: 'wx', flush: true })
  console.log(holder.holder)
}

const add = async (): Promise<void> => {
  const { holder, credentials } = await open()
  const read = JSON.parse(readFileSync(given, 'utf8'))
  const credential = read.credential ?? read
  credentialValues(credential, credential.secret === undefined ? holder.secret : undefined)
  // The old file stays until the new one is whole: it is the only copy of the secret.
  const text = await exportHolder(holder, passphrase, [...credentials, credential])
  writeFileSync(`${FILE}.new`, text, { mode: 0o600, flush: true })
  renameSync(`${FILE}.new`, FILE)
  console.log(`Kept ${credentials.length + 1}: the signature holds, for the secret of this holder.`)
}

const answer = async (): Promise<void> => {
  const demandOurs = (url: string): void => {
    if (!URL.canParse(url) || new URL(url).origin !== service)
      stop(`${url} is no address of ${service}. Set ASSAY_URL to another service only if you trust it.`)
  }
  demandOurs(given)
  const { holder, credentials } = await open()
  const request = await (await ask(given, { headers: { Accept: 'application/json' } })).json()
  if (request.state !== 'open') stop(`Nothing to answer: ${request.state ?? request.message}.`)
  const { asker, question, circuit_id, issuers, context, answer_url } = request
  demandOurs(answer_url)
  demandOurs(context.aud)
  console.log(`${asker.name} (${asker.domain ?? 'no proven domain'}) asks: ${question}`)
  const credential =
    credentials.findLast((one) => one.circuit === circuit_id && issuers.includes(one.organisation)) ??
    stop(`This takes a credential for ${circuit_id} issued by ${issuers.join(' or ')}.`)
  const secret = credential.binding === 'holder' ? holder.secret : undefined
  const made = answerOf(credential, secret, context, BigInt(Math.floor(Date.now() / 1000)))
  console.log(`The answer is ${made.decision ? 'YES' : 'NO'}.`)
  if (!(await isAgreed('Send the proof of it?'))) stop('Nothing was sent.')
  // Throws where the files would show anything else than the answer.
  const { proof, publicSignals } = await proveAnswer(
    made,
    await fetchCircuitFiles(service, credential.circuit, { fetch: ask }),
  )
  const response = await ask(answer_url, {
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
