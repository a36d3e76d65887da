/** Terminals for tests, closed after the test that opened them. */
import {
  createTerminal,
  memoryStorage,
  type Terminal,
  type TerminalOptions,
} from '../../../src/terminal/index.ts'

/** Nothing listens here: discard, RFC 863. */
export const NOWHERE = 'http://127.0.0.1:9'

/** The key and merchant of the published test vector. */
export const TEST_KEY = 'vk_test_0123456789abcdef'
export const TEST_MERCHANT = 'mer_1'

/** Call inside `describe`. @returns a function that opens a terminal: offline and in memory unless told otherwise */
export const terminals = (): ((options?: Partial<TerminalOptions>) => Promise<Terminal>) => {
  const opened: Terminal[] = []
  afterEach(async () => {
    await Promise.all(opened.splice(0).map((terminal) => terminal.close()))
  })
  return async (options = {}) => {
    const terminal = await createTerminal({
      baseUrl: NOWHERE,
      apiKey: TEST_KEY,
      merchantId: TEST_MERCHANT,
      storage: memoryStorage(),
      ...options,
    })
    opened.push(terminal)
    return terminal
  }
}
