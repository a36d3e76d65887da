/** Has a thread of its own answer and prove. @module */
import type { AskedContext } from '../../circuits/answer.ts'
import type { Credential } from '../../circuits/credential.ts'
import type { SnarkProof } from '../../protocol/zk1.ts'
import { allowedProgram } from '../programs.ts'

/** Address of the thread's program: the build puts it in. */
declare const HOLDER_PROVER: string

export interface ProverTask {
  /** The answer that is to be proved; undefined: only say what it is. Where it is another by now, that is said, and nothing proved. */
  readonly prove: boolean | undefined
  readonly credential: Credential
  readonly secret: bigint | undefined
  readonly context: AskedContext
  /** Unix seconds. */
  readonly now: bigint
}

export type Stage = 'files' | 'proof'

/** What goes to the asker. */
export interface SentProof {
  readonly proof: SnarkProof
  readonly publicSignals: readonly string[]
}

export type ProverReply =
  | { readonly stage: Stage }
  | { readonly decision: boolean }
  | SentProof
  | { readonly problem: string }

/** No answer can be made of this. */
export class NoAnswerError extends Error {
  override readonly name = 'NoAnswerError'
}

/** The answer is another than it was: its time has passed, or come. */
export class AnswerChangedError extends Error {
  override readonly name = 'AnswerChangedError'
}

/** Its thread starts with the first task, and takes one at a time. */
export const createProver = () => {
  const url = allowedProgram(HOLDER_PROVER)
  let worker: Worker | undefined
  let last: Promise<unknown> = Promise.resolve()

  const start = (): Worker => {
    worker ??= new Worker(url, { type: 'module' })
    return worker
  }

  const ask = (task: ProverTask, onStage: (stage: Stage) => void): Promise<ProverReply> =>
    new Promise((resolve, reject) => {
      const thread = start()
      thread.onmessage = ({ data }: MessageEvent<ProverReply>) => {
        if ('stage' in data) onStage(data.stage)
        else if ('problem' in data) reject(new NoAnswerError(data.problem))
        else resolve(data)
      }
      thread.onerror = ({ message }) => {
        worker = undefined
        reject(new NoAnswerError(message || 'The program that proves could not be started.'))
      }
      thread.postMessage(task)
    })

  const inTurn = (
    task: ProverTask,
    onStage: (stage: Stage) => void = () => undefined,
  ): Promise<ProverReply> => {
    const done = last.then(() => ask(task, onStage))
    last = done.catch(() => undefined)
    return done
  }

  return {
    /** What the answer is. @throws NoAnswerError */
    async decide(task: Omit<ProverTask, 'prove'>): Promise<boolean> {
      const said = await inTurn({ ...task, prove: undefined })
      return 'decision' in said && said.decision
    },
    /** @throws NoAnswerError; AnswerChangedError unless the task's `prove` is the answer */
    async prove(
      task: ProverTask & { readonly prove: boolean },
      onStage: (stage: Stage) => void,
    ): Promise<SentProof> {
      const said = await inTurn(task, onStage)
      if ('proof' in said) return said
      if ('decision' in said) throw new AnswerChangedError('The answer has changed.')
      throw new NoAnswerError('The program that proves gave no proof.')
    },
  }
}
