/** docs/status-lists.md */
import { expect } from 'chai'
import type { ExpectedStatusList } from '../../../../src/protocol/status-list.ts'
import { get } from '../reader.ts'

export const jwt = await get<string>('/status/0')
export const jwks = await get<ExpectedStatusList['keys']>('/.well-known/jwks.json')

export const checks = [
  ({ isRevoked }: { isRevoked: boolean }) => {
    expect(isRevoked).to.equal(false)
  },
] as const
