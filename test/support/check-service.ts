/** The service of the page that checks, asked without a browser. */
import { webcrypto } from 'node:crypto'
import { readWitnessPolicy } from '../../src/protocol/checkpoint/witness-policy.ts'
import type { Asked } from '../../src/web/check/messages.ts'
import { type OwnService, openService } from '../../src/web/check/own-service.ts'
import { openCrypto } from '../../src/web/crypto/crypto.ts'
import { pathOfLog } from '../../src/web/result/published.ts'
import type { TestApp } from './app.ts'

type Json = Readonly<Record<string, unknown>>

interface Options {
  readonly answered?: (path: string) => string
  readonly policy?: string
  readonly asked?: Asked
}

/** @param answered for another path than the one that is asked @param policy of witnesses @param asked for a presentation */
export const checkServiceOf = async (
  app: TestApp,
  { answered = (path) => path, policy, asked }: Options = {},
): Promise<OwnService> => {
  const bytesAt = async (path: string) => (await app.request('GET', path)).bytes
  const keysAt = async <T = Json>(path: string) => (await app.request<{ keys: T[] }>('GET', path)).body.keys
  const demand = policy === undefined ? undefined : readWitnessPolicy(policy)
  return {
    ...openService(await openCrypto(webcrypto.subtle as SubtleCrypto), demand, asked),
    published: {
      verificationKey: async (id) => (await app.request('GET', `/api/circuits/${id}/vkey`)).body,
      logAt(log) {
        const own = pathOfLog(log)
        return {
          checkpoint: async () => (await bytesAt(answered(`${own}/checkpoint`))).toString(),
          keys: async () => (await bytesAt(`${own}/checkpoint/keys`)).toString(),
          tile: async (path) => new Uint8Array(await bytesAt(`${own}/tile/${path}`)),
        }
      },
    },
    issuer: async () => (await app.request<{ issuer: string }>('GET', '/verify')).body.issuer,
    keys: () => keysAt('/.well-known/jwks.json'),
    pqKeys: () => keysAt('/.well-known/jwks-pq.json'),
    issuerKeys: () => keysAt('/.well-known/issuer-keys'),
    statusList: async (list) => (await bytesAt(`/status/${list}`)).toString(),
    async lookUp(path) {
      const { status, body } = await app.request<Json>('GET', answered(path))
      return status === 200 ? body : undefined
    },
  }
}
