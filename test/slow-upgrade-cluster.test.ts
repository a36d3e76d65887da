/**
 * Two server processes that open, at the same time, what an earlier version left on PostgreSQL: both migrate it, and both sign anew
 * what was issued for version 1 of its circuit. Whatever one of them shows, the other shows too.
 */

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import { findCircuit } from '../src/circuits/catalogue.ts'
import type { PersonCredential } from '../src/domain/kyc/schemas.ts'
import type { ProofGenerated, ProofVerified } from '../src/domain/proofs/schemas.ts'
import { type Client, clientOf, demandSuccess, ok, type TestResponse } from './support/client.ts'
import { type Program, startProgram } from './support/programs.ts'
import { createPostgresDatabase, onPostgres } from './support/servers/database.ts'
import type { ScratchDatabase } from './support/servers/scratch-database.ts'
import { decompress } from './support/upgrade/archive.ts'
import { restore } from './support/upgrade/dump.ts'
import { type Expectations, filesOf, fixturesOf, readExpectations } from './support/upgrade/fixture.ts'

const SERVE = join(import.meta.dirname, 'support/programs/serve.ts')
const CALLS = 20
const PROOFS = 4

/** Of those whose credentials are of version 1: they had a table that is gone. */
const former = fixturesOf('postgres').filter(
  (name) => 'kyc_credentials' in readExpectations(name, 'postgres').rows,
)

const signal = (proof: ProofGenerated, name: string): string | undefined =>
  proof.public_signals[findCircuit(proof.circuit_id)?.publicNames.indexOf(name) ?? -1]

/** The ids in questions about what became of something, where the answer says so. */
const idsOf = ({ checks }: Expectations, path: RegExp, says: Readonly<Record<string, unknown>>): string[] =>
  checks.flatMap(({ path: asked, as, values }) => {
    const [, id] = path.exec(asked) ?? []
    const fits = Object.entries(says).every(([at, value]) => values[at] === value)
    return id !== undefined && as === 'owner' && fits ? [id] : []
  })

onPostgres.describe('two servers that open what an earlier version left', function () {
  this.timeout(600_000)

  it('has such a fixture', () => {
    expect(former).to.not.deep.equal([])
  })

  for (const name of former)
    describe(name, () => {
      let kept: Expectations
      let database: ScratchDatabase
      let servers: Program[] = []
      let clients: Client[]
      before(async () => {
        kept = readExpectations(name, 'postgres')
        const { BASE_URL = '', MASTER_KEY = '', ADMIN_API_KEY = '' } = kept.env
        database = await createPostgresDatabase()
        await restore(database.url, decompress(readFileSync(filesOf(name, 'postgres').dump)).toString())
        const last = kept.checks.at(-1)?.at ?? expect.fail('nothing was recorded')
        const env = { BASE_URL, CLOCK_BEHIND_MS: String(Date.now() - last) }
        servers = [1, 2].map(() => startProgram(SERVE, [database.url, MASTER_KEY, ADMIN_API_KEY], { env }))
        const lines = await Promise.all(servers.map((server) => server.line(/^listening /)))
        clients = lines.map((line) => clientOf(line.slice('listening '.length)))
      })
      after(async () => {
        for (const { child } of servers) child.kill('SIGTERM')
        const codes = await Promise.all(servers.map((server) => server.ended()))
        await database?.drop()
        expect(codes).to.deep.equal([0, 0])
      })

      /** Calls both servers in turn, all at once. */
      const atOnce = <T>(times: number, call: (client: Client) => Promise<T>): Promise<T[]> =>
        Promise.all(Array.from({ length: times }, (_, i) => call(clients[i % 2] as Client)))
      const headers = () => kept.credentials.owner
      const generate = (
        client: Client,
        circuit_id: string,
        inputs: object,
      ): Promise<TestResponse<ProofGenerated>> =>
        client.request('POST', '/v1/proofs/generate', { headers: headers(), body: { circuit_id, inputs } })
      const reasonsOf = async ({ proof_id, proof, public_signals }: ProofGenerated) => {
        const body = { proof_id, proof, public_signals }
        const client = clients[1] as Client
        return (await ok<ProofVerified>(client, 'POST', '/v1/proofs/verify', { headers: headers(), body }))
          .reason_codes
      }

      it('give one credential of a person, however often and wherever it is asked for', async () => {
        for (const person of ['anna', 'proven']) {
          const answers = await atOnce(CALLS, (client) =>
            ok<PersonCredential>(client, 'GET', `/api/kyc/${person}/credential`, { headers: headers() }),
          )
          const [first] = answers
          expect(first?.binding).to.equal('bearer')
          expect(first?.signals.status).to.match(/^[1-9]\d*$/)
          for (const answer of answers) expect(answer).to.deep.equal(first)
        }
      })

      for (const [what, path, says, circuitId, inputsOf] of [
        [
          'token',
          /^\/api\/tokens\/(tok_\w+)\/status$/,
          { '/status': 'active' },
          'token_validation',
          (tokenId: string) => ({ tokenId }),
        ],
        [
          'consent',
          /^\/api\/consent\/(cns_\w+)\/status$/,
          { '/status': 'given' },
          'consent_verification',
          (consentId: string) => ({ consentId, purpose: 'newsletter' }),
        ],
      ] as const)
        it(`prove of one ${what} with one status, and take what one of them revokes for revoked`, async () => {
          const [id = ''] = idsOf(kept, path, says)
          const answers = await atOnce(PROOFS, (client) => generate(client, circuitId, inputsOf(id)))
          const made = answers.map((answer) => demandSuccess(answer))
          for (const name of ['disclosedStatus', 'nullifier', 'organisation'])
            expect(new Set(made.map((proof) => signal(proof, name))).size, name).to.equal(1)
          for (const proof of made) expect(await reasonsOf(proof)).to.deep.equal([])
          const [revoke, member] =
            what === 'token' ? ['/api/tokens/revoke', 'tokenId'] : ['/api/consent/revoke', 'consentId']
          await ok(clients[0] as Client, 'POST', revoke, { headers: headers(), body: { [member]: id } })
          for (const proof of made) expect(await reasonsOf(proof)).to.include('CREDENTIAL_REVOKED')
        })

      it('let a token of one use be used once', async () => {
        const { checks } = kept
        const { body } = checks.find((check) => check.what === 'and can be used') ?? {}
        const answers = await atOnce(CALLS, (client) =>
          client.request('POST', '/api/tokens/validate', { headers: headers(), body }),
        )
        expect(answers.filter(({ status }) => status === 200)).to.have.length(1)
        expect(answers.filter(({ status }) => status === 409)).to.have.length(CALLS - 1)
      })

      it('forget a person on one while the other signs their credential anew', async () => {
        const path = '/api/kyc/moved'
        const [erased, ...proofs] = await Promise.all([
          (clients[0] as Client).request('DELETE', path, { headers: headers() }),
          ...Array.from({ length: PROOFS }, () =>
            generate(clients[1] as Client, 'kyc', { userId: 'moved', minLevel: 'basic', minAge: 18 }),
          ),
        ])
        expect(erased.status).to.equal(200)
        for (const proof of proofs)
          if (proof.status === 200) expect(await reasonsOf(proof.body)).to.include('CREDENTIAL_REVOKED')
          else expect(proof.status).to.equal(404)
        for (const client of clients)
          expect((await client.request('GET', `${path}/credential`, { headers: headers() })).status).to.equal(
            404,
          )
      })
    })
})
