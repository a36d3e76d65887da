/** The relay envelope as agents make it: its vectors, checked by another program, and any that could be. */
import { readFileSync } from 'node:fs'
import canonicalize from 'canonicalize'
import { expect } from 'chai'
import fc from 'fast-check'
import {
  ENVELOPE_SCHEMA,
  type EnvelopeFields,
  type EnvelopePrivateKey,
  envelopeKey,
  keyFingerprint,
  proofNonce,
  type RelayEnvelope,
  signEnvelope,
  signingBytes,
} from '../../src/protocol/envelope.ts'
import {
  fingerprintReference,
  jcs,
  signReference,
  verifyReference,
} from '../support/reference/relay-envelope.ts'

interface Vectors {
  readonly private_key: EnvelopePrivateKey & { readonly x: string }
  readonly fingerprint: string
  readonly vectors: readonly { readonly envelope: RelayEnvelope; readonly signed_sha256: string }[]
}

const { private_key, fingerprint, vectors }: Vectors = JSON.parse(
  readFileSync(new URL('../vectors/agent-relay.json', import.meta.url), 'utf8'),
)
const seed = new Uint8Array(Buffer.from(private_key.d, 'base64url'))
const asRecord = (envelope: RelayEnvelope): Record<string, unknown> => ({ ...envelope })

const MESSAGE: EnvelopeFields = {
  agent_id: 'ada',
  audience: 'assay.example',
  action: 'chat.post',
  params: { agent_name: 'Ada', text: 'Hello there.' },
}

describe('the relay envelope', () => {
  for (const { envelope, signed_sha256 } of vectors) {
    describe(`vector ${envelope.id}`, () => {
      it('is made anew, byte for byte', () => {
        const { schema, key, signature, ...fields } = envelope
        expect(signEnvelope(fields, seed)).to.deep.equal(envelope)
        expect(signEnvelope(fields, private_key)).to.deep.equal({ ...envelope, schema, key, signature })
      })

      it('is signed and verified the same by another program', async () => {
        const { signature, ...unsigned } = envelope
        expect(signReference(unsigned, private_key.d)).to.equal(signature)
        expect(verifyReference(asRecord(envelope))).to.equal(true)
        expect(fingerprintReference(envelope.key.x)).to.equal(fingerprint)
        const hash = await crypto.subtle.digest('SHA-256', new Uint8Array(signingBytes(envelope)))
        expect(Buffer.from(hash).toString('hex')).to.equal(signed_sha256)
      })

      it('does not verify once any field of it is another', () => {
        for (const name of Object.keys(envelope).filter((one) => !['signature', 'key'].includes(one))) {
          const changed = { ...asRecord(envelope), [name]: 'changed' }
          expect(verifyReference(changed), name).to.equal(false)
        }
      })
    })
  }

  it('names a key by SHA-256 over its bytes, whichever form it has', () => {
    const { x } = envelopeKey(seed)
    expect(x).to.equal(private_key.x)
    expect(keyFingerprint({ x })).to.equal(fingerprint)
    expect(keyFingerprint(Buffer.from(x, 'base64url'))).to.equal(fingerprint)
    expect(fingerprint).to.match(/^SHA256:[\w-]{43}$/)
    expect(proofNonce(fingerprint, 'relay-example-0001')).to.equal(`${fingerprint}:relay-example-0001`)
  })

  it('says when it was signed and for how long, and never uses an id twice, unless told', () => {
    const before = Date.now()
    const [first, second] = [signEnvelope(MESSAGE, seed), signEnvelope(MESSAGE, seed)]
    expect(first.schema).to.equal(ENVELOPE_SCHEMA)
    expect(first.id).to.not.equal(second.id)
    expect(Date.parse(first.issued_at)).to.be.within(before, Date.now())
    expect(Date.parse(first.expires_at) - Date.parse(first.issued_at)).to.equal(300_000)
    const told = { id: 'my-own-id', issued_at: '2026-01-31T12:00:00Z', expires_at: '2026-01-31T12:00:01Z' }
    expect(signEnvelope({ ...MESSAGE, ...told }, seed)).to.include(told)
  })

  it('is signed over canonical JSON, whatever its params hold, in whatever order', () => {
    const agrees = (params: unknown, about: string): void => {
      const envelope = signEnvelope({ ...MESSAGE, params, about }, seed)
      const sent = JSON.parse(JSON.stringify(envelope))
      const reversed = Object.fromEntries(Object.entries(sent).reverse())
      expect(verifyReference(sent)).to.equal(true)
      expect(Buffer.from(signingBytes(reversed)).equals(signingBytes(envelope))).to.equal(true)
      expect(jcs(sent)).to.equal(canonicalize(sent))
    }
    fc.assert(
      fc.property(
        fc.jsonValue({ maxDepth: 4, stringUnit: 'grapheme' }),
        fc.string({ unit: 'grapheme' }),
        agrees,
      ),
      {
        numRuns: 50,
        examples: [
          [{ '\u{1D306}': 1, '\uFB33': 2, a: 1e21, b: 1e-7, c: -0, d: 0.1 + 0.2 }, '\u2028"\\\u007f'],
          [[], ''],
          [null, '\u{1F989}'],
          [{ text: '\\ud800 is how \\\\ud800 is written' }, '\\udc00'],
        ],
      },
    )
  })

  it('is refused of what has no canonical JSON', () => {
    for (const params of [
      { text: '\ud800' },
      { '\udc00': 1 },
      { n: Number.NaN },
      { n: Number.POSITIVE_INFINITY },
    ])
      expect(() => signEnvelope({ ...MESSAGE, params }, seed)).to.throw()
  })

  it('is refused of what is no key, and of a key whose parts do not belong together', () => {
    const other = envelopeKey(new Uint8Array(32).fill(9)).x
    const bad: unknown[] = [
      new Uint8Array(31),
      new Uint8Array(64),
      { kty: 'OKP', crv: 'Ed25519' },
      { kty: 'OKP', crv: 'X25519', d: private_key.d },
      { ...private_key, x: other },
      { ...private_key, d: `${private_key.d}=` },
      { ...private_key, d: private_key.d.slice(1) },
    ]
    for (const key of bad)
      expect(() => signEnvelope(MESSAGE, key as Uint8Array), JSON.stringify(key)).to.throw(RangeError)
    expect(() => keyFingerprint(new Uint8Array(31))).to.throw(RangeError)
    expect(() => keyFingerprint({ x: 'AA' })).to.throw(RangeError)
  })
})
