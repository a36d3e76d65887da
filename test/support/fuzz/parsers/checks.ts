/** What people paste, drop and verify: proofs, keys, credentials, anything at all. @module */
import { hash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { packKey, packProof, readVerificationKey } from '../../../../src/circuits/proof-form.ts'
import { ProofFileError, readProofFile } from '../../../../src/circuits/verifying/proof-file.ts'
import { readJws, writeJws } from '../../../../src/protocol/jws.ts'
import { encodeZk1 } from '../../../../src/protocol/zk1.ts'
import { recognise } from '../../../../src/web/check/recognise.ts'
import { DisclosureError, openDisclosures, splitSdJwt } from '../../../../src/web/check/sd-jwt.ts'
import { JwsError, parseJws } from '../../../../src/web/result/jws.ts'
import { ofJson, ofText, type Parser, promise } from '../parser.ts'

const ROOT = join(import.meta.dirname, '../../../..')
const [SNARK] = JSON.parse(readFileSync(join(ROOT, 'test/vectors/zk1.json'), 'utf8')).vectors as [
  { proof: Parameters<typeof encodeZk1>[0]; publicSignals: string[] },
]
const KEY = JSON.parse(readFileSync(join(ROOT, 'circuits/keys/simple_yesno.vkey.json'), 'utf8'))

const encoded = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url')
const digestOf = (text: string): string => hash('sha256', text, 'base64url')
const DISCLOSED = [
  ['s1', 'name', 'Ada'],
  ['s2', 'address', { city: 'Oslo', _sd: [] }],
  ['s3', 'item'],
]
const sdJwt = (disclosures: readonly unknown[]): string => {
  const texts = disclosures.map(encoded)
  const payload = {
    iss: 'https://a.example',
    vct: 't',
    _sd: texts.slice(0, 2).map(digestOf),
    list: texts.slice(2).map((text) => ({ '...': digestOf(text) })),
  }
  const jwt = writeJws({ alg: 'ES256', typ: 'dc+sd-jwt' }, payload, () => new Uint8Array(64))
  return [jwt, ...texts, ''].join('~')
}

const open = (text: string): void => {
  const { jwt, disclosures, shown, keyBinding = '' } = splitSdJwt(text)
  promise(shown + keyBinding === text, 'an SD-JWT is its parts')
  const payload = readJws(jwt)?.payload
  if (payload) openDisclosures(payload, disclosures)
}

const PASTED = [
  sdJwt(DISCLOSED),
  encodeZk1(SNARK.proof, SNARK.publicSignals),
  writeJws({ alg: 'EdDSA', kid: 'k', typ: 'vr+jws' }, { iss: 'a' }, () => new Uint8Array(64)),
  JSON.stringify({
    decision: 'YES',
    jws: writeJws({ typ: 'vr+jws' }, { a: 1 }, () => new Uint8Array(64)),
    proof: SNARK.proof,
  }),
  `assay.example\n7\n${'A'.repeat(43)}=\n\n— assay.example ${'A'.repeat(92)}\n`,
  `https://assay.example/verify/qr/${'a'.repeat(43)}`,
]

export const CHECKS: readonly Parser[] = [
  ofText('whatever is pasted', PASTED, recognise),
  ofText('JWS in pages', [PASTED[2] ?? ''], parseJws, [JwsError]),
  ofText('SD-JWT', [PASTED[0] ?? ''], open, [DisclosureError]),
  // Whatever is disclosed, its digest is signed.
  ofJson(
    'SD-JWT, signed anew',
    [DISCLOSED],
    (disclosures) => (Array.isArray(disclosures) ? open(sdJwt(disclosures)) : undefined),
    [DisclosureError],
  ),
  ofText(
    'files of proofs',
    [
      PASTED[1] ?? '',
      JSON.stringify({ ...SNARK.proof, publicSignals: SNARK.publicSignals }),
      JSON.stringify({
        circuit_id: 'simple_yesno',
        proof: SNARK.proof,
        public_signals: SNARK.publicSignals,
        decision: 'YES',
      }),
      JSON.stringify({ aggregatedProof: { proof: PASTED[1], publicInputs: [] } }),
    ],
    (text) => {
      const { proof, publicSignals } = readProofFile(text)
      packProof(SNARK.publicSignals.length, proof, publicSignals)
    },
    [ProofFileError],
  ),
  ofJson('verification keys', [KEY], (value) => {
    const key = readVerificationKey(value)
    if (key) packKey(key)
  }),
]
