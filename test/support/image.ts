/** What a Dockerfile makes, without an engine: its own steps in a clean folder, and its program in a root of its own that it can't write to. */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { readStages, type Stage, sentFiles } from './dockerfile.ts'
import { ROOT, read } from './sources.ts'

/** What the base image of the last stage brings: Node and the libraries that it needs. */
const OF_THE_BASE = ['/lib', '/lib64', '/usr/lib', '/etc/ssl', '/etc/hosts', '/etc/resolv.conf']
const NODE = '/nodejs/bin/node'

const run = (command: string, cwd: string): void => {
  const { status, stdout, stderr } = spawnSync('sh', ['-c', command], { cwd, encoding: 'utf8' })
  if (status !== 0)
    throw new Error(`RUN ${command} ended with ${status}:\n${stdout.slice(-2000)}\n${stderr.slice(-4000)}`)
}

/** Makes a stage in a folder that stands for its root. */
const makeStage = ({ steps }: Stage, root: string, others: ReadonlyMap<string, string>): void => {
  let workdir = '/'
  const within = (path: string): string => join(root, path.startsWith('/') ? path : join(workdir, path))
  for (const { keyword, rest } of steps) {
    if (keyword === 'WORKDIR') {
      workdir = rest
      mkdirSync(within('.'), { recursive: true })
    } else if (keyword === 'RUN') run(rest, within('.'))
    else if (keyword === 'COPY') {
      const parts = rest.split(' ')
      const from = parts.find((part) => part.startsWith('--from='))?.slice('--from='.length)
      const paths = parts.filter((part) => !part.startsWith('--'))
      const target = within(paths.at(-1) ?? '.')
      for (const path of paths.slice(0, -1)) {
        if (from !== undefined) cpSync(join(others.get(from) ?? '', path), target, { recursive: true })
        else
          for (const file of path === '.' ? sentFiles() : [path]) cpSync(join(ROOT, file), join(target, file))
      }
      const [, owner] = /--chown=(\d+:\d+)/.exec(rest) ?? []
      if (owner !== undefined) run(`chown -R ${owner} '${target}'`, root)
    }
  }
}

export interface Image {
  /** Its root on this machine. */
  readonly root: string
  /** Runs its program as its user, in its root, which is read-only but for its volume. */
  start(env: Readonly<Record<string, string>>, args?: readonly string[]): ChildProcess
  /** A command that ends with 0 where the image's own check of its health does. */
  health(env: Readonly<Record<string, string>>): string
  remove(): void
}

/** Makes the image. Needs root, as an engine does. @throws Error with what a step said that failed */
export const makeImage = (): Image => {
  const folder = mkdtempSync(join(tmpdir(), 'assay-image-'))
  const made = new Map<string, string>()
  const stages = readStages(read('Dockerfile'))
  for (const [i, stage] of stages.entries()) {
    const name = stage.name ?? String(i)
    made.set(name, join(folder, name))
    mkdirSync(join(folder, name))
    makeStage(stage, join(folder, name), made)
  }
  const root = join(folder, String(stages.length - 1))
  const stepOf = (keyword: string): string =>
    stages.at(-1)?.steps.find((step) => step.keyword === keyword)?.rest ?? ''
  const [uid, gid] = stepOf('USER').split(':')
  const mounts = OF_THE_BASE.filter((path) => existsSync(path)).map(
    (path) => `mount --rbind ${path} '${root}${path}'`,
  )
  for (const path of [...OF_THE_BASE.filter((one) => existsSync(one)), '/proc', '/dev']) {
    const isFile = path === '/etc/hosts' || path === '/etc/resolv.conf'
    mkdirSync(join(root, isFile ? dirname(path) : path), { recursive: true })
    if (isFile) cpSync(path, join(root, path))
  }
  mkdirSync(join(root, dirname(NODE)), { recursive: true })
  cpSync(process.execPath, join(root, NODE))
  return {
    root,
    start(env, args = JSON.parse(stepOf('CMD')) as string[]) {
      const program = [...(JSON.parse(stepOf('ENTRYPOINT')) as string[]), ...args]
      const own = stepOf('ENV').split(' ')
      const given = Object.entries(env).map(([name, value]) => `${name}=${value}`)
      const script = [
        `mount --bind '${root}' '${root}'`,
        ...mounts,
        `mount -t proc proc '${root}/proc'`,
        `mount --rbind /dev '${root}/dev'`,
        `mount --bind '${root}/data' '${root}/data'`,
        `mount -o remount,ro,bind '${root}'`,
        `exec env -i ${[...own, ...given].map((pair) => `'${pair}'`).join(' ')} unshare --root='${root}' --wd='${stepOf('WORKDIR')}' ` +
          `--setgid=${gid} --setuid=${uid} ${program.map((part) => `'${part}'`).join(' ')}`,
      ]
      return spawn('unshare', ['--mount', 'sh', '-ec', script.join('\n')], {
        stdio: ['ignore', 'pipe', 'pipe'],
      })
    },
    health(env) {
      const [, command = '[]'] = /CMD (\[.*\])$/.exec(stepOf('HEALTHCHECK')) ?? []
      const [, ...args] = JSON.parse(command) as string[]
      const given = Object.entries(env).map(([name, value]) => `${name}=${value}`)
      return ['env', ...given, `'${process.execPath}'`, ...args.map((arg) => `'${arg}'`)].join(' ')
    },
    remove: () => rmSync(folder, { recursive: true, force: true }),
  }
}
