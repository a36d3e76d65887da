/** Load that comes at a rate, as that of strangers does, and not as fast as it is answered. @module */
import { setTimeout as pause } from 'node:timers/promises'

/** @returns ms of each answer, ascending @throws whatever one of them throws */
export const askSteadily = async (
  ask: () => Promise<unknown>,
  everyMs: number,
  milliseconds: number,
): Promise<Float64Array> => {
  const took: number[] = []
  const asked: Promise<void>[] = []
  const timed = async (): Promise<void> => {
    const began = performance.now()
    await ask()
    took.push(performance.now() - began)
  }
  const began = performance.now()
  for (let next = began; next < began + milliseconds; next += everyMs) {
    await pause(Math.max(0, next - performance.now()))
    asked.push(timed())
  }
  await Promise.all(asked)
  return Float64Array.from(took).sort()
}

/** Asks for a page or an answer, and reads it to its end. */
export const get = async (url: string): Promise<void> => {
  await (await fetch(url)).arrayBuffer()
}
