/** What a server that was closed leaves in its process. */
import { Server } from 'node:http'
import { queryObjects } from 'node:v8'
import { startTestApp } from '../support/app.ts'
import { eventually } from '../support/eventually.ts'

/** Collects garbage and counts what is left. Node's types don't know it yet. */
const count = (kind: new (...args: never[]) => object): number =>
  Reflect.apply(queryObjects, undefined, [kind, { format: 'count' }])

describe('a closed server', () => {
  it('is kept by nothing in its process', async () => {
    await (await startTestApp()).close()
    const before = count(Server)
    for (let times = 0; times < 2; times++) await (await startTestApp()).close()
    // The event loop's next turns have callbacks of the last one. What other files have left in this process may be gone by then as well.
    await eventually('its end', () => count(Server) <= before)
  })
})
