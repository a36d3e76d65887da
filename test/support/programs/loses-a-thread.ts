/** Loses threads that have a task, with nothing else that keeps this process alive, and prints what it hears of each. */
import { join } from 'node:path'
import { createThreads } from '../../../src/circuits/threads/threads.ts'

const threads = createThreads({
  most: 1,
  program: join(import.meta.dirname, 'answers.js'),
  data: { begun: new Int32Array(new SharedArrayBuffer(4)) },
  youngGenerationMib: 16,
  onMessage: () => undefined,
  onFailure: () => undefined,
})
for (let i = 1; i <= 5; i++)
  await threads
    .run({ ends: i })
    .catch(({ cause }: Error) => console.log(cause instanceof Error && cause.message))
await threads.close()
