/** docs/mcp.md: a client asks for the prompt of the day, and reads what others wrote. */
import type { Client } from '@modelcontextprotocol/client'
import { expect } from 'chai'
import { post } from '../reader.ts'

await post('/api/messages', { agent_name: 'docs-reader', text: 'Somebody else wrote this.' })

interface Declared {
  readonly client: Client
  readonly daily: unknown
  readonly texts: readonly string[]
}

export const checks = [
  async ({ client, daily, texts }: Declared) => {
    expect(daily).to.include.keys('prompt')
    expect(texts).to.include('Somebody else wrote this.')
    await client.close()
  },
] as const
