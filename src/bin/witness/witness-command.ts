/** The subcommand `assay witness`, without what does its work: that is loaded when it is used. @module */
import { Command, InvalidArgumentError } from 'commander'
import { port, wholeNumber } from '../whole-number.ts'
import type { Flags } from './run-witness.ts'

const DEFAULT_PORT = 8090
const MAX_PER_MINUTE = 1_000_000
const DEFAULT_PER_MINUTE = 120

/** Of an address that stands for nothing. */
const ANY_ORIGIN = 'http://localhost'

/** Requests name it as it is: not what clients write in another way, or look for elsewhere. */
const pathPrefix = (text: string): string => {
  const isPath = URL.canParse(text, ANY_ORIGIN) && new URL(text, ANY_ORIGIN).pathname === text
  if (text !== '' && !isPath)
    throw new InvalidArgumentError('It must begin with a slash and be as clients send it: no blanks, ? or #.')
  return text
}

const HELP = `
A witness cosigns a checkpoint of a log only if it goes on from all that it has seen of that log (C2SP tlog-witness 1.0): a log that shows
one tree to some and another to others, or takes entries back, gets no cosignature. Its keys are made at the first start and kept in
the directory: Ed25519 (cosignature/v1) and ML-DSA-44 (subtree/v1). It prints both as verifier keys, for policies of whoever trusts it.

The file of logs has a verifier key on each line, and behind it the origin of the log, where that is not the name of the key; a log may have
several keys. SIGHUP makes the witness read it again. A service of Assay publishes its own keys at /checkpoint/keys.

Never put the directory back from a backup, and never run two witnesses with copies of it: one that forgot what it saw would cosign a
fork. A witness that lost its directory starts anew, under new keys. docs/witnesses.md has more.

Examples:
  $ curl https://assay.example/checkpoint/keys > logs.txt
  $ npx assay witness --name witness.example/w1 --directory ./witness --logs logs.txt
`

/** `assay witness`. */
export const witnessCommand = (): Command =>
  new Command('witness')
    .description('cosign checkpoints of logs that others run, as long as they only grow')
    .requiredOption('--name <name>', 'name of the witness and its keys: a URL without scheme')
    .requiredOption('--directory <directory>', 'where it keeps its keys and what it saw')
    .requiredOption('--logs <file>', 'verifier keys of the logs that it follows, one a line')
    .option('--port <port>', 'where to listen; 0 picks a port', port, DEFAULT_PORT)
    .option('--host <host>', 'address to listen on', '127.0.0.1')
    .option('--prefix <path>', 'path below which it answers, such as /w1', pathPrefix, '')
    .option(
      '--per-minute <number>',
      'requests of one log in a minute: so many for new checkpoints, so many others',
      wholeNumber(1, MAX_PER_MINUTE),
      DEFAULT_PER_MINUTE,
    )
    .addHelpText('after', HELP)
    .action(async (flags: Flags) => (await import('./run-witness.ts')).runWitness(flags))
