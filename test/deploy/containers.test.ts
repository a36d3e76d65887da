/** Files for containers: they are what their formats allow, and say what the program takes. What needs an engine to be tried isn't. */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { BlockList } from 'node:net'
import { join } from 'node:path'
import { Ajv2020 } from 'ajv/dist/2020.js'
import addFormats from 'ajv-formats'
import { expect } from 'chai'
import { parse, parseAllDocuments } from 'yaml'
import { variables } from '../../src/config/environment.ts'
import { kubernetesFaults, READ_FILES, readStages, sentFiles } from '../support/dockerfile.ts'
import { kubectl } from '../support/outside-programs.ts'
import { ROOT, read } from '../support/sources.ts'

const UID = 65_532
const KUBERNETES = 'deploy/kubernetes'
/** Of images, not of the program. */
const OF_IMAGE = ['NODE_ENV', 'MALLOC_ARENA_MAX', 'MALLOC_TRIM_THRESHOLD_']
/** What the image says, and what compose.yaml says itself; it passes on all others. */
const FIXED = ['PORT', 'HOST', 'DATA_DIR', 'DATABASE_URL', 'REDIS_URL', 'TRUST_PROXY', 'MIGRATE']
/** Which OpenTelemetry reads itself (docs/telemetry.md). */
const OF_TELEMETRY = ['OTEL_EXPORTER_OTLP_HEADERS', 'OTEL_SERVICE_NAME', 'OTEL_RESOURCE_ATTRIBUTES']
const settings = new Set<string>([...variables.map(([name]) => name), ...OF_IMAGE, ...OF_TELEMETRY])

interface Service {
  readonly image: string
  readonly command?: readonly string[]
  readonly environment?: Readonly<Record<string, string | null>>
  readonly hostname?: string
  readonly volumes?: readonly string[]
  readonly read_only?: boolean
  readonly cap_drop?: readonly string[]
  readonly cap_add?: readonly string[]
  readonly security_opt?: readonly string[]
  readonly networks?: { readonly inside?: { readonly ipv4_address: string } }
}
interface Compose {
  readonly services: Readonly<Record<string, Service>>
  readonly networks: {
    readonly inside: {
      readonly ipam: { readonly config: readonly { readonly subnet: string; readonly ip_range: string }[] }
    }
  }
}
const compose = parse(read('compose.yaml'), { merge: true }) as Compose & Readonly<Record<string, unknown>>

type Value = { readonly apiVersion: string; readonly kind: string } & Readonly<Record<string, unknown>>
const manifests = readdirSync(join(ROOT, KUBERNETES))
  .filter((name) => name !== 'kustomization.yaml')
  .flatMap((name) => parseAllDocuments(read(`${KUBERNETES}/${name}`)).map((one) => one.toJS() as Value))
const manifest = <T>(kind: string): T => manifests.find((one) => one.kind === kind) as T

interface Pod {
  readonly spec: {
    readonly securityContext: Readonly<Record<string, unknown>>
    readonly containers: readonly [
      {
        readonly args: readonly string[]
        readonly env?: readonly { readonly name: string; readonly value: string }[]
        readonly securityContext: Readonly<Record<string, unknown>>
        readonly [probe: `${string}Probe`]: { readonly httpGet: { readonly path: string } }
      },
    ]
  }
}
type Workload = { readonly spec: { readonly template: Pod } }

describe('containers', () => {
  it('the Dockerfile has no fault that a linter knows', async function () {
    if (!existsSync(join(ROOT, 'node_modules/dockerfile-utils'))) {
      console.log('      SKIPPED: dockerfile-utils is not installed (npm ci)')
      return this.skip()
    }
    const linter = 'dockerfile-utils'
    const { validate } = (await import(linter)) as { validate(text: string): { readonly message: string }[] }
    expect(validate(read('Dockerfile')).map(({ message }) => message)).to.deep.equal([])
    expect(validate('FROM x\nRUM y').length).to.be.greaterThan(0)
  })

  it('the image holds built artefacts only, runs as nobody in particular, and tells its health', () => {
    const stages = readStages(read('Dockerfile'))
    const last = stages.at(-1)
    const stepsOf = (keyword: string) =>
      (last?.steps ?? []).filter((step) => step.keyword === keyword).map(({ rest }) => rest)
    for (const copy of stepsOf('COPY')) expect(copy).to.match(/^--from=build /)
    expect(stepsOf('RUN')).to.deep.equal([])
    expect(stepsOf('USER')).to.deep.equal([`${UID}:${UID}`])
    expect(stepsOf('HEALTHCHECK').join()).to.include('/health/ready')
    const [entry = '[]'] = stepsOf('ENTRYPOINT')
    const set = stepsOf('ENV').flatMap((text) => text.split(' '))
    const names = set.map((pair) => pair.split('=')[0] ?? '')
    expect(names.filter((name) => !settings.has(name))).to.deep.equal([])
    // The engine and its memory as `npm start` sets them.
    const { scripts } = JSON.parse(read('package.json')) as { scripts: { start: string } }
    const [before = '', after = ''] = scripts.start.split(' exec node ')
    expect(set).to.include.members(before.split(' '))
    const [file, ...options] = after.split(' ').reverse()
    expect(file).to.equal('build/server.js')
    expect(options).to.deep.equal(['--max-semi-space-size=32'])
    expect(JSON.parse(entry)).to.deep.equal(['/nodejs/bin/node', ...options, 'build/cli.js'])
  })

  it('no secret, output or data is sent to the builder, and all that the build reads is', () => {
    const sent = sentFiles()
    expect(
      sent.filter((file) => /(^|\/)(\.env|data|node_modules|build|\.git)(\/|$)/.test(file)),
    ).to.deep.equal([])
    expect(sent).to.include.members([
      'package-lock.json',
      'asconfig.json',
      'src/bin/build.ts',
      'assembly/index.ts',
      'circuits/yesno.circom',
      'docs/packages.md',
      'SECURITY.md',
      'LICENSE',
    ])
    expect(sent.filter((file) => !existsSync(join(ROOT, file)))).to.deep.equal([])
  })

  it('compose.yaml is what its schema allows, and sets what the program takes', () => {
    const schema = JSON.parse(read('test/fixtures/deploy/compose-spec.json')) as object
    const ajv = new Ajv2020({ strict: false, allErrors: true })
    addFormats.default(ajv, { mode: 'fast' })
    const validate = ajv
      .addFormat('duration', true)
      .addFormat('ports', true)
      .addFormat('expose', true)
      .compile({
        ...schema,
        $schema: 'https://json-schema.org/draft/2020-12/schema',
      })
    expect(validate(compose), JSON.stringify(validate.errors)).to.equal(true)
    expect(validate({ ...compose, services: { a: { imge: 'x' } } })).to.equal(false)
    for (const name of ['migrate', 'assay-1', 'assay-2']) {
      const { environment = {}, read_only, cap_drop, command } = compose.services[name] as Service
      expect(Object.keys(environment).filter((variable) => !settings.has(variable))).to.deep.equal([])
      const isPassedOn = (variable: string) => {
        const value = environment[variable]
        return value === null || value?.includes(`\${${variable}:`)
      }
      const known = [...variables.map(([variable]) => variable), ...OF_TELEMETRY]
      const notPassedOn = known.filter((variable) => !isPassedOn(variable))
      expect(notPassedOn, name).to.have.members(name === 'migrate' ? [...FIXED, ...READ_FILES] : FIXED)
      // The files of the servers are not mounted there, and what names one that is missing starts nothing.
      if (name === 'migrate')
        expect(READ_FILES.map((variable) => environment[variable])).to.deep.equal(READ_FILES.map(() => ''))
      expect({ read_only, cap_drop }).to.deep.equal({ read_only: true, cap_drop: ['ALL'] })
      expect(environment.MIGRATE, name).to.equal(name === 'migrate' ? undefined : 'off')
      expect(command).to.deep.equal(name === 'migrate' ? ['migrate'] : undefined)
    }
    // Nobody has a capability but the proxy, which listens at a port below 1024.
    for (const [name, { cap_drop, cap_add = [], security_opt }] of Object.entries(compose.services)) {
      expect({ cap_drop, security_opt }, name).to.deep.equal({
        cap_drop: ['ALL'],
        security_opt: ['no-new-privileges:true'],
      })
      expect(cap_add, name).to.deep.equal(name === 'proxy' ? ['NET_BIND_SERVICE'] : [])
    }
    // The proxy is believed by its address, which no other container can be given.
    const proxy = compose.services.proxy?.networks?.inside?.ipv4_address ?? expect.fail('no address')
    for (const name of ['migrate', 'assay-1', 'assay-2'])
      expect(compose.services[name]?.environment?.TRUST_PROXY, name).to.equal(proxy)
    const [pool] = compose.networks.inside.ipam.config
    const listOf = (cidr = '') => {
      const [address = '', bits] = cidr.split('/')
      const list = new BlockList()
      list.addSubnet(address, Number(bits))
      return list
    }
    expect(listOf(pool?.subnet).check(proxy)).to.equal(true)
    expect(listOf(pool?.ip_range).check(proxy)).to.equal(false)
    // What it does not start without is written down for whoever starts it.
    const head = read('compose.yaml').slice(0, read('compose.yaml').indexOf('name:'))
    for (const [, name] of read('compose.yaml').matchAll(/\$\{(\w+):\?/g)) {
      expect(head).to.include(name)
      expect(read('docs/deploying.md')).to.include(`\n${name}=`)
    }
    // Files that are mounted are there.
    const mounted = Object.values(compose.services).flatMap(({ volumes = [] }) => volumes)
    const own = mounted
      .filter((volume) => volume.startsWith('./'))
      .map((volume) => volume.split(':')[0] ?? '')
    expect(own.filter((path) => !existsSync(join(ROOT, path)))).to.deep.equal([])
    expect(own.length).to.be.greaterThan(4)
  })

  it('servers keep their hostname in a new container, and so find that whoever locked their data is gone', () => {
    const servers = Object.entries(compose.services).filter(
      ([, { image, volumes = [] }]) =>
        image.startsWith('assay:') && volumes.some((volume) => volume.endsWith(':/data')),
    )
    expect(servers.map(([name]) => name)).to.deep.equal(['assay-1', 'assay-2'])
    for (const [name, { hostname }] of servers) expect(hostname, name).to.equal(name)
    const runs = read('docs/deploying.md').match(/^docker run .*:\/data .*$/gm) ?? []
    const serving = runs.filter((command) => !command.includes('--entrypoint'))
    expect(serving).to.have.length(3)
    for (const command of serving) expect(command).to.include(' --name assay --hostname assay ')
  })

  it('manifests for Kubernetes are of their types, without a member too many', function () {
    if (!existsSync(join(ROOT, 'node_modules/kubernetes-types'))) {
      console.log('      SKIPPED: kubernetes-types is not installed (npm ci)')
      return this.skip()
    }
    this.timeout(120_000)
    for (const value of manifests) expect(kubernetesFaults(value), value.kind).to.deep.equal([])
    const wrong = { ...manifest<Value>('PodDisruptionBudget'), spec: { maxUnavalable: 1 } }
    expect(kubernetesFaults(wrong)).to.not.deep.equal([])
    const { resources } = parse(read(`${KUBERNETES}/kustomization.yaml`)) as { resources: string[] }
    expect(resources.filter((name) => !existsSync(join(ROOT, KUBERNETES, name)))).to.deep.equal([])
  })

  it('kubectl makes of kustomization.yaml all of them but the secret, in one namespace, with the image that it names', function () {
    const built = parseAllDocuments(kubectl(this, 'kustomize', join(ROOT, KUBERNETES))).map(
      (one) => one.toJS() as Value & { readonly metadata: { readonly namespace?: string } },
    )
    const kinds = manifests.map(({ kind }) => kind).filter((kind) => kind !== 'Secret')
    expect(built.map(({ kind }) => kind)).to.have.members(kinds)
    const others = built.filter(({ kind }) => kind !== 'Namespace')
    expect([...new Set(others.map(({ metadata }) => metadata.namespace))]).to.deep.equal(['assay'])
    const { version } = JSON.parse(read('package.json')) as { version: string }
    const images = JSON.stringify(built).match(/"image":"[^"]+"/g)
    expect([...new Set(images)]).to.deep.equal([`"image":"registry.example.org/assay:${version}"`])
  })

  it('pods may write to their data alone, servers are probed, and a job migrates', () => {
    const pods = [manifest<Workload>('StatefulSet'), manifest<Workload>('Job')].map(
      ({ spec }) => spec.template,
    )
    for (const { spec } of pods) {
      expect(spec.securityContext).to.include({ runAsNonRoot: true, runAsUser: UID, fsGroup: UID })
      expect(spec.containers[0].securityContext).to.include({
        readOnlyRootFilesystem: true,
        allowPrivilegeEscalation: false,
      })
    }
    const [server, job] = pods.map(({ spec }) => spec.containers[0])
    expect(job?.args).to.deep.equal(['migrate'])
    // The files of the servers are not mounted there, as of compose.yaml.
    expect(job?.env).to.deep.equal(READ_FILES.map((name) => ({ name, value: '' })))
    expect(server?.args).to.deep.equal(['serve'])
    expect(server?.env).to.deep.equal([{ name: 'MIGRATE', value: 'off' }])
    const paths = (['startupProbe', 'readinessProbe', 'livenessProbe'] as const).map(
      (probe) => server?.[probe]?.httpGet.path,
    )
    // What it takes to be ready, a restart does not bring about.
    expect(paths).to.deep.equal(['/health/live', '/health/ready', '/health/live'])
    // Prometheus is to see the servers that are not ready above all.
    const headless = manifests.filter(
      ({ kind, spec }) => kind === 'Service' && (spec as { clusterIP?: string }).clusterIP,
    )
    expect(headless).to.have.length(1)
    expect(headless[0]?.spec).to.include({ clusterIP: 'None', publishNotReadyAddresses: true })
    const given = manifests.flatMap(({ data, stringData }) => Object.keys({ ...(data ?? stringData ?? {}) }))
    expect(given.filter((name) => !settings.has(name))).to.deep.equal([])
  })

  it('versions are that of package.json', () => {
    const { version } = JSON.parse(read('package.json')) as { version: string }
    expect(read('compose.yaml')).to.include(`image: assay:${version}\n`)
    expect(read(`${KUBERNETES}/kustomization.yaml`)).to.include(`newTag: ${version}\n`)
    expect(readFileSync(join(ROOT, 'CHANGELOG.md'), 'utf8')).to.include(`## ${version}`)
  })
})
