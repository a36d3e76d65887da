/** Hands questions for help with a proof to threads that have nothing else to do. Node only. @module */
import { endHelp, isHelpEnded } from '../proving/taken-sums.ts'
import type { HelpAsked } from './helpers.ts'

export interface HelpQueue {
  /** Takes a question, until the proof is made. */
  add(asked: HelpAsked): void
  /** Begins to help with the oldest proof. @returns undefined where there is none, else a promise that is always kept */
  begin(): Promise<void> | undefined
  /**
   * Lets those who help finish the sum that they are at, since others wait for their threads, and forgets the questions that wait: whoever
   * makes a proof waits for a sum that a helper died with for as long as another one may come.
   */
  end(): void
  /** Forgets proofs that are made. */
  prune(): void
}

/** Overwrites the scalars, unless another thread has them, and says that no sums will come. */
const refuse = ({ scalars, port }: HelpAsked): void => {
  // Empty when they were given away.
  if (scalars.length > 0) scalars.fill(0)
  port.close()
}

/** @param help has a thread help, to which it gives scalars and port */
export const createHelpQueue = (help: (asked: HelpAsked) => Promise<unknown>): HelpQueue => {
  const waiting: HelpAsked[] = []
  const running = new Set<HelpAsked>()

  const prune = (): void => {
    for (const asked of waiting.splice(0)) {
      if (isHelpEnded(asked.taken)) refuse(asked)
      else waiting.push(asked)
    }
  }

  return {
    prune,
    add: (asked) => waiting.push(asked),
    begin() {
      prune()
      const asked = waiting.shift()
      if (asked === undefined) return undefined
      running.add(asked)
      // Whoever makes the proof makes alone what fails here.
      const ended = () => {
        running.delete(asked)
        refuse(asked)
      }
      return help(asked).then(ended, ended)
    },
    end() {
      for (const { taken } of [...running, ...waiting]) endHelp(taken)
      prune()
    },
  }
}
