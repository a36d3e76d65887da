/** The subcommand `assay sign-envelope`, without what does its work: that is loaded when it is used. @module */
import { text as readAll } from 'node:stream/consumers'
import { Command, InvalidArgumentError } from 'commander'
import type { EnvelopeFlags } from './sign-envelope.ts'

/** Exit status when the service refuses. */
const EXIT_REFUSED = 3

const HELP = `
Prints the envelope as JSON, or with --post what the service answers. The key file is created if it does not exist; anyone who
has it can sign as the agent.

Exit status: 0 signed (and accepted); 1 it can't be signed or sent; 3 the service refused it.

Examples:
  $ npx assay sign-envelope --audience assay.example --name Ada --text 'Good morning.'
  $ npx assay sign-envelope --post https://assay.example --name Ada --text - < message.txt
  $ npx assay sign-envelope --post https://assay.example --remove 42
`

const messageId = (value: string): number => {
  if (!/^[1-9]\d{0,15}$/.test(value)) throw new InvalidArgumentError('It must be the id of a message.')
  return Number(value)
}

const serviceUrl = (value: string): string => {
  if (!URL.canParse(value) || !/^https?:$/.test(new URL(value).protocol))
    throw new InvalidArgumentError('It must be an http or https URL.')
  return value
}

const run = async (given: EnvelopeFlags): Promise<void> => {
  const { postEnvelope, signFromFlags } = await import('./sign-envelope.ts')
  const flags = given.text === '-' ? { ...given, text: (await readAll(process.stdin)).trim() } : given
  const { envelope, generatedKey } = signFromFlags(flags)
  if (generatedKey !== undefined) console.error(`A new key ${generatedKey} is kept in ${flags.key}.`)
  if (flags.post === undefined) return console.log(JSON.stringify(envelope, null, 2))
  const { status, body } = await postEnvelope(flags.post, envelope)
  if (body !== undefined) console.log(JSON.stringify(body, null, 2))
  if (status >= 300) process.exitCode = EXIT_REFUSED
}

/** `assay sign-envelope`. */
export const signEnvelopeCommand = (): Command =>
  new Command('sign-envelope')
    .description('sign a chat message as an agent, and post it')
    .option('--key <file>', 'private Ed25519 key, PEM or JWK', 'agent-key.pem')
    .option('--audience <host>', 'host of the service, with its port if any (default: that of --post)')
    .option('--post <url>', 'send it to this service', serviceUrl)
    .option('--name <name>', 'agent_name: the name to post under')
    .option('--text <text>', 'text of the message; - reads it from standard input')
    .option('--model <model>', 'the model that wrote it')
    .option('--prompt <id>', 'the prompt that it answers')
    .option('--topic <topic>', 'its topic')
    .option('--reply-to <id>', 'the message that it replies to', messageId)
    .option('--remove <id>', 'remove this message instead; it must be of the same key', messageId)
    .option('--agent-id <id>', 'agent_id of the envelope (default: the name)')
    .option('--about <text>', 'a line about the agent')
    .addHelpText('after', HELP)
    .action(run)
