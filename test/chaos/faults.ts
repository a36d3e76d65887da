/** What is done to the servers and to what they need, drawn from the seed. */
import type { Cluster } from './cluster.ts'
import type { Random } from './random.ts'
import type { Seat, World } from './world.ts'
import { canSkewClocks } from './world.ts'

export interface Fault {
  /** Such as `kill -9 of a server`; the row of the table. */
  readonly kind: string
  /** What it is done to: no two faults at one time are done to the same. */
  readonly on: string
  begin(): Promise<void>
  /** Ends it. What is measured as recovery begins when this has resolved. */
  end(): Promise<void>
  /** Where it is another one than usual, for a reason that docs/reliability.md gives. */
  readonly recoveryLimitMs?: number
  /** What has to be made good before the next one, such as a new standby. */
  repair?(): Promise<void>
}

/** Makes a fault of its kind. @param alone whether nothing else is done at the same time */
type Draw = (random: Random, alone: boolean) => Fault

/** By name; names can be chosen by CHAOS_FAULTS. */
export type Faults = Readonly<Record<string, Draw>>

const CLOCK_SECONDS = [-45, -20, 20, 45] as const
const DELAYS_MS = [20, 50, 150] as const
/** Nobody can tell a silent connection from a slow answer before its time is up. */
const SILENCE_LIMIT_MS = 15_000
const nothing = async (): Promise<void> => undefined

const kill = (seat: Seat): Fault => ({
  kind: 'kill -9 of a server',
  on: seat.name,
  begin: async () => void (await seat.end('SIGKILL')),
  end: async () => void (await seat.start()),
})

const stop =
  ({ model }: World) =>
  (seat: Seat, alone: boolean): Fault => ({
    kind: 'SIGTERM of a server',
    on: seat.name,
    async begin() {
      const code = await seat.end('SIGTERM')
      if (code !== 0 && alone) model.broken('stops in order', `${seat.name} ended with ${code}`)
    },
    end: async () => void (await seat.start()),
  })

const pauseServer = (seat: Seat): Fault => {
  const signal = (name: NodeJS.Signals) => async () => {
    if (seat.pid !== undefined) process.kill(seat.pid, name)
  }
  return {
    kind: 'SIGSTOP of a server',
    on: seat.name,
    begin: signal('SIGSTOP'),
    end: signal('SIGCONT'),
  }
}

const skew = (seat: Seat, random: Random): Fault => {
  const seconds = random.pick(CLOCK_SECONDS)
  return {
    kind: 'clock of a server wrong by 20 or 45 s',
    on: seat.name,
    begin: async () => seat.setClock(seconds),
    end: async () => seat.setClock(0),
  }
}

/** Faults of one way. @param name of what it leads to */
const faultsOfLink = (name: string, on: string, link: Seat['database'], random: Random): Fault => {
  if (link === undefined) throw new Error(`There is no way to ${name}.`)
  const delay = random.pick(DELAYS_MS)
  const directions = random.pick([['up'], ['down'], ['up', 'down']] as const)
  const kinds: readonly Fault[] = [
    {
      kind: `connections to ${name} cut`,
      on,
      begin: async () => link.cut(true),
      end: async () => link.cut(false),
    },
    {
      kind: `connections to ${name} delayed by 20 to 150 ms each way`,
      on,
      async begin() {
        link.delayMs = delay
        link.requestDelayMs = delay
      },
      async end() {
        link.delayMs = 0
        link.requestDelayMs = 0
      },
    },
    {
      kind: `connections to ${name} silent, one way or both`,
      on,
      begin: async () => link.hold(...directions),
      end: async () => link.hold(),
    },
    {
      kind: `open connections to ${name} silent for ever`,
      on,
      begin: async () => link.abandon(),
      end: nothing,
      recoveryLimitMs: SILENCE_LIMIT_MS,
    },
  ]
  return random.pick(kinds)
}

const faultsOfReceiver =
  ({ receiver }: World): Draw =>
  (random) => {
    const mood = random.pick(['failing', 'silent'] as const)
    return {
      kind: 'receiver of webhooks fails or is silent',
      on: 'receiver',
      begin: async () => {
        receiver.mood = mood
      },
      end: async () => {
        receiver.mood = 'answering'
      },
    }
  }

/** Of any server, whatever it keeps its data in. */
export const faultsOfServers = (world: World): Faults => {
  const seat = (random: Random): Seat => random.pick(world.seats)
  const ordered = stop(world)
  return {
    kill: (random) => kill(seat(random)),
    stop: (random, alone) => ordered(seat(random), alone),
    pause: (random) => pauseServer(seat(random)),
    ...(canSkewClocks && { clock: (random: Random) => skew(seat(random), random) }),
    clients: (random) => faultsOfLink('the service', 'entrance', world.entrance, random),
    receiver: faultsOfReceiver(world),
  }
}

const faultsOfPostgres = ({ databases }: Cluster): Faults => {
  const on = 'PostgreSQL'
  const repair = () => databases.inStep()
  return {
    crash: () => ({
      kind: 'crash of PostgreSQL',
      on,
      begin: () => databases.primary.kill(),
      end: () => databases.primary.restart(),
      repair,
    }),
    restart: () => ({
      kind: 'restart of PostgreSQL',
      on,
      begin: () => databases.primary.end('SIGINT'),
      end: () => databases.primary.restart(),
      repair,
    }),
    freeze: () => ({
      kind: 'SIGSTOP of PostgreSQL',
      on,
      begin: async () => databases.primary.signal('SIGSTOP'),
      end: async () => databases.primary.signal('SIGCONT'),
      repair,
    }),
    failover: () => ({
      kind: 'fail-over of PostgreSQL to its standby',
      on,
      begin: () => databases.failOver(),
      end: nothing,
      repair: () => databases.rejoin(),
    }),
    standby: () => ({
      kind: 'loss of the standby',
      on,
      begin: () => databases.standby.kill(),
      end: () => databases.standby.restart(),
      repair,
    }),
  }
}

export const faultsOfCluster = (cluster: Cluster): Faults => {
  const { seats, redis } = cluster
  const linked =
    (what: 'database' | 'redis', name: string): Draw =>
    (random) => {
      const seat = random.pick(seats)
      return faultsOfLink(name, seat.name, seat[what], random)
    }
  return {
    ...faultsOfServers(cluster),
    ...faultsOfPostgres(cluster),
    database: linked('database', 'PostgreSQL'),
    link: linked('redis', 'Redis'),
    redis: () => ({
      kind: 'loss of Redis',
      on: 'Redis',
      begin: () => redis.kill(),
      end: () => redis.start(),
    }),
    'redis-freeze': () => ({
      kind: 'SIGSTOP of Redis',
      on: 'Redis',
      begin: async () => redis.signal('SIGSTOP'),
      end: async () => redis.signal('SIGCONT'),
    }),
  }
}

/** Chance that a further fault begins while the first goes on. */
const TOGETHER = 0.35

/** What is done next: one fault, or two or three of different things at the same time. */
export const drawRound = (faults: Faults, random: Random): Fault[] => {
  const names = Object.keys(faults)
  const count = random.chance(TOGETHER) ? (random.chance(TOGETHER) ? 3 : 2) : 1
  const round: Fault[] = []
  for (let drawn = 0; drawn < count; drawn++) {
    const fault = faults[random.pick(names)]?.(random, count === 1)
    if (fault !== undefined && round.every(({ on }) => on !== fault.on)) round.push(fault)
  }
  return round
}
