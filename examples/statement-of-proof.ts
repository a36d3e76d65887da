/**
 * What a proof of `kyc` says, told by nothing of Assay but its documentation: `npx tsx examples/statement-of-proof.ts answer.json
 * issuer-keys.json org_…` recomputes each public signal from the context that came with the proof, and the issuer from whom you
 * trust. That the proof itself holds, the command line of snarkjs says: docs/holders.md.
 */
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import canonicalize from 'canonicalize'

const [answerFile = '', keysFile = '', ...issuers] = process.argv.slice(2)
const { public_signals: signals, context } = JSON.parse(readFileSync(answerFile, 'utf8'))
const { keys } = JSON.parse(readFileSync(keysFile, 'utf8'))

/** The first 31 bytes of SHA-256, as a number. */
const h248 = (text: string) => BigInt(`0x${createHash('sha256').update(text).digest('hex').slice(0, 62)}`)
const HOLDER = 1n << 248n
const names =
  'decision nullifier person disclosedStatus issuerX issuerY organisation now minLevel latestBirthDate countries unique disclose scope ctx'
const values = [...signals.slice(0, 10), signals.slice(10, 18), ...signals.slice(18)]
const told = Object.fromEntries(names.split(' ').map((name, i) => [name, values[i]]))

const { aud, org, circuit, statement, nonce, exp } = context
const issuer = issuers.find((id) => h248(id) === BigInt(told.organisation) % HOLDER)
const isValid = ({ x, y, validUntil }: { x: string; y: string; validUntil: string | null }) =>
  x === told.issuerX && y === told.issuerY && (validUntil === null || Date.parse(validUntil) > Date.now())
const checks = {
  'the proof is of kyc': circuit === 'kyc' && signals.length === 22,
  'it is bound to this context': told.ctx === String(h248(`ctx/1${canonicalize(context)}`)),
  'its nullifier counts for this asker and purpose':
    told.scope === String(h248(`scope/2${canonicalize({ aud, org, purpose: statement.purpose })}`)),
  'it was asked for what the context says': [
    'minLevel',
    'latestBirthDate',
    'countries',
    'unique',
    'disclose',
  ].every((name) => String(told[name]) === String(statement[name])),
  'a key of the service signed the credential': keys.some(isValid),
  'an organisation that you accept issued it': issuer !== undefined,
  'it was made in the last two minutes': Math.abs(Date.now() / 1000 - Number(told.now)) <= 120,
  'its context is in force': exp === undefined || exp > Date.now() / 1000,
}
for (const [what, holds] of Object.entries(checks)) console.log(`${holds ? '✓' : '✗'} ${what}`)
const binding = BigInt(told.organisation) >= HOLDER ? 'holder' : 'bearer'
console.log(
  JSON.stringify({ decision: told.decision, issuer, binding, org, aud, nonce, status: told.disclosedStatus }),
)
process.exitCode = Object.values(checks).every(Boolean) ? 0 : 1
