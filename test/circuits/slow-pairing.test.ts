/**
 * Good and bad proofs drawn at random, as the verifier, alone and in batches, and other libraries see them: PROOF_CASES of them,
 * from the seed PROOF_SEED, of all circuits in turn. One in NOBLE_EVERY is also put to noble, which takes fifty times as long as mcl.
 */
import { expect } from 'chai'
import { CIRCUITS } from '../../src/circuits/catalogue.ts'
import { artifacts } from '../support/circuits/circuits.ts'
import { goodProof } from '../support/domain/proofs.ts'
import { disagreements, drawCases } from '../support/proof-cases.ts'
import { loadMcl } from '../support/reference/mcl.ts'
import { onEmbedded } from '../support/servers/database.ts'

const CASES = Number(process.env.PROOF_CASES ?? 1000)
const SEED = process.env.PROOF_SEED ?? 'slow'
const NOBLE_EVERY = Number(process.env.NOBLE_EVERY ?? 50)
const MOST_OF_PIECE = 1000
/** Of one circuit: small enough that each has its turn. */
const PIECE = Math.min(MOST_OF_PIECE, Math.ceil(CASES / CIRCUITS.length))

onEmbedded.describe('the pairing of the verifier, at length', () => {
  it(`agrees with mcl, and each ${NOBLE_EVERY} with noble, on ${CASES} proofs`, async function () {
    this.timeout(0)
    const holdsByMcl = await loadMcl()
    for (let drawn = 0, piece = 0; drawn < CASES; drawn += PIECE, piece++) {
      const id = CIRCUITS[piece % CIRCUITS.length]?.id ?? 'yesno'
      const key = artifacts[id].verificationKey
      const cases = drawCases(key, await goodProof(id), Math.min(PIECE, CASES - drawn), `${SEED}/${piece}`)
      expect(disagreements(key, cases, { holdsByMcl, nobleEvery: NOBLE_EVERY }), id).to.deep.equal([])
    }
  })
})
