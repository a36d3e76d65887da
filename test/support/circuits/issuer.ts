/** An issuer for tests of circuits: a key of its own, which signs what it is given. */
import { randomBytes } from 'node:crypto'
import { eddsaKey } from '../../../src/keys/eddsa-poseidon.ts'

export const testIssuer = eddsaKey(new Uint8Array(randomBytes(32)))
