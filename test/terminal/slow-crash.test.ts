import { onEmbedded } from '../support/servers/database.ts'
import { killTerminals } from './crash-rounds.ts'

const ROUNDS = Number(process.env.CRASH_ROUNDS ?? 10)

onEmbedded.describe(`a terminal that is killed ${ROUNDS} times while it pays`, () => {
  it('has recorded every payment it acknowledged, and none twice', () => killTerminals(ROUNDS))
})
