/** The thread of the page that checks: the page stays usable meanwhile. It asks the service for what it publishes, and sends nothing. @module */
import { systemClock } from '../../clock.ts'
import type { WitnessPolicy } from '../../protocol/checkpoint/witness-policy.ts'
import { openCrypto } from '../crypto/crypto.ts'
import { isArchive } from './archive.ts'
import { checkResult, checkResultAt } from './kinds/result.ts'
import { checkSigned } from './kinds/signed-kinds.ts'
import { checkStatusList } from './kinds/status-list.ts'
import type { Given, Said } from './messages.ts'
import { type OwnService, openService } from './own-service.ts'
import { isEvidence, type Recognised, recognise } from './recognise.ts'
import { besideChecks, conclude, type Found, notRecognised, type Report } from './report.ts'

/** Nothing that this page checks is larger, but evidence. */
const MAX_TEXT_BYTES = 1_048_576

const say = (said: Said): void => postMessage(said)

/** What only some of them need is fetched when one of them is given. */
const check = async (
  it: Exclude<Recognised, { kind: 'other' }>,
  service: OwnService,
  now: number,
): Promise<Found | string> => {
  switch (it.kind) {
    case 'result':
      return checkResult(it.jws, it.answer, service, now)
    case 'signed':
      return checkSigned(it.jws, it.typ, service, now)
    case 'status list':
      return checkStatusList(it.jwt, service, now)
    case 'hybrid token':
      return (await import('./kinds/hybrid-token.ts')).checkHybridToken(it.json, service, now)
    case 'SD-JWT':
      return (await import('./kinds/sd-jwt.ts')).checkSdJwt(it.text, service, now)
    case 'proof':
      return (await import('./kinds/proof.ts')).checkProof(it.text, service, now)
    case 'checkpoint':
      return (await import('./kinds/checkpoint.ts')).checkCheckpoint(it.text, service)
    case 'address':
      return checkResultAt(it.path, service, now)
  }
}

const checkText = async (text: string, service: OwnService): Promise<Report> => {
  const it = recognise(text)
  if (it.kind === 'other') return notRecognised(it.why, it.fault)
  const found = await check(it, service, systemClock.now())
  if (typeof found === 'string') return notRecognised(found)
  return conclude({ ...found, checks: [...found.checks, ...besideChecks(it.beside)] })
}

/** How often people are told how far it is. */
const TOLD_EVERY_MS = 100

/** Tells it, but not for every piece. */
const teller = (of: number | undefined): ((read: number) => void) => {
  let toldAt = Number.NEGATIVE_INFINITY
  return (read) => {
    const now = performance.now()
    if (now - toldAt < TOLD_EVERY_MS) return
    toldAt = now
    say({ read, of })
  }
}

const checkFile = async (file: Blob, service: OwnService): Promise<Report> => {
  if (await isEvidence(file)) {
    const { checkEvidence, readEvidence } = await import('./kinds/evidence.ts')
    const contents = await readEvidence(file, teller((await isArchive(file)) ? undefined : file.size))
    return conclude(await checkEvidence(contents, service))
  }
  if (file.size > MAX_TEXT_BYTES) return notRecognised('It is larger than anything that this page knows.')
  let text: string
  try {
    text = new TextDecoder('utf-8', { fatal: true }).decode(await file.arrayBuffer())
  } catch {
    return notRecognised('It is no text. For a picture of a QR code, hold the code before the camera.')
  }
  return checkText(text, service)
}

/** @throws WitnessPolicyError */
const policyIn = async ({ policy = '' }: Given): Promise<WitnessPolicy | undefined> =>
  policy.trim() === ''
    ? undefined
    : (await import('../../protocol/checkpoint/witness-policy.ts')).readWitnessPolicy(policy)

const run = async (given: Given): Promise<void> => {
  const crypto = await openCrypto(globalThis.crypto.subtle)
  let policy: WitnessPolicy | undefined
  try {
    policy = await policyIn(given)
  } catch (error) {
    // Without it nothing is said: what somebody demands is not less for being misspelt.
    if (!(error instanceof Error) || error.name !== 'WitnessPolicyError') throw error
    return say({ policyProblem: error.message })
  }
  const service = openService(crypto, policy, given.asked)
  // What is pasted may be evidence, too.
  const report = await checkFile('text' in given ? new Blob([given.text.trimStart()]) : given.file, service)
  say({ report, by: crypto.name })
}

addEventListener('message', ({ data }: MessageEvent<Given>) => {
  run(data).catch((error: unknown) =>
    say({ problem: error instanceof Error ? error.message : String(error) }),
  )
})
