/** The subcommand `assay monitor`, without what does its work: that is loaded when it is used. @module */
import { Command, Option } from 'commander'
import { port, wholeNumber } from '../whole-number.ts'
import type { Flags } from './run-monitor.ts'

/** Exit status of a call that says nothing of the log. */
const EXIT_UNKNOWN = 2
const DEFAULT_INTERVAL_SECONDS = 60
const MAX_INTERVAL_SECONDS = 86_400
/** A week: WITNESS_MAX_AGE_SECONDS is a day at most. */
const MAX_AGE_SECONDS = 604_800

const HELP = `
Looks at the log of a service every minute: the checkpoint must carry the log's Ed25519 signature and its ML-DSA-44 cosignature, meet the
policy of witnesses if one is given, by what they cosigned lately, and go on from the newest checkpoint that was accepted, which hashes of the published tiles prove. The
newest one is kept in the state file, which is on the disk before it counts, so a monitor that is started again goes on from there.

With an API key of an organisation (scope audit) its own entries are looked for, too: each new one must be what was hashed and stand
at its place, and the newest that was seen may not be gone from the list.

The command of --alert is run by the shell as soon as something is found, with the finding on its standard input as JSON: {at, url, origin, code,
log, detail, checkpoints}, and index of an entry. It is told once, and again when it came back after it was gone; if its exit status is not 0, it is run again at the next look. That the log does
not answer is told after three looks.

Exit status: 0 all was well; 1 something was found (since the start, when it is ended by a signal); 2 it could not be checked.

Examples:
  $ npx assay monitor https://assay.example --state monitor.json --once
  $ npx assay monitor https://assay.example --state monitor.json --witnesses witnesses.txt --metrics 9464 --alert 'mail -s log ops@example.org'
`

/** `assay monitor URL`. */
export const monitorCommand = (): Command =>
  new Command('monitor')
    .description('follow the log of a service from outside, and tell when it is not as it should be')
    .argument('<url>', 'address of the service')
    .requiredOption('--state <file>', 'what the monitor remembers; made at the first start')
    .option('--keys <file>', 'verifier keys of the log, as /checkpoint/keys has them; default: as first seen')
    .option('--witnesses <file>', 'witnesses that must have cosigned: a C2SP tlog-policy, or verifier keys')
    .option(
      '--max-age <seconds>',
      'how long ago they may have cosigned, in seconds; default: 900, for a WITNESS_MAX_AGE_SECONDS of the log of 600',
      wholeNumber(1, MAX_AGE_SECONDS),
    )
    .addOption(
      new Option('--api-key <key>', 'API key of an organisation, for its own entries').env('ASSAY_API_KEY'),
    )
    .option(
      '--interval <seconds>',
      'pause between two looks',
      wholeNumber(1, MAX_INTERVAL_SECONDS),
      DEFAULT_INTERVAL_SECONDS,
    )
    .option('--alert <command>', 'run for each finding, which is on its standard input')
    .option('--metrics <port>', 'serve metrics for Prometheus there; 0 picks a port', port)
    .option('--metrics-host <host>', 'address to serve them on', '127.0.0.1')
    .option('--once', 'look once, then end')
    .addHelpText('after', HELP)
    .exitOverride(({ exitCode }) => process.exit(exitCode === 0 ? 0 : EXIT_UNKNOWN))
    .action(async (url: string, flags: Flags) => (await import('./run-monitor.ts')).runMonitor(url, flags))
