/** The thread of the holder's page that proves: the page stays usable meanwhile. Sends nothing; it fetches the circuit's files. @module */
import { answerOf } from '../../circuits/answer.ts'
import { fetchCircuitFiles } from '../../circuits/artifacts/artifact-files.ts'
import { proveAnswer } from '../../circuits/proving/proving.ts'
import type { ProverReply, ProverTask } from './prover.ts'

const reply = (said: ProverReply): void => postMessage(said)

const run = async ({ prove, credential, secret, context, now }: ProverTask): Promise<void> => {
  const answer = answerOf(credential, secret, context, now)
  if (prove !== answer.decision) return reply({ decision: answer.decision })
  reply({ stage: 'files' })
  const files = await fetchCircuitFiles(location.origin, answer.circuit)
  reply({ stage: 'proof' })
  const { proof, publicSignals } = await proveAnswer(answer, files)
  reply({ proof, publicSignals })
}

addEventListener('message', ({ data }: MessageEvent<ProverTask>) => {
  run(data).catch((error: unknown) =>
    reply({ problem: error instanceof Error ? error.message : String(error) }),
  )
})
